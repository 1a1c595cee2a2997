/* One self-profile into a sink, for a process that the sink knows already: threads, events, ends. */
#ifndef LAMELLA_INPUT_PROFDATA_PUSH_H
#define LAMELLA_INPUT_PROFDATA_PUSH_H

#include "base/pool.h"
#include "input/profdata_walk.h"

/* Looks at all events: fills walk->threads. LAM_OK or LAM_E_NOMEM. */
int profdata_push_look(struct profdata_walk *walk);

/* Tells the threads. Each is called `name` and its number; NULL: they have no names. */
int profdata_push_threads(const struct profdata_walk *walk, uint8_t origin, const char *name);

/* After the look: does all that can be done before the sink is told anything, and needs nothing but the walk's own file, strings and names. */
int profdata_push_ready(struct profdata_walk *walk);

/* Nests and pushes the events of what is ready, then the ends of the threads. */
int profdata_push_events(struct profdata_walk *walk);

/* The ends alone, of walks whose events profdata_walk_parts() tells: those that are ready and in parts. */
int profdata_push_ends(const struct profdata_walk *walk);

/* Frees what the walk keeps. */
void profdata_push_free(struct profdata_walk *walk);

/* Adds the events and the faults of the file, of which at most most_faults are described, to what the end of the push says. */
void profdata_push_totals(const struct profdata_walk *walk, uint32_t most_faults,
                          struct profile_session_end *totals);

/* The latest time of its events, at least zero_ns. */
int64_t profdata_push_end_ns(const struct profdata_walk *walk);

#endif
