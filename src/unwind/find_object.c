#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/find_object.h"

#include "unwind/stack_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

/* The kernel says where the program headers of the executable are; they say how far it was moved, if it can be moved. */
static void find_program(struct unwind_module *out)
{
    const Elf64_Phdr *phdrs = (const Elf64_Phdr *)getauxval(AT_PHDR);
    unsigned count = (unsigned)getauxval(AT_PHNUM);
    uint64_t bias = 0;
    for (unsigned i = 0; phdrs && i < count; i++)
        if (phdrs[i].p_type == PT_PHDR)
            bias = (uint64_t)(uintptr_t)phdrs - phdrs[i].p_vaddr;
    if (!phdrs || unwind_module_from_phdrs(bias, phdrs, count, out) < 0)
        *out = (struct unwind_module){0};
}

void unwind_finder_init(struct unwind_finder *finder, struct unwind_snapshot *snapshot)
{
    memset(finder, 0, sizeof *finder);
    finder->snapshot = snapshot;
    find_program(&finder->program);
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    finder->dl_find_object = _dl_find_object;
#else
    finder->dl_find_object = NULL;
#endif
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Headers away from where libc says that a module is: program headers at the end of a file, mapped with its last segment,
 * or an ELF header before a hole in the address range. Looked at once, remembered by their place and size. */
static int far_headers_readable(struct unwind_finder *finder, uint64_t first, uint64_t bytes)
{
    uint64_t key = first ^ bytes << 48;
    _Atomic uint64_t *slot = &finder->vetted[(first >> UNWIND_PAGE_BITS) % 8];
    /* relaxed: the word says all there is to say. */
    if (atomic_load_explicit(slot, memory_order_relaxed) == key)
        return 1;
    if (!unwind_readable(first) || !unwind_readable(first + bytes - 8))
        return 0;
    atomic_store_explicit(slot, key, memory_order_relaxed);
    return 1;
}

/* The program headers of a mapped file, mostly in its first page behind the ELF header. A post-link optimizer (BOLT has
 * been over rustc's libraries) moves them to the end of the file, into a segment where address and offset agree; then
 * they say so themselves. */
static const Elf64_Phdr *program_headers(struct unwind_finder *finder, const Elf64_Ehdr *ehdr,
                                         uint64_t size, unsigned *count)
{
    if (size < 4096 || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
        ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_phentsize != sizeof(Elf64_Phdr) ||
        ehdr->e_phoff % 8 != 0 || ehdr->e_phnum == 0)
        return NULL;
    uint64_t bytes = (uint64_t)ehdr->e_phnum * sizeof(Elf64_Phdr);
    const Elf64_Phdr *phdrs = (const Elf64_Phdr *)((const char *)ehdr + ehdr->e_phoff);
    *count = ehdr->e_phnum;
    if (bytes <= 4096 && ehdr->e_phoff <= 4096 - bytes)
        return phdrs;
    if (ehdr->e_phoff > size || bytes > size - ehdr->e_phoff ||
        !far_headers_readable(finder, (uint64_t)(uintptr_t)phdrs, bytes))
        return NULL;
    for (unsigned i = 0; i < ehdr->e_phnum; i++)
        if (phdrs[i].p_type == PT_PHDR && phdrs[i].p_offset == ehdr->e_phoff &&
            phdrs[i].p_vaddr == phdrs[i].p_offset)
            return phdrs;
    return NULL;
}

/* They are read anew each time (about ten cache lines, only when the rule cache missed): whatever is kept about a module
 * can be wrong after a dlclose() that nobody told us of. */
static int from_elf_header(struct unwind_finder *finder, const void *start,
                           const struct dl_find_object *object, struct unwind_module *out)
{
    const Elf64_Ehdr *ehdr = start;
    unsigned count = 0;
    uint64_t size = (uint64_t)((const char *)object->dlfo_map_end - (const char *)start);
    const Elf64_Phdr *phdrs = program_headers(finder, ehdr, size, &count);
    if (!phdrs)
        return -1;
    /* The bias follows from the segment with the header in it; the loader's own is in a struct that we need not trust. */
    for (unsigned i = 0; i < count; i++) {
        if (phdrs[i].p_type != PT_LOAD || phdrs[i].p_offset != 0)
            continue;
        uint64_t bias = (uint64_t)(uintptr_t)ehdr - phdrs[i].p_vaddr;
        if (unwind_module_from_phdrs(bias, phdrs, count, out) < 0)
            return -1;
        return out->hdr_addr == (uint64_t)(uintptr_t)object->dlfo_eh_frame ? 0 : -1;
    }
    return -1;
}

static int from_libc(struct unwind_finder *finder, uint64_t pc, struct unwind_module *out)
{
    struct dl_find_object object;
    if (finder->dl_find_object((void *)(uintptr_t)pc, &object) != 0)
        return -1;
    if (object.dlfo_eh_frame &&
        (uint64_t)(uintptr_t)object.dlfo_eh_frame == finder->program.hdr_addr) {
        *out = finder->program;
        return 0;
    }
    if (from_elf_header(finder, object.dlfo_map_start, &object, out) == 0)
        return 0;
    /* Of a module with holes in its address range libc gives the segment alone. Its header is mostly at the address that
     * the file calls 0. */
    const void *base = (const void *)object.dlfo_link_map->l_addr;
    if (base < object.dlfo_map_start &&
        far_headers_readable(finder, (uint64_t)(uintptr_t)base, sizeof(Elf64_Ehdr)) &&
        from_elf_header(finder, base, &object, out) == 0)
        return 0;
    if (finder->snapshot && unwind_snapshot_find(finder->snapshot, pc, out) == 0)
        return 0;
    /* A module without tables: its addresses are known all the same. */
    *out = (struct unwind_module){
        .start = (uint64_t)(uintptr_t)object.dlfo_map_start,
        .end = (uint64_t)(uintptr_t)object.dlfo_map_end,
    };
    return 0;
}
#endif

int unwind_finder_find(void *ctx, uint64_t pc, struct unwind_module *out)
{
    struct unwind_finder *finder = ctx;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    if (finder->dl_find_object)
        return from_libc(finder, pc, out);
#endif
    return finder->snapshot ? unwind_snapshot_find(finder->snapshot, pc, out) : -1;
}
