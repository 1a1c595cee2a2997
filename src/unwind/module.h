/* A loaded ELF file as the unwinder sees it: where it lies and where its unwind tables can be read. */
#ifndef LAM_UNWIND_MODULE_H
#define LAM_UNWIND_MODULE_H

#include <elf.h>
#include <stdint.h>

/* Addresses are those of the unwound process. The tables are read through `bytes`, a window that in process is the
 * module's own memory (bytes is bytes_addr as a pointer) and offline a mapped file. Everything in .eh_frame_hdr and
 * .eh_frame must lie in the window; what points out of it is damaged. */
struct unwind_module {
    uint64_t start, end; /* code addresses [start, end) belong to it */
    const uint8_t *bytes;
    uint64_t bytes_addr;
    uint64_t bytes_size;    /* at most 4 GiB - 1 */
    uint64_t hdr_addr;      /* .eh_frame_hdr; 0 none */
    uint64_t eh_frame_addr; /* .eh_frame; 0: as .eh_frame_hdr says */
    uint64_t eh_frame_size; /* 0: to the end of the window, or its terminator */
    uint64_t cookie;        /* the finder's own */
};

/* Finds the module around pc: 0 and *out, or -1. In a signal handler: async-signal-safe. */
typedef int unwind_find_module(void *ctx, uint64_t pc, struct unwind_module *out);

/* From the program headers of a module loaded in this process at bias (address minus the file's). Fills all but
 * cookie. 0, or -1 when nothing is mapped or the unwind table is not inside one readable segment: then start and end
 * are right and hdr_addr is 0. Async-signal-safe. */
int unwind_module_from_phdrs(uint64_t bias, const Elf64_Phdr *phdrs, unsigned count,
                             struct unwind_module *out);

/* From an ELF file's bytes, mapped whole, for a stack of another process in which it lay at bias. The same outcomes;
 * whatever the file says, nothing outside of its size bytes will be read. */
int unwind_module_from_file(const uint8_t *file, uint64_t size, uint64_t bias,
                            struct unwind_module *out);

#endif
