/* SPDX-License-Identifier: MIT
 *
 * filter_numbers.h: for tests of recursive filters: a signal of whole numbers, and some of another library's numbers
 * for it.
 */
#ifndef WEIRI_FILTER_NUMBERS_H
#define WEIRI_FILTER_NUMBERS_H

#include "unit/drive.h"

#define FILTER_NUMBERS 6 /* at frames 0, 1, 2, 10, 31, 63 */

/* Filters (i * 7919 + 13) % 101 + 50, i = 0 .. 63, the same in all columns, and compares the last column. */
static inline void filter_numbers(drive *d, const double *expected, double tolerance)
{
    static const size_t frames[FILTER_NUMBERS] = {0, 1, 2, 10, 31, 63};
    enum { FRAMES = 64, MOST = 4 };
    double input[FRAMES * MOST];
    size_t columns = (size_t)weir_spec_columns(&d->in);
    uint64_t random = drive_seed();
    assert_true(d->in.dtype == WEIR_F64 && columns <= MOST);
    for (size_t i = 0; i < FRAMES * columns; i++) {
        input[i] = (double)((i / columns * 7919 + 13) % 101) + 50.0;
    }
    drive_output o = drive_cuts(d, input, FRAMES, &random);
    for (size_t j = 0; j < FILTER_NUMBERS; j++) {
        drive_near(drive_value(d, &o, (frames[j] + 1) * columns - 1), expected[j], tolerance,
                   tolerance, "another library's");
    }
    free(o.data);
}

#endif
