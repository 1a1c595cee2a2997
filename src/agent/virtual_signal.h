/* virtual_signal.h: what the wrappers of signal functions need (interpose_signal.c). */
#ifndef LAMELLA_AGENT_VIRTUAL_SIGNAL_H
#define LAMELLA_AGENT_VIRTUAL_SIGNAL_H

#include <signal.h>
#include <stdint.h>

struct agent_thread;

/* The program's own action for the sampling signal. */
void virtual_signal_get(struct sigaction *out);
void virtual_signal_set(const struct sigaction *action);

/* The kernel's action for a signal, without libc: `function` with these flags and this mask; its function. */
struct kernel_sigaction;
void virtual_set_real(int sig, void *function, unsigned long flags, uint64_t mask,
                      struct kernel_sigaction *old);
uintptr_t virtual_get_real(int sig);

/* Is one pending for the calling thread? (virtual_mask_blocks is in agent.h.) */
int virtual_mask_pending(void);
/* Blocks or unblocks; a pending one is delivered when it is unblocked. */
void virtual_mask_set(int blocks);
/* Takes the pending one: 1 and *out, or 0. */
int virtual_mask_take(siginfo_t *out);

/* Around a call that waits under a mask of its own (pselect, sigsuspend): meanwhile the program's idea of our signal is
 * what that mask says. Returns the mask to give to the call: NULL for NULL. */
struct mask_call {
    sigset_t changed;
    sigset_t before; /* the thread's real mask, when a sample had to change it (restore) */
    struct mask_call *outer;
    int active;
    int blocked_before;
    int restore;
};
const sigset_t *mask_call_begin(struct mask_call *call, const sigset_t *mask);
void mask_call_end(struct mask_call *call);

/* Puts our own alternate stack back after the program disabled its own. */
int virtual_altstack_restore(struct agent_thread *self);

#endif
