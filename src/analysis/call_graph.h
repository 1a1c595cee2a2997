/* Who calls whom, and how much of the time that was: made of a tree of stacks, whatever it is a tree of.
 *
 * Every sum is made of self times, so that they add up. At each moment of a function's total time it is somewhere in the stack, perhaps
 * several times:
 *  - its total counts the moment once, however often it is in there (that is the total of the outermost one);
 *  - the caller to whom the moment counts is that of the outermost one: `time` of all callers adds up to the total;
 *  - the callee to which it counts is that of the innermost one: self and `below` of all callees add up to the total.
 * Calls are counted one by one, those inside of a call of the same function as well. */
#ifndef LAMELLA_ANALYSIS_CALL_GRAPH_H
#define LAMELLA_ANALYSIS_CALL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

#define CALL_NOBODY \
    UINT32_MAX /* the caller of what is outermost; the name of a node that is none */

struct call_amount {
    uint64_t ns;      /* or whatever was measured */
    uint64_t samples; /* 0 where the time is not from samples */
};

struct call_node {
    uint32_t parent; /* index, before its own; 0: outermost */
    uint32_t name;   /* the function's: dense, from 0 */
    uint64_t count;  /* calls */
    struct call_amount self;
};

struct call_function { /* by name */
    bool is_there;
    uint64_t count;
    struct call_amount self, total;
};

/* What one function's calls of another came to. */
struct call_edge {
    uint32_t caller, callee; /* names; CALL_NOBODY */
    uint64_t count;
    struct call_amount self;  /* of the callee, called from there */
    struct call_amount time;  /* of the callee's total */
    struct call_amount below; /* of the caller's total; nothing where it calls itself */
};

struct call_edges LAM_ARRAY_BODY(struct call_edge);

/* Edges by one of their ends: those of name n are list[first[n]] … list[first[n + 1] - 1], in the order of all. */
struct call_index {
    LAM_ARRAY(uint32_t) first, list;
};

/* All-zero is empty and valid. */
struct call_graph {
    LAM_ARRAY(struct call_node) nodes; /* [0] stands for what is around all */
    LAM_ARRAY(struct call_function) functions;
    struct call_edges edges; /* most time first, after call_graph_finish() */
    struct call_index by_callee, by_caller;
    struct call_amount all;
};

/* A node below another one; a name CALL_NOBODY makes a gap, under which nothing may stand and which is in nothing. LAM_OK, LAM_E_NOMEM,
 * or LAM_E_INVAL for a parent that is not there. */
int call_graph_add(struct call_graph *graph, const struct call_node *node);

/* After the last node. LAM_OK or LAM_E_NOMEM. */
int call_graph_finish(struct call_graph *graph);

/* A function and those around it; callers by time, callees by below, the largest first. Calls of itself are in neither list. */
struct call_around {
    uint32_t name;
    const struct call_function *function;
    uint64_t calls_of_itself;
    struct call_edges callers, callees;
};

int call_graph_around(const struct call_graph *graph, uint32_t name, struct call_around *around);
void call_around_free(struct call_around *around);
void call_graph_free(struct call_graph *graph);

#endif
