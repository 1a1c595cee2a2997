/* An ELF file in memory: its symbols, stubs, embedded table and, for addresses in its code, lines and inlined calls. */
#include <stdint.h>
#include <string.h>

#include "symbols/debug_file.h"
#include "symbols/dwarf_lines.h"
#include "symbols/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SITES = 64 };

static void look_up_lines(struct elf_file *file)
{
    struct dwarf_lines *lines = NULL;
    struct dwarf_site sites[SITES] = {0};
    size_t count = 0;
    bool was_cut;
    for (size_t i = 0; i < file->code.count && count < SITES; i++)
        for (uint64_t at = file->code.items[i].address;
             at < file->code.items[i].end && count < SITES; at += 5)
            sites[count++].address = at;
    if (dwarf_lines_open(&lines, file, 0) < 0)
        return;
    (void)dwarf_lines_resolve(lines, sites, count, UINT64_MAX, &was_cut);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = sites[i].node;
        for (unsigned depth = 0; node && depth < 200; depth++) {
            const struct dwarf_call *call = dwarf_lines_call(lines, node);
            if (call->name)
                (void)strlen(call->name);
            node = call->parent;
        }
    }
    dwarf_lines_close(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *file = NULL, *embedded = NULL;
    if (elf_file_open_memory(&file, data, size, "fuzz", NULL) < 0)
        return 0;
    struct symbol_table functions = {0}, stubs = {0};
    (void)elf_symbols_add(&functions, file, 0);
    (void)symbol_table_finish(&functions);
    (void)elf_plt_add(&stubs, &functions, file);
    (void)symbol_table_finish(&stubs);
    for (size_t i = 0; i < functions.symbols.count; i++)
        (void)strlen(functions.symbols.items[i].name);
    if (debug_file_embedded(&embedded, file) == LAM_OK)
        elf_file_close(&embedded);
    look_up_lines(file);
    symbol_table_free(&functions);
    symbol_table_free(&stubs);
    elf_file_close(&file);
    return 0;
}
