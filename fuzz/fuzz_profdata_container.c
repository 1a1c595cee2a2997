/* Any bytes as the pages of a self-profile: every byte of every stream lies inside the input. */
#include <stddef.h>
#include <stdint.h>

#include "input/profdata_container.h"
#include "input/profdata_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profdata_file file;
    struct lam_error err = LAM_ERROR_INIT;
    if (profdata_open_memory(&file, data, size, "fuzz", &err) < 0)
        return 0;
    uint64_t count = profdata_event_count(&file), sum = 0;
    for (uint64_t i = 0; i < count;) {
        struct profdata_run run;
        profdata_run_at(&file, i, &run);
        for (uint64_t k = 0; k < run.count; k++)
            sum += profdata_event_read(run.bytes + k * file.event_bytes, file.is_wide).end;
        if (run.first > i || run.count == 0 || profdata_event_offset(&file, i) >= size)
            __builtin_trap();
        i = run.first + run.count;
    }
    for (unsigned stream = 0; stream < PROFDATA_STREAMS; stream++) {
        uint64_t left;
        for (uint64_t at = 0; at < file.streams[stream].size + 3; at++) {
            const uint8_t *byte = profdata_at(&file, (enum profdata_stream)stream, at, &left);
            sum += left ? byte[0] + byte[left - 1] : 0;
        }
    }
    volatile uint64_t kept = sum;
    (void)kept;
    profdata_close(&file);
    return 0;
}
