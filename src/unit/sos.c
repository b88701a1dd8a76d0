/* SPDX-License-Identifier: MIT
 *
 * sos.c: see sos.h. Coefficients and state are float64 for both dtypes (S8).
 */
#include "unit/sos.h"

static weiri_sos *lay_out(const weir_spec *in, size_t sections, void *base, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = base};
    weiri_sos *sos = weiri_carve(&carver, 1, sizeof *sos);
    weiri_recurrence_carve(&carver, in, 2 * sections, base == NULL ? NULL : &sos->recurrence);
    *ret_bytes = carver.used;
    return sos;
}

uint64_t weiri_sos_bytes(const weir_spec *in, size_t sections)
{
    uint64_t bytes;
    (void)lay_out(in, sections, NULL, &bytes);
    return bytes;
}

void weiri_sos_init(weiri_unit *unit, const weiri_sos_params *sections)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    uint64_t bytes;
    weiri_sos *sos = lay_out(unit->in, sections->sections, unit->state, &bytes);
    sos->sections = *sections;
    weiri_sos_steady_state(&sos->sections, sos->start);
    sos->recurrence.run = unit->in->dtype == WEIR_F32 ? kernels->sos_f32 : kernels->sos_f64;
    sos->recurrence.params = &sos->sections;
    sos->recurrence.start = sos->start;
    weiri_recurrence_init(&sos->recurrence, unit, 2 * sections->sections);
}

void weiri_sos_process(weiri_unit *unit,
                       const weiri_tile *in,
                       size_t *ret_consumed,
                       weiri_tile *out,
                       size_t *ret_produced)
{
    weiri_sos *sos = unit->state;
    weiri_recurrence_tile(&sos->recurrence, unit, in, ret_consumed, out, ret_produced);
}

void weiri_sos_reset(weiri_unit *unit)
{
    weiri_sos *sos = unit->state;
    weiri_recurrence_reset(&sos->recurrence);
}
