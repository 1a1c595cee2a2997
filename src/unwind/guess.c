/* Frames without a rule: hand-written assembly, PLT stubs that a linker left undescribed, code made at run time.
 *
 * A word on the stack is taken for the return address when it follows a call and its own code has a rule. That much is
 * true of stale words too, so the best evidence goes first: a direct call whose target is the very piece of code without
 * rules that we are in. */
#include "unwind/unwind.h"

enum {
    GUESS_WORDS = 64, /* from the stack pointer up: locals and saved registers of an assembly routine */
    GUESS_FRAME_WORDS = 16, /* from the frame pointer up: registers pushed before it was set */
    GUESS_WEAK_WORDS = 8,   /* from the stack pointer up, where nothing names us as the target */
    GUESS_REACH = 65536,    /* a piece of code without rules is smaller */
};

struct guess {
    struct unwind_space *space;
    uint64_t module_start, module_end; /* around pc; empty when there is none */
    bool weak;                         /* take calls whose target is not seen to be us */
};

static bool has_rule(struct unwind_space *space, uint64_t lookup)
{
    int why;
    enum rule_kind kind = rule_kind(unwind_rule_at(space, lookup, NULL, &why));
    return kind == RULE_FRAME || kind == RULE_END || kind == RULE_SLOW;
}

static bool is_target(const struct guess *guess, uint64_t target)
{
    uint64_t pc = guess->space->scratch->regs.pc;
    int why;
    return target >= guess->module_start && target < guess->module_end &&
           pc - target + GUESS_REACH < 2 * GUESS_REACH &&
           rule_kind(unwind_rule_at(guess->space, target, NULL, &why)) == RULE_MISSING;
}

static bool is_return_address(const struct guess *guess, uint64_t addr)
{
    uint64_t target;
    if (!unwind_follows_call(guess->space, addr, &target))
        return false;
    if (!guess->weak && (target == 0 || !is_target(guess, target)))
        return false;
    return has_rule(guess->space, addr - 1);
}

/* The first of count words from base that can be the return address; 0 none. */
static uint64_t scan(const struct guess *guess, uint64_t base, unsigned count, uint64_t *pc)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = base + 8 * i;
        if (unwind_read(&guess->space->memory, slot, pc) < 0)
            return 0;
        *pc &= guess->space->arch->code_mask;
        if (is_return_address(guess, *pc))
            return slot;
    }
    return 0;
}

/* Goes to the caller whose return address pc was in slot (0: in a register). */
static void accept(struct unwind_space *space, uint64_t slot, uint64_t pc, bool frame_pushed)
{
    const struct unwind_arch *arch = space->arch;
    struct unwind_regs *regs = &space->scratch->regs;
    uint64_t fp;
    regs->valid &= (uint64_t)1 << arch->sp | (uint64_t)1 << arch->fp;
    if (frame_pushed) {
        if (unwind_read(&space->memory, regs->r[arch->fp], &fp) < 0)
            regs->valid &= ~((uint64_t)1 << arch->fp);
        else
            regs->r[arch->fp] = fp;
    }
    if (slot)
        regs->r[arch->sp] = slot + 8;
    regs->pc = pc;
}

/* The frame pointer points into the frame: at the saved one, below the return address. */
static bool fp_in_frame(const struct unwind_space *space)
{
    const struct unwind_regs *regs = &space->scratch->regs;
    uint64_t fp = regs->r[space->arch->fp], sp = regs->r[space->arch->sp];
    return unwind_reg_known(regs, space->arch->fp) && fp % 8 == 0 && fp >= sp && fp - sp < 1u << 20;
}

static int guess_pushed(struct guess *guess, bool top)
{
    struct unwind_space *space = guess->space;
    const struct unwind_regs *regs = &space->scratch->regs;
    uint64_t sp = regs->r[space->arch->sp], fp = regs->r[space->arch->fp], slot = 0, pc = 0;
    bool framed = fp_in_frame(space);
    if (top) {
        guess->weak = false;
        slot = scan(guess, sp, 1, &pc);
        if (!slot && framed)
            slot = scan(guess, fp + 8, GUESS_FRAME_WORDS, &pc);
        if (!slot)
            slot = scan(guess, sp + 8, GUESS_WORDS - 1, &pc);
    }
    guess->weak = true;
    if (!slot && top)
        slot = scan(guess, sp, 1, &pc);
    if (!slot && framed)
        slot = scan(guess, fp + 8, 1, &pc);
    if (!slot && framed && top)
        slot = scan(guess, fp + 16, GUESS_FRAME_WORDS - 1, &pc);
    if (!slot && top)
        slot = scan(guess, sp + 8, GUESS_WEAK_WORDS - 1, &pc);
    if (!slot)
        return -1;
    accept(space, slot, pc, framed && slot > fp);
    return 0;
}

/* aarch64: the link register in a leaf, else the frame record (saved x29, return address) that x29 points to. */
static int guess_linked(struct guess *guess, bool top)
{
    struct unwind_space *space = guess->space;
    const struct unwind_arch *arch = space->arch;
    const struct unwind_regs *regs = &space->scratch->regs;
    uint64_t pc;
    guess->weak = true;
    if (top && unwind_reg_known(regs, arch->link)) {
        pc = regs->r[arch->link] & arch->code_mask;
        if (is_return_address(guess, pc)) {
            accept(space, 0, pc, false);
            return 0;
        }
    }
    uint64_t slot = regs->r[arch->fp] + 8;
    if (!fp_in_frame(space) || !scan(guess, slot, 1, &pc))
        return -1;
    accept(space, slot, pc, true);
    return 0;
}

int unwind_guess(struct unwind_space *space, bool top)
{
    struct guess guess = {.space = space};
    struct unwind_scratch *scratch = space->scratch;
    if (!unwind_reg_known(&scratch->regs, space->arch->sp))
        return -1;
    if (space->find_module(space->module_ctx, scratch->regs.pc, &scratch->module) == 0) {
        guess.module_start = scratch->module.start;
        guess.module_end = scratch->module.end;
    }
    return space->arch->link == UNWIND_NO_REG ? guess_pushed(&guess, top) : guess_linked(&guess, top);
}
