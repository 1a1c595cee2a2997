/* The Firefox Profiler's processed profile: intervals and waits as markers, samples with stacks. */
#ifndef LAMELLA_OUTPUT_WRITE_FIREFOX_H
#define LAMELLA_OUTPUT_WRITE_FIREFOX_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_firefox_open(void **state, const struct export_options *options, struct byteout *out,
                       struct lam_error *err);
struct profile_sink write_firefox_sink(void *state);
int write_firefox_finish(void *state, struct lam_error *err);
void write_firefox_close(void **state);

#endif
