/* Events of instrumented programs in `lamella view`: intervals, instants, integers, folds, tracks. */
#include <string.h>

#include "base/units.h"
#include "output/view_lines.h"

int view_on_path(void *ctx, const struct profile_path *path)
{
    struct view *view = ctx;
    uint32_t depth = path->parent ? view->paths.items[path->parent - 1].depth + 1 : 0;
    return array_push(&view->paths, ((struct view_path){path->parent, path->label, depth}));
}

int view_on_label(void *ctx, const struct profile_label *label)
{
    struct view *view = ctx;
    const char *text = arena_strndup(&view->arena, label->text.bytes, label->text.size);
    if (!text)
        return LAM_E_NOMEM;
    const char *wanted = view->options.label;
    struct view_label kept = {label->kind, text, (uint32_t)label->text.size,
                              !wanted || view_contains(label->text, wanted)};
    return array_push(&view->labels, kept);
}

static const struct view_label *label_of(const struct view *view, uint32_t label)
{
    static const struct view_label none = {.text = "?", .size = 1};
    return label && label <= view->labels.count ? &view->labels.items[label - 1] : &none;
}

static void json_label(struct view *view, const struct view_label *label)
{
    const struct view_label *kind = label_of(view, label->kind);
    json_member_str_n(&view->json, "kind", label->kind ? kind->text : "",
                      label->kind ? kind->size : 0);
    json_member_str_n(&view->json, "label", label->text, label->size);
}

static void put_label(struct view *view, const struct view_label *label)
{
    const struct view_label *kind = label_of(view, label->kind);
    if (label->kind) {
        strbuf_add_printable(&view->line, kind->text, kind->size);
        strbuf_add_char(&view->line, ' ');
    }
    strbuf_add_printable(&view->line, label->text, label->size);
}

static void put_args(struct view *view, const struct profile_text *args, size_t argc)
{
    if (view->options.is_json) {
        json_member_array(&view->json, "args");
        for (size_t i = 0; i < argc; i++)
            json_put_str_n(&view->json, args[i].bytes, args[i].size);
        json_put_end(&view->json);
        return;
    }
    for (size_t i = 0; i < argc; i++) {
        strbuf_add(&view->line, i ? ", " : "(");
        strbuf_add_printable(&view->line, args[i].bytes, args[i].size);
    }
    strbuf_add(&view->line, argc ? ")" : "");
}

static void json_where(struct view *view, uint32_t process, uint32_t thread_id, uint32_t track,
                       const struct view_thread *thread)
{
    struct json_writer *json = &view->json;
    json_member_u64(json, "process", process);
    json_member_u64(json, "thread", thread_id);
    json_member_u64(json, "pid", view->pid);
    json_member_u64(json, "tid", thread ? thread->tid : 0);
    if (track)
        json_member_u64(json, "track", track);
}

static void put_where(struct view *view, int64_t at_ns, uint32_t track,
                      const struct view_thread *thread)
{
    view_put_time(view, &view->line, at_ns);
    view_put_thread(view, &view->line, thread);
    if (track)
        strbuf_addf(&view->line, " track %u", track);
    strbuf_add(&view->line, "  ");
}

/* Whether an event of a thread is wanted; a thread that nobody told (of a tree) is shown where no thread is asked for. */
static bool is_shown(const struct view *view, const struct view_thread *thread, uint32_t label)
{
    if (!(thread ? thread->is_shown : view->process_is_shown && !view->options.thread))
        return false;
    return label_of(view, label)->matches;
}

static const struct {
    uint32_t flag;
    const char *name;
} interval_flags[] = {
    {PROFILE_INTERVAL_OPEN, "open"},         {PROFILE_INTERVAL_DETACHED, "detached"},
    {PROFILE_INTERVAL_OVERLAPS, "overlaps"}, {PROFILE_INTERVAL_RECURSIVE, "recursive"},
    {PROFILE_INTERVAL_BACKWARD, "backward"},
};
enum { INTERVAL_FLAGS = sizeof interval_flags / sizeof *interval_flags };

static void interval_json(struct view *view, const struct profile_interval *in,
                          const struct view_thread *thread)
{
    struct json_writer *json = &view->json;
    json_where(view, in->process, in->thread, in->track, thread);
    json_label(view, label_of(view, in->label));
    json_member_i64(json, "start_ns", in->start_ns);
    json_member_i64(json, "end_ns", in->end_ns);
    json_member_u64(json, "active_ns", in->active_ns);
    json_member_u64(json, "depth", in->depth);
    json_member_u64(json, "weight", in->weight);
    if (in->end_thread != in->thread)
        json_member_u64(json, "end_thread", in->end_thread);
    json_member_array(json, "flags");
    for (unsigned i = 0; i < INTERVAL_FLAGS; i++) {
        if (in->flags & interval_flags[i].flag)
            json_put_str(json, interval_flags[i].name);
    }
    json_put_end(json);
    put_args(view, in->args, in->argc);
}

static void interval_text(struct view *view, const struct profile_interval *in, uint32_t depth,
                          const struct view_thread *thread)
{
    struct unit_text wall, active;
    uint64_t wall_ns = (uint64_t)in->end_ns - (uint64_t)in->start_ns;
    put_where(view, in->start_ns, in->track, thread);
    view_branch_indent(view, depth);
    strbuf_addf(&view->line, "%s  ", view_amount(view, wall_ns, &wall));
    put_label(view, label_of(view, in->label));
    put_args(view, in->args, in->argc);
    if (in->active_ns != wall_ns)
        strbuf_addf(&view->line, "  active %s", view_amount(view, in->active_ns, &active));
    if (in->weight > 1)
        strbuf_addf(&view->line, "  stands for %u", in->weight);
    for (unsigned i = 0; i < INTERVAL_FLAGS; i++) {
        if (in->flags & interval_flags[i].flag)
            strbuf_addf(&view->line, "  %s", interval_flags[i].name);
    }
}

int view_on_interval(void *ctx, const struct profile_interval *in)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, in->thread);
    uint32_t depth = view_branch_enter(view, in);
    if (view->options.hides_intervals || !is_shown(view, thread, in->label) ||
        !view_in_time(view, in->start_ns, in->end_ns))
        return LAM_OK;
    view_begin(view, "interval");
    if (view->options.is_json)
        interval_json(view, in, thread);
    else
        interval_text(view, in, depth, thread);
    return view_branch_end(view, in->thread, in->track);
}

int view_on_instant(void *ctx, const struct profile_instant *in)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, in->thread);
    if (view->options.hides_instants || !is_shown(view, thread, in->label) ||
        !view_in_time(view, in->at_ns, in->at_ns))
        return LAM_OK;
    view_begin(view, in->has_value ? "integer" : "instant");
    if (view->options.is_json) {
        json_where(view, in->process, in->thread, in->track, thread);
        json_label(view, label_of(view, in->label));
        json_member_i64(&view->json, "at_ns", in->at_ns);
        if (in->has_value)
            json_member_u64(&view->json, "value", in->value);
    } else {
        put_where(view, in->at_ns, in->track, thread);
        view_branch_indent(view, view_branch_depth(view, in->thread, in->track, in->at_ns));
        strbuf_add(&view->line, in->has_value ? "integer  " : "instant  ");
        put_label(view, label_of(view, in->label));
    }
    put_args(view, in->args, in->argc);
    if (in->has_value && !view->options.is_json)
        strbuf_addf(&view->line, " = %llu", (unsigned long long)in->value);
    return view_branch_end(view, in->thread, in->track);
}

static uint32_t path_depth(const struct view *view, uint32_t path)
{
    return path ? view->paths.items[path - 1].depth : 0;
}

/* From the outermost to the fold's own; where it is deeper than that, the innermost of them: each node of a deep tree would tell its
 * whole way again. */
static void json_path(struct view *view, uint32_t path)
{
    enum { JSON_PATH_MAX = 128 };
    uint32_t labels[JSON_PATH_MAX], count = 0;
    for (uint32_t at = path; at && count < JSON_PATH_MAX; at = view->paths.items[at - 1].parent)
        labels[count++] = view->paths.items[at - 1].label;
    json_member_u64(&view->json, "depth", path_depth(view, path));
    json_member_array(&view->json, "path");
    for (uint32_t i = count; i-- > 0;) {
        const struct view_label *label = label_of(view, labels[i]);
        json_put_str_n(&view->json, label->text, label->size);
    }
    json_put_end(&view->json);
}

/* What the fold is inside of, innermost first, as a stack's frames. */
static void put_path(struct view *view, uint32_t path)
{
    uint32_t at = path ? view->paths.items[path - 1].parent : 0, shown = 0;
    for (; at; at = view->paths.items[at - 1].parent) {
        const struct view_label *label = label_of(view, view->paths.items[at - 1].label);
        if (view->options.depth && ++shown >= view->options.depth) {
            strbuf_add(&view->line, " < …");
            break;
        }
        strbuf_add(&view->line, " < ");
        strbuf_add_printable(&view->line, label->text, label->size);
    }
}

int view_on_fold(void *ctx, const struct profile_fold *in)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, in->thread);
    if (view->options.hides_folds || !is_shown(view, thread, in->label) ||
        !view_in_time(view, in->at_ns, in->at_ns))
        return LAM_OK;
    view_begin(view, "fold");
    if (view->options.is_json) {
        json_where(view, in->process, in->thread, in->track, thread);
        json_label(view, label_of(view, in->label));
        json_member_i64(&view->json, "at_ns", in->at_ns);
        json_member_u64(&view->json, "count", in->count);
        json_member_u64(&view->json, "total_ns", in->total_ns);
        json_member_u64(&view->json, "self_ns", in->self_ns);
        json_path(view, in->path);
    } else {
        struct unit_text total, self;
        put_where(view, in->at_ns, in->track, thread);
        view_branch_indent(view, path_depth(view, in->path));
        strbuf_addf(&view->line, "%llu call%s  ", (unsigned long long)in->count,
                    unit_plural(in->count));
        put_label(view, label_of(view, in->label));
        if (!view->options.is_tree) /* there the indentation says it */
            put_path(view, in->path);
        strbuf_addf(&view->line, "  total %s  self %s", view_amount(view, in->total_ns, &total),
                    view_amount(view, in->self_ns, &self));
    }
    return view_branch_end(view, in->thread, in->track);
}

int view_on_track(void *ctx, const struct profile_track *track)
{
    struct view *view = ctx;
    int rc = view_branches_begin(view, track->track);
    if (rc < 0)
        return rc;
    if (!view->process_is_shown || view->options.hides_threads || view->options.label ||
        view->options.thread || !view_in_time(view, track->start_ns, track->start_ns))
        return LAM_OK;
    view_begin(view, "track");
    if (view->options.is_json) {
        json_member_u64(&view->json, "process", track->process);
        json_member_u64(&view->json, "track", track->track);
        json_member_i64(&view->json, "start_ns", track->start_ns);
        json_member_str_n(&view->json, "name", track->name.bytes, track->name.size);
    } else {
        view_put_time(view, &view->line, track->start_ns);
        strbuf_addf(&view->line, "  track %u ", track->track);
        strbuf_add_printable(&view->line, track->name.bytes, track->name.size);
    }
    return view_end(view);
}
