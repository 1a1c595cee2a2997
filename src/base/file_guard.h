/* Mappings that survive it when somebody truncates their file. For file.c alone; users call
 * file_map(). */
#ifndef LAMELLA_BASE_FILE_GUARD_H
#define LAMELLA_BASE_FILE_GUARD_H

#include <stddef.h>
#include <stdint.h>

/* Maps size_bytes (above 0) of a regular file, read only and private. NULL when it cannot be mapped
 * or watched (more than a few thousand mappings at once): the caller reads it instead. Threads:
 * any. */
const void *file_guard_map(int fd, size_t size_bytes);
void file_guard_unmap(const void *data, size_t size_bytes);

/* Pages of this mapping that vanished so far. */
uint64_t file_guard_lost(const void *data);

#endif
