/* Names of frames, which lie in a recording or beside a stream file. */
#ifndef LAMELLA_CLI_RECORDING_SYMBOLS_H
#define LAMELLA_CLI_RECORDING_SYMBOLS_H

#include "input/input_groups.h"
#include "symbols/sidecar.h"

/* The sidecar of a recording, or of the one that a stream file lies in. Codes: those of symbols_open(). */
int recording_symbols_of(const char *recording, struct symbols **symbols, struct lam_error *err);

/* For commands that read several inputs as one: the sidecars of the groups' recordings, in the order of the groups. Without any *symbols stays NULL: the rest is worth reading
 * without names. What is wrong with one is said on stderr. LAM_OK or LAM_E_NOMEM. */
int recording_symbols_open(const struct input_groups *groups, struct symbols **symbols,
                           struct lam_error *err);

#endif
