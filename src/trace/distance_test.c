/* SPDX-License-Identifier: MIT
 *
 * Stack distances compared with their definition, using a list that is searched from end to end.
 */
#include "cache/cache.h"
#include "trace/distance.h"
#include "trace_files.h"

#define NAIVE 512

/* Cached buffers, the last one freed at the end, each with the most bytes that were ever above
 * it, itself included. */
typedef struct naive {
    struct {
        uint64_t size, most;
    } idle[NAIVE];
    size_t count;
} naive;

static void naive_give(naive *n, uint64_t size)
{
    assert_true(n->count < NAIVE);
    n->idle[n->count].size = size;
    n->idle[n->count++].most = 0;
    uint64_t depth = 0;
    for (size_t i = n->count; i-- > 0;) {
        depth += n->idle[i].size;
        n->idle[i].most = depth > n->idle[i].most ? depth : n->idle[i].most;
    }
}

/* Distance of the topmost buffer that serves; removes the best fit of those within the limit,
 * else the topmost. */
static uint64_t
naive_take(naive *n, uint64_t charged, uint64_t most, uint64_t limit, uint64_t *ret_size)
{
    size_t best = SIZE_MAX, topmost = SIZE_MAX;
    for (size_t i = n->count; i-- > 0;) {
        uint64_t size = n->idle[i].size;
        if (size < charged || size > most) {
            continue;
        }
        topmost = topmost == SIZE_MAX ? i : topmost;
        if (n->idle[i].most <= limit && (best == SIZE_MAX || size < n->idle[best].size)) {
            best = i;
        }
    }
    *ret_size = charged;
    if (topmost == SIZE_MAX) {
        return WEIRI_DISTANCE_NEVER;
    }
    uint64_t distance = n->idle[topmost].most;
    best = best == SIZE_MAX ? topmost : best;
    *ret_size = n->idle[best].size;
    memmove(&n->idle[best], &n->idle[best + 1], (--n->count - best) * sizeof n->idle[0]);
    return distance;
}

static void distances_are_what_they_mean(void **state)
{
    (void)state;
    static naive n;
    uint64_t seed = testing_seed("trace, distances"), forgotten = 0;
    for (int round = 0; round < 60; round++) {
        weir_cache *cache = cache_on("nominal", "mlx:cuda", WEIR_NO_LIMIT); /* for serves() */
        size_t room = round % 3 == 0 ? 8 : round % 3 == 1 ? 64 : 1024;
        uint64_t sizes = 1 + testing_random(&seed) % 12, live[SLOTS] = {0}, given = 0, exact = 0;
        void *memory = malloc(weiri_distance_bytes(room));
        assert_non_null(memory);
        assert_true(weiri_distance_runs(weiri_distance_bytes(room)) == room);
        weiri_distance d;
        weiri_distance_init(&d, round % 2 == 0 ? cache->policy : NULL, memory, room);
        n.count = 0;
        d.limit = round % 4 == 0 ? WEIR_NO_LIMIT : (testing_random(&seed) % 40) * 16384;
        for (int step = 0; step < 4000; step++) {
            uint64_t *slot = &live[testing_random(&seed) % SLOTS];
            if (*slot > 0) {
                if (n.count == NAIVE) {
                    break;
                }
                weiri_distance_give(&d, *slot);
                naive_give(&n, *slot);
                *slot = 0;
                given++;
                continue;
            }
            uint64_t asked = (1 + testing_random(&seed) % sizes) * 16384, size = 0, found = 0;
            uint64_t most =
                round % 2 == 0 ? cache->policy->ops->serves(cache->policy, asked) : asked;
            uint64_t is = naive_take(&n, asked, most, d.limit, &size);
            uint64_t distance = weiri_distance_take(&d, asked, &found);
            if (d.forgotten == 0) {
                assert_true(distance == is && found == size);
                exact += distance != WEIRI_DISTANCE_NEVER;
            } else if (round % 2 == 0) {
                break; /* another size may have been forgotten: from here on the two differ */
            } else {
                assert_true(distance == is || distance == WEIRI_DISTANCE_NEVER);
                forgotten += distance != is;
            }
            *slot = found;
        }
        assert_true(given > 0 && (room == 8 || exact > 0));
        free(memory);
        weir_cache_destroy(cache);
    }
    assert_true(forgotten > 0);
}

/* Cached bytes not divided into buffers: the topmost serve. */
static void distances_without_shape(void **state)
{
    (void)state;
    weiri_policy_ops ops = {0};
    weiri_policy policy = {.ops = &ops};
    weiri_distance d;
    uint64_t size = 0;
    void *memory = malloc(weiri_distance_bytes(16));
    assert_non_null(memory);
    weiri_distance_init(&d, &policy, memory, 16);
    assert_true(weiri_distance_take(&d, 100, &size) == WEIRI_DISTANCE_NEVER);
    weiri_distance_give(&d, 1000);
    weiri_distance_give(&d, 500);
    assert_true(weiri_distance_take(&d, 100, &size) == 100 && size == 100);
    assert_true(weiri_distance_take(&d, 700, &size) == 800);
    weiri_distance_give(&d, 800);
    assert_true(weiri_distance_take(&d, 1500, &size) == 1500);
    assert_true(weiri_distance_take(&d, 1, &size) == WEIRI_DISTANCE_NEVER);
    free(memory);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_what_they_mean),
        cmocka_unit_test(distances_without_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
