/* A stream file in view: raw as its process left it (or still writes it), or packed. Opening it looks at every page's header
 * and at nothing else; records come through a walk (stream_walk.h). What cannot be read is counted with its place and
 * never an error, unless the file is no stream at all. */
#ifndef LAMELLA_READER_STREAM_FILE_H
#define LAMELLA_READER_STREAM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "stream/layout.h"

struct stream_fault {
    enum stream_damage kind;
    uint64_t offset; /* in the file as recorded; of a packed file's broken page, in the packed file */
    uint64_t amount; /* bytes for the kinds that count bytes, else 1 or how many */
};

enum { STREAM_FAULTS_KEPT = 8 };

struct stream_faults {
    uint64_t counts[STREAM_DAMAGE_KINDS];
    struct stream_fault first[STREAM_FAULTS_KEPT]; /* the places of the first ones */
    unsigned kept;
};

void stream_faults_add(struct stream_faults *faults, enum stream_damage kind, uint64_t offset,
                       uint64_t amount);
void stream_faults_merge(struct stream_faults *into, const struct stream_faults *from);

/* Whether anything is damaged: bytes that no page claimed in time, and what a killed process left half-made, are not. */
bool stream_faults_are_damage(const struct stream_faults *faults);

struct stream_page_ref {
    uint64_t body_offset; /* of the page's records, or of its zstd frame, in this file */
    uint64_t self_offset; /* of the page in the file as recorded */
    uint64_t base_ticks;
    uint32_t body_bytes; /* of records: raw, all that the page can hold and the file has; packed, what the frame holds */
    uint32_t packed_bytes; /* 0: not packed, or empty */
    uint32_t thread, tid, sequence;
    uint32_t size_bytes; /* as claimed */
    uint8_t kind;
};

struct stream_page_refs LAM_ARRAY_BODY(struct stream_page_ref);

struct stream_file {
    char *name; /* for messages */
    const uint8_t *bytes;
    uint64_t size_bytes;
    struct stream_header header; /* in our byte order */
    bool is_packed;
    bool is_swapped;               /* its byte order is not ours */
    struct stream_page_refs pages; /* sorted by kind, thread, sequence; without void and unreadable ones */
    struct stream_faults faults; /* what the scan met and, of a packed file, what its packer had met in the raw one */
    struct file_map map; /* inside */
};

/* Opens a file. Codes: those of file_map(); LAM_E_TRUNCATED when it is shorter than a header, LAM_E_CORRUPT when it is no
 * stream, LAM_E_UNSUPPORTED for another major version. The offset of the cause is in err.
 * Threads: after opening, any number may read at once. */
int stream_open(struct stream_file **out, const char *path, struct lam_error *err);

/* The same over memory, which stays the caller's and must outlive the file. */
int stream_open_memory(struct stream_file **out, const void *bytes, size_t size_bytes,
                       const char *name, struct lam_error *err);

/* NULL and *file NULL are fine; *file is NULL afterwards. */
void stream_close(struct stream_file **file);

/* Whether the bytes at the head of a file say that it is a stream; for choosing an input by content. */
bool stream_is_magic(const void *bytes, size_t size_bytes);

/* The pages of one writer, in sequence: pages.items[first] … pages.items[end - 1]. */
struct stream_page_span {
    size_t first, end;
};
struct stream_page_span stream_pages_of(const struct stream_file *file, enum stream_page_kind kind,
                                        uint32_t thread);

/* All pages of a kind: writer after writer. */
struct stream_page_span stream_pages_of_kind(const struct stream_file *file,
                                             enum stream_page_kind kind);

/* The highest thread index that any page names. */
uint32_t stream_last_thread(const struct stream_file *file);

/* Makes dst the packed form of the raw file src, in one step (dst may be src, or exist): its pages' used bytes, each page
 * one zstd frame; void and never begun pages are dropped, and counted. Reading dst gives the same records as src.
 * flags are added to the header's (STREAM_FLAG_RECOVERED, or 0). A src that is packed is copied as it is.
 * Codes: those of stream_open(), and of writing. dst is untouched on failure. */
int stream_pack(const char *src, const char *dst, uint32_t flags, struct lam_error *err);

#endif
