/* SPDX-License-Identifier: MIT
 *
 * elementwise.h: what units with one value in and one value out share: blocks that stay in L1,
 * and missing samples (S5). Such a unit is a settings table and compute().
 */
#ifndef WEIRI_ELEMENTWISE_H
#define WEIRI_ELEMENTWISE_H

#include "unit/unit.h"

/* A unit's process, by its compute(). */
void weiri_elementwise_process(weiri_unit *unit,
                               const weiri_tile *in,
                               size_t *ret_consumed,
                               weiri_tile *out,
                               size_t *ret_produced);

/* The values as they are, NaN for what is missing: for settings that switch a unit off. */
void weiri_elementwise_hand_on(weiri_unit *unit,
                               const weiri_tile *in,
                               size_t *ret_consumed,
                               weiri_tile *out,
                               size_t *ret_produced);

#endif
