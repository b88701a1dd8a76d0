/* SPDX-License-Identifier: MIT
 *
 * bessel.h: the modified Bessel function I0, of Kaiser windows.
 */
#ifndef WEIRI_BESSEL_H
#define WEIRI_BESSEL_H

/* Its power series: all terms are positive, so nothing cancels. |x| <= 11000. */
static inline long double weiri_bessel_i0(long double x)
{
    long double quarter = x * x / 4.0L, term = 1.0L, sum = 1.0L;
    for (long double k = 1.0L; term > sum * 1e-21L; k += 1.0L) {
        term *= quarter / (k * k);
        sum += term;
    }
    return sum;
}

#endif
