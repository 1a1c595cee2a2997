/* The symbol sidecar: the input as a whole file, and again as the content inside a good file, so that what lies behind
 * the compression is reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "symbols/sidecar.h"
#include "symbols/sidecar_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_around(const struct symbols *symbols)
{
    for (uint32_t module = 0; module <= symbols_module_count(symbols) && module < 16; module++) {
        (void)strlen(symbols_module_info(symbols, module).path);
        for (uint64_t offset = 0; offset < 4096; offset += 7) {
            struct symbol_place place = symbols_lookup(symbols, module, offset, offset & 1);
            for (uint32_t i = 0; i < place.count && i < 4; i++) {
                struct symbol_frame frame = symbols_frame(symbols, &place, i);
                if (strlen(frame.name) + strlen(frame.full) + strlen(frame.raw) + strlen(frame.file) >
                    (1u << 30))
                    abort();
            }
        }
    }
}

static void open_bytes(const void *bytes, size_t size)
{
    struct symbols *symbols = NULL;
    if (symbols_open_memory(&symbols, bytes, size, "fuzz", NULL) == LAM_OK)
        look_around(symbols);
    symbols_close(&symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_bytes(data, size);
    size_t room = sizeof(struct sidecar_header) + ZSTD_compressBound(size);
    uint8_t *file = malloc(room);
    if (!file)
        return 0;
    struct sidecar_header header = {.version_major = SIDECAR_VERSION_MAJOR, .unpacked_bytes = size};
    memcpy(header.magic, SIDECAR_MAGIC, sizeof header.magic);
    header.packed_bytes = ZSTD_compress(file + sizeof header, room - sizeof header, data, size, 1);
    memcpy(file, &header, sizeof header);
    if (!ZSTD_isError(header.packed_bytes))
        open_bytes(file, sizeof header + header.packed_bytes);
    free(file);
    return 0;
}
