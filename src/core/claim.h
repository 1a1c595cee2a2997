/* claim.h: a file that many writers fill, each in stretches of its own.
 *
 * A stretch is claimed by one atomic add on a shared cursor, reserved on storage before anybody writes to it (so that
 * a full disk is an error code here and never a SIGBUS there), and mapped. No lock; async-signal-safe; no allocation.
 */
#ifndef LAMELLA_CORE_CLAIM_H
#define LAMELLA_CORE_CLAIM_H

#include <stddef.h>
#include <stdint.h>

struct claim_file {
    int fd;
    uint64_t device; /* of the file behind fd: a program may close our descriptor and get the number again */
    uint64_t inode;
    const char *path; /* to open it again when the descriptor was taken away; NULL: it is not */
    void (*reopened)(int fd); /* told of the new descriptor; NULL */
    uint64_t *cursor;         /* shared, in the file's own header */
    uint64_t reached; /* end of the furthest stretch that this process mapped (atomic): the cursor's private shadow */
    uint64_t max_bytes; /* 0: no budget */
};

/* Claims `size` bytes (a multiple of 4096).
 * offset, map  written on success only; the mapping is shared with the file and reads as zero
 * Threads      any, concurrently, and in signal handlers
 * Returns      0; -ENOSPC, -EDQUOT when storage is full; -EFBIG for the file-size limit (SIGXFSZ is not raised) or the
 *              budget; -EBADF when the descriptor is no longer this file and it
 *              cannot be opened again; any other negative errno */
int claim_stretch(struct claim_file *file, uint32_t size, uint64_t *offset, void **map);

/* Claims `size` bytes that will be written by claim_write() and not mapped. Returns 0 or as claim_stretch. */
int claim_offset(struct claim_file *file, uint32_t size, uint64_t *offset);

/* Writes at an offset that was claimed. Returns 0 or a negative errno, with some of it written. */
int claim_write(const struct claim_file *file, uint64_t offset, const void *bytes, uint64_t size);

/* Puts a stretch back that was mapped at `at` and has vanished because somebody truncated the file: reserved, filled with
 * `content`, and only then mapped again, since others may be waiting to read it.
 * Returns 0, or a negative errno as claim_stretch with the mapping unchanged. */
int claim_restore(struct claim_file *file, uint64_t offset, const void *content, uint32_t size,
                  void *at);

/* Moves `fd` to a high number (close-on-exec), where programs that close or count from below do not meet it.
 * Returns the new descriptor, or `fd` itself when no higher one can be had. */
int claim_move_high(int fd);

#endif
