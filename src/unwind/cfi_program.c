#include "unwind/cfi.h"

enum {
    /* The two top bits are the operation and the rest its operand. */
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* SPARC's window_save elsewhere */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* A program is bounded by its record; this bounds a damaged length. The longest met, in cc1, has 13,361. */
enum { MAX_INSTRUCTIONS = 1 << 18 };

/* A rule for a column that is not kept (vector and floating point registers, aarch64's signing state) is read over. */
static void set_rule(struct cfi_program *program, uint64_t column, struct cfi_rule rule)
{
    if (column < UNWIND_COLUMNS)
        program->row.columns[column] = rule;
}

static int set_offset(struct cfi_program *program, uint64_t column, int64_t offset, uint8_t how)
{
    if (offset != (int32_t)offset)
        return -UNWIND_BAD_CFI;
    set_rule(program, column, (struct cfi_rule){.how = how, .offset = (int32_t)offset});
    return 0;
}

static int64_t factored(const struct cfi_program *program, int64_t value)
{
    int64_t product;
    /* An overflow can only come from damage; the result is refused as out of range by set_offset(). */
    return __builtin_mul_overflow(value, program->fde->data_align, &product) ? INT64_MAX : product;
}

static int set_cfa(struct cfi_program *program, uint64_t reg, int64_t offset)
{
    if (reg >= UNWIND_REGS || offset != (int32_t)offset)
        return -UNWIND_BAD_CFI;
    program->row.cfa =
        (struct cfi_rule){.how = CFI_OFFSET, .reg = (uint8_t)reg, .offset = (int32_t)offset};
    return 0;
}

/* Reads an expression's length and skips its bytes. */
static int take_expression(struct cfi_program *program, uint8_t how, struct cfi_rule *out)
{
    uint64_t size = cfi_uleb(&program->code);
    if (size > UINT16_MAX || size > cfi_left(&program->code))
        return -UNWIND_BAD_CFI;
    /* The window is smaller than 4 GiB. */
    uint32_t offset = (uint32_t)(program->code.at - program->fde->module->bytes);
    *out = (struct cfi_rule){.how = how, .size = (uint16_t)size, .offset = (int32_t)offset};
    program->code.at += size;
    return 0;
}

static int set_expression(struct cfi_program *program, uint8_t how)
{
    uint64_t column = cfi_uleb(&program->code);
    struct cfi_rule rule;
    int rc = take_expression(program, how, &rule);
    if (rc == 0)
        set_rule(program, column, rule);
    return rc;
}

static void restore(struct cfi_program *program, uint64_t column)
{
    if (column < UNWIND_COLUMNS)
        program->row.columns[column] = program->initial.columns[column];
}

static int advance(struct cfi_program *program, uint64_t delta)
{
    program->next_begin = program->row_begin + delta * program->fde->code_align;
    return 1;
}

static int remember(struct cfi_program *program)
{
    if (program->depth == CFI_REMEMBER_MAX)
        return -UNWIND_BAD_CFI;
    program->remembered[program->depth++] = program->row;
    return 0;
}

static int restore_remembered(struct cfi_program *program)
{
    if (program->depth == 0)
        return -UNWIND_BAD_CFI;
    program->row = program->remembered[--program->depth];
    return 0;
}

/* Operations on the CFA alone. */
static int run_cfa(struct cfi_program *program, uint8_t op)
{
    struct cfi_cursor *code = &program->code;
    const struct cfi_rule *cfa = &program->row.cfa;
    uint64_t reg;
    switch (op) {
    case CFA_DEF_CFA:
        reg = cfi_uleb(code);
        return set_cfa(program, reg, (int64_t)cfi_uleb(code));
    case CFA_DEF_CFA_SF:
        reg = cfi_uleb(code);
        return set_cfa(program, reg, factored(program, cfi_sleb(code)));
    case CFA_DEF_CFA_REGISTER:
        /* After an expression there is no offset to keep. */
        return cfa->how == CFI_OFFSET ? set_cfa(program, cfi_uleb(code), cfa->offset)
                                      : -UNWIND_BAD_CFI;
    case CFA_DEF_CFA_OFFSET:
        return cfa->how == CFI_OFFSET ? set_cfa(program, cfa->reg, (int64_t)cfi_uleb(code))
                                      : -UNWIND_BAD_CFI;
    case CFA_DEF_CFA_OFFSET_SF:
        return cfa->how == CFI_OFFSET ? set_cfa(program, cfa->reg, factored(program, cfi_sleb(code)))
                                      : -UNWIND_BAD_CFI;
    default:
        return take_expression(program, CFI_EXPRESSION, &program->row.cfa);
    }
}

/* Operations on the rule of one register. */
static int run_register(struct cfi_program *program, uint8_t op)
{
    struct cfi_cursor *code = &program->code;
    uint64_t column = cfi_uleb(code), other;
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        return set_offset(program, column, factored(program, (int64_t)cfi_uleb(code)), CFI_OFFSET);
    case CFA_OFFSET_EXTENDED_SF:
        return set_offset(program, column, factored(program, cfi_sleb(code)), CFI_OFFSET);
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        return set_offset(program, column, -factored(program, (int64_t)cfi_uleb(code)), CFI_OFFSET);
    case CFA_VAL_OFFSET:
        return set_offset(program, column, factored(program, (int64_t)cfi_uleb(code)),
                          CFI_VAL_OFFSET);
    case CFA_VAL_OFFSET_SF:
        return set_offset(program, column, factored(program, cfi_sleb(code)), CFI_VAL_OFFSET);
    case CFA_RESTORE_EXTENDED:
        restore(program, column);
        return 0;
    case CFA_UNDEFINED:
        set_rule(program, column, (struct cfi_rule){.how = CFI_UNDEFINED});
        return 0;
    case CFA_SAME_VALUE:
        set_rule(program, column, (struct cfi_rule){.how = CFI_SAME});
        return 0;
    default: /* CFA_REGISTER */
        other = cfi_uleb(code);
        if (other >= UNWIND_REGS)
            return -UNWIND_BAD_CFI;
        set_rule(program, column, (struct cfi_rule){.how = CFI_REGISTER, .reg = (uint8_t)other});
        return 0;
    }
}

static int run_extended(struct cfi_program *program, uint8_t op)
{
    struct cfi_cursor *code = &program->code;
    switch (op) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: /* return addresses are stripped whether they are signed or not */
        return 0;
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        return 0;
    case CFA_SET_LOC:
        return cfi_pointer(program->fde->module, code, program->fde->encoding,
                           &program->next_begin) < 0
                   ? -UNWIND_BAD_CFI
                   : 1;
    case CFA_ADVANCE1:
        return advance(program, cfi_u8(code));
    case CFA_ADVANCE2:
        return advance(program, cfi_uint(code, 2));
    case CFA_ADVANCE4:
        return advance(program, cfi_uint(code, 4));
    case CFA_REMEMBER_STATE:
        return remember(program);
    case CFA_RESTORE_STATE:
        return restore_remembered(program);
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION:
        return run_cfa(program, op);
    case CFA_EXPRESSION:
        return set_expression(program, CFI_EXPRESSION);
    case CFA_VAL_EXPRESSION:
        return set_expression(program, CFI_VAL_EXPRESSION);
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_RESTORE_EXTENDED:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
    case CFA_REGISTER:
        return run_register(program, op);
    case CFA_GNU_ARGS_SIZE: /* for throwing an exception into the frame; a sampler has no use for it */
        (void)cfi_uleb(code);
        return 0;
    default:
        return -UNWIND_BAD_CFI;
    }
}

/* Runs to the next advance (1) or the end (0). */
static int run(struct cfi_program *program)
{
    struct cfi_cursor *code = &program->code;
    while (code->at < code->end) {
        if (program->instructions_left-- == 0)
            return -UNWIND_BAD_CFI;
        uint8_t byte = cfi_u8(code);
        unsigned operand = byte & 0x3f;
        int rc = 0;
        if ((byte & 0xc0) == CFA_ADVANCE)
            rc = advance(program, operand);
        else if ((byte & 0xc0) == CFA_OFFSET)
            rc = set_offset(program, operand, factored(program, (int64_t)cfi_uleb(code)), CFI_OFFSET);
        else if ((byte & 0xc0) == CFA_RESTORE)
            restore(program, operand);
        else
            rc = run_extended(program, byte);
        if (code->overrun)
            return -UNWIND_BAD_CFI;
        if (rc != 0)
            return rc;
    }
    return 0;
}

int cfi_program_start(struct cfi_program *program, const struct cfi_fde *fde)
{
    program->fde = fde;
    program->code = fde->cie_code;
    program->row_begin = program->row_end = program->next_begin = fde->pc_begin;
    program->instructions_left = MAX_INSTRUCTIONS;
    program->depth = 0;
    program->done = false;
    memset(&program->row, 0, sizeof program->row);
    memset(&program->initial, 0, sizeof program->initial);
    int rc = run(program);
    if (rc != 0) /* a common part does not advance */
        return -UNWIND_BAD_CFI;
    program->initial = program->row;
    program->code = fde->fde_code;
    return 0;
}

int cfi_program_row(struct cfi_program *program)
{
    /* An advance by zero, or backwards by CFA_SET_LOC, makes an empty row: go on to one that covers something. */
    do {
        if (program->done)
            return 0;
        program->row_begin = program->next_begin;
        int rc = run(program);
        if (rc < 0)
            return rc;
        program->done = rc == 0;
        program->row_end = program->done ? program->fde->pc_end : program->next_begin;
    } while (program->row_end <= program->row_begin);
    return 1;
}

int cfi_program_run(struct cfi_program *program, const struct cfi_fde *fde, uint64_t pc)
{
    int rc = cfi_program_start(program, fde);
    if (rc < 0)
        return rc;
    while ((rc = cfi_program_row(program)) > 0)
        if (pc < program->row_end)
            return program->row.cfa.how == CFI_UNSPECIFIED ? -UNWIND_BAD_CFI : 0;
    return rc < 0 ? rc : -UNWIND_NO_RULE;
}
