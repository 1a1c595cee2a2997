/* stacks.h: the process's trie of call stacks: each distinct (parent, address, epoch) is stored once, in the stream.
 *
 * Lock-free: any thread adds from its signal handler. Two threads that add the same node at the same moment may both
 * store it; readers do not mind.
 */
#ifndef LAMELLA_AGENT_STACKS_H
#define LAMELLA_AGENT_STACKS_H

#include <stdint.h>

enum { STACK_PATH_MAX = 512 };

/* A thread's previous stack, outermost first: most of the next one is the same. */
struct stack_path {
    uint32_t count;
    uint32_t validity;
    uint64_t addresses[STACK_PATH_MAX];
    uint32_t ids[STACK_PATH_MAX];
};

/* Empties the trie, for a new stream. */
void stacks_init(void);

/* Does this address lie in the trie's mapped pages, in those that are being filled? */
enum stacks_page { STACKS_PAGE_NONE, STACKS_PAGE_OLD, STACKS_PAGE_LAST };
enum stacks_page stacks_page_at(const void *address);

/* Nodes are gone from the stream, in pages that read as zero now: what was stored so far is not used any more, and new
 * nodes go to new pages. Async-signal-safe. */
void stacks_start_over(void);

/* Id of the stack `frames` (leaf first). Async-signal-safe.
 * path     the calling thread's; used and updated, and by nobody else meanwhile
 * Returns  0 when a node could not be stored (no space: counted by the stream), or for no frames */
uint32_t stacks_intern(struct stack_path *path, const uint64_t *frames, uint32_t count);

#endif
