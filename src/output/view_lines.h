/* What the parts of `lamella view` share: its state, and how a line begins and ends. */
#ifndef LAMELLA_OUTPUT_VIEW_LINES_H
#define LAMELLA_OUTPUT_VIEW_LINES_H

#include "analysis/symbol_names.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/json_write.h"
#include "base/spool.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "output/write_view.h"

struct view_module {
    const char *path;
    uint32_t symbols; /* id in the sidecar; 0 */
};

struct view_frame {
    uint32_t module;
    uint64_t offset;
    bool is_return;
    const char *name; /* as text shows it, made when first needed */
};

struct view_stack {
    uint32_t parent, frame;
    uint8_t matches; /* the label: 0 not known yet, 1 no, 2 yes */
};

struct view_thread {
    uint32_t tid;
    const char *name;
    bool is_shown;
    uint32_t fallback; /* of the classifier, for a thread of this name */
};

struct view_label {
    uint32_t kind;
    const char *text;
    uint32_t size;
    bool matches; /* the label that is wanted */
};

struct view_path {
    uint32_t parent, label, depth; /* depth: what it is inside of */
};

/* Of --tree: a thread or a track, whose lines stand together. */
struct view_branch {
    LAM_ARRAY(int64_t) ends; /* of the intervals under way, outermost first */
};

struct view {
    struct view_options options;
    struct byteout *out;
    struct json_writer json;
    struct strbuf line;
    const struct symbols *symbols;
    struct arena arena;                    /* frames' names, modules' paths */
    struct arena process_arena;            /* threads' names */
    LAM_ARRAY(struct view_module) modules; /* by id - 1 */
    LAM_ARRAY(struct view_frame) frames;
    LAM_ARRAY(struct view_stack) stacks;
    LAM_ARRAY(struct view_thread) threads; /* of the process at hand */
    LAM_ARRAY(struct view_label) labels;   /* by id - 1 */
    LAM_ARRAY(struct view_path) paths;     /* by id - 1 */
    LAM_ARRAY(struct view_branch)
    branches; /* of the process at hand: its threads, then its tracks; with a tree only */
    struct spool *spool;  /* their lines; NULL: they need not be sorted, there are no tracks */
    uint32_t first_track; /* of the process at hand; 0: it has none */
    uint32_t first_thread;
    uint32_t pid;
    enum profile_measure measure;
    bool process_is_shown;
    bool has_events, has_sampler; /* in the recording */
    const char *exe;              /* of the process at hand */
    struct symbol_names names;
    struct stack_states states; /* with a classifier only */
    uint64_t found;             /* write_view_found() */
};

/* A line of that type: an object's members, or text in view->line. */
void view_begin(struct view *view, const char *type);
int view_end(struct view *view);

/* Microseconds; nanoseconds where there are events, many of which may take less. */
void view_put_time(const struct view *view, struct strbuf *line, int64_t at_ns);
const char *view_duration(uint64_t ns, struct unit_text *text);
const char *view_amount(const struct view *view, uint64_t ns,
                        struct unit_text *text); /* of events: in what they measure */
bool view_in_time(const struct view *view, int64_t from_ns, int64_t to_ns);
bool view_contains(struct profile_text text, const char *part);

struct view_thread *view_thread_of(struct view *view, uint32_t thread); /* NULL: of no thread at hand */
void view_put_thread(const struct view *view, struct strbuf *line, const struct view_thread *thread);

/* The sink's members for instrumented programs. */
int view_on_track(void *ctx, const struct profile_track *track);
int view_on_label(void *ctx, const struct profile_label *label);
int view_on_interval(void *ctx, const struct profile_interval *interval);
int view_on_instant(void *ctx, const struct profile_instant *instant);
int view_on_fold(void *ctx, const struct profile_fold *fold);
int view_on_path(void *ctx, const struct profile_path *path);

/* ---- --tree (view_branches.c) ---- */

/* How far an interval is indented, or an instant at a time. */
uint32_t view_branch_enter(struct view *view, const struct profile_interval *in);
uint32_t view_branch_depth(struct view *view, uint32_t thread, uint32_t track, int64_t at_ns);
void view_branch_indent(struct view *view, uint32_t depth);

/* As view_end(), for the line of a thread or a track. */
int view_branch_end(struct view *view, uint32_t thread, uint32_t track);

/* The process at hand has tracks. */
int view_branches_begin(struct view *view, uint32_t track);

/* Prints the lines that were kept, one thread after the other, then the tracks; forgets the process's. LAM_OK or a failure. */
int view_branches_print(struct view *view);
void view_branches_clear(struct view *view);

#endif
