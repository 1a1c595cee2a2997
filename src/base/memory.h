/* Allocation for everything on this side. It is malloc, with one addition: tests can make the n-th
 * allocation fail. Everything in base allocates through these, so a test can refuse each allocation
 * in turn. */
#ifndef LAMELLA_BASE_MEMORY_H
#define LAMELLA_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* As malloc, calloc, realloc and free. mem_free() takes what any of them (or plain malloc) gave;
 * NULL is fine. */
void *mem_alloc(size_t size_bytes) __attribute__((malloc, warn_unused_result));
void *mem_zalloc(size_t count, size_t size_bytes) __attribute__((malloc, warn_unused_result));
void *mem_realloc(void *old, size_t size_bytes) __attribute__((warn_unused_result));
void mem_free(void *ptr);

/* Copies; the result is ended by a NUL. NULL when memory is short. */
char *mem_strdup(const char *text) __attribute__((malloc, warn_unused_result));
char *mem_strndup(const char *text, size_t length) __attribute__((malloc, warn_unused_result));

/* For tests, in one thread: after `after` more allocations, the next one and all later ones fail.
 * UINT64_MAX (the start value) never fails. mem_fail_count() is the number of refusals since the
 * last call of mem_fail_after(). */
void mem_fail_after(uint64_t after);
uint64_t mem_fail_count(void);

#endif
