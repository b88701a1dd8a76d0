/* SPDX-License-Identifier: MIT
 *
 * pool.c: see pool.h.
 *
 * A round is some 10 us of work, so a hand-over must cost well below one: a worker looks for the next round in a loop
 * before it sleeps, and the caller works too. Pieces are claimed one by one. Each thread begins with its own share,
 * which is the same in every round, so that states stay in its cache, and then claims what others have not begun.
 * So a thread that is not scheduled costs nothing, unless that happens within a piece: then the caller sleeps.
 *
 * Workers can cost more than they save all the same: other programs may use the cores, a virtual machine may place its
 * cores far from each other (reading what another core wrote takes five times as long then), a wake-up may take
 * longer than the work. None of this can be known beforehand, so it is measured, in turns (judge()).
 */
#include "chain/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/base.h"
#include "chain/chain.h"

/* Looking for so long before sleeping: a system call to sleep and one to wake cost about as much. */
#define SPIN_NS 20000

/* Work of one turn, bytes of input: about 1 ms, and dozens of rounds. One with workers ends when so much is lost. */
#define TURN_BYTES ((uint64_t)4 << 20)
#define STALL_NS   1e6
/* Time between two rounds counts, since workers may slow that down too; not longer waits for input. */
#define GAP_NS 250000
/* What workers have saved pays for later losses up to this: a few times the 4 ms that a thread waits for a core. */
#define CREDIT_NS 10e6
/* After a loss: so many times as long without workers, and doubled after each further loss, up to ALONE_NS. So
 * losses are at most 1/16 of the time, and less where conditions stay bad. */
#define PAY_BACK 16
#define ALONE_NS 500e6
/* After so many turns with workers, one without measures that speed again. */
#define TURNS_MOST 64

/* Whether workers save time. */
typedef struct worth {
    bool alone;     /* this turn is without workers */
    uint64_t bytes; /* of work, in this turn so far, and how long it took: */
    double ns;
    int64_t ended_ns;  /* the last round */
    double alone_rate; /* ns a byte without workers; 0 = not known yet */
    double balance_ns; /* that workers saved, minus what they cost */
    double alone_ns;   /* still to be spent without workers */
    int losses;        /* in a row */
    int turns;         /* with workers, in a row */
} worth;

/* On a cache line of its own. */
#define APART _Alignas(64)

typedef struct worker {
    APART atomic_ullong share; /* its pieces that are not claimed: round << 32 | end << 16 | next */
    weiri_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct weiri_pool {
    int threads; /* started, and the caller's */
    worth worth;
    /* Of the round: written by the caller before the shares, read by who has claimed a piece. */
    weiri_pool_fn run;
    void *user;
    APART atomic_uint round;
    atomic_bool ending;
    APART atomic_int left;      /* pieces that are not done */
    APART pthread_mutex_t lock; /* of who sleeps, for the conditions */
    pthread_cond_t begun, over;
    atomic_int sleepers; /* workers */
    atomic_bool caller_sleeps;
    worker list[]; /* [threads]; 0 = the caller's */
};

weiri_pool_test weiri_pool_testing;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

static bool has_begun(weiri_pool *pool, unsigned seen)
{
    return atomic_load(&pool->round) != seen;
}

static bool is_over(weiri_pool *pool, unsigned unused)
{
    (void)unused;
    return atomic_load(&pool->left) == 0;
}

/* Looks for a while; returns whether it has come. */
static bool spin(weiri_pool *pool, bool (*has_come)(weiri_pool *, unsigned), unsigned seen)
{
    for (int64_t end = 0;;) {
        for (int i = 0; i < 32; i++) {
            if (has_come(pool, seen)) {
                return true;
            }
            relax();
        }
        int64_t now = now_ns();
        end = end == 0 ? now + SPIN_NS : end;
        if (now >= end) {
            return false;
        }
    }
}

static void wait_for_round(weiri_pool *pool, unsigned seen)
{
    if (spin(pool, has_begun, seen)) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1); /* before the last look: see begin() */
    while (!has_begun(pool, seen)) {
        pthread_cond_wait(&pool->begun, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_for_end(weiri_pool *pool)
{
    if (spin(pool, is_over, 0)) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true); /* before the last look: see work() */
    while (!is_over(pool, 0)) {
        pthread_cond_wait(&pool->over, &pool->lock);
    }
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

/* Who sleeps has said so before it looked a last time, so a change is either seen there, or the sleeper is seen
 * here; and it holds the lock until it really sleeps. */
static void wake(weiri_pool *pool, pthread_cond_t *sleeping)
{
    pthread_mutex_lock(&pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_broadcast(sleeping);
}

static void begin(weiri_pool *pool)
{
    atomic_fetch_add(&pool->round, 1);
    if (atomic_load(&pool->sleepers) > 0) {
        wake(pool, &pool->begun);
    }
}

/* ---- working ------------------------------------------------------------------------------------- */

/* Claims the next piece of a share; false: there is none. */
static bool claim(atomic_ullong *share, int *ret_piece)
{
    unsigned long long at = atomic_load_explicit(share, memory_order_acquire);
    while ((at & 0xffff) < (at >> 16 & 0xffff)) {
        if (atomic_compare_exchange_weak_explicit(share, &at, at + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret_piece = (int)(at & 0xffff);
            return true;
        }
    }
    return false;
}

/* Pieces as long as there are any: a thread's own first, then those of the others. */
static void work(weiri_pool *pool, int thread)
{
    int done = 0, piece = 0;
    for (int i = 0; i < pool->threads; i++) {
        while (claim(&pool->list[(thread + i) % pool->threads].share, &piece)) {
            pool->run(pool->user, piece, thread);
            done++;
        }
    }
    bool last = done > 0 && atomic_fetch_sub(&pool->left, done) == done;
    if (last && atomic_load(&pool->caller_sleeps)) {
        wake(pool, &pool->over);
    }
}

static void *worker_main(void *user)
{
    worker *self = user;
    weiri_pool *pool = self->pool;
    unsigned seen = 0;
    weiri_mode_enter();
    for (;;) {
        wait_for_round(pool, seen);
        seen = atomic_load(&pool->round);
        if (atomic_load(&pool->ending)) {
            return NULL;
        }
        if (weiri_pool_testing.before_work != NULL) {
            weiri_pool_testing.before_work();
        }
        work(pool, self->number);
    }
}

static void with_workers(weiri_pool *pool, weiri_pool_fn run, void *user, int pieces)
{
    pool->run = run;
    pool->user = user;
    atomic_store_explicit(&pool->left, pieces, memory_order_relaxed);
    unsigned long long round = atomic_load_explicit(&pool->round, memory_order_relaxed) + 1;
    for (int i = 0; i < pool->threads; i++) {
        unsigned long long from = (unsigned long long)(pieces * i / pool->threads);
        unsigned long long to = (unsigned long long)(pieces * (i + 1) / pool->threads);
        atomic_store_explicit(&pool->list[i].share, round << 32 | to << 16 | from,
                              memory_order_release);
    }
    begin(pool);
    work(pool, 0);
    wait_for_end(pool);
}

/* ---- whether it pays ----------------------------------------------------------------------------- */

/* By the time that passes, whatever it goes to: where other programs use the cores, what they take from a turn with
 * workers counts as a loss, and one thread goes on. More of them would hardly gain anything there. */
static void judge(worth *w)
{
    double rate = w->ns / (double)w->bytes;
    if (w->alone) {
        /* The lowest of late: what comes between only adds to it. */
        bool lower = w->alone_rate == 0.0 || rate < w->alone_rate;
        w->alone_rate = lower ? rate : w->alone_rate + (rate - w->alone_rate) / 8.0;
        w->alone_ns -= w->ns;
        w->alone = w->alone_ns > 0.0;
        w->turns = 0;
        return;
    }
    w->balance_ns += w->alone_rate == 0.0 ? 0.0 : (w->alone_rate - rate) * (double)w->bytes;
    if (w->balance_ns >= CREDIT_NS) {
        w->balance_ns = CREDIT_NS;
        w->losses = 0;
    }
    w->turns++;
    w->alone = w->alone_rate == 0.0 || w->turns == TURNS_MOST || w->balance_ns < 0.0;
    if (w->balance_ns < 0.0) {
        w->alone_ns = -w->balance_ns * (PAY_BACK << w->losses);
        w->alone_ns = w->alone_ns < ALONE_NS ? w->alone_ns : ALONE_NS;
        w->losses += w->losses < 16 ? 1 : 0;
        w->balance_ns = 0.0;
    }
}

static void count(worth *w, uint64_t bytes, int64_t begun, int64_t ended)
{
    int64_t gap = begun - w->ended_ns;
    w->ns += (double)(ended - begun + (gap < GAP_NS ? gap : 0));
    w->bytes += bytes;
    w->ended_ns = ended;
    bool stalled =
        !w->alone && w->alone_rate > 0.0 && w->ns > w->alone_rate * (double)w->bytes + STALL_NS;
    if (w->bytes >= TURN_BYTES || stalled) {
        judge(w);
        w->bytes = 0;
        w->ns = 0.0;
    }
}

void weiri_pool_run(weiri_pool *pool, weiri_pool_fn run, void *user, int pieces, uint64_t bytes)
{
    int64_t begun = now_ns();
    if (!pool->worth.alone || weiri_pool_testing.always) {
        with_workers(pool, run, user, pieces);
    } else {
        for (int piece = 0; piece < pieces; piece++) {
            run(user, piece, 0);
        }
    }
    count(&pool->worth, bytes, begun, now_ns());
}

/* ---- start and end ------------------------------------------------------------------------------- */

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
    *pool = (weiri_pool){.threads = 1};
    pool->list[0] = (worker){.pool = pool};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begun, NULL);
    pthread_cond_init(&pool->over, NULL);
    unsigned char *stack = (unsigned char *)memory + head_bytes(threads);
    stack += (4096 - (uintptr_t)stack % 4096) % 4096;
    for (uint64_t i = 1; i < threads; i++, stack += WEIRI_POOL_STACK_BYTES) {
        worker *self = &pool->list[i];
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
        pool->threads++;
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
    begin(pool);
    for (int i = 1; i < pool->threads; i++) {
        pthread_join(pool->list[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->begun);
    pthread_cond_destroy(&pool->over);
    pthread_mutex_destroy(&pool->lock);
}
