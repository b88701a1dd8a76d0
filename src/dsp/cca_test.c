/* SPDX-License-Identifier: MIT
 *
 * cca_test.c: bases are orthonormal and leave out what depends on others; correlations that are known.
 */
#include "dsp/cca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum { ROWS = 6, COUNT = 50, ROW = 56 };

static double value_of(uint64_t *seed)
{
    return (double)(testing_random(seed) >> 11) * 0x1p-52 - 1.0;
}

static void bases(void **state)
{
    (void)state;
    uint64_t seed = 7;
    double *rows = aligned_alloc(64, ROWS * ROW * sizeof *rows), products[ROWS * ROWS];
    assert_non_null(rows);
    assert_int_equal(weiri_cca_row(COUNT), ROW);
    memset(rows, 0, ROWS * ROW * sizeof *rows);
    for (size_t i = 0; i < COUNT; i++) {
        rows[i] = value_of(&seed) * 1e-200 + 1e-199; /* squares would underflow */
        rows[ROW + i] = 5.0;                         /* constant */
        rows[2 * ROW + i] = value_of(&seed) * 1e200;
        rows[3 * ROW + i] = 3.0 - 2.0 * rows[2 * ROW + i] * 1e-200; /* depends on it */
        rows[4 * ROW + i] = rows[2 * ROW + i] * 1e-200 + 1e-4 * value_of(&seed);
        rows[5 * ROW + i] = 0.0;
    }
    assert_int_equal(weiri_cca_basis(rows, ROWS, COUNT, products), 3);
    weiri_kernels_get()->dots(rows, 3, rows, 3, ROW, products);
    for (size_t i = 0; i < 9; i++) {
        assert_true(fabs(products[i] - (i % 4 == 0 ? 1.0 : 0.0)) < 1e-14);
    }
    free(rows);
}

/* Singular values of a product of rotations with a known diagonal between. */
static void largest(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (size_t n = 1; n <= 12; n++) {
        for (size_t other = 1; other <= 12; other++) {
            double m[144] = {0}, scratch[12 * 15], most = 0.0;
            for (size_t i = 0; i < n && i < other; i++) {
                m[i * other + i] = fabs(value_of(&seed));
                most = fmax(most, m[i * other + i]);
            }
            for (int turn = 0; turn < 60; turn++) { /* of two rows, or of two columns */
                bool rows = testing_random(&seed) % 2 == 0;
                size_t length = rows ? other : n, number = rows ? n : other;
                size_t step = rows ? 1 : other, apart = rows ? other : 1;
                size_t a = testing_random(&seed) % number, b = testing_random(&seed) % number;
                double c = cos(turn + 1.0), s = sin(turn + 1.0);
                for (size_t i = 0; a != b && i < length; i++) {
                    double x = m[a * apart + i * step], y = m[b * apart + i * step];
                    m[a * apart + i * step] = c * x - s * y;
                    m[b * apart + i * step] = s * x + c * y;
                }
            }
            assert_true(weiri_cca_scratch(n, other) <= sizeof scratch / sizeof scratch[0]);
            double found = weiri_cca_largest(m, n, other, scratch);
            if (!(fabs(found - most) < 1e-14)) {
                fail_msg("%zu x %zu: %.17g, expected %.17g", n, other, found, most);
            }
        }
    }
    double none = 0.0;
    assert_true(weiri_cca_largest(&none, 0, 4, &none) == 0.0);
}

/* Every kernel's sums: any number of rows, at each level. */
static void sums_of_products(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double *rows = aligned_alloc(64, 2 * ROWS * ROW * sizeof *rows), found[ROWS * ROWS];
    for (size_t i = 0; i < 2 * ROWS * ROW; i++) {
        rows[i] = value_of(&seed);
    }
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t n = 0; n < ROWS * ROWS; n++) {
            size_t a = 1 + n % ROWS, b = 1 + n / ROWS;
            k->dots(rows, a, rows + ROWS * ROW, b, ROW, found);
            for (size_t i = 0; i < a * b; i++) {
                double sum = 0.0, alone;
                const double *x = rows + i / b * ROW, *y = rows + (ROWS + i % b) * ROW;
                for (size_t j = 0; j < ROW; j++) {
                    sum += x[j] * y[j];
                }
                assert_true(fabs(found[i] - sum) < 1e-13);
                k->dots(x, 1, y, 1, ROW, &alone);
                assert_true(found[i] == alone); /* whatever is beside it */
            }
        }
        double row[ROW];
        memcpy(row, rows, sizeof row);
        k->subtract(row, rows + ROW, 0.25, ROW);
        for (size_t j = 0; j < ROW; j++) {
            assert_true(fabs(row[j] - (rows[j] - 0.25 * rows[ROW + j])) < 1e-15);
        }
    }
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases),
        cmocka_unit_test(largest),
        cmocka_unit_test(sums_of_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
