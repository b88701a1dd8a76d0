/* SPDX-License-Identifier: MIT
 *
 * sos.h: runs second-order sections: what every recursive filter shares once its sections are
 * designed.
 */
#ifndef WEIRI_SOS_H
#define WEIRI_SOS_H

#include "unit/design.h"
#include "unit/recurrence_state.h"

typedef struct weiri_sos {
    weiri_sos_params sections;
    double start[2 * WEIRI_SOS_MAX];
    weiri_recurrence recurrence;
} weiri_sos;

/* Bytes of an instance with that many sections. */
uint64_t weiri_sos_bytes(const weir_spec *in, size_t sections);

/* Makes the instance in unit->state. */
void weiri_sos_init(weiri_unit *unit, const weiri_sos_params *sections);

/* A unit's process and reset. */
void weiri_sos_process(weiri_unit *unit,
                       const weiri_tile *in,
                       size_t *ret_consumed,
                       weiri_tile *out,
                       size_t *ret_produced);
void weiri_sos_reset(weiri_unit *unit);

#endif
