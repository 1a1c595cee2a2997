/* lamella record: runs a command under the agent. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/launcher_talk.h"
#include "cli/record_artifacts.h"
#include "cli/record_cargo.h"
#include "cli/record_messages.h"
#include "cli/record_summary.h"
#include "session/rate_ladder.h"
#include "session/record.h"

enum { STATUS_INTERVAL_NS = 250000000 };

struct rate_choice {
    bool is_auto;
    uint32_t hz;
};

static int parse_rate(void *target, const char *text, struct lam_error *err)
{
    struct rate_choice *rate = target;
    uint64_t hz;
    if (strcmp(text, "auto") == 0) {
        *rate = (struct rate_choice){.is_auto = true};
        return LAM_OK;
    }
    if (!unit_parse_u64(text, &hz) || hz > RATE_MAX_HZ)
        return lam_error_set(err, LAM_E_USAGE, "must be 'auto' or a number from 0 to %d",
                             RATE_MAX_HZ);
    *rate = (struct rate_choice){.hz = (uint32_t)hz};
    return LAM_OK;
}

static int parse_engine(void *target, const char *text, struct lam_error *err)
{
    static const struct {
        const char *name;
        uint32_t engine;
    } engines[] = {
        {"auto", STREAM_ENGINE_AUTO},
        {"sigtrap", STREAM_ENGINE_SIGTRAP},
        {"thread-perf", STREAM_ENGINE_THREAD_PERF},
        {"thread_perf", STREAM_ENGINE_THREAD_PERF},
        {"cpu-timer", STREAM_ENGINE_CPU_TIMER},
        {"cpu_timer", STREAM_ENGINE_CPU_TIMER},
        {"none", STREAM_ENGINE_NONE},
    };
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (strcmp(text, engines[i].name) == 0) {
            *(uint32_t *)target = engines[i].engine;
            return LAM_OK;
        }
    }
    return lam_error_set(err, LAM_E_USAGE, "must be auto, sigtrap, thread-perf, cpu-timer or none");
}

/* Without events the compiler chooses. */
static int parse_self_profile(void *target, const char *text, struct lam_error *err)
{
    if (text && (!text[0] || strspn(text, "abcdefghijklmnopqrstuvwxyz-_,0123456789") != strlen(text)))
        return lam_error_set(err, LAM_E_USAGE,
                             "takes names of events with commas between, such as default,args");
    *(const char **)target = text ? text : "";
    return LAM_OK;
}

/* ---- the status line ---- */

struct status {
    bool is_shown;
    bool is_written; /* there is a line to clear */
    uint64_t next_ns;
    struct term term;
};

/* A program in the background must not write over what the foreground shows. */
static bool is_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void status_clear(struct status *status)
{
    if (status->is_written && is_foreground())
        fputs("\r\033[K", stderr);
    status->is_written = false;
}

static void status_show(void *ctx, uint64_t elapsed_ns, const struct timeline_row *row)
{
    struct status *status = ctx;
    if (!status->is_shown || elapsed_ns < status->next_ns || !is_foreground())
        return;
    status->next_ns = elapsed_ns + STATUS_INTERVAL_NS;
    struct strbuf line = {0};
    strbuf_addf(&line, "lamella: %s", unit_seconds((double)elapsed_ns * 1e-9).text);
    strbuf_addf(&line, "  %.0f %s", row->processes,
                unit_either((uint64_t)row->processes, "process", "processes"));
    if (row->cpu_busy == row->cpu_busy)
        strbuf_addf(&line, "  %s cores busy", unit_number(row->cpu_busy, 1).text);
    strbuf_addf(&line, "  %s resident", unit_bytes(row->rss_bytes).text);
    if (status->term.columns && utf8_columns(line.data, line.length) >= status->term.columns)
        strbuf_clear(&line); /* it would wrap, and then could not be cleared */
    if (line.length)
        fprintf(stderr, "\r%s\033[K", strbuf_text(&line));
    status->is_written = line.length > 0;
    strbuf_free(&line);
}

static void status_finish(void *ctx)
{
    struct status *status = ctx;
    status_clear(status);
    if (status->is_shown && is_foreground()) {
        fputs("lamella: packing", stderr);
        status->is_written = true;
    }
}

/* ---- */

/* Inside another recording: the command becomes what we are. */
static int run_nested(char *const *command, const char *outer, bool is_quiet)
{
    if (!is_quiet)
        launcher_say("inside the recording %s already: adding to it",
                     outer ? outer : "of another command");
    execvp(command[0], command);
    int errnum = errno;
    launcher_say("%s: %s", command[0], errnum == ENOENT ? "command not found" : strerror(errnum));
    return errnum == ENOENT ? 127 : 126;
}

static int report_end(const struct record_summary *summary, const struct record_outcome *outcome,
                      const struct profile_request *profiles, int rc, const struct lam_error *error,
                      bool is_quiet)
{
    /* They are kept in the recording, and the report has what matters of them. */
    for (size_t i = 0; !is_quiet && i < outcome->warnings.count; i++)
        launcher_say("%s", outcome->warnings.items[i]);
    if (rc < 0) {
        launcher_say("%s", error->msg);
        if (outcome->scratch)
            launcher_say(
                "what was recorded waits in %s; when that is mended: lamella clean --recover %s",
                outcome->scratch, outcome->scratch);
    } else if (!is_quiet) {
        record_summary_print(summary, outcome, profiles);
    }
    return outcome->exit_code;
}

/* Descriptors 0 to 2 that are closed would be given to our files, and messages would go into them. What is opened here is
 * closed again by the command's exec. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            return;
}

/* Said loudly: what is built in this way is not what its user gets otherwise. */
static void say_request(const struct profile_request *profiles)
{
    if (!profiles->bootstrap)
        return;
    launcher_say("%s is no nightly compiler: to get its self-profiles RUSTC_BOOTSTRAP=1 is set for "
                 "each compilation, so crates see unstable features and what is built is not what "
                 "a usual build makes",
                 profiles->compiler ? profiles->compiler
                                    : "the compiler, which does not tell its version,");
    if (profiles->target_dir)
        launcher_say("it is built in %s (--same-target-dir: where cargo builds usually)",
                     profiles->target_dir);
    else
        launcher_say(
            "it is built in %s, and cargo does not know: clean up before a usual build there",
            profiles->target_is_given ? "the directory of --target-dir"
                                      : "cargo's usual target directory");
}

/* What the user wants of compilers. */
struct profile_wish {
    const char *events; /* NULL: no profiles; empty: the compilers' own choice */
    bool same_target_dir;
};

/* The target directory is set in our own environment: what asks cargo about the build must hear of the same one. */
static int plan_profiles(const struct profile_wish *wish, struct record_settings *settings,
                         struct profile_request *profiles, bool is_quiet)
{
    struct lam_error error = LAM_ERROR_INIT;
    if (!wish->events)
        return LAM_OK;
    int rc = profile_request_plan(profiles, wish->events, wish->same_target_dir, settings->command,
                                  settings->environment, &error);
    if (rc >= 0 && profiles->target_dir && setenv("CARGO_TARGET_DIR", profiles->target_dir, 1) < 0)
        rc = lam_error_set(&error, LAM_E_NOMEM, "out of memory");
    if (rc < 0)
        launcher_say("%s", error.msg);
    else if (!is_quiet)
        say_request(profiles);
    settings->environment = environ;
    settings->profiles = profiles;
    return rc;
}

/* What a command leaves behind that is worth keeping beside its streams. */
struct left_behind {
    struct record_cargo cargo;
    struct record_artifacts artifacts;
    struct record_messages messages;
};

static int attach(void *ctx, const char *recording, const struct record_window *window,
                  struct session_attachments *attachments, struct lam_error *err)
{
    struct left_behind *left = ctx;
    int rc = record_artifacts_attach(&left->artifacts, recording, attachments, err);
    int cargo_rc =
        record_cargo_attach(&left->cargo, recording, window, attachments, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : cargo_rc;
    int messages_rc =
        record_messages_attach(&left->messages, recording, window, attachments, rc < 0 ? NULL : err);
    return rc < 0 ? rc : messages_rc;
}

/* What the user wants of cargo. */
struct cargo_wish {
    bool no_args;         /* leave the command as it is */
    const char *messages; /* the file of its list; NULL */
};

static int run(const struct record_settings *given, const struct profile_wish *wish,
               const struct cargo_wish *cargo, bool is_quiet)
{
    struct record_settings settings = *given;
    struct lam_error error = LAM_ERROR_INIT;
    struct record_outcome outcome;
    struct record_summary summary = {0};
    struct status status = {.term = term_of(stderr)};
    status.is_shown = status.term.is_terminal && !is_quiet;
    settings.is_quiet = is_quiet;
    settings.progress = status_show;
    settings.finishing = status_finish;
    settings.ctx = &status;
    settings.symbols_ctx = &summary;
    struct profile_request profiles = {0};
    if (plan_profiles(wish, &settings, &profiles, is_quiet) < 0) {
        profile_request_free(&profiles);
        return 125;
    }
    struct left_behind left = {0};
    summary.artifacts = &left.artifacts;
    settings.attach = attach;
    settings.attach_ctx = &left;
    record_cargo_begin(&left.cargo, &settings, !cargo->no_args);
    record_messages_begin(&left.messages, cargo->messages, left.cargo.command.is_listed_json);
    int rc = record_run(&settings, &outcome, &error);
    signal(SIGPIPE, SIG_IGN); /* a reader of our messages that has gone must not change the exit code */
    status_clear(&status);
    int code = outcome.has_run
                   ? report_end(&summary, &outcome, settings.profiles, rc, &error, is_quiet)
                   : outcome.exit_code;
    if (!outcome.has_run)
        launcher_say("%s", error.msg);
    record_outcome_free(&outcome);
    record_cargo_free(&left.cargo);
    record_artifacts_free(&left.artifacts);
    profile_request_free(&profiles);
    return code;
}

/* What is recorded, and how it is called: any command, or cargo's. */
struct record_way {
    const char *command, *operands, *about, *example;
    char *program; /* goes before the operands; NULL */
};

/* The command line: the operands, after the way's program. NULL-ended; NULL when memory is short. */
static char **command_of(const struct record_way *way, const struct option_operands *rest)
{
    char **command = mem_zalloc(rest->count + 2, sizeof *command);
    size_t count = 0;
    if (command && way->program)
        command[count++] = way->program;
    for (size_t i = 0; command && i < rest->count; i++)
        command[count++] =
            (char *)(uintptr_t)rest->items[i]; /* of main's argv, which may be written */
    return command;
}

static int record_as(const struct record_way *way, int argc, char **argv)
{
    struct rate_choice rate = {.is_auto = true};
    struct option_list only = {0}, skip = {0};
    struct option_operands rest = {0};
    struct record_settings settings = {.engine = STREAM_ENGINE_AUTO, .symbols = record_write_symbols};
    bool no_kernel = false, is_quiet = false;
    struct profile_wish wish = {0};
    struct cargo_wish cargo = {0};
    const struct option_row rows[] = {
        {.long_name = "output",
         .short_name = 'o',
         .arg_name = "DIR",
         .help = "where the recording goes; must not exist [lamella-DATE-TIME.lamella]",
         .kind = OPTION_TEXT,
         .target = &settings.output},
        {.long_name = "rate",
         .short_name = 'r',
         .arg_name = "HZ",
         .help = "samples a second of CPU time, 'auto', or 0 for the account alone [auto]",
         .kind = OPTION_CALL,
         .target = &rate,
         .parse = parse_rate},
        {.long_name = "engine",
         .arg_name = "NAME",
         .help = "auto, sigtrap, thread-perf, cpu-timer or none; lamella doctor tells what works "
                 "[auto]",
         .kind = OPTION_CALL,
         .target = &settings.engine,
         .parse = parse_engine},
        {.long_name = "no-kernel",
         .help = "do not interrupt in kernel mode",
         .kind = OPTION_FLAG,
         .target = &no_kernel},
        {.long_name = "only",
         .arg_name = "GLOB",
         .help = "sample only programs with such a file name; may be repeated",
         .kind = OPTION_LIST,
         .target = &only},
        {.long_name = "skip",
         .arg_name = "GLOB",
         .help = "do not sample programs with such a file name; may be repeated",
         .kind = OPTION_LIST,
         .target = &skip},
        {.long_name = "self-profile",
         .arg_name = "[EVENTS]",
         .help = "ask each rustc that cargo starts for its self-profile, too; EVENTS such as "
                 "default,args. With a stable compiler this sets RUSTC_BOOTSTRAP=1 and builds in a "
                 "target directory of its own",
         .kind = OPTION_CALL,
         .target = &wish.events,
         .parse = parse_self_profile},
        {.long_name = "same-target-dir",
         .help = "with --self-profile: build where cargo builds usually, whatever the compiler",
         .kind = OPTION_FLAG,
         .target = &wish.same_target_dir},
        {.long_name = "max-size",
         .arg_name = "BYTES",
         .help = "largest stream of one process, such as 64M [none]",
         .kind = OPTION_BYTES,
         .target = &settings.max_bytes},
        {.long_name = "no-cargo-args",
         .help =
             "do not add --timings to a cargo command that builds; without this cargo prints one "
             "more line on stderr and writes its page in target/cargo-timings",
         .kind = OPTION_FLAG,
         .target = &cargo.no_args},
        {.long_name = "cargo-messages",
         .arg_name = "FILE",
         .help = "where the command writes what cargo lists with --message-format=json; without "
                 "this it is read from stdout, where that is a file",
         .kind = OPTION_TEXT,
         .target = &cargo.messages},
        {.long_name = "quiet",
         .short_name = 'q',
         .help = "no status line, no notices and no summary; failures of the recording are said",
         .kind = OPTION_FLAG,
         .target = &is_quiet},
        {0},
    };
    const struct option_spec spec = {
        .command = way->command,
        .operands = way->operands,
        .about = way->about,
        .example = way->example,
        .rows = rows,
        .stops_at_operand = true,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct lam_error error = LAM_ERROR_INIT;
    char **command = NULL;
    int code, rc = options_parse(&spec, argc, argv, &rest, &error);
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &error, 125); /* 2 could be the command's */
        goto out;
    }
    settings.rate_auto = rate.is_auto;
    settings.rate_hz = rate.hz;
    settings.kernel_mode = !no_kernel;
    settings.only = only.items;
    settings.only_count = only.count;
    settings.skip = skip.items;
    settings.skip_count = skip.count;
    command = command_of(way, &rest);
    if (!command) {
        launcher_say("out of memory");
        code = 125;
        goto out;
    }
    settings.command = command;
    settings.environment = environ;
    occupy_standard_descriptors();
    char *outer = NULL;
    code = record_is_nested(&outer) ? run_nested(settings.command, outer, is_quiet)
                                    : run(&settings, &wish, &cargo, is_quiet);
    mem_free(outer);
out:
    mem_free(command);
    array_free(&only);
    array_free(&skip);
    option_operands_free(&rest);
    return code;
}

int cmd_record(int argc, char **argv)
{
    static const struct record_way any = {
        .command = "lamella record",
        .operands = "[--] COMMAND [ARG...]",
        .about = "Runs a command and records where the time of all its processes goes. The exit "
                 "code is the command's own; 128 + n "
                 "when signal n ended it, 125 when recording failed, 126 when the command cannot "
                 "be executed, 127 when it is not "
                 "found.",
        .example = "lamella record -- cargo build --release\nlamella record -o build.lamella "
                   "--rate 4999 -- make -j8\nlamella record --self-profile -- cargo build",
    };
    return record_as(&any, argc, argv);
}

int cmd_record_cargo(int argc, char **argv)
{
    static char cargo[] = "cargo";
    static const struct record_way cargos = {
        .command = "cargo lamella",
        .operands = "[--] CARGO-COMMAND [ARG...]",
        .about =
            "The same as lamella record -- cargo CARGO-COMMAND: runs cargo and records where "
            "the time of the build goes. Options before the cargo command are those of lamella "
            "record; cargo's own go behind it, or after --.",
        .example = "cargo lamella build --release\ncargo lamella -o build.lamella --rate 4999 "
                   "build\ncargo lamella -- --offline build",
        .program = cargo,
    };
    return record_as(&cargos, argc, argv);
}
