/* sidecar_layout.h: every constant and structure of symbols.lamsym. docs/sidecar.md is the
 * specification in words; the two change together. Little endian on every machine. */
#ifndef LAMELLA_SYMBOLS_SIDECAR_LAYOUT_H
#define LAMELLA_SYMBOLS_SIDECAR_LAYOUT_H

#include <assert.h>
#include <stdint.h>

#define SIDECAR_MAGIC "\x89LSY\r\n\x1a\n"

enum {
    SIDECAR_VERSION_MAJOR = 1, /* a reader refuses another major version */
    SIDECAR_VERSION_MINOR = 0, /* a reader skips sections and ends of items that it does not know */
    SIDECAR_SECTIONS_MAX = 64,
    SIDECAR_BUILD_ID_MAX = 32,
};
#define SIDECAR_MAX_BYTES ((uint64_t)1 << 30) /* unpacked */

/* The file: this header, then one zstd frame of packed_bytes. */
struct sidecar_header {
    char magic[8];
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t flags; /* 0 */
    uint64_t packed_bytes;
    uint64_t unpacked_bytes;
};
static_assert(sizeof(struct sidecar_header) == 32, "sidecar header");

/* The unpacked content: a table of sections, then the sections, each at a multiple of 8. */
struct sidecar_table {
    uint32_t section_count;
    uint32_t reserved;
    /* struct sidecar_section [section_count] */
};
static_assert(sizeof(struct sidecar_table) == 8, "table of sections");

enum sidecar_section_id {
    SIDECAR_TEXT = 1,    /* texts ended by NUL, the first is empty; a text is its offset in here */
    SIDECAR_MODULES = 2, /* struct sidecar_module */
    SIDECAR_FUNCTIONS = 3, /* struct sidecar_function */
    SIDECAR_RANGES = 4,    /* struct sidecar_range */
    SIDECAR_SITES = 5,     /* struct sidecar_site */
    SIDECAR_FRAMES = 6,    /* struct sidecar_frame */
    SIDECAR_SECTION_END,
};

struct sidecar_section {
    uint32_t id;
    uint32_t item_bytes;
    uint64_t offset; /* in the unpacked content */
    uint64_t count;  /* of items */
};
static_assert(sizeof(struct sidecar_section) == 24, "section");

enum sidecar_module_flag { SIDECAR_MODULE_LINES = 1, SIDECAR_MODULE_LINES_CUT = 2 };

/* Its ranges and sites are runs of the sections of all. */
struct sidecar_module {
    uint64_t hits;
    uint64_t resolved;
    uint32_t path;
    uint32_t range_first;
    uint32_t range_count;
    uint32_t site_first;
    uint32_t site_count;
    uint16_t flags;
    uint8_t state; /* enum symbols_module_state */
    uint8_t build_id_bytes;
    uint8_t build_id[SIDECAR_BUILD_ID_MAX];
};
static_assert(sizeof(struct sidecar_module) == 72, "module");

struct sidecar_function {
    uint32_t short_name;
    uint32_t full_name;
    uint32_t raw_name;
    uint32_t language; /* enum symbol_language */
};
static_assert(sizeof(struct sidecar_function) == 16, "function");

/* Addresses [start, end) are a function's. Within a module sorted and not overlapping, as far as
 * this writer goes. */
struct sidecar_range {
    uint64_t start;
    uint64_t end;
    uint32_t function;
    uint32_t reserved;
};
static_assert(sizeof(struct sidecar_range) == 24, "range");

/* An address about which more is known than its function: lines, inlined calls. */
struct sidecar_site {
    uint64_t address;
    uint32_t frame_first;
    uint32_t frame_count;
};
static_assert(sizeof(struct sidecar_site) == 16, "site");

enum sidecar_frame_flag { SIDECAR_FRAME_INLINED = 1 };

struct sidecar_frame {
    uint32_t function;
    uint32_t file; /* text; 0: not known */
    uint32_t line; /* 0: not known */
    uint32_t flags;
};
static_assert(sizeof(struct sidecar_frame) == 16, "frame");

#endif
