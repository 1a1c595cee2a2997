/* lines.h: lines of execution of an interpreter. Each thread runs one at a time: its own, or that of a coroutine, a generator or a
 * green thread, and each is a track of the recorder. A line is entered when a frame of it runs that was not started by a frame of
 * it, and left when that frame yields or ends. Frames that wait for one another are one line: none of them runs while the
 * innermost is suspended.
 *
 * Frames that can be suspended are told apart by an address of the interpreter's. One that goes without an event is noticed when
 * its address is used again. All of it runs under the interpreter's lock. */
#ifndef LAMELLA_PLUGINS_LINES_H
#define LAMELLA_PLUGINS_LINES_H

#include <lamella/lamella.h>

/* How a frame that can be suspended is entered. */
enum line_entry { LINE_START, LINE_RESUME, LINE_THROW };

/* A frame that is known goes on. Returns 0 for one that is not: it is to begin. */
int line_resume(const void *frame, enum line_entry entry);
/* It begins, called `label`: on the line that runs now (is_part), or on one of its own. */
void line_begin(const void *frame, struct lam_label label, int is_part);
void line_yield(const void *frame, struct lam_label label);
void line_exit(const void *frame, struct lam_label label);
/* Is it a frame of the line that runs? */
int line_has(const void *frame);

/* From one green thread to another, told apart by addresses as well. `label`: of the line that the other one may need. */
void line_switch(const void *from, int is_over, const void *to, struct lam_label label);

/* The calling thread's first event; its own line is a track of that name, or none. */
void lines_begin_thread(struct lam_label name, int is_track);
/* Closes the calls of the calling thread, and its track: it ends, or is no longer heard of. */
void lines_end_thread(void);
/* Closes what is suspended. */
void lines_end(void);
/* A forked child: nothing of it is recorded there. */
void lines_forget(void);

#endif
