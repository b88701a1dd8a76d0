/* SPDX-License-Identifier: MIT
 *
 * sinc.h: values of a band-limited signal between its samples, by a sinc with a Kaiser window: taps of resampling and
 * of shifts by parts of a frame. Times are in frames, frequencies in fractions of the rate.
 */
#ifndef WEIRI_SINC_H
#define WEIRI_SINC_H

#include <stddef.h>

typedef struct weiri_sinc {
    double cutoff; /* -6 dB */
    double half;   /* the window reaches from -half to half */
    double beta;   /* of the window */
} weiri_sinc;

/* What passes up to `pass` within 10^(-attenuation / 20), and suppresses from `stop` on by attenuation dB. */
weiri_sinc weiri_sinc_design(double pass, double stop, double attenuation_db);

/* Frames on either side of a value that are needed: ceil(half). */
size_t weiri_sinc_reach(const weiri_sinc *sinc);

/* Taps of the value `fraction` (0 <= fraction < 1) of a frame after frame 0: tap i is for frame i - reach + 1; there are
 * 2 x reach. Their sum is 1: a constant stays what it is. */
void weiri_sinc_taps(const weiri_sinc *sinc, double fraction, double *ret_taps);

#endif
