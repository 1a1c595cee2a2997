/* The inside of struct symbols: the unpacked sidecar and what was made of it. For sidecar_*.c
 * alone. */
#ifndef LAMELLA_SYMBOLS_SIDECAR_INSIDE_H
#define LAMELLA_SYMBOLS_SIDECAR_INSIDE_H

#include <endian.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "symbols/sidecar.h"
#include "symbols/sidecar_layout.h"

struct sidecar_items {
    const uint8_t *items;
    size_t item_bytes;
    size_t count;
};

/* A module as looked up: entries of the file that have one key are one module here. */
struct known_module {
    struct symbols_module_info info;
    size_t range_first, range_count; /* of symbols->ranges */
    size_t site_first, site_count;   /* of symbols->sites */
};

struct known_range {
    uint64_t start;
    uint64_t end;
    uint32_t function;
};

struct known_site {
    uint64_t address;
    uint32_t frame_first;
    uint32_t frame_count;
};

struct symbols {
    struct symbols *next; /* of the next recording; its modules are numbered on from ours */
    uint8_t *content;
    size_t content_bytes;
    struct sidecar_items text, file_modules, functions, file_ranges, file_sites, frames;
    struct intern keys; /* id - 1 is the index of modules */
    LAM_ARRAY(struct known_module) modules;
    LAM_ARRAY(struct known_range) ranges; /* per module sorted, not overlapping */
    LAM_ARRAY(struct known_site) sites;   /* per module sorted, each address once */
};

/* Items of the file by index. References in them were checked when it was opened. */

static inline struct sidecar_module sidecar_get_module(const struct symbols *symbols, size_t index)
{
    struct sidecar_module module;
    memcpy(&module, symbols->file_modules.items + index * symbols->file_modules.item_bytes,
           sizeof module);
    return module;
}

static inline struct sidecar_function sidecar_get_function(const struct symbols *symbols, size_t index)
{
    struct sidecar_function function;
    memcpy(&function, symbols->functions.items + index * symbols->functions.item_bytes,
           sizeof function);
    return function;
}

static inline struct sidecar_range sidecar_get_range(const struct symbols *symbols, size_t index)
{
    struct sidecar_range range;
    memcpy(&range, symbols->file_ranges.items + index * symbols->file_ranges.item_bytes,
           sizeof range);
    return range;
}

static inline struct sidecar_site sidecar_get_site(const struct symbols *symbols, size_t index)
{
    struct sidecar_site site;
    memcpy(&site, symbols->file_sites.items + index * symbols->file_sites.item_bytes, sizeof site);
    return site;
}

static inline struct sidecar_frame sidecar_get_frame(const struct symbols *symbols, size_t index)
{
    struct sidecar_frame frame;
    memcpy(&frame, symbols->frames.items + index * symbols->frames.item_bytes, sizeof frame);
    return frame;
}

static inline const char *sidecar_get_text(const struct symbols *symbols, uint32_t offset)
{
    return (const char *)symbols->text.items + le32toh(offset);
}

/* Makes modules, ranges and sites out of the file's. Returns LAM_OK or LAM_E_NOMEM. */
int sidecar_merge(struct symbols *symbols);

#endif
