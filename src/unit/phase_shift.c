/* SPDX-License-Identifier: MIT
 *
 * phase_shift.c: each channel as if it had been sampled at its frame's time, where converters take the channels of a
 * frame one after the other: by a windowed-sinc filter for each channel. No delay: the filters look ahead.
 */
#include "unit/unit.h"

#include <math.h>
#include <string.h>

#include "dsp/sinc.h"
#include "unit/lookahead.h"

typedef struct shift_settings {
    weir_list shift;
    double passband, attenuation_db;
} shift_settings;

/* Of output n channel c has taps for frames n + offset[c] - reach + 1 to n + offset[c] + reach, offset being the
 * shift with its sign turned, rounded down. All channels have as many: those of all channels together. */
typedef struct shift_constants {
    weiri_lookahead lookahead;
    int64_t low;   /* the first of all these frames is n + low */
    size_t length; /* how many they are */
    size_t channels, inner;
    size_t shifts, taps; /* where they are, in bytes from here: [channels], [channels x length] */
} shift_constants;

enum { FRAMES_MOST = 1000 }; /* of a shift, either way */
enum { TAPS = 3 };           /* field, after those of the lookahead */

static double shift_of(const shift_settings *set, size_t channel)
{
    return set->shift.of.numbers[set->shift.count == 1 ? 0 : channel];
}

/* Beyond the Nyquist frequency the response of the sinc is the mirror image. */
static weiri_sinc sinc_of(const shift_settings *set)
{
    return weiri_sinc_design(0.5 * set->passband, 1.0 - 0.5 * set->passband, set->attenuation_db);
}

static shift_constants lay_out(const shift_settings *set, const weir_spec *in, uint64_t *ret_bytes)
{
    weiri_sinc sinc = sinc_of(set);
    weiri_split split = weiri_spec_channels(in);
    weiri_carver carver = {.base = NULL};
    int64_t reach = (int64_t)weiri_sinc_reach(&sinc);
    double least = shift_of(set, 0), most = least;
    for (size_t i = 0; i < set->shift.count; i++) {
        least = fmin(least, shift_of(set, i));
        most = fmax(most, shift_of(set, i));
    }
    int64_t low = (int64_t)floor(-most) - reach + 1, high = (int64_t)floor(-least) + reach;
    int64_t ahead = high > 0 ? high : 0;
    while ((high - low + 1) % 4 != 0) { /* what the kernel does at once; the taps before stay 0 */
        low--;
    }
    shift_constants c = {
        .low = low,
        .length = (size_t)(high - low + 1),
        .channels = (size_t)split.size,
        .inner = (size_t)split.inner,
        .lookahead = {.due = {.p = 1, .q = 1, .offset = -ahead, .grain = 1},
                      .before = (uint64_t)(ahead - low + 1),
                      .least = (int64_t)floor(-most),
                      .most = (int64_t)floor(-least) + 1},
    };
    (void)weiri_carve(&carver, 1, sizeof c);
    c.shifts = carver.used;
    (void)weiri_carve(&carver, c.channels, sizeof(double));
    c.taps = carver.used;
    (void)weiri_carve(&carver, c.channels * c.length, sizeof(double));
    *ret_bytes = carver.used;
    return c;
}

static weir_err check_shifts(const shift_settings *set, const weir_spec *in)
{
    uint64_t channels = weiri_spec_channels(in).size;
    if (set->shift.count != 1 && set->shift.count != channels) {
        return weiri_fail(WEIR_E_CHAIN,
                          "shift: %zu numbers for %llu channels; one for all, or one per channel",
                          set->shift.count, (unsigned long long)channels);
    }
    for (size_t i = 0; i < set->shift.count; i++) {
        if (!(fabs(shift_of(set, i)) <= FRAMES_MOST)) {
            return weiri_fail(WEIR_E_CHAIN, "shift: %g of channel %zu is not within %d frames",
                              shift_of(set, i), i, FRAMES_MOST);
        }
    }
    return WEIR_OK;
}

static weir_err plan_shift(const void *settings, weiri_unit_plan *plan)
{
    const shift_settings *set = settings;
    weir_err err = check_shifts(set, plan->in);
    if (err != WEIR_OK) {
        return err;
    }
    shift_constants c = lay_out(set, plan->in, &plan->constant_bytes);
    for (size_t i = 0; i < set->shift.count; i++) { /* where they differ there is not one delay */
        plan->delay_frames = shift_of(set, i) == shift_of(set, 0) ? shift_of(set, 0) : (double)NAN;
        if (isnan(plan->delay_frames)) {
            break;
        }
    }
    err = weiri_lookahead_plan(plan, &c.lookahead);
    return err == WEIR_OK ? weiri_plan_field(plan, (weiri_field){.name = "taps",
                                                                 .kind = 'f',
                                                                 .bytes = sizeof(double),
                                                                 .rows = c.length,
                                                                 .lanes = WEIRI_BLOCK})
                          : err;
}

static void prepare_shift(const void *settings, const weiri_unit_plan *plan, void *memory)
{
    const shift_settings *set = settings;
    uint64_t bytes;
    shift_constants *c = memory;
    *c = lay_out(set, plan->in, &bytes);
    double *shifts = (double *)((unsigned char *)memory + c->shifts);
    double *taps = (double *)((unsigned char *)memory + c->taps);
    weiri_sinc sinc = sinc_of(set);
    int64_t reach = (int64_t)weiri_sinc_reach(&sinc);
    for (size_t i = 0; i < c->channels; i++) {
        shifts[i] = shift_of(set, i);
        int64_t at = (int64_t)floor(-shifts[i]);
        weiri_sinc_taps(&sinc, -shifts[i] - (double)at,
                        taps + i * c->length + (size_t)(at - reach + 1 - c->low));
    }
}

static uint64_t settle_shift(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    uint64_t bytes;
    (void)tolerance;
    return lay_out(settings, plan->in, &bytes).lookahead.before - 1;
}

static size_t channel_of(const weiri_block *block, size_t column)
{
    const shift_constants *c = block->constants;
    return (size_t)block->first_channel + column / c->inner % (size_t)block->channels;
}

/* The taps of this block's columns, as the kernel reads them. */
static void reset_shift(weiri_block *block)
{
    const shift_constants *c = block->constants;
    const double *taps = (const double *)((const unsigned char *)block->constants + c->taps);
    double *own = block->state[TAPS];
    size_t columns = (size_t)block->columns;
    size_t padded = (columns + WEIRI_BLOCK - 1) / WEIRI_BLOCK * WEIRI_BLOCK;
    weiri_lookahead_reset(block);
    for (size_t column = 0; column < padded; column++) {
        double *to = own + column / WEIRI_BLOCK * c->length * WEIRI_BLOCK + column % WEIRI_BLOCK;
        for (size_t i = 0; i < c->length; i++) {
            to[i * WEIRI_BLOCK] =
                column < columns ? taps[channel_of(block, column) * c->length + i] : 0.0;
        }
    }
}

static void compute(const weiri_block *block,
                    size_t group,
                    const void *rows,
                    int64_t first,
                    uint64_t from,
                    uint64_t to,
                    void *out,
                    size_t lanes)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const shift_constants *c = block->constants;
    const double *taps = (const double *)block->state[TAPS] + group * c->length * WEIRI_BLOCK;
    size_t row = (size_t)((int64_t)from + c->low - first) * WEIRI_BLOCK;
    size_t columns = (size_t)block->columns, outputs = (size_t)(to - from);
    if (block->in->dtype == WEIR_F32) {
        kernels->taps_each_f32((const float *)rows + row, c->length, taps, out, columns, lanes,
                               outputs);
    } else {
        kernels->taps_each_f64((const double *)rows + row, c->length, taps, out, columns, lanes,
                               outputs);
    }
}

static int64_t nearest(const weiri_block *block, uint64_t output, size_t column)
{
    const shift_constants *c = block->constants;
    const double *shifts = (const double *)((const unsigned char *)block->constants + c->shifts);
    return (int64_t)output + (int64_t)floor(0.5 - shifts[channel_of(block, column)]);
}

static void run_shift(weiri_block *block, const weiri_work *work)
{
    weiri_lookahead_run(block, work, compute, nearest);
}

static const weir_setting table[] = {
    {.name = "shift",
     .type = WEIR_SETTING_LIST,
     .offset = offsetof(shift_settings, shift),
     .help = "by how many frames a channel was sampled later than its frame's time: one number, or "
             "one per channel; -1000 to 1000",
     .example = "0.25"},
    {.name = "passband",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.9",
     .min = 0.1,
     .max = 0.99,
     .offset = offsetof(shift_settings, passband),
     .help = "up to this part of the Nyquist frequency the shift is exact"},
    {.name = "attenuation",
     .type = WEIR_SETTING_NUMBER,
     .preset = "80",
     .min = 20,
     .max = 200,
     .offset = offsetof(shift_settings, attenuation_db),
     .help = "how small the error is there, in dB below the amplitude: 80 is 1e-4"},
    {0},
};

const weiri_unit_ops weiri_unit_phase_shift = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "phase_shift",
             .summary = "aligns channels that were sampled one after the other in each frame",
             .formula = "y[n, c] = sum over k of x[n + k, c] h(k + shift[c]); h: a sinc with a "
                        "Kaiser window, the taps of each channel divided by their sum. A missing "
                        "sample is replaced by the last good one; an output is missing where its "
                        "nearest input frame is.",
             .source = "J. F. Kaiser, Nonrecursive digital filter design using the I0-sinh window "
                       "function (1974)",
             .start = "As if each channel's first good sample had always been there; at the end "
                      "of a segment, as if the last one stayed.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(shift_settings),
    .plan = plan_shift,
    .prepare = prepare_shift,
    .settle = settle_shift,
    .reset = reset_shift,
    .run = run_shift,
};
