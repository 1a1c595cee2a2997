/* A page of one input, or of two sets of them: what `page` writes and `serve` serves. */
#ifndef LAMELLA_CLI_PAGE_BUILD_H
#define LAMELLA_CLI_PAGE_BUILD_H

#include "base/byteout.h"
#include "base/options.h"
#include "cli/run_sides.h"
#include "output/write_page.h"

struct page_plan {
    const char *const *inputs; /* of one build; NULL: sides are compared */
    size_t input_count;
    const struct run_sides *sides; /* a typical run of each is shown, all of them are compared */
    bool redacts;
    size_t max_stack_bytes; /* of the file; 0: no limit; PAGE_STACKS_BY_SIZE */
    const char *const *marker_files;
    size_t marker_file_count;
};

/* Codes: those of the inputs, the analyses and write_page_begin(). What was written before a failure is no page. */
int page_build(const struct page_plan *plan, struct byteout *out, struct lam_error *err);

#endif
