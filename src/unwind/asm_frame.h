/* The code of an x86-64 function without unwind rules, read to tell where its return address is. */
#ifndef LAM_UNWIND_ASM_FRAME_H
#define LAM_UNWIND_ASM_FRAME_H

#include "unwind/unwind.h"

/* Where the return address lies, and below it the saved rbp. */
struct asm_frame {
    bool framed;       /* counted from rbp, which points into the frame; else from rsp */
    uint32_t distance; /* bytes up to the return address */
    uint32_t saved_fp; /* bytes from there down to the saved rbp; 0: rbp is not saved */
};

/* From the instructions that save registers and reserve the frame, decoded from entry up to pc or to the first that does
 * something else; from there on the stack pointer is taken as settled. 0, or -1 when the code cannot be read or entry is
 * behind pc. */
int asm_frame_from_entry(const struct unwind_space *space, uint64_t entry, uint64_t pc,
                         struct asm_frame *out);

/* From the instructions that lead from pc straight to a return, or those of a PLT stub. 0, or -1 when there is anything else between. */
int asm_frame_from_exit(const struct unwind_space *space, uint64_t pc, struct asm_frame *out);

/* The nearest place at or before pc that looks like the aligned beginning of a function that saves registers; 0 none. */
uint64_t asm_find_entry(const struct unwind_space *space, uint64_t pc);

/* Looks in the code from begin to end for a direct jump to a place that `wanted` accepts: a function that ends in a tail
 * call. Returns the place, or 0. */
uint64_t asm_find_jump(const struct unwind_space *space, uint64_t begin, uint64_t end,
                       bool (*wanted)(void *ctx, uint64_t target), void *ctx);

#endif
