/* Frames without a rule: hand-written assembly, PLT stubs that a linker left undescribed, code made at run time.
 *
 * A word on the stack is taken for the return address when it follows a call and its own code has a rule. That much is
 * true of stale words too, so the best evidence goes first: a direct call whose target is the very piece of code without
 * rules that we are in. */
#include "unwind/asm_frame.h"

enum {
    GUESS_WORDS = 64, /* from the stack pointer up: locals and saved registers of an assembly routine */
    GUESS_FRAME_WORDS = 16, /* from the frame pointer up: registers pushed before it was set */
    GUESS_WEAK_WORDS = 8,   /* from the stack pointer up, where nothing names us as the target */
    GUESS_REACH = 65536,    /* a piece of code without rules is smaller */
};

static bool has_rule(struct unwind_space *space, uint64_t lookup)
{
    int why;
    enum rule_kind kind = rule_kind(unwind_rule_at(space, lookup, NULL, &why));
    return kind == RULE_FRAME || kind == RULE_END || kind == RULE_SLOW;
}

/* Is target the beginning of the piece of code without rules that we are in? */
static bool is_us(void *ctx, uint64_t target)
{
    struct unwind_space *space = ctx;
    const struct unwind_guesswork *guess = &space->scratch->guess;
    int why;
    return target >= guess->module.start && target <= guess->pc && guess->pc - target < GUESS_REACH &&
           rule_kind(unwind_rule_at(space, target, &target, &why)) == RULE_MISSING &&
           cfi_same_gap(&guess->module, target, guess->pc);
}

/* Where we were entered, if the function called was us or ends in a jump to us; else 0. */
static uint64_t entry_of(struct unwind_space *space, uint64_t target)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    if (target < guess->module.start || target >= guess->module.end)
        return 0;
    if (is_us(space, target))
        return target;
    if (unwind_row_at(space, target) < 0)
        return 0;
    return asm_find_jump(space, target, space->scratch->fde.pc_end, is_us, space);
}

static bool is_return_address(struct unwind_space *space, uint64_t addr, uint64_t *target)
{
    return unwind_follows_call(space, addr, target) && has_rule(space, addr - 1);
}

static int word_at(struct unwind_space *space, uint64_t slot, uint64_t *out)
{
    int rc = unwind_read(&space->memory, slot, out);
    *out &= space->arch->code_mask;
    return rc;
}

static void found(struct unwind_space *space, uint64_t slot, uint64_t pc, uint64_t fp_slot)
{
    struct unwind_guesswork *guess = &space->scratch->guess;
    guess->found_slot = slot;
    guess->found_pc = pc;
    guess->fp_slot = fp_slot;
}

/* The saved frame pointer where nothing better is known: at [fp], if fp points into the frame below the return address.
 */
static uint64_t usual_fp_slot(struct unwind_space *space, uint64_t slot)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    bool within = guess->fp % 8 == 0 && guess->fp >= guess->sp && guess->fp < slot;
    return within ? guess->fp : 0;
}

/* Takes what lies where the code says the return address is, if it can be one. */
static bool by_code(struct unwind_space *space, const struct asm_frame *frame)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    uint64_t pc, target;
    uint64_t slot = (frame->framed ? guess->fp : guess->sp) + frame->distance;
    if (word_at(space, slot, &pc) < 0 || !is_return_address(space, pc, &target))
        return false;
    found(space, slot, pc, frame->saved_fp ? slot - frame->saved_fp : 0);
    return true;
}

/* On the way out, about to return: nothing else needs to be known. */
static bool by_exit(struct unwind_space *space)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    struct asm_frame frame;
    return asm_frame_from_exit(space, guess->pc, &frame) == 0 && by_code(space, &frame);
}

/* A word on the stack is the address behind a call that led to entry. It may still be a left-over of an earlier such call,
 * so the code at entry decides. */
static bool by_entry(struct unwind_space *space, uint64_t entry)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    struct asm_frame frame;
    return asm_frame_from_entry(space, entry, guess->pc, &frame) == 0 && by_code(space, &frame);
}

/* No call names us: it went through a pointer. */
static bool by_nearest_entry(struct unwind_space *space)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    uint64_t entry = asm_find_entry(space, guess->pc);
    return entry != 0 && is_us(space, entry) && by_entry(space, entry);
}

/* Looks for a call of us among count words from base. True when settled; a word that the code at entry contradicts is
 * kept if it is the first. */
static bool scan_for_our_call(struct unwind_space *space, uint64_t base, unsigned count)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = base + 8 * i, pc, target;
        if (word_at(space, slot, &pc) < 0)
            break;
        if (!is_return_address(space, pc, &target) || target == 0)
            continue;
        uint64_t entry = entry_of(space, target);
        if (entry == 0)
            continue;
        if (by_entry(space, entry))
            return true;
        if (!guess->found_slot)
            found(space, slot, pc, usual_fp_slot(space, slot));
    }
    return false;
}

/* Takes the first of count words from base that can be a return address at all. */
static bool scan_for_any(struct unwind_space *space, uint64_t base, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = base + 8 * i, pc, target;
        if (word_at(space, slot, &pc) < 0)
            return false;
        if (!is_return_address(space, pc, &target))
            continue;
        found(space, slot, pc, usual_fp_slot(space, slot));
        return true;
    }
    return false;
}

/* The frame pointer points into the frame: at the saved one, below the return address. */
static bool fp_in_frame(struct unwind_space *space)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    const struct unwind_regs *regs = &space->scratch->regs;
    return unwind_reg_known(regs, space->arch->fp) && guess->fp % 8 == 0 &&
           guess->fp >= guess->sp && guess->fp - guess->sp < 1u << 20;
}

/* Code made at run time calls more of its kind, and none has rules; but it keeps frame pointers. A return address behind a
 * call and a next frame above this one are taken for such a frame. */
static bool by_frame_pointer(struct unwind_space *space)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    uint64_t fp = guess->fp, next, pc, target;
    if (unwind_read(&space->memory, fp, &next) < 0 || word_at(space, fp + 8, &pc) < 0 ||
        next <= fp || next - fp > 1u << 20 || !unwind_follows_call(space, pc, &target))
        return false;
    found(space, fp + 8, pc, fp);
    return true;
}

/* Goes to the caller. */
static void accept(struct unwind_space *space)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    const struct unwind_arch *arch = space->arch;
    struct unwind_regs *regs = &space->scratch->regs;
    regs->valid &= (uint64_t)1 << arch->sp | (uint64_t)1 << arch->fp;
    if (guess->fp_slot && unwind_read(&space->memory, guess->fp_slot, &regs->r[arch->fp]) < 0)
        regs->valid &= ~((uint64_t)1 << arch->fp);
    if (guess->found_slot)
        regs->r[arch->sp] = guess->found_slot + 8;
    regs->pc = guess->found_pc;
}

/* x86-64: the return address is on the stack. */
static int guess_pushed(struct unwind_space *space, bool top)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    bool framed = fp_in_frame(space), settled = false;
    uint64_t sp = guess->sp, above_fp = guess->fp + 8;
    if (top)
        settled = by_exit(space);
    if (top && !settled && guess->module.end != 0) /* nobody calls code made at run time by name */
        settled = scan_for_our_call(space, sp, 1) ||
                  (framed && scan_for_our_call(space, above_fp, GUESS_FRAME_WORDS)) ||
                  scan_for_our_call(space, sp + 8, GUESS_WORDS - 1) || guess->found_slot ||
                  by_nearest_entry(space);
    settled = settled || (top && scan_for_any(space, sp, 1));
    settled = settled || (framed && scan_for_any(space, above_fp, top ? GUESS_FRAME_WORDS : 1)) ||
              (framed && by_frame_pointer(space)) ||
              (top && scan_for_any(space, sp + 8, GUESS_WEAK_WORDS - 1));
    if (!settled)
        return -1;
    accept(space);
    return 0;
}

/* aarch64: the link register in a leaf, else the frame record (saved x29, return address) that x29 points to. */
static int guess_linked(struct unwind_space *space, bool top)
{
    const struct unwind_guesswork *guess = &space->scratch->guess;
    const struct unwind_arch *arch = space->arch;
    const struct unwind_regs *regs = &space->scratch->regs;
    uint64_t pc, target;
    if (top && unwind_reg_known(regs, arch->link)) {
        pc = regs->r[arch->link] & arch->code_mask;
        if (is_return_address(space, pc, &target)) {
            found(space, 0, pc, 0);
            accept(space);
            return 0;
        }
    }
    if (!fp_in_frame(space) || word_at(space, guess->fp + 8, &pc) < 0 ||
        !is_return_address(space, pc, &target))
        return -1;
    found(space, guess->fp + 8, pc, guess->fp);
    accept(space);
    return 0;
}

int unwind_guess(struct unwind_space *space, bool top)
{
    struct unwind_scratch *scratch = space->scratch;
    struct unwind_guesswork *guess = &scratch->guess;
    const struct unwind_arch *arch = space->arch;
    *guess = (struct unwind_guesswork){
        .pc = scratch->regs.pc,
        .sp = scratch->regs.r[arch->sp],
        .fp = scratch->regs.r[arch->fp],
    };
    if (!unwind_reg_known(&scratch->regs, arch->sp))
        return -1;
    if (space->find_module(space->module_ctx, guess->pc, &guess->module) < 0)
        guess->module = (struct unwind_module){.start = 0};
    return arch->link == UNWIND_NO_REG ? guess_pushed(space, top) : guess_linked(space, top);
}
