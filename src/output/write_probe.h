/* `lamella probe` on a terminal and as JSON. */
#ifndef LAMELLA_OUTPUT_WRITE_PROBE_H
#define LAMELLA_OUTPUT_WRITE_PROBE_H

#include "analysis/probe.h"
#include "base/byteout.h"
#include "base/table.h"

struct probe_view {
    struct probe *probe;
    const struct probe_totals *totals;
    const struct probe_choice *choice;     /* NULL: no stacks */
    const struct probe_stacks *stacks;     /* NULL */
    const struct probe_suggestions *lines; /* NULL */
    struct classifier *cls;
    const struct report *report; /* of the whole recording */
    uint32_t top;                /* stacks shown; 0: all */
};

/* LAM_E_NOMEM. */
int write_probe_text(const struct probe_view *view, const struct term *term, struct strbuf *out,
                     struct lam_error *err);
int write_probe_json(const struct probe_view *view, struct byteout *out, struct lam_error *err);

#endif
