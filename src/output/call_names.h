/* Who calls whom in what a report was made of, with names: of its events, by label, and of its samples, by function. */
#ifndef LAMELLA_OUTPUT_CALL_NAMES_H
#define LAMELLA_OUTPUT_CALL_NAMES_H

#include "analysis/call_graph.h"
#include "analysis/label_totals.h"
#include "base/intern.h"
#include "base/map.h"
#include "output/stack_totals.h"

/* Texts of size 0 are not known, or mean nothing there. */
struct call_name {
    struct profile_text name;
    struct profile_text kind;   /* of a label */
    struct profile_text module; /* of a sampled function: its path */
    struct profile_text file;   /* its source */
    uint32_t line; /* of it: where it was most of its time, itself and in what it called; 0: not known */
};

/* All-zero is empty and valid. */
struct calls {
    bool is_of_samples;
    enum profile_measure measure;
    uint64_t whole_ns; /* what shares are of */
    struct call_graph graph;
    LAM_ARRAY(struct call_name) names; /* by the graph's */
    struct map name_ids;               /* of samples */
};

/* labels were kept by path. What stands under the kind of a part of a query is a part of the query here as well: its time, no
 * call of its own. Texts live as long as labels. LAM_OK or LAM_E_NOMEM. */
int calls_of_events(struct calls *calls, const struct labels *labels);

/* totals hold mixed stacks (EXPORT_VALUES_MIXED). Texts live as long as they. LAM_OK or LAM_E_NOMEM. */
int calls_of_samples(struct calls *calls, struct stack_totals *totals);

void calls_free(struct calls *calls);

struct call_names LAM_ARRAY_BODY(uint32_t);

/* The functions that are meant, most total time first. Without a wildcard: what is called exactly so; else what is called so
 * but for the place behind it ("parse (main.lua:3)"); else what holds it. None is no failure. LAM_OK or LAM_E_NOMEM. */
int calls_find(const struct calls *calls, const char *wanted, struct call_names *found);

/* Up to `count` functions whose names are most like it, into `text` as "'a', 'b'": nothing where none is near. */
struct calls_likeness {
    const struct calls *const *sources;
    size_t count;
};
int calls_most_like(const struct calls_likeness *among, const char *wanted, struct strbuf *text);

#endif
