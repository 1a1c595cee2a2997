/* pprof's profile: stacks with their counts and times, compressed by gzip. The same input gives the same bytes. */
#ifndef LAMELLA_OUTPUT_WRITE_PPROF_H
#define LAMELLA_OUTPUT_WRITE_PPROF_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_pprof_open(void **state, const struct export_options *options, struct byteout *out,
                     struct lam_error *err);
struct profile_sink write_pprof_sink(void *state);
int write_pprof_finish(void *state, struct lam_error *err);
void write_pprof_close(void **state);

#endif
