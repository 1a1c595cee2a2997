#include "unwind/unwind.h"

/* Where the kernel's signal frame keeps the registers, relative to the stack pointer with which the handler returns. */
static int restore_x86_64(struct unwind_space *space)
{
    /* struct sigcontext, 40 bytes into the ucontext: DWARF numbers in its order, then rip. */
    static const uint8_t order[16] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
    struct unwind_scratch *scratch = space->scratch;
    uint64_t base = scratch->regs.r[7] + 40;
    for (unsigned i = 0; i < 16; i++)
        if (unwind_read(&space->memory, base + 8 * i, &scratch->next.r[order[i]]) < 0)
            return -1;
    scratch->next.valid = 0xffff;
    return unwind_read(&space->memory, base + 8 * 16, &scratch->next.pc);
}

static int restore_aarch64(struct unwind_space *space)
{
    /* siginfo is 128 bytes, the ucontext before its sigcontext 176, then the fault address; x0-x30, sp, pc. */
    struct unwind_scratch *scratch = space->scratch;
    uint64_t base = scratch->regs.r[31] + 128 + 176 + 8;
    for (unsigned i = 0; i < 32; i++)
        if (unwind_read(&space->memory, base + 8 * i, &scratch->next.r[i]) < 0)
            return -1;
    scratch->next.valid = UINT32_MAX;
    return unwind_read(&space->memory, base + 8 * 32, &scratch->next.pc);
}

int unwind_signal_frame(struct unwind_space *space)
{
    struct unwind_scratch *scratch = space->scratch;
    uint64_t code, more, pc = scratch->regs.pc;
    int rc = -1;
    if (!unwind_reg_known(&scratch->regs, space->arch->sp) || pc == 0 ||
        unwind_read(&space->memory, pc, &code) < 0)
        return -1;
    if (space->arch->id == UNWIND_X86_64) {
        /* mov $15, %rax; syscall */
        if (code == 0x0f0000000fc0c748u && unwind_read(&space->memory, pc + 1, &more) == 0 &&
            more >> 56 == 0x05)
            rc = restore_x86_64(space);
    } else if (code == 0xd4000001d2801168u) { /* mov x8, #139; svc #0 */
        rc = restore_aarch64(space);
    }
    if (rc == 0)
        scratch->regs = scratch->next;
    return rc;
}
