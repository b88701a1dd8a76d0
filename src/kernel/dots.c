/* SPDX-License-Identifier: MIT
 *
 * dots.c: sums of products of rows, four by four, and multiples of rows subtracted from others.
 * Rows are 64-byte aligned and filled up with zeros to a multiple of WEIRI_DOTS values: there are
 * no tails. The order of a sum depends on its row only.
 */
#include "kernel/vector.h"

#define LANES WEIRI_VECTOR_DOUBLES

WEIRI_INLINE double total(weiri_vd x)
{
    double sum = 0.0;
    for (int i = 0; i < LANES; i++) {
        sum += x[i];
    }
    return sum;
}

WEIRI_INLINE void
block(const double *a, const double *b, size_t rows, size_t count, double *ret, size_t stride)
{
    weiri_vd sums[4][4] = {{{0}}};
    for (size_t i = 0; i < count; i += LANES) {
        weiri_vd x[4], y[4];
        for (size_t k = 0; k < 4; k++) {
            x[k] = k < rows ? weiri_vd_load_f64(a + k * count + i) : weiri_vd_all(0.0);
            y[k] = weiri_vd_load_f64(b + k * count + i);
        }
        for (size_t k = 0; k < 4; k++) {
            for (size_t l = 0; l < 4; l++) {
                sums[k][l] = weiri_vd_fma(x[k], y[l], sums[k][l]);
            }
        }
    }
    for (size_t k = 0; k < rows; k++) {
        for (size_t l = 0; l < 4; l++) {
            ret[k * stride + l] = total(sums[k][l]);
        }
    }
}

WEIRI_INLINE double one(const double *a, const double *b, size_t count)
{
    weiri_vd sum = {0};
    for (size_t i = 0; i < count; i += LANES) {
        sum = weiri_vd_fma(weiri_vd_load_f64(a + i), weiri_vd_load_f64(b + i), sum);
    }
    return total(sum);
}

void WEIRI_K(dots)(
    const double *a, size_t a_rows, const double *b, size_t b_rows, size_t count, double *ret)
{
    size_t l = 0;
    for (; l + 4 <= b_rows; l += 4) {
        size_t k = 0;
        for (; k + 4 <= a_rows; k += 4) {
            block(a + k * count, b + l * count, 4, count, ret + k * b_rows + l, b_rows);
        }
        for (; k < a_rows; k++) {
            block(a + k * count, b + l * count, 1, count, ret + k * b_rows + l, b_rows);
        }
    }
    for (; l < b_rows; l++) {
        for (size_t k = 0; k < a_rows; k++) {
            ret[k * b_rows + l] = one(a + k * count, b + l * count, count);
        }
    }
}

void WEIRI_K(subtract)(double *row, const double *other, double factor, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        weiri_vd x = weiri_vd_load_f64(row + i), y = weiri_vd_load_f64(other + i);
        weiri_vd_store_f64(row + i, weiri_vd_fma(weiri_vd_all(-factor), y, x));
    }
}
