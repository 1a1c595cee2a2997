/* A new file of ours, written from its beginning to its end in steps that suit the kernel.
 *
 * What begins and ends in the middle of a step is put into small pieces of the page cache, and costs half as much again. A large file
 * goes past the page cache from some size on (ext4): there it would push out what others need, and a writer waits for the kernel to write
 * it back, which takes many times as long. */
#ifndef LAMELLA_BASE_FILE_STEPS_H
#define LAMELLA_BASE_FILE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_reserve.h"

#define FILE_STEPS_CACHED_BYTES \
    (UINT64_C(1) << 29) /* for a user: so much may lie in the page cache */

/* All-zero is fine to free. */
struct file_steps {
    int fd;
    int errnum; /* of the first failure */

    /* Inside. */
    struct file_reserve reserve;
    uint64_t cached_bytes; /* past the page cache beyond them; UINT64_MAX: it has been tried */
    void *memory;          /* that `step` lies in; NULL until something is written */
    unsigned char *step;   /* bytes that wait for more: so many of so many */
    size_t used, size;
    bool is_copied; /* all goes through `step` */
    bool is_direct; /* the descriptor goes past the page cache */
};

/* fd stays the caller's; nobody else writes to it or changes its flags. */
void file_steps_begin(struct file_steps *steps, int fd, uint64_t cached_bytes);

/* LAM_OK or the code of errnum; bytes of a step that is not whole wait. */
int file_steps_write(struct file_steps *steps, const void *bytes, size_t length);

/* Writes what waits. LAM_OK or the code of errnum. */
int file_steps_end(struct file_steps *steps);
void file_steps_free(struct file_steps *steps);

#endif
