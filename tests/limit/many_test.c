/* SPDX-License-Identifier: MIT
 *
 * Many buffers: small ones with up to 100,000 in use, the limit on their number, and the cost of a
 * pair not growing with it; and the steady size with many cached buffers.
 */
#include <time.h>

#include "witness.h"

#define HOT ((size_t)300 * 256 * 4)

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static weir_buffer *take_only(weir_cache *cache, size_t bytes)
{
    weir_buffer *buffer = NULL;
    assert_ok(weir_cache_take(cache, bytes, &buffer));
    return buffer;
}

/* As many as possible: the host's heap can have that many mappings, and whole buffers may need
 * one each. */
static size_t most_live(weir_heap *heap, const char *policy)
{
    size_t bears = heap->ops->max_buffers(heap);
    return strcmp(policy, "pages") == 0 || bears > 100000 ? 100000 : bears;
}

/* Frees and allocates small buffers with `count` in use; the least nanoseconds of a pair over
 * several parts, since other processes may be running. */
static double turnover(const char *policy, size_t count)
{
    enum { PARTS = 8, PART = 50000 };
    weir_heap *heap = counting_heap();
    weir_cache_options options = weir_cache_options_default();
    options.heap = heap;
    options.policy = policy;
    options.cache_limit = 4 << 20;
    options.max_buffers = count;
    weir_cache *cache = NULL;
    assert_ok(weir_cache_create(&options, &cache));
    weir_buffer **live = calloc(count, sizeof(weir_buffer *)), *more = NULL;
    assert_non_null(live);
    uint64_t seed = testing_seed("small");
    for (size_t i = 0; i < count; i++) {
        live[i] = take_only(cache, 1 + testing_random(&seed) % 2500);
    }
    for (int again = 0; again < 2; again++) {
        assert_fails(weir_cache_take(cache, 10, &more), WEIR_E_LIMIT, "buffers held, limit");
    }
    assert_true(stats_of(cache).refusals == 2 && stats_of(cache).live_buffers == count);
    double least = 1e18;
    for (int part = 0; part < PARTS; part++) {
        double start = now_ns();
        for (size_t i = 0; i < PART; i++) {
            size_t at = testing_random(&seed) % count;
            weir_buffer_unref(live[at]);
            live[at] = take_only(cache, 1 + testing_random(&seed) % 2500);
        }
        double ns = (now_ns() - start) / PART;
        least = ns < least ? ns : least;
    }
    weir_cache_stats s = stats_of(cache);
    printf("%s: %.0f ns a free and a take beside %zu live; %llu MiB live, %llu pinned\n", policy,
           least, count, (unsigned long long)s.live_bytes >> 20,
           (unsigned long long)s.pinned_bytes >> 20);
    assert_true(s.live_buffers == count && s.idle_bytes <= 4 << 20); /* M4, M1 */
    assert_ok(weir_cache_check(cache));
    for (size_t i = 0; i < count; i++) {
        weir_buffer_unref(live[i]);
    }
    assert_ok(weir_cache_check(cache));
    assert_true(stats_of(cache).idle_bytes <= 4 << 20);
    free(live);
    weir_cache_destroy(cache);
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    weir_heap_destroy(heap);
    return least;
}

/* Searching all would take proportionally longer with more of them; misses of the processor's
 * caches make it up to 12 times as long with 100 times as many. */
static void many_small_ones(void **state)
{
    (void)state;
    weir_heap *heap = counting_heap();
    for (size_t k = 0; k < KEEPING_POLICIES; k++) {
        size_t count = most_live(heap, keeping_policies[k]), part = count / 100;
        double few = turnover(keeping_policies[k], part);
        assert_true(turnover(keeping_policies[k], count) < 50 * few);
    }
    weir_heap_destroy(heap);
}

/* The least of several rounds, since other processes may be running. */
static double pair_beside(const char *policy, size_t idle)
{
    weir_cache_options options = weir_cache_options_default();
    weir_cache *cache = NULL;
    options.policy = policy;
    assert_ok(weir_cache_create(&options, &cache));
    weir_buffer **all = calloc(idle + 1, sizeof(weir_buffer *));
    assert_non_null(all);
    for (size_t i = 0; i < idle; i++) {
        all[i] = take_only(cache, 64 + i % 4000);
    }
    for (size_t i = 0; i < idle; i++) {
        weir_buffer_unref(all[i]);
    }
    double least = 1e18;
    for (int round = 0; round < 20; round++) {
        double start = now_ns();
        for (int i = 0; i < 5000; i++) {
            weir_buffer_unref(take_only(cache, HOT));
        }
        double ns = (now_ns() - start) / 5000;
        least = ns < least ? ns : least;
    }
    assert_ok(weir_cache_check(cache));
    free(all);
    weir_cache_destroy(cache);
    return least;
}

static void the_steady_size_beside_many_idle(void **state)
{
    (void)state;
    weir_heap *heap = counting_heap();
    for (size_t k = 0; k < KEEPING_POLICIES; k++) {
        size_t idle = most_live(heap, keeping_policies[k]) - 2;
        double none = pair_beside(keeping_policies[k], 0);
        double many = pair_beside(keeping_policies[k], idle);
        printf("%s: a pair %.0f ns, beside %zu idle %.0f ns\n", keeping_policies[k], none, idle,
               many);
        assert_true(many < 4 * none);
    }
    weir_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_small_ones),
        cmocka_unit_test(the_steady_size_beside_many_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
