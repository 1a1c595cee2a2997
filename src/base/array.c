#include "base/array.h"

#include "base/memory.h"

/* The array's pointer is read and written by its bytes: its type is not void *. */
static void *load_items(const void *items)
{
    void *value;
    memcpy(&value, items, sizeof value);
    return value;
}

static void store_items(void *items, void *value)
{
    memcpy(items, &value, sizeof value);
}

int array_grow_(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count <= *capacity)
        return LAM_OK;
    size_t limit = (size_t)PTRDIFF_MAX / item_bytes;
    if (count > limit)
        return LAM_E_NOMEM;
    size_t wanted = *capacity <= limit / 2 ? *capacity * 2 : limit;
    if (wanted < count)
        wanted = count;
    if (wanted < 8 && limit >= 8)
        wanted = 8;
    void *grown = mem_realloc(load_items(items), wanted * item_bytes);
    if (!grown)
        return LAM_E_NOMEM;
    store_items(items, grown);
    *capacity = wanted;
    return LAM_OK;
}

/* Room for n more. */
static int array_make_room(void *items, size_t count, size_t *capacity, size_t item_bytes, size_t n)
{
    if (n > SIZE_MAX - count)
        return LAM_E_NOMEM;
    return array_grow_(items, capacity, count + n, item_bytes);
}

void *array_add_(void *items, size_t *count, size_t *capacity, size_t item_bytes)
{
    if (array_make_room(items, *count, capacity, item_bytes, 1) < 0)
        return NULL;
    char *item = (char *)load_items(items) + *count * item_bytes;
    memset(item, 0, item_bytes);
    *count += 1;
    return item;
}

int array_append_(void *items, size_t *count, size_t *capacity, size_t item_bytes, const void *from,
                  size_t n)
{
    int rc = array_make_room(items, *count, capacity, item_bytes, n);
    if (rc < 0)
        return rc;
    if (n)
        memcpy((char *)load_items(items) + *count * item_bytes, from, n * item_bytes);
    *count += n;
    return LAM_OK;
}

int array_resize_(void *items, size_t *count, size_t *capacity, size_t item_bytes, size_t n)
{
    int rc = array_grow_(items, capacity, n, item_bytes);
    if (rc < 0)
        return rc;
    if (n > *count)
        memset((char *)load_items(items) + *count * item_bytes, 0, (n - *count) * item_bytes);
    *count = n;
    return LAM_OK;
}

void array_free_(void *items, size_t *count, size_t *capacity)
{
    mem_free(load_items(items));
    store_items(items, NULL);
    *count = 0;
    *capacity = 0;
}
