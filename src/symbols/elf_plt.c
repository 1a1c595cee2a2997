#include "symbols/elf_symbols.h"

#include <string.h>

#include <gelf.h>

/* A stub jumps through a slot of the global offset table, which a relocation fills with a symbol's
 * address. So the slots are found by decoding the stubs, and named by the relocations. With
 * indirect branch tracking the stubs of .plt push the index of their relocation instead, and the
 * jumps stand in .plt.sec. */
enum { STUB_BYTES = 16, STUBS_MAX = 1 << 20 };

struct stub {
    uint64_t start;
    uint64_t end;
    uint64_t slot;  /* address of the slot; 0: none, then `index` counts */
    uint32_t index; /* in .rela.plt */
    const char *name;
};

struct stub_ref {
    struct stub *stub;
};

struct stub_list LAM_ARRAY_BODY(struct stub_ref);

struct plt {
    struct symbol_table *table;
    const struct symbol_table *functions;
    struct elf_file *file;
    LAM_ARRAY(struct stub) stubs;
    struct stub_list by_slot;  /* those with a slot, sorted by it */
    struct stub_list by_index; /* the others, sorted by index */
    size_t relocations;        /* in .rela.plt */
};

static uint64_t load_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load_i32(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return (uint64_t)(int64_t)value;
}

/* jmp *slot(%rip), before it endbr64 and a bnd prefix or not; or endbr64, push index. */
static void decode_x86_64(struct stub *stub, const uint8_t *code, size_t length)
{
    for (size_t at = 0; at + 6 <= length; at++) {
        if (code[at] == 0xff && code[at + 1] == 0x25) {
            stub->slot = stub->start + at + 6 + load_i32(code + at + 2);
            return;
        }
        if (code[at] == 0xff && code[at + 1] == 0x35)
            return; /* push *(%rip): the part that starts the dynamic linker */
        if (code[at] == 0x68) {
            stub->index = (uint32_t)load_u32(code + at + 1);
            return;
        }
    }
}

static bool is_plt_name(const char *name)
{
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int read_stubs(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    const uint8_t *code;
    size_t length;
    if (!elf_file_bytes(plt->file, section, &code, &length))
        return LAM_OK;
    /* .plt.got has stubs of 8 bytes with ld, of 16 with others; the linkers say so. */
    size_t size = header->sh_entsize == 8 && strcmp(name, ".plt.got") == 0 ? 8 : STUB_BYTES;
    size_t count = length / size;
    bool is_x86_64 = plt->file->machine == EM_X86_64;
    size_t first = !is_x86_64 && count > plt->relocations ? count - plt->relocations : 0;
    if (!is_x86_64 && strcmp(name, ".plt") != 0)
        return LAM_OK;
    for (size_t i = 0; i < count && plt->stubs.count < STUBS_MAX; i++) {
        struct stub stub = {.start = header->sh_addr + i * size, .index = UINT32_MAX};
        if (__builtin_add_overflow(stub.start, size, &stub.end))
            break;
        if (is_x86_64)
            decode_x86_64(&stub, code + i * size, size);
        else if (i >= first)
            stub.index = (uint32_t)(i - first);
        if (array_push(&plt->stubs, stub) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static uint64_t stub_key(const struct stub *stub)
{
    return stub->slot ? stub->slot : stub->index;
}

static int compare_stubs(const void *left, const void *right)
{
    uint64_t a = stub_key(((const struct stub_ref *)left)->stub),
             b = stub_key(((const struct stub_ref *)right)->stub);
    return a < b ? -1 : a > b;
}

static int index_stubs(struct plt *plt)
{
    for (size_t i = 0; i < plt->stubs.count; i++) {
        struct stub *stub = &plt->stubs.items[i];
        struct stub_list *list = stub->slot ? &plt->by_slot : &plt->by_index;
        if (array_push(list, ((struct stub_ref){stub})) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(&plt->by_slot, compare_stubs);
    array_sort(&plt->by_index, compare_stubs);
    return LAM_OK;
}

/* Names the stubs of that key which have no name yet. */
static void name_stubs(struct stub_list *list, uint64_t key, const char *name)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stub_key(list->items[middle].stub) < key)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->count && stub_key(list->items[low].stub) == key && !list->items[low].stub->name;
         low++)
        list->items[low].stub->name = name;
}

/* One relocation section with the symbols that it refers to. */
struct relocations {
    struct plt *plt;
    Elf_Data *data;
    Elf_Data *symbols;
    size_t names; /* section index of the symbols' names */
    bool is_plt;
    bool has_addend;
};

static const char *relocation_symbol(const struct relocations *from, const GElf_Rela *rela)
{
    GElf_Sym symbol;
    size_t index = GELF_R_SYM(rela->r_info);
    if (index == 0 || index >= INT32_MAX || !from->symbols ||
        !gelf_getsym(from->symbols, (int)index, &symbol)) {
        /* IRELATIVE: the addend is the function that chooses. */
        const struct symbol_range *range = NULL;
        if (index == 0 && from->has_addend)
            range = symbol_table_find(from->plt->functions, (uint64_t)rela->r_addend);
        return range ? from->plt->functions->symbols.items[range->symbol].name : NULL;
    }
    const char *name = elf_strptr(from->plt->file->elf, from->names, symbol.st_name);
    return name && *name ? name : NULL;
}

/* Relocations that can fill a stub's slot: by their numbers, for a table of millions of others is
 * passed over quickly. */
static bool fills_slot(uint16_t machine, uint64_t type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
    return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_IRELATIVE);
}

static void read_relocations(const struct relocations *from, size_t count)
{
    size_t index = 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Rela rela = {0};
        GElf_Rel rel;
        if (from->has_addend) {
            if (!gelf_getrela(from->data, (int)i, &rela))
                break;
        } else {
            if (!gelf_getrel(from->data, (int)i, &rel))
                break;
            rela = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
        }
        if (!fills_slot(from->plt->file->machine, GELF_R_TYPE(rela.r_info)))
            continue;
        const char *name = relocation_symbol(from, &rela);
        if (name)
            name_stubs(&from->plt->by_slot, rela.r_offset, name);
        if (name && from->is_plt)
            name_stubs(&from->plt->by_index, index, name);
        index++;
    }
}

/* All sections with a header and a name; stops at a negative code. */
static int each_section(struct plt *plt, int (*fn)(struct plt *plt, Elf_Scn *section,
                                                   const GElf_Shdr *header, const char *name))
{
    size_t names = 0;
    if (elf_getshdrstrndx(plt->file->elf, &names) < 0)
        return LAM_OK;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    int rc = LAM_OK;
    while (rc == LAM_OK && (section = elf_nextscn(plt->file->elf, section))) {
        const char *name = gelf_getshdr(section, &header)
                               ? elf_strptr(plt->file->elf, names, header.sh_name)
                               : NULL;
        if (name)
            rc = fn(plt, section, &header, name);
    }
    return rc;
}

static bool is_plt_relocation(const char *name)
{
    return strcmp(name, ".rela.plt") == 0 || strcmp(name, ".rel.plt") == 0;
}

static int count_relocations(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header,
                             const char *name)
{
    (void)section;
    if (is_plt_relocation(name) && header->sh_entsize > 0)
        plt->relocations = header->sh_size / header->sh_entsize;
    return LAM_OK;
}

static int visit_stubs(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    return is_plt_name(name) ? read_stubs(plt, section, header, name) : LAM_OK;
}

static int visit_relocations(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header,
                             const char *name)
{
    if ((header->sh_type != SHT_RELA && header->sh_type != SHT_REL) ||
        !(header->sh_flags & SHF_ALLOC))
        return LAM_OK;
    struct relocations from = {.plt = plt,
                               .data = elf_getdata(section, NULL),
                               .is_plt = is_plt_relocation(name),
                               .has_addend = header->sh_type == SHT_RELA};
    size_t entry =
        gelf_fsize(plt->file->elf, from.has_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
    if (!from.data || !from.data->d_buf || entry == 0)
        return LAM_OK;
    Elf_Scn *symbols = elf_getscn(plt->file->elf, header->sh_link);
    GElf_Shdr symbols_header;
    if (symbols && gelf_getshdr(symbols, &symbols_header)) {
        from.names = symbols_header.sh_link;
        if (symbols_header.sh_type == SHT_DYNSYM || symbols_header.sh_type == SHT_SYMTAB)
            from.symbols = elf_getdata(symbols, NULL);
    }
    read_relocations(&from, from.data->d_size / entry);
    return LAM_OK;
}

static int add_stubs(struct plt *plt)
{
    struct symbol_table *table = plt->table;
    array_each(&plt->stubs, stub)
    {
        const char *name = stub->name ? arena_printf(&table->text, "%s@plt", stub->name) : ".plt";
        if (!name)
            return LAM_E_NOMEM;
        int rc = symbol_table_add(
            table,
            (struct symbol){.start = stub->start, .end = stub->end, .name = name, .rank = 128});
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

int elf_plt_add(struct symbol_table *table, const struct symbol_table *functions,
                struct elf_file *file)
{
    struct plt plt = {.table = table, .functions = functions, .file = file};
    int rc = each_section(&plt, count_relocations);
    if (rc == LAM_OK)
        rc = each_section(&plt, visit_stubs);
    if (rc == LAM_OK && plt.stubs.count > 0) {
        rc = index_stubs(&plt);
        if (rc == LAM_OK)
            rc = each_section(&plt, visit_relocations);
        if (rc == LAM_OK)
            rc = add_stubs(&plt);
    }
    array_free(&plt.stubs);
    array_free(&plt.by_slot);
    array_free(&plt.by_index);
    return rc;
}
