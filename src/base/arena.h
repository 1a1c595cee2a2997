/* Bump arena: many small pieces that are given back together. */
#ifndef LAMELLA_BASE_ARENA_H
#define LAMELLA_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* All-zero is an empty, valid arena. One thread at a time. */
struct arena {
    struct arena_block *blocks; /* newest first */
    char *next;
    char *end;
    size_t used_bytes; /* asked for so far, for accounts and budgets */
};

/* size_bytes of zeroed memory aligned for any type; lives until arena_free() or arena_reset(). NULL
 * when memory is short. A size of 0 gives a pointer that must not be read. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* The same for count items of size_bytes each, with the product checked. */
void *arena_array(struct arena *arena, size_t count, size_t size_bytes);

/* Copies, ended by a NUL that is not counted in length. The text may hold NULs in arena_strndup().
 * NULL when short. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Forgets everything but keeps one block for what comes next. */
void arena_reset(struct arena *arena);

/* Gives all memory back; the arena is empty and valid afterwards. */
void arena_free(struct arena *arena);

#endif
