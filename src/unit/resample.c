/* SPDX-License-Identifier: MIT
 *
 * resample.c: another rate, by a polyphase FIR filter: the rates' exact ratio L / M, L sets of taps. Output frame m is
 * the band-limited signal at input frame m M / L; phase and place follow from m, so nothing is counted. No delay: the
 * filter looks ahead.
 */
#include "unit/unit.h"

#include <math.h>
#include <string.h>

#include "dsp/sinc.h"
#include "unit/lookahead.h"

__extension__ typedef unsigned __int128 wide;

typedef struct resample_settings {
    const char *axis;
    double resample_rate_hz;
    double passband, attenuation_db;
} resample_settings;

enum { TOGETHER = 4 }; /* outputs that the kernel computes at once */

typedef struct resample {
    weiri_lookahead lookahead;
    uint64_t reach; /* frames on either side of an output; 0: the rate stays */
    uint64_t zeros; /* before and after each phase's taps: what TOGETHER outputs are apart */
    size_t taps;    /* where they are, in bytes from here: [q x (zeros + 2 reach)], and zeros */
} resample;

#define MOST_TAPS (UINT64_C(1) << 27) /* 1 GiB */

/* ---- plan ---------------------------------------------------------------------------------------- */

static uint64_t common(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* p input frames become q. False: 64 bits do not hold them. */
static bool ratio_of(double rate_hz, double target_hz, uint64_t *ret_p, uint64_t *ret_q)
{
    weiri_fraction from = weiri_fraction_of(rate_hz), to = weiri_fraction_of(target_hz);
    uint64_t over = common(from.over, to.over), under = common(from.under, to.under);
    return over > 0 && weiri_mul(from.over / over, to.under / under, ret_p) &&
           weiri_mul(to.over / over, from.under / under, ret_q);
}

/* The slower rate's Nyquist frequency is where the stop-band begins. */
static weiri_sinc sinc_of(const resample_settings *set, uint64_t p, uint64_t q)
{
    double stop = 0.5 * (p > q ? (double)q / (double)p : 1.0);
    return weiri_sinc_design(set->passband * stop, stop, set->attenuation_db);
}

/* Without due. ret_count: taps in all; false: too many. */
static bool
lay_out(const resample_settings *set, uint64_t p, uint64_t q, resample *ret, uint64_t *ret_count)
{
    weiri_sinc sinc = sinc_of(set, p, q);
    weiri_carver carver = {.base = NULL};
    *ret = (resample){.zeros = (TOGETHER - 1) * (p / q + 1)};
    ret->reach = p == q ? 0 : weiri_sinc_reach(&sinc);
    ret->lookahead = (weiri_lookahead){.before = 2 * ret->reach, .most = 1};
    (void)weiri_carve(&carver, 1, sizeof *ret);
    ret->taps = carver.used;
    *ret_count = ret->reach == 0 ? 0 : ret->zeros;
    return ret->reach == 0 || (weiri_mul(q, ret->zeros + 2 * ret->reach, ret_count) &&
                               *ret_count < MOST_TAPS && (*ret_count += ret->zeros) < MOST_TAPS);
}

static weir_err plan_resample(const void *settings, weiri_unit_plan *plan)
{
    const resample_settings *set = settings;
    double rate_hz = plan->in->rate_hz;
    uint64_t p = 0, q = 0, taps = 0;
    weir_err err = weiri_axis_is_stream(plan->in, set->axis);
    if (err != WEIR_OK) {
        return err;
    }
    if (!ratio_of(rate_hz, set->resample_rate_hz, &p, &q) || p > INT64_MAX / 4 || q > MOST_TAPS ||
        p / q > MOST_TAPS) {
        return weiri_fail(WEIR_E_CHAIN, "resample_rate: %.17g Hz / %.17g Hz has no simple ratio",
                          set->resample_rate_hz, rate_hz);
    }
    resample r;
    if (!lay_out(set, p, q, &r, &taps)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "resample_rate: the ratio %llu / %llu needs %llu taps for each of %llu "
                          "phases; at most %llu in all are possible: choose a simpler ratio",
                          (unsigned long long)q, (unsigned long long)p,
                          (unsigned long long)(2 * r.reach), (unsigned long long)q,
                          (unsigned long long)MOST_TAPS);
    }
    plan->constant_bytes = r.taps + taps * sizeof(double);
    if (p == q) {
        weiri_notice(plan->notices, "resample_rate: is the stream's rate; frames pass unchanged");
        return WEIR_OK;
    }
    r.lookahead.due = (weiri_due){.p = p,
                                  .q = q,
                                  .offset = (int64_t)p - 1 - (int64_t)(r.reach * q),
                                  .end = (int64_t)p - 1,
                                  .grain = 1};
    return weiri_lookahead_plan(plan, &r.lookahead);
}

static void prepare_resample(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const resample_settings *set = settings;
    uint64_t p = plan->due.p, q = plan->due.q, count;
    resample *r = constants;
    (void)lay_out(set, p, q, r, &count);
    r->lookahead.due = plan->due;
    weiri_sinc sinc = sinc_of(set, p, q);
    double *taps = (double *)((unsigned char *)constants + r->taps);
    for (uint64_t phase = 0; r->reach > 0 && phase < q; phase++) {
        weiri_sinc_taps(&sinc, (double)phase / (double)q,
                        taps + phase * (r->zeros + 2 * r->reach) + r->zeros);
    }
}

/* The output at input frame f has taps for f - reach + 1 to f + reach, and is due with the last of these. */
static uint64_t settle_resample(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    const resample_settings *set = settings;
    resample r;
    uint64_t count;
    (void)tolerance;
    (void)lay_out(set, plan->due.p, plan->due.q, &r, &count);
    return r.reach > 0 ? 2 * r.reach - 1 : 0;
}

/* ---- running ------------------------------------------------------------------------------------- */

static void reset_resample(weiri_block *block)
{
    const resample *r = block->constants;
    if (r->reach > 0) {
        weiri_lookahead_reset(block);
    }
}

/* Tap i of an output at input frame f is for frame f - reach + 1 + i, f rounded down. */
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
    const resample *r = block->constants;
    const weiri_fraction pace = {r->lookahead.due.p, r->lookahead.due.q};
    const double *table = (const double *)((const unsigned char *)block->constants + r->taps);
    size_t columns = (size_t)block->columns, length = (size_t)(2 * r->reach);
    (void)group;
    for (uint64_t m = from; m < to; m += TOGETHER) {
        size_t some = to - m < TOGETHER ? (size_t)(to - m) : TOGETHER, apart = 0;
        const double *taps[TOGETHER] = {NULL};
        uint64_t start = weiri_fraction_times(pace, m);
        for (size_t k = 0; k < some; k++) {
            uint64_t phase = (uint64_t)((wide)(m + k) * pace.over % pace.under);
            apart = (size_t)(weiri_fraction_times(pace, m + k) - start);
            taps[k] = table + phase * (r->zeros + length) + r->zeros - apart;
        }
        size_t row = (size_t)((int64_t)start - (int64_t)r->reach + 1 - first) * WEIRI_BLOCK;
        size_t at = (size_t)(m - from) * columns;
        if (block->in->dtype == WEIR_F32) {
            kernels->taps_f32((const float *)rows + row, apart + length, taps, (float *)out + at,
                              columns, lanes, some);
        } else {
            kernels->taps_f64((const double *)rows + row, apart + length, taps, (double *)out + at,
                              columns, lanes, some);
        }
    }
}

static int64_t nearest(const weiri_block *block, uint64_t output, size_t column)
{
    const weiri_due *due = &((const resample *)block->constants)->lookahead.due;
    (void)column;
    return (int64_t)(((wide)output * due->p * 2 + due->q) / (2 * (wide)due->q));
}

static void run_resample(weiri_block *block, const weiri_work *work)
{
    const resample *r = block->constants;
    if (r->reach > 0) {
        weiri_lookahead_run(block, work, compute, nearest);
        return;
    }
    size_t bytes = work->consume * (size_t)weir_spec_frame_bytes(block->in);
    if (bytes > 0) {
        memcpy(work->out, work->in[0], bytes);
    }
    weiri_look_for_missing(block, work->in[0], work->consume);
}

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(resample_settings, axis),
     .help = "name of the stream's dimension; no other is possible"},
    {.name = "resample_rate",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(resample_settings, resample_rate_hz),
     .help = "rate of the output; the ratio of the rates is computed from their decimals",
     .example = "10 kHz"},
    {.name = "passband",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.9",
     .min = 0.1,
     .max = 0.99,
     .offset = offsetof(resample_settings, passband),
     .help = "end of the pass-band, as a part of the lower rate's Nyquist frequency, at which the "
             "stop-band begins"},
    {.name = "attenuation",
     .type = WEIR_SETTING_NUMBER,
     .preset = "80",
     .min = 20,
     .max = 200,
     .offset = offsetof(resample_settings, attenuation_db),
     .help = "attenuation of the stop-band in dB; the pass-band is exact to the same part of 1"},
    {.name = "max_chunk_delay",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: nothing depends on arrival times"},
    {.name = "fill_value",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: both ends keep their last value"},
    {.name = "buffer_duration",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: the filter's length decides"},
    {.name = "buffer_update_strategy",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = "output_reference",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: there is no reference stream"},
    {.name = "reference_reset_after_chunks",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: there is no reference stream"},
    {0},
};

const weiri_unit_ops weiri_unit_resample = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "resample",
             .summary = "changes the rate by any ratio, with a low-pass filter",
             .formula =
                 "y[m] = sum over n of x[n] h(m M / L - n); L / M = resample_rate / rate; h: "
                 "a sinc with a Kaiser window, the taps of each phase divided by their sum. "
                 "Output frame m has the time of input frame m M / L. A missing sample is "
                 "replaced by the last good one; an output is missing where its nearest "
                 "input frame is.",
             .source = "J. F. Kaiser, Nonrecursive digital filter design using the I0-sinh window "
                       "function (1974)",
             .start = "As if each channel's first good sample had always been there; at the end "
                      "of a segment, as if the last one stayed.",
             .ezmsg = "resample.ResampleProcessor",
             .differs = "ezmsg-sigproc interpolates linearly, without a filter: what is above the "
                        "new Nyquist frequency is aliased, what is below attenuated. A reference "
                        "stream's rate (resample_rate: null) is not possible.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(resample_settings),
    .plan = plan_resample,
    .prepare = prepare_resample,
    .settle = settle_resample,
    .reset = reset_resample,
    .run = run_resample,
};
