/* The start of a recording as its session.json says it: the zero of all times in it. */
#ifndef LAMELLA_READER_SESSION_START_H
#define LAMELLA_READER_SESSION_START_H

#include "reader/tick_clock.h"

struct session_start {
    uint64_t unix_ns, mono_ns, ticks, tick_rate_hz; /* mono_ns 0: not known */
    LAM_ARRAY(struct clock_point) times; /* readings of the launcher's; none without one */
};

/* All-zero is empty. Of a directory without a session.json, or with one that cannot be read, start is left empty. LAM_OK or
 * LAM_E_NOMEM. */
int session_start_load(struct session_start *start, const char *directory);
int session_start_parse(struct session_start *start, const char *text, size_t size);
void session_start_free(struct session_start *start);

#endif
