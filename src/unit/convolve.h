/* SPDX-License-Identifier: MIT
 *
 * convolve.h: what units share that filter by finite impulse responses: plan, constants, state and run. Such a unit
 * is a settings table and a plan() that designs taps.
 */
#ifndef WEIRI_CONVOLVE_H
#define WEIRI_CONVOLVE_H

#include "dsp/history.h"
#include "unit/iir.h"
#include "unit/unit.h"

#define WEIRI_TAPS_MAX 65536

/* Kernels of one length or several: output value k of a column is the sum of taps[k][i] x[n - i]. */
typedef struct weiri_kernel_taps {
    double *taps; /* newest sample's first */
    size_t count; /* 1..WEIRI_TAPS_MAX */
} weiri_kernel_taps;

typedef struct weiri_taps {
    weiri_kernel_taps *kernels; /* one after the other within a column's output */
    size_t count;               /* 0: the unit passes the signal through unchanged */
    bool
        starts; /* before its first good sample a column is as if that had always been there (S9); else 0 */
    bool
        magnitude; /* of kernel 0 as imaginary part and the sample (count - 1) / 2 frames before as real part */
} weiri_taps;

/* Memory of the plan for kernels of these lengths, all taps 0. Fails where one is longer than WEIRI_TAPS_MAX; the
 * detail starts with `setting`. */
weir_err weiri_taps_make(weiri_unit_plan *plan,
                         const char *setting,
                         size_t count,
                         const uint64_t *lengths,
                         weiri_taps **ret_taps);

/* In plan: constants, fields and delay. */
weir_err weiri_convolve_plan(weiri_unit_plan *plan, const weiri_taps *taps);
/* The other slots. */
void weiri_convolve_prepare(const void *settings, const weiri_unit_plan *plan, void *constants);
uint64_t weiri_convolve_settle(const void *settings, const weiri_unit_plan *plan, double tolerance);
void weiri_convolve_reset(weiri_block *block);
void weiri_convolve_run(weiri_block *block, const weiri_work *work);

/* Text of pages. */
#define WEIRI_CONVOLVE_START                                                                       \
    "As if the channel's first sample that is not missing had always been there. A missing "       \
    "sample "                                                                                      \
    "counts as the last good one."

#define WEIRI_IGNORED_FIR_SETTINGS WEIRI_IGNORED_SETTING("coef_type"), WEIRI_IGNORED_FILTER_SETTINGS

#endif
