/* SPDX-License-Identifier: MIT
 *
 * ewma_shared.c: see ewma_shared.h.
 */
#include "unit/ewma_shared.h"

#include <math.h>

#include "unit/elementwise.h"
#include "unit/recurrence_state.h"

typedef struct ewma_state {
    weiri_ewma_params params;
    weiri_recurrence recurrence;
} ewma_state;

static ewma_state *lay_out(const weir_spec *in, size_t words, void *base, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = base};
    ewma_state *state = weiri_carve(&carver, 1, sizeof *state);
    weiri_recurrence_carve(&carver, in, words, base == NULL ? NULL : &state->recurrence);
    *ret_bytes = carver.used;
    return state;
}

weir_err weiri_ewma_plan(const weiri_ewma_settings *settings, weiri_unit_plan *plan, size_t words)
{
    weir_err err = weiri_axis_is_stream(plan->in, settings->axis);
    if (err != WEIR_OK) {
        return err;
    }
    if (!settings->accumulate) {
        return weiri_fail(WEIR_E_CHAIN,
                          "accumulate: false would start anew at each message, so the output would "
                          "depend on how the stream is cut; only true is there");
    }
    if (!settings->passthrough) {
        (void)lay_out(plan->in, words, NULL, &plan->state_bytes);
    }
    return WEIR_OK;
}

void weiri_ewma_init(weiri_unit *unit,
                     weiri_recurrence_fn *f32,
                     weiri_recurrence_fn *f64,
                     size_t words)
{
    const weiri_ewma_settings *settings = unit->settings;
    uint64_t bytes;
    if (settings->passthrough) {
        return;
    }
    ewma_state *state = lay_out(unit->in, words, unit->state, &bytes);
    double alpha = -expm1(-1.0 / (settings->time_constant * unit->in->rate_hz));
    state->params = (weiri_ewma_params){alpha, 1.0 - alpha};
    state->recurrence.run = unit->in->dtype == WEIR_F32 ? f32 : f64;
    state->recurrence.params = &state->params;
    weiri_recurrence_init(&state->recurrence, unit, words);
}

void weiri_ewma_process(weiri_unit *unit,
                        const weiri_tile *in,
                        size_t *ret_consumed,
                        weiri_tile *out,
                        size_t *ret_produced)
{
    const weiri_ewma_settings *settings = unit->settings;
    ewma_state *state = unit->state;
    if (settings->passthrough) {
        weiri_elementwise_hand_on(unit, in, ret_consumed, out, ret_produced);
    } else {
        weiri_recurrence_tile(&state->recurrence, unit, in, ret_consumed, out, ret_produced);
    }
}

void weiri_ewma_reset(weiri_unit *unit)
{
    const weiri_ewma_settings *settings = unit->settings;
    ewma_state *state = unit->state;
    if (!settings->passthrough) {
        weiri_recurrence_reset(&state->recurrence);
    }
}

const weir_setting weiri_ewma_table[] = {
    {.name = "time_constant",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "1 s",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(weiri_ewma_settings, time_constant),
     .help = "after which a sample's weight has fallen to 1/e",
     .example = "10 ms"},
    {.name = "accumulate",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(weiri_ewma_settings, accumulate),
     .help = "only true is there: false would make the output depend on the cut"},
    {.name = "passthrough",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(weiri_ewma_settings, passthrough),
     .help = "true hands the input on unchanged"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(weiri_ewma_settings, axis),
     .help = "the stream's dimension, the only one there is for it"},
    {.name = "reset_on_resume",
     .type = WEIR_SETTING_IGNORED,
     .help = "of the reference: passthrough cannot change here while it runs"},
    {.name = "mlx_metal_chunk_sizes",
     .type = WEIR_SETTING_IGNORED,
     .help = "of the reference's backend"},
    {0},
};
