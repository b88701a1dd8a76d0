/* SPDX-License-Identifier: MIT
 *
 * join.h: what units with several inputs share: which inputs go together, and sums of them value by value,
 * with missing samples (S5). Alignment in time is the chain's.
 */
#ifndef WEIRI_JOIN_H
#define WEIRI_JOIN_H

#include "unit/unit.h"

/* Fails unless there are at least two inputs, at most `most`, all of one dtype. */
weir_err weiri_join_check(const weiri_unit_plan *plan, size_t most);

/* Whether two inputs have the same dimensions; sizes of dimension `but` may differ (0: none may, since the
 * stream's own has none). */
bool weiri_join_same(const weir_spec *a, const weir_spec *b, int but);

/* Fails with the shapes of input number `input` and of the first. */
weir_err weiri_join_fail(const weiri_unit_plan *plan, size_t input, const char *allowed);

/* Fails where a channel's physical unit in that input is known to be another than in the first. */
weir_err weiri_join_units(const weiri_unit_plan *plan, size_t input);

/* The first input plus or minus the others. One with a single channel is a reference for all channels. A
 * unit's plan, prepare and run come down to these. */
weir_err weiri_sum_plan(weiri_unit_plan *plan, size_t most);
void weiri_sum_prepare(const weiri_unit_plan *plan, double sign, void *constants);
void weiri_sum_run(weiri_block *block, const weiri_work *work);

#endif
