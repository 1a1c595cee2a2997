/* What `lamella diff` prints, for people, for pull requests and for machines. */
#ifndef LAMELLA_OUTPUT_WRITE_COMPARE_H
#define LAMELLA_OUTPUT_WRITE_COMPARE_H

#include "analysis/compare.h"
#include "base/byteout.h"
#include "base/table.h"

struct compare_view {
    uint32_t top;      /* rows of each section; 0: all */
    double fail_above; /* share that a rise of the judged total may have; NaN: any */
};

/* Whether the judged total rose by more than that, and, where runs were repeated, by more than noise. */
bool compare_fails(const struct compare *compare, double fail_above);

/* LAM_OK or LAM_E_NOMEM; JSON also the output's failure. */
int write_compare_text(const struct compare *compare, const struct compare_view *view,
                       const struct term *term, struct strbuf *out, struct lam_error *err);
int write_compare_markdown(const struct compare *compare, const struct compare_view *view,
                           struct strbuf *out, struct lam_error *err);
int write_compare_json(const struct compare *compare, const struct compare_view *view,
                       struct byteout *out, struct lam_error *err);

/* ---- what text and Markdown share ---- */

struct compare_table {
    struct table table;
    const char *heading;
    size_t shown, hidden, same; /* rows; those left out by --top; those without any change */
};
struct compare_tables LAM_ARRAY_BODY(struct compare_table);
int compare_tables_make(const struct compare *compare, const struct compare_view *view,
                        struct compare_tables *tables);
void compare_tables_free(struct compare_tables *tables);

/* Sentences below the tables, each with its own line end: what cannot be known, how much is luck, what failed. */
void compare_remarks(const struct compare *compare, const struct compare_view *view,
                     struct strbuf *out);

/* "before: 3 runs (a, b, c)" */
void compare_side_text(const struct compare *compare, uint32_t side, struct strbuf *out);

#endif
