/* The page: one HTML file with the data of one or more recordings in it (docs/page-data.md).
 *
 *     rc = write_page_begin(out, err);
 *     for each: rc = write_page_recording(report, &options, out, err);
 *     write_page_end(out);                                               */
#ifndef LAMELLA_OUTPUT_WRITE_PAGE_H
#define LAMELLA_OUTPUT_WRITE_PAGE_H

#include "analysis/label_totals.h"
#include "analysis/report.h"
#include "analysis/stack_slices.h"
#include "base/byteout.h"
#include "output/call_names.h"
#include "output/page_events.h"

/* Of page_options.max_stack_bytes: as many as suit the number of units. */
#define PAGE_STACKS_BY_SIZE SIZE_MAX

struct page_options {
    const char *name;            /* of the recording, for people */
    unsigned set;                /* 0; 1: what is compared with */
    bool redacts;                /* no arguments, no directories, no host, no command lines */
    const struct labels *labels; /* of events; NULL */
    struct page_events *events;  /* of the same push; NULL. They are sorted */
    const struct replay_answers *replay;            /* NULL */
    const struct calls *event_calls, *sample_calls; /* NULL */
    const struct stack_slices *slices;              /* finished; NULL: no stacks */
    struct frame_names names;                       /* of their frames */
    size_t max_stack_bytes; /* of the file; 0: no limit; PAGE_STACKS_BY_SIZE */
};

/* LAM_E_UNSUPPORTED when this lamella was built without the page. */
int write_page_begin(struct byteout *out, struct lam_error *err);
int write_page_recording(const struct report *report, const struct page_options *options,
                         struct byteout *out, struct lam_error *err);
/* The JSON of `lamella diff`; it is changed. */
int write_page_comparison(struct strbuf *json, bool redacts, struct byteout *out,
                          struct lam_error *err);
void write_page_end(struct byteout *out);

#endif
