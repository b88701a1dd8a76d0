/* SPDX-License-Identifier: MIT
 *
 * sos_plain.h: sections in plain arithmetic, for tests.
 */
#ifndef WEIRI_SOS_PLAIN_H
#define WEIRI_SOS_PLAIN_H

#include <complex.h>
#include <math.h>

#include "kernel/kernel.h"

/* One sample through all sections. */
static inline double sos_plain_step(const weiri_sos_params *filter, double *words, double x)
{
    bool delta = filter->kind == WEIRI_SOS_DELTA;
    for (size_t i = 0; i < filter->sections; i++) {
        const double *c = filter->coefs[i];
        double *s = words + 2 * i;
        x *= i == filter->sections - 1 ? filter->gain : 1.0;
        double y = x + s[0];
        s[0] = c[0] * x + c[2] * y + s[1] + (delta ? s[0] : 0.0);
        s[1] = c[1] * x + c[3] * y + (delta ? s[1] : 0.0);
        x = y;
    }
    return x;
}

static inline double complex sos_plain_response(const weiri_sos_params *filter, double frequency)
{
    double half = sin(M_PI * frequency);
    double complex w = cexp(-2.0 * M_PI * frequency * I), h = filter->gain;
    double complex d = -2.0 * half * half + sin(2.0 * M_PI * frequency) * I; /* z - 1 */
    for (size_t i = 0; i < filter->sections; i++) {
        const double *c = filter->coefs[i];
        h *= filter->kind == WEIRI_SOS_DELTA
                 ? (c[1] + d * (c[0] + d)) / (d * d - d * c[2] - c[3])
                 : (1.0 + w * (c[0] + w * c[1])) / (1.0 - w * (c[2] + w * c[3]));
    }
    return h;
}

#endif
