#include "unwind/unwind.h"

void unwind_space_self(struct unwind_space *space, struct unwind_scratch *scratch,
                       unwind_find_module *find_module, void *module_ctx)
{
    memset(space, 0, sizeof *space);
    space->arch = unwind_host_arch();
    space->find_module = find_module;
    space->module_ctx = module_ctx;
    unwind_memory_self(&space->memory, &scratch->pages);
    space->root_sp = unwind_root_sp();
    space->walk_limit = UNWIND_WALK_LIMIT;
    space->scratch = scratch;
}

extern void *__libc_stack_end __attribute__((weak));

uint64_t unwind_root_sp(void)
{
    void *const *end = &__libc_stack_end;
    return end ? (uint64_t)(uintptr_t)*end : 0;
}

const char *unwind_end_name(unsigned end)
{
    static const char names[UNWIND_END_COUNT][16] = {
        "root",     "no module", "no rule", "unreadable",
        "too deep", "bad table", "loop",    "lost register",
    };
    return end < UNWIND_END_COUNT ? names[end] : "unknown";
}

int unwind_row_at(struct unwind_space *space, uint64_t lookup)
{
    struct unwind_scratch *scratch = space->scratch;
    if (space->find_module(space->module_ctx, lookup, &scratch->module) < 0)
        return -UNWIND_NO_MODULE;
    int rc = cfi_find_fde(&scratch->module, lookup, space->walk_limit, &scratch->fde);
    return rc < 0 ? rc : cfi_program_run(&scratch->program, &scratch->fde, lookup);
}

/* Kept out of the loop's frame: one look-up in twenty comes here. */
static __attribute__((noinline)) unwind_rule rule_from_tables(struct unwind_space *space,
                                                              uint64_t lookup, const uint64_t *pc,
                                                              int *why)
{
    struct unwind_scratch *scratch = space->scratch;
    unwind_rule rule = RULE_MISSING;
    scratch->walk.misses++;
    int rc = unwind_row_at(space, lookup);
    *why = rc;
    if (rc == 0)
        rule = rule_from_row(space->arch, &scratch->fde, &scratch->program.row, pc);
    else if (rc != -UNWIND_NO_RULE)
        return RULE_NONE; /* not kept: a module may appear there, damage is rare */
    if (space->cache)
        rule_cache_put(space->cache, lookup, scratch->generation, rule);
    return rule;
}

unwind_rule unwind_rule_at(struct unwind_space *space, uint64_t lookup, const uint64_t *pc, int *why)
{
    if (space->cache) {
        unwind_rule rule = rule_cache_get(space->cache, lookup, space->scratch->generation);
        if (rule != RULE_NONE) {
            *why = rule_kind(rule) == RULE_MISSING ? -UNWIND_NO_RULE : 0;
            return rule;
        }
    }
    return rule_from_tables(space, lookup, pc, why);
}

/* A register that a compact rule follows; one that cannot be read is lost, and missed only if it is needed. */
static inline void follow(const struct unwind_space *space, unwind_rule rule, unsigned at,
                          unsigned reg, uint64_t cfa)
{
    struct unwind_regs *regs = &space->scratch->regs;
    unsigned place = rule_place(rule, at);
    uint64_t value;
    if (place == RULE_PLACE_SAME)
        return;
    uint64_t addr = place == RULE_PLACE_AT_FP ? regs->r[space->arch->fp] : cfa - 8 * place;
    if (place == RULE_PLACE_LOST ||
        (place == RULE_PLACE_AT_FP && !unwind_reg_known(regs, space->arch->fp)) ||
        unwind_read(&space->memory, addr, &value) < 0)
        regs->valid &= ~((uint64_t)1 << reg);
    else
        unwind_reg_set(regs, reg, value);
}

static inline int apply_compact(const struct unwind_space *space, unwind_rule rule)
{
    const struct unwind_arch *arch = space->arch;
    struct unwind_regs *regs = &space->scratch->regs;
    unsigned base = rule_reg(rule);
    if (!unwind_reg_known(regs, base))
        return -UNWIND_LOST_REGISTER;
    uint64_t cfa = regs->r[base] + (uint64_t)rule_offset(rule), pc;
    if ((rule >> RULE_DEREF_AT & 1) && unwind_read(&space->memory, cfa, &cfa) < 0)
        return -UNWIND_UNREADABLE;
    unsigned place = rule_place(rule, RULE_RA_AT);
    if (place == RULE_PLACE_SAME) {
        /* Only a leaf can still have its return address in the link register. */
        if (!unwind_reg_known(regs, arch->link))
            return -UNWIND_LOST_REGISTER;
        pc = regs->r[arch->link];
    } else if (unwind_read(&space->memory, cfa - 8 * place, &pc) < 0) {
        return -UNWIND_UNREADABLE;
    }
    follow(space, rule, RULE_BX_AT, arch->bx, cfa); /* before fp, which it may be saved by */
    follow(space, rule, RULE_FP_AT, arch->fp, cfa);
    regs->r[arch->sp] = cfa;
    regs->valid &= (uint64_t)1 << arch->sp | (uint64_t)1 << arch->fp | (uint64_t)1 << arch->bx;
    regs->pc = pc & arch->code_mask;
    return 0;
}

/* Evaluates the frame's row from the table. 0, 1 at the root, or negative. */
static __attribute__((noinline)) int step_slow(struct unwind_space *space, uint64_t lookup)
{
    struct unwind_walk *walk = &space->scratch->walk;
    space->scratch->walk.slow++;
    int rc = unwind_row_at(space, lookup);
    if (rc < 0)
        return rc;
    walk->exact = space->scratch->fde.signal;
    /* aarch64's vdso describes its frame only in part. */
    if (walk->exact && space->arch->id == UNWIND_AARCH64 && unwind_signal_frame(space) == 0)
        return 0;
    return unwind_apply_row(space);
}

static bool at_process_start(const struct unwind_space *space)
{
    const struct unwind_regs *regs = &space->scratch->regs;
    /* The loader's first code has its own frame there: less than 64 bytes. */
    return space->root_sp - regs->r[space->arch->sp] <= 64 && space->root_sp;
}

/* A return address that nobody called from but that is where a function begins: somebody built this stack by hand, to
 * end there (makecontext does). No rule leads on from it. */
static bool at_hand_made_root(struct unwind_space *space)
{
    uint64_t target, pc = space->scratch->regs.pc;
    return !unwind_follows_call(space, pc, &target) && unwind_row_at(space, pc) == 0 &&
           space->scratch->fde.pc_begin == pc;
}

/* A frame that no table describes. */
static __attribute__((noinline)) int step_unknown(struct unwind_space *space, int why)
{
    struct unwind_walk *walk = &space->scratch->walk;
    if (unwind_signal_frame(space) == 0) {
        walk->exact = true;
        return 0;
    }
    if (!walk->exact && at_process_start(space))
        return 1;
    walk->placed = !walk->exact && at_hand_made_root(space);
    if (walk->placed)
        return 1;
    if (unwind_guess(space, walk->exact) < 0)
        return why;
    walk->exact = false;
    if (walk->guessed < UINT8_MAX)
        walk->guessed++;
    return 0;
}

static inline int step(struct unwind_space *space, uint64_t lookup)
{
    struct unwind_walk *walk = &space->scratch->walk;
    int why;
    unwind_rule rule =
        unwind_rule_at(space, lookup, walk->exact ? &space->scratch->regs.pc : NULL, &why);
    switch (rule_kind(rule)) {
    case RULE_END:
        return 1;
    case RULE_FRAME:
        if (!walk->full) {
            walk->exact = false;
            return apply_compact(space, rule);
        }
        return step_slow(space, lookup);
    case RULE_SLOW:
        return step_slow(space, lookup);
    case RULE_MISSING:
        return step_unknown(space, why);
    case RULE_NONE:
        break;
    }
    return why == -UNWIND_NO_MODULE ? step_unknown(space, why) : why;
}

/* Unwinds to the end; the depth is left in result. */
static int run(struct unwind_space *space, const struct unwind_regs *top, uint64_t *frames,
               size_t max, struct unwind_result *result)
{
    struct unwind_scratch *scratch = space->scratch;
    struct unwind_walk *walk = &scratch->walk;
    struct unwind_regs *regs = &scratch->regs;
    unsigned sp = space->arch->sp;
    uint32_t next_mark = 1;
    *regs = *top;
    walk->exact = true;
    walk->placed = false;
    walk->guessed = 0;
    walk->mark_pc = walk->mark_sp = 0;
    for (uint32_t depth = 0;;) {
        if (depth == max)
            return -UNWIND_DEEP;
        uint64_t lookup = regs->pc - !walk->exact;
        frames[depth++] = lookup;
        result->depth = depth;
        int rc =
            depth == 1 && walk->doubt ? step_unknown(space, -UNWIND_NO_RULE) : step(space, lookup);
        if (walk->placed)
            frames[depth - 1] = regs->pc;
        if (rc != 0)
            return rc < 0 ? rc : 0;
        if (regs->pc == 0)
            return 0;
        if (regs->pc == walk->mark_pc && regs->r[sp] == walk->mark_sp)
            return -UNWIND_LOOP;
        if (depth == next_mark) {
            walk->mark_pc = regs->pc;
            walk->mark_sp = regs->r[sp];
            next_mark *= 2;
        }
    }
}

/* A stack that ends at once in the middle of nowhere: LLVM's tables are sometimes wrong where a function is left early, and
 * the first frame is the only one that can be at such a place. */
static bool went_astray(int rc, const struct unwind_result *result)
{
    return (rc == -UNWIND_NO_MODULE || rc == -UNWIND_NO_RULE || rc == -UNWIND_UNREADABLE) &&
           result->depth > 0 && result->depth <= 3;
}

static __attribute__((noinline)) int run_again(struct unwind_space *space, bool *how,
                                               const struct unwind_regs *top, uint64_t *frames,
                                               size_t max, struct unwind_result *result)
{
    *how = true;
    result->restarts++;
    return run(space, top, frames, max, result);
}

enum unwind_end unwind_stack(struct unwind_space *space, const struct unwind_regs *top,
                             uint64_t *frames, size_t max, struct unwind_result *result)
{
    struct unwind_scratch *scratch = space->scratch;
    memset(result, 0, sizeof *result);
    scratch->walk = (struct unwind_walk){.full = space->all_registers};
    /* acquire: pairs with the release of whoever raises it after code was unmapped. Rules found from here on are kept
     * under this generation, so one that was read from the old code is never found later. */
    scratch->generation =
        space->generation ? atomic_load_explicit(space->generation, memory_order_acquire) : 0;
    if (space->memory.pages)
        unwind_pages_reset(space->memory.pages);
    int rc = run(space, top, frames, max, result);
    if (rc == -UNWIND_LOST_REGISTER && !scratch->walk.full)
        rc = run_again(space, &scratch->walk.full, top, frames, max, result);
    if (went_astray(rc, result)) {
        int other = run_again(space, &scratch->walk.doubt, top, frames, max, result);
        if (other != 0) { /* no better: as it was */
            scratch->walk.doubt = false;
            rc = run(space, top, frames, max, result);
        } else {
            rc = 0;
        }
    }
    result->end = (uint8_t)-rc;
    result->guessed = scratch->walk.guessed;
    result->slow = scratch->walk.slow;
    result->misses = scratch->walk.misses;
    return (enum unwind_end) - rc;
}
