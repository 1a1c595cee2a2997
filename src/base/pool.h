/* Thread pool for loops over items. */
#ifndef LAMELLA_BASE_POOL_H
#define LAMELLA_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool;

/* One item. worker is 0 … pool_threads() - 1 and is used by one thread at a time: an index into
 * per-thread state. Returns LAM_OK or a negative code, which stops the loop. */
typedef int (*pool_fn)(void *ctx, size_t item, unsigned worker);

/* What the environment variable LAMELLA_THREADS says, else one a processor that we may use; 32 at
 * most. */
unsigned pool_default_threads(void);
/* What the variable says, if it is no number from 1 on and so was ignored; else NULL. */
const char *pool_wrong_threads(void);

/* Opens a pool of `threads` workers, the caller of pool_run() among them; 0 is
 * pool_default_threads(). Threads start
 * with the first run that has work for them, and block all signals. When the system refuses some the
 * others do their work, at least the caller. */
int pool_open(struct pool **pool, unsigned threads, struct lam_error *err);

unsigned pool_threads(const struct pool *pool); /* at most; 1 for NULL */

/* Calls fn for items 0 … count - 1, each once, in any order, and returns when all have ended. pool
 * NULL runs them in order on this thread. After a failure items not yet begun are skipped, and the
 * code of the lowest item that failed is returned. One run at a time; not from inside fn. What the
 * items wrote is visible to the caller afterwards. */
int pool_run(struct pool *pool, size_t count, pool_fn fn, void *ctx);

/* Ends the threads; NULL and *pool NULL are fine; *pool is NULL afterwards. */
void pool_close(struct pool **pool);

#endif
