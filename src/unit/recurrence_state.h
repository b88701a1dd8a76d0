/* SPDX-License-Identifier: MIT
 *
 * recurrence_state.h: a unit whose state is one recurrence over time (src/scan): its memory, and
 * its process.
 */
#ifndef WEIRI_RECURRENCE_STATE_H
#define WEIRI_RECURRENCE_STATE_H

#include "scan/recurrence.h"
#include "unit/unit.h"

/* Places, or with a base of NULL only counts, the recurrence's state: words a column, f64. */
void weiri_recurrence_carve(weiri_carver *carver,
                            const weir_spec *in,
                            size_t words,
                            weiri_recurrence *recurrence);

/* Fills in all but run, params and start, which the unit has set; starts it. */
void weiri_recurrence_init(weiri_recurrence *recurrence, const weiri_unit *unit, size_t words);

/* One tile. */
void weiri_recurrence_tile(weiri_recurrence *recurrence,
                           weiri_unit *unit,
                           const weiri_tile *in,
                           size_t *ret_consumed,
                           weiri_tile *out,
                           size_t *ret_produced);

#endif
