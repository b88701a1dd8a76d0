/* SPDX-License-Identifier: MIT
 *
 * factor.h: second-order sections of a filter that is given by coefficients: sections as SciPy has them, or a
 * numerator and a denominator.
 */
#ifndef WEIRI_FACTOR_H
#define WEIRI_FACTOR_H

#include <weir/base.h>

#include "kernel/kernel.h"

#define WEIRI_FACTOR_DEGREE (2 * WEIRI_SOS_MAX) /* largest degree of a numerator or denominator */

/* rows[count][6]: b0, b1, b2, a0, a1, a2. WEIR_E_CHAIN: too many, a0 or b0 of 0, not stable; the detail has no
 * setting's name in front. */
weir_err weiri_sections_given(const double *rows, size_t count, weiri_sos_params *ret_sections);

/* Of (b[0] + b[1] z^-1 + ...) / (a[0] + a[1] z^-1 + ...), by the roots of both, found in long double. WEIR_E_CHAIN as
 * above; also where sections in float64 differ from b and a in their response by more than 1e-6 of the largest gain
 * (WEIRI_FACTOR_ERROR), as they do where roots are so close to each other that the coefficients do not determine them. */
#define WEIRI_FACTOR_ERROR 1e-6
weir_err weiri_sections_factored(const double *b,
                                 size_t b_count,
                                 const double *a,
                                 size_t a_count,
                                 weiri_sos_params *ret_sections);

#endif
