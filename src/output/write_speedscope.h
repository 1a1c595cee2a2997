/* speedscope's own format: an evented profile a thread for intervals, a sampled one for samples. */
#ifndef LAMELLA_OUTPUT_WRITE_SPEEDSCOPE_H
#define LAMELLA_OUTPUT_WRITE_SPEEDSCOPE_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_speedscope_open(void **state, const struct export_options *options, struct byteout *out,
                          struct lam_error *err);
struct profile_sink write_speedscope_sink(void *state);
int write_speedscope_finish(void *state, struct lam_error *err);
void write_speedscope_close(void **state);

#endif
