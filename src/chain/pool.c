/* SPDX-License-Identifier: MIT
 *
 * pool.c: see pool.h.
 *
 * A tile of 256 channels is some 30 us of work, so a hand-over must cost well below one: workers look for
 * the next round in a loop for some 20 us before they sleep, and the caller works too. Pieces are taken from
 * one ticket that holds round, number of pieces and the next one; the round is over when all pieces are
 * done, whether a worker has woken or not, so a machine whose cores are busy with other things loses little.
 */
#include "chain/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/base.h"
#include "chain/chain.h"

#define SPINS 4000 /* looks before a worker sleeps, or the caller yields */

typedef struct worker {
    weiri_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct weiri_pool {
    int workers; /* that were started */
    /* Of the round: written by the caller before its ticket, read by who has taken a piece of it. */
    weiri_pool_fn run;
    void *user;
    atomic_ullong ticket; /* round << 32 | pieces << 16 | next piece */
    atomic_int done;      /* pieces of the round */
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

static unsigned round_of(unsigned long long ticket)
{
    return (unsigned)(ticket >> 32);
}

/* Pieces of that round, as long as there are any. */
static void work(weiri_pool *pool, unsigned round, int thread)
{
    unsigned long long ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    while (round_of(ticket) == round && (ticket & 0xffff) < (ticket >> 16 & 0xffff)) {
        if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket + 1,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            pool->run(pool->user, (int)(ticket & 0xffff), thread);
            atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
            ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
        }
    }
}

static unsigned wait_for_round(weiri_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned round = round_of(atomic_load_explicit(&pool->ticket, memory_order_acquire));
        if (round != seen) {
            return round;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while (round_of(atomic_load_explicit(&pool->ticket, memory_order_acquire)) == seen) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
    return round_of(atomic_load_explicit(&pool->ticket, memory_order_acquire));
}

static void *worker_main(void *user)
{
    worker *self = user;
    weiri_pool *pool = self->pool;
    unsigned seen = 0;
    weiri_mode_enter();
    for (;;) {
        seen = wait_for_round(pool, seen);
        if (atomic_load_explicit(&pool->ending, memory_order_acquire)) {
            return NULL;
        }
        work(pool, seen, self->number);
    }
}

static unsigned next_round(weiri_pool *pool, int pieces)
{
    unsigned long long last = atomic_load_explicit(&pool->ticket, memory_order_relaxed);
    unsigned round = round_of(last) + 1;
    pthread_mutex_lock(&pool->lock); /* so that no thread sleeps between check and wait */
    atomic_store_explicit(&pool->ticket,
                          (unsigned long long)round << 32 | (unsigned long long)pieces << 16,
                          memory_order_release);
    if (pool->sleepers > 0) {
        pthread_cond_broadcast(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    return round;
}

void weiri_pool_run(weiri_pool *pool, weiri_pool_fn run, void *user, int pieces)
{
    pool->run = run;
    pool->user = user;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    work(pool, next_round(pool, pieces), 0);
    for (int i = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < pieces; i++) {
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
    atomic_store_explicit(&pool->ending, true, memory_order_release);
    (void)next_round(pool, 0);
    for (int i = 0; i < pool->workers; i++) {
        pthread_join(pool->list[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
}
