/* What `lamella probe` looks at: the three-level totals, and the stacks behind one bucket with their names, so that markers
 * can be extended by looking at what none claims. In memory: the distinct stacks, whatever the number of samples.
 *
 *     probe_open(&probe, &options, err);
 *     rc = read_recording(…, probe_sink(probe), err);
 *     probe_totals(probe, &totals);
 *     probe_stacks(probe, &choice, depth, &list);
 *     probe_suggest(probe, &choice, count, &suggestions);
 */
#ifndef LAMELLA_ANALYSIS_PROBE_H
#define LAMELLA_ANALYSIS_PROBE_H

#include "analysis/report.h"
#include "analysis/stack_states.h"
#include "base/array.h"
#include "base/error.h"

struct probe;

struct probe_options {
    struct classifier *cls;
    struct frame_names names;
    const char *process; /* only processes whose program's path this pattern or text names; NULL: all */
};

int probe_open(struct probe **probe, const struct probe_options *options, struct lam_error *err);
struct profile_sink probe_sink(struct probe *probe);
void probe_close(struct probe **probe);

/* ---- totals ---- */

struct probe_bucket {
    uint32_t bucket; /* classifier_bucket() */
    struct report_amount amount;
};

struct probe_role {
    enum thread_role role;
    struct report_amount amount;
    uint64_t truncated; /* samples whose stack the unwinder ended early */
    uint64_t rootless;  /* samples whose outermost frame lies in a library that starts no thread */
    uint64_t one_frame; /* samples of one frame or none */
};

struct probe_totals {
    LAM_ARRAY(struct probe_bucket)
    buckets; /* by segment and phase of the classifier, then CPU time */
    struct probe_role roles[ROLE_COUNT];
    struct report_amount total;
    uint64_t charged_ns;                   /* PROFILE_UNKNOWN */
    uint64_t backend_ns, backend_named_ns; /* CPU time of the back end; of it, with a detail */
    uint64_t unknown_ns, codegen_ns, bare_machine_code_ns;
    uint64_t backend_unresolved_ns, unknown_unresolved_ns; /* of them, in code without symbols */
    uint32_t stacks;                                       /* distinct ones */
};
int probe_totals(const struct probe *probe, struct probe_totals *totals);
void probe_totals_free(struct probe_totals *totals);

/* ---- one bucket ---- */

/* "unknown", "backend/codegen", "backend/optimize/-" (no detail), "backend/optimize/loops", "frontend/-/unresolved". */
struct probe_choice {
    const char *segment, *phase, *detail; /* NULL: any */
    char text[192];
};
/* LAM_E_USAGE, described, for what is no bucket. */
int probe_choice_parse(struct probe_choice *choice, const char *text, struct lam_error *err);
bool probe_chosen(const struct probe_choice *choice, const struct phase_bucket *bucket);

struct probe_frame {
    const char *name; /* "[libfoo.so]" where there is no symbol */
    bool is_decider;  /* the frame that the deciding marker matched */
    bool is_detail;   /* the frame that gave the detail */
};

/* Stacks that look alike: the frames from the deciding one inwards, as many as were asked for. */
struct probe_stack {
    struct report_amount amount;
    uint32_t bucket;
    enum thread_role role;
    const char *program;                               /* of the first of them */
    const struct marker *decided, *runner_up, *detail; /* NULL */
    uint32_t first_frame, frame_count;                 /* in probe_stacks.frames, innermost first */
    uint32_t outer_frames, inner_frames;               /* left out; inner: of the deepest */
};

struct probe_stacks {
    LAM_ARRAY(struct probe_stack) stacks; /* heaviest first */
    LAM_ARRAY(struct probe_frame) frames;
    struct report_amount amount; /* of the whole bucket */
};

/* Frames shown of a stack, `depth` in all: from the deciding frame inwards, and if there is room outwards; the innermost ones
 * where no frame decided; 0: all. */
int probe_stacks(struct probe *probe, const struct probe_choice *choice, uint32_t depth,
                 struct probe_stacks *list);
void probe_stacks_free(struct probe_stacks *list);

/* ---- suggestions ---- */

/* A marker line for frames that none claims. What a name means is for a person to say: segment, phase and detail are those of
 * the nearest marker by name, or of the program. */
struct probe_suggestion {
    enum marker_rule rule;
    const char *pattern; /* a function's name; a program's path for MARKER_ROLE */
    const char *segment, *phase, *detail;
    struct report_amount amount; /* what it would claim that nothing claims */
};

struct probe_suggestions {
    LAM_ARRAY(struct probe_suggestion)
    items;                       /* in the order in which they claim most of what is left */
    struct report_amount amount; /* of all that is in question */
    struct arena arena;
};

/* For the samples that no marker claims, have no detail or are the back end's rest; with a choice, of that bucket only. */
int probe_suggest(struct probe *probe, const struct probe_choice *choice, uint32_t count,
                  struct probe_suggestions *out);
void probe_suggestions_free(struct probe_suggestions *out);

#endif
