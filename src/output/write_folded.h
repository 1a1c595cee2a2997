/* Folded stacks: a line a stack, "program;outer;inner nanoseconds", sorted. */
#ifndef LAMELLA_OUTPUT_WRITE_FOLDED_H
#define LAMELLA_OUTPUT_WRITE_FOLDED_H

#include "output/exporter.h"

/* The members of struct export_format. */
int write_folded_open(void **state, const struct export_options *options, struct byteout *out,
                      struct lam_error *err);
struct profile_sink write_folded_sink(void *state);
int write_folded_finish(void *state, struct lam_error *err);
void write_folded_close(void **state);

#endif
