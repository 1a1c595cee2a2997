/* watch.h: mappings of files that somebody else may cut short while we touch them, which is a SIGBUS.
 *
 * Whoever touches one notes it for that time, and the handler of that signal asks here whether the fault is ours to mend.
 * All of it async-signal-safe, without lock or allocation. */
#ifndef LAMELLA_CORE_WATCH_H
#define LAMELLA_CORE_WATCH_H

#include <stdint.h>

/* Returns what watch_end gets. With too many at a time the mapping is not watched, which is said to nobody. */
int watch_begin(const void *start, uint64_t size);
void watch_end(int watched);

int watch_holds(const void *address);

#endif
