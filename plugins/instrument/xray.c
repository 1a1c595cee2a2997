/* xray.c: the XRay runtime is a static part of the program and hides its functions, so that a library finds them in the program's
 * symbol table only. (A stripped program has none: then nothing is recorded.) */
#include "xray.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* xray/xray_interface.h */
enum { XRAY_ENTRY = 0, XRAY_EXIT = 1, XRAY_TAIL = 2, XRAY_ARGS_ENTRY = 3 };

static struct runtime {
    int (*set_handler)(void (*handler)(int32_t function, int type));
    int (*patch)(void);
    uintptr_t (*function_address)(int32_t function);
} runtime;

static void (*report)(uintptr_t function, bool is_exit);

static void on_xray(int32_t function, int type)
{
    uintptr_t address = runtime.function_address(function);
    if (address)
        report(address, type == XRAY_EXIT || type == XRAY_TAIL);
}

/* ---- the program's own file ---- */

struct image {
    const char *bytes;
    size_t size;
};

/* NULL when it is not all there. */
static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static const char *text_at(const struct image *image, const ElfW(Shdr) * strings, uint64_t offset)
{
    const char *text =
        offset < strings->sh_size ? at(image, strings->sh_offset, strings->sh_size) : NULL;
    return text && memchr(text + offset, 0, strings->sh_size - offset) ? text + offset : "";
}

static void take(uintptr_t base, const char *name, const ElfW(Sym) * symbol)
{
    uintptr_t place = base + symbol->st_value;
    if (!symbol->st_shndx)
        return;
    if (strcmp(name, "__xray_set_handler") == 0)
        memcpy(&runtime.set_handler, &place, sizeof place);
    else if (strcmp(name, "__xray_patch") == 0)
        memcpy(&runtime.patch, &place, sizeof place);
    else if (strcmp(name, "__xray_function_address") == 0)
        memcpy(&runtime.function_address, &place, sizeof place);
}

static void find_runtime(const struct image *image, uintptr_t base)
{
    const ElfW(Ehdr) *header = at(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const ElfW(Shdr) *sections =
        at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    if (!sections || header->e_shstrndx >= header->e_shnum)
        return;
    const ElfW(Shdr) *names = &sections[header->e_shstrndx], *symbols = NULL;
    bool is_instrumented = false;
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
            symbols = &sections[i];
        is_instrumented |= strcmp(text_at(image, names, sections[i].sh_name), "xray_instr_map") == 0;
    }
    const ElfW(Sym) *table =
        is_instrumented && symbols ? at(image, symbols->sh_offset, symbols->sh_size) : NULL;
    for (size_t i = 0; table && i < symbols->sh_size / sizeof *table; i++)
        take(base, text_at(image, &sections[symbols->sh_link], table[i].st_name), &table[i]);
}

/* How far the program lies from the addresses in its file. */
static uintptr_t program_base(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR); // NOLINT(performance-no-int-to-ptr)
    unsigned long count = getauxval(AT_PHNUM);
    for (unsigned long i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            return (uintptr_t)headers - headers[i].p_vaddr;
    return 0;
}

void xray_begin(void (*on_call)(uintptr_t function, bool is_exit))
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        struct image image = {.size = (size_t)st.st_size};
        void *map = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            image.bytes = map;
            find_runtime(&image, program_base());
            munmap(map, image.size);
        }
    }
    close(fd);
    report = on_call;
    if (runtime.set_handler && runtime.patch && runtime.function_address) {
        runtime.set_handler(on_xray);
        runtime.patch();
    }
}
