/* SPDX-License-Identifier: MIT
 *
 * linear.h: a factor and an offset for each column, for units that scale columns differently.
 */
#ifndef WEIRI_LINEAR_H
#define WEIRI_LINEAR_H

#include "unit/unit.h"

/* Factors and offsets of all columns; where rows are short, of several rows, so that calls are worth it. */
typedef struct weiri_linear {
    size_t channels, inner;  /* a row is [... x channels x inner] */
    size_t period;           /* values in each table */
    size_t factors, offsets; /* where the tables are, in bytes from here */
    uint64_t equal;          /* not 0: all columns have the same factor and offset */
} weiri_linear;

/* Where the tables of a stream are, and how many bytes all of it needs. */
weiri_linear weiri_linear_lay_out(const weir_spec *in, uint64_t *ret_bytes);

/* factor x + offset, for a block whose constants start with a weiri_linear. */
weiri_compute_fn weiri_linear_compute;

#endif
