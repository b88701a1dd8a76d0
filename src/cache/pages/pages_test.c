/* SPDX-License-Identifier: MIT
 *
 * Policy pages: freed bytes serve any size, the least recently used idle granules are freed first,
 * bytes kept by live neighbours are counted. Promises are tested in tests/promise, for all
 * policies.
 */
#include "cache/cache.h"
#include "cache/pages/pages.h"
#include "witness.h"

#define GRANULE ((size_t)2 << 20)
#define HOT     ((size_t)300 * 256 * 4)

static weir_buffer *take_only(weir_cache *cache, size_t bytes)
{
    weir_buffer *buffer = NULL;
    assert_ok(weir_cache_take(cache, bytes, &buffer));
    return buffer;
}

static void freed_bytes_have_no_shape(void **state)
{
    (void)state;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    static const size_t sizes[] = {300000, 81920, 70000, 66000, 100000};
    weir_buffer *b[5];
    for (size_t i = 0; i < 5; i++) {
        b[i] = take(w.cache, sizes[i]);
    }
    assert_true(stats_of(w.cache).live_bytes == GRANULE && stats_of(w.cache).misses == 1);
    static const size_t order[] = {1, 4, 0, 3, 2};
    for (size_t i = 0; i < 5; i++) {
        weir_buffer_unref(b[order[i]]);
        witness_agrees(&w);
    }
    weir_buffer *all = take(w.cache, GRANULE); /* made of all of them */
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.misses == 1 && s.live_bytes == GRANULE && s.pinned_bytes == 0);
    weir_buffer_unref(all);
    witness_agrees(&w);
    witness_end(&w);
}

/* Bytes left over are used together with fresh ones as one run, below them and above. */
static void leftovers_are_used_with_fresh_granules(void **state)
{
    (void)state;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *a = take(w.cache, GRANULE / 2);
    weir_buffer *b = take(w.cache, 3 * GRANULE / 2);
    assert_true(stats_of(w.cache).held_bytes - stats_of(w.cache).book_bytes == 2 * GRANULE);
    assert_true(stats_of(w.cache).pinned_bytes == 0);
    assert_ptr_equal((char *)a->memory + GRANULE / 2, b->memory);
    weir_buffer_unref(a);
    weir_buffer_unref(b);
    weir_cache_clear(w.cache);
    a = take(w.cache, 20 * GRANULE);
    b = take(w.cache, 100000);
    weir_buffer_unref(a);
    weir_cache_clear(w.cache); /* fresh below, free above */
    a = take(w.cache, GRANULE + GRANULE / 2);
    assert_true(stats_of(w.cache).live_bytes == 2 * GRANULE);
    weir_buffer_unref(a);
    weir_buffer_unref(b);
    witness_agrees(&w);
    witness_end(&w);
}

static void least_recently_used_granules_leave_first(void **state)
{
    (void)state;
    witness w = witness_make("pages", 8 * GRANULE, WEIR_NO_LIMIT);
    weir_buffer *b[10];
    for (size_t i = 0; i < 10; i++) {
        b[i] = take(w.cache, GRANULE);
    }
    static const size_t order[] = {4, 0, 8, 2, 6, 1, 9, 5, 3, 7};
    for (size_t i = 0; i < 10; i++) {
        ((char *)b[i]->memory)[5] = 77;
    }
    char *first = b[4]->memory, *second = b[0]->memory;
    for (size_t i = 0; i < 10; i++) {
        weir_buffer_unref(b[order[i]]);
        assert_true(stats_of(w.cache).idle_bytes == (i < 8 ? i + 1 : 8) * GRANULE); /* M1 */
    }
    assert_true(stats_of(w.cache).evictions == 2);
    for (size_t i = 0; i < 10; i++) {
        b[i] = take_only(w.cache, GRANULE);
    }
    assert_true(stats_of(w.cache).hits == 8);
    for (size_t i = 0; i < 10; i++) { /* what was freed is zeroed again, the rest is unchanged */
        char *memory = b[i]->memory;
        assert_true(memory[5] == (memory == first || memory == second ? 0 : 77));
        weir_buffer_unref(b[i]);
    }
    witness_agrees(&w);
    witness_end(&w);
}

static void larger_than_the_limit_pushes_nothing_out(void **state)
{
    (void)state;
    witness w = witness_make("pages", 8 * GRANULE, WEIR_NO_LIMIT);
    weir_buffer *hot[4], *large = take(w.cache, 9 * GRANULE);
    for (size_t i = 0; i < 4; i++) {
        hot[i] = take(w.cache, GRANULE);
    }
    for (size_t i = 0; i < 4; i++) {
        weir_buffer_unref(hot[i]);
    }
    weir_buffer_unref(large);
    uint64_t misses = stats_of(w.cache).misses;
    for (size_t i = 0; i < 4; i++) {
        hot[i] = take(w.cache, GRANULE);
    }
    assert_true(stats_of(w.cache).misses == misses);
    for (size_t i = 0; i < 4; i++) {
        weir_buffer_unref(hot[i]);
    }
    witness_end(&w);
}

/* Long-lived small buffers, allocated within a stream: the memory they keep is counted, serves
 * others, and is shared, so that the limit is useful. */
static void small_ones_that_live_long(void **state)
{
    (void)state;
    enum { LONG = 400 };
    const uint64_t limit = 16 << 20;
    uint64_t seed = testing_seed("pinned"), pinned_most = 0, small_bytes = 0;
    witness w = witness_make("pages", limit, WEIR_NO_LIMIT);
    weir_buffer *kept[LONG];
    for (size_t message = 0; message < LONG; message++) {
        weir_buffer *b[20];
        size_t times = message % 20 == 19 ? 2 + testing_random(&seed) % 39 : 1;
        for (size_t i = 0; i < 20; i++) {
            b[i] = take_only(w.cache, HOT * times);
            if (i == message % 20) {
                kept[message] = take(w.cache, 64 + testing_random(&seed) % 8000);
                small_bytes += kept[message]->charged;
            }
        }
        for (size_t i = 0; i < 20; i++) {
            weir_buffer_unref(b[i]);
        }
        weir_cache_stats s = stats_of(w.cache);
        assert_true(s.idle_bytes <= limit);
        assert_true(s.live_bytes >=
                    small_bytes / 2 + s.pinned_bytes); /* pinned is a part of live */
        pinned_most = s.pinned_bytes > pinned_most ? s.pinned_bytes : pinned_most;
    }
    weir_cache_stats s = stats_of(w.cache);
    printf("%d small ones of %llu KiB in all: %llu KiB live, %llu pinned, %llu at most\n", LONG,
           (unsigned long long)small_bytes >> 10, (unsigned long long)s.live_bytes >> 10,
           (unsigned long long)s.pinned_bytes >> 10, (unsigned long long)pinned_most >> 10);
    assert_true(s.live_bytes <= small_bytes + 2 * GRANULE);
    witness_agrees(&w);
    uint64_t misses = s.misses; /* what they pin can serve others of their kind */
    weir_buffer *b = take_only(w.cache, 3000);
    assert_true(stats_of(w.cache).misses == misses);
    weir_buffer_unref(b);
    for (size_t i = 0; i < LONG; i++) {
        weir_buffer_unref(kept[i]);
    }
    assert_true(stats_of(w.cache).pinned_bytes == 0 && stats_of(w.cache).live_bytes == 0);
    witness_agrees(&w);
    witness_end(&w);
}

/* From one seed; every 10th message is a stall. */
static void stall_stream(uint64_t seed)
{
    uint64_t live_peak = 0;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    for (size_t message = 0; message < 1000; message++) {
        weir_buffer *b[20];
        size_t times = message % 10 == 9 ? 2 + testing_random(&seed) % 39 : 1;
        for (size_t i = 0; i < 20; i++) {
            b[i] = take_only(w.cache, HOT * times);
        }
        live_peak = 20 * HOT * times > live_peak ? 20 * HOT * times : live_peak;
        for (size_t i = 0; i < 20; i++) {
            weir_buffer_unref(b[i]);
        }
    }
    weir_cache_stats s = stats_of(w.cache);
    printf("live peak %.1f MiB, held peak %.1f MiB\n", (double)live_peak / 1048576,
           (double)s.held_peak_bytes / 1048576);
    assert_true((double)s.held_peak_bytes <= 1.05 * (double)live_peak);
    witness_agrees(&w);
    witness_end(&w);
}

static void the_stall_stream_holds_what_is_live(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("stall");
    for (int i = 0; i < 20;
         i++) { /* one in ten was above, when stacks were joined only if needed */
        stall_stream(testing_random(&seed));
    }
}

/* Every small size can be allocated, is aligned, fully usable, and wastes little. */
static void small_classes(void **state)
{
    (void)state;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    for (size_t bytes = 1; bytes <= 4096; bytes++) {
        weir_buffer *a = take(w.cache, bytes), *b = take(w.cache, bytes);
        assert_true(a->charged - bytes < 64 + bytes / 2 || bytes > WEIRI_SMALL_MAX);
        memset(a->memory, 1, a->bytes);
        memset(b->memory, 2, b->bytes);
        assert_true(((char *)a->memory)[a->bytes - 1] == 1);
        weir_buffer_unref(a);
        weir_buffer_unref(b);
    }
    witness_agrees(&w);
    witness_end(&w);
}

/* Addresses: the table grows by itself, and a further range is reserved; a failed growth leaves
 * nothing allocated. */
static void addresses_grow(void **state)
{
    (void)state;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    static const size_t sizes[] = {(size_t)100 << 20, (size_t)3 << 30, (size_t)70 << 30};
    for (size_t i = 0; i < 3; i++) {
        weir_buffer *buffer = NULL;
        uint64_t held = stats_of(w.cache).held_bytes;
        weir_heap_counting_fail(w.heap, 1, 1000);
        assert_int_equal(weir_cache_take(w.cache, sizes[i], &buffer), WEIR_E_NOMEM);
        weir_heap_counting_fail(w.heap, 0, 0);
        assert_true(stats_of(w.cache).held_bytes <= held);
        witness_agrees(&w);
        for (uint64_t n = 1; buffer == NULL; n++) {
            weir_heap_counting_fail(w.heap, n, 2);
            weir_err err = weir_cache_take(w.cache, sizes[i], &buffer);
            weir_heap_counting_fail(w.heap, 0, 0);
            assert_true(err == WEIR_OK || err == WEIR_E_NOMEM);
            witness_agrees(&w);
        }
        ((char *)buffer->memory)[sizes[i] - 1] = 1;
        weir_buffer_unref(buffer);
        witness_agrees(&w);
        weir_cache_clear(w.cache);
        witness_agrees(&w);
    }
    assert_true(((weiri_pages *)(void *)w.cache->policy)->space_count == 2);
    weir_buffer *b[3]; /* both ranges are used */
    for (size_t i = 0; i < 3; i++) {
        b[i] = take(w.cache, GRANULE * (i + 1));
    }
    for (size_t i = 0; i < 3; i++) {
        weir_buffer_unref(b[i]);
    }
    witness_agrees(&w);
    witness_end(&w);
}

/* A granule is a huge page, or a fraction of the limits: otherwise a small cache would keep
 * nothing. */
static void granules_follow_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t cache_limit, memory_limit, granule;
    } rows[] = {
        {WEIR_NO_LIMIT, WEIR_NO_LIMIT, GRANULE},
        {16 << 20, WEIR_NO_LIMIT, GRANULE},
        {8 << 20, WEIR_NO_LIMIT, GRANULE},
        {2 << 20, WEIR_NO_LIMIT, GRANULE},
        {(2 << 20) - 1, WEIR_NO_LIMIT, GRANULE / 8},
        {0, WEIR_NO_LIMIT, GRANULE},
        {WEIR_NO_LIMIT, 16 << 20, GRANULE / 2},
        {100000, WEIR_NO_LIMIT, 65536},
        {65535, WEIR_NO_LIMIT, GRANULE},
        {256 << 10, 8 << 20, 65536},
        {1 << 20, 16 << 20, GRANULE / 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        witness w = witness_make("pages", rows[i].cache_limit, rows[i].memory_limit);
        weir_buffer *buffer = take(w.cache, 5000); /* in a granule for small ones */
        assert_true(stats_of(w.cache).live_bytes == rows[i].granule);
        assert_true(stats_of(w.cache).pinned_bytes == rows[i].granule - 8192);
        weir_buffer_unref(buffer);
        witness_end(&w);
    }
}

/* ---- limits below a huge page: granules of two sizes --------------------------------------- */

/* Memory that may be kept is kept, in granules of which several fit the limit. */
static void within_a_small_limit_all_is_kept(void **state)
{
    (void)state;
    for (int beside = 0; beside < 2; beside++) {
        witness w = witness_make("pages", 1 << 20, WEIR_NO_LIMIT);
        weir_buffer *large =
            /* is beyond the limit, and stays in use */
            beside != 0 ? take(w.cache, 50 * GRANULE) : NULL;
        uint64_t live = stats_of(w.cache).live_bytes, misses = 0;
        for (int message = 0; message < 50; message++) {
            weir_buffer *b[3];
            for (size_t i = 0; i < 3; i++) {
                b[i] = take(w.cache, HOT);
            }
            assert_true(stats_of(w.cache).live_bytes == live + (1 << 20));
            for (size_t i = 0; i < 3; i++) {
                weir_buffer_unref(b[i]);
                witness_agrees(&w);
            }
            misses = message == 0 ? stats_of(w.cache).misses : misses;
        }
        weir_cache_stats s = stats_of(w.cache);
        assert_true(s.misses == misses && s.evictions == 0 && s.idle_bytes == 1 << 20);
        weir_buffer_unref(large);
        assert_true(stats_of(w.cache).idle_bytes == 1 << 20); /* and evicted nothing */
        witness_end(&w);
    }
}

/* Memory beyond the limit is committed in huge pages: with single pages the stall stream took
 * ten times as long. */
static void beyond_a_small_limit_pages_are_huge(void **state)
{
    (void)state;
    static const struct {
        /* bytes of a message that stay, granules that are committed and decommitted */
        uint64_t limit, kept, fresh;
    } rows[] = {
        {1 << 20, 1 << 20, 3}, {256 << 10, 0, 3}, {64 << 10, 0, 3}, {(2 << 20) - 1, 3 << 19, 3}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        witness w = witness_make("pages", rows[r].limit, WEIR_NO_LIMIT);
        weir_cache_stats before = stats_of(w.cache);
        for (uint64_t message = 0; message < 30; message++) {
            weir_buffer *b[20];
            for (size_t i = 0; i < 20; i++) {
                b[i] = take_only(w.cache, HOT);
            }
            assert_true(stats_of(w.cache).live_bytes == rows[r].kept + rows[r].fresh * GRANULE);
            for (size_t i = 0; i < 20; i++) {
                weir_buffer_unref(b[i]);
                assert_true(stats_of(w.cache).idle_bytes <= rows[r].limit); /* M1 */
            }
            weir_cache_stats s = stats_of(w.cache);
            assert_true(s.evictions - before.evictions == rows[r].fresh);
            assert_true(s.evicted_bytes - before.evicted_bytes == rows[r].fresh * GRANULE);
            assert_true(s.idle_bytes == rows[r].kept);
            assert_true(message == 0 || s.misses - before.misses == rows[r].fresh);
            before = s;
            witness_agrees(&w);
        }
        witness_end(&w);
    }
}

/* Addresses for coarse granules are reserved with the first one; if that fails, nothing remains
 * allocated. */
static void beyond_a_small_limit_calls_fail(void **state)
{
    (void)state;
    witness w = witness_make("pages", 1 << 20, WEIR_NO_LIMIT);
    weir_buffer *kept = take(w.cache, HOT), *buffer = NULL;
    weir_cache_stats before = stats_of(w.cache);
    uint64_t failed = 0;
    for (uint64_t n = 1; buffer == NULL; n++) {
        weir_heap_counting_fail(w.heap, n, 100);
        weir_err err = weir_cache_take(w.cache, 5 * GRANULE, &buffer);
        weir_heap_counting_fail(w.heap, 0, 0);
        assert_int_equal(err, buffer == NULL ? WEIR_E_NOMEM : WEIR_OK);
        weir_cache_stats s = stats_of(w.cache);
        assert_true(err == WEIR_OK || s.held_bytes <= before.held_bytes + 4096);
        failed += err != WEIR_OK;
        witness_agrees(&w);
    }
    assert_true(failed >= 3); /* addresses, their table, the pages */
    weir_buffer_unref(kept);
    weir_buffer_unref(buffer);
    assert_true(stats_of(w.cache).idle_bytes == 512 << 10);
    witness_agrees(&w);
    witness_end(&w);
}

/* A raised limit allows huge pages too: fresh memory consists of them from then on. */
static void a_small_limit_is_raised_and_lowered(void **state)
{
    (void)state;
    witness w = witness_make("pages", 256 << 10, WEIR_NO_LIMIT);
    weir_buffer_unref(take(w.cache, 100000));
    assert_true(stats_of(w.cache).idle_bytes == 128 << 10);
    weir_cache_limit_idle(w.cache, 8 << 20);
    weir_buffer *b[4];
    for (size_t i = 0; i < 4; i++) {
        b[i] = take(w.cache, GRANULE);
    }
    assert_true(stats_of(w.cache).live_bytes == 4 * GRANULE);
    for (size_t i = 0; i < 4; i++) {
        weir_buffer_unref(b[i]);
        assert_true(stats_of(w.cache).idle_bytes <= 8 << 20); /* M1 */
        witness_agrees(&w);
    }
    /* the fine ones were freed: used earlier */
    assert_true(stats_of(w.cache).idle_bytes == 4 * GRANULE);
    weir_cache_limit_idle(w.cache, 256 << 10);
    assert_true(stats_of(w.cache).idle_bytes == 0); /* M5 */
    weir_buffer *small = take(w.cache, 100000);
    assert_true(stats_of(w.cache).live_bytes == 128 << 10);
    weir_buffer_unref(small);
    assert_true(stats_of(w.cache).idle_bytes == 128 << 10);
    witness_agrees(&w);
    witness_end(&w);
}

static uint64_t system_kib(const char *field)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            (void)sscanf(line + strlen(field), ": %llu", &kib);
        }
    }
    fclose(file);
    return kib;
}

/* What is reported as freed has been freed, also by the heap's own count. */
static void the_system_agrees(void **state)
{
    (void)state;
#ifdef TESTING_SANITIZED
    printf("skipped: a sanitizer's own memory hides what the system counts\n");
    skip();
#endif
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    uint64_t rss = system_kib("Rss"), pss = system_kib("Pss");
    weir_buffer *b[32];
    for (size_t i = 0; i < 32; i++) {
        b[i] = take(w.cache, 3 * GRANULE / 2);
    }
    for (size_t i = 0; i < 32; i++) {
        weir_buffer_unref(b[i]);
    }
    uint64_t idle = stats_of(w.cache).idle_bytes >> 10;
    assert_true(idle == 96 << 10 || idle == (96 << 10) + 2048);
    assert_true(system_kib("Rss") - rss > (94 << 10) && system_kib("Rss") - rss < (100 << 10));
    weir_cache_limit_idle(w.cache, 16 << 20);
    assert_true(stats_of(w.cache).idle_bytes == 16 << 20);
    assert_true(system_kib("Rss") < rss + (20 << 10) && system_kib("Pss") < pss + (20 << 10));
    weir_cache_clear(w.cache);
    assert_true(system_kib("Rss") < rss + (4 << 10) && system_kib("Pss") < pss + (4 << 10));
    witness_end(&w);
}

/* Tests the check itself: each wrong value is found. */
static void the_check_finds_what_is_wrong(void **state)
{
    (void)state;
    witness w = witness_make("pages", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weiri_pages *p = (weiri_pages *)(void *)w.cache->policy;
    weir_buffer *live = take(w.cache, 100000), *small = take(w.cache, 100);
    weir_buffer_unref(take(w.cache, 3 * GRANULE));
    weir_buffer_unref(take(w.cache, 50000));
    assert_ok(weir_cache_check(w.cache));
    weiri_granule *granule = &p->spaces[0].table[0];
    uint64_t *const counters[] = {&p->policy.pinned_bytes, &w.cache->live, &w.cache->idle};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        *counters[i] += 1;
        assert_int_equal(weir_cache_check(w.cache), WEIR_E_INTERNAL);
        *counters[i] -= 1;
    }
    granule->live_units++;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "live units");
    granule->live_units--;
    granule->state = WEIRI_GRANULE_NONE;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "state");
    granule->state = WEIRI_GRANULE_READY;
    p->front.count++;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "stacks");
    p->front.count--;
    weiri_granule *oldest = p->oldest;
    p->oldest = oldest->newer;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "order of use");
    p->oldest = oldest;
    weiri_record *record = (weiri_record *)(void *)small;
    record->left->buffer.charged ^= UINT64_C(1) << record->stamp;
    assert_int_equal(weir_cache_check(w.cache), WEIR_E_INTERNAL);
    record->left->buffer.charged ^= UINT64_C(1) << record->stamp;
    live->bytes -= 4096;
    assert_int_equal(weir_cache_check(w.cache), WEIR_E_INTERNAL);
    live->bytes += 4096;
    assert_ok(weir_cache_check(w.cache));
    weir_buffer_unref(live);
    weir_buffer_unref(small);
    witness_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_bytes_have_no_shape),
        cmocka_unit_test(leftovers_are_used_with_fresh_granules),
        cmocka_unit_test(least_recently_used_granules_leave_first),
        cmocka_unit_test(larger_than_the_limit_pushes_nothing_out),
        cmocka_unit_test(small_ones_that_live_long),
        cmocka_unit_test(the_stall_stream_holds_what_is_live),
        cmocka_unit_test(small_classes),
        cmocka_unit_test(addresses_grow),
        cmocka_unit_test(granules_follow_limits),
        cmocka_unit_test(within_a_small_limit_all_is_kept),
        cmocka_unit_test(beyond_a_small_limit_pages_are_huge),
        cmocka_unit_test(beyond_a_small_limit_calls_fail),
        cmocka_unit_test(a_small_limit_is_raised_and_lowered),
        cmocka_unit_test(the_system_agrees),
        cmocka_unit_test(the_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
