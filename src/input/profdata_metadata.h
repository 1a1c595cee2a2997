/* What a self-profile says about its program: JSON in a string of its own. */
#ifndef LAMELLA_INPUT_PROFDATA_METADATA_H
#define LAMELLA_INPUT_PROFDATA_METADATA_H

#include "base/strbuf.h"
#include "input/profdata_strings.h"
#include "profile/sink.h"

struct profdata_metadata {
    bool is_known; /* else all is 0 and empty */
    uint64_t start_unix_ns;
    uint32_t pid;
    enum profile_measure measure;
    struct strbuf command; /* words with a space behind each, as the program stored it */
    struct strbuf counter; /* its name; empty: none is named, wall time is meant */
};

/* Reads it; what is missing or broken is counted in the file's faults and left unknown. LAM_OK or LAM_E_NOMEM. */
int profdata_metadata_read(struct profdata_metadata *meta, struct profdata_strings *strings);

/* The same of a file that is not open: also codes of profdata_open(). Freed by the caller, also after a failure. */
int profdata_metadata_of(struct profdata_metadata *meta, const char *path, struct lam_error *err);

/* The same from its text. False when it is broken: what stood before the fault is filled in. */
bool profdata_metadata_parse(struct profdata_metadata *meta, const char *text, size_t size);

void profdata_metadata_free(struct profdata_metadata *meta);

/* The name after --crate-name, in place; empty when there is none. */
struct profile_text profdata_crate_name(const struct profdata_metadata *meta);

#endif
