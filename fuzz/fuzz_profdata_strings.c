/* Any bytes as the string data and the index: the first byte says how they are divided. */
#include <stddef.h>

#include "input/profdata_args_check_test.h"
#include "input/profdata_metadata.h"
#include "profdata_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint32_t version = data[0] & 1 ? 8 : 9;
    size_t index_bytes = (size_t)(data[0] >> 1) * 8 % size;
    struct strbuf bytes = {0}, text = {0}, room = {0};
    fuzz_begin(&bytes, version);
    fuzz_page(&bytes, version, 2, data + 1, index_bytes);
    fuzz_page(&bytes, version, 1, data + 1 + index_bytes, size - 1 - index_bytes);
    struct profdata_file file;
    struct profdata_strings strings;
    struct profdata_metadata meta;
    struct intern names = {.count = 0};
    if (profdata_open_memory(&file, bytes.data, bytes.length, "fuzz", NULL) < 0)
        __builtin_trap();
    if (profdata_strings_open(&strings, &file, &names, data[0] & 2, NULL) >= 0) {
        for (uint64_t i = 0; i < 64; i++) {
            uint32_t name;
            (void)profdata_strings_name(&strings, i, &name);
            (void)profdata_strings_name(&strings, PROFDATA_FIRST_ADDRESS_ID + i, &name);
            strbuf_clear(&text);
            (void)profdata_strings_text(&strings, i, &text);
            (void)profdata_strings_text(&strings, PROFDATA_FIRST_ADDRESS_ID + i, &text);
        }
        for (uint64_t i = 0; i < 2 * 64; i++) {
            uint64_t id = i % 64 + (i < 64 ? 0 : PROFDATA_FIRST_ADDRESS_ID);
            for (unsigned step = 0; step <= PROFDATA_FETCH_ARGUMENT; step++)
                profdata_args_fetch(&strings, id ^ step, (enum profdata_fetch)step);
            if (profdata_args_check(&strings, id, &room, &text) < 0)
                __builtin_trap();
        }
        if (profdata_metadata_read(&meta, &strings) >= 0)
            (void)profdata_crate_name(&meta);
        profdata_metadata_free(&meta);
        profdata_strings_close(&strings);
    }
    profdata_close(&file);
    intern_free(&names);
    strbuf_free(&bytes);
    strbuf_free(&text);
    strbuf_free(&room);
    return 0;
}
