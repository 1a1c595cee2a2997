/* Any bytes as ninja's log. */
#include <stddef.h>
#include <stdint.h>

#include "build/ninja_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ninja_log log;
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf text = {0};
    if (ninja_log_parse(&log, (const char *)data, size, "fuzz", &err) >= 0) {
        (void)ninja_log_write(&log, 0, &text);
        ninja_log_free(&log);
    }
    strbuf_free(&text);
    return 0;
}
