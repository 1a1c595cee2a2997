/* lines.c: lines of execution of an interpreter, as tracks of the recorder. */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "pointer_map.h"

struct line {
    struct lam_track track;
    struct lam_label label;
    uint32_t serial;        /* changes when the line is given to another frame */
    int is_free;            /* in the pool */
    struct line *resumer;   /* runs when this one is left; NULL: nobody runs it */
    const void *entered_at; /* the frame that leaves it */
    struct line *next_free, *next;
};

enum { POOL_HEADS = 1024 };

static __thread struct line base __attribute__((tls_model("initial-exec")));
static __thread struct line *here __attribute__((tls_model("initial-exec")));
static struct line *pool[POOL_HEADS]; /* by label: the next frame of the same function goes on on the same track */
static struct line *all;
/* Frames -> their line, its serial then (`more`), how many calls are open with this one (`number`). Green threads that do not run
 * -> the line that they left. */
static struct pointer_map running;

static void run_line(struct line *line)
{
    here = line;
    lam_track_switch(LAM_DEFAULT, line->track);
}

static struct line *line_new(struct lam_label label)
{
    struct line **link = &pool[label.id % POOL_HEADS];
    while (*link && (*link)->label.id != label.id)
        link = &(*link)->next_free;
    struct line *line = *link;
    if (line) {
        *link = line->next_free;
    } else {
        line = calloc(1, sizeof *line);
        if (!line)
            return NULL;
        line->track = lam_track_create(LAM_DEFAULT, label);
        line->label = label;
        line->next = all;
        all = line;
    }
    line->is_free = 0;
    return line;
}

static void line_retire(struct line *line)
{
    struct line **head = &pool[line->label.id % POOL_HEADS];
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

static int is_current(const struct pointer_slot *slot)
{
    return slot && slot->value == here && slot->more == here->serial;
}

int line_has(const void *frame)
{
    return is_current(pointer_map_find(&running, frame));
}

/* The frame went unseen. */
static void forget(struct pointer_slot *slot)
{
    struct line *line = slot->value, *before = here;
    int is_last = slot->more == line->serial && slot->number == 1 && line != here;
    pointer_map_remove(&running, slot);
    if (!is_last)
        return;
    run_line(line);
    lam_call_unwind(LAM_DEFAULT, 0);
    line_retire(line);
    run_line(before);
}

static inline void enter_line(struct line *line, const void *frame)
{
    if (line == here)
        return;
    line->resumer = here;
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
        lam_call_unwind(LAM_DEFAULT, slot->number);
    return 1;
}

void line_begin(const void *frame, struct lam_label label, int is_part)
{
    struct line *line = is_part ? here : line_new(label);
    struct pointer_slot *slot = line ? pointer_map_add(&running, frame) : NULL;
    if (slot) { /* else no memory: a call as any other */
        slot->value = line;
        slot->more = line->serial;
        enter_line(line, frame);
    }
    lam_call_enter(LAM_DEFAULT, label);
    if (slot)
        slot->number = lam_call_depth(LAM_DEFAULT);
}

void line_yield(const void *frame, struct lam_label label)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    if (!slot)
        lam_call_exit(LAM_DEFAULT, label);
    else if (is_current(slot) && here->entered_at == frame)
        line_leave(here);
}

void line_exit(const void *frame, struct lam_label label)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    int is_ours = is_current(slot), is_last = is_ours && slot->number == 1;
    if (is_ours) /* with those that it waited for, should they have refused to end */
        lam_call_unwind(LAM_DEFAULT, slot->number - 1);
    else
        lam_call_exit(LAM_DEFAULT, label);
    if (!slot)
        return;
    struct line *line = slot->value;
    pointer_map_remove(&running, slot);
    if (is_ours && line->entered_at == frame)
        line_leave(line);
    if (is_last && line != here)
        line_retire(line);
}

void line_switch(const void *from, int is_over, const void *to, struct lam_label label)
{
    struct line *left = here;
    struct pointer_slot *slot = pointer_map_find(&running, to);
    struct line *line = slot ? slot->value : line_new(label);
    if (slot)
        pointer_map_remove(&running, slot);
    run_line(line ? line : &base);
    if (is_over && left != &base)
        line_retire(left);
    else if ((slot = pointer_map_add(&running, from)))
        slot->value = left;
}

void lines_begin_thread(struct lam_label name, int is_track)
{
    base = (struct line){.serial = 0};
    if (is_track)
        base.track = lam_track_create(LAM_DEFAULT, name);
    run_line(&base);
}

void lines_end_thread(void)
{
    while (here != &base) {
        struct line *line = here;
        lam_call_unwind(LAM_DEFAULT, 0);
        line_leave(line);
        line_retire(line);
    }
    lam_call_unwind(LAM_DEFAULT, 0);
    if (base.track.id)
        lam_track_end(LAM_DEFAULT, base.track);
}

void lines_end(void)
{
    for (struct line *line = all; line; line = line->next)
        if (!line->resumer && !line->is_free) {
            lam_track_switch(LAM_DEFAULT, line->track);
            lam_call_unwind(LAM_DEFAULT, 0);
            lam_track_end(LAM_DEFAULT, line->track);
        }
    for (struct line *next; all; all = next) {
        next = all->next;
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
