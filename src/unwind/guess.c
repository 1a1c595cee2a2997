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

struct guess {
    struct unwind_space *space;
    uint64_t pc, sp, fp;               /* of the frame without rules */
    uint64_t module_start, module_end; /* around pc; empty when there is none */
    uint64_t found_slot, found_pc;     /* the return address */
    uint64_t fp_slot; /* where the caller's frame pointer is saved; 0: in its register */
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
    const struct guess *guess = ctx;
    int why;
    return target >= guess->module_start && target < guess->module_end &&
           guess->pc - target + GUESS_REACH < 2 * GUESS_REACH &&
           rule_kind(unwind_rule_at(guess->space, target, NULL, &why)) == RULE_MISSING;
}

/* Where we were entered, if the function called was us or ends in a jump to us; else 0. */
static uint64_t entry_of(struct guess *guess, uint64_t target)
{
    struct unwind_space *space = guess->space;
    if (target < guess->module_start || target >= guess->module_end)
        return 0;
    if (is_us(guess, target))
        return target;
    if (unwind_row_at(space, target) < 0)
        return 0;
    return asm_find_jump(space, target, space->scratch->fde.pc_end, is_us, guess);
}

static bool is_return_address(const struct guess *guess, uint64_t addr, uint64_t *target)
{
    return unwind_follows_call(guess->space, addr, target) && has_rule(guess->space, addr - 1);
}

static int word_at(const struct guess *guess, uint64_t slot, uint64_t *out)
{
    int rc = unwind_read(&guess->space->memory, slot, out);
    *out &= guess->space->arch->code_mask;
    return rc;
}

static void found(struct guess *guess, uint64_t slot, uint64_t pc, uint64_t fp_slot)
{
    guess->found_slot = slot;
    guess->found_pc = pc;
    guess->fp_slot = fp_slot;
}

/* The saved frame pointer where nothing better is known: at [fp], if fp points into the frame below the return address.
 */
static uint64_t usual_fp_slot(const struct guess *guess, uint64_t slot)
{
    bool within = guess->fp % 8 == 0 && guess->fp >= guess->sp && guess->fp < slot;
    return within ? guess->fp : 0;
}

/* Takes what lies where the code says the return address is, if it can be one. */
static bool by_code(struct guess *guess, const struct asm_frame *frame)
{
    uint64_t pc, target;
    uint64_t slot = (frame->framed ? guess->fp : guess->sp) + frame->distance;
    if (word_at(guess, slot, &pc) < 0 || !is_return_address(guess, pc, &target))
        return false;
    found(guess, slot, pc, frame->saved_fp ? slot - frame->saved_fp : 0);
    return true;
}

/* On the way out, about to return: nothing else needs to be known. */
static bool by_exit(struct guess *guess)
{
    struct asm_frame frame;
    return asm_frame_from_exit(guess->space, guess->pc, &frame) == 0 && by_code(guess, &frame);
}

/* A word on the stack is the address behind a call that led to entry. It may still be a left-over of an earlier such call,
 * so the code at entry decides. */
static bool by_entry(struct guess *guess, uint64_t entry)
{
    struct asm_frame frame;
    return asm_frame_from_entry(guess->space, entry, guess->pc, &frame) == 0 &&
           by_code(guess, &frame);
}

/* No call names us: it went through a pointer. */
static bool by_nearest_entry(struct guess *guess)
{
    uint64_t entry = asm_find_entry(guess->space, guess->pc);
    return entry != 0 && is_us(guess, entry) && by_entry(guess, entry);
}

/* Looks for a call of us among count words from base. True when settled; a word that the code at entry contradicts is
 * kept if it is the first. */
static bool scan_for_our_call(struct guess *guess, uint64_t base, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = base + 8 * i, pc, target;
        if (word_at(guess, slot, &pc) < 0)
            break;
        if (!is_return_address(guess, pc, &target) || target == 0)
            continue;
        uint64_t entry = entry_of(guess, target);
        if (entry == 0)
            continue;
        if (by_entry(guess, entry))
            return true;
        if (!guess->found_slot)
            found(guess, slot, pc, usual_fp_slot(guess, slot));
    }
    return false;
}

/* Takes the first of count words from base that can be a return address at all. */
static bool scan_for_any(struct guess *guess, uint64_t base, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = base + 8 * i, pc, target;
        if (word_at(guess, slot, &pc) < 0)
            return false;
        if (!is_return_address(guess, pc, &target))
            continue;
        found(guess, slot, pc, usual_fp_slot(guess, slot));
        return true;
    }
    return false;
}

/* The frame pointer points into the frame: at the saved one, below the return address. */
static bool fp_in_frame(const struct guess *guess)
{
    const struct unwind_regs *regs = &guess->space->scratch->regs;
    return unwind_reg_known(regs, guess->space->arch->fp) && guess->fp % 8 == 0 &&
           guess->fp >= guess->sp && guess->fp - guess->sp < 1u << 20;
}

/* Goes to the caller. */
static void accept(const struct guess *guess)
{
    struct unwind_space *space = guess->space;
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
static int guess_pushed(struct guess *guess, bool top)
{
    bool framed = fp_in_frame(guess), settled = false;
    uint64_t sp = guess->sp, above_fp = guess->fp + 8;
    if (top) {
        settled = by_exit(guess) || scan_for_our_call(guess, sp, 1) ||
                  (framed && scan_for_our_call(guess, above_fp, GUESS_FRAME_WORDS)) ||
                  scan_for_our_call(guess, sp + 8, GUESS_WORDS - 1);
        settled =
            settled || guess->found_slot || by_nearest_entry(guess) || scan_for_any(guess, sp, 1);
    }
    settled = settled || (framed && scan_for_any(guess, above_fp, top ? GUESS_FRAME_WORDS : 1)) ||
              (top && scan_for_any(guess, sp + 8, GUESS_WEAK_WORDS - 1));
    if (!settled)
        return -1;
    accept(guess);
    return 0;
}

/* aarch64: the link register in a leaf, else the frame record (saved x29, return address) that x29 points to. */
static int guess_linked(struct guess *guess, bool top)
{
    const struct unwind_arch *arch = guess->space->arch;
    const struct unwind_regs *regs = &guess->space->scratch->regs;
    uint64_t pc, target;
    if (top && unwind_reg_known(regs, arch->link)) {
        pc = regs->r[arch->link] & arch->code_mask;
        if (is_return_address(guess, pc, &target)) {
            found(guess, 0, pc, 0);
            accept(guess);
            return 0;
        }
    }
    if (!fp_in_frame(guess) || word_at(guess, guess->fp + 8, &pc) < 0 ||
        !is_return_address(guess, pc, &target))
        return -1;
    found(guess, guess->fp + 8, pc, guess->fp);
    accept(guess);
    return 0;
}

int unwind_guess(struct unwind_space *space, bool top)
{
    struct unwind_scratch *scratch = space->scratch;
    const struct unwind_arch *arch = space->arch;
    struct guess guess = {
        .space = space,
        .pc = scratch->regs.pc,
        .sp = scratch->regs.r[arch->sp],
        .fp = scratch->regs.r[arch->fp],
    };
    if (!unwind_reg_known(&scratch->regs, arch->sp))
        return -1;
    if (space->find_module(space->module_ctx, guess.pc, &scratch->module) == 0) {
        guess.module_start = scratch->module.start;
        guess.module_end = scratch->module.end;
    }
    return arch->link == UNWIND_NO_REG ? guess_pushed(&guess, top) : guess_linked(&guess, top);
}
