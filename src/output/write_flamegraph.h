/* A flame graph: one SVG that needs nothing else, with search, zoom and keys. */
#ifndef LAMELLA_OUTPUT_WRITE_FLAMEGRAPH_H
#define LAMELLA_OUTPUT_WRITE_FLAMEGRAPH_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_flamegraph_open(void **state, const struct export_options *options, struct byteout *out,
                          struct lam_error *err);
struct profile_sink write_flamegraph_sink(void *state);
int write_flamegraph_finish(void *state, struct lam_error *err);
void write_flamegraph_close(void **state);

#endif
