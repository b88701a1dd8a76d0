/* SPDX-License-Identifier: MIT
 *
 * ewma_shared.c: see ewma_shared.h.
 */
#include "unit/ewma_shared.h"

#include <math.h>

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
        plan->delay_frames =
            (double)NAN; /* grows to time_constant x rate as the average forgets its start */
    }
    return weiri_recursive_plan(plan, settings->passthrough ? 0 : words, false);
}

void weiri_ewma_prepare(const weiri_ewma_settings *settings,
                        const weiri_unit_plan *plan,
                        weiri_recursive *ret_constants)
{
    double alpha = -expm1(-1.0 / (settings->time_constant * plan->in->rate_hz));
    weiri_recursive_prepare(plan, ret_constants);
    ret_constants->params.ewma = (weiri_ewma_params){alpha, 1.0 - alpha};
}

const weir_setting weiri_ewma_table[] = {
    {.name = "time_constant",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "1 s",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(weiri_ewma_settings, time_constant),
     .help =
         "time after which a sample's weight has fallen to 1/e; set while running, the average so "
         "far is kept",
     .example = "10 ms",
     .live = true},
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
