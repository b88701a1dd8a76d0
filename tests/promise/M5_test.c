/* SPDX-License-Identifier: MIT
 *
 * M5: lowered limits act in the call that lowers them.
 */
#include "witness.h"

static void a_lower_cache_limit_acts_at_once(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *b[8];
    for (size_t i = 0; i < 8; i++) {
        b[i] = take(w.cache, 8192);
    }
    for (size_t i = 0; i < 8; i++) {
        weir_buffer_unref(b[i]);
    }
    uint64_t before = weir_heap_counting_counts(w.heap).bytes;
    weir_cache_limit_idle(w.cache, 3 * 8192 + 100);
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.idle_bytes == 3 * 8192 && s.evictions == 5 &&
                s.cache_limit_bytes == 3 * 8192 + 100);
    assert_true(weir_heap_counting_counts(w.heap).bytes ==
                before - 5 * 8192); /* freed, not only counted */
    witness_agrees(&w);
    weir_cache_limit_idle(w.cache, WEIR_NO_LIMIT);
    assert_true(stats_of(w.cache).idle_bytes == 3 * 8192);
    weir_cache_limit_idle(w.cache, 0);
    assert_true(stats_of(w.cache).idle_bytes == 0);
    witness_agrees(&w);
    witness_end(&w);
}

static void a_lower_memory_limit(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, 1 << 20);
    uint64_t book = stats_of(w.cache).book_bytes;
    weir_buffer *live = take(w.cache, 81920), *idle[4];
    for (size_t i = 0; i < 4; i++) {
        idle[i] = take(w.cache, 8192);
    }
    for (size_t i = 0; i < 4; i++) {
        weir_buffer_unref(idle[i]);
    }
    /* frees as much as needed */
    assert_ok(weir_cache_limit_held(w.cache, book + 81920 + 2 * 8192));
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.idle_bytes == 2 * 8192 && s.evictions == 2);
    assert_true(s.memory_limit_bytes == s.held_bytes);
    witness_agrees(&w);
    /* Below live: cached buffers are freed, the error names live, the old limit stays. */
    uint64_t old = s.memory_limit_bytes;
    assert_fails(weir_cache_limit_held(w.cache, book + 81919), WEIR_E_LIMIT, "(81920 live)");
    s = stats_of(w.cache);
    assert_true(s.idle_bytes == 0 && s.live_bytes == 81920 && s.memory_limit_bytes == old);
    assert_true(s.refusals == 0); /* no allocation was refused */
    witness_agrees(&w);
    assert_ok(weir_cache_limit_held(w.cache, book + 81920)); /* exactly what is held */
    assert_ok(weir_cache_limit_held(w.cache, WEIR_NO_LIMIT));
    weir_buffer_unref(live);
    witness_agrees(&w);
    witness_end(&w);
}

/* For every policy, in a size that each charges as it is. */
#define SIZE ((size_t)2 << 20)

static void limits_of(const char *policy, bool keeps_idle)
{
    witness w = witness_make(policy, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *live = take(w.cache, SIZE), *idle[8];
    for (size_t i = 0; i < 8; i++) {
        idle[i] = take(w.cache, SIZE);
    }
    for (size_t i = 0; i < 8; i++) {
        weir_buffer_unref(idle[i]);
    }
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.live_bytes == SIZE && s.idle_bytes == 8 * SIZE);
    if (keeps_idle) {
        uint64_t before = weir_heap_counting_counts(w.heap).bytes;
        weir_cache_limit_idle(w.cache, 6 * SIZE + 100);
        assert_true(stats_of(w.cache).idle_bytes == 6 * SIZE);
        assert_true(weir_heap_counting_counts(w.heap).bytes <= before - 2 * SIZE);
        witness_agrees(&w);
    }
    assert_ok(weir_cache_limit_held(w.cache, s.book_bytes + 4 * SIZE));
    assert_true(stats_of(w.cache).idle_bytes == 3 * SIZE);
    witness_agrees(&w);
    char named[64];
    snprintf(named, sizeof named, "(%llu live)", (unsigned long long)SIZE);
    assert_fails(weir_cache_limit_held(w.cache, SIZE - 1), WEIR_E_LIMIT, named);
    s = stats_of(w.cache);
    assert_true(s.idle_bytes == 0 && s.live_bytes == SIZE && s.refusals == 0);
    assert_true(s.memory_limit_bytes >= 4 * SIZE); /* the old one */
    witness_agrees(&w);
    assert_ok(weir_cache_limit_held(w.cache, s.held_bytes)); /* exactly */
    weir_buffer_unref(live);
    witness_agrees(&w);
    witness_end(&w);
}

static void of_every_policy(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        limits_of(keeping_policies[k], k < KEEPING_POLICIES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lower_cache_limit_acts_at_once),
        cmocka_unit_test(a_lower_memory_limit),
        cmocka_unit_test(of_every_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
