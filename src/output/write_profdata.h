/* A self-profile (.mm_profdata, version 9) of a profile's intervals, instants and integers, for the tools of measureme; see
 * docs/profdata.md. Written as events come: an interval when it ends, as those tools expect. */
#ifndef LAMELLA_OUTPUT_WRITE_PROFDATA_H
#define LAMELLA_OUTPUT_WRITE_PROFDATA_H

#include "output/exporter.h"

/* The members of struct export_format. Codes of finish: UNSUPPORTED when there was no event at all. */
int write_profdata_open(void **state, const struct export_options *options, struct byteout *out,
                        struct lam_error *err);
struct profile_sink write_profdata_sink(void *state);
int write_profdata_finish(void *state, struct lam_error *err);
void write_profdata_close(void **state);

#endif
