/* writer.h: write a stream file from inside the recorded process.
 *
 * A `stream` is the process's file; a `stream_cursor` is one writer's place in it (a thread's records, a thread's
 * samples, the process's modules). A cursor has one user at a time; cursors share nothing but the claim counter.
 * Nothing here allocates, locks or prints; all of it is async-signal-safe. A refused record is counted in the
 * file's header by cause and never stops the program.
 */
#ifndef LAMELLA_STREAM_WRITER_H
#define LAMELLA_STREAM_WRITER_H

#include "core/claim.h"
#include "stream/layout.h"

#include <stddef.h>
#include <stdint.h>

/* stream_header.arch of the processes that this code runs in. */
#if defined(__x86_64__)
enum { STREAM_HOST_ARCH = 62 }; /* EM_X86_64 */
#else
enum { STREAM_HOST_ARCH = 183 }; /* EM_AARCH64 */
#endif

struct stream {
    struct claim_file file;
    struct stream_header *header; /* mapped shared; NULL: not open */
    int use_counter;              /* which clock base_ticks are in */
    uint32_t torn; /* how often pages were found to be gone (atomic): cursors go on in new ones */
};

struct stream_cursor {
    uint8_t *page; /* NULL: none yet */
    uint32_t used;
    uint32_t size;
    uint32_t next_size; /* of the page claimed next; 0 reads as the smallest */
    uint32_t sequence;
    uint32_t kind;
    uint32_t thread;
    uint32_t tid;
    uint64_t base_ticks;
    uint32_t torn; /* the stream's when the page was claimed */
};

struct stream_piece { /* one part of a record's body */
    const void *bytes;
    size_t size;
};

/* Creates `path` (which must not exist) and maps its header, filled from `header` but for the magic and the cursor.
 * Returns 0, or a negative errno with nothing left behind. */
int stream_create(struct stream *stream, int dir_fd, const char *path,
                  const struct stream_header *header, uint64_t max_bytes);

/* Forgets the stream of the parent after a fork, without touching the parent's file. */
void stream_forget(struct stream *stream);

void stream_cursor_init(struct stream_cursor *cur, uint32_t kind, uint32_t thread, uint32_t tid);

/* Room for `size` bytes in the cursor's page, claiming the next page (and unmapping the full one) when there is none.
 * Returns the slot, zeroed, or NULL (counted). The caller stores the slot's first word last, with release. */
void *stream_reserve(struct stream *stream, struct stream_cursor *cur, uint32_t size, uint64_t now);

/* Appends one record: head, aux and the pieces one after another, padded to 8 bytes.
 * Returns 0, or -1 when it could not be written (counted). */
int stream_append(struct stream *stream, struct stream_cursor *cur, uint32_t type, uint32_t aux,
                  const struct stream_piece *pieces, size_t count, uint64_t now);

/* Appends one sample; a carry slot goes before it when the CPU time needs more than 32 bits. */
int stream_append_sample(struct stream *stream, struct stream_cursor *cur, uint32_t stack,
                         uint64_t cpu_ns, uint64_t ticks, uint16_t flags);

/* Claims a page of its own for a fixed structure (a chunk of stack nodes). Returns its mapping or NULL (counted). */
struct stream_page *stream_claim_page(struct stream *stream, uint32_t kind, uint32_t size,
                                      uint32_t sequence, uint64_t now);

/* The same with a header of the caller's, but for the place, which is filled in. Not counted: *rc says why there is none. */
struct stream_page *stream_claim_page_as(struct stream *stream, const struct stream_page *fields,
                                         int *rc);

/* Writes the header of a page that is mapped at `page` and empty, the magic last. */
void stream_begin_page(struct stream_page *page, const struct stream_page *fields);

/* Writes a copy of a whole page at an offset that was claimed for it, the header last; a kill in the middle leaves a page that
 * never began, or, over an old one, a void one. Returns 0 or a negative errno. */
int stream_copy_page(struct stream *stream, const struct stream_page *page, uint64_t offset,
                     int is_over_old);

/* Which loss a negative errno is. */
enum stream_loss stream_loss_of(int rc);

/* Somebody truncated the file: no page claimed so far counts any more, since even one that can be written again, because
 * the file has grown, has lost its header. */
void stream_abandon_pages(struct stream *stream);

/* Marks a page that lost a race as not used and unmaps it. */
void stream_void_page(struct stream_page *page);

/* Unmaps a cursor's page; what was written stays. */
void stream_cursor_close(struct stream_cursor *cur);

#endif
