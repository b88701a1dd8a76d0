/* SPDX-License-Identifier: MIT
 *
 * Many buffers: 600,000 small ones with up to 100,000 live, their number kept to and the last as cheap as the
 * first; and the steady size beside many idle ones.
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

/* As many as may be: the host's heap bears so many mappings, which whole buffers may need each. */
static size_t most_live(weir_heap *heap, const char *policy)
{
    size_t bears = heap->ops->max_buffers(heap);
    return strcmp(policy, "pages") == 0 || bears > 100000 ? 100000 : bears;
}

static void small_ones(const char *policy)
{
    enum { ALL = 600000, PART = 50000 };
    weir_heap *heap = counting_heap();
    size_t count = most_live(heap, policy);
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
    double part_least = 1e18, part_most = 0, start = now_ns();
    for (size_t i = 0; i < ALL; i++) {
        size_t at = i < count ? i : testing_random(&seed) % count;
        weir_buffer_unref(live[at]);
        live[at] = take_only(cache, 1 + testing_random(&seed) % 2500);
        if (i + 1 == count) {
            for (int again = 0; again < 2; again++) {
                assert_fails(weir_cache_take(cache, 10, &more), WEIR_E_LIMIT,
                             "buffers held, limit");
            }
            assert_true(stats_of(cache).refusals == 2 && stats_of(cache).live_buffers == count);
        }
        if (i % PART == PART - 1) {
            double ns = (now_ns() - start) / PART;
            part_least = i >= 2 * count && ns < part_least ? ns : part_least;
            part_most = i >= 2 * count && ns > part_most ? ns : part_most;
            start = now_ns();
        }
    }
    weir_cache_stats s = stats_of(cache);
    printf("%s: %.0f to %.0f ns a give and a take beside %zu live; %llu MiB live, %llu pinned\n",
           policy, part_least, part_most, count, (unsigned long long)s.live_bytes >> 20,
           (unsigned long long)s.pinned_bytes >> 20);
    assert_true(s.live_buffers == count && s.idle_bytes <= 4 << 20); /* M4, M1 */
    /* Flat. A walk over all would be thousands of times; less than that a busy machine can do. */
    assert_true(part_most < 100 * part_least);
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
}

static void many_small_ones(void **state)
{
    (void)state;
    for (size_t k = 0; k < KEEPING_POLICIES; k++) {
        small_ones(keeping_policies[k]);
    }
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
        assert_true(many < 100 * none); /* as above; alloc_stream has the figures */
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
