#include "output/profdata_pages.h"

#include <string.h>

enum { VERSION = 9, HEADER_BYTES = 8, PAGE_HEADER_BYTES = 5 };

static void make_header(unsigned char header[HEADER_BYTES], const char *magic)
{
    memcpy(header, magic, 4);
    profdata_put_u32(header + 4, VERSION);
}

static void flush(struct profdata_pages *pages, enum profdata_page kind)
{
    unsigned char header[PAGE_HEADER_BYTES] = {(unsigned char)kind};
    if (pages->used[kind] == 0)
        return;
    profdata_put_u32(header + 1, (uint32_t)pages->used[kind]);
    byteout_write(pages->out, header, sizeof header);
    byteout_write(pages->out, pages->buffers[kind], pages->used[kind]);
    pages->used[kind] = 0;
}

void profdata_pages_begin(struct profdata_pages *pages, struct byteout *out)
{
    static const char *const magics[PROFDATA_PAGE_KINDS] = {"MMES", "MMSD", "MMSI"};
    unsigned char header[HEADER_BYTES];
    pages->out = out;
    memset(pages->addresses, 0, sizeof pages->addresses);
    memset(pages->used, 0, sizeof pages->used);
    make_header(header, "MMPD");
    byteout_write(out, header, sizeof header);
    for (unsigned i = 0; i < PROFDATA_PAGE_KINDS; i++) {
        make_header(header, magics[i]);
        profdata_pages_add(pages, (enum profdata_page)i, header, sizeof header);
    }
}

uint64_t profdata_pages_add(struct profdata_pages *pages, enum profdata_page kind,
                            const void *bytes, size_t size)
{
    uint64_t address = pages->addresses[kind];
    const unsigned char *at = bytes;
    pages->addresses[kind] += size;
    if (pages->used[kind] + size > PROFDATA_PAGE_BYTES)
        flush(pages, kind);
    while (size > 0) {
        size_t room = PROFDATA_PAGE_BYTES - pages->used[kind], part = size < room ? size : room;
        memcpy(pages->buffers[kind] + pages->used[kind], at, part);
        pages->used[kind] += part;
        at += part;
        size -= part;
        if (size > 0)
            flush(pages, kind);
    }
    return address;
}

void profdata_pages_end(struct profdata_pages *pages)
{
    for (unsigned i = 0; i < PROFDATA_PAGE_KINDS; i++)
        flush(pages, (enum profdata_page)i);
}
