/* What a stack means: segment, phase and detail, by the rules of the marker files. In order of precedence:
 *
 *   leaf       the innermost frame alone
 *   module     the innermost frame that lies in a module of a `module` line
 *   innermost  the innermost frame with such a marker (one with over= stays against deeper ones of those segments)
 *   outermost  the outermost frame with such a marker
 *   query      the innermost frame with such a marker
 *   role       what the thread is for, and which program it belongs to
 *
 * then the detail: that of the innermost frame that has one for this phase; a marker of the first kind may bring its own. When
 * none has and a frame deeper than the last marker has no symbol, the detail is "unresolved".
 *
 * Stacks are classified along their trie: a node's state comes from its parent's state and its own frame alone, whatever the
 * depth, and what a state means is looked up once. States, classes and buckets are small numbers that live as long as the
 * classifier.
 *
 *     class = classifier_frame(cls, module, names, count)     once a frame
 *     state = classifier_push(cls, parent's state, class)     once a node of the trie; the root's parent is 0
 *     bucket = classifier_decide(cls, state, thread class)    once a sample, or once a (state, thread class)
 *
 * Threads: one at a time. */
#ifndef LAMELLA_PHASE_CLASSIFIER_H
#define LAMELLA_PHASE_CLASSIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "phase/marker_file.h"

struct classifier;

struct classifier_options {
    const char *const *files; /* marker files of the user, read after the built-in ones */
    size_t file_count;
    bool no_builtin; /* tests: the files alone */
};

/* options may be NULL. LAM_E_CORRUPT for a marker file that breaks its format ("FILE:LINE: …"). */
int classifier_open(struct classifier **cls, const struct classifier_options *options,
                    struct lam_error *err);

/* Takes the set over, also when it fails. */
int classifier_open_set(struct classifier **cls, struct marker_set *set, struct lam_error *err);

/* The set's markers, for tests and listings. */
const struct marker_set *classifier_markers(const struct classifier *cls);

/* An index for a module's path; 0 is "no module". LAM_E_NOMEM. */
int classifier_module(struct classifier *cls, const char *path, size_t length, uint32_t *module);

struct classifier_name {
    const char *text; /* short: without hash, generic arguments and parameters */
    size_t length;
};

/* The class of a frame: of the functions inlined at its address, innermost first, the frame's own function last. No names:
 * a frame without a symbol. LAM_E_NOMEM. */
int classifier_frame(struct classifier *cls, uint32_t module, const struct classifier_name *names,
                     size_t count, uint32_t *frame_class);

/* The state of a stack that continues `parent` (0: the empty stack) by a frame. LAM_E_NOMEM. */
int classifier_push(struct classifier *cls, uint32_t parent, uint32_t frame_class, uint32_t *state);

/* What a thread is for. */
struct classifier_thread {
    enum thread_role role;
    uint32_t fallback; /* for classifier_decide(): the role line that counts for this role and program */
    const char *cgu; /* codegen unit within the name given, or NULL */
    size_t cgu_length;
};
/* program: its path; is_main: the thread that the process began with. */
struct classifier_thread classifier_thread(const struct classifier *cls, const char *program,
                                           const char *name, size_t length, bool is_main);

/* The bucket of a sample: an index for classifier_bucket(). LAM_E_NOMEM. */
int classifier_decide(struct classifier *cls, uint32_t state, uint32_t fallback, uint32_t *bucket);

enum phase_detail_kind { PHASE_DETAIL_NONE, PHASE_DETAIL_NAMED, PHASE_DETAIL_UNRESOLVED };

struct phase_bucket {
    enum phase_segment segment;
    uint32_t phase;         /* dense index of (segment, phase), for totals on the second level */
    const char *phase_name; /* never NULL */
    const char *detail;     /* NULL unless named; "unresolved" for UNRESOLVED */
    enum phase_detail_kind detail_kind;
};

uint32_t classifier_bucket_count(const struct classifier *cls);
struct phase_bucket classifier_bucket(const struct classifier *cls, uint32_t bucket);
uint32_t classifier_phase_count(const struct classifier *cls);
struct phase_bucket classifier_phase(const struct classifier *cls, uint32_t phase); /* without detail */

/* Which marker decides a state: for `probe` and tests; NULL when none does. */
const struct marker *classifier_why(const struct classifier *cls, uint32_t state, uint32_t fallback);

/* Why a stack means what it means, for people: the marker that decides, the one that named the detail, and the one that
 * would decide if the first did not exist. Members are NULL where there is none. */
struct classifier_reason {
    const struct marker *decided, *runner_up, *detail;
};
/* The frames' classes, outermost first; not memoised. */
struct classifier_reason classifier_explain(struct classifier *cls, const uint32_t *frame_classes,
                                            size_t count, uint32_t fallback);

void classifier_close(struct classifier **cls);

#endif
