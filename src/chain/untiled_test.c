/* SPDX-License-Identifier: MIT
 *
 * untiled_test.c: which buffers weir_chain_untiled takes, and how long each stays.
 */
#include <weir/chain.h>

#include <string.h>

#include "caches.h"

enum { CHANNELS = 64, FRAMES = 512, BYTES = CHANNELS * FRAMES * 4 };

static weir_chain *new_chain(void)
{
    weir_chain *chain = NULL;
    assert_ok(weir_chain_create(NULL, &chain));
    return chain;
}

static int add(weir_chain *chain, int parent, const char *unit)
{
    const weir_value settings[] = {weir_text("bin_duration", "256 ms")};
    bool bins = strcmp(unit, "binned_aggregate") == 0;
    int node = 0;
    assert_ok(weir_chain_add(chain, parent, unit, settings, bins ? 1 : 0, NULL, &node));
    return node;
}

static void plan(weir_chain *chain)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, CHANNELS, NULL, NULL);
    const weir_plan *planned = NULL;
    assert_ok(weir_chain_plan(chain, &spec, &planned));
}

/* Buffers in use at once, and buffers in all, for one message. */
static void check(weir_chain *chain, uint64_t most, uint64_t all)
{
    weir_cache *cache = new_cache(NULL, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    assert_ok(weir_chain_untiled(chain, cache, 0, FRAMES));
    weir_cache_stats stats = stats_of(cache);
    assert_int_equal(stats.live_peak_bytes, most * BYTES);
    assert_int_equal(stats.hits + stats.misses, all);
    assert_int_equal(stats.live_bytes, 0);
    weir_cache_destroy(cache);
}

static void each_output_stays_until_it_is_read(void **state)
{
    (void)state;
    weir_chain *chain = new_chain();
    int node = WEIR_CHAIN_INPUT;
    for (int i = 0; i < 5; i++) {
        node = add(chain, node, "abs");
    }
    plan(chain);
    check(chain, 2, 5);
    weir_chain_destroy(chain);

    /* abs -> { abs -> abs, log } -> add: the first abs, and both branches; then these and the sum */
    chain = new_chain();
    int before = add(chain, WEIR_CHAIN_INPUT, "abs");
    int parents[] = {add(chain, add(chain, before, "abs"), "abs"), add(chain, before, "log")};
    assert_ok(weir_chain_join(chain, parents, 2, "add", NULL, 0, NULL, &node));
    plan(chain);
    check(chain, 3, 5);
    weir_chain_destroy(chain);
}

static void frames_are_those_that_are_due(void **state)
{
    (void)state;
    weir_chain *chain = new_chain();
    add(chain, WEIR_CHAIN_INPUT, "binned_aggregate"); /* of 256 frames */
    plan(chain);
    weir_cache *cache = new_cache(NULL, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    assert_ok(weir_chain_untiled(chain, cache, 0, 255));
    assert_int_equal(stats_of(cache).misses, 0);
    assert_ok(weir_chain_untiled(chain, cache, 255, 0));
    assert_int_equal(stats_of(cache).misses, 0);
    assert_ok(weir_chain_untiled(chain, cache, 255, 1));
    assert_int_equal(stats_of(cache).misses, 1);
    uint64_t bytes = stats_of(cache).live_peak_bytes; /* one frame, as the cache charges it */
    assert_true(bytes >= CHANNELS * 4 && bytes < 2 * CHANNELS * 4);
    weir_cache_destroy(cache);
    weir_chain_destroy(chain);
}

static void what_is_refused_leaves_nothing_in_use(void **state)
{
    (void)state;
    weir_chain *chain = new_chain();
    weir_cache *cache = new_cache(NULL, WEIR_NO_LIMIT, 2 * BYTES);
    int node = add(chain, WEIR_CHAIN_INPUT, "abs");
    add(chain, node, "abs");
    assert_int_equal(weir_chain_untiled(chain, cache, 0, FRAMES), WEIR_E_USAGE); /* no plan */
    plan(chain);
    assert_int_equal(weir_chain_untiled(chain, cache, 0, FRAMES), WEIR_E_LIMIT);
    assert_int_equal(weir_chain_untiled(chain, cache, 0, UINT64_MAX / 4), WEIR_E_NOMEM);
    assert_int_equal(weir_chain_untiled(chain, cache, 0, UINT64_MAX), WEIR_E_USAGE);
    assert_int_equal(stats_of(cache).live_bytes, 0);
    assert_ok(weir_cache_check(cache));
    assert_ok(weir_chain_untiled(chain, cache, 0, FRAMES / 2));
    weir_cache_destroy(cache);
    weir_chain_destroy(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_output_stays_until_it_is_read),
        cmocka_unit_test(frames_are_those_that_are_due),
        cmocka_unit_test(what_is_refused_leaves_nothing_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
