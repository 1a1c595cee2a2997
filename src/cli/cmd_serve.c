/* lamella serve: pages of recordings, and of two of them compared, for a browser on this machine. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/http_library.h"
#include "cli/launcher_talk.h"
#include "cli/page_build.h"
#include "cli/serve_route.h"
#include "input/input_kind.h"

/* Many and short-lived: anybody on this machine may open connections, and those that ask nothing must not keep out those that
 * know the token. */
enum { CONNECTIONS_MAX = 400, IDLE_SECONDS = 10, INTERNAL_ERROR = 500, OK = 200 };

struct serving {
    struct serve_site site;
    const char *const *inputs;
    bool redacts;
    struct option_list markers;
    uint64_t port;
    struct http_library http;
    struct MHD_Daemon *daemon;
};

/* ---- what is sent ---- */

static void add_html(struct strbuf *out, const char *text)
{
    struct strbuf plain = {0};
    strbuf_add_printable(&plain, text, strlen(text));
    for (const char *c = strbuf_text(&plain); *c; c++) {
        if (strchr("<>&\"'", *c))
            strbuf_addf(out, "&#%d;", *c);
        else
            strbuf_add_char(out, *c);
    }
    strbuf_free(&plain);
}

static void add_choice(struct strbuf *out, const char *name, size_t number, bool is_chosen)
{
    strbuf_addf(out, "<td><input type=radio name=%s value=%zu aria-label=%s%s></td>", name, number,
                name, is_chosen ? " checked" : "");
}

/* No script, no style but the browser's own: the policy allows none. */
static void make_list(const struct serving *serving, struct strbuf *out)
{
    size_t count = serving->site.recordings;
    bool compares = count > 1;
    strbuf_add(out, "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8>\n"
                    "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=color-scheme content=\"light dark\">\n"
                    "<title>Lamella</title>\n<h1>Recordings</h1>\n<form action=compare>\n"
                    "<table cellpadding=6>\n<tr><th align=left>recording</th>");
    strbuf_add(out, compares ? "<th>before</th><th>after</th></tr>\n" : "</tr>\n");
    for (size_t i = 0; i < count; i++) {
        strbuf_addf(out, "<tr><td><a href=\"page/%zu\">", i);
        add_html(out, serving->inputs[i]);
        strbuf_add(out, "</a></td>");
        if (compares) {
            add_choice(out, "before", i, i == 0);
            add_choice(out, "after", i, i == 1);
        }
        strbuf_add(out, "</tr>\n");
    }
    strbuf_add(out, "</table>\n");
    strbuf_add(out, compares ? "<p><button>compare</button></p>\n</form>\n" : "</form>\n");
}

static int make_page(struct serving *serving, const struct serve_answer *answer, struct strbuf *out,
                     struct lam_error *err)
{
    struct run_sides sides = {0};
    struct page_plan plan = {.redacts = serving->redacts,
                             .max_stack_bytes = PAGE_STACKS_BY_SIZE,
                             .marker_files = serving->markers.items,
                             .marker_file_count = serving->markers.count};
    struct byteout *bytes = mem_alloc(sizeof *bytes);
    int rc = bytes ? LAM_OK : LAM_E_NOMEM;
    if (answer->what == SERVE_PAGE) {
        plan.inputs = &serving->inputs[answer->first];
        plan.input_count = 1;
    } else {
        plan.sides = &sides;
        if (array_push(&sides.inputs[COMPARE_BEFORE], serving->inputs[answer->first]) < 0 ||
            array_push(&sides.inputs[COMPARE_AFTER], serving->inputs[answer->second]) < 0)
            rc = LAM_E_NOMEM;
    }
    if (rc == LAM_OK) {
        byteout_init_strbuf(bytes, out);
        rc = page_build(&plan, bytes, err);
        int flushed = byteout_flush(bytes, "page", rc == LAM_OK ? err : NULL);
        rc = rc < 0 ? rc : flushed;
    } else {
        lam_error_set(err, rc, "page: out of memory");
    }
    run_sides_free(&sides);
    mem_free(bytes);
    return rc;
}

/* The body, and its status: what cannot be built is said in the browser as well. */
static unsigned make_body(struct serving *serving, const struct serve_answer *answer,
                          struct strbuf *body)
{
    struct lam_error err = LAM_ERROR_INIT;
    if (answer->what == SERVE_LIST)
        make_list(serving, body);
    if (answer->what == SERVE_LIST || answer->what == SERVE_NOTHING)
        return answer->status;
    if (make_page(serving, answer, body, &err) == LAM_OK)
        return answer->status;
    launcher_say("%s", err.msg);
    strbuf_clear(body);
    strbuf_add(body, "<!DOCTYPE html>\n<meta charset=utf-8>\n<title>Lamella</title>\n<p>");
    add_html(body, err.msg);
    strbuf_add_char(body, '\n');
    return INTERNAL_ERROR;
}

/* Pages bring the policy of their own script; the list runs none. No other site may frame, read or guess at any of it. */
static void add_headers(const struct http_library *http, struct MHD_Response *response,
                        enum serve_what what, unsigned status)
{
    static const char *const headers[][2] = {
        {"Content-Type", "text/html; charset=utf-8"},
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        http->MHD_add_response_header(response, headers[i][0], headers[i][1]);
    bool is_page = (what == SERVE_PAGE || what == SERVE_COMPARISON) && status == OK;
    http->MHD_add_response_header(response, "Content-Security-Policy",
                                  is_page
                                      ? "frame-ancestors 'none'"
                                      : "default-src 'none'; form-action 'self'; base-uri 'none'; "
                                        "frame-ancestors 'none'");
}

static enum MHD_Result answer_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_bytes, void **state)
{
    (void)version, (void)upload, (void)upload_bytes, (void)state;
    struct serving *serving = ctx;
    const struct serve_request request = {
        .method = method,
        .path = url,
        .host = serving->http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        .fetch_site =
            serving->http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
        .before =
            serving->http.MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "before"),
        .after =
            serving->http.MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after"),
    };
    struct serve_answer answer = serve_route(&serving->site, &request);
    struct strbuf body = {0};
    unsigned status = make_body(serving, &answer, &body);
    struct MHD_Response *response = serving->http.MHD_create_response_from_buffer(
        body.length, (void *)(uintptr_t)strbuf_text(&body), MHD_RESPMEM_MUST_COPY);
    strbuf_free(&body);
    if (!response)
        return MHD_NO;
    add_headers(&serving->http, response, answer.what, status);
    enum MHD_Result result = serving->http.MHD_queue_response(connection, status, response);
    serving->http.MHD_destroy_response(response);
    return result;
}

/* ---- from start to Ctrl-C ---- */

static int make_token(char *token, struct lam_error *err)
{
    unsigned char bytes[SERVE_TOKEN_DIGITS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return lam_error_set(err, LAM_E_IO, "serve: no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return LAM_OK;
}

/* Addresses stay as they were sent: unescaped, what follows a NUL would be lost before anybody saw it. */
static size_t leave_escaped(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx, (void)connection;
    return strlen(text);
}

static int start(struct serving *serving, struct lam_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)serving->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    serving->daemon = serving->http.MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)serving->port, NULL, NULL, answer_request,
        serving, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_END);
    if (!serving->daemon)
        return lam_error_set(
            err, LAM_E_IO, "serve: port %u of 127.0.0.1 cannot be had: --port takes another, 0 any",
            (unsigned)serving->port);
    const union MHD_DaemonInfo *info =
        serving->http.MHD_get_daemon_info(serving->daemon, MHD_DAEMON_INFO_BIND_PORT);
    serving->site.port = info ? info->port : (uint16_t)serving->port;
    return LAM_OK;
}

static int check_inputs(const struct serving *serving, struct lam_error *err)
{
    for (size_t i = 0; i < serving->site.recordings; i++) {
        enum input_kind kind;
        int rc = input_kind_of(serving->inputs[i], &kind, err);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int serve(struct serving *serving, struct lam_error *err)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    /* Before the server's thread starts, which inherits it: the signals are for sigwait() below. */
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int rc = check_inputs(serving, err);
    if (rc == LAM_OK)
        rc = make_token(serving->site.token, err);
    if (rc == LAM_OK)
        rc = http_library_load(&serving->http, err);
    if (rc == LAM_OK)
        rc = start(serving, err);
    if (rc < 0)
        return rc;
    launcher_say("only this machine, and only who knows the address; Ctrl-C ends it");
    printf("http://127.0.0.1:%u/%s/\n", (unsigned)serving->site.port, serving->site.token);
    fflush(stdout);
    int got;
    sigwait(&ends, &got);
    serving->http.MHD_stop_daemon(serving->daemon);
    return LAM_OK;
}

int cmd_serve(int argc, char **argv)
{
    struct serving serving = {0};
    const struct option_row rows[] = {
        {"port", 'p', "N", "where it listens, on 127.0.0.1; 0 takes one that is free [0]",
         OPTION_U64, &serving.port, NULL, NULL},
        {"redact", 'r', NULL, "leave out arguments, paths, command lines and the host", OPTION_FLAG,
         &serving.redacts, NULL, NULL},
        OPTION_ROW_MARKERS('m', &serving.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella serve",
        .operands = "INPUT...",
        .about =
            "Shows the pages of recordings, and comparisons of two of them, to a browser on this "
            "machine. "
            "The address it prints holds a random token; nothing but the named inputs is read.",
        .example = "lamella serve before.lamella after.lamella",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct option_operands operands = {0};
    struct lam_error err = LAM_ERROR_INIT;
    int code = EXIT_DONE;
    int rc = options_parse(&spec, argc, argv, &operands, &err);
    if (rc == LAM_OK && serving.port > UINT16_MAX)
        rc = lam_error_set(&err, LAM_E_USAGE, "--port is too large");
    serving.inputs = operands.items;
    serving.site.recordings = operands.count;
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &err, EXIT_USAGE);
    } else if (serve(&serving, &err) < 0) {
        launcher_say("%s", err.msg);
        code = EXIT_FAILED;
    }
    array_free(&serving.markers);
    option_operands_free(&operands);
    return code;
}
