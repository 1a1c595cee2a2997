/* Chrome's trace format (JSON): complete events, instants and counters, a row a thread. Written as events come; times are
 * microseconds with up to three decimals. Intervals that overlap without nesting, and detached ones, get rows of their own. */
#ifndef LAMELLA_OUTPUT_WRITE_CHROME_H
#define LAMELLA_OUTPUT_WRITE_CHROME_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_chrome_open(void **state, const struct export_options *options, struct byteout *out,
                      struct lam_error *err);
struct profile_sink write_chrome_sink(void *state);
int write_chrome_finish(void *state, struct lam_error *err);
void write_chrome_close(void **state);

#endif
