/* Any bytes as an input, a self-profile or a stream of a recording, exported to every format: what is written is read back as its
 * viewers would. And who calls whom in it. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/label_totals.h"
#include "input/input_kind.h"
#include "output/call_names.h"
#include "output/exporter.h"
#include "output/merge_small.h"
#include "written_check.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    INPUT_MAX_BYTES = 64 << 10,
    OUTPUT_MAX_BYTES = 4 << 20, /* an export ends there: what has come so far is looked at no further */
};

/* What one export has written. */
struct written {
    struct strbuf text;
    bool is_full;
};

static int keep_written(void *ctx, const void *bytes, size_t length)
{
    struct written *written = ctx;
    written->is_full = written->is_full || length > OUTPUT_MAX_BYTES - written->text.length;
    if (written->is_full)
        return LAM_E_TOOBIG;
    strbuf_add_bytes(&written->text, bytes, length);
    return LAM_OK;
}

/* Options by the bits of a number, so that an input has all of them tried as it is changed. */
static struct export_options options_of(uint32_t bits)
{
    return (struct export_options){
        .redacts = bits & 1,
        .is_inverted = bits & 2,
        .values = (enum export_values)(bits >> 2 & 3),
        .max_bytes = bits & 16 ? 20000 : 0,
        .scratch_dir = "",
        .title = "<a title> & \"more\"",
    };
}

static int push(const struct export_format *format, void *state, uint64_t merge_ns, const char *path)
{
    struct profile_sink sink = format->sink(state);
    struct merge_small *merge = NULL;
    int rc = LAM_OK;
    if (merge_ns && !format->adds_up) {
        rc = merge_small_open(&merge, &sink, merge_ns, true, NULL);
        if (rc >= 0)
            sink = merge_small_sink(merge);
    }
    if (rc >= 0)
        rc = input_read(&path, 1, &sink, NULL);
    merge_small_close(&merge);
    return rc;
}

static void export_it(const struct export_format *format, uint32_t bits, const char *path)
{
    static struct byteout out;
    struct written written = {.text = {0}};
    struct export_options options = options_of(bits);
    void *state = NULL;
    byteout_init(&out, keep_written, &written);
    int rc = format->open(&state, &options, &out, NULL);
    if (rc >= 0)
        rc = push(format, state, bits & 32 ? bits >> 6 & 0xffff : 0, path);
    if (rc >= 0)
        rc = format->finish(state, NULL);
    format->close(&state);
    int flushed = byteout_flush(&out, "fuzz", NULL);
    if (rc >= 0 && flushed >= 0 && !written.is_full &&
        !written_is_good(format->name, strbuf_text(&written.text), written.text.length))
        __builtin_trap();
    strbuf_free(&written.text);
}

static void check_around(const struct call_graph *graph, uint32_t name)
{
    struct call_around around;
    if (call_graph_around(graph, name, &around) < 0)
        abort();
    uint64_t from = 0, to = around.function->self.ns, count = around.calls_of_itself;
    array_each(&around.callers, edge)
    {
        from += edge->time.ns;
        count += edge->count;
    }
    array_each(&around.callees, edge) to += edge->below.ns;
    uint64_t total = around.function->total.ns;
    if (from != total || to != total || count != around.function->count)
        __builtin_trap();
    call_around_free(&around);
}

/* Who calls whom in it adds up, whatever it is. */
static void call_it(const char *path)
{
    struct labels *labels = NULL;
    struct calls calls = {0};
    struct labels_options options = {.by_path = true};
    int rc = labels_open(&labels, &options, NULL);
    struct profile_sink sink = labels_sink(labels);
    if (rc >= 0)
        rc = input_read(&path, 1, &sink, NULL);
    if (rc >= 0)
        rc = labels_finish(labels, NULL);
    if (rc >= 0)
        rc = calls_of_events(&calls, labels);
    for (uint32_t i = 0; rc >= 0 && i < calls.graph.functions.count; i++)
        check_around(&calls.graph, i);
    calls_free(&calls);
    labels_close(&labels);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return setenv("LAMELLA_THREADS", "1",
                  1); /* threads for each of these readings would be most of the work */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 5 || size > INPUT_MAX_BYTES)
        return 0;
    uint32_t bits;
    memcpy(&bits, data + size - sizeof bits, sizeof bits);
    size -= sizeof bits;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (const struct export_format *format = export_formats; format->name; format++)
        export_it(format, bits, path);
    call_it(path);
    close(fd);
    return 0;
}
