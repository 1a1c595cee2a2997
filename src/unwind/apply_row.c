#include "unwind/unwind.h"

static int evaluate(struct unwind_space *space, const struct cfi_rule *rule,
                    const uint64_t *initial, uint64_t *out)
{
    struct unwind_scratch *scratch = space->scratch;
    struct expression *expression = &scratch->expression;
    expression->arch = space->arch;
    expression->regs = &scratch->regs;
    expression->memory = &space->memory;
    expression->code = scratch->module.bytes + (uint32_t)rule->offset;
    expression->size = rule->size;
    expression->initial = initial;
    return expression_run(expression, out);
}

static int find_cfa(struct unwind_space *space, uint64_t *out)
{
    const struct cfi_rule *cfa = &space->scratch->program.row.cfa;
    const struct unwind_regs *regs = &space->scratch->regs;
    if (cfa->how == CFI_EXPRESSION)
        return evaluate(space, cfa, NULL, out);
    if (!unwind_reg_known(regs, cfa->reg))
        return -UNWIND_LOST_REGISTER;
    *out = regs->r[cfa->reg] + (uint64_t)(int64_t)cfa->offset;
    return 0;
}

static int read_at(const struct unwind_space *space, uint64_t addr, uint64_t *out)
{
    return unwind_read(&space->memory, addr, out) < 0 ? -UNWIND_UNREADABLE : 0;
}

/* The caller's value of one column. Not for unspecified ones. */
static int restore_column(struct unwind_space *space, const struct cfi_rule *rule, unsigned column,
                          uint64_t cfa, uint64_t *out)
{
    const struct unwind_regs *regs = &space->scratch->regs;
    uint64_t addr;
    int rc;
    unsigned reg = column;
    switch ((enum cfi_how)rule->how) {
    case CFI_OFFSET:
        return read_at(space, cfa + (uint64_t)(int64_t)rule->offset, out);
    case CFI_VAL_OFFSET:
        *out = cfa + (uint64_t)(int64_t)rule->offset;
        return 0;
    case CFI_REGISTER:
        reg = rule->reg;
        break;
    case CFI_EXPRESSION:
        rc = evaluate(space, rule, &cfa, &addr);
        return rc < 0 ? rc : read_at(space, addr, out);
    case CFI_VAL_EXPRESSION:
        return evaluate(space, rule, &cfa, out);
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        break;
    case CFI_UNDEFINED:
        return -UNWIND_LOST_REGISTER;
    }
    if (!unwind_reg_known(regs, reg))
        return -UNWIND_LOST_REGISTER;
    *out = regs->r[reg];
    return 0;
}

int unwind_apply_row(struct unwind_space *space)
{
    struct unwind_scratch *scratch = space->scratch;
    const struct unwind_arch *arch = space->arch;
    const struct cfi_row *row = &scratch->program.row;
    const struct cfi_fde *fde = &scratch->fde;
    struct unwind_regs *next = &scratch->next;
    const struct cfi_rule *ra = &row->columns[fde->ra_column];
    uint64_t cfa = 0, value = 0, pc = 0;

    if (ra->how == CFI_UNDEFINED)
        return 1;
    int rc = find_cfa(space, &cfa);
    if (rc == 0)
        rc = restore_column(space, ra, fde->ra_column, cfa, &pc);
    if (rc < 0)
        return rc;
    *next = scratch->regs;
    /* What a call may change is not known in the caller; what a signal interrupted is, all of it. */
    if (!fde->signal)
        next->valid &= arch->preserved;
    for (unsigned i = 0; i < arch->reg_count; i++) {
        if (row->columns[i].how == CFI_UNSPECIFIED)
            continue;
        if (restore_column(space, &row->columns[i], i, cfa, &value) == 0)
            unwind_reg_set(next, i, value);
        else
            next->valid &= ~((uint64_t)1 << i);
    }
    if (row->columns[arch->sp].how == CFI_UNSPECIFIED)
        unwind_reg_set(next, arch->sp, cfa);
    /* The call that led here has overwritten the caller's link register. */
    if (!fde->signal && arch->link != UNWIND_NO_REG)
        next->valid &= ~((uint64_t)1 << arch->link);
    next->pc = pc & arch->code_mask;
    scratch->regs = *next;
    return 0;
}
