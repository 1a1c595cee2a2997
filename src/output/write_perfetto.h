/* Perfetto's native trace: track events with interned strings, counters, and samples with their stacks. */
#ifndef LAMELLA_OUTPUT_WRITE_PERFETTO_H
#define LAMELLA_OUTPUT_WRITE_PERFETTO_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_perfetto_open(void **state, const struct export_options *options, struct byteout *out,
                        struct lam_error *err);
struct profile_sink write_perfetto_sink(void *state);
int write_perfetto_finish(void *state, struct lam_error *err);
void write_perfetto_close(void **state);

#endif
