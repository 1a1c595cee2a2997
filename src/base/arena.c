#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct arena_block {
    struct arena_block *older;
    size_t size_bytes; /* of data */
    _Alignas(max_align_t) char data[];
};

/* Blocks double from the first to the second, so small arenas stay small and large ones make few
 * calls. */
static const size_t block_bytes_min = 4096 - sizeof(struct arena_block);
static const size_t block_bytes_max = 1u << 20;

static size_t round_up(size_t size_bytes)
{
    const size_t mask = _Alignof(max_align_t) - 1;
    return (size_bytes + mask) & ~mask;
}

static struct arena_block *block_add(struct arena *arena, size_t at_least)
{
    size_t size = arena->blocks ? arena->blocks->size_bytes * 2 : block_bytes_min;
    if (size > block_bytes_max)
        size = block_bytes_max;
    if (size < at_least)
        size = at_least;
    struct arena_block *block = mem_alloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->size_bytes = size;
    block->older = arena->blocks;
    arena->blocks = block;
    return block;
}

/* A piece that would waste most of a new block gets one of its own, behind the current one, which
 * stays in use. */
static void *alloc_apart(struct arena *arena, size_t size_bytes)
{
    struct arena_block *current = arena->blocks;
    struct arena_block *block = mem_alloc(sizeof *block + size_bytes);
    if (!block)
        return NULL;
    block->size_bytes = size_bytes;
    block->older = current->older;
    current->older = block;
    return block->data;
}

/* Uninitialised memory. */
static void *alloc_raw(struct arena *arena, size_t size_bytes)
{
    if (size_bytes > PTRDIFF_MAX - sizeof(struct arena_block) - _Alignof(max_align_t))
        return NULL;
    size_t size = round_up(size_bytes);
    if (size <= (size_t)(arena->end - arena->next)) {
        void *piece = arena->next ? arena->next : (void *)arena;
        if (arena->next)
            arena->next += size;
        arena->used_bytes += size_bytes;
        return piece;
    }
    if (arena->blocks && size > block_bytes_max / 4) {
        void *piece = alloc_apart(arena, size);
        arena->used_bytes += piece ? size_bytes : 0;
        return piece;
    }
    struct arena_block *block = block_add(arena, size);
    if (!block)
        return NULL;
    arena->next = block->data + size;
    arena->end = block->data + block->size_bytes;
    arena->used_bytes += size_bytes;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    void *piece = alloc_raw(arena, size_bytes);
    if (piece && size_bytes)
        memset(piece, 0, size_bytes);
    return piece;
}

void *arena_array(struct arena *arena, size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total))
        return NULL;
    return arena_alloc(arena, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = alloc_raw(arena, length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = length < 0 ? NULL : alloc_raw(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    return text;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;
    if (!kept)
        return;
    for (struct arena_block *block = kept->older, *older; block; block = older) {
        older = block->older;
        mem_free(block);
    }
    kept->older = NULL;
    arena->next = kept->data;
    arena->end = kept->data + kept->size_bytes;
    arena->used_bytes = 0;
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        mem_free(block);
    }
    *arena = (struct arena){0};
}
