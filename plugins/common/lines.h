/* lines.h: lines of execution of an interpreter. Each thread runs one at a time: its own, or that of a coroutine, a generator or a
 * green thread, and each is a track of the recorder. A line is entered when a frame of it runs that was not started by a frame of
 * it, and left when that frame yields or ends. Frames that wait for one another are one line: none of them runs while the
 * innermost is suspended.
 *
 * With one call in N most frames that can be suspended have nothing on them that is recorded. Such a frame is a guest on the line
 * that runs it; it has a line while something that is recorded is open on it. The recorder is told which line runs when the one
 * that ran has something open that it measures, or the next one has, or something is to be recorded.
 *
 * Frames that can be suspended are told apart by an address of the interpreter's. One that goes without an event is noticed when
 * its address is used again. All of it runs under the interpreter's lock. */
#ifndef LAMELLA_PLUGINS_LINES_H
#define LAMELLA_PLUGINS_LINES_H

#include "call_shadow.h"

struct line {
    /* What is open on it. call: of what can be suspended, its frame; host: whether anything below was told. */
    struct shadow_stack calls;
    struct lam_track track;
    uint32_t label;         /* of the track; 0: it has none */
    uint32_t serial;        /* changes when the line is given to another frame */
    uint32_t guests;        /* depth of the first guest; from there on nothing is told. 0: none */
    uint8_t is_untold;      /* the recorder does not know that it runs, or its guests do */
    uint8_t has_intervals;  /* of the program's own */
    uint8_t is_free;        /* in the pool */
    struct line *resumer;   /* runs when this one is left; NULL: nobody runs it */
    const void *entered_at; /* the frame that leaves it */
    struct line *next_free, *next;
};

/* The line that the calling thread runs. initial-exec: every call looks at it. */
extern __thread struct line *line_here __attribute__((tls_model("initial-exec")));

/* Before anything is recorded: what runs has a line, and the recorder knows which. */
void line_tell(void);

/* frame: of a call that can be suspended, or NULL. */
static inline __attribute__((always_inline)) void line_push(const void *frame,
                                                            struct lam_callee *callee)
{
    if (__builtin_expect(line_here->is_untold && !callee->skip, 0))
        line_tell();
    const struct lam_open_call *around = &line_here->calls.top->open;
    shadow_push(&line_here->calls, frame, callee, around->host | around->told);
}

static inline void line_call(struct lam_callee *callee)
{
    line_push(NULL, callee);
}

void line_return_slowly(uint32_t label);
/* The innermost call of that function ends, with those inside of it. */
static inline void line_return(const struct lam_callee *callee)
{
    const struct shadow *top = line_here->calls.top;
    if (__builtin_expect(top->open.label == callee->label && !top->call, 1))
        shadow_pop(&line_here->calls);
    else
        line_return_slowly(callee->label);
}

/* How a frame that can be suspended is entered: it begins, goes on, goes on by what is thrown into it, or is met while it runs. */
enum line_entry { LINE_START, LINE_RESUME, LINE_THROW, LINE_MET };

void line_enter(const void *frame, struct lam_callee *callee, enum line_entry entry);
void line_yield(const void *frame, const struct lam_callee *callee);
void line_exit(const void *frame, const struct lam_callee *callee);
/* The host's. Which frame waits for this one, and is suspended with it? NULL: none. */
const void *line_waiter(const void *frame);

/* From one green thread to another, told apart by addresses as well. `label`: of the line that the other one may need. */
void line_switch(const void *from, int is_over, const void *to, struct lam_label label);

/* The calling thread's first event; its own line is a track of that name, or none. -1: no memory. */
int lines_begin_thread(struct lam_label name, int is_track);
/* Closes the calls of the calling thread, which is no longer heard of; and its track, when the thread is over. */
void lines_end_thread(int is_over);
/* Closes what is suspended. */
void lines_end(void);
/* A forked child: nothing of it is recorded there. */
void lines_forget(void);

#endif
