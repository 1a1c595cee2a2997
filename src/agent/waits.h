/* waits.h: calls that can block, as rows: a number for the stream, a name, what they wait for. */
#ifndef LAMELLA_AGENT_WAITS_H
#define LAMELLA_AGENT_WAITS_H

#include "stream/layout.h"
#include "stream/writer.h"

#include <stdint.h>

enum { WAIT_LARGE_IO = 64 * 1024 };

struct wait_scope {
    uint64_t start_ticks;
    uint64_t cpu_before; /* kernel mode excluded: the thread's CPU clock; else 0 */
    uint64_t saved_mask; /* engines whose signal ends calls: the mask before the call */
    uint8_t active;
    uint8_t held;
};

/* Reads from the environment which jobserver there is. Once, at the start, before the program can change it. */
void waits_init(char *const envp[]);

/* Is this descriptor the jobserver's pipe? */
int wait_is_jobserver(int fd);

/* Around the real call. errno is kept. */
void wait_begin(struct wait_scope *scope, enum stream_wait_call call);
/* The same for a call that moves `size` bytes on a descriptor: where much is moved it may spend CPU time in the kernel, so where
 * that is not interrupted a sample is taken at its return. */
void wait_begin_fd(struct wait_scope *scope, enum stream_wait_call call, int fd, uint64_t size);
void wait_end(struct wait_scope *scope, enum stream_wait_call call, enum stream_wait_kind kind);

/* As wait_end, for a call on a descriptor: a read of one byte from the jobserver's pipe waits for a job. */
void wait_end_fd(struct wait_scope *scope, enum stream_wait_call call, int fd, uint64_t size);

/* The process ends while the thread is still in such a call: it is stored as if it returned now, without a stack. By the
 * thread that ends the process, signals blocked. */
struct agent_thread;
void wait_write_open(struct agent_thread *thread, struct stream_cursor *cur);

/* Ticks of the shortest wait that is stored. */
uint64_t wait_min_ticks(void);

#endif
