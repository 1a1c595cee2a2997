/* procfs.h: small reads of /proc with raw system calls. Async-signal-safe. */
#ifndef LAMELLA_AGENT_PROCFS_H
#define LAMELLA_AGENT_PROCFS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the file's first size - 1 bytes, NUL-ended. Returns their count or a negative errno (buf is then ""). */
long procfs_read(const char *path, char *buf, size_t size);

/* The number after `key` ("VmHWM:") in a text of lines; UINT64_MAX when it is not there. */
uint64_t procfs_field(const char *text, const char *key);

#endif
