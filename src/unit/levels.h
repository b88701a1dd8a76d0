/* SPDX-License-Identifier: MIT
 *
 * levels.h: what quantize and digitize share: a range of amplitudes as whole numbers of equal steps. Values outside
 * the range become its ends and are counted; a missing sample, which integers cannot hold, becomes 0 (S5).
 */
#ifndef WEIRI_LEVELS_H
#define WEIRI_LEVELS_H

#include "kernel/kernel.h"
#include "unit/unit.h"

/* In plan: max_val must exceed min_val. The output is dimensionless integers. */
weir_err weiri_levels_plan(weiri_unit_plan *plan, double min_val, double max_val, weir_dtype dtype);

/* A unit's run; its constants are weiri_levels. */
void weiri_levels_run(weiri_block *block, const weiri_work *work);

#endif
