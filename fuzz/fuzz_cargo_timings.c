/* Any bytes as a page of cargo's timings. */
#include <stddef.h>
#include <stdint.h>

#include "build/cargo_timings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cargo_record record;
    struct lam_error err = LAM_ERROR_INIT;
    if (cargo_timings_parse(&record, (const char *)data, size, "fuzz", &err) >= 0) {
        array_each(&record.units, unit)(void) cargo_unit_title(unit, &record.arena);
        cargo_record_free(&record);
    }
    return 0;
}
