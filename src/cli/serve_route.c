#include "cli/serve_route.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum {
    OK = 200,
    BAD_REQUEST = 400,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    BAD_METHOD = 405,
    WRONG_HOST = 421
};

static bool is_our_host(const struct serve_site *site, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        char ours[32];
        snprintf(ours, sizeof ours, "%s:%u", names[i], (unsigned)site->port);
        if (strcmp(host, ours) == 0)
            return true;
    }
    return false;
}

/* A link in another site's page, or its script, asked for it. Browsers that do not say so send nothing. */
static bool is_foreign(const char *fetch_site)
{
    return fetch_site && strcmp(fetch_site, "none") != 0 && strcmp(fetch_site, "same-origin") != 0;
}

/* What follows the token; NULL when it is another one. Takes as long wherever the first wrong digit is. */
static const char *behind_token(const struct serve_site *site, const char *path)
{
    if (!path || path[0] != '/' || strnlen(path + 1, SERVE_TOKEN_DIGITS) < SERVE_TOKEN_DIGITS)
        return NULL;
    unsigned wrong = 0;
    for (size_t i = 0; i < SERVE_TOKEN_DIGITS; i++)
        wrong |= (unsigned char)path[1 + i] ^ (unsigned char)site->token[i];
    const char *rest = path + 1 + SERVE_TOKEN_DIGITS;
    return wrong || *rest != '/' ? NULL : rest + 1;
}

static bool parse_number(const struct serve_site *site, const char *text, size_t *number)
{
    uint64_t value;
    if (!text || !unit_parse_u64(text, &value) || value >= site->recordings)
        return false;
    *number = (size_t)value;
    return true;
}

struct serve_answer serve_route(const struct serve_site *site, const struct serve_request *request)
{
    struct serve_answer answer = {.status = OK};
    if (!is_our_host(site, request->host))
        return (struct serve_answer){.status = WRONG_HOST};
    if (!request->method ||
        (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0))
        return (struct serve_answer){.status = BAD_METHOD};
    if (is_foreign(request->fetch_site))
        return (struct serve_answer){.status = FORBIDDEN};
    if (request->path && strstr(request->path, "%00"))
        return (struct serve_answer){.status = BAD_REQUEST};
    const char *rest = behind_token(site, request->path);
    if (rest && !*rest)
        answer.what = SERVE_LIST;
    else if (rest && strncmp(rest, "page/", 5) == 0 && parse_number(site, rest + 5, &answer.first))
        answer.what = SERVE_PAGE;
    else if (rest && strcmp(rest, "compare") == 0 &&
             parse_number(site, request->before, &answer.first) &&
             parse_number(site, request->after, &answer.second))
        answer.what = SERVE_COMPARISON;
    else
        answer.status = NOT_FOUND;
    return answer;
}
