/* Any bytes as a session.json. */
#include <stddef.h>
#include <stdint.h>

#include "input/session_json.h"
#include "reader/session_start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session_json session;
    struct lam_error err = LAM_ERROR_INIT;
    if (session_json_parse(&session, (const char *)data, size, "fuzz", &err) >= 0) {
        (void)session_timeline_column(&session.timeline, "t_ns");
        session_json_free(&session);
    }
    struct session_start start = {0};
    (void)session_start_parse(&start, (const char *)data, size);
    session_start_free(&start);
    return 0;
}
