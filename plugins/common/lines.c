/* lines.c: lines of execution of an interpreter, as tracks of the recorder. */
#include "lines.h"

#include <pthread.h>
#include <string.h>

#include "pointer_map.h"

enum { POOL_HEADS = 1024 };

static __thread struct line base __attribute__((tls_model("initial-exec")));
__thread struct line *line_here __attribute__((tls_model("initial-exec")));
/* Which one runs, as far as the recorder knows; NULL: none. */
static __thread struct line *told __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end; /* of threads that nobody else tells us about */
static struct line *pool[POOL_HEADS]; /* by label: the next frame of the same function goes on on the same track */
static struct line *all;
static uint32_t recording; /* a thread's own line knows of which one it is: `serial` */
/* Frames -> their line, its serial then (`more`), how many calls are open with this one (`number`). Green threads that do not run
 * -> the line that they left. */
static struct pointer_map running;

static __attribute__((noinline)) void make_track(struct line *line)
{
    line->track = lam_track_create(LAM_DEFAULT, (struct lam_label){line->label});
}

static inline void tell(struct line *line)
{
    struct lam_track track = {0};
    if (line && !line->track.id && line->label)
        make_track(line);
    if (line)
        track = line->track;
    told = line;
    lam_track_switch(LAM_DEFAULT, track);
}

/* Has it something open that the recorder measures? */
static inline int is_measured(const struct line *line)
{
    const struct lam_open_call *innermost = &line->calls.top->open;
    return innermost->told | innermost->host | line->has_intervals;
}

/* The thread goes on with it, or with its guests. */
static void run_line(struct line *line)
{
    struct line *next = line->guests ? NULL : line;
    line_here = line;
    if (next != told && ((told && is_measured(told)) || (next && is_measured(next))))
        tell(next);
    line->is_untold = !next || next != told;
}

static inline uint32_t depth_of(const struct line *line)
{
    return (uint32_t)(line->calls.top - line->calls.frames);
}

/* Back to `top`: with guests, who need not be told of. */
static void pop_to(struct line *line, struct shadow *top)
{
    struct shadow *guest = line->calls.frames + line->guests;
    if (line->guests && line->calls.top > top) {
        line->calls.top = top < guest ? guest - 1 : top;
        if (top < guest) {
            line->guests = 0;
            if (line == line_here)
                run_line(line);
        }
    }
    shadow_pop_to(&line->calls, top);
}

static void pop_guests(struct line *line)
{
    if (line->guests)
        pop_to(line, line->calls.frames + line->guests - 1);
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
        line->next = all;
        all = line;
    }
    line->is_free = 0;
    return line;
}

static void line_retire(struct line *line)
{
    struct line **head = &pool[line->label % POOL_HEADS];
    pop_guests(line);
    line->serial++;
    line->is_free = 1;
    line->has_intervals = 0;
    line->resumer = NULL;
    line->next_free = *head;
    *head = line;
}

static void line_leave(struct line *line)
{
    struct line *resumer = line->resumer ? line->resumer : &base;
    pop_guests(line);
    line->resumer = NULL;
    run_line(resumer);
}

static void close_calls(struct line *line)
{
    pop_to(line, line->calls.frames);
}

void line_return_slowly(uint32_t label)
{
    struct shadow *frame = line_here->calls.top;
    while (frame > line_here->calls.frames && (frame->open.label != label || frame->call))
        frame--;
    if (frame > line_here->calls.frames)
        pop_to(line_here, frame - 1);
}

static int is_current(const struct pointer_slot *slot)
{
    return slot && slot->value == line_here && slot->more == line_here->serial;
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
    if (depth_of(line) > depth)
        pop_to(line, line->calls.frames + depth);
}

/* A call of which nothing is told. -1: no memory; its end will find nothing. */
static int push_untold(struct line *line, const void *frame, uint32_t label)
{
    struct shadow_stack *calls = &line->calls;
    if (!shadow_has_room(calls))
        return -1;
    const struct lam_open_call *around = &calls->top->open;
    uint16_t below = around->host | around->told;
    *++calls->top = (struct shadow){.call = frame, .open = {label, 0, below, {0, 0}}};
    return 0;
}

static void enter(struct line *line, const void *frame)
{
    if (line == line_here)
        return;
    line->resumer = line_here;
    line->entered_at = frame;
    run_line(line);
}

/* A frame that is about to be pushed gets a line: that of the frame that waits for it, or one of its own. -1: no memory. */
static int begin_line(const void *frame, uint32_t label)
{
    const void *below = line_here->calls.top->call;
    struct line *line = below && line_waiter(frame) == below ? line_here : line_new(label);
    struct pointer_slot *slot = line ? pointer_map_add(&running, frame) : NULL;
    if (!slot)
        return -1;
    enter(line, frame);
    slot->value = line;
    slot->more = line->serial;
    slot->number = depth_of(line) + 1;
    return 0;
}

/* Guests get lines, each run by the one below. */
static void settle(struct line *line)
{
    uint32_t first = line->guests, last = depth_of(line);
    line->calls.top = line->calls.frames + first - 1;
    line->guests = 0;
    for (uint32_t at = first; at <= last; at++) { /* where they go is never beyond where they are */
        struct shadow guest = line->calls.frames[at];
        if (guest.call && begin_line(guest.call, guest.open.label) < 0)
            guest.call = NULL;
        push_untold(line_here, guest.call, guest.open.label);
    }
}

void line_tell(void)
{
    if (line_here->guests)
        settle(line_here);
    if (told != line_here)
        tell(line_here);
    line_here->is_untold = 0;
}

/* Is nothing to be recorded of it, and nothing of a line on which more is open than frames that wait for it? */
static int is_guest(const void *frame, const struct lam_callee *callee, enum line_entry entry)
{
    int is_new = entry == LINE_START || entry == LINE_MET;
    if (is_new ? !callee->skip : !lam_callee_is_sampled(callee))
        return 0;
    if (line_here->guests || !is_measured(line_here) || !is_new)
        return 1;
    const void *below = line_here->calls.top->call;
    return !below || line_waiter(frame) != below;
}

static void begin_guest(const void *frame, uint32_t label)
{
    if (push_untold(line_here, frame, label) < 0 || line_here->guests)
        return;
    line_here->guests = depth_of(line_here);
    run_line(line_here);
}

void line_enter(const void *frame, struct lam_callee *callee, enum line_entry entry)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    struct line *line = slot ? slot->value : NULL;
    if (slot && (entry == LINE_START || slot->more != line->serial)) {
        forget(slot);
        slot = NULL;
    }
    if (slot) {
        enter(line, frame);
        if (entry == LINE_THROW) /* those that it waited for are over */
            close_inside(line, slot->number);
    } else if (is_guest(frame, callee, entry)) {
        callee->skip -= entry != LINE_RESUME && entry != LINE_THROW;
        begin_guest(frame, callee->label);
    } else {
        if (line_here->guests)
            settle(line_here);
        line_push(begin_line(frame, callee->label) < 0 ? NULL : frame, callee);
    }
}

/* Returns 0 for one that is none. */
static inline int leave_guest(const void *frame)
{
    struct line *line = line_here;
    if (!line->guests)
        return 0;
    if (line->calls.top->call == frame && depth_of(line) > line->guests) { /* one that a guest runs */
        line->calls.top--;
        return 1;
    }
    struct shadow *call = shadow_find(&line->calls, frame);
    if (!call || call < line->calls.frames + line->guests)
        return 0;
    pop_to(line, call - 1);
    return 1;
}

/* Of a suspended line: what is on it was not told, and will be guests where it goes on. */
static void dissolve(struct line *line)
{
    for (struct shadow *call = line->calls.top; call > line->calls.frames; call--) {
        struct pointer_slot *slot = call->call ? pointer_map_find(&running, call->call) : NULL;
        if (slot && slot->value == line)
            pointer_map_remove(&running, slot);
    }
    close_calls(line);
    line_retire(line);
}

void line_yield(const void *frame, const struct lam_callee *callee)
{
    if (leave_guest(frame))
        return;
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    struct line *line = line_here;
    if (!slot) {
        line_return(callee);
    } else if (is_current(slot) && line->entered_at == frame) {
        line_leave(line);
        if (!is_measured(line))
            dissolve(line);
    }
}

void line_exit(const void *frame, const struct lam_callee *callee)
{
    if (leave_guest(frame))
        return;
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
    int is_known = base.serial == recording && base.label == name.id;
    base = (struct line){
        .calls = base.calls,
        .track = is_known ? base.track : (struct lam_track){0},
        .serial = recording,
    };
    if (!base.calls.frames && !shadow_grow(&base.calls, 1))
        return -1;
    pthread_setspecific(at_thread_end, &base);
    base.calls.top = base.calls.frames; /* what is there is of another recording */
    base.label = is_track ? name.id : 0;
    line_here = &base;
    tell(&base);
    return 0;
}

void lines_end_thread(int is_over)
{
    while (line_here != &base) {
        struct line *line = line_here;
        close_calls(line);
        line_leave(line);
        line_retire(line);
    }
    close_calls(&base);
    tell(NULL);
    if (is_over && base.track.id) {
        lam_track_end(LAM_DEFAULT, base.track);
        base.track.id = 0;
    }
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
    recording++;
}

/* Nothing is given back: the fork may have come from another thread in the middle of malloc() or of the above. */
void lines_forget(void)
{
    all = NULL;
    memset(pool, 0, sizeof pool);
    running = (struct pointer_map){NULL, 0, 0};
    recording++;
}
