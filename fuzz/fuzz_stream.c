/* Any bytes as a stream file: opened, walked record by record, its stacks followed. */
#include <stdint.h>
#include <stdlib.h>

#include "input/process_threads.h"
#include "reader/stream_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_all(const struct stream_file *file)
{
    struct stream_walk walk;
    struct stream_record_view rec;
    struct stream_sample_view sample;
    stream_walk_init(&walk, file);
    stream_walk_begin(
        &walk, (struct stream_page_span){0, file->pages.count}); /* pages of the wrong kind, too */
    while (stream_next_record(&walk, &rec) > 0) {
        uint64_t sum = 0;
        for (uint32_t i = 0; rec.row && i < rec.row->field_count; i++)
            sum += stream_field_get(&rec.row->fields[i], &rec.body, 0);
        for (uint32_t i = 0; rec.row && i < rec.row->text_count; i++)
            sum += rec.text[i].size ? (uint8_t)rec.text[i].bytes[rec.text[i].size - 1] : 0;
        if (sum == 0x123456789abcdef) /* keeps the reads */
            abort();
    }
    stream_walk_begin(&walk, (struct stream_page_span){0, file->pages.count});
    while (stream_next_sample(&walk, &sample) > 0)
        continue;
    stream_walk_close(&walk);
}

static void push_all(const struct stream_file *file)
{
    const struct profile_sink_ops ops = {0};
    struct profile_sink sink = {.ctx = NULL, .ops = &ops};
    struct stack_merge merge = {.sink = &sink};
    struct label_merge labels = {.sink = &sink};
    struct interval_paths paths = {0};
    struct tick_clock clock = {0};
    struct stream_faults faults = {0};
    (void)tick_clock_add(&clock, file->header.start_ticks, file->header.start_mono_ns);
    (void)tick_clock_add(&clock, file->header.kernel_start, file->header.start_wall_ns);
    (void)tick_clock_ready(&clock, file->header.tick_rate_hz, file->header.start_mono_ns);
    struct process_threads threads = {.sink = &sink,
                                      .merge = &merge,
                                      .labels = &labels,
                                      .paths = &paths,
                                      .clock = &clock,
                                      .process = 1,
                                      .first_thread = 1,
                                      .first_track = 1,
                                      .faults = &faults};
    (void)process_threads_push(&threads, &file, 1);
    tick_clock_free(&clock);
    stack_merge_free(&merge);
    label_merge_free(&labels);
    interval_paths_free(&paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_file *file = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (stream_open_memory(&file, data, size, "fuzz", &err) < 0)
        return 0;
    walk_all(file);
    push_all(file);
    stream_close(&file);
    return 0;
}
