/* SPDX-License-Identifier: MIT
 *
 * design.h: recursive filters from their specification to second-order sections, in float64:
 * analogue prototype -> band -> bilinear -> pairs. Polynomials are never multiplied out (S8).
 */
#ifndef WEIRI_DESIGN_H
#define WEIRI_DESIGN_H

#include <complex.h>

#include "kernel/kernel.h"

#define WEIRI_ORDER_MAX 12 /* a band filter of order n has n sections */

typedef enum weiri_band {
    WEIRI_LOWPASS,
    WEIRI_HIGHPASS,
    WEIRI_BANDPASS,
    WEIRI_BANDSTOP
} weiri_band;

/* Roots that are real or stand for a conjugate pair (imaginary part > 0). */
typedef struct weiri_roots {
    size_t count;
    double complex root[2 * WEIRI_SOS_MAX];
} weiri_roots;

/* A transfer function gain * prod(s - zeros) / prod(s - poles). */
typedef struct weiri_zpk {
    weiri_roots zeros, poles;
    double gain;
} weiri_zpk;

/* Analogue low-pass with its edge at 1 rad/s. order 1..WEIRI_ORDER_MAX. */
weiri_zpk weiri_butterworth_prototype(int order);
/* Type 1: ripples by ripple_db in the pass band, which ends at 1 rad/s. Type 2: ripples up to -ripple_db in the stop
 * band, which begins at 1 rad/s. ripple_db > 0. */
weiri_zpk weiri_chebyshev1_prototype(int order, double ripple_db);
weiri_zpk weiri_chebyshev2_prototype(int order, double ripple_db);

/* An analogue prototype -> a digital filter's sections. Edges in fractions of the rate, 0 < low <
 * high < 0.5; low alone matters for a high-pass, high alone for a low-pass. */
void weiri_design_sections(const weiri_zpk *prototype,
                           weiri_band band,
                           double low,
                           double high,
                           weiri_sos_params *ret_sections);

/* Sections of a digital filter with as many zeros as poles, 2 WEIRI_SOS_MAX at most. */
void weiri_design_pairs(const weiri_zpk *digital, weiri_sos_params *ret_sections);

/* How far the sections' response, at the edges and the far ends (of a band-pass: the middle) of what passes, is from
 * the prototype's, relative to it, as rounding to float64 has left them (S8): below 1e-7 for edges between 1e-4 and 0.4999 of the rate,
 * more where poles are so near 1 or -1 that their distance rounds. INFINITY: a section is not stable. */
double weiri_design_error(const weiri_zpk *prototype,
                          weiri_band band,
                          double low,
                          double high,
                          const weiri_sos_params *sections);

#endif
