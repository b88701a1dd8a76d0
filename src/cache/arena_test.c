/* SPDX-License-Identifier: MIT
 *
 * The arena: memory is zeroed, aligned and counted; freeing the arena frees everything.
 */
#include "cache/arena.h"
#include "witness.h"

static void things_are_zeroed_and_apart(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("arena");
    witness w = witness_make(NULL, WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    for (int round = 0; round < 20; round++) { /* in later rounds the memory is reused */
        weiri_arena arena;
        weiri_arena_init(&arena, w.cache);
        static unsigned char *things[300];
        static size_t sizes[300];
        for (size_t i = 0; i < 300; i++) {
            uint64_t kind = testing_random(&seed) % 20;
            sizes[i] = (size_t)(testing_random(&seed) % (kind == 0 ? 9000 : 60));
            things[i] = weiri_arena_get(&arena, sizes[i]);
            assert_non_null(things[i]);
            assert_true((uintptr_t)things[i] % 16 == 0);
            for (size_t j = 0; j < sizes[i]; j++) {
                assert_true(things[i][j] == 0);
            }
            memset(things[i], (int)(i % 255) + 1, sizes[i]);
        }
        for (size_t i = 0; i < 300; i++) {
            for (size_t j = 0; j < sizes[i]; j++) {
                assert_true(things[i][j] == i % 255 + 1);
            }
        }
        assert_true(arena.taken_bytes == stats_of(w.cache).live_bytes);
        weiri_arena_fini(&arena);
        weiri_arena_fini(&arena); /* a second call does nothing */
        assert_true(stats_of(w.cache).live_bytes == 0);
        witness_agrees(&w);
    }
    witness_end(&w);
}

static void texts_and_refusals(void **state)
{
    (void)state;
    witness w = witness_make(NULL, 0, 12288);
    weiri_arena arena;
    weiri_arena_init(&arena, w.cache);
    assert_string_equal(weiri_arena_text(&arena, "Fp1"), "Fp1");
    weiri_memory memory = weiri_arena_memory(&arena);
    assert_non_null(memory.get(memory.user, 1000));
    assert_null(weiri_arena_get(&arena, 100000));
    assert_non_null(strstr(weir_err_detail(), "limit 12288"));
    assert_null(weiri_arena_get(&arena, SIZE_MAX - 3));
    assert_non_null(weiri_arena_get(&arena, 100)); /* can be used again */
    weiri_arena_fini(&arena);
    witness_agrees(&w);
    witness_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_zeroed_and_apart),
        cmocka_unit_test(texts_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
