/* SPDX-License-Identifier: MIT
 *
 * ewma_shared.h: what the units on exponentially weighted statistics share: ewma, and
 * adaptive_standard_scaler.
 */
#ifndef WEIRI_EWMA_SHARED_H
#define WEIRI_EWMA_SHARED_H

#include "kernel/kernel.h"
#include "unit/unit.h"

typedef struct weiri_ewma_settings {
    double time_constant;
    const char *axis;
    bool accumulate, passthrough;
} weiri_ewma_settings;

extern const weir_setting weiri_ewma_table[];

weir_err weiri_ewma_plan(const weiri_ewma_settings *settings, weiri_unit_plan *plan, size_t words);
void weiri_ewma_init(weiri_unit *unit,
                     weiri_recurrence_fn *f32,
                     weiri_recurrence_fn *f64,
                     size_t words);
void weiri_ewma_process(weiri_unit *unit,
                        const weiri_tile *in,
                        size_t *ret_consumed,
                        weiri_tile *out,
                        size_t *ret_produced);
void weiri_ewma_reset(weiri_unit *unit);

#endif
