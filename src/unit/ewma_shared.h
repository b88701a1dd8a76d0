/* SPDX-License-Identifier: MIT
 *
 * ewma_shared.h: what the units on exponentially weighted statistics share: ewma,
 * detrend and adaptive_standard_scaler.
 */
#ifndef WEIRI_EWMA_SHARED_H
#define WEIRI_EWMA_SHARED_H

#include "unit/recursive.h"

typedef struct weiri_ewma_settings {
    double time_constant;
    const char *axis;
    bool accumulate, passthrough;
} weiri_ewma_settings;

extern const weir_setting weiri_ewma_table[];

weir_err weiri_ewma_plan(const weiri_ewma_settings *settings, weiri_unit_plan *plan, size_t words);
void weiri_ewma_prepare(const void *settings, const weiri_unit_plan *plan, void *constants);

/* Of units that need the mean alone. */
weir_err weiri_ewma_plan_mean(const void *settings, weiri_unit_plan *plan);
uint64_t weiri_ewma_settle(const void *settings, const weiri_unit_plan *plan, double tolerance);

#endif
