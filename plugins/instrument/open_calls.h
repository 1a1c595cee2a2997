/* open_calls.h: the calls that each thread has open, by where its stack was when they began: so that those which longjmp() or an
 * exception has left are found when the next one begins. */
#ifndef LAMELLA_PLUGIN_OPEN_CALLS_H
#define LAMELLA_PLUGIN_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before any other. */
void open_calls_begin(void);

/* A call begins. sp: where the stack is. is_own: it has a frame of its own, and is not a part of the one on top. returns_to: 0, or an
 * address that lies where its frame ends: what began below that is over. */
void open_calls_enter(const char *sp, bool is_own, uintptr_t returns_to, uint32_t label);
/* The innermost call of that label ends, and those inside of it. */
void open_calls_exit(uint32_t label);

#endif
