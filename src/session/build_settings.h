/* The variables of the environment that move compile time, without secrets. Nothing else of the environment is stored. */
#ifndef LAMELLA_SESSION_BUILD_SETTINGS_H
#define LAMELLA_SESSION_BUILD_SETTINGS_H

#include "base/json_write.h"
#include "base/strbuf.h"

/* Writes an array of {"key", "value"} for those of environ (NULL-ended "NAME=value") that are known to matter. */
void build_settings_write(struct json_writer *json, char *const *environment);

/* Appends a value word by word; words that look like a secret (a password in an address; a name such as TOKEN or PASSWORD with
 * a value) lose what comes after the name. */
void build_settings_scrub(struct strbuf *out, const char *value);

/* The value of a variable in a NULL-ended list of "NAME=value"; NULL when it is not there. */
const char *environment_find(char *const *environment, const char *name);

#endif
