/* Inside of probe.c, probe_stacks.c and probe_suggest.c. */
#ifndef LAMELLA_ANALYSIS_PROBE_STATE_H
#define LAMELLA_ANALYSIS_PROBE_STATE_H

#include "analysis/probe.h"
#include "base/intern.h"
#include "base/map.h"

/* A stack by names: two addresses of one function are one node, an inlined function is a node of its own. */
struct probe_node {
    uint32_t parent;
    uint32_t name; /* id in probe.names */
    uint32_t depth;
};

struct probe_stack_link { /* a stack of the input */
    uint32_t parent, frame, node;
    uint32_t root_frame;
};

struct probe_frame_names {
    uint32_t first, count; /* in probe.frame_names: outermost first */
    uint32_t module;
};

struct probe_group { /* what of a thread decides about its samples */
    enum thread_role role;
    uint32_t fallback;
    const char *program;
};

struct probe_process {
    const char *program; /* its path */
    uint32_t pid;
};

struct probe_thread {
    uint32_t process;
    uint32_t group;
    bool is_main;
    bool is_left_out; /* its program is not wanted */
};

/* The samples of one stack in threads of one group. */
struct probe_tally {
    uint32_t stack, group, bucket;
    struct report_amount amount;
    uint64_t truncated;
};

struct probe {
    struct classifier *cls;
    struct frame_names source;
    struct stack_states states;
    struct intern names;
    struct intern programs;
    LAM_ARRAY(uint32_t) frame_names;
    LAM_ARRAY(struct probe_frame_names) frames;
    LAM_ARRAY(struct probe_stack_link) stacks;
    LAM_ARRAY(struct probe_node) nodes; /* [0] is the empty stack */
    struct map children;                /* parent node and name → node */
    LAM_ARRAY(struct probe_process) processes;
    LAM_ARRAY(uint32_t) module_names; /* "[libfoo.so]" */
    LAM_ARRAY(struct probe_thread) threads;
    LAM_ARRAY(struct probe_group) groups;
    LAM_ARRAY(struct probe_tally) tallies;
    LAM_ARRAY(uint32_t) module_paths;
    struct map tally_ids; /* stack and group → tally */
    const char *wanted;   /* the programs that count; NULL: all */
    uint64_t charged_ns;
};

/* The class of a tally's samples as the classifier explains it; classes is scratch of the caller. */
struct probe_classes LAM_ARRAY_BODY(uint32_t);
int probe_explain(struct probe *probe, const struct probe_tally *tally,
                  struct probe_classes *classes, struct classifier_reason *reason);

/* The node of the frame that a marker matched in the stack that ends at `node`; 0: none did. */
uint32_t probe_matched_node(const struct probe *probe, uint32_t node, const struct marker *marker);

#endif
