#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Only tests change these, and only while they run one thread; elsewhere they are read. */
static uint64_t fail_after = UINT64_MAX;
static uint64_t fail_count;

static int is_refused(void)
{
    if (__builtin_expect(fail_after == UINT64_MAX, 1))
        return 0;
    if (fail_after > 0) {
        fail_after--;
        return 0;
    }
    fail_count++;
    errno = ENOMEM;
    return 1;
}

void mem_fail_after(uint64_t after)
{
    fail_after = after;
    fail_count = 0;
}

uint64_t mem_fail_count(void)
{
    return fail_count;
}

void *mem_alloc(size_t size_bytes)
{
    return is_refused() ? NULL : malloc(size_bytes ? size_bytes : 1);
}

void *mem_zalloc(size_t count, size_t size_bytes)
{
    return is_refused() ? NULL : calloc(count ? count : 1, size_bytes ? size_bytes : 1);
}

void *mem_realloc(void *old, size_t size_bytes)
{
    return is_refused() ? NULL : realloc(old, size_bytes ? size_bytes : 1);
}

void mem_free(void *ptr)
{
    free(ptr);
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? mem_alloc(length + 1) : NULL;
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}
