#include "symbols/elf_symbols.h"

#include <string.h>

#include <gelf.h>

enum {
    RANK_LABEL = 64,     /* assembly labels come after functions */
    RANK_UNDERSCORE = 8, /* for each leading one, up to 3: write before __write */
    RANK_WEAK = 1,
    RANK_LOCAL = 2,
};

struct reading {
    struct symbol_table *table;
    struct elf_file *file;
    uint64_t shift;
    bool is_complete; /* the file has a .symtab */
    const char *names;
    size_t names_bytes; /* up to and with its last NUL */
};

static bool is_function(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Labels that are no entry points: mapping symbols of ARM and RISC-V, and the compiler's and
 * assembler's local ones. */
static bool is_noise(const char *name, unsigned type, unsigned binding)
{
    if (name[0] == 0)
        return true;
    if (type != STT_NOTYPE)
        return false;
    return (name[0] == '$' && (name[1] && (name[2] == 0 || name[2] == '.'))) ||
           (name[0] == '.' && binding == STB_LOCAL);
}

static uint8_t rank_of(const char *name, unsigned type, unsigned binding)
{
    unsigned underscores = 0;
    while (underscores < 3 && name[underscores] == '_')
        underscores++;
    unsigned rank = underscores * RANK_UNDERSCORE;
    if (!is_function(type))
        rank += RANK_LABEL;
    if (binding == STB_WEAK)
        rank += RANK_WEAK;
    else if (binding == STB_LOCAL)
        rank += RANK_LOCAL;
    return (uint8_t)rank;
}

static int add_symbol(struct reading *reading, const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info);
    if (!is_function(type) && type != STT_NOTYPE)
        return LAM_OK;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
        symbol->st_shndx == SHN_COMMON || symbol->st_name >= reading->names_bytes)
        return LAM_OK;
    const struct elf_section *section = elf_file_code_at(reading->file, symbol->st_value);
    const char *name = reading->names + symbol->st_name;
    if (!section || is_noise(name, type, binding))
        return LAM_OK;
    bool has_size = symbol->st_size > 0;
    uint64_t room = section->end - symbol->st_value;
    uint64_t size = has_size ? symbol->st_size : reading->is_complete ? room : 1;
    if (size > room)
        size = room;
    uint64_t start = symbol->st_value + reading->shift, end;
    if (__builtin_add_overflow(start, size, &end))
        return LAM_OK;
    struct symbol added = {.start = start,
                           .end = end,
                           .name = name,
                           .rank = rank_of(name, type, binding),
                           .is_open = !has_size,
                           .is_label = !has_size && !is_function(type)};
    return symbol_table_add(reading->table, added);
}

/* Finds the names of a symbol section; false when there are none. */
static bool find_names(struct reading *reading, uint32_t link)
{
    const uint8_t *bytes;
    if (!elf_file_bytes(reading->file, elf_getscn(reading->file->elf, link), &bytes,
                        &reading->names_bytes))
        return false;
    while (reading->names_bytes > 0 && bytes[reading->names_bytes - 1] != 0)
        reading->names_bytes--;
    reading->names = (const char *)bytes;
    return reading->names_bytes > 0;
}

static int add_section(struct reading *reading, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = header->sh_type == SHT_NOBITS ? NULL : elf_getdata(section, NULL);
    size_t entry = gelf_fsize(reading->file->elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!data || !data->d_buf || entry == 0 || !find_names(reading, header->sh_link))
        return LAM_OK;
    size_t count = data->d_size / entry;
    int rc = LAM_OK;
    for (size_t i = 1; i < count && i < INT32_MAX && rc == LAM_OK; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol))
            rc = add_symbol(reading, &symbol);
    }
    return rc;
}

static int add_sections(struct reading *reading, unsigned type)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    int rc = LAM_OK;
    while (rc == LAM_OK && (section = elf_nextscn(reading->file->elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            rc = add_section(reading, section, &header);
    return rc;
}

bool elf_symbols_complete(struct elf_file *file)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(file->elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            return true;
    return false;
}

int elf_symbols_add(struct symbol_table *table, struct elf_file *file, uint64_t shift)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return LAM_OK; /* in an object file symbols are offsets into sections */
    struct reading reading = {
        .table = table, .file = file, .shift = shift, .is_complete = elf_symbols_complete(file)};
    int rc = add_sections(&reading, SHT_SYMTAB);
    return rc < 0 ? rc : add_sections(&reading, SHT_DYNSYM);
}
