/* SPDX-License-Identifier: MIT
 *
 * reduce_test.c: the reductions at every SIMD level of this machine: any division of the frames
 * into calls gives the same bits (S1), levels agree (S2), missing samples are left out, column by
 * column (S5).
 */
#include "kernel/kernel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define FRAMES  90
#define COLUMNS 150

/* All results of the kernels for one signal. */
typedef struct results {
    double sum[COLUMNS], mean[COLUMNS], square[COLUMNS], last_x[COLUMNS], last[COLUMNS],
        area[COLUMNS], median[COLUMNS];
    double best_f64[2][COLUMNS];
    float best_f32[2][COLUMNS];
    int64_t at_f64[2][COLUMNS];
    int32_t at_f32[2][COLUMNS];
    uint32_t absent[COLUMNS];
} results;

typedef struct signal {
    size_t columns;
    double f64[FRAMES * COLUMNS + 1];
    float f32[FRAMES * COLUMNS + 1];
} signal;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 31);
}

/* A share of the samples missing, in some columns only. */
static void fill(signal *s, size_t columns, double missing, uint64_t *random)
{
    s->columns = columns;
    for (size_t i = 0; i < FRAMES * columns; i++) {
        double value = (double)(next_random(random) >> 11) * 0x1p-53 - 0.25;
        bool damaged = i % columns % 7 == 3;
        if (damaged && (double)(next_random(random) >> 11) * 0x1p-53 < missing) {
            value = next_random(random) % 2 ? (double)NAN : (double)-INFINITY;
        }
        s->f64[i + 1] = value; /* + 1: aligned to the sample only */
        s->f32[i + 1] = (float)value;
    }
}

static void begin(results *r)
{
    memset(r, 0, sizeof *r);
    for (size_t c = 0; c < COLUMNS; c++) {
        r->last_x[c] = (double)NAN;
        for (int most = 0; most < 2; most++) {
            r->best_f64[most][c] = most ? (double)-INFINITY : (double)INFINITY;
            r->best_f32[most][c] = most ? -INFINITY : INFINITY;
        }
    }
}

/* In calls of up to `longest` frames (0 = one call). All kernels must report the same missing
 * samples, and the two that search for an extremum must find the same. */
#define RUN(n, type)                                                                               \
    static void run_##n(const weiri_kernels *k, const signal *s, size_t longest, uint64_t *random, \
                        results *r)                                                                \
    {                                                                                              \
        static unsigned char scratch[FRAMES * 64] __attribute__((aligned(64)));                    \
        size_t columns = s->columns, count = 0;                                                    \
        begin(r);                                                                                  \
        for (size_t f = 0; f < FRAMES; f += count) {                                               \
            count = longest == 0 ? FRAMES : (size_t)(next_random(random) % (longest + 1));         \
            count = count < FRAMES - f ? count : FRAMES - f;                                       \
            const type *rows = s->n + 1 + f * columns;                                             \
            bool all = k->reduce_sum_##n(rows, count, columns, r->sum);                            \
            for (int most = 0; most < 2; most++) {                                                 \
                type best[COLUMNS], *found = r->best_##n[most];                                    \
                memcpy(best, found, sizeof best);                                                  \
                assert_int_equal(                                                                  \
                    k->reduce_where_##n(rows, count, columns, most, f, found, r->at_##n[most]),    \
                    all);                                                                          \
                assert_int_equal(k->reduce_extreme_##n(rows, count, columns, most, best), all);    \
                assert_memory_equal(best, found, sizeof best);                                     \
            }                                                                                      \
            assert_int_equal(                                                                      \
                k->reduce_spread_##n(rows, count, columns, f, r->absent, r->mean, r->square),      \
                all);                                                                              \
            assert_int_equal(                                                                      \
                k->reduce_area_##n(rows, count, columns, f, NULL, r->last_x, r->last, r->area),    \
                all);                                                                              \
            assert_int_equal(k->finite_##n(rows, count *columns), all);                            \
            k->reduce_absent_##n(rows, count, columns, columns, r->absent);                        \
        }                                                                                          \
        k->reduce_median_##n(s->n + 1, FRAMES, columns, scratch, r->median);                       \
    }
RUN(f64, double)
RUN(f32, float)

typedef void
run_fn(const weiri_kernels *k, const signal *s, size_t longest, uint64_t *random, results *r);

static void near(double found, double expected, const char *what, size_t column)
{
    if (fabs(found - expected) > 1e-12 + 1e-9 * fabs(expected)) {
        print_error("%s of column %zu: %.17g, %.17g expected\n", what, column, found, expected);
        fail();
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Column by column, by the definition. */
static void check_column(const signal *s, bool f32, const results *r, size_t c)
{
    double there[FRAMES], sum = 0, square = 0, area = 0;
    size_t at[FRAMES], count = 0, low = 0, high = 0;
    for (size_t f = 0; f < FRAMES; f++) {
        size_t i = 1 + f * s->columns + c;
        double value = f32 ? (double)s->f32[i] : s->f64[i];
        if (isfinite(value)) {
            at[count] = f;
            there[count++] = value;
        }
    }
    assert_int_equal(r->absent[c], FRAMES - count);
    for (size_t i = 0; i < count; i++) {
        sum += there[i];
        low = there[i] < there[low] ? i : low;
        high = there[i] > there[high] ? i : high;
        area += i > 0 ? 0.5 * (there[i] + there[i - 1]) * (double)(at[i] - at[i - 1]) : 0;
    }
    near(r->sum[c], sum, "sum", c);
    near(r->area[c], area, "area", c);
    if (count == 0) {
        assert_true(isnan(r->median[c]));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        square += (there[i] - sum / (double)count) * (there[i] - sum / (double)count);
    }
    near(r->mean[c], sum / (double)count, "mean", c);
    near(r->square[c], square, "sum of squares", c);
    assert_int_equal(f32 ? r->at_f32[0][c] : r->at_f64[0][c], at[low]);
    assert_int_equal(f32 ? r->at_f32[1][c] : r->at_f64[1][c], at[high]);
    near(f32 ? (double)r->best_f32[0][c] : r->best_f64[0][c], there[low], "least", c);
    near(f32 ? (double)r->best_f32[1][c] : r->best_f64[1][c], there[high], "most", c);
    qsort(there, count, sizeof *there, compare);
    near(r->median[c], (there[(count - 1) / 2] + there[count / 2]) / 2, "median", c);
}

static void every_level_and_cut(void **state)
{
    (void)state;
    static signal s;
    static results whole, cut;
    static const size_t columns[] = {1, 2, 3, 7, 16, 31, 33, 64, 100, 150};
    static const size_t longest[] = {1, 5, 40};
    const char *given = getenv("WEIR_SEED");
    uint64_t random = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (WEIR_SEED repeats it)\n", (unsigned long long)random);
    for (size_t i = 0; i < 30; i++) {
        fill(&s, columns[i / 3], i % 3 == 0 ? 0 : i % 3 == 1 ? 0.02 : 0.97, &random);
        for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
            for (int f32 = 0; f32 < 2; f32++) {
                run_fn *run = f32 ? run_f32 : run_f64;
                run(weiri_kernels_at(level), &s, 0, &random, &whole);
                for (size_t c = 0; c < s.columns; c++) {
                    check_column(&s, f32, &whole, c);
                }
                for (size_t j = 0; j < 3; j++) {
                    run(weiri_kernels_at(level), &s, longest[j], &random, &cut);
                    assert_memory_equal(&whole, &cut, sizeof whole);
                }
            }
        }
    }
}

/* A value that overflows is not missing, and does not affect other columns. */
static void an_overflow_is_not_missing(void **state)
{
    (void)state;
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        double rows[3 * 40], sums[40] = {0}, mean[40] = {0}, square[40] = {0};
        uint32_t absent[40] = {0};
        for (size_t i = 0; i < 3 * 40; i++) {
            rows[i] = i % 40 == 5 ? 1.5e308 : 1.0;
        }
        assert_true(k->reduce_sum_f64(rows, 3, 40, sums));
        assert_true(isinf(sums[5]) && sums[4] == 3.0 && sums[6] == 3.0);
        assert_true(k->reduce_spread_f64(rows, 3, 40, 0, absent, mean, square));
        assert_true(mean[4] == 1.0 && square[6] == 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_and_cut),
        cmocka_unit_test(an_overflow_is_not_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
