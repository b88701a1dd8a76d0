/* SPDX-License-Identifier: MIT
 *
 * pool.c: see pool.h.
 *
 * A tile of 256 channels is some 30 us of work, so a hand-over must cost well below one: workers look for
 * the next round in a loop for some 20 us before they sleep, and the caller works too. A machine whose
 * cores are busy with other things loses little by that: whoever waits gives way after a while.
 */
#include "chain/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/base.h"
#include "chain/chain.h"

#define SPINS 4000 /* looks before a worker sleeps, or the caller gives way */

typedef struct worker {
    weiri_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct weiri_pool {
    int workers; /* that were started */
    /* Of the round; written by the caller before it raises `round`, read by workers after. */
    weiri_pool_fn run;
    void *user;
    int pieces;
    atomic_int next;    /* piece that nobody has taken */
    atomic_int working; /* workers that have not finished the round */
    atomic_uint round;
    atomic_bool ending;
    pthread_mutex_t lock; /* of sleepers, for the condition */
    pthread_cond_t wake;
    int sleepers;
    worker list[];
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void work(weiri_pool *pool, int thread)
{
    for (;;) {
        int piece = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (piece >= pool->pieces) {
            return;
        }
        pool->run(pool->user, piece, thread);
    }
}

static unsigned wait_for_round(weiri_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned round = atomic_load_explicit(&pool->round, memory_order_acquire);
        if (round != seen) {
            return round;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while (atomic_load_explicit(&pool->round, memory_order_acquire) == seen) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
    return atomic_load_explicit(&pool->round, memory_order_acquire);
}

static void *worker_main(void *user)
{
    worker *self = user;
    weiri_pool *pool = self->pool;
    unsigned seen = 0;
    weiri_mode_enter();
    for (;;) {
        seen = wait_for_round(pool, seen);
        if (atomic_load_explicit(&pool->ending, memory_order_relaxed)) {
            return NULL;
        }
        work(pool, self->number);
        atomic_fetch_sub_explicit(&pool->working, 1, memory_order_release);
    }
}

static void next_round(weiri_pool *pool)
{
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_release);
    pthread_mutex_lock(&pool->lock);
    if (pool->sleepers > 0) {
        pthread_cond_broadcast(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
}

void weiri_pool_run(weiri_pool *pool, weiri_pool_fn run, void *user, int pieces)
{
    pool->run = run;
    pool->user = user;
    pool->pieces = pieces;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->working, pool->workers, memory_order_relaxed);
    next_round(pool);
    work(pool, 0);
    for (int i = 0; atomic_load_explicit(&pool->working, memory_order_acquire) > 0; i++) {
        if (i < SPINS) {
            relax();
        } else {
            sched_yield();
        }
    }
}

static size_t head_bytes(uint64_t threads)
{
    return weiri_round_up(sizeof(weiri_pool) + (size_t)threads * sizeof(worker), 4096);
}

uint64_t weiri_pool_bytes(uint64_t threads)
{
    /* 4096: stacks begin on a page, wherever the memory does */
    return threads < 2 ? 0 : head_bytes(threads) + 4096 + (threads - 1) * WEIRI_POOL_STACK_BYTES;
}

weir_err weiri_pool_create(uint64_t threads, void *memory, weiri_pool **ret_pool)
{
    weiri_pool *pool = memory;
    *pool = (weiri_pool){.workers = 0};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    unsigned char *stack = (unsigned char *)memory + head_bytes(threads);
    stack += (4096 - (uintptr_t)stack % 4096) % 4096;
    for (uint64_t i = 1; i < threads; i++, stack += WEIRI_POOL_STACK_BYTES) {
        worker *self = &pool->list[i - 1];
        *self = (worker){.pool = pool, .number = (int)i};
        pthread_attr_t attributes;
        int failed = pthread_attr_init(&attributes);
        if (failed == 0) {
            failed = pthread_attr_setstack(&attributes, stack, WEIRI_POOL_STACK_BYTES);
            failed = failed != 0 ? failed
                                 : pthread_create(&self->thread, &attributes, worker_main, self);
            pthread_attr_destroy(&attributes);
        }
        if (failed != 0) {
            weiri_pool_destroy(pool);
            return weiri_fail(WEIR_E_NOMEM, "threads: the system refuses thread %llu of %llu",
                              (unsigned long long)i + 1, (unsigned long long)threads);
        }
        pool->workers++;
    }
    *ret_pool = pool;
    return WEIR_OK;
}

void weiri_pool_destroy(weiri_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store_explicit(&pool->ending, true, memory_order_relaxed);
    next_round(pool);
    for (int i = 0; i < pool->workers; i++) {
        pthread_join(pool->list[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
}
