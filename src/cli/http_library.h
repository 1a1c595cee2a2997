/* libmicrohttpd, loaded when it is needed: it brings a dozen libraries for TLS along, and their loading would be most of what a short
 * command of ours takes. */
#ifndef LAMELLA_CLI_HTTP_LIBRARY_H
#define LAMELLA_CLI_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "base/error.h"

#define HTTP_LIBRARY_CALLS(X)          \
    X(MHD_start_daemon)                \
    X(MHD_stop_daemon)                 \
    X(MHD_get_daemon_info)             \
    X(MHD_lookup_connection_value)     \
    X(MHD_create_response_from_buffer) \
    X(MHD_add_response_header)         \
    X(MHD_queue_response)              \
    X(MHD_destroy_response)

#define HTTP_LIBRARY_MEMBER(name) __typeof__(&(name)) name;
struct http_library {
    HTTP_LIBRARY_CALLS(HTTP_LIBRARY_MEMBER)
};
#undef HTTP_LIBRARY_MEMBER

/* Fills *http; the library stays loaded. LAM_E_NOTFOUND, with what to install, when it is not there. */
int http_library_load(struct http_library *http, struct lam_error *err);

#endif
