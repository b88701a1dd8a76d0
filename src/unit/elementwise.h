/* SPDX-License-Identifier: MIT
 *
 * elementwise.h: what units with one value in and one value out share: pieces that stay in L1, and missing
 * samples (S5). Such a unit is a settings table, prepare() and compute().
 */
#ifndef WEIRI_ELEMENTWISE_H
#define WEIRI_ELEMENTWISE_H

#include "unit/unit.h"

/* A unit's run, by its compute(). */
void weiri_elementwise_run(weiri_block *block, const weiri_work *work);

/* The values as they are, NaN for what is missing: for settings that switch a unit off. */
void weiri_elementwise_pass(weiri_block *block, const weiri_work *work);

#endif
