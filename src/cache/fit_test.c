/* SPDX-License-Identifier: MIT
 *
 * Policy fit: which buffers are reused and which are freed first. idle_test.c tests the cost with
 * many cached buffers.
 */
#include "cache/cache.h"
#include "witness.h"

static weir_buffer *idle_of(weir_cache *cache, size_t bytes)
{
    weir_buffer *buffer = take(cache, bytes);
    weir_buffer_unref(buffer);
    return buffer;
}

static void the_smallest_that_fits(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *kept[4];
    for (size_t i = 0; i < 4; i++) {
        kept[i] = take(w.cache, 100000 + i * 4096);
    }
    for (size_t i = 4; i-- > 0;) {
        weir_buffer_unref(kept[i]);
    }
    assert_ptr_equal(take(w.cache, 104000), kept[1]);
    assert_ptr_equal(take(w.cache, 104000), kept[2]);
    assert_ptr_equal(take(w.cache, 95000), kept[0]);
    assert_ptr_equal(take(w.cache, 95000), kept[3]);
    witness_agrees(&w);
    for (size_t i = 0; i < 4; i++) {
        weir_buffer_unref(kept[i]);
    }
    witness_end(&w);
}

static void any_request_of_the_same_pages(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *buffer = idle_of(w.cache, 9000); /* three pages */
    assert_true(buffer->bytes == 12288 && buffer->charged == 12288);
    assert_ptr_equal(take(w.cache, 12288), buffer);
    weir_buffer_unref(buffer);
    weir_buffer *small = idle_of(w.cache, 1000);
    assert_true(small->bytes == 1000 && small->charged == 1088);
    weir_buffer *larger = take(w.cache, 1001);
    assert_ptr_not_equal(larger, small);
    weir_buffer_unref(larger);
    witness_end(&w);
}

/* Bound on waste: a quarter of the request, and 1 MiB. */
static void waste_is_bounded(void **state)
{
    (void)state;
    const size_t page = 4096;
    static const struct {
        size_t idle, asked; /* pages */
        bool reused;
    } rows[] = {{5, 4, true},       {6, 4, false},      {125, 100, true},    {126, 100, false},
                {1280, 1024, true}, {2304, 2048, true}, {2305, 2048, false}, {4, 5, false},
                {4, 4, true},       {2, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
        weir_buffer *buffer = NULL, *idle = NULL;
        assert_ok(weir_cache_take(w.cache, rows[i].idle * page, &idle));
        weir_buffer_unref(idle);
        assert_ok(weir_cache_take(w.cache, rows[i].asked * page, &buffer));
        assert_true((buffer == idle) == rows[i].reused);
        assert_true(stats_of(w.cache).hits == rows[i].reused);
        witness_agrees(&w);
        weir_buffer_unref(buffer);
        witness_end(&w);
    }
}

static void of_equals_the_last_one_given_back(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *b[5];
    for (size_t i = 0; i < 5; i++) {
        b[i] = take(w.cache, 8192);
    }
    static const size_t order[] = {3, 0, 4, 1, 2};
    for (size_t i = 0; i < 5; i++) {
        weir_buffer_unref(b[order[i]]);
        assert_ok(weir_cache_check(w.cache));
    }
    for (size_t i = 5; i-- > 0;) {
        assert_ptr_equal(take(w.cache, 8000), b[order[i]]);
    }
    for (size_t i = 0; i < 5; i++) {
        weir_buffer_unref(b[i]);
    }
    witness_end(&w);
}

static void least_recently_used_go_first(void **state)
{
    (void)state;
    witness w = witness_make("fit", 5 * 8192, WEIR_NO_LIMIT);
    weir_buffer *hot = take(w.cache, 8192), *b[4];
    for (size_t i = 0; i < 4; i++) {
        b[i] = take(w.cache,
                    /* sizes that cannot serve each other's requests: 3 5 7 9 times 8 KiB */
                    8192 + (i + 1) * 8192 * 2);
    }
    weir_buffer_unref(hot);
    weir_buffer_unref(b[0]); /* 1 + 3 */
    assert_true(stats_of(w.cache).evictions == 0);
    weir_buffer_unref(take(w.cache, 8192)); /* just used again: b[0] is the oldest now */
    weir_buffer_unref(b[1]);                /* 5: both must be freed */
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.evictions == 2 && s.evicted_bytes == 4 * 8192 && s.idle_bytes == 5 * 8192);
    /* 7: larger than the limit by itself: not kept, and nothing is freed for it */
    weir_buffer_unref(b[2]);
    s = stats_of(w.cache);
    assert_true(s.evictions == 2 && s.idle_bytes == 5 * 8192);
    witness_agrees(&w);
    weir_buffer_unref(b[3]);
    hot = take(w.cache, 8192);
    weir_buffer_unref(hot); /* 1 + 5: one must be freed, the older one */
    s = stats_of(w.cache);
    assert_true(s.evictions == 3 && s.idle_bytes == 8192);
    witness_end(&w);
}

/* The tree compared with a plain search, under random traffic. */
static void the_tree_finds_what_a_search_finds(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("fit");
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    enum { COUNT = 200 };
    weir_buffer *idle[COUNT], *live[COUNT];
    size_t idle_count = 0, live_count = 0;
    uint64_t hits = 0;
    for (int step = 0; step < 4000; step++) {
        if (live_count > 0 && (testing_random(&seed) % 2 == 0 || live_count == COUNT)) {
            size_t i = testing_random(&seed) % live_count;
            idle[idle_count++] = live[i];
            weir_buffer_unref(live[i]);
            live[i] = live[--live_count];
        } else if (idle_count < COUNT / 2) {
            size_t bytes = 1 + testing_random(&seed) % 20000, best = COUNT;
            for (size_t i = 0; i < idle_count; i++) { /* the last freed of the smallest */
                if (idle[i]->bytes >= bytes &&
                    (best == COUNT || idle[i]->bytes <= idle[best]->bytes)) {
                    best = i;
                }
            }
            size_t good = w.heap->ops->good_size(w.heap, bytes);
            bool hit = best < COUNT && idle[best]->charged - good <= good / 4;
            weir_buffer *wanted = hit ? idle[best] : NULL;
            live[live_count] = take(w.cache, bytes);
            assert_true(stats_of(w.cache).hits == hits + hit);
            hits += hit;
            if (hit) {
                assert_ptr_equal(live[live_count], wanted);
                memmove(&idle[best], &idle[best + 1], (--idle_count - best) * sizeof idle[0]);
            }
            live_count++;
        } else {
            weir_cache_clear(w.cache);
            idle_count = 0;
        }
        if (step % 16 == 0) {
            witness_agrees(&w);
        }
    }
    assert_true(hits > 100);
    while (live_count > 0) {
        weir_buffer_unref(live[--live_count]);
    }
    witness_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_fits),
        cmocka_unit_test(any_request_of_the_same_pages),
        cmocka_unit_test(waste_is_bounded),
        cmocka_unit_test(of_equals_the_last_one_given_back),
        cmocka_unit_test(least_recently_used_go_first),
        cmocka_unit_test(the_tree_finds_what_a_search_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
