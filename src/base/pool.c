#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

/* What more of them read they would wait for: memory is no faster for it, and each needs some. */
enum { THREADS_MAX = 32 };

struct pool_worker {
    struct pool *pool;
    pthread_t thread;
    unsigned index; /* from 1; the caller of pool_run() is worker 0 */
};

/* All but `next` is guarded by lock. */
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work; /* run_number has changed, or is_closing */
    pthread_cond_t is_done;  /* busy has become 0 */
    struct pool_worker *workers;
    unsigned wanted;  /* workers beside the caller */
    unsigned started; /* those that have a thread: none before the first run that has work for it */
    unsigned busy;    /* workers that have not finished this run */
    uint64_t run_number;
    bool is_closing;

    /* One run. */
    pool_fn fn;
    void *ctx;
    size_t count;
    atomic_size_t next; /* the next item to begin; may pass count */
    size_t failed_item;
    int failed;
};

static void note_failure(struct pool *pool, size_t item, int code)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->failed == LAM_OK || item < pool->failed_item) {
        pool->failed = code;
        pool->failed_item = item;
    }
    pthread_mutex_unlock(&pool->lock);
    /* relaxed: only keeps others from beginning more items; items begun are waited for under the
     * lock */
    atomic_store_explicit(&pool->next, pool->count, memory_order_relaxed);
}

static void work(struct pool *pool, unsigned worker)
{
    for (;;) {
        /* relaxed: the counter hands out indices only; the data of a run is published by the lock
         * that every worker takes before and after it. It cannot wrap: each worker passes count
         * once. */
        size_t item = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (item >= pool->count)
            return;
        int rc = pool->fn(pool->ctx, item, worker);
        if (rc < 0)
            note_failure(pool, item, rc);
    }
}

static void *worker_main(void *arg)
{
    struct pool_worker *worker = arg;
    struct pool *pool = worker->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->run_number == seen && !pool->is_closing)
            pthread_cond_wait(&pool->has_work, &pool->lock);
        if (pool->is_closing)
            break;
        seen = pool->run_number;
        pthread_mutex_unlock(&pool->lock);
        work(pool, worker->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->is_done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* What LAMELLA_THREADS says; 0: nothing that counts. *asked: its text; NULL where it is not set or empty. */
static uint64_t asked_threads(const char **asked)
{
    uint64_t threads;
    *asked = getenv("LAMELLA_THREADS");
    if (*asked && !**asked)
        *asked = NULL;
    return *asked && unit_parse_u64(*asked, &threads) ? threads : 0;
}

const char *pool_wrong_threads(void)
{
    const char *asked;
    return asked_threads(&asked) > 0 ? NULL : asked;
}

unsigned pool_default_threads(void)
{
    const char *asked;
    uint64_t threads = asked_threads(&asked);
    cpu_set_t set;
    if (threads > 0)
        return threads < THREADS_MAX ? (unsigned)threads : THREADS_MAX;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count < THREADS_MAX ? (unsigned)count : THREADS_MAX;
}

/* Starts the threads, once, with all signals blocked; fewer when the system refuses. */
static void start_threads(struct pool *pool)
{
    sigset_t all, before;
    if (pool->started == pool->wanted)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; pool->started < pool->wanted; pool->started++) {
        struct pool_worker *worker = &pool->workers[pool->started];
        worker->pool = pool;
        worker->index = pool->started + 1;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->wanted = pool->started; /* a thread that came later would take part in a run that is over */
}

int pool_open(struct pool **out, unsigned threads, struct lam_error *err)
{
    if (threads == 0)
        threads = pool_default_threads();
    struct pool *pool = mem_zalloc(1, sizeof *pool);
    if (pool)
        pool->workers = mem_zalloc(threads, sizeof *pool->workers);
    if (!pool || !pool->workers) {
        mem_free(pool);
        return lam_error_set(err, LAM_E_NOMEM, "thread pool: out of memory");
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->is_done, NULL);
    pool->wanted = threads - 1;
    *out = pool;
    return LAM_OK;
}

unsigned pool_threads(const struct pool *pool)
{
    return pool ? pool->wanted + 1 : 1;
}

static int run_alone(size_t count, pool_fn fn, void *ctx)
{
    for (size_t item = 0; item < count; item++) {
        int rc = fn(ctx, item, 0);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

int pool_run(struct pool *pool, size_t count, pool_fn fn, void *ctx)
{
    if (!pool || pool->wanted == 0 || count < 2)
        return run_alone(count, fn, ctx);
    start_threads(pool);
    if (pool->started == 0)
        return run_alone(count, fn, ctx);
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->ctx = ctx;
    pool->count = count;
    pool->failed = LAM_OK;
    /* relaxed: published by the lock, as the fields above */
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->busy = pool->started;
    pool->run_number++;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    work(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->is_done, &pool->lock);
    int rc = pool->failed;
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

void pool_close(struct pool **out)
{
    struct pool *pool = out ? *out : NULL;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->is_done);
    pthread_cond_destroy(&pool->has_work);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool->workers);
    mem_free(pool);
    *out = NULL;
}
