/* Blocks of a file that grows, asked for in stretches ahead of its writes: on ext4 a write then takes a third less, and a file that
 * replaces another is not written back before it may. Other file systems gain nothing, and are left alone. */
#ifndef LAMELLA_BASE_FILE_RESERVE_H
#define LAMELLA_BASE_FILE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All-zero reserves nothing. */
struct file_reserve {
    int fd;
    bool is_on;
    uint64_t written, reserved; /* bytes from the beginning */
};

/* For an empty file of ours, written from its beginning to its end. */
void file_reserve_begin(struct file_reserve *reserve, int fd);

/* Before so many bytes are written. Never fails: without room the write says so. errno is left as it was. */
void file_reserve_more(struct file_reserve *reserve, size_t bytes);

/* Gives back what was not used. */
void file_reserve_end(struct file_reserve *reserve);

#endif
