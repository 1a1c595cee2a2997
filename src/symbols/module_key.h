/* What makes two recorded modules the same library. */
#ifndef LAMELLA_SYMBOLS_MODULE_KEY_H
#define LAMELLA_SYMBOLS_MODULE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* The name under which writer and reader know a module: its build id where it has one, else its
 * path. Bytes for mem_free(); NULL when memory is short. */
char *symbols_module_key(const uint8_t *build_id, size_t build_id_bytes, const char *path,
                         size_t path_length, size_t *length) __attribute__((malloc));

#endif
