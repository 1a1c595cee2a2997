/* What a recording holds, one line an item: for reading, grepping, and for machines (JSON lines). A sink with memory for
 * the different stacks and the names of one process's threads. */
#ifndef LAMELLA_OUTPUT_WRITE_VIEW_H
#define LAMELLA_OUTPUT_WRITE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byteout.h"
#include "base/error.h"
#include "phase/classifier.h"
#include "profile/sink.h"
#include "symbols/sidecar.h"

struct view_options {
    bool is_json;
    bool hides_processes, hides_threads, hides_samples, hides_waits;
    bool hides_intervals, hides_instants, hides_folds;
    bool is_tree;        /* intervals are indented by their depth (text only) */
    const char *process; /* a pid, or part of the program's name; NULL: all */
    const char *thread;  /* a tid, or part of its name at the moment; NULL: all */
    const char *label; /* part of a frame's name, or of an event's label; NULL: all. Then only samples, waits and events
                          are shown */
    double from_s, to_s; /* NaN: open */
    uint32_t depth;      /* frames of a stack in text, innermost first; 0: all */
    bool hides_stacks;
    struct classifier *cls; /* names the phase of each sample; the caller's, outlives the view. NULL: none is named */
};

struct view;

/* symbols may be NULL: frames are module+0xoffset then. Both and out stay the caller's. LAM_OK or LAM_E_NOMEM. */
int write_view_open(struct view **view, const struct view_options *options, struct byteout *out,
                    const struct symbols *symbols, struct lam_error *err);

/* Valid as long as the view. A failed output shows at byteout_flush(). */
struct profile_sink write_view_sink(struct view *view);

/* How many items were printed that a filter chooses: with a thread or label wanted those of threads, else all but the
 * session's own. */
uint64_t write_view_found(const struct view *view);

void write_view_close(struct view **view); /* NULL and *view NULL are fine */

/* What one stream file holds, record by record with offsets in the file as recorded, nothing joined or converted. Damage is
 * printed at the end. Codes: those of stream_open(), LAM_E_NOMEM. */
int write_view_raw(const char *path, bool is_json, struct byteout *out, struct lam_error *err);

#endif
