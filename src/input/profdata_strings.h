/* The strings of a self-profile. A string is bytes and references to other strings; an id is an address in the string data,
 * or a virtual one that the index maps to an address. Nothing in them is trusted: references may run in circles or past
 * the end, and a small file may describe strings of any length.
 *
 * The text of an event's id is its label and its arguments, 0x1E before each. Labels are few and looked up for each event:
 * they become names in a table of the caller's, 4 bytes for each virtual id. Whole texts are put together on demand. */
#ifndef LAMELLA_INPUT_PROFDATA_STRINGS_H
#define LAMELLA_INPUT_PROFDATA_STRINGS_H

#include <pthread.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "input/profdata_container.h"
#include "input/profdata_string_args.h"

enum {
    PROFDATA_VIRTUAL_LAST = 100000000, /* ids of users end here */
    PROFDATA_METADATA_ID = 100000001,
    PROFDATA_FIRST_ADDRESS_ID = 100000003, /* id of address 0; the one before it is "invalid" */
    PROFDATA_SEPARATOR = 0x1e,
    PROFDATA_STRING_MAX_BYTES = 8 << 20, /* the metadata; longer ones are a fault */
    /* What is told with each event: a small file may refer to a long text as often as it has events. Longer ones are cut, and say how long they
     * were; a label's is a fault besides. */
    PROFDATA_TEXT_MAX_BYTES = 8 << 10,
    PROFDATA_LABEL_MAX_BYTES = 2 << 10,
};

#define PROFDATA_NO_ADDRESS UINT64_MAX
#define PROFDATA_UNKNOWN_TEXT \
    "<unknown>" /* what an id without a string is called, here as upstream */

struct profdata_strings {
    struct profdata_file *file;
    struct intern *names; /* the caller's, of all files of a push */
    uint32_t unknown;     /* the name of PROFDATA_UNKNOWN_TEXT */
    uint64_t metadata_address;

    /* Inside. */
    uint32_t *virtual_names; /* by id; INTERN_NONE: not in the index */
    uint64_t *virtual_args;  /* a bit by id: its text goes on behind the label */
    uint64_t virtual_count;
    struct map sparse_names;     /* instead, where the ids lie too far apart */
    uint32_t *virtual_arguments; /* by id: profdata_args_place(); NULL when nobody asks for arguments */
    uint64_t *virtual_addresses; /* by id; made when a text is asked for that goes the long way */
    struct map addresses;        /* of the others */
    bool has_addresses;
    struct profdata_strings *lender; /* of a shared one: who has them; NULL */
    pthread_mutex_t *lender_lock;
    struct map plain; /* address of a label → its name; above it, whether there are arguments behind it */
    struct profdata_args *args; /* NULL as well */
    struct strbuf scratch;
    uint64_t cut_texts;    /* of those that were put together */
    uint64_t budget_bytes; /* what labels may still expand to, all together */
    bool is_told_budget;
};

/* Reads the index; with wants_args 4 bytes more for each virtual id. LAM_OK or LAM_E_NOMEM; what is wrong with the index is counted in the file's faults. */
int profdata_strings_open(struct profdata_strings *strings, struct profdata_file *file,
                          struct intern *names, bool wants_args, struct lam_error *err);

/* The same for the metadata alone: names of ids are not known. */
void profdata_strings_peek(struct profdata_strings *strings, struct profdata_file *file);
void profdata_strings_close(struct profdata_strings *strings); /* all-zero is fine */

/* The name of an id's text, up to the first separator; strings->unknown when it has none. LAM_OK or LAM_E_NOMEM. */
int profdata_strings_name_slow(struct profdata_strings *strings, uint64_t id, uint32_t *name);

static inline int profdata_strings_name(struct profdata_strings *strings, uint64_t id, uint32_t *name)
{
    if (id < strings->virtual_count && strings->virtual_names[id] != INTERN_NONE) {
        *name = strings->virtual_names[id];
        return LAM_OK;
    }
    return profdata_strings_name_slow(strings, id, name);
}

bool profdata_strings_has_args_slow(struct profdata_strings *strings, uint64_t id);

/* Whether an id's text may have arguments: what is said to have none has none. */
static inline bool profdata_strings_has_args(struct profdata_strings *strings, uint64_t id)
{
    if (id < strings->virtual_count)
        return strings->virtual_args[id / 64] >> id % 64 & 1;
    return profdata_strings_has_args_slow(strings, id);
}

/* A hint that the name of this id is wanted soon. */
static inline void profdata_strings_prefetch(const struct profdata_strings *strings, uint64_t id)
{
    if (id < strings->virtual_count)
        __builtin_prefetch(&strings->virtual_names[id]);
}

/* Adds the whole text of an id to out, or its beginning and its length: cut_texts. LAM_OK or LAM_E_NOMEM; what cannot be read is left
 * out of it and counted. */
int profdata_strings_text(struct profdata_strings *strings, uint64_t id, struct strbuf *out);

/* For another thread, which puts texts together on its own: of `strings`, which outlive it and are only read meanwhile, but by who
 * has the lock, and never by that thread while it has it. What is wrong is counted in `file`. */
void profdata_strings_share(struct profdata_strings *shared, struct profdata_strings *strings,
                            pthread_mutex_t *lock, struct profdata_file *file);
void profdata_strings_unshare(struct profdata_strings *shared);

/* Finds where all virtual ids are. LAM_OK or LAM_E_NOMEM. */
int profdata_strings_load(struct profdata_strings *strings);

/* Adds the text at an address. */
int profdata_strings_text_at(struct profdata_strings *strings, uint64_t address, struct strbuf *out);

#endif
