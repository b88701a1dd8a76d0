/* SPDX-License-Identifier: MIT
 *
 * design.h: recursive filters from their specification to second-order sections, in float64:
 * analogue prototype -> band -> bilinear -> pairs. Polynomials are never multiplied out (S8).
 */
#ifndef WEIRI_DESIGN_H
#define WEIRI_DESIGN_H

#include <complex.h>

#include "kernel/kernel.h"

#define WEIRI_ORDER_MAX WEIRI_SOS_MAX /* a band filter of order n has n sections */

typedef enum weiri_band {
    WEIRI_LOWPASS,
    WEIRI_HIGHPASS,
    WEIRI_BANDPASS,
    WEIRI_BANDSTOP
} weiri_band;

/* Roots that are real or stand for a conjugate pair (imaginary part > 0). */
typedef struct weiri_roots {
    size_t count;
    double complex root[2 * WEIRI_ORDER_MAX];
} weiri_roots;

/* A transfer function gain * prod(s - zeros) / prod(s - poles). */
typedef struct weiri_zpk {
    weiri_roots zeros, poles;
    double gain;
} weiri_zpk;

/* Analogue low-pass with its edge at 1 rad/s. order 1..WEIRI_ORDER_MAX. */
weiri_zpk weiri_butterworth_prototype(int order);

/* An analogue prototype -> a digital filter's sections. Edges in fractions of the rate, 0 < low <
 * high < 0.5; low alone matters for a high-pass, high alone for a low-pass. */
void weiri_design_sections(const weiri_zpk *prototype,
                           weiri_band band,
                           double low,
                           double high,
                           weiri_sos_params *ret_sections);

#endif
