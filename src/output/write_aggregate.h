/* What `lamella aggregate` prints. */
#ifndef LAMELLA_OUTPUT_WRITE_AGGREGATE_H
#define LAMELLA_OUTPUT_WRITE_AGGREGATE_H

#include "analysis/aggregate.h"
#include "analysis/sequences.h"
#include "base/byteout.h"
#include "base/table.h"

struct aggregate_skipped {
    char *input, *why;
};

struct aggregate_view {
    uint32_t top;                      /* rows of each section; 0: all */
    const struct sequences *sequences; /* finished; NULL: their order was not looked at */
    const struct aggregate_skipped *skipped;
    size_t skipped_count;
};

/* LAM_OK or LAM_E_NOMEM; JSON also the output's failure. */
int write_aggregate_text(const struct aggregate *aggregate, const struct aggregate_view *view,
                         const struct term *term, struct strbuf *out, struct lam_error *err);
int write_aggregate_markdown(const struct aggregate *aggregate, const struct aggregate_view *view,
                             struct strbuf *out, struct lam_error *err);
int write_aggregate_json(const struct aggregate *aggregate, const struct aggregate_view *view,
                         struct byteout *out, struct lam_error *err);

#endif
