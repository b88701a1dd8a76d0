/* SPDX-License-Identifier: MIT
 *
 * Random traffic from printed seeds under changing limits, with weir_cache_check after each step;
 * then the same from several threads, with a watcher that checks at every instant. WEIR_TEST_SEED
 * repeats a run.
 */
#include <pthread.h>

#include "cache/cache.h"
#include "witness.h"

#define BUFFERS 64

/* Limits at the start, and factors for requested bytes and memory_limit. With the larger ones
 * `pages` has granules of two sizes. */
typedef struct bounds {
    uint64_t cache_limit, memory_limit;
    size_t scale;
    int steps;
} bounds;

static const bounds small_bounds = {200000, 600000, 1, 2500};
static const bounds large_bounds = {1000000, 40u << 20, 60, 1200};

static bool keeps_idle(const char *policy) /* M1; mlx has rules of its own */
{
    return strncmp(policy, "mlx", 3) != 0;
}

static size_t some_size(uint64_t *seed)
{
    switch (testing_random(seed) % 8) {
    case 0:
        return testing_random(seed) % 200;
    case 1:
        return testing_random(seed) % 400000;
    case 2:
        return 8192; /* the hot size */
    default:
        return testing_random(seed) % 20000;
    }
}

static void limits_move(witness *w, const bounds *b, uint64_t *seed)
{
    uint64_t limit = testing_random(seed) % 900000;
    weir_cache_stats before = stats_of(w->cache);
    if (testing_random(seed) % 2 == 0) {
        weir_cache_limit_idle(w->cache, testing_random(seed) % 4 == 0 ? WEIR_NO_LIMIT : limit);
        return;
    }
    limit *= b->scale;
    weir_err err = weir_cache_limit_held(w->cache, limit);
    weir_cache_stats after = stats_of(w->cache);
    bool fits = before.held_bytes - before.idle_bytes <= limit;
    assert_int_equal(err, fits ? WEIR_OK : WEIR_E_LIMIT); /* M5 */
    assert_true(after.memory_limit_bytes == (fits ? limit : before.memory_limit_bytes));
    assert_true(fits || after.idle_bytes == 0);
}

/* One allocation, checked against the rule itself: refused exactly if live, metadata, charges
 * and the request together exceed the limit (M2). */
static void take_by_the_rule(
    witness *w, const char *policy, const bounds *b, uint64_t *seed, weir_buffer **buffer)
{
    size_t times = b->scale > 1 ? testing_random(seed) % b->scale + 1 : 1;
    size_t bytes = some_size(seed) * times;
    weir_cache_stats before = stats_of(w->cache);
    uint64_t cost = weiri_cache_cost(w->cache, bytes > 0 ? bytes : 1); /* at most */
    weir_err err = weir_cache_take(w->cache, bytes, buffer);
    weir_cache_stats after = stats_of(w->cache);
    uint64_t good = w->heap->ops->good_size(w->heap, bytes);
    uint64_t stays = before.held_bytes - before.idle_bytes;
    if (err == WEIR_OK) {
        memset((*buffer)->memory, 1, bytes < 4096 ? bytes : 4096);
        assert_true(after.hits + after.misses == before.hits + before.misses + 1);
        return;
    }
    assert_int_equal(err, WEIR_E_LIMIT);
    bool whole = before.pinned_bytes == 0 && strcmp(policy, "fit") == 0;
    good = whole ? good + (before.idle_buffers > 0 ? 0 : 4096) : cost;
    assert_true(stays + good > before.memory_limit_bytes);
    after.refusals--; /* only their number has changed */
    assert_memory_equal(&after, &before, sizeof after);
}

static void traffic(const char *policy, const bounds *b, uint64_t first)
{
    for (uint64_t round = 0; round < 8; round++) {
        uint64_t seed = first + round * UINT64_C(0x9e3779b97f4a7c15);
        seed = seed != 0 ? seed : 1;
        witness w = witness_make(policy, b->cache_limit, b->memory_limit);
        weir_buffer *live[BUFFERS] = {NULL};
        for (int step = 0; step < b->steps; step++) {
            size_t i = testing_random(&seed) % BUFFERS;
            if (testing_random(&seed) % 40 == 0) {
                limits_move(&w, b, &seed);
            } else if (live[i] != NULL) {
                weir_buffer_unref(live[i]);
                live[i] = NULL;
            } else {
                take_by_the_rule(&w, policy, b, &seed, &live[i]);
            }
            witness_agrees(&w);
            weir_cache_stats s = stats_of(w.cache);
            assert_true(s.idle_bytes <= s.cache_limit_bytes || !keeps_idle(policy)); /* M1 */
        }
        weir_cache_stats s = stats_of(w.cache);
        assert_true(s.refusals > 0 && s.hits > 0 && s.evictions > 0);
        for (size_t i = 0; i < BUFFERS; i++) {
            weir_buffer_unref(live[i]);
        }
        witness_agrees(&w);
        witness_end(&w);
    }
}

static void traffic_under_moving_limits(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        traffic(keeping_policies[k], &small_bounds, testing_seed("limit"));
        traffic(keeping_policies[k], &large_bounds, testing_seed("limit, large"));
    }
}

/* Seeds for which cached granules were freed for a request that was refused then: those from
 * which it was carved. */
static void what_is_dropped_is_not_what_serves(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {33502114, 60303782, 73704616, 93805867, 233331};
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        traffic("pages", &small_bounds, seeds[i]);
    }
}

/* ---- threads ------------------------------------------------------------------------------- */

typedef struct worker {
    witness *w;
    uint64_t seed;
    weir_buffer *shared; /* referenced by all */
    uint64_t taken, refused;
    bool faulty;
    bool wrong;
} worker;

static void *work(void *user)
{
    worker *me = user;
    weir_buffer *live[8] = {NULL};
    for (int step = 0; step < 4000; step++) {
        size_t i = testing_random(&me->seed) % 8;
        weir_buffer_unref(live[i]);
        live[i] = NULL;
        if (testing_random(&me->seed) % 3 == 0) {
            weir_err err = weir_cache_take(me->w->cache, some_size(&me->seed), &live[i]);
            me->taken += err == WEIR_OK;
            me->refused += err == WEIR_E_LIMIT;
            me->wrong |= err == WEIR_E_NOMEM && !me->faulty;
            if (err == WEIR_OK) {
                memset(live[i]->memory, (int)i, live[i]->bytes);
            }
        } else if (testing_random(&me->seed) % 5 == 0) {
            live[i] = weir_buffer_ref(me->shared);
        } else if (testing_random(&me->seed) % 200 == 0) {
            weir_cache_limit_idle(me->w->cache, testing_random(&me->seed) % 300000);
        } else if (testing_random(&me->seed) % 300 == 0) {
            weir_cache_clear(me->w->cache);
        } else if (testing_random(&me->seed) % 100 == 0 &&
                   weir_cache_charge(me->w->cache, 5000) == WEIR_OK) {
            weir_cache_uncharge(me->w->cache, 5000);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        weir_buffer_unref(live[i]);
    }
    return NULL;
}

static bool watching, watching_idle;

static void *watch(void *user)
{
    witness *w = user;
    bool right = true;
    while (__atomic_load_n(&watching, __ATOMIC_ACQUIRE) && right) {
        weir_cache_stats s = stats_of(w->cache);
        right = s.held_bytes <= s.memory_limit_bytes &&
                (s.idle_bytes <= s.cache_limit_bytes || !watching_idle) &&
                weir_heap_counting_counts(w->heap).bytes <= s.memory_limit_bytes &&
                weir_cache_check(w->cache) == WEIR_OK;
    }
    return right ? w : NULL;
}

static void run_threads(const char *policy, uint64_t memory_limit, bool faulty)
{
    witness w = witness_make(policy, 150000, memory_limit);
    worker workers[3];
    pthread_t threads[3], watcher;
    weir_buffer *shared = take(w.cache, 100);
    uint64_t seed = testing_seed(faulty ? "threads, faulty heap" : "threads");
    watching_idle = keeps_idle(policy);
    __atomic_store_n(&watching, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&watcher, NULL, watch, &w), 0);
    for (size_t i = 0; i < 3; i++) {
        workers[i] = (worker){.w = &w, .seed = seed + i + 1, .shared = shared, .faulty = faulty};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; faulty && i < 200; i++) {
        weir_heap_counting_fail(w.heap, 1 + testing_random(&seed) % 5,
                                1 + testing_random(&seed) % 3);
        (void)stats_of(w.cache);
    }
    /* of all: one that sleeps with buffers in use may prevent others from getting any */
    uint64_t taken = 0;
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].wrong);
        taken += workers[i].taken;
    }
    assert_true(taken > 100);
    weir_heap_counting_fail(w.heap, 0, 0);
    __atomic_store_n(&watching, false, __ATOMIC_RELEASE);
    void *right = NULL;
    pthread_join(watcher, &right);
    if (right == NULL) {
        fail_msg("the watcher saw: %s", weir_err_detail());
    }
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.live_buffers == 1);
    assert_true(weir_heap_counting_counts(w.heap).bytes_peak <=
                memory_limit); /* M2, by the heap's own count */
    if (memory_limit < 1000000) {
        assert_true(s.refusals >= workers[0].refused + workers[1].refused + workers[2].refused);
        assert_true(s.refusals > 0);
    }
    witness_agrees(&w);
    weir_buffer_unref(shared);
    witness_end(&w);
}

static void several_threads(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        run_threads(keeping_policies[k], WEIR_NO_LIMIT, false);
        run_threads(keeping_policies[k], 500000, false);
        run_threads(keeping_policies[k], 500000, true);
    }
}

typedef struct last {
    weir_buffer *buffers[50];
} last;

static void *give_all(void *user)
{
    last *l = user;
    for (size_t i = 0; i < 50; i++) {
        weir_buffer_unref(l->buffers[i]);
    }
    return NULL;
}

/* A cache that is destroyed while two threads free its last buffers: one of the three frees it. */
static void destroyed_while_buffers_come_back(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        witness w =
            witness_make(keeping_policies[round % ALL_POLICIES], WEIR_NO_LIMIT, WEIR_NO_LIMIT);
        last lasts[2];
        pthread_t threads[2];
        for (size_t i = 0; i < 100; i++) {
            lasts[i % 2].buffers[i / 2] = take(w.cache, 100 + i * 100);
        }
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, give_all, &lasts[i]), 0);
        }
        weir_cache_destroy(w.cache);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        assert_true(weir_heap_counting_counts(w.heap).bytes == 0);
        assert_true(weir_heap_counting_counts(w.heap).buffers == 0);
        weir_heap_destroy(w.heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_under_moving_limits),
        cmocka_unit_test(what_is_dropped_is_not_what_serves),
        cmocka_unit_test(several_threads),
        cmocka_unit_test(destroyed_while_buffers_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
