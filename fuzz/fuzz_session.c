/* Any bytes as a session.json. */
#include <stddef.h>
#include <stdint.h>

#include "input/session_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session_json session;
    struct lam_error err = LAM_ERROR_INIT;
    if (session_json_parse(&session, (const char *)data, size, "fuzz", &err) >= 0) {
        (void)session_timeline_column(&session.timeline, "t_ns");
        session_json_free(&session);
    }
    return 0;
}
