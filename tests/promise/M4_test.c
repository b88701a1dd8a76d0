/* SPDX-License-Identifier: MIT
 *
 * M4: charged is what a buffer occupies; the number of buffers is limited too; peaks.
 */
#include "witness.h"

static void charged_is_what_it_occupies(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("M4");
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    for (int i = 0; i < 500; i++) {
        size_t bytes = 1 + testing_random(&seed) % 100000;
        weir_cache_stats before = stats_of(w.cache);
        weir_buffer *buffer = take(w.cache, bytes);
        weir_cache_stats after = stats_of(w.cache);
        assert_true(after.live_bytes - before.live_bytes == buffer->charged);
        if (after.misses > before.misses) {
            assert_true(buffer->charged == w.heap->ops->good_size(w.heap, bytes));
        }
        memset(buffer->memory, 1, buffer->bytes); /* all of it is usable (address sanitizer) */
        weir_buffer_unref(buffer);
    }
    witness_agrees(&w);
    witness_end(&w);
}

static void number_is_limited(const char *policy)
{
    weir_heap *heap = counting_heap();
    weir_cache_options options = weir_cache_options_default();
    weir_cache *cache = NULL;
    weir_buffer *b[10], *more = NULL;
    options.heap = heap;
    options.policy = policy;
    options.max_buffers = 10;
    assert_ok(weir_cache_create(&options, &cache));
    for (size_t i = 0; i < 10; i++) {
        b[i] = take(cache, 5000 + i * 20000);
    }
    assert_fails(weir_cache_take(cache, 100, &more), WEIR_E_LIMIT,
                 strcmp(policy, "mlx:cuda") == 0 /* rounds up to 128 first */
                     ? "256 bytes asked, 10 buffers held, limit 10 buffers"
                     : "192 bytes asked, 10 buffers held, limit 10 buffers");
    assert_true(stats_of(cache).refusals == 1);
    /* cached buffers count, and are freed for a request that they cannot serve */
    weir_buffer_unref(b[3]);
    assert_true(stats_of(cache).idle_buffers == 1);
    b[3] = take(cache, 100);
    weir_cache_stats s = stats_of(cache);
    assert_true(s.live_buffers == 10 && s.idle_buffers == 0 && s.evictions == 1);
    assert_ok(weir_cache_check(cache));
    for (size_t i = 0; i < 10; i++) {
        weir_buffer_unref(b[i]);
    }
    assert_true(stats_of(cache).idle_buffers == 10);
    weir_cache_destroy(cache);
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    weir_heap_destroy(heap);
}

static void the_number_is_limited(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        if (strcmp(keeping_policies[k], "pages") != 0) { /* which carves buffers: see below */
            number_is_limited(keeping_policies[k]);
        }
    }
}

static void peaks(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    uint64_t book = stats_of(w.cache).book_bytes;
    weir_buffer *a = take(w.cache, 40960), *b = take(w.cache, 81920);
    weir_buffer_unref(a);
    weir_buffer *c = take(w.cache, 20480);
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.live_peak_bytes == 40960 + 81920); /* live peak and held peak differ */
    assert_true(s.held_peak_bytes == book + 40960 + 81920 + 20480);
    assert_true(weir_heap_counting_counts(w.heap).bytes_peak == s.held_peak_bytes);
    weir_buffer_unref(b);
    weir_buffer_unref(c);
    weir_cache_clear(w.cache);
    s = stats_of(w.cache);
    assert_true(s.live_bytes == 0 && s.live_peak_bytes == 122880 && s.held_bytes == book);
    witness_end(&w);
}

/* For a size that each policy charges as it is: live peak and held peak by name, and the heap
 * has counted the same. */
static void peaks_of(const char *policy)
{
    enum { SIZE = 2 << 20 };
    witness w = witness_make(policy, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *a = take(w.cache, SIZE), *b = take(w.cache, 2 * SIZE);
    weir_buffer_unref(b);
    weir_buffer *c = take(w.cache, SIZE); /* pages carves it from b's; others keep b cached */
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.live_bytes == 2 * SIZE && s.live_peak_bytes == 3 * SIZE);
    uint64_t most = s.hits == 1 ? 3 * SIZE : 4 * SIZE;
    assert_true((s.hits == 1) == (strcmp(policy, "pages") == 0));
    assert_true(s.held_peak_bytes == s.book_bytes + most);
    assert_true(weir_heap_counting_counts(w.heap).bytes_peak == s.held_peak_bytes);
    weir_buffer_unref(a);
    weir_buffer_unref(c);
    weir_cache_clear(w.cache);
    weir_cache_stats after = stats_of(w.cache);
    assert_true(after.live_bytes == 0 && after.live_peak_bytes == 3 * SIZE);
    assert_true(after.held_peak_bytes == s.held_peak_bytes);
    witness_end(&w);
}

static void peaks_of_all(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        peaks_of(keeping_policies[k]);
    }
}

/* Carved from cached memory or not: each is one more. */
static void the_number_is_limited_where_buffers_are_cut(void **state)
{
    (void)state;
    weir_cache_options options = weir_cache_options_default();
    weir_cache *cache = NULL;
    weir_buffer *b[10], *more = NULL;
    options.policy = "pages";
    options.max_buffers = 10;
    assert_ok(weir_cache_create(&options, &cache));
    weir_buffer_unref(take(cache, 1 << 20));
    for (size_t i = 0; i < 10; i++) {
        b[i] = take(cache, i % 2 == 0 ? 300 : 70000);
    }
    weir_cache_stats before = stats_of(cache);
    assert_fails(weir_cache_take(cache, 300, &more), WEIR_E_LIMIT,
                 "300 bytes asked, 10 buffers held, limit 10 buffers");
    before.refusals++;
    weir_cache_stats after = stats_of(cache);
    assert_memory_equal(&before, &after, sizeof after);
    weir_buffer_unref(b[3]);
    b[3] = take(cache, 5000);
    assert_ok(weir_cache_check(cache));
    for (size_t i = 0; i < 10; i++) {
        weir_buffer_unref(b[i]);
    }
    weir_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charged_is_what_it_occupies),
        cmocka_unit_test(the_number_is_limited),
        cmocka_unit_test(the_number_is_limited_where_buffers_are_cut),
        cmocka_unit_test(peaks),
        cmocka_unit_test(peaks_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
