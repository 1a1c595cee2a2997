#include "unwind/expression.h"

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S,
    OP_CONST2U,
    OP_CONST2S,
    OP_CONST4U,
    OP_CONST4S,
    OP_CONST8U,
    OP_CONST8S,
    OP_CONSTU,
    OP_CONSTS,
    OP_DUP,
    OP_DROP,
    OP_OVER,
    OP_PICK,
    OP_SWAP,
    OP_ROT,
    OP_ABS = 0x19,
    OP_AND,
    OP_DIV,
    OP_MINUS,
    OP_MOD,
    OP_MUL,
    OP_NEG,
    OP_NOT,
    OP_OR,
    OP_PLUS,
    OP_PLUS_UCONST,
    OP_SHL,
    OP_SHR,
    OP_SHRA,
    OP_XOR,
    OP_BRA,
    OP_EQ,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_SKIP,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

/* OP_ADDR and the constants: 1 when op is one of them. */
static int take_constant(struct cfi_cursor *cur, uint8_t op, uint64_t *out)
{
    switch (op) {
    case OP_CONST1U:
    case OP_CONST2U:
    case OP_CONST4U:
    case OP_CONST8U:
        *out = cfi_uint(cur, 1u << (op - OP_CONST1U) / 2);
        return 1;
    case OP_CONST1S:
    case OP_CONST2S:
    case OP_CONST4S:
    case OP_CONST8S:
        *out = (uint64_t)cfi_sint(cur, 1u << (op - OP_CONST1S) / 2);
        return 1;
    case OP_ADDR:
        *out = cfi_uint(cur, 8);
        return 1;
    case OP_CONSTU:
        *out = cfi_uleb(cur);
        return 1;
    case OP_CONSTS:
        *out = (uint64_t)cfi_sleb(cur);
        return 1;
    default:
        *out = (uint64_t)(op - OP_LIT0);
        return op >= OP_LIT0 && op <= OP_LIT31;
    }
}

/* a is below b on the stack. Division by zero is damage. */
static int binary(uint8_t op, uint64_t a, uint64_t b, uint64_t *out)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case OP_AND:
        *out = a & b;
        break;
    case OP_DIV:
        if (sb == 0 || (sb == -1 && sa == INT64_MIN))
            return -UNWIND_BAD_CFI;
        *out = (uint64_t)(sa / sb);
        break;
    case OP_MINUS:
        *out = a - b;
        break;
    case OP_MOD:
        if (b == 0)
            return -UNWIND_BAD_CFI;
        *out = a % b;
        break;
    case OP_MUL:
        *out = a * b;
        break;
    case OP_OR:
        *out = a | b;
        break;
    case OP_PLUS:
        *out = a + b;
        break;
    case OP_SHL:
        *out = b < 64 ? a << b : 0;
        break;
    case OP_SHR:
        *out = b < 64 ? a >> b : 0;
        break;
    case OP_SHRA:
        *out = (uint64_t)(sa >> (b < 64 ? b : 63));
        break;
    case OP_XOR:
        *out = a ^ b;
        break;
    case OP_EQ:
        *out = a == b;
        break;
    case OP_GE:
        *out = sa >= sb;
        break;
    case OP_GT:
        *out = sa > sb;
        break;
    case OP_LE:
        *out = sa <= sb;
        break;
    case OP_LT:
        *out = sa < sb;
        break;
    case OP_NE:
        *out = a != b;
        break;
    default:
        return -UNWIND_BAD_CFI;
    }
    return 0;
}

static int is_binary(uint8_t op)
{
    return op == OP_AND || (op >= OP_DIV && op <= OP_MUL) || op == OP_OR || op == OP_PLUS ||
           (op >= OP_SHL && op <= OP_XOR) || (op >= OP_EQ && op <= OP_NE);
}

struct machine {
    struct expression *expression;
    struct cfi_cursor code;
    uint32_t depth;
};

static int push(struct machine *machine, uint64_t value)
{
    if (machine->depth == EXPRESSION_DEPTH)
        return -UNWIND_BAD_CFI;
    machine->expression->stack[machine->depth++] = value;
    return 0;
}

static int push_register(struct machine *machine, uint64_t reg, int64_t offset)
{
    const struct expression *expression = machine->expression;
    const struct unwind_regs *regs = expression->regs;
    if (reg == expression->arch->pc_column)
        return push(machine, regs->pc + (uint64_t)offset);
    if (reg >= UNWIND_REGS)
        return -UNWIND_BAD_CFI;
    if (!unwind_reg_known(regs, (unsigned)reg))
        return -UNWIND_LOST_REGISTER;
    return push(machine, regs->r[reg] + (uint64_t)offset);
}

/* Fewer than 8 bytes, without touching what lies behind them: they may be the last of a page. */
static int read_small(const struct unwind_memory *memory, uint64_t addr, unsigned size, uint64_t *out)
{
    uint64_t word, value = 0;
    for (unsigned i = 0; i < size; i++) {
        if (unwind_read(memory, (addr + i) & ~(uint64_t)7, &word) < 0)
            return -UNWIND_UNREADABLE;
        value |= (word >> 8 * ((addr + i) & 7) & 0xff) << 8 * i;
    }
    *out = value;
    return 0;
}

static int run_deref(struct machine *machine, uint8_t op)
{
    uint64_t *top = &machine->expression->stack[machine->depth - 1];
    unsigned size = op == OP_DEREF ? 8 : cfi_u8(&machine->code);
    if (size == 0 || size > 8)
        return -UNWIND_BAD_CFI;
    if (size < 8)
        return read_small(machine->expression->memory, *top, size, top);
    return unwind_read(machine->expression->memory, *top, top) < 0 ? -UNWIND_UNREADABLE : 0;
}

/* Operations that only move what is on the stack; each needs `needs` entries, checked by the caller. */
static int run_shuffle(struct machine *machine, uint8_t op)
{
    uint64_t *end = machine->expression->stack + machine->depth;
    uint64_t top = end[-1];
    uint8_t index;
    switch (op) {
    case OP_DUP:
        return push(machine, top);
    case OP_DROP:
        machine->depth--;
        return 0;
    case OP_OVER:
        return push(machine, end[-2]);
    case OP_PICK:
        index = cfi_u8(&machine->code);
        return index < machine->depth ? push(machine, end[-1 - index]) : -UNWIND_BAD_CFI;
    case OP_SWAP:
        end[-1] = end[-2];
        end[-2] = top;
        return 0;
    default: /* OP_ROT: the top goes below the two under it */
        end[-1] = end[-2];
        end[-2] = end[-3];
        end[-3] = top;
        return 0;
    }
}

static int run_unary(struct machine *machine, uint8_t op)
{
    uint64_t *top = &machine->expression->stack[machine->depth - 1];
    switch (op) {
    case OP_ABS:
        *top = (int64_t)*top < 0 ? -*top : *top;
        return 0;
    case OP_NEG:
        *top = -*top;
        return 0;
    case OP_NOT:
        *top = ~*top;
        return 0;
    case OP_PLUS_UCONST:
        *top += cfi_uleb(&machine->code);
        return 0;
    default:
        return run_deref(machine, op);
    }
}

static int jump(struct machine *machine, bool taken)
{
    const struct expression *expression = machine->expression;
    int64_t delta = cfi_sint(&machine->code, 2);
    if (!taken)
        return 0;
    int64_t at = machine->code.at - expression->code + delta;
    if (machine->code.overrun || at < 0 || at > expression->size)
        return -UNWIND_BAD_CFI;
    machine->code.at = expression->code + at;
    return 0;
}

static uint32_t entries_needed(uint8_t op)
{
    if (is_binary(op) || op == OP_OVER || op == OP_SWAP)
        return 2;
    switch (op) {
    case OP_ROT:
        return 3;
    case OP_DEREF:
    case OP_DEREF_SIZE:
    case OP_DUP:
    case OP_DROP:
    case OP_PICK:
    case OP_ABS:
    case OP_NEG:
    case OP_NOT:
    case OP_PLUS_UCONST:
    case OP_BRA:
        return 1;
    default:
        return 0;
    }
}

static int step(struct machine *machine, uint8_t op)
{
    uint64_t *stack = machine->expression->stack, value;
    if (machine->depth < entries_needed(op))
        return -UNWIND_BAD_CFI;
    if (take_constant(&machine->code, op, &value))
        return push(machine, value);
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(machine, (uint64_t)(op - OP_BREG0), cfi_sleb(&machine->code));
    if (is_binary(op)) {
        machine->depth--;
        return binary(op, stack[machine->depth - 1], stack[machine->depth],
                      &stack[machine->depth - 1]);
    }
    if (op >= OP_DUP && op <= OP_ROT)
        return run_shuffle(machine, op);
    switch (op) {
    case OP_DEREF:
    case OP_DEREF_SIZE:
    case OP_ABS:
    case OP_NEG:
    case OP_NOT:
    case OP_PLUS_UCONST:
        return run_unary(machine, op);
    case OP_BREGX:
        value = cfi_uleb(&machine->code);
        return push_register(machine, value, cfi_sleb(&machine->code));
    case OP_SKIP:
        return jump(machine, true);
    case OP_BRA:
        machine->depth--;
        return jump(machine, stack[machine->depth] != 0);
    case OP_NOP:
        return 0;
    default:
        return -UNWIND_BAD_CFI;
    }
}

int expression_run(struct expression *expression, uint64_t *out)
{
    struct machine machine = {
        .expression = expression,
        .code = {expression->code, expression->code + expression->size, false},
    };
    if (expression->initial)
        expression->stack[machine.depth++] = *expression->initial;
    for (int steps = 0; machine.code.at < machine.code.end; steps++) {
        if (steps == EXPRESSION_STEPS)
            return -UNWIND_BAD_CFI;
        int rc = step(&machine, cfi_u8(&machine.code));
        if (rc < 0)
            return rc;
        if (machine.code.overrun)
            return -UNWIND_BAD_CFI;
    }
    if (machine.depth == 0)
        return -UNWIND_BAD_CFI;
    *out = expression->stack[machine.depth - 1];
    return 0;
}

/* A value that is a constant or a register plus one. */
struct term {
    uint64_t value;
    uint8_t reg; /* UNWIND_NO_REG: constant */
};

enum { TERM_DEPTH = 4 }; /* a PLT's expression needs 3 */

struct terms {
    struct cfi_cursor code;
    const struct unwind_arch *arch;
    const uint64_t *pc;
    unsigned depth;
    struct term stack[TERM_DEPTH];
};

static int term_push(struct terms *terms, uint8_t reg, uint64_t value)
{
    if (terms->depth == TERM_DEPTH)
        return -1;
    terms->stack[terms->depth++] = (struct term){value, reg};
    return 0;
}

static int term_binary(struct terms *terms, uint8_t op)
{
    if (terms->depth < 2)
        return -1;
    struct term *a = &terms->stack[terms->depth - 2], *b = a + 1;
    terms->depth--;
    if (b->reg != UNWIND_NO_REG && (op != OP_PLUS || a->reg != UNWIND_NO_REG))
        return -1;
    if (a->reg != UNWIND_NO_REG && op != OP_PLUS && op != OP_MINUS)
        return -1;
    if (b->reg != UNWIND_NO_REG)
        a->reg = b->reg;
    return binary(op, a->value, b->value, &a->value) < 0 ? -1 : 0;
}

static int term_step(struct terms *terms, uint8_t op)
{
    uint64_t value;
    if (take_constant(&terms->code, op, &value))
        return term_push(terms, UNWIND_NO_REG, value);
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        uint8_t reg = (uint8_t)(op - OP_BREG0);
        value = (uint64_t)cfi_sleb(&terms->code);
        if (reg != terms->arch->pc_column)
            return term_push(terms, reg, value);
        return terms->pc ? term_push(terms, UNWIND_NO_REG, *terms->pc + value) : -1;
    }
    if (op == OP_PLUS_UCONST && terms->depth > 0) {
        terms->stack[terms->depth - 1].value += cfi_uleb(&terms->code);
        return 0;
    }
    return is_binary(op) ? term_binary(terms, op) : -1;
}

int expression_form(const struct unwind_arch *arch, const uint8_t *code, uint32_t size,
                    const uint64_t *pc, struct expression_form *out)
{
    struct terms terms = {.code = {code, code + size, false}, .arch = arch, .pc = pc};
    bool deref = false;
    while (terms.code.at < terms.code.end) {
        uint8_t op = cfi_u8(&terms.code);
        if (op == OP_DEREF && terms.code.at == terms.code.end)
            deref = true;
        else if (term_step(&terms, op) < 0 || terms.code.overrun)
            return -1;
    }
    if (terms.depth != 1)
        return -1;
    struct term result = terms.stack[0];
    if (result.reg >= UNWIND_REGS || (int64_t)result.value != (int32_t)result.value)
        return -1;
    *out = (struct expression_form){result.reg, (int32_t)result.value, deref};
    return 0;
}
