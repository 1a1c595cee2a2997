/* Records of a stream file, one after another, in our byte order. A walk goes over a span of pages; it copes with anything in
 * them: what contradicts itself is counted in `faults` and skipped. */
#ifndef LAMELLA_READER_STREAM_WALK_H
#define LAMELLA_READER_STREAM_WALK_H

#include "reader/stream_file.h"
#include "reader/stream_records.h"

struct stream_walk {
    const struct stream_file *file;
    struct stream_faults faults;
    size_t next_page, end_page;         /* indexes into file->pages */
    const struct stream_page_ref *page; /* the one being read; NULL before the first */

    /* Inside. */
    const uint8_t *body;
    uint32_t at, body_bytes;
    uint32_t carry_high;
    bool has_carry;
    uint8_t *scratch; /* two pages, once a page had to be unpacked */
    void *unpacker;
};

/* All-zero is valid for close. The file must outlive the walk. One thread. */
void stream_walk_init(struct stream_walk *walk, const struct stream_file *file);
void stream_walk_close(struct stream_walk *walk);

/* Begins a span of pages of META and MODULES, or of SAMPLES; keeps the memory. */
void stream_walk_begin(struct stream_walk *walk, struct stream_page_span pages);

struct stream_text {
    const char *bytes;
    size_t size;
};

enum { STREAM_RECORD_TEXTS = 3 };

struct stream_record_view {
    uint64_t offset; /* of the record in the file as recorded */
    uint32_t type;   /* enum stream_record_type, or a later one */
    uint32_t aux;
    const struct stream_record_row *row; /* NULL: a type that this reader does not know; then there is no body */
    union stream_body body;
    struct stream_text text[STREAM_RECORD_TEXTS]; /* as many as the row names; valid until the next call */
    struct stream_text tail; /* what follows the fixed part and the texts, with the padding; in the file's byte order */
};

/* 1 and the next record; 0 at the end of the span; LAM_E_NOMEM. */
int stream_next_record(struct stream_walk *walk, struct stream_record_view *record);

struct stream_sample_view {
    uint64_t offset; /* of its slot (not of the carry slot before it) in the file as recorded */
    uint64_t ticks;
    uint64_t cpu_ns;
    uint32_t stack; /* STREAM_STACK_UNKNOWN: none */
    uint16_t flags;
};

/* 1 and the next sample; 0 at the end of the span; LAM_E_NOMEM. Carry slots are joined with the sample they belong to. */
int stream_next_sample(struct stream_walk *walk, struct stream_sample_view *sample);

/* A page's records: in place, or unpacked into `into`; spare is a second buffer of STREAM_PAGE_MAX bytes, unpacker a
 * ZSTD_DCtx. NULL and counted when it does not unpack. */
const uint8_t *stream_page_body(const struct stream_file *file, const struct stream_page_ref *page,
                                void *unpacker, uint8_t *into, uint8_t *spare,
                                struct stream_faults *faults);

/* ---- the stack trie ---- */

enum { STREAM_CHUNKS_SMALL = 6 }; /* chunks before this one grow, all others are STREAM_PAGE_MAX */

struct stream_nodes {
    const uint8_t **chunks; /* bodies; NULL: a chunk that is not there */
    uint32_t *chunk_nodes;  /* how many of its nodes the file has */
    uint32_t chunk_count;
    uint32_t last_id; /* ids 1 … last_id may exist */
    bool is_swapped;
    uint8_t **owned; /* unpacked bodies */
};

/* Brings the stack nodes into view. LAM_OK or LAM_E_NOMEM; what cannot be read is added to faults. */
int stream_nodes_load(const struct stream_file *file, struct stream_nodes *nodes,
                      struct stream_faults *faults);
void stream_nodes_free(struct stream_nodes *nodes); /* all-zero is fine */

/* Of an id from 1: false when there is no such node, or it was never completed. The parent's id may be anything. */
bool stream_node_get(const struct stream_nodes *nodes, uint32_t id, struct stream_node *node);

/* Where it lies in the file as recorded (for messages and view --raw): offset in its page's records. */
uint32_t stream_node_chunk(uint32_t id, uint32_t *index);

static inline uint64_t stream_node_address(const struct stream_node *node)
{
    return (uint64_t)node->address_hi << 32 | node->address_lo;
}

#endif
