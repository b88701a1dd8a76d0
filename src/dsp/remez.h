/* SPDX-License-Identifier: MIT
 *
 * remez.h: equiripple filters with an odd number of taps by the Parks-McClellan algorithm: the filter whose largest
 * weighted deviation from the wanted gain is least.
 */
#ifndef WEIRI_REMEZ_H
#define WEIRI_REMEZ_H

#include <stdbool.h>
#include <stddef.h>

#define WEIRI_REMEZ_BANDS 3
#define WEIRI_REMEZ_TAPS  2049 /* more take seconds to design */

typedef struct weiri_remez_band {
    double low, high; /* in fractions of the rate, 0 to 0.5 */
    double gain, weight;
} weiri_remez_band;

typedef struct weiri_remez {
    weiri_remez_band bands[WEIRI_REMEZ_BANDS]; /* rising, apart */
    size_t count;
    bool hilbert; /* antisymmetric taps: the gain is that of a 90 degree phase shift */
} weiri_remez;

/* Bytes of work memory for so many taps. */
size_t weiri_remez_bytes(size_t taps);

/* The taps; taps odd, 3..WEIRI_REMEZ_TAPS. false: no convergence, as where the ripple is below rounding. */
bool weiri_remez_design(const weiri_remez *wanted, size_t taps, void *work, double *ret_taps);

#endif
