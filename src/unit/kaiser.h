/* SPDX-License-Identifier: MIT
 *
 * kaiser.h: design of a Kaiser filter, for kaiser and filterbank_design.
 */
#ifndef WEIRI_KAISER_H
#define WEIRI_KAISER_H

#include "unit/windowed.h"

typedef struct weiri_kaiser_settings {
    weiri_windowed_settings windowed;
    double ripple_db, width;
} weiri_kaiser_settings;

/* How many taps; checks ripple and width. */
weir_err
weiri_kaiser_length(const weiri_kaiser_settings *settings, double rate_hz, uint64_t *ret_count);
/* The taps, as many as taps->count; checks the edges. */
weir_err weiri_kaiser_design(const weiri_kaiser_settings *settings,
                             weiri_unit_plan *plan,
                             weiri_kernel_taps *taps);

#endif
