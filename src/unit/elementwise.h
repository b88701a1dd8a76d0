/* SPDX-License-Identifier: MIT
 *
 * elementwise.h: what units with one value in and one value out share: blocks that stay in L1,
 * and missing samples (S5). Such a unit is a settings table and one function.
 */
#ifndef WEIRI_ELEMENTWISE_H
#define WEIRI_ELEMENTWISE_H

#include "unit/unit.h"

/* Computes count values of the unit's dtype; the first is value number `first` of its tile. out
 * may be in. Values that are not finite may give anything. */
typedef void weiri_elementwise_fn(const weiri_unit *unit,
                                  const void *in,
                                  void *out,
                                  size_t first,
                                  size_t count);

/* The values as they are: for settings that switch a unit off. */
weiri_elementwise_fn weiri_elementwise_copy;

/* A unit's process, but for its arithmetic. */
void weiri_elementwise_process(weiri_unit *unit,
                               const weiri_tile *in,
                               size_t *ret_consumed,
                               weiri_tile *out,
                               size_t *ret_produced,
                               weiri_elementwise_fn *compute);

#endif
