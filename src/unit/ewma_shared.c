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
                          "accumulate: false would restart at each message, so the output would "
                          "depend on message boundaries; only true is allowed");
    }
    if (!settings->passthrough) {
        plan->delay_frames =
            (double)NAN; /* grows to time_constant x rate as the average forgets its start */
    }
    return weiri_recursive_plan(plan, settings->passthrough ? 0 : words, sizeof(weiri_ewma_params),
                                false);
}

weir_err weiri_ewma_plan_mean(const void *settings, weiri_unit_plan *plan)
{
    return weiri_ewma_plan(settings, plan, 2); /* weight, mean */
}

void weiri_ewma_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const weiri_ewma_settings *given = settings;
    double alpha = -expm1(-1.0 / (given->time_constant * plan->in->rate_hz));
    weiri_ewma_params params = {alpha, 1.0 - alpha};
    weiri_recursive_prepare(plan, &params, sizeof params, constants);
}

/* Weights of samples before a frame, k frames later: (beta^(k + 1) - beta^(n + 1)) / (1 - beta^(n + 1)) in all,
 * at most beta^(k + 1), with beta = exp(-1 / (time constant x rate)). */
uint64_t weiri_ewma_settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    const weiri_ewma_settings *given = settings;
    if (given->passthrough || tolerance >= 1.0) {
        return 0;
    }
    double frames = ceil(-log(tolerance) * given->time_constant * plan->in->rate_hz) - 1.0;
    return frames < 0x1p63 ? (uint64_t)fmax(frames, 0.0)
                           : WEIR_SETTLES_NEVER; /* a tolerance of 0 too */
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
         "time after which a sample's weight has fallen to 1/e; a change while running keeps the "
         "average",
     .example = "10 ms",
     .live = true},
    {.name = "accumulate",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(weiri_ewma_settings, accumulate),
     .help = "only true is allowed: with false the output would depend on message boundaries"},
    {.name = "passthrough",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(weiri_ewma_settings, passthrough),
     .help = "true: pass the input through unchanged"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(weiri_ewma_settings, axis),
     .help = "name of the stream's dimension; no other is allowed"},
    {.name = "reset_on_resume",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: passthrough cannot change while "
             "running"},
    {.name = "mlx_metal_chunk_sizes",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {0},
};
