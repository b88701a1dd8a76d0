/* SPDX-License-Identifier: MIT
 *
 * pool_test.c: each piece is done once, whoever does it; a thread that never runs blocks nothing; workers that cost
 * more than they save are left alone.
 */
#include "chain/pool.h"
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { PIECES_MOST = 500, THREADS_MOST = 6 };

typedef struct work {
    atomic_int done[PIECES_MOST];
    atomic_int by[THREADS_MOST];
} work;

static void one(void *user, int piece, int thread)
{
    work *at = user;
    atomic_fetch_add(&at->done[piece], 1);
    atomic_fetch_add(&at->by[thread], 1);
}

static weiri_pool *open_pool(uint64_t threads, void **ret_memory)
{
    weiri_pool *pool = NULL;
    *ret_memory = aligned_alloc(4096, (weiri_pool_bytes(threads) + 4095) / 4096 * 4096);
    assert_non_null(*ret_memory);
    assert_ok(weiri_pool_create(threads, *ret_memory, &pool));
    return pool;
}

static void close_pool(weiri_pool *pool, void *memory)
{
    weiri_pool_destroy(pool);
    free(memory);
}

static void each_piece_once(void **state)
{
    (void)state;
    weiri_pool_testing = (weiri_pool_test){.always = true};
    for (uint64_t threads = 2; threads <= THREADS_MOST; threads++) {
        void *memory = NULL;
        weiri_pool *pool = open_pool(threads, &memory);
        for (int round = 0; round < 300; round++) {
            work at = {.by = {0}};
            int pieces = 1 + round * 37 % PIECES_MOST;
            weiri_pool_run(pool, one, &at, pieces, 1);
            for (int i = 0; i < PIECES_MOST; i++) {
                assert_int_equal(at.done[i], i < pieces ? 1 : 0);
            }
        }
        close_pool(pool, memory);
    }
    weiri_pool_testing = (weiri_pool_test){.always = false};
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void wait_until_freed(void)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

/* As when other programs have all the cores but one. */
static void workers_that_never_run(void **state)
{
    (void)state;
    weiri_pool_testing = (weiri_pool_test){.always = true, .before_work = wait_until_freed};
    void *memory = NULL;
    weiri_pool *pool = open_pool(4, &memory);
    pthread_mutex_lock(&held);
    for (int round = 0; round < 50; round++) {
        work at = {.by = {0}};
        weiri_pool_run(pool, one, &at, 64, 1);
        assert_int_equal(at.by[0], 64);
    }
    pthread_mutex_unlock(&held);
    close_pool(pool, memory);
    weiri_pool_testing = (weiri_pool_test){.always = false};
}

/* Some 20 us for the caller, and 3 ms for a worker: as when it has to wait for a core. */
static void slow_for_workers(void *user, int piece, int thread)
{
    one(user, piece, thread);
    struct timespec now, begun, wait = {.tv_nsec = 3000000};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    if (thread > 0) {
        nanosleep(&wait, NULL);
    }
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 20000);
}

static void workers_that_cost_are_left_alone(void **state)
{
    (void)state;
    void *memory = NULL;
    weiri_pool *pool = open_pool(2, &memory);
    int with = 0, rounds = 4000;
    for (int round = 0; round < rounds; round++) {
        work at = {.by = {0}};
        weiri_pool_run(pool, slow_for_workers, &at, 4, 1 << 20);
        assert_int_equal(at.by[0] + at.by[1], 4);
        with += at.by[1] > 0 ? 1 : 0;
    }
    print_message("workers took pieces of %d of %d rounds\n", with, rounds);
    assert_in_range(with, 0, rounds / 50);
    close_pool(pool, memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_once),
        cmocka_unit_test(workers_that_never_run),
        cmocka_unit_test(workers_that_cost_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
