/* `lamella view --tree`: how far a line is indented, and threads and tracks one after the other where the input tells them
 * side by side, as it does where tracks move between threads. */
#include "base/file.h"
#include "output/view_lines.h"

enum { INDENT_MAX = 100 };

/* Threads have the even numbers, tracks the odd ones. */
static struct view_branch *branch_of(struct view *view, uint32_t thread, uint32_t track,
                                     uint32_t *number)
{
    uint32_t first = track ? view->first_track : view->first_thread, id = track ? track : thread;
    if (!view->options.is_tree || view->options.is_json || !first || id < first)
        return NULL;
    *number = 2 * (id - first) + (track != 0);
    while (view->branches.count <= *number) {
        if (!array_add(&view->branches))
            return NULL;
    }
    return &view->branches.items[*number];
}

uint32_t view_branch_enter(struct view *view, const struct profile_interval *in)
{
    uint32_t number;
    struct view_branch *branch = branch_of(view, in->thread, in->track, &number);
    if (!branch || in->flags & PROFILE_INTERVAL_DETACHED)
        return 0;
    while (branch->ends.count > in->depth)
        (void)array_pop(&branch->ends);
    if (array_push(&branch->ends, in->end_ns) < 0)
        return 0;
    return in->depth;
}

uint32_t view_branch_depth(struct view *view, uint32_t thread, uint32_t track, int64_t at_ns)
{
    uint32_t number;
    struct view_branch *branch = branch_of(view, thread, track, &number);
    if (!branch)
        return 0;
    while (branch->ends.count && array_last(&branch->ends) < at_ns)
        (void)array_pop(&branch->ends);
    return (uint32_t)branch->ends.count;
}

void view_branch_indent(struct view *view, uint32_t depth)
{
    if (view->options.is_tree && !view->options.is_json)
        strbuf_add_fill(&view->line, ' ', 2 * (size_t)(depth < INDENT_MAX ? depth : INDENT_MAX));
}

int view_branch_end(struct view *view, uint32_t thread, uint32_t track)
{
    uint32_t number;
    if (!view->spool || !branch_of(view, thread, track, &number))
        return view_end(view);
    strbuf_add_char(&view->line, '\n');
    if (!strbuf_ok(&view->line))
        return LAM_E_NOMEM;
    spool_add(view->spool, number, view->line.data, view->line.length);
    return spool_status(view->spool, NULL);
}

int view_branches_begin(struct view *view, uint32_t track)
{
    if (view->first_track)
        return LAM_OK;
    view->first_track = track;
    return view->options.is_tree && !view->options.is_json ? spool_open(&view->spool, "", NULL)
                                                           : LAM_OK;
}

static int print_one(struct view *view, uint32_t number)
{
    char bytes[4096];
    struct spool_reader reader;
    uint64_t left = spool_bytes(view->spool, number);
    spool_read(view->spool, number, &reader);
    while (left && !view->out->failed) {
        size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        int rc = spool_take(&reader, bytes, size);
        if (rc < 0)
            return rc;
        byteout_write(view->out, bytes, size);
        left -= size;
    }
    return view->out->failed;
}

int view_branches_print(struct view *view)
{
    int rc = LAM_OK;
    for (uint32_t odd = 0; view->spool && odd < 2; odd++) {
        for (uint32_t i = odd; rc >= 0 && i < view->branches.count; i += 2)
            rc = print_one(view, i);
    }
    view_branches_clear(view);
    return rc;
}

void view_branches_clear(struct view *view)
{
    array_each(&view->branches, branch) array_free(&branch->ends);
    array_clear(&view->branches);
    spool_close(&view->spool);
    view->first_track = 0;
}
