/* Files and paths. Paths are bytes; messages show them printable. All descriptors are
 * close-on-exec. */
#ifndef LAMELLA_BASE_FILE_H
#define LAMELLA_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

struct file_map {
    const uint8_t *data; /* never NULL after success, even for 0 bytes */
    size_t size_bytes;
    bool is_mapped;   /* else read into memory */
    bool is_borrowed; /* of somebody who keeps it: file_unmap() leaves it */
};

/* Brings a whole file into view, read only, until file_unmap(). A regular file is mapped; anything
 * else (pipe, /proc; "-" is not special here, but in file_input.h) is read into memory up to 4 GiB, a device up to 16 MiB.
 * A pipe without a writer is empty. A mapped file that
 * somebody truncates meanwhile reads as zeros beyond its new end instead of killing us: file_map
 * installs a SIGBUS handler (again, when another one came since), which replaces the lost pages of
 * our mappings by zeros, counts them (file_lost_pages) and passes on every other SIGBUS. Codes:
 * NOTFOUND, PERM, IO, NOMEM, TOOBIG; UNSUPPORTED for a directory. Threads: any. */
int file_map(const char *path, struct file_map *map, struct lam_error *err);
int file_map_fd(int fd, const char *name, struct file_map *map,
                struct lam_error *err); /* fd stays the caller's */
void file_unmap(struct file_map *map);  /* an all-zero map is fine; all-zero afterwards */

/* Pages of mapped files that vanished under us so far, in the whole process. A reader that sees it
 * grow while it reads knows that its input shrank. */
uint64_t file_lost_pages(void);

/* The same of one file, since it was mapped. */
uint64_t file_map_lost_pages(const struct file_map *map);

/* Reads a whole file of at most limit bytes (more is TOOBIG) into memory for mem_free(); a NUL
 * follows, uncounted. */
int file_read_all(const char *path, size_t limit, char **data, size_t *length, struct lam_error *err);
int file_read_all_fd(int fd, const char *name, size_t limit, char **data, size_t *length,
                     struct lam_error *err);

/* Writes the file anew in one step: a temporary file beside it, then rename; readers see the old or
 * the new one. A new file gets 0666 less the umask, an old one keeps its mode; a symbolic link
 * keeps being one; a device or a pipe is written to in place. Not synced to the disk. */
int file_write_all(const char *path, const void *data, size_t length, struct lam_error *err);

/* Writes all bytes to a descriptor, across short writes and EINTR. */
int file_write_fd(int fd, const void *data, size_t length, const char *name, struct lam_error *err);

/* The same for those who say themselves what failed: 0, or the errno. */
int file_write_bytes(int fd, const void *data, size_t length);

/* Copies the bytes of one descriptor, from its current position to its end, to another. *copied may
 * be NULL. */
int file_copy_fd(int from, int to, const char *name, uint64_t *copied, struct lam_error *err);

enum dir_kind { DIR_KIND_OTHER, DIR_KIND_FILE, DIR_KIND_DIR, DIR_KIND_LINK };
struct dir_entry {
    char *name;
    enum dir_kind kind; /* of the entry itself; a link is not followed */
};
struct dir_entries LAM_ARRAY_BODY(struct dir_entry);

/* The entries of a directory without "." and "..", sorted by the bytes of their names. */
int dir_list(const char *path, struct dir_entries *entries, struct lam_error *err);
void dir_entries_free(struct dir_entries *entries);

/* Makes a directory and the missing ones above it; fine when it is there. */
int dir_make_all(const char *path, struct lam_error *err);

/* Removes a directory and everything below it, without following links; fine when it is absent. */
int dir_remove_all(const char *path, struct lam_error *err);

/* "a" and "b" give "a/b", "a/" and "b" give "a/b", "" and "b" give "b", an absolute b gives b. For
 * mem_free(); NULL when memory is short. */
char *path_join(const char *dir, const char *name) __attribute__((malloc, warn_unused_result));

/* What follows the last slash ("a/b.c" gives "b.c", "a/" gives ""); points into path. */
const char *path_name(const char *path);

/* The directory part for mem_free(): "a/b" gives "a", "/a" gives "/", "a" gives ".". */
char *path_dir(const char *path) __attribute__((malloc, warn_unused_result));

bool path_exists(const char *path);
bool path_is_dir(const char *path); /* links are followed */
bool text_ends_with(const char *text, const char *end);
bool text_starts_with(const char *text, const char *start);

#endif
