#include "symbols/module_key.h"

#include <string.h>

#include "base/memory.h"

char *symbols_module_key(const uint8_t *build_id, size_t build_id_bytes, const char *path,
                         size_t path_length, size_t *length)
{
    const void *from = build_id_bytes > 0 ? (const void *)build_id : path;
    size_t size = build_id_bytes > 0 ? build_id_bytes : path_length;
    char *key = mem_alloc(size + 1);
    if (!key)
        return NULL;
    key[0] = build_id_bytes > 0 ? 'b' : 'p';
    if (size > 0)
        memcpy(key + 1, from, size);
    *length = size + 1;
    return key;
}
