/* SPDX-License-Identifier: MIT
 *
 * M2: held <= memory_limit at every instant; a refusal changes nothing but its count; cached memory
 * is never its cause.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <weir/chain.h>

#include "cache/cache.h"
#include "witness.h"

#define LIMIT ((uint64_t)1 << 20)

static bool same_but_refusals(weir_cache_stats a, weir_cache_stats b)
{
    a.refusals = b.refusals;
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Space for one buffer in addition to the cache's own block. */
static uint64_t room_of(weir_cache *cache)
{
    return LIMIT - stats_of(cache).book_bytes;
}

static void exactly_the_limit_and_one_byte_more(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, LIMIT);
    weir_buffer *buffer = NULL;
    uint64_t room = room_of(w.cache);
    weir_buffer *idle = take(w.cache, 50000);
    weir_buffer_unref(idle);
    weir_cache_stats before = stats_of(w.cache);
    for (int again = 0; again < 3; again++) { /* refused, and refused again in the same way */
        assert_int_equal(weir_cache_take(w.cache, room + 1, &buffer), WEIR_E_LIMIT);
        char wanted[128];
        snprintf(wanted, sizeof wanted,
                 "cache: %llu bytes asked, %llu held (0 live, 53248 idle), limit 1048576",
                 (unsigned long long)room + 4096, (unsigned long long)before.held_bytes);
        assert_string_equal(weir_err_detail(), wanted); /* requested, held, limit */
        weir_cache_stats after = stats_of(w.cache);
        assert_true(after.refusals == before.refusals + 1);
        assert_true(same_but_refusals(before, after)); /* idle too: nothing was freed for it */
        before = after;
    }
    assert_null(buffer);
    buffer = take(w.cache, room); /* exactly: all cached buffers are freed */
    weir_cache_stats s = stats_of(w.cache);
    assert_true(s.held_bytes == LIMIT && s.held_peak_bytes == LIMIT && s.idle_bytes == 0);
    witness_agrees(&w);
    assert_int_equal(weir_cache_take(w.cache, 1, &idle), WEIR_E_LIMIT);
    weir_buffer_unref(buffer);
    witness_agrees(&w);
    witness_end(&w);
}

/* The largest request for which the limit has space, found by refusals. */
static size_t largest_of(weir_cache *cache)
{
    size_t fits = 1, refused = LIMIT + 1;
    while (refused - fits > 1) {
        weir_buffer *buffer = NULL;
        size_t bytes = fits + (refused - fits) / 2;
        weir_err err = weir_cache_take(cache, bytes, &buffer);
        assert_true(err == WEIR_OK || err == WEIR_E_LIMIT);
        *(err == WEIR_OK ? &fits : &refused) = bytes;
        weir_buffer_unref(buffer);
        weir_cache_clear(cache);
    }
    return fits;
}

/* For every policy, whatever it does with a request: one that just fits replaces all cached
 * buffers, one byte more is refused, repeatedly, and frees nothing. */
static void the_largest_and_one_byte_more(const char *policy)
{
    witness w = witness_make(policy, WEIR_NO_LIMIT, LIMIT);
    size_t largest = largest_of(w.cache);
    assert_true(largest > LIMIT / 2);
    weir_buffer *idle[3], *buffer = NULL;
    for (size_t i = 0; i < 3; i++) {
        idle[i] = take(w.cache, 50000);
    }
    for (size_t i = 0; i < 3; i++) {
        weir_buffer_unref(idle[i]);
    }
    weir_cache_stats before = stats_of(w.cache);
    assert_true(before.idle_bytes >= 50000);
    for (int again = 0; again < 3; again++) {
        char held[64];
        snprintf(held, sizeof held, "%llu held", (unsigned long long)before.held_bytes);
        assert_fails(weir_cache_take(w.cache, largest + 1, &buffer), WEIR_E_LIMIT, held);
        assert_non_null(strstr(weir_err_detail(), " bytes asked, "));
        assert_non_null(strstr(weir_err_detail(), "limit 1048576"));
        weir_cache_stats after = stats_of(w.cache);
        assert_true(after.refusals == before.refusals + 1 && same_but_refusals(before, after));
        before = after;
    }
    buffer = take(w.cache, largest);
    witness_agrees(&w);
    assert_true(weir_heap_counting_counts(w.heap).bytes_peak <= LIMIT);
    assert_true(stats_of(w.cache).refusals == before.refusals);
    weir_buffer_unref(buffer);
    witness_end(&w);
}

static void the_largest_and_one_byte_more_of_all(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        the_largest_and_one_byte_more(keeping_policies[k]);
    }
}

static void more_than_everything(const char *policy)
{
    witness w = witness_make(policy, WEIR_NO_LIMIT, LIMIT);
    weir_buffer *buffer = NULL;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, PTRDIFF_MAX,
                                   (size_t)1 << 40};
    uint64_t calls = weir_heap_counting_counts(w.heap).calls;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(weir_cache_take(w.cache, sizes[i], &buffer), WEIR_E_LIMIT);
    }
    assert_true(stats_of(w.cache).refusals == 5);
    assert_true(weir_heap_counting_counts(w.heap).calls == calls); /* the heap was not called */
    witness_agrees(&w);
    witness_end(&w);
    w = witness_make(policy, WEIR_NO_LIMIT, WEIR_NO_LIMIT); /* without a limit the heap refuses */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(weir_cache_take(w.cache, sizes[i], &buffer), WEIR_E_NOMEM);
    }
    assert_true(stats_of(w.cache).refusals == 0 && stats_of(w.cache).heap_failures >= 4);
    witness_agrees(&w);
    witness_end(&w);
}

static void larger_than_everything(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        more_than_everything(keeping_policies[k]);
    }
}

/* Many small cached buffers, whose records fill slabs, then one that needs all the space there
 * is, in the policy's units: neither they nor their records may prevent it. */
static void never_the_cause(const char *policy, size_t unit, int rounds)
{
    uint64_t seed = testing_seed(policy);
    for (int round = 0; round < rounds; round++) {
        witness w = witness_make(policy, WEIR_NO_LIMIT, LIMIT);
        static weir_buffer *live[3000], *small[3000];
        size_t count = 1 + testing_random(&seed) % 3000, kept = 0, lives = 0;
        while (kept < count) {
            size_t bytes = 1 + testing_random(&seed) % 300;
            weir_err err = weir_cache_take(w.cache, bytes, &small[kept]);
            if (err != WEIR_OK) {
                break;
            }
            kept++;
        }
        for (size_t i = 0; i < kept; i++) {
            if (testing_random(&seed) % 40 == 0) {
                live[lives++] = small[i];
            } else {
                weir_buffer_unref(small[i]);
            }
        }
        weir_cache_stats s = stats_of(w.cache);
        uint64_t room = (LIMIT - (s.held_bytes - s.idle_bytes)) / unit * unit;
        if (room > 0) {
            weir_buffer *large = take(w.cache, room); /* considering what is live, it fits */
            witness_agrees(&w);
            weir_buffer_unref(large);
        }
        while (lives > 0) {
            weir_buffer_unref(live[--lives]);
        }
        witness_end(&w);
    }
}

static void idle_is_never_the_cause(void **state)
{
    (void)state;
    static const size_t units[ALL_POLICIES] = {4096, 65536, 4096, 16384, 16384};
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        never_the_cause(keeping_policies[k], units[k], k == 0 ? 60 : 15);
    }
}

/* ---- what is on its way back is no cause either -------------------------------------------- */

static sem_t gate, at_gate;

typedef struct gated {
    weir_heap heap;
    weir_heap *under;
    bool closed;
} gated;

static size_t gated_good_size(weir_heap *heap, size_t bytes)
{
    weir_heap *under = ((gated *)heap)->under;
    return under->ops->good_size(under, bytes);
}

static weir_err gated_alloc(weir_heap *heap, size_t bytes, void **ret_memory)
{
    weir_heap *under = ((gated *)heap)->under;
    return under->ops->alloc(under, bytes, ret_memory);
}

static void gated_free(weir_heap *heap, void *memory, size_t bytes)
{
    gated *g = (gated *)heap;
    if (__atomic_load_n(&g->closed, __ATOMIC_ACQUIRE)) {
        sem_post(&at_gate);
        sem_wait(&gate);
    }
    g->under->ops->free(g->under, memory, bytes);
}

static size_t gated_max_buffers(weir_heap *heap)
{
    (void)heap;
    return 1000;
}

static const weir_heap_ops gated_ops = {.ops_size = offsetof(weir_heap_ops, page_size),
                                        .name = "gated",
                                        .good_size = gated_good_size,
                                        .alloc = gated_alloc,
                                        .free = gated_free,
                                        .max_buffers = gated_max_buffers};

static void *clear(void *cache)
{
    weir_cache_clear(cache);
    return NULL;
}

/* Once the allocation waits for memory being freed: before, it would find it gone. */
static void *open_gate(void *user)
{
    weir_cache *cache = user;
    for (bool waits = false; !waits; sched_yield()) {
        weiri_lock_take(&cache->lock);
        waits = cache->less.waiters > 0;
        weiri_lock_give(&cache->lock);
    }
    sem_post(&gate);
    return NULL;
}

static void what_leaves_is_waited_for(void **state)
{
    (void)state;
    gated g = {.heap = {&gated_ops}, .under = counting_heap()};
    weir_cache_options options = weir_cache_options_default();
    weir_cache *cache = NULL;
    pthread_t clearing, opening;
    options.heap = &g.heap;
    options.memory_limit = LIMIT;
    assert_int_equal(sem_init(&gate, 0, 0) + sem_init(&at_gate, 0, 0), 0);
    assert_ok(weir_cache_create(&options, &cache));
    weir_buffer_unref(take(cache, 800000));
    __atomic_store_n(&g.closed, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&clearing, NULL, clear, cache), 0);
    sem_wait(&at_gate); /* the bytes are being freed in the other thread now */
    __atomic_store_n(&g.closed, false, __ATOMIC_RELEASE);
    weir_cache_stats s = stats_of(cache);
    assert_true(s.idle_bytes == 0 && s.transit_bytes == 802816); /* still held */
    weir_buffer *buffer = NULL;
    assert_int_equal(weir_cache_take(cache, LIMIT, &buffer),
                     WEIR_E_LIMIT); /* would not fit otherwise */
    assert_int_equal(pthread_create(&opening, NULL, open_gate, cache), 0);
    buffer = take(cache, 900000);
    pthread_join(clearing, NULL);
    pthread_join(opening, NULL);
    s = stats_of(cache);
    assert_true(s.refusals == 1 && s.held_peak_bytes <= LIMIT && s.transit_bytes == 0);
    assert_true(weir_heap_counting_counts(g.under).bytes_peak <= LIMIT);
    weir_buffer_unref(buffer);
    weir_cache_destroy(cache);
    assert_true(weir_heap_counting_counts(g.under).bytes == 0);
    weir_heap_destroy(g.under);
}

/* A chain respects its limit from its first allocation on: building it is refused, at whatever
 * step that is. */
static void a_chain_that_is_built(void **state)
{
    (void)state;
    size_t refused = 0;
    for (uint64_t limit = 1000; limit < (1u << 19); limit += limit / 3) {
        weir_chain_options options = weir_chain_options_default();
        weir_chain *chain = NULL;
        options.memory_limit = limit;
        weir_err err = weir_chain_create(&options, &chain);
        for (int node = WEIR_CHAIN_INPUT, i = 0; err == WEIR_OK && i < 1000; i++) {
            err = weir_chain_add(chain, node, "abs", NULL, 0, NULL, &node);
        }
        assert_true(err == WEIR_OK || err == WEIR_E_PLAN);
        refused += err == WEIR_E_PLAN;
        assert_true(err == WEIR_OK || strstr(weir_err_detail(), "limit ") != NULL);
        if (chain != NULL) {
            assert_true(stats_of(weir_chain_cache(chain)).held_peak_bytes <= limit);
        }
        weir_chain_destroy(chain);
    }
    assert_true(refused > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_limit_and_one_byte_more),
        cmocka_unit_test(the_largest_and_one_byte_more_of_all),
        cmocka_unit_test(larger_than_everything),
        cmocka_unit_test(idle_is_never_the_cause),
        cmocka_unit_test(what_leaves_is_waited_for),
        cmocka_unit_test(a_chain_that_is_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
