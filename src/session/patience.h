/* Says that something takes longer than expected, while it is still going on: a process of its own waits and speaks. */
#ifndef LAMELLA_SESSION_PATIENCE_H
#define LAMELLA_SESSION_PATIENCE_H

#include <sys/types.h>

/* After delay_ms the line is written to standard error, if it is a terminal, unless patience_end() came before. Returns what
 * that call gets; -1 when nothing will be said. Uses fork: call it with one thread running. */
pid_t patience_begin(unsigned delay_ms, const char *line);
void patience_end(pid_t waiter);

#endif
