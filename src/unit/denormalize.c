/* SPDX-License-Identifier: MIT
 *
 * denormalize.c: values of mean 0 and standard deviation 1 become rates >= 0, by a random offset and gain for each
 * channel. The draws are those of NumPy's default_rng(seed), so that a simulation is the same one in both.
 */
#include <math.h>

#include "dsp/random.h"
#include "kernel/kernel.h"
#include "unit/elementwise.h"
#include "unit/linear.h"

typedef struct denormalize_settings {
    double low_rate_hz, high_rate_hz;
    int distribution;
    int64_t seed;
} denormalize_settings;

enum { UNIFORM, NORMAL, CONSTANT };
static const weir_choice distributions[] = {
    {"uniform", NULL}, {"normal", NULL}, {"constant", NULL}, {NULL, NULL}};

#define DEVIATIONS                                                                                 \
    3.29 /* 99.9 % of a normal distribution are within; an offset is that many gains */

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const denormalize_settings *given = settings;
    if (given->low_rate_hz > given->high_rate_hz) {
        return weiri_fail(WEIR_E_CHAIN, "low_rate: %.15g Hz is above high_rate, %.15g Hz",
                          given->low_rate_hz, given->high_rate_hz);
    }
    (void)weiri_linear_lay_out(plan->in, &plan->constant_bytes);
    return weiri_units_follow(plan, 0.0, "Hz");
}

/* One offset for each channel. */
static void draw(const denormalize_settings *given, double *ret_offsets, size_t channels)
{
    double low = given->low_rate_hz, high = given->high_rate_hz;
    weiri_random random;
    weiri_random_seed(&random, (uint64_t)given->seed);
    if (given->distribution == NORMAL) {
        weiri_random_normals(&random, ret_offsets, channels);
    }
    for (size_t i = 0; i < channels; i++) {
        switch (given->distribution) {
        case UNIFORM:
            ret_offsets[i] = low + (high - low) * weiri_random_uniform(&random);
            break;
        case NORMAL:
            ret_offsets[i] = (low + high) / 2.0 + (high - low) / 6.0 * ret_offsets[i];
            ret_offsets[i] = fmin(fmax(ret_offsets[i], low), high);
            break;
        default:
            ret_offsets[i] = (low + high) / 2.0;
            break;
        }
    }
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *memory)
{
    uint64_t bytes;
    weiri_linear *linear = memory;
    *linear = weiri_linear_lay_out(plan->in, &bytes);
    double *factors = (double *)((unsigned char *)memory + linear->factors);
    double *offsets = (double *)((unsigned char *)memory + linear->offsets);
    draw(settings, offsets, linear->channels);
    size_t columns = (size_t)weir_spec_columns(plan->in);
    for (size_t i = linear->period; i-- > 0;) { /* downwards: an entry's channel is not above it */
        offsets[i] = offsets[i % columns / linear->inner % linear->channels];
        factors[i] = offsets[i] / DEVIATIONS;
    }
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    weiri_linear_compute(block, in, out, first, count);
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->clip_f32(out, out, count, 0.0f, INFINITY);
    } else {
        weiri_kernels_get()->clip_f64(out, out, count, 0.0, (double)INFINITY);
    }
}

static const weir_setting table[] = {
    {.name = "low_rate",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "2 Hz",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(denormalize_settings, low_rate_hz),
     .help = "lowest mean rate of a channel"},
    {.name = "high_rate",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "40 Hz",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(denormalize_settings, high_rate_hz),
     .help = "highest mean rate of a channel"},
    {.name = "distribution",
     .type = WEIR_SETTING_ENUM,
     .preset = "uniform",
     .choices = distributions,
     .offset = offsetof(denormalize_settings, distribution),
     .help = "of the channels' mean rates: uniform; normal, with the middle of the range as its "
             "mean and a sixth of the range as its standard deviation; constant: the middle"},
    {.name = "seed",
     .type = WEIR_SETTING_INTEGER,
     .preset = "0",
     .min = 0,
     .max = 0x1p53,
     .offset = offsetof(denormalize_settings, seed),
     .help = "seed of the random numbers, those of NumPy's default_rng"},
    {0},
};

const weiri_unit_ops weiri_unit_denormalize = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "denormalize",
             .summary = "normalised values as rates, for simulations",
             .formula = "y = max(o + x o / 3.29, 0), with a random offset o for each channel: 99.9 "
                        "% of normal x give 0 to 2 o.",
             .source = "numpy.random.default_rng: PCG-64 (O'Neill, 2014) and the ziggurat method "
                       "(Marsaglia and Tsang, 2000)",
             .ezmsg = "denormalize.DenormalizeTransformer",
             .differs = "low_rate and high_rate also limit the uniform distribution, which "
                        "ezmsg-sigproc draws from 2 to 40 Hz whatever they are. Without a seed the "
                        "seed is 0: a run can be repeated.",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(denormalize_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
