/* SPDX-License-Identifier: MIT
 *
 * recurrence_state.c: see recurrence_state.h.
 */
#include "unit/recurrence_state.h"

void weiri_recurrence_carve(weiri_carver *carver,
                            const weir_spec *in,
                            size_t words,
                            weiri_recurrence *recurrence)
{
    size_t columns = (size_t)weir_spec_columns(in);
    double *state =
        weiri_carve(carver, weiri_recurrence_state_words(columns, words), sizeof *state);
    uint8_t *started = weiri_carve(carver, weiri_recurrence_started_bytes(columns), 1);
    if (carver->base != NULL) {
        recurrence->state = state;
        recurrence->started = started;
    }
}

void weiri_recurrence_init(weiri_recurrence *recurrence, const weiri_unit *unit, size_t words)
{
    size_t columns = (size_t)weir_spec_columns(unit->in);
    int dim = weir_spec_dim(unit->in, "ch");
    weiri_split split = dim > 0 ? weiri_spec_split(unit->in, dim) : (weiri_split){1, 1, columns};
    recurrence->words = words;
    recurrence->columns = columns;
    recurrence->value_bytes = weir_dtype_bytes(unit->in->dtype);
    recurrence->inner = (size_t)split.inner;
    recurrence->channels = (size_t)split.size;
    weiri_recurrence_reset(recurrence);
}

void weiri_recurrence_tile(weiri_recurrence *recurrence,
                           weiri_unit *unit,
                           const weiri_tile *in,
                           size_t *ret_consumed,
                           weiri_tile *out,
                           size_t *ret_produced)
{
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    recurrence->missing = unit->missing;
    recurrence->ahead = unit->ahead;
    weiri_recurrence_process(recurrence, in->data, out->data, frames);
    *ret_consumed = *ret_produced = frames;
}
