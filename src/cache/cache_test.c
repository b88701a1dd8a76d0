/* SPDX-License-Identifier: MIT
 *
 * A cache from creation to destruction: options, owners, charges, statistics. Promises are tested
 * in tests/promise, random traffic in tests/limit, failing heap calls in tests/fault.
 */
#include "cache/cache.h"
#include "witness.h"

static void options_are_checked(void **state)
{
    (void)state;
    weir_cache *cache = NULL;
    weir_cache_options options = weir_cache_options_default();
    options.policy = "fitt";
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_USAGE,
                 "no policy 'fitt'; the nearest is 'fit'");
    options = weir_cache_options_default();
    options.options_size = 3;
    assert_fails(
        weir_cache_create(&options, &cache), WEIR_E_USAGE,
        "options_size is 3, less than 48 or not set: weir_cache_options_default() makes them");
    options = (weir_cache_options){.memory_limit = 1 << 20};
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_USAGE, "weir_cache_options_default()");
    options = weir_cache_options_default();
    options.reserved[0] = 1;
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_USAGE, "does not know");
    options = weir_cache_options_default();
    options.memory_limit = 1000;
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_LIMIT,
                 "asked for its records, 0 held, limit 1000");
    weir_heap bad = {NULL};
    options.heap = &bad;
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_USAGE, "ops");
    assert_null(cache);
    assert_ok(weir_cache_create(NULL, &cache));
    weir_cache_stats s = stats_of(cache);
    assert_true(s.cache_limit_bytes == WEIR_NO_LIMIT && s.memory_limit_bytes == WEIR_NO_LIMIT);
    weir_cache_destroy(cache);
    weir_cache_destroy(NULL);
}

/* The host heap's functions without those for pages, as a device's heap may be. */
static void a_heap_without_pages(void **state)
{
    (void)state;
    weir_heap *host = NULL;
    assert_ok(weir_heap_find("host", &host));
    weir_heap_ops ops = *host->ops;
    weir_heap heap = *host;
    ops.flags &= ~(uint32_t)WEIR_HEAP_PAGES;
    ops.ops_size = offsetof(weir_heap_ops, page_size);
    heap.ops = &ops;
    for (const char *const *name = weir_cache_policies(); *name != NULL; name++) {
        weir_cache *cache = NULL;
        weir_cache_options options = weir_cache_options_default();
        options.heap = &heap;
        options.policy = *name;
        if (strcmp(*name, "pages") == 0) {
            assert_fails(weir_cache_create(&options, &cache), WEIR_E_USAGE, "pages");
            continue;
        }
        assert_ok(weir_cache_create(&options, &cache));
        weir_buffer_unref(take(cache, 100000));
        assert_ok(weir_cache_check(cache));
        weir_cache_destroy(cache);
    }
}

static void policies_have_names(void **state)
{
    (void)state;
    const char *const *names = weir_cache_policies();
    assert_string_equal(names[0], "fit");
    for (size_t i = 0; names[i] != NULL; i++) {
        witness w = witness_make(names[i], 1 << 20, WEIR_NO_LIMIT);
        weir_buffer_unref(take(w.cache, 1000));
        witness_agrees(&w);
        witness_end(&w);
    }
}

static void owners_are_counted(void **state)
{
    (void)state;
    witness w = witness_make(NULL, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *buffer = take(w.cache, 0); /* counts as 1 */
    assert_ptr_equal(weir_buffer_ref(buffer), buffer);
    weir_buffer_unref(buffer);
    assert_true(stats_of(w.cache).live_buffers == 1);
    weir_buffer_unref(buffer);
    weir_buffer_unref(NULL);
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.live_buffers == 0 && s.idle_buffers == 1 && s.misses == 1 && s.hits == 0);
    assert_ptr_equal(take(w.cache, 1), buffer);
    s = stats_of(w.cache);
    assert_true(s.hits == 1 && s.live_buffers == 1 && s.idle_bytes == 0);
    witness_agrees(&w);
    weir_buffer_unref(buffer);
    weir_cache_clear(w.cache);
    s = stats_of(w.cache);
    assert_true(s.idle_bytes == 0 && s.idle_buffers == 0 && s.evictions == 0);
    witness_agrees(&w);
    witness_end(&w);
}

static void a_cache_ends_with_its_last_buffer(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *a = take(w.cache, 5000), *b = take(w.cache, 70000), *idle = take(w.cache, 9000);
    weir_buffer_unref(idle);
    uint64_t with_idle = weir_heap_counting_counts(w.heap).bytes;
    weir_cache_destroy(w.cache);
    assert_true(weir_heap_counting_counts(w.heap).bytes == with_idle - 12288); /* cached, at once */
    weir_buffer_unref(a);
    memset(b->memory, 1, 70000); /* still in use by its owner */
    weir_buffer_unref(weir_buffer_ref(b));
    assert_true(weir_heap_counting_counts(w.heap).bytes > 70000);
    weir_buffer_unref(b);
    assert_true(weir_heap_counting_counts(w.heap).bytes == 0);
    weir_heap_destroy(w.heap);
}

static void charges_count_as_held(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, 100000);
    weir_buffer_unref(take(w.cache, 40000)); /* cached buffers are freed for a charge */
    assert_fails(weir_cache_charge(w.cache, 96000), WEIR_E_LIMIT, "cache: 96000 bytes asked");
    assert_true(stats_of(w.cache).idle_bytes == 40960 && stats_of(w.cache).refusals == 1);
    assert_ok(weir_cache_charge(w.cache, 95000));
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.charged_bytes == 95000 && s.idle_bytes == 0 && s.evictions == 1);
    witness_agrees(&w);
    assert_int_equal(weir_cache_charge(w.cache, 905), WEIR_E_LIMIT);
    assert_ok(weir_cache_charge(w.cache, 904)); /* exactly the limit */
    assert_int_equal(weir_cache_charge(w.cache, 1), WEIR_E_LIMIT);
    weir_cache_uncharge(w.cache, 95904);
    assert_true(stats_of(w.cache).held_peak_bytes == 100000);
    witness_agrees(&w);
    witness_end(&w);
    w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    assert_ok(weir_cache_charge(w.cache, UINT64_MAX / 2));
    assert_int_equal(weir_cache_charge(w.cache, UINT64_MAX / 2),
                     WEIR_E_LIMIT); /* no sum overflows */
    weir_cache_uncharge(w.cache, UINT64_MAX / 2);
    witness_end(&w);
}

static void what_a_take_will_cost(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    static weir_buffer *buffers[200];
    for (size_t i = 0; i < 200; i++) { /* some of them need another slab of records */
        size_t bytes = 1 + i * 331;
        uint64_t before = stats_of(w.cache).held_bytes, cost = weiri_cache_cost(w.cache, bytes);
        buffers[i] = take(w.cache, bytes);
        assert_true(stats_of(w.cache).held_bytes == before + cost);
    }
    assert_true(weiri_cache_cost(w.cache, SIZE_MAX) == UINT64_MAX);
    for (size_t i = 0; i < 200; i++) {
        weir_buffer_unref(buffers[i]);
    }
    witness_end(&w);
}

static void statistics_know_their_size(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *buffer = take(w.cache, 100);
    struct {
        weir_cache_stats known;
        uint64_t newer, beyond;
    } s;
    memset(&s, 0x77, sizeof s);
    s.known.stats_size = offsetof(weir_cache_stats, auto_limit_bytes);
    assert_fails(weir_cache_stats_read(w.cache, &s.known), WEIR_E_USAGE,
                 "set it to sizeof(weir_cache_stats)");
    /* from a program compiled against a larger struct */
    s.known.stats_size = sizeof s.known + sizeof s.newer;
    assert_ok(weir_cache_stats_read(w.cache, &s.known));
    assert_true(s.known.version == 1 && s.known.live_bytes == 192 && s.known.idle_bytes == 0);
    assert_true(s.known.stats_size == sizeof s.known + sizeof s.newer);
    assert_true(s.newer == 0 && s.beyond == UINT64_C(0x7777777777777777));
    weir_buffer_unref(buffer);
    witness_end(&w);
}

/* Tests the check itself: each wrong counter is found. */
static void the_check_finds_what_is_wrong(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    weir_buffer *live = take(w.cache, 100), *idle = take(w.cache, 200);
    weir_buffer_unref(idle);
    assert_ok(weir_cache_check(w.cache));
    const struct {
        uint64_t *counter;
        const char *text;
    } rows[] = {{&w.cache->live, "live"},
                {&w.cache->idle, "idle"},
                {&w.cache->book, "book"},
                {&w.cache->live_buffers, "live_buffers"},
                {&w.cache->leaving, "leaving"},
                {&w.cache->pending_buffers, "pending_buffers"},
                {&w.cache->policy->idle_buffers, "in the list"},
                {&w.cache->records.free_count, "free records"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        *rows[i].counter += 1;
        assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, rows[i].text);
        *rows[i].counter -= 1;
    }
    w.cache->memory_limit = 5;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "limit 5");
    w.cache->memory_limit = WEIR_NO_LIMIT;
    w.cache->cache_limit = 5;
    assert_fails(weir_cache_check(w.cache), WEIR_E_INTERNAL, "limit 5");
    w.cache->cache_limit = WEIR_NO_LIMIT;
    live->charged += 64;
    assert_int_equal(weir_cache_check(w.cache), WEIR_E_INTERNAL);
    live->charged -= 64;
    assert_ok(weir_cache_check(w.cache));
    weir_buffer_unref(live);
    witness_end(&w);
}

static void limits_are_read(void **state)
{
    (void)state;
    uint64_t limit = 7;
    assert_int_equal(weir_limit_parse("64 MiB", false, &limit), WEIR_OK);
    assert_true(limit == 64 << 20);
    assert_int_equal(weir_limit_parse("None", false, &limit), WEIR_OK);
    assert_true(limit == WEIR_NO_LIMIT);
    assert_int_equal(weir_limit_parse("AUTO", true, &limit), WEIR_OK);
    assert_true(limit == WEIR_LIMIT_AUTO);
    limit = 7;
    assert_int_equal(weir_limit_parse("auto", false, &limit), WEIR_E_USAGE);
    assert_int_equal(weir_limit_parse("", true, &limit), WEIR_E_USAGE);
    assert_int_equal(weir_limit_parse(NULL, true, &limit), WEIR_E_USAGE);
    assert_true(limit == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(a_heap_without_pages),
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(owners_are_counted),
        cmocka_unit_test(a_cache_ends_with_its_last_buffer),
        cmocka_unit_test(charges_count_as_held),
        cmocka_unit_test(what_a_take_will_cost),
        cmocka_unit_test(statistics_know_their_size),
        cmocka_unit_test(the_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
