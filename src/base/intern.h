/* Strings to dense ids 0, 1, 2, … in the order they first came. Bytes with a length: NUL and
 * invalid UTF-8 are kept. */
#ifndef LAMELLA_BASE_INTERN_H
#define LAMELLA_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define INTERN_EMPTY 0u         /* the id of the empty string, present from the start */
#define INTERN_NONE  UINT32_MAX /* never an id */

struct intern_entry;

/* All-zero is valid and holds the empty string alone. One writer, or any number of readers. */
struct intern {
    struct arena text;
    struct intern_entry *entries; /* by id */
    uint32_t count;               /* 0 until something is added; intern_count() is what to ask */
    uint32_t capacity;
    uint32_t *slots; /* id + 1, open addressing */
    uint32_t mask;
};

/* The id of the text, added when it is new. LAM_E_NOMEM when memory is short, LAM_E_FULL beyond
 * 2^32 - 2 strings, LAM_E_TOOBIG for a text of 4 GiB and more. */
int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *id);

/* The same for a C string. */
int intern_add_str(struct intern *intern, const char *text, uint32_t *id);

/* The id of a text that is already there, else INTERN_NONE. */
uint32_t intern_find(const struct intern *intern, const char *text, size_t length);
uint32_t intern_find_str(const struct intern *intern, const char *text);

/* The text of an id, ended by a NUL that is not counted; length may be NULL. Lives as long as the
 * table, never moves. An id that does not exist gives the empty string. Never NULL. */
const char *intern_text(const struct intern *intern, uint32_t id, size_t *length);

/* How many ids there are: 1 or more. */
uint32_t intern_count(const struct intern *intern);

/* Memory held, in bytes. */
size_t intern_bytes(const struct intern *intern);

void intern_free(struct intern *intern);

#endif
