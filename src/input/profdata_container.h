/* The container of a self-profile: a file header, then pages that belong to one of three streams. Opening it looks at every
 * page's header and at nothing else; what cannot be read is counted with its place, and is an error only where the file is
 * no self-profile at all, or one of another version. docs/profdata.md describes the format. */
#ifndef LAMELLA_INPUT_PROFDATA_CONTAINER_H
#define LAMELLA_INPUT_PROFDATA_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/faults.h"

/* In the order of their page tags. */
enum profdata_stream { PROFDATA_EVENTS, PROFDATA_STRINGS, PROFDATA_INDEX, PROFDATA_STREAMS };

enum {
    PROFDATA_HEADER_BYTES = 8, /* of the file, and of each stream: magic and version */
    PROFDATA_EVENT_MAX_BYTES = 32,
    PROFDATA_BLOCK_BITS = 16,
    PROFDATA_PAGES_MAX =
        1 << 21, /* so that pages of a byte each cannot take our memory: real ones hold 128 KiB and more */
};

/* What could not be read. */
struct profdata_faults {
    uint64_t offset;           /* of the first one; LAM_NO_OFFSET */
    int code;                  /* of the first one: LAM_E_CORRUPT, LAM_E_TRUNCATED */
    struct profile_faults all; /* "x.mm_profdata: at byte 4096: …" */
};

/* Bytes of a stream that lie together in the file. */
struct profdata_extent {
    uint64_t address; /* of the first one in its stream */
    uint64_t offset;  /* of it in the file */
};

struct profdata_extents {
    LAM_ARRAY(struct profdata_extent) extents; /* by address; one ends where the next begins */
    uint64_t size;                             /* of the stream, its header included */
    LAM_ARRAY(uint32_t) blocks; /* inside: where to look for an address, by its upper bits */
};

struct profdata_file {
    const char *name; /* for messages; the caller's */
    const uint8_t *bytes;
    uint64_t size;
    uint32_t version;
    bool is_wide;         /* version 9: ids of 64 bits */
    uint32_t event_bytes; /* 24 or 32 */
    uint32_t entry_bytes; /* of the index: 8 or 16 */
    struct profdata_extents streams[PROFDATA_STREAMS];
    struct profdata_faults faults;
    struct profdata_faults *faults_of; /* who counts what is found now, where that is not the file; NULL */
    struct file_map map;               /* inside */
};

/* Codes: those of file_map(); TRUNCATED when it is shorter than its header, CORRUPT when it is no self-profile, UNSUPPORTED for
 * another version. The file's name must outlive it. */
int profdata_open(struct profdata_file *file, const char *path, struct lam_error *err);

/* The same over memory, which stays the caller's. */
int profdata_open_memory(struct profdata_file *file, const void *bytes, size_t size,
                         const char *name, struct lam_error *err);

void profdata_close(struct profdata_file *file); /* an all-zero file is fine */

/* Counts a fault; the first ones are described: "NAME: at byte OFFSET: what". */
void profdata_fault(struct profdata_file *file, int code, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Counts a fault where somebody has cut the file since it was opened. */
void profdata_check_length(struct profdata_file *file);

/* The extent that holds an address below the stream's size. */
static inline size_t profdata_extent_of(const struct profdata_extents *stream, uint64_t address)
{
    const uint32_t *block = &stream->blocks.items[address >> PROFDATA_BLOCK_BITS];
    size_t low = block[0], high = (size_t)block[1] + 1;
    const struct profdata_extent *items = stream->extents.items;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].address <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline uint64_t profdata_extent_end(const struct profdata_extents *stream, size_t extent)
{
    return extent + 1 < stream->extents.count ? stream->extents.items[extent + 1].address
                                              : stream->size;
}

/* Where an address lies in the file, and how many bytes of the stream follow there; *left 0 beyond the end. */
static inline const uint8_t *profdata_at(const struct profdata_file *file,
                                         enum profdata_stream which, uint64_t address, uint64_t *left)
{
    const struct profdata_extents *stream = &file->streams[which];
    *left = 0;
    if (address >= stream->size)
        return file->bytes;
    size_t extent = profdata_extent_of(stream, address);
    const struct profdata_extent *found = &stream->extents.items[extent];
    *left = profdata_extent_end(stream, extent) - address;
    return file->bytes + found->offset + (address - found->address);
}

/* The offset in the file of an address, for messages; the file's size beyond the end. */
uint64_t profdata_offset_of(const struct profdata_file *file, enum profdata_stream stream,
                            uint64_t address);

/* Copies bytes of a stream across its pages; false, and nothing copied, when they are not all there. */
bool profdata_copy(const struct profdata_file *file, enum profdata_stream stream, uint64_t address,
                   void *to, size_t size);

/* Little endian, at any alignment. */
static inline uint32_t profdata_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(value) : value;
}

static inline uint64_t profdata_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(value) : value;
}

#endif
