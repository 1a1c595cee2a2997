/* What headers cost, from the traces that clang writes with -ftime-trace: times that a file was read, by the wall clock of its
 * compilation, with all that it includes and without. Added up over the units of a recording, and kept in it. */
#ifndef LAMELLA_BUILD_HEADER_COSTS_H
#define LAMELLA_BUILD_HEADER_COSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/strbuf.h"

#define HEADERS_NAME "headers.json" /* in a recording */

struct header_cost {
    const char *file;
    uint64_t count;                /* times that it was read */
    double total_s, self_s, max_s; /* with what it includes, without that, the longest reading */
};

struct header_costs { /* all-zero is empty */
    struct intern files;
    LAM_ARRAY(struct header_cost)
    items;          /* by intern's id, less one; sorted by header_costs_sort() */
    uint64_t units; /* traces that were read */
};

/* Adds a trace. A file that is none is a code, described, and adds nothing. */
int header_costs_add(struct header_costs *costs, const char *text, size_t size, const char *name,
                     struct lam_error *err);

/* The dearest first. Nothing is to be added afterwards. */
void header_costs_sort(struct header_costs *costs);

int header_costs_write(const struct header_costs *costs, struct strbuf *text, struct lam_error *err);
/* *costs is initialised here, and empty after a failure. */
int header_costs_parse(struct header_costs *costs, const char *text, size_t size, const char *name,
                       struct lam_error *err);
void header_costs_free(struct header_costs *costs);

#endif
