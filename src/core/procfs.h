/* procfs.h: small reads of /proc with raw system calls. Async-signal-safe. */
#ifndef LAMELLA_CORE_PROCFS_H
#define LAMELLA_CORE_PROCFS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the file's first size - 1 bytes, NUL-ended. Returns their count or a negative errno (buf is then ""). */
long procfs_read(const char *path, char *buf, size_t size);

/* The number after `key` ("VmHWM:") in a text of lines; UINT64_MAX when it is not there. */
uint64_t procfs_field(const char *text, const char *key);

/* When this process was started: field 22 of /proc/self/stat, in clock ticks since boot; 0 when it is not known.
 * buf  of 1 KiB, which the caller may not have room for on its stack; overwritten */
uint64_t procfs_kernel_start(char *buf, size_t size);

#endif
