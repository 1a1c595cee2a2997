#include "unwind/rule.h"

#include "unwind/expression.h"

static unwind_rule placed(unsigned place, unsigned at)
{
    return (unwind_rule)place << at;
}

/* Where a register is saved relative to the CFA, if a place can say it. */
static int saved_place(int64_t offset, unsigned *out)
{
    if (offset >= 0 || offset % 8 != 0 || -offset / 8 > RULE_PLACE_MAX)
        return -1;
    *out = (unsigned)(-offset / 8);
    return 0;
}

/* Never fails: what a place cannot say is lost, and asking for a lost register starts the full unwinding. */
static unsigned register_place(const struct unwind_arch *arch, const struct cfi_fde *fde,
                               const struct cfi_rule *rule)
{
    struct expression_form form;
    unsigned place;
    switch ((enum cfi_how)rule->how) {
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        return RULE_PLACE_SAME;
    case CFI_OFFSET:
        return saved_place(rule->offset, &place) == 0 ? place : RULE_PLACE_LOST;
    case CFI_EXPRESSION:
        if (expression_form(arch, fde->module->bytes + (uint32_t)rule->offset, rule->size, NULL,
                            &form) == 0 &&
            form.reg == arch->fp && form.offset == 0 && !form.deref)
            return RULE_PLACE_AT_FP;
        return RULE_PLACE_LOST;
    default:
        return RULE_PLACE_LOST;
    }
}

static int cfa_bits(const struct unwind_arch *arch, const struct cfi_fde *fde,
                    const struct cfi_rule *cfa, const uint64_t *pc, unwind_rule *out)
{
    struct expression_form form = {cfa->reg, cfa->offset, false};
    if (cfa->how == CFI_EXPRESSION &&
        expression_form(arch, fde->module->bytes + (uint32_t)cfa->offset, cfa->size, pc, &form) < 0)
        return -1;
    int64_t scaled = form.offset / 8;
    int64_t limit = (int64_t)1 << (RULE_OFFSET_BITS - 1);
    if (form.offset % 8 != 0 || scaled < -limit || scaled >= limit || form.reg >= arch->reg_count)
        return -1;
    uint64_t mask = ((uint64_t)1 << RULE_OFFSET_BITS) - 1;
    *out = (unwind_rule)form.deref << RULE_DEREF_AT | (unwind_rule)form.reg << RULE_REG_AT |
           ((uint64_t)scaled & mask) << RULE_OFFSET_AT;
    return 0;
}

unwind_rule rule_from_row(const struct unwind_arch *arch, const struct cfi_fde *fde,
                          const struct cfi_row *row, const uint64_t *pc)
{
    const struct cfi_rule *ra = &row->columns[fde->ra_column];
    if (ra->how == CFI_UNDEFINED)
        return RULE_END;
    unwind_rule rule = RULE_FRAME, cfa;
    const struct cfi_rule *sp = &row->columns[arch->sp];
    if (fde->signal || (sp->how != CFI_UNSPECIFIED && sp->how != CFI_SAME))
        return RULE_SLOW;
    unsigned place = 0;
    if (ra->how == CFI_OFFSET) {
        if (saved_place(ra->offset, &place) < 0)
            return RULE_SLOW;
    } else if ((ra->how != CFI_UNSPECIFIED && ra->how != CFI_SAME) || fde->ra_column != arch->link) {
        return RULE_SLOW;
    }
    if (cfa_bits(arch, fde, &row->cfa, pc, &cfa) < 0)
        return RULE_SLOW;
    return rule | cfa | placed(place, RULE_RA_AT) |
           placed(register_place(arch, fde, &row->columns[arch->fp]), RULE_FP_AT) |
           placed(register_place(arch, fde, &row->columns[arch->bx]), RULE_BX_AT);
}
