/* From a thread's registers to its stack of addresses, by the unwind tables of the modules it runs in.
 *
 * Serves two places: the sampling handler inside somebody else's process, and a copied stack of another process read
 * from a file. What differs is in struct unwind_space: how to find a module and how to read a word. Nothing here
 * allocates, locks, prints or touches errno or thread-local data; unwind_stack() is async-signal-safe and uses less than
 * 800 bytes of stack (unwind_self_test prints it), 1 KiB where it has to pass code without rules, since everything large
 * is in struct unwind_scratch. */
#ifndef LAM_UNWIND_UNWIND_H
#define LAM_UNWIND_UNWIND_H

#include "unwind/expression.h"
#include "unwind/rule.h"

/* Where unwind_stack() is. */
struct unwind_walk {
    bool exact;  /* regs.pc is where the frame was interrupted, not where it will go on */
    bool full;   /* every rule from the tables, every register followed */
    bool doubt;  /* the first frame's rule is not believed */
    bool placed; /* the frame turned out to be at regs.pc and not before it */
    uint8_t guessed;
    uint32_t slow, misses;
    /* Brent's cycle search: a state to compare with, taken anew at depths that are powers of two. A stack need not grow
     * in one direction (rustc switches stacks), but no two of its frames agree in pc and sp. */
    uint64_t mark_pc, mark_sp;
};

/* What unwind_guess() has found out. */
struct unwind_guesswork {
    uint64_t pc, sp, fp;           /* of the frame without rules */
    struct unwind_module module;   /* around pc; empty when there is none */
    uint64_t found_slot, found_pc; /* the return address */
    uint64_t fp_slot; /* where the caller's frame pointer is saved; 0: in its register */
};

/* About 4 KiB that one unwind_stack() at a time works in. One a thread; a handler that can be interrupted by another that
 * unwinds as well needs another. */
struct unwind_scratch {
    struct unwind_regs top; /* free for the caller, to put the registers of the first frame in */
    struct unwind_regs regs, next;
    struct unwind_module module;
    struct cfi_fde fde;
    struct cfi_program program;
    struct expression expression;
    struct unwind_pages pages; /* for unwind_memory_self() */
    uint32_t generation;       /* of the stack being unwound */
    struct unwind_walk walk;
    struct unwind_guesswork guess;
};

/* What is unwound. Filled in by the caller, kept unchanged by the unwinder. */
struct unwind_space {
    const struct unwind_arch *arch;
    unwind_find_module *find_module;
    void *module_ctx;
    struct unwind_memory memory;
    const struct rule_cache *cache;     /* NULL: none */
    const _Atomic uint32_t *generation; /* raised when code was unmapped; NULL: always 0 */
    uint64_t root_sp;    /* where the first thread's stack began (unwind_root_sp()), or 0 */
    bool all_registers;  /* every rule from the tables: what the fast path is tested against */
    uint32_t walk_limit; /* records looked at where a module has no search table */
    struct unwind_scratch *scratch;
};

enum { UNWIND_WALK_LIMIT = 4096 }; /* for a handler: some 0.2 ms */

struct unwind_result {
    uint32_t depth;  /* frames written */
    uint8_t end;     /* enum unwind_end; UNWIND_ROOT is a whole stack, all else a truncated one */
    uint8_t guessed; /* frames that no table describes, passed by looking at the stack */
    uint8_t restarts; /* times that it was unwound again: with all registers, or without the first frame's rule */
    uint32_t slow;   /* rules evaluated from the table that have no compact form */
    uint32_t misses; /* rules that were not in the cache */
};

/* Fills a space for this process and this thread: arch, memory, root_sp, walk_limit. cache may be shared by threads or
 * NULL; find_module is usually unwind_finder_find over a struct unwind_finder. */
void unwind_space_self(struct unwind_space *space, struct unwind_scratch *scratch,
                       unwind_find_module *find_module, void *module_ctx);

/* Unwinds from top, the registers of the running (or interrupted) function.
 * frames   leaf first, at most max. Each is an address inside the instruction that was being executed or that made the
 *          call: the exact pc for the first frame and for one interrupted by a signal, the return address minus 1
 *          elsewhere (a call that does not return can be the last instruction of its function). All look-ups, of rules,
 *          symbols and lines, are right with it as it is.
 * Returns  result->end. frames and *result are written in any case. */
enum unwind_end unwind_stack(struct unwind_space *space, const struct unwind_regs *top,
                             uint64_t *frames, size_t max, struct unwind_result *result);

/* The word for an enum unwind_end, for reports: "root", "no rule", ... */
const char *unwind_end_name(unsigned end);

/* The initial stack pointer of the process, which the loader's first code (without unwind rules) has at the bottom of
 * the first thread's stack; 0 when libc does not tell. Async-signal-safe. */
uint64_t unwind_root_sp(void);

/* --- parts, for tests and for each other --- */

/* The rule for the code at `lookup`, from the cache or the tables: RULE_FRAME, RULE_END, RULE_SLOW or RULE_MISSING, or
 * RULE_NONE and *why = -(enum unwind_end) when there is no module or its tables are damaged. pc as in rule_from_row(). */
unwind_rule unwind_rule_at(struct unwind_space *space, uint64_t lookup, const uint64_t *pc, int *why);

/* Finds the row for lookup and leaves it in scratch->program.row with scratch->fde and scratch->module. */
int unwind_row_at(struct unwind_space *space, uint64_t lookup);

/* Applies the row in scratch to scratch->regs: 0, 1 when the frame was the root, or -(enum unwind_end). */
int unwind_apply_row(struct unwind_space *space);

/* A frame that no table describes: replaces scratch->regs by a likely caller's, or -1. top: it is the leaf, or was
 * interrupted by a signal. */
int unwind_guess(struct unwind_space *space, bool top);

/* The code that the kernel lets a signal handler return to, where it has no table entry: if scratch->regs.pc is in it,
 * replaces scratch->regs by the interrupted registers and returns 0; else -1. */
int unwind_signal_frame(struct unwind_space *space);

/* Does the instruction before addr call? 1 yes, with *target the function it calls (0 when that cannot be seen), 0 no or
 * unreadable. */
int unwind_follows_call(const struct unwind_space *space, uint64_t addr, uint64_t *target);

#endif
