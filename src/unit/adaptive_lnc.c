/* SPDX-License-Identifier: MIT
 *
 * adaptive_lnc.c: removes line noise whose frequency is followed, by notches or by subtraction of an estimate.
 *
 * Time is divided into windows of one period of the nominal frequency, on a grid that begins with the segment. At the
 * end of each the frequency is corrected by how far the line's phasor has turned since the window before, summed over
 * all channels, weighted by power. Until then it is constant, so a window is filtered at once.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "unit/elementwise.h"
#include "unit/iir.h"

enum { NOTCH, SUBTRACT, PASSTHROUGH };

typedef struct lnc_settings {
    double line_hz, adapt_s, track_s, deviation_hz;
    int64_t harmonics;
    int method;
    const char *axis;
} lnc_settings;

typedef struct lnc {
    int method;
    bool tracks;
    size_t harmonics;
    uint64_t window;           /* frames */
    double omega, least, most; /* rad a frame: at the start, and as far as it may go */
    double step;               /* mu of the notches */
    double follow,
        smooth; /* parts of a correction of the frequency, of a new estimate, that are taken */
} lnc;

/* Fields. A clock has the frequency, the phase at the window's first frame and, to subtract, a phase a harmonic. PHASOR:
 * sums of this window [harmonics, then 1 of the last window x real, imaginary]. LINE: smoothed phasors, amplitudes. */
enum { FILTER = 0, PHASOR = 1, CLOCK = 2, LINE = 0 };

static lnc lnc_of(const lnc_settings *settings, double rate_hz)
{
    double radians = 2.0 * M_PI / rate_hz;
    double window = fmax(nearbyint(rate_hz / settings->line_hz), 1.0), s = window / rate_hz;
    return (lnc){
        .method = settings->method,
        .tracks = settings->track_s > 0.0,
        .harmonics = (size_t)settings->harmonics,
        .window = (uint64_t)window,
        .omega = radians * settings->line_hz,
        .least = radians * fmax(settings->line_hz - settings->deviation_hz, 0.0),
        .most = radians * fmin(settings->line_hz + settings->deviation_hz, rate_hz / 2.0),
        .step = 2.0 / (settings->adapt_s * rate_hz),
        .follow = settings->track_s > 0.0 ? -expm1(-s / settings->track_s) : 0.0,
        .smooth = -expm1(-s / settings->adapt_s),
    };
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const lnc_settings *given = settings;
    double nyquist_hz = plan->in->rate_hz / 2.0;
    weir_err err = weiri_axis_is_stream(plan->in, given->axis);
    if (err == WEIR_OK && given->line_hz >= nyquist_hz) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "line_freq: %.15g Hz is not below the Nyquist frequency, %.15g Hz",
                         given->line_hz, nyquist_hz);
    }
    if (err == WEIR_OK && given->adapt_s * plan->in->rate_hz <= 1.0) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "adapt_time_constant: %.15g s is not longer than a frame, %.15g s",
                         given->adapt_s, 1.0 / plan->in->rate_hz);
    }
    if (err != WEIR_OK || given->method == PASSTHROUGH) {
        plan->constant_bytes = sizeof(lnc);
        return err;
    }
    lnc l = lnc_of(given, plan->in->rate_hz);
    bool notch = l.method == NOTCH;
    weiri_field fields[] = {
        {.name = notch ? "state" : "line",
         .kind = 'f',
         .bytes = 8,
         .rows = (notch ? 2 : 3) * l.harmonics,
         .lanes = notch ? WEIRI_BLOCK : 0},
        {.name = "phasor", .kind = 'f', .bytes = 8, .rows = 2 * (notch ? 1 : l.harmonics) + 2},
        {.name = "clock",
         .kind = 'f',
         .bytes = 8,
         .by_block = true,
         .rows = 2 + (notch ? 0 : l.harmonics)},
    };
    size_t count = notch && !l.tracks ? 1 : 3;
    for (size_t i = 0; err == WEIR_OK && i < count; i++) {
        err = weiri_plan_field(plan, fields[i]);
    }
    plan->columnwise = plan->columnwise && count == 1;
    plan->delay_frames = (double)NAN;
    plan->constant_bytes = sizeof(lnc);
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    *(lnc *)constants = lnc_of(settings, plan->in->rate_hz);
}

/* The notches of all harmonics at a frequency. */
static weiri_sos_params notches(const lnc *l, double omega)
{
    weiri_sos_params sections = {.kind = WEIRI_SOS_CIRCLE, .sections = l->harmonics, .gain = 1.0};
    for (size_t k = 0; k < l->harmonics; k++) {
        double cosine = cos((double)(k + 1) * omega), *c = sections.coefs[k];
        c[0] = -2.0 * cosine;
        c[1] = 1.0;
        c[2] = (2.0 - l->step) * cosine;
        c[3] = l->step - 1.0;
    }
    return sections;
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    lnc l = lnc_of(settings, plan->in->rate_hz);
    if (l.method == PASSTHROUGH) {
        return 0;
    }
    weiri_sos_params sections = notches(&l, l.omega);
    return l.method == NOTCH && !l.tracks ? weiri_sos_settle(&sections, tolerance)
                                          : WEIR_SETTLES_NEVER;
}

/* ---- running -------------------------------------------------------------------------------------- */

/* A block's call. */
typedef struct call {
    const lnc *lnc;
    weiri_block *block;
    size_t columns;
    bool f32;
    double *clock, *phasor, *line;
} call;

static call call_of(weiri_block *block)
{
    call c = {.lnc = block->constants,
              .block = block,
              .columns = (size_t)block->columns,
              .f32 = block->in->dtype == WEIR_F32};
    if (c.lnc->method == SUBTRACT || (c.lnc->method == NOTCH && c.lnc->tracks)) {
        c.phasor = block->state[PHASOR];
        c.clock = block->state[CLOCK];
    }
    c.line = c.lnc->method == SUBTRACT ? block->state[LINE] : NULL;
    return c;
}

static size_t phasors_of(const lnc *l)
{
    return l->method == SUBTRACT ? l->harmonics : 1;
}

static void reset(weiri_block *block)
{
    call c = call_of(block);
    const lnc *l = c.lnc;
    if (l->method == NOTCH) {
        memset(block->state[FILTER], 0,
               weiri_recurrence_state_words(c.columns, 2 * l->harmonics) * sizeof(double));
    }
    if (l->method == SUBTRACT) {
        memset(c.line, 0, 3 * l->harmonics * c.columns * sizeof(double));
        memset(c.clock + 2, 0, l->harmonics * sizeof(double));
    }
    if (c.clock != NULL) {
        memset(c.phasor, 0, (2 * phasors_of(l) + 2) * c.columns * sizeof(double));
        c.clock[0] = l->omega;
        c.clock[1] = 0.0;
    }
}

/* The first real parts of phasor k; its imaginary parts follow. */
static double *phasor_at(const call *c, size_t k)
{
    return c->phasor + 2 * k * c->columns;
}

static const void *row_at(const call *c, const void *rows, size_t frame)
{
    return (const unsigned char *)rows +
           frame * c->columns * (c->f32 ? sizeof(float) : sizeof(double));
}

static void demodulate(const call *c, const void *row, const void *minus, size_t k, double angle)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    double *real = phasor_at(c, k), *imag = real + c->columns;
    if (c->f32) {
        kernels->demodulate_f32(row, minus, c->columns, cos(angle), sin(angle), real, imag);
    } else {
        kernels->demodulate_f64(row, minus, c->columns, cos(angle), sin(angle), real, imag);
    }
}

/* Frames of one window, the first of them number `at` of it. */
static void filter(const call *c, const void *in, void *out, size_t at, size_t frames)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const lnc *l = c->lnc;
    weiri_sos_params sections = notches(l, c->clock != NULL ? c->clock[0] : l->omega);
    weiri_split split = weiri_spec_channels(c->block->in);
    weiri_recurrence recurrence = {
        .run = c->f32 ? kernels->sos_f32 : kernels->sos_f64,
        .params = &sections,
        .words = 2 * l->harmonics,
        .columns = c->columns,
        .in_stride = (ptrdiff_t)c->columns,
        .out_stride = (ptrdiff_t)c->columns,
        .value_bytes = c->f32 ? sizeof(float) : sizeof(double),
        .missing = c->block->missing,
        .inner = (size_t)split.inner,
        .channels = (size_t)split.size,
        .state = c->block->state[FILTER],
        .ahead = c->block->ahead,
    };
    weiri_recurrence_process(&recurrence, in, out, frames);
    for (size_t i = 0; l->tracks && i < frames; i++) {
        demodulate(c, row_at(c, in, i), row_at(c, out, i), 0,
                   c->clock[1] + c->clock[0] * (double)(at + i));
    }
}

static void subtract(const call *c, const void *in, void *out, size_t at, size_t frames)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const lnc *l = c->lnc;
    double cosines[WEIRI_SOS_MAX];
    const double *amplitudes = c->line + 2 * l->harmonics * c->columns;
    weiri_look_for_missing(c->block, in, frames);
    for (size_t i = 0; i < frames; i++) {
        double base = c->clock[1] + c->clock[0] * (double)(at + i);
        const void *from = row_at(c, in, i);
        void *to = (unsigned char *)out + ((const unsigned char *)from - (const unsigned char *)in);
        for (size_t k = 0; k < l->harmonics; k++) {
            cosines[k] = cos((double)(k + 1) * base + c->clock[2 + k]);
            demodulate(c, from, NULL, k, (double)(k + 1) * base);
        }
        if (c->f32) {
            kernels->subtract_line_f32(from, to, c->columns, amplitudes, cosines, l->harmonics);
        } else {
            kernels->subtract_line_f64(from, to, c->columns, amplitudes, cosines, l->harmonics);
        }
    }
}

/* The window's phasor of the fundamental against the last one's, which it replaces: by how much the line's phase has
 * moved. */
static void correct_frequency(const call *c, bool first)
{
    const lnc *l = c->lnc;
    double *now = phasor_at(c, 0), *last = phasor_at(c, phasors_of(l));
    double real = 0.0,
           imag = 0.0; /* of the sum of now x conj(last), where a phasor is real - i imag */
    for (size_t i = 0, n = c->columns; i < n; i++) {
        real += now[i] * last[i] + now[n + i] * last[n + i];
        imag += now[i] * last[n + i] - now[n + i] * last[i];
    }
    if (!first && l->tracks && isfinite(real) && isfinite(imag) && (real != 0.0 || imag != 0.0)) {
        double omega = c->clock[0] + l->follow * atan2(imag, real) / (double)l->window;
        c->clock[0] = fmax(l->least, fmin(l->most, omega));
    }
    memcpy(last, now, 2 * c->columns * sizeof(double));
}

/* The window's phasors into the smoothed ones, and from these the phase that all channels share and each one's amplitude
 * at that phase. */
static void estimate(const call *c, bool first)
{
    const lnc *l = c->lnc;
    size_t n = c->columns;
    double scale = 2.0 / (double)l->window, keep = first ? 0.0 : 1.0 - l->smooth;
    double take = first ? 1.0 : l->smooth;
    for (size_t k = 0; k < l->harmonics; k++) {
        const double *now = phasor_at(c, k);
        double *real = c->line + 2 * k * n, *imag = real + n;
        double *amplitude = c->line + (2 * l->harmonics + k) * n, x = 0.0, y = 0.0;
        for (size_t i = 0; i < n; i++) {
            real[i] = keep * real[i] + take * (scale * now[i]);
            imag[i] = keep * imag[i] - take * (scale * now[n + i]);
            double magnitude = sqrt(real[i] * real[i] + imag[i] * imag[i]);
            if (isfinite(magnitude)) {
                x += real[i] * magnitude;
                y += imag[i] * magnitude;
            } else { /* overflow: begin anew */
                real[i] = imag[i] = 0.0;
            }
        }
        double theta = isfinite(x) && isfinite(y) ? atan2(y, x) : 0.0;
        c->clock[2 + k] = theta;
        for (size_t i = 0; i < n; i++) {
            amplitude[i] = fmax(real[i] * cos(theta) + imag[i] * sin(theta), 0.0);
        }
    }
}

static void end_window(const call *c, bool first)
{
    double turned = c->clock[1] + c->clock[0] * (double)c->lnc->window;
    if (c->lnc->method == SUBTRACT) {
        estimate(c, first);
    }
    correct_frequency(c, first);
    c->clock[1] = remainder(turned, 2.0 * M_PI);
    memset(c->phasor, 0, 2 * phasors_of(c->lnc) * c->columns * sizeof(double));
}

static void run(weiri_block *block, const weiri_work *work)
{
    call c = call_of(block);
    if (c.lnc->method == PASSTHROUGH) {
        weiri_elementwise_pass(block, work);
        return;
    }
    uint64_t window = c.lnc->window;
    for (size_t done = 0; done < work->consume;) {
        uint64_t n = work->consumed + done;
        size_t at = (size_t)(n % window), left = work->consume - done;
        size_t some = c.clock != NULL && window - at < left ? (size_t)(window - at) : left;
        const void *in = row_at(&c, work->in[0], done);
        void *out = (unsigned char *)work->out +
                    ((const unsigned char *)in - (const unsigned char *)work->in[0]);
        if (c.lnc->method == NOTCH) {
            filter(&c, in, out, at, some);
        } else {
            subtract(&c, in, out, at, some);
        }
        done += some;
        if (c.clock != NULL && at + some == window) {
            end_window(&c, n < window);
        }
    }
}

static const weir_choice methods[] = {
    {.name = "notch"}, {.name = "subtract"}, {.name = "passthrough"}, {0}};

static const weir_setting table[] = {
    {.name = "line_freq",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "60 Hz",
     .min = 1e-6,
     .max = 1e9,
     .offset = offsetof(lnc_settings, line_hz),
     .help = "nominal frequency of the line",
     .example = "300 Hz"},
    {.name = "num_harmonics",
     .type = WEIR_SETTING_INTEGER,
     .preset = "1",
     .min = 1,
     .max = WEIRI_SOS_MAX,
     .offset = offsetof(lnc_settings, harmonics),
     .help = "number of frequencies that are removed: 1 to num_harmonics times the line's",
     .example = "2"},
    {.name = "adapt_time_constant",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "100 ms",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(lnc_settings, adapt_s),
     .help = "time in which the estimate of the line follows its amplitude and phase; longer is a "
             "narrower notch; a change while running keeps the state",
     .live = true},
    {.name = "freq_time_constant",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "500 ms",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(lnc_settings, track_s),
     .help = "time in which the frequency is followed; 0: it stays at line_freq",
     .live = true},
    {.name = "max_freq_deviation",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "2 Hz",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(lnc_settings, deviation_hz),
     .help = "furthest that the frequency may go from line_freq"},
    {.name = "cancel_method",
     .type = WEIR_SETTING_ENUM,
     .preset = "notch",
     .choices = methods,
     .offset = offsetof(lnc_settings, method),
     .help =
         "notch: remove all that is at these frequencies; subtract: only what all channels share "
         "in phase; passthrough: pass the input through unchanged"},
    WEIRI_AXIS_SETTING(lnc_settings, axis),
    {0},
};

const weiri_unit_ops weiri_unit_adaptive_lnc = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "adaptive_lnc",
         .summary = "removes line noise and follows its frequency",
         .formula =
             "notch: for each k a section (1 - 2 cos(k w) z^-1 + z^-2) / (1 - (2 - u) cos(k w) "
             "z^-1 + (1 - u) z^-2), u = 2 / (adapt_time_constant rate). Per window of one period: "
             "Z "
             "= sum (x - y) exp(-i phase), w += (1 - exp(-window / freq_time_constant)) angle(sum "
             "over channels Z conj(Z before)) / window. subtract: y = x - sum of a_k cos(k phase + "
             "t_k), t_k and a_k common phase and amplitudes of the smoothed Z of the windows "
             "before.",
         .source = "Glover, IEEE Transactions on Acoustics, Speech, and Signal Processing 25(6), "
                   "1977 (the notch of an adaptive canceller).",
         .start =
             "All state is 0, the frequency is line_freq; subtract removes nothing in the first "
             "window.",
         .ezmsg = "adaptive_lnc.AdaptiveLNCTransformer",
         .differs =
             "freq_time_constant: 0 stands for None; without a limit of the deviation give a "
             "large one. A missing sample adds nothing to the estimate.",
         .checks = "values of ezmsg-sigproc",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COUPLES_CHANNELS | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(lnc_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = reset,
    .run = run,
};
