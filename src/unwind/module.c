#include "unwind/module.h"

#include <string.h>

static int holds(const Elf64_Phdr *segment, uint64_t vaddr, uint64_t size)
{
    return vaddr >= segment->p_vaddr && size <= segment->p_filesz &&
           vaddr - segment->p_vaddr <= segment->p_filesz - size;
}

int unwind_module_from_phdrs(uint64_t bias, const Elf64_Phdr *phdrs, unsigned count,
                             struct unwind_module *out)
{
    *out = (struct unwind_module){.start = UINT64_MAX};
    const Elf64_Phdr *hdr = 0, *window = 0;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *phdr = &phdrs[i];
        if (phdr->p_type == PT_GNU_EH_FRAME)
            hdr = phdr;
        if (phdr->p_type != PT_LOAD || phdr->p_memsz == 0)
            continue;
        if (bias + phdr->p_vaddr < out->start)
            out->start = bias + phdr->p_vaddr;
        if (bias + phdr->p_vaddr + phdr->p_memsz > out->end)
            out->end = bias + phdr->p_vaddr + phdr->p_memsz;
    }
    if (out->start >= out->end)
        return -1;
    /* The loaded part of the segment is mapped and readable for as long as the module is. */
    for (unsigned i = 0; hdr && i < count; i++)
        if (phdrs[i].p_type == PT_LOAD && (phdrs[i].p_flags & PF_R) &&
            holds(&phdrs[i], hdr->p_vaddr, 4))
            window = &phdrs[i];
    if (!window || window->p_filesz > UINT32_MAX)
        return -1;
    out->bytes_addr = bias + window->p_vaddr;
    out->bytes = (const uint8_t *)(uintptr_t)out->bytes_addr;
    out->bytes_size = window->p_filesz;
    out->hdr_addr = bias + hdr->p_vaddr;
    return 0;
}

int unwind_module_from_file(const uint8_t *file, uint64_t size, uint64_t bias,
                            struct unwind_module *out)
{
    Elf64_Ehdr ehdr;
    *out = (struct unwind_module){0};
    if (size < sizeof ehdr)
        return -1;
    memcpy(&ehdr, file, sizeof ehdr);
    if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
        ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
        ehdr.e_phoff % 8 != 0 || ehdr.e_phoff > size ||
        (size - ehdr.e_phoff) / sizeof(Elf64_Phdr) < ehdr.e_phnum)
        return -1;
    const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(const void *)(file + ehdr.e_phoff);
    if (unwind_module_from_phdrs(bias, phdrs, ehdr.e_phnum, out) < 0)
        return -1;
    for (unsigned i = 0; i < ehdr.e_phnum; i++) {
        if (phdrs[i].p_type != PT_LOAD || bias + phdrs[i].p_vaddr != out->bytes_addr ||
            phdrs[i].p_filesz != out->bytes_size)
            continue;
        if (phdrs[i].p_offset > size || size - phdrs[i].p_offset < phdrs[i].p_filesz)
            break;
        out->bytes = file + phdrs[i].p_offset;
        return 0;
    }
    out->hdr_addr = 0;
    out->bytes = NULL;
    return -1;
}
