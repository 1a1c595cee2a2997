/* The symbol sidecar: what the addresses of a recording are called, kept in the recording so that
 * it can be read where the binaries are not. docs/sidecar.md is the format.
 *
 * Writing, at the end of `lamella record` (the one who knows the inputs connects them):
 *
 *     struct symbols_collector *hits;
 *     symbols_collector_open(&hits, err);
 *     input_push(recording, symbols_collector_sink(hits), err);    // any reader of src/input
 *     symbols_write_sidecar(recording_dir, hits, err);     // writes recording_dir/symbols.lamsym
 *     symbols_collector_close(&hits);
 *
 * Reading:
 *
 *     struct symbols *symbols;
 *     symbols_open(&symbols, recording_dir, err);     // NOTFOUND: no sidecar was written
 *     uint32_t module = symbols_module_of(symbols, profile_module);
 *     struct symbol_place place = symbols_lookup(symbols, module, frame->offset, frame->is_return);
 *     for (uint32_t i = 0; i < place.count; i++)     // innermost first: inlined, then the function
 *         … symbols_frame(symbols, &place, i).name …
 * / */
#ifndef LAMELLA_SYMBOLS_SIDECAR_H
#define LAMELLA_SYMBOLS_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/sink.h"
#include "symbols/demangle.h"

#define SYMBOLS_FILE_NAME "symbols.lamsym"

/* ---- writing -------------------------------------------------------------------------------- */

struct symbols_collector;

int symbols_collector_open(struct symbols_collector **hits, struct lam_error *err);

/* Takes session, module and frame; everything else is left out. Valid as long as the collector. */
struct profile_sink symbols_collector_sink(struct symbols_collector *hits);

void symbols_collector_close(struct symbols_collector **hits); /* NULL and *hits NULL are fine */

/* All-zero is the default. */
struct symbols_options {
    const char *debug_root;   /* where separate debug files are; NULL: /usr/lib/debug */
    unsigned threads;         /* 0: one a processor */
    uint32_t lines_budget_ms; /* for reading DWARF, all modules together; 0: 3,000 */
};

/* Resolves the collected addresses and writes the sidecar in one step (readers see the old one or
 * the new one). A module is looked up by its path. It is used when its build id is the recorded one
 * or, where none was recorded, when it is the file that was mapped (its inode; not changed since);
 * symbols and lines then come from it and its debug file. Modules with one build id under several
 * paths are one, with the symbols of all. What cannot be resolved is written down with the reason;
 * it is no failure.
 * Returns LAM_OK; IO, FULL, PERM when the file cannot be written; NOMEM. */
int symbols_write_sidecar(const char *recording_dir, struct symbols_collector *hits,
                          struct lam_error *err);
int symbols_write_sidecar_with(const char *recording_dir, struct symbols_collector *hits,
                               const struct symbols_options *options, struct lam_error *err);

/* ---- reading -------------------------------------------------------------------------------- */

/* Values are those of the format. */
enum symbols_module_state {
    SYMBOLS_MODULE_COMPLETE = 0, /* has a full symbol table */
    SYMBOLS_MODULE_STRIPPED = 1, /* has only what it exports; what lies between has no name */
    SYMBOLS_MODULE_MISSING = 2, /* the file was gone when the sidecar was written, or not readable */
    SYMBOLS_MODULE_CHANGED = 3, /* another file was at its place */
    SYMBOLS_MODULE_DAMAGED = 4, /* it is no ELF file */
};

enum symbol_state {
    SYMBOL_RESOLVED,
    SYMBOL_BETWEEN,                /* no symbol of a complete module holds the address */
    SYMBOL_MODULE_WITHOUT_SYMBOLS, /* stripped, missing, …: symbols_module_info() says which */
    SYMBOL_NO_MODULE,              /* the address lies in no known module */
};

struct symbols;

/* Opens the sidecar of a recording. NOTFOUND when there is none; CORRUPT or TRUNCATED when it is
 * damaged; UNSUPPORTED for a later major version. Nothing in it is trusted. Threads: any number may
 * read. */
int symbols_open(struct symbols **symbols, const char *recording_dir, struct lam_error *err);
int symbols_open_memory(struct symbols **symbols, const void *bytes, size_t size_bytes,
                        const char *name, struct lam_error *err); /* the bytes may go afterwards */
void symbols_close(struct symbols **symbols); /* NULL and *symbols NULL are fine */

/* Sidecars of several recordings that are read as one: `next` is added behind those of *symbols and becomes theirs. NULL stands for a
 * recording without one. *symbols NULL: it is the first. LAM_OK or LAM_E_NOMEM. */
int symbols_append(struct symbols **symbols, struct symbols *next);

/* The module as the sidecar of its recording knows it. 0: not at all. */
uint32_t symbols_module_of(const struct symbols *symbols, const struct profile_module *module);

/* The module of that build id, or, when it has none (build_id_bytes 0), of that path. 0: the
 * sidecar does not know it. */
uint32_t symbols_module(const struct symbols *symbols, const uint8_t *build_id,
                        size_t build_id_bytes, const char *path, size_t path_length);

struct symbols_module_info {
    const char *path; /* of one copy */
    enum symbols_module_state state;
    bool has_lines; /* DWARF was read */
    bool lines_cut; /* ... but not for all addresses: the budget was used up */
    uint64_t hits;  /* different addresses recorded in it */
    uint64_t resolved;
};

uint32_t symbols_module_count(const struct symbols *symbols); /* modules are 1 … count */
struct symbols_module_info symbols_module_info(const struct symbols *symbols, uint32_t module);

#define SYMBOL_NO_FUNCTION UINT32_MAX

struct symbol_place {
    enum symbol_state state;
    uint32_t count; /* frames: 0 unless resolved; more than 1 with inlined calls */
    uint32_t function; /* the one that holds the address, not inlined; ids are dense from 0 in each sidecar */
    uint32_t first;   /* internal */
    uint32_t sidecar; /* of several: which one's function; internal */
};

/* What an address of a module is called. offset is the file's own virtual address; a return address
 * is looked up one byte before. module 0 gives NO_MODULE when no module is known to hold it; also
 * for a module the sidecar does not know. */
struct symbol_place symbols_lookup(const struct symbols *symbols, uint32_t module, uint64_t offset,
                                   bool is_return);

struct symbol_frame { /* texts live until symbols_close(), never NULL */
    uint32_t function;
    const char *name; /* short */
    const char *full;
    const char *raw;  /* the linker's */
    const char *file; /* "" when not known */
    uint32_t line;    /* 0 when not known */
    bool is_inlined;
    enum symbol_language language;
};

/* Frame 0 … place->count - 1, innermost first. */
struct symbol_frame symbols_frame(const struct symbols *symbols, const struct symbol_place *place,
                                  uint32_t index);

uint32_t symbols_function_count(const struct symbols *symbols);
struct symbol_frame symbols_function(const struct symbols *symbols,
                                     uint32_t function); /* without file and line */

#endif
