/* The container of a .mm_profdata file (version 9) as it is written: three streams in pages. */
#ifndef LAMELLA_OUTPUT_PROFDATA_PAGES_H
#define LAMELLA_OUTPUT_PROFDATA_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/byteout.h"

/* In the order of their page tags. */
enum profdata_page {
    PROFDATA_PAGE_EVENTS,
    PROFDATA_PAGE_STRINGS,
    PROFDATA_PAGE_INDEX,
    PROFDATA_PAGE_KINDS
};

enum { PROFDATA_PAGE_BYTES = 256 * 1024 };

struct profdata_pages {
    struct byteout *out;
    uint64_t addresses[PROFDATA_PAGE_KINDS]; /* of what comes next */
    size_t used[PROFDATA_PAGE_KINDS];
    unsigned char buffers[PROFDATA_PAGE_KINDS][PROFDATA_PAGE_BYTES];
};

/* Writes the file's header; each stream begins with its own. */
void profdata_pages_begin(struct profdata_pages *pages, struct byteout *out);

/* Appends to a stream, and returns the address of the first byte there. What is not larger than a page lies in one. */
uint64_t profdata_pages_add(struct profdata_pages *pages, enum profdata_page kind,
                            const void *bytes, size_t size);

/* The last pages. */
void profdata_pages_end(struct profdata_pages *pages);

static inline void profdata_put_u32(unsigned char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static inline void profdata_put_u64(unsigned char *at, uint64_t value)
{
    profdata_put_u32(at, (uint32_t)value);
    profdata_put_u32(at + 4, (uint32_t)(value >> 32));
}

#endif
