/* lines.c: lines of execution of an interpreter, as tracks of the recorder. */
#include "lines.h"

#include <pthread.h>
#include <string.h>

#include "pointer_map.h"

enum { POOL_HEADS = 1024 };

static __thread struct line base __attribute__((tls_model("initial-exec")));
__thread struct line *line_here __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end; /* of threads that nobody else tells us about */
static struct line *pool[POOL_HEADS]; /* by label: the next frame of the same function goes on on the same track */
static struct line *all;
/* Frames -> their line, its serial then (`more`), how many calls are open with this one (`number`). Green threads that do not run
 * -> the line that they left. */
static struct pointer_map running;

static void run_line(struct line *line)
{
    line_here = line;
    lam_track_switch(LAM_DEFAULT, line->track);
}

void line_make_track(struct line *line)
{
    line->track = lam_track_create(LAM_DEFAULT, (struct lam_label){line->label});
    line->has_no_track = 0;
    if (line == line_here)
        lam_track_switch(LAM_DEFAULT, line->track);
}

static struct line *line_new(uint32_t label)
{
    struct line **link = &pool[label % POOL_HEADS];
    while (*link && (*link)->label != label)
        link = &(*link)->next_free;
    struct line *line = *link;
    if (line) {
        *link = line->next_free;
    } else {
        line = calloc(1, sizeof *line);
        if (!line || !shadow_grow(&line->calls, 1)) {
            free(line);
            return NULL;
        }
        line->label = label;
        line->has_no_track = 1;
        line->next = all;
        all = line;
    }
    line->is_free = 0;
    return line;
}

static void line_retire(struct line *line)
{
    struct line **head = &pool[line->label % POOL_HEADS];
    line->serial++;
    line->is_free = 1;
    line->resumer = NULL;
    line->next_free = *head;
    *head = line;
}

static void line_leave(struct line *line)
{
    struct line *resumer = line->resumer ? line->resumer : &base;
    line->resumer = NULL;
    run_line(resumer);
}

static void close_calls(struct line *line)
{
    shadow_pop_to(&line->calls, line->calls.frames);
}

void line_return_slowly(uint32_t label)
{
    struct shadow *frame = line_here->calls.top;
    while (frame > line_here->calls.frames && frame->open.label != label)
        frame--;
    if (frame > line_here->calls.frames)
        shadow_pop_to(&line_here->calls, frame - 1);
}

static int is_current(const struct pointer_slot *slot)
{
    return slot && slot->value == line_here && slot->more == line_here->serial;
}

int line_has(const void *frame)
{
    return is_current(pointer_map_find(&running, frame));
}

/* The frame went unseen. */
static void forget(struct pointer_slot *slot)
{
    struct line *line = slot->value, *before = line_here;
    int is_last = slot->more == line->serial && slot->number == 1 && line != line_here;
    pointer_map_remove(&running, slot);
    if (!is_last)
        return;
    run_line(line);
    close_calls(line);
    line_retire(line);
    run_line(before);
}

/* Calls inside of the one that is the `depth`th. */
static void close_inside(struct line *line, uint32_t depth)
{
    if ((size_t)(line->calls.top - line->calls.frames) > depth)
        shadow_pop_to(&line->calls, line->calls.frames + depth);
}

static inline void enter_line(struct line *line, const void *frame)
{
    if (line == line_here)
        return;
    line->resumer = line_here;
    line->entered_at = frame;
    run_line(line);
}

int line_resume(const void *frame, enum line_entry entry)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    if (!slot)
        return 0;
    struct line *line = slot->value;
    if (entry == LINE_START || slot->more != line->serial) {
        forget(slot);
        return 0;
    }
    enter_line(line, frame);
    if (entry == LINE_THROW) /* those that it waited for are over */
        close_inside(line, slot->number);
    return 1;
}

void line_begin(const void *frame, struct lam_callee *callee, int is_part)
{
    struct line *line = is_part ? line_here : line_new(callee->label);
    struct pointer_slot *slot = line ? pointer_map_add(&running, frame) : NULL;
    if (!slot) { /* no memory: a call as any other */
        if (line_here)
            line_call(callee);
        return;
    }
    if (line->has_no_track && !callee->skip)
        line_make_track(line);
    enter_line(line, frame);
    line_call(callee);
    slot->value = line;
    slot->more = line->serial;
    slot->number = (uint32_t)(line->calls.top - line->calls.frames);
}

void line_yield(const void *frame, const struct lam_callee *callee)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    if (!slot)
        line_return(callee);
    else if (is_current(slot) && line_here->entered_at == frame)
        line_leave(line_here);
}

void line_exit(const void *frame, const struct lam_callee *callee)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    int is_ours = is_current(slot), is_last = is_ours && slot->number == 1;
    if (is_ours) /* with those that it waited for, should they have refused to end */
        close_inside(line_here, slot->number - 1);
    else
        line_return(callee);
    if (!slot)
        return;
    struct line *line = slot->value;
    pointer_map_remove(&running, slot);
    if (is_ours && line->entered_at == frame)
        line_leave(line);
    if (is_last && line != line_here)
        line_retire(line);
}

void line_switch(const void *from, int is_over, const void *to, struct lam_label label)
{
    struct line *left = line_here;
    struct pointer_slot *slot = pointer_map_find(&running, to);
    struct line *line = slot ? slot->value : line_new(label.id);
    if (slot)
        pointer_map_remove(&running, slot);
    run_line(line ? line : &base);
    if (is_over && left != &base)
        line_retire(left);
    else if ((slot = pointer_map_add(&running, from)))
        slot->value = left;
}

static void free_calls(void *line)
{
    free(((struct line *)line)->calls.frames);
    ((struct line *)line)->calls = (struct shadow_stack){NULL, NULL, NULL};
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, free_calls);
}

int lines_begin_thread(struct lam_label name, int is_track)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    base = (struct line){.calls = base.calls};
    if (!base.calls.frames && !shadow_grow(&base.calls, 1))
        return -1;
    pthread_setspecific(at_thread_end, &base);
    base.calls.top = base.calls.frames; /* what is there is of another recording */
    if (is_track)
        base.track = lam_track_create(LAM_DEFAULT, name);
    run_line(&base);
    return 0;
}

void lines_end_thread(void)
{
    while (line_here != &base) {
        struct line *line = line_here;
        close_calls(line);
        line_leave(line);
        line_retire(line);
    }
    close_calls(&base);
    if (base.track.id)
        lam_track_end(LAM_DEFAULT, base.track);
}

void lines_end(void)
{
    for (struct line *line = all; line; line = line->next)
        if (!line->resumer && !line->is_free) {
            lam_track_switch(LAM_DEFAULT, line->track);
            close_calls(line);
            lam_track_end(LAM_DEFAULT, line->track);
        }
    for (struct line *next; all; all = next) {
        next = all->next;
        free(all->calls.frames);
        free(all);
    }
    memset(pool, 0, sizeof pool);
    pointer_map_clear(&running);
}

/* Nothing is given back: the fork may have come from another thread in the middle of malloc() or of the above. */
void lines_forget(void)
{
    all = NULL;
    memset(pool, 0, sizeof pool);
    running = (struct pointer_map){NULL, 0, 0};
}
