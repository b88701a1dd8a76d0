/* SPDX-License-Identifier: MIT
 *
 * M3: the heap's own count equals held minus what was only declared, whenever no call is in
 * progress, also with failures; a destroyed cache frees cached buffers at once and everything with
 * its last buffer. Failing heap calls are tested in tests/fault, threads in tests/limit.
 */
#include "witness.h"

static void steps_agree(const char *policy)
{
    uint64_t seed = testing_seed("M3");
    witness w = witness_make(policy, 60000, 400000);
    weir_buffer *live[30] = {NULL};
    uint64_t charged = 0;
    for (int step = 0; step < 4000; step++) {
        size_t i = testing_random(&seed) % 30;
        if (testing_random(&seed) % 50 == 0) {
            weir_heap_counting_fail(w.heap, 1 + testing_random(&seed) % 4,
                                    testing_random(&seed) % 4);
        }
        switch (testing_random(&seed) % 12) {
        case 0:
            if (weir_cache_charge(w.cache, testing_random(&seed) % 3000) == WEIR_OK) {
                charged = stats_of(w.cache).charged_bytes;
            }
            break;
        case 1:
            weir_cache_uncharge(w.cache, charged);
            charged = 0;
            break;
        case 2:
            weir_cache_clear(w.cache);
            break;
        default:
            if (live[i] != NULL) {
                weir_buffer_unref(live[i]);
                live[i] = NULL;
            } else if (weir_cache_take(w.cache, testing_random(&seed) % 40000, &live[i]) ==
                       WEIR_OK) {
                memset(live[i]->memory, 1, live[i]->bytes);
            }
        }
        witness_agrees(&w);
    }
    weir_cache_stats s = stats_of(w.cache);
    printf("%llu failures of the heap, %llu refusals, %llu hits, %llu evictions\n",
           (unsigned long long)s.heap_failures, (unsigned long long)s.refusals,
           (unsigned long long)s.hits, (unsigned long long)s.evictions);
    assert_true(s.heap_failures > 1 && s.refusals > 10 && s.hits > 10 && s.evictions > 10);
    weir_cache_destroy(w.cache);
    assert_true(weir_heap_counting_counts(w.heap).bytes == s.live_bytes + s.book_bytes);
    for (size_t i = 0; i < 30; i++) {
        weir_buffer_unref(live[i]);
    }
    assert_true(weir_heap_counting_counts(w.heap).bytes == 0);
    assert_true(weir_heap_counting_counts(w.heap).buffers == 0);
    weir_heap_destroy(w.heap);
}

static void every_step_agrees(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        steps_agree(keeping_policies[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
