/* SPDX-License-Identifier: MIT
 *
 * due_test.c: due.h against loops that place one window, bin or output frame after the other, and its
 * inverse, most and lag against their definitions.
 */
#include "unit/due.h"

#include <string.h>

#include "testing.h"

enum { FRAMES = 400 };

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return (testing_random(seed) >> 11) % limit;
}

static void same(const char *what, uint64_t n, uint64_t found, uint64_t expected)
{
    if (found != expected) {
        fail_msg("%s after %llu frames: %llu, expected %llu", what, (unsigned long long)n,
                 (unsigned long long)found, (unsigned long long)expected);
    }
}

/* inverse, most and lag by what they are defined as, over all that FRAMES reach. */
static void check_others(const weiri_due *due, const char *what)
{
    assert_true(weiri_due_check(due));
    uint64_t last = weiri_due_at(due, FRAMES, false);
    for (uint64_t n = 0; n < FRAMES; n++) {
        uint64_t now = weiri_due_at(due, n, false), next = weiri_due_at(due, n + 1, false);
        assert_true(now <= next);
        assert_true(weiri_due_at(due, n, true) >= now);
        assert_true(weiri_due_at(due, n, true) <= weiri_due_at(due, n + 1, true));
        assert_int_equal(now % due->grain, 0);
    }
    for (uint64_t frames = 0; frames < last; frames++) {
        uint64_t n = weiri_due_inverse(due, frames);
        if (weiri_due_at(due, 0, false) >
            frames) { /* more is due before the first frame: no such n */
            same(what, frames, n, 0);
            continue;
        }
        assert_true(weiri_due_at(due, n, false) <= frames);
        assert_true(weiri_due_at(due, n + 1, false) > frames);
    }
    for (uint64_t c = 0; c < FRAMES / 4; c++) {
        uint64_t most = 0;
        for (uint64_t n = 0; n + c <= FRAMES; n++) {
            uint64_t more = weiri_due_at(due, n + c, false) - weiri_due_at(due, n, false);
            most = more > most ? more : most;
        }
        assert_true(most <= weiri_due_most(due, c));
    }
    if (weiri_due_at(due, 0, false) == 0 && last > 0) {
        uint64_t lag = weiri_due_lag(due);
        assert_int_equal(weiri_due_at(due, lag, false), 0);
        assert_true(weiri_due_at(due, lag + 1, false) > 0);
    }
}

/* Windows that start at -zeros, shift - zeros, ...; partial ones are never due. */
static void windows(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("windows");
    for (int round = 0; round < 300; round++) {
        uint64_t width = 1 + below(&seed, 60), shift = 1 + below(&seed, 60);
        uint64_t zeros = below(&seed, width);
        int64_t offset = (int64_t)shift - (int64_t)width + (int64_t)zeros;
        weiri_due due = {.p = shift, .q = 1, .offset = offset, .end = offset, .grain = 1};
        for (uint64_t n = 0; n <= FRAMES; n++) {
            uint64_t count = 0;
            for (uint64_t start = 0; start + width <= n + zeros; start += shift) {
                count++;
            }
            same("windows", n, weiri_due_at(&due, n, false), count);
            same("windows at the end", n, weiri_due_at(&due, n, true), count);
        }
        check_others(&due, "windows");
    }
}

/* Bin k ends with frame floor((k + 1) a / b). */
static void bins(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("bins");
    for (int round = 0; round < 300; round++) {
        uint64_t b = 1 + below(&seed, 50), a = b + below(&seed, 40 * b);
        weiri_due due = {
            .p = a, .q = b, .offset = (int64_t)b - 1, .end = (int64_t)b - 1, .grain = 1};
        for (uint64_t n = 0; n <= FRAMES; n++) {
            uint64_t count = 0;
            while ((count + 1) * a / b <= n) {
                count++;
            }
            same("bins", n, weiri_due_at(&due, n, false), count);
        }
        check_others(&due, "bins");
    }
}

/* Output frame m, at the time of input frame m M / L, needs all input frames up to half a length h after
 * it; at the end those that are left are zeros. */
static void resampling(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("resampling");
    for (int round = 0; round < 300; round++) {
        uint64_t up = 1 + below(&seed, 20), down = 1 + below(&seed, 20), half = below(&seed, 30);
        weiri_due due = {.p = down,
                         .q = up,
                         .offset = (int64_t)(down - 1) - (int64_t)(half * up),
                         .end = (int64_t)(down - 1),
                         .grain = 1};
        for (uint64_t n = 0; n <= FRAMES; n++) {
            uint64_t count = 0, all = 0;
            while (count * down < (n > half ? (n - half) * up : 0)) {
                count++;
            }
            while (all * down < n * up) {
                all++;
            }
            same("resampling", n, weiri_due_at(&due, n, false), count);
            same("resampling at the end", n, weiri_due_at(&due, n, true), all);
        }
        check_others(&due, "resampling");
    }
}

/* Blocks of `grain` frames, a look-ahead later; every k-th frame. */
static void grains_and_factors(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("grains");
    for (int round = 0; round < 300; round++) {
        uint64_t grain = 1 + below(&seed, 40), ahead = below(&seed, 50), k = 1 + below(&seed, 40);
        weiri_due blocks = {.p = 1, .q = 1, .offset = -(int64_t)ahead, .end = 0, .grain = grain};
        weiri_due every = {
            .p = k, .q = 1, .offset = (int64_t)k - 1, .end = (int64_t)k - 1, .grain = 1};
        uint64_t made = 0, kept = 0;
        for (uint64_t n = 0; n <= FRAMES; n++) {
            while (made + grain + ahead <= n) {
                made += grain;
            }
            same("grains", n, weiri_due_at(&blocks, n, false), made);
            same("grains at the end", n, weiri_due_at(&blocks, n, true), n);
            same("every k-th frame", n, weiri_due_at(&every, n, false), kept);
            kept += n % k == 0 ? 1 : 0; /* frame n is kept if it is a k-th one */
        }
        check_others(&blocks, "grains");
        check_others(&every, "factors");
    }
}

/* Any fields, against the formula in plain integers; p = q too, not in lowest terms. */
static void any_fields(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("any");
    for (int round = 0; round < 2000; round++) {
        int64_t p = 1 + (int64_t)below(&seed, 12), q = 1 + (int64_t)below(&seed, 12);
        int64_t offset = (int64_t)below(&seed, 80) - 60, end = offset + (int64_t)below(&seed, 60);
        int64_t grain = 1 + (int64_t)below(&seed, 2) * (int64_t)below(&seed, 6);
        q = below(&seed, 4) == 0 ? p : q;
        weiri_due due = {(uint64_t)p, (uint64_t)q, offset, end, (uint64_t)grain};
        if (!weiri_due_check(&due)) {
            fail();
        }
        for (int64_t n = 0; n <= FRAMES; n++) {
            int64_t before = n * q + offset, after = n * q + end;
            int64_t at = before < 0 ? 0 : before / (p * grain) * grain;
            int64_t last = after < 0 ? 0 : after / p;
            same("any", (uint64_t)n, weiri_due_at(&due, (uint64_t)n, false), (uint64_t)at);
            same("any at the end", (uint64_t)n, weiri_due_at(&due, (uint64_t)n, true),
                 (uint64_t)(last > 0 ? last : 0));
        }
        check_others(&due, "any");
        for (int64_t c = 0; c < 40; c++) { /* the bound is reached: over a whole period */
            uint64_t most = 0, from = 200;
            for (uint64_t n = from; n < from + (uint64_t)(p * grain); n++) {
                uint64_t more =
                    weiri_due_at(&due, n + (uint64_t)c, false) - weiri_due_at(&due, n, false);
                most = more > most ? more : most;
            }
            same("most", (uint64_t)c, weiri_due_most(&due, (uint64_t)c), most);
        }
    }
}

/* Days of a stream, and fields at their limits. */
static void large_numbers(void **state)
{
    (void)state;
    uint64_t year = UINT64_C(30000) * 86400 * 366;
    weiri_due bins = {.p = 1000001, .q = 1000000, .offset = 999999, .end = 999999, .grain = 1};
    assert_int_equal(weiri_due_at(&bins, year, false), year / 1000001 * 1000000 + year % 1000001);
    assert_true(weiri_due_is_same(&WEIRI_DUE_SAME));
    assert_int_equal(weiri_due_at(&WEIRI_DUE_SAME, UINT64_MAX, false), UINT64_MAX);
    uint64_t limit = UINT64_C(1) << 62;
    weiri_due wide = {.p = 1, .q = limit, .offset = 0, .end = 0, .grain = 1};
    assert_true(weiri_due_check(&wide));
    assert_int_equal(weiri_due_at(&wide, 8, false), UINT64_MAX); /* clamped */
    assert_int_equal(weiri_due_inverse(&wide, UINT64_MAX), UINT64_MAX);
    weiri_due slow = {.p = limit, .q = 1, .offset = 0, .end = 0, .grain = 1};
    assert_int_equal(weiri_due_at(&slow, UINT64_MAX, false), 3);
    assert_int_equal(weiri_due_inverse(&slow, 2), 3 * limit - 1);
    assert_int_equal(weiri_due_inverse(&slow, 3), UINT64_MAX);
    static const weiri_due wrong[] = {{0, 1, 0, 0, 1},
                                      {1, 0, 0, 0, 1},
                                      {1, 1, 0, 0, 0},
                                      {1, 1, 0, -1, 1},
                                      {(UINT64_C(1) << 62) + 1, 1, 0, 0, 1},
                                      {UINT64_C(1) << 40, 1, 0, 0, UINT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(weiri_due_check(&wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),    cmocka_unit_test(bins),
        cmocka_unit_test(resampling), cmocka_unit_test(grains_and_factors),
        cmocka_unit_test(any_fields), cmocka_unit_test(large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
