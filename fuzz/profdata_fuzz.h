/* For the fuzz targets of self-profiles: bytes as one stream of an otherwise good file of version 8 or 9. */
#ifndef LAMELLA_FUZZ_PROFDATA_FUZZ_H
#define LAMELLA_FUZZ_PROFDATA_FUZZ_H

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "input/profdata_container.h"

static inline void fuzz_u32(struct strbuf *file, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        strbuf_add_char(file, (char)(value >> 8 * i));
}

/* One page of a stream; empty ones are left out. */
static inline void fuzz_page(struct strbuf *file, uint32_t version, unsigned tag, const void *bytes,
                             size_t size)
{
    static const char *const magics[] = {"MMES", "MMSD", "MMSI"};
    strbuf_add_char(file, (char)tag);
    fuzz_u32(file, (uint32_t)size + PROFDATA_HEADER_BYTES);
    strbuf_add(file, magics[tag]);
    fuzz_u32(file, version);
    strbuf_add_bytes(file, bytes, size);
}

static inline void fuzz_begin(struct strbuf *file, uint32_t version)
{
    strbuf_add(file, "MMPD");
    fuzz_u32(file, version);
}

#endif
