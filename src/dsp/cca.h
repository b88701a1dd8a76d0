/* SPDX-License-Identifier: MIT
 *
 * cca.h: the largest canonical correlation of two sets of series: that of an orthonormal basis of each.
 */
#ifndef WEIRI_CCA_H
#define WEIRI_CCA_H

#include <stddef.h>

#include "kernel/kernel.h"

/* Length of a row of `count` values with its zeros. */
static inline size_t weiri_cca_row(size_t count)
{
    return (count + WEIRI_DOTS - 1) / WEIRI_DOTS * WEIRI_DOTS;
}

/* rows[number][weiri_cca_row(count)], 64-byte aligned, become an orthonormal basis of what they span when each has lost
 * its mean. Returns its size: rows that are constant or depend on others are left out. products[number]. */
size_t weiri_cca_basis(double *rows, size_t number, size_t count, double *products);

/* Largest canonical correlation of two bases, from the products of their rows [a x b]; scratch of
 * weiri_cca_scratch(a, b) doubles. 0 where one is empty. */
double weiri_cca_largest(const double *products, size_t a, size_t b, double *scratch);
static inline size_t weiri_cca_scratch(size_t a, size_t b)
{
    size_t least = a < b ? a : b;
    return least * (least + 3);
}

#endif
