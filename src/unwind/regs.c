#include "unwind/regs.h"

#include <stddef.h>
#include <ucontext.h>

/* x86-64 psABI, figure 3.36: rax rdx rcx rbx rsi rdi rbp rsp r8-r15, return address. */
const struct unwind_arch unwind_x86_64 = {
    .id = UNWIND_X86_64,
    .reg_count = 16,
    .sp = 7,
    .fp = 6,
    .bx = 3,
    .link = UNWIND_NO_REG,
    .pc_column = 16,
    .preserved = 1u << 3 | 1u << 6 | 1u << 7 | 0xf000u,
    .code_mask = UINT64_MAX,
};

/* AAPCS64: x19-x28, x29 (frame pointer) and sp survive a call. A user-space address has at most 48 bits here (52-bit
 * addresses are only given to who asks for them, never to code); the bits above hold the authentication code. */
const struct unwind_arch unwind_aarch64 = {
    .id = UNWIND_AARCH64,
    .reg_count = 32,
    .sp = 31,
    .fp = 29,
    .bx = 19,
    .link = 30,
    .pc_column = 32,
    .preserved = 0x3ff80000u | 1u << 31,
    .code_mask = ((uint64_t)1 << 48) - 1,
};

#if defined(__x86_64__)

const struct unwind_arch *unwind_host_arch(void)
{
    return &unwind_x86_64;
}

void unwind_regs_from_ucontext(struct unwind_regs *out, const void *ucontext)
{
    /* In the order of the DWARF numbers. */
    static const uint8_t place[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *context = ucontext;
    for (unsigned i = 0; i < 16; i++)
        out->r[i] = (uint64_t)context->uc_mcontext.gregs[place[i]];
    out->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    out->valid = 0xffff;
}

#elif defined(__aarch64__)

const struct unwind_arch *unwind_host_arch(void)
{
    return &unwind_aarch64;
}

void unwind_regs_from_ucontext(struct unwind_regs *out, const void *ucontext)
{
    const ucontext_t *context = ucontext;
    for (unsigned i = 0; i < 31; i++)
        out->r[i] = context->uc_mcontext.regs[i];
    out->r[31] = context->uc_mcontext.sp;
    out->pc = context->uc_mcontext.pc;
    out->valid = UINT32_MAX;
}

#else

const struct unwind_arch *unwind_host_arch(void)
{
    return NULL;
}

void unwind_regs_from_ucontext(struct unwind_regs *out, const void *ucontext)
{
    (void)ucontext;
    out->pc = 0;
    out->valid = 0;
}

#endif
