/* Growable arrays of any type, by macro.
 *
 *     LAM_ARRAY(struct unit) units = {0};
 *     if (array_push(&units, unit) < 0) …
 *     array_each(&units, it) it->wall_ns += 1;
 *     array_free(&units);
 *
 * A name for the type, where one is passed around: struct unit_list LAM_ARRAY_BODY(struct unit);
 * All of them take a pointer to the array. An all-zero array is empty and valid. Pointers into
 * `items` live until the next call that may grow it. Sizes are checked for overflow: what cannot be
 * represented is LAM_E_NOMEM. */
#ifndef LAMELLA_BASE_ARRAY_H
#define LAMELLA_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LAM_ARRAY_BODY(type) \
    {                        \
        type *items;         \
        size_t count;        \
        size_t capacity;     \
    }
#define LAM_ARRAY(type) struct LAM_ARRAY_BODY(type)

/* Room for at least `count` items in all. Returns LAM_OK or LAM_E_NOMEM; the array is unchanged on
 * failure. */
#define array_reserve(a, count_) \
    array_grow_(&(a)->items, &(a)->capacity, (count_), sizeof *(a)->items)

/* Appends one value. Returns LAM_OK or LAM_E_NOMEM; the array is unchanged on failure. Growth
 * doubles. */
#define array_push(a, ...)                                                        \
    (((a)->count < (a)->capacity || array_reserve((a), (a)->count + 1) == LAM_OK) \
         ? ((a)->items[(a)->count++] = (__VA_ARGS__), LAM_OK)                     \
         : LAM_E_NOMEM)

/* Appends one zeroed item and returns a pointer to it; NULL when memory is short. */
#define array_add(a)                                                              \
    ((__typeof__((a)->items))array_add_(&(a)->items, &(a)->count, &(a)->capacity, \
                                        sizeof *(a)->items))

/* Appends n items copied from `from` (which must not lie in the array). LAM_OK or LAM_E_NOMEM. */
#define array_append(a, from, n)                                                \
    array_append_(&(a)->items, &(a)->count, &(a)->capacity, sizeof *(a)->items, \
                  (1 ? (from) : (const __typeof__(*(a)->items) *)0), (n))

/* Makes count exactly n; new items are zeroed. LAM_OK or LAM_E_NOMEM. */
#define array_resize(a, n) \
    array_resize_(&(a)->items, &(a)->count, &(a)->capacity, sizeof *(a)->items, (n))

/* The last item (an lvalue); the array must not be empty. */
#define array_last(a) ((a)->items[(a)->count - 1])

/* Takes the last item off and gives its value; the array must not be empty. */
#define array_pop(a) ((a)->items[--(a)->count])

/* Forgets the items, keeps the memory. */
#define array_clear(a) ((void)((a)->count = 0))

/* Gives the memory back; the array is empty and valid afterwards. */
#define array_free(a) array_free_(&(a)->items, &(a)->count, &(a)->capacity)

/* A loop over pointers to the items; the array must not grow inside it. */
#define array_each(a, it)                                                                  \
    for (__typeof__(*(a)->items) *it = (a)->items,                                         \
                                 *it##_end_ = (a)->items ? (a)->items + (a)->count : NULL; \
         it != it##_end_; it++)

/* qsort() over the items; compare takes pointers to two items. Fine on an empty array. */
#define array_sort(a, compare) \
    ((a)->count > 1 ? qsort((a)->items, (a)->count, sizeof *(a)->items, (compare)) : (void)0)

/* items points to the array's `items`, whose type only the caller knows. */
int array_grow_(void *items, size_t *capacity, size_t count, size_t item_bytes);
void *array_add_(void *items, size_t *count, size_t *capacity, size_t item_bytes);
int array_append_(void *items, size_t *count, size_t *capacity, size_t item_bytes, const void *from,
                  size_t n);
int array_resize_(void *items, size_t *count, size_t *capacity, size_t item_bytes, size_t n);
void array_free_(void *items, size_t *count, size_t *capacity);

#endif
