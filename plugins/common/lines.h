/* lines.h: lines of execution of an interpreter. Each thread runs one at a time: its own, or that of a coroutine, a generator or a
 * green thread, and each is a track of the recorder. A line is entered when a frame of it runs that was not started by a frame of
 * it, and left when that frame yields or ends. Frames that wait for one another are one line: none of them runs while the
 * innermost is suspended.
 *
 * Frames that can be suspended are told apart by an address of the interpreter's. One that goes without an event is noticed when
 * its address is used again. All of it runs under the interpreter's lock. */
#ifndef LAMELLA_PLUGINS_LINES_H
#define LAMELLA_PLUGINS_LINES_H

#include "call_shadow.h"

struct line {
    struct shadow_stack calls; /* that are open on it */
    struct lam_track track;
    uint32_t label;
    int has_no_track;       /* yet: nothing on it was recorded */
    uint32_t serial;        /* changes when the line is given to another frame */
    int is_free;            /* in the pool */
    struct line *resumer;   /* runs when this one is left; NULL: nobody runs it */
    const void *entered_at; /* the frame that leaves it */
    struct line *next_free, *next;
};

/* The line that the calling thread runs. initial-exec: every call looks at it. */
extern __thread struct line *line_here __attribute__((tls_model("initial-exec")));

void line_make_track(struct line *line); /* before anything is recorded on it */

static inline void line_call(struct lam_callee *callee)
{
    if (__builtin_expect(line_here->has_no_track && !callee->skip, 0))
        line_make_track(line_here);
    shadow_push(&line_here->calls, NULL, callee, 0);
}

void line_return_slowly(uint32_t label);
/* The innermost call of that function ends, with those inside of it. */
static inline void line_return(const struct lam_callee *callee)
{
    if (__builtin_expect(line_here->calls.top->open.label == callee->label, 1))
        shadow_pop(&line_here->calls);
    else
        line_return_slowly(callee->label);
}

/* How a frame that can be suspended is entered. */
enum line_entry { LINE_START, LINE_RESUME, LINE_THROW };

/* A frame that is known goes on. Returns 0 for one that is not: it is to begin. */
int line_resume(const void *frame, enum line_entry entry);
/* It begins: on the line that runs now (is_part), or on one of its own. */
void line_begin(const void *frame, struct lam_callee *callee, int is_part);
void line_yield(const void *frame, const struct lam_callee *callee);
void line_exit(const void *frame, const struct lam_callee *callee);
/* Is it a frame of the line that runs? */
int line_has(const void *frame);

/* From one green thread to another, told apart by addresses as well. `label`: of the line that the other one may need. */
void line_switch(const void *from, int is_over, const void *to, struct lam_label label);

/* The calling thread's first event; its own line is a track of that name, or none. -1: no memory. */
int lines_begin_thread(struct lam_label name, int is_track);
/* Closes the calls of the calling thread, and its track: it ends, or is no longer heard of. */
void lines_end_thread(void);
/* Closes what is suspended. */
void lines_end(void);
/* A forked child: nothing of it is recorded there. */
void lines_forget(void);

#endif
