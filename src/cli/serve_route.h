/* What a request to `lamella serve` may have: decided before anything is read. Whoever does not know the token, comes by
 * another name than loopback's (DNS rebinding), from another site, or wants to change something, gets nothing. */
#ifndef LAMELLA_CLI_SERVE_ROUTE_H
#define LAMELLA_CLI_SERVE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

enum { SERVE_TOKEN_DIGITS = 32 };

struct serve_site {
    char token[SERVE_TOKEN_DIGITS + 1];
    uint16_t port;
    size_t recordings;
};

struct serve_request { /* texts are NULL when the request lacks them */
    const char *method, *path, *host;
    const char *fetch_site;     /* Sec-Fetch-Site: who made the browser ask */
    const char *before, *after; /* of the query */
};

enum serve_what { SERVE_NOTHING, SERVE_LIST, SERVE_PAGE, SERVE_COMPARISON };

struct serve_answer {
    unsigned status; /* of HTTP */
    enum serve_what what;
    size_t first, second; /* recordings */
};

struct serve_answer serve_route(const struct serve_site *site, const struct serve_request *request);

#endif
