/* Any bytes as a session log of cargo's. */
#include <stddef.h>
#include <stdint.h>

#include "build/cargo_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cargo_runs runs;
    struct lam_error err = LAM_ERROR_INIT;
    if (cargo_log_parse(&runs, (const char *)data, size, "fuzz", &err) >= 0)
        cargo_runs_free(&runs);
    return 0;
}
