/* SPDX-License-Identifier: MIT
 *
 * sos.h: what follows from the second-order sections of a filter, however they were designed.
 */
#ifndef WEIRI_SOS_H
#define WEIRI_SOS_H

#include "kernel/kernel.h"

#define WEIRI_SOS_NEVER UINT64_MAX

/* The form of the numerators that takes the fewest operations. */
weiri_sos_kind weiri_sos_kind_of(const weiri_sos_params *sections);

/* Whether all poles are inside the unit circle. */
bool weiri_sos_is_stable(const weiri_sos_params *sections);

/* [2 x sections]: the state that an input of 1 since ever has led to (S9). */
void weiri_sos_steady_state(const weiri_sos_params *sections, double *ret_state);

/* The least k with a sum of |h[j]| over all j > k of at most tolerance, h being the impulse response: so many
 * frames after the inputs of two runs have become equal their outputs differ by at most tolerance x the
 * largest difference before. Where that takes more than WEIRI_SOS_STEPS frames, an upper bound. Takes 20 ms at
 * most. WEIRI_SOS_NEVER for a tolerance of 0 or a filter that is not stable. */
#define WEIRI_SOS_STEPS ((uint64_t)1 << 19)
uint64_t weiri_sos_settle(const weiri_sos_params *sections, double tolerance);

/* The sum of |h[j]| over all j, from above by 1e-6 at most, or more where the response takes more than
 * WEIRI_SOS_STEPS frames; INFINITY for a filter that is not stable. */
double weiri_sos_sum(const weiri_sos_params *sections);

/* The least k such that |h[j]| is at most `part` (above 0) of the largest |h| for all j >= k; a bound of it
 * where the response takes more than WEIRI_SOS_STEPS frames. WEIRI_SOS_NEVER for a filter that is not stable. */
uint64_t weiri_sos_fade(const weiri_sos_params *sections, double part);

#endif
