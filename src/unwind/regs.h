/* Registers of one frame, and what differs between architectures.
 *
 * An architecture is a parameter and not an #ifdef: a dump of another machine's stack can be unwound here, and both
 * architectures are tested on either host. Only unwind_regs_from_ucontext() knows the host. */
#ifndef LAM_UNWIND_REGS_H
#define LAM_UNWIND_REGS_H

#include <stdint.h>

enum unwind_arch_id { UNWIND_X86_64 = 1, UNWIND_AARCH64 = 2 };

enum {
    UNWIND_REGS =
        32, /* general registers, by their DWARF number; x86-64 has 16, aarch64 x0-x30 and sp */
    UNWIND_COLUMNS =
        33, /* columns that a row of the unwind table keeps: the registers and x86-64's return address */
};

struct unwind_arch {
    uint8_t id;        /* enum unwind_arch_id */
    uint8_t reg_count; /* registers in use: 16 or 32 */
    uint8_t sp, fp,
        bx; /* stack pointer, frame pointer, and the other register that compact rules follow */
    uint8_t link; /* the register that a call leaves the return address in; UNWIND_NO_REG where it is pushed */
    uint8_t pc_column; /* DWARF column that names the program counter in expressions */
    uint32_t preserved; /* registers that a called function gives back as it found them, a bit each */
    uint64_t code_mask; /* address bits of a return address; clears a pointer-authentication code */
};

enum { UNWIND_NO_REG = 0xff };

extern const struct unwind_arch unwind_x86_64;
extern const struct unwind_arch unwind_aarch64;

/* The architecture this code was compiled for; NULL for any other. */
const struct unwind_arch *unwind_host_arch(void);

struct unwind_regs {
    uint64_t pc;
    uint64_t valid; /* bit i: r[i] is known */
    uint64_t r[UNWIND_REGS];
};

static inline int unwind_reg_known(const struct unwind_regs *regs, unsigned reg)
{
    return reg < UNWIND_REGS && (regs->valid >> reg & 1);
}

static inline void unwind_reg_set(struct unwind_regs *regs, unsigned reg, uint64_t value)
{
    regs->r[reg] = value;
    regs->valid |= (uint64_t)1 << reg;
}

/* Takes all general registers from the third argument of a SA_SIGINFO handler, of the host's architecture.
 * Async-signal-safe. */
void unwind_regs_from_ucontext(struct unwind_regs *out, const void *ucontext);

#endif
