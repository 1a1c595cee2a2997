/* DWARF expressions, as .eh_frame uses them: PLT stubs, signal frames, functions that realign their stack. */
#ifndef LAM_UNWIND_EXPRESSION_H
#define LAM_UNWIND_EXPRESSION_H

#include "unwind/cfi.h"
#include "unwind/stack_memory.h"

enum { EXPRESSION_DEPTH = 32, EXPRESSION_STEPS = 1000 };

struct expression {
    const struct unwind_arch *arch;
    const struct unwind_regs *regs;
    const struct unwind_memory *memory;
    const uint8_t *code;
    uint32_t size;
    const uint64_t *initial; /* pushed first (the CFA, for a register's rule); NULL nothing */
    uint64_t stack[EXPRESSION_DEPTH];
};

/* Runs the expression; *out is the top of its stack. 0, -UNWIND_BAD_CFI, -UNWIND_UNREADABLE or -UNWIND_LOST_REGISTER.
 * Async-signal-safe, at most EXPRESSION_STEPS operations. */
int expression_run(struct expression *expression, uint64_t *out);

/* What an expression computes when that is simple for a fixed pc. */
struct expression_form {
    uint8_t reg;
    int32_t offset;
    bool deref; /* the value is the word at reg + offset, not the sum */
};

/* 0 when the expression is register + constant or one word read there, with the program counter taken as the constant
 * pc (NULL: it must not occur); -1 otherwise. */
int expression_form(const struct unwind_arch *arch, const uint8_t *code, uint32_t size,
                    const uint64_t *pc, struct expression_form *out);

#endif
