/* Files that a command was given to read: "-" is standard input, and one file may be given by several names. */
#ifndef LAMELLA_BASE_FILE_INPUT_H
#define LAMELLA_BASE_FILE_INPUT_H

#include <stdbool.h>

#include "base/file.h"
#include "base/map.h"

bool file_input_is_stdin(const char *path);

/* The path for messages: "standard input" for "-". */
const char *file_input_name(const char *path);

/* file_map(). Standard input is read once, to its end, and stays in view until the process ends; UNSUPPORTED when it is a terminal. Threads: one
 * at a time for the first map of "-", then any. */
int file_input_map(const char *path, struct file_map *map, struct lam_error *err);

/* "a pipe", "a socket", "a device": what a path leads to that is neither a file nor a directory; NULL for these two and for what is not
 * there. */
const char *file_special_kind(const char *path);

/* Files met so far by device and inode, whatever their names are. All-zero is empty. */
struct file_set {
    struct map known;
};

/* *is_new: no path so far led to this file; true also for what cannot be looked at. LAM_OK or LAM_E_NOMEM. */
int file_set_add(struct file_set *set, const char *path, bool *is_new);
void file_set_free(struct file_set *set);

#endif
