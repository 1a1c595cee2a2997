/* What the readers of cargo's records share: the members of a unit from JSON. */
#ifndef LAMELLA_BUILD_CARGO_UNIT_H
#define LAMELLA_BUILD_CARGO_UNIT_H

#include "base/json_read.h"
#include "build/cargo_record.h"

/* Each reads the next value; null leaves the target as it is. The codes are the reader's. */
int cargo_read_str(struct json_reader *json, struct arena *arena, const char **text);
int cargo_read_ids(struct json_reader *json, struct arena *arena, struct cargo_ids *ids);
int cargo_read_features(struct json_reader *json, struct arena *arena, struct cargo_unit *unit);

/* A section that cargo measured: start and end after the unit's start. */
void cargo_unit_section(struct cargo_unit *unit, const char *name, double start_s, double end_s);

/* "check-test", "doc test", "run" and so on, of a description, as a mode. */
const char *cargo_mode_of_description(const char *text);

/* Package and version from the package id: "path+file:///w/util2#util@2.0.0", "path+file:///w/app#0.1.0",
 * "registry+https://…#serde@1.0.0"; before cargo 1.77 "serde 1.0.0 (registry+https://…)". LAM_E_NOMEM at worst. */
int cargo_unit_split_id(struct cargo_unit *unit, struct arena *arena);

/* What the unit that took another one along is called beside it: its package, or CARGO_ITS_SCRIPT. */
const char *cargo_reason_name(const struct cargo_unit *dep, const struct cargo_unit *unit);

/* When kind and mode are known: what the job is. */
void cargo_unit_settle(struct cargo_unit *unit);

#endif
