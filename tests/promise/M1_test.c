/* SPDX-License-Identifier: MIT
 *
 * M1: after every call idle <= cache_limit.
 */
#include "witness.h"

static void idle_stays_below(const char *policy, uint64_t limit)
{
    uint64_t seed = testing_seed("M1");
    witness w = witness_make(policy, limit, WEIR_NO_LIMIT);
    weir_buffer *live[40] = {NULL};
    for (int step = 0; step < 5000; step++) {
        size_t i = testing_random(&seed) % 40;
        if (live[i] != NULL) {
            weir_buffer_unref(live[i]);
            live[i] = NULL;
        } else {
            live[i] = take(w.cache, testing_random(&seed) % 30000);
        }
        assert_true(stats_of(w.cache).idle_bytes <= limit); /* M1 */
    }
    witness_agrees(&w);
    if (limit == 0 && strcmp(policy, "fit") == 0) {
        assert_true(stats_of(w.cache).hits == 0);
    } else {
        assert_true(stats_of(w.cache).hits > (limit > 50000 ? 100 : 0)); /* a cache nevertheless */
    }
    for (size_t i = 0; i < 40; i++) {
        weir_buffer_unref(live[i]);
        assert_true(stats_of(w.cache).idle_bytes <= limit);
    }
    witness_end(&w);
}

static void random_traffic(void **state)
{
    (void)state;
    static const uint64_t limits[] = {0, 4096, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (size_t k = 0; k < KEEPING_POLICIES; k++) {
            idle_stays_below(keeping_policies[k], limits[i]);
        }
    }
}

static void exactly_the_limit(void **state)
{
    (void)state;
    witness w = witness_make("fit", 3 * 8192, WEIR_NO_LIMIT);
    weir_buffer *b[4];
    for (size_t i = 0; i < 4; i++) {
        b[i] = take(w.cache, 8192);
    }
    for (size_t i = 0; i < 3; i++) {
        weir_buffer_unref(b[i]);
    }
    assert_true(stats_of(w.cache).idle_bytes == 3 * 8192 && stats_of(w.cache).evictions == 0);
    weir_buffer_unref(b[3]);
    assert_true(stats_of(w.cache).idle_bytes == 3 * 8192 && stats_of(w.cache).evictions == 1);
    witness_agrees(&w);
    witness_end(&w);
}

/* DESIGN 1: a stall makes one long message; each new length would create new buffers. The steady
 * size is kept. */
static void hot_size_stays(const char *policy, double hit_rate)
{
    const size_t hot = 300 * 256 * 4;
    witness w = witness_make(policy, 16 << 20, WEIR_NO_LIMIT);
    uint64_t hot_hits = 0, hot_takes = 0;
    for (size_t message = 0; message < 2000; message++) {
        size_t times = message % 50 == 49 ? 2 + (message / 50) % 39 : 1;
        weir_buffer *b[20];
        uint64_t before = stats_of(w.cache).hits;
        for (size_t i = 0; i < 20; i++) {
            assert_ok(weir_cache_take(w.cache, hot * times, &b[i]));
        }
        if (times == 1 && message >= 50) {
            hot_takes += 20;
            hot_hits += stats_of(w.cache).hits - before;
        }
        for (size_t i = 0; i < 20; i++) {
            weir_buffer_unref(b[i]);
            assert_true(stats_of(w.cache).idle_bytes <= 16 << 20);
        }
    }
    printf("%s: hot size: %.4f of %llu takes hit\n", policy, (double)hot_hits / (double)hot_takes,
           (unsigned long long)hot_takes);
    assert_true((double)hot_hits >= hit_rate * (double)hot_takes);
    witness_agrees(&w);
    witness_end(&w);
}

static void a_stall_does_not_push_out_the_hot_size(void **state)
{
    (void)state;
    hot_size_stays("fit", 0.97);
    hot_size_stays("pages", 0.99);
}

/* The bound must not depend on hits. */
static void sizes_that_grow_and_never_come_again(void **state)
{
    (void)state;
    for (size_t k = 0; k < KEEPING_POLICIES; k++) {
        const uint64_t limit = 8 << 20;
        witness w = witness_make(keeping_policies[k], limit, WEIR_NO_LIMIT);
        weir_buffer *before = NULL;
        for (size_t bytes = 1000; bytes < 30000000; bytes += bytes / 7) {
            weir_buffer *buffer = NULL;
            assert_ok(weir_cache_take(w.cache, bytes, &buffer));
            weir_buffer_unref(before);
            before = buffer;
            weir_cache_stats s = stats_of(w.cache);
            assert_true(s.idle_bytes <= limit);
            assert_true(weir_heap_counting_counts(w.heap).bytes <=
                        s.live_bytes + s.book_bytes + limit);
        }
        weir_buffer_unref(before);
        assert_true(stats_of(w.cache).idle_bytes <= limit);
        witness_agrees(&w);
        witness_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traffic),
        cmocka_unit_test(exactly_the_limit),
        cmocka_unit_test(a_stall_does_not_push_out_the_hot_size),
        cmocka_unit_test(sizes_that_grow_and_never_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
