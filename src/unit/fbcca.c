/* SPDX-License-Identifier: MIT
 *
 * fbcca.c: how much of a frequency and its harmonics there is in the channels of a window: canonical correlation with
 * sines and cosines, over sub-bands where there is a filter bank. dsp/cca.h has the arithmetic.
 */
#include <math.h>
#include <string.h>

#include "dsp/cca.h"
#include "unit/unit.h"

typedef struct fbcca_settings {
    const char *time_dim, *ch_dim, *filterbank_dim, *target_freq_dim;
    int64_t harmonics;
    weir_list freqs;
    double softmax_beta, max_int_time_s;
} fbcca_settings;

typedef struct fbcca {
    int time, channels, bands; /* dimensions; bands: 0 = none */
    uint64_t samples;          /* of a window that are used */
    uint64_t freqs, rows;      /* rows: 2 x harmonics, of which a basis has fewer perhaps */
    double beta;
    uint64_t sizes_at, bases_at; /* bytes from here: [freqs] uint64_t, [freqs][rows][samples] */
} fbcca;

static const weir_setting table[] = {
    {.name = "time_dim",
     .type = WEIR_SETTING_STRING,
     .preset = NULL,
     .offset = offsetof(fbcca_settings, time_dim),
     .help = "dimension of the samples within a window",
     .example = "time"},
    {.name = "ch_dim",
     .type = WEIR_SETTING_STRING,
     .preset = NULL,
     .offset = offsetof(fbcca_settings, ch_dim),
     .help = "dimension of the channels",
     .example = "ch"},
    {.name = "filterbank_dim",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(fbcca_settings, filterbank_dim),
     .help = "dimension of the sub-bands; null: there are none"},
    {.name = "harmonics",
     .type = WEIR_SETTING_INTEGER,
     .preset = "5",
     .min = 1,
     .max = 64,
     .offset = offsetof(fbcca_settings, harmonics),
     .help = "multiples of each frequency that are tried, itself included"},
    {.name = "freqs",
     .type = WEIR_SETTING_LIST,
     .kind = WEIR_FREQUENCY,
     .preset = NULL,
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(fbcca_settings, freqs),
     .help = "frequencies to look for; none with line noise as a harmonic",
     .example = "110 Hz"},
    {.name = "softmax_beta",
     .type = WEIR_SETTING_NUMBER,
     .preset = "1",
     .offset = offsetof(fbcca_settings, softmax_beta),
     .help = "factor before the softmax over the frequencies; 0: no softmax"},
    {.name = "target_freq_dim",
     .type = WEIR_SETTING_STRING,
     .preset = "target_freq",
     .offset = offsetof(fbcca_settings, target_freq_dim),
     .help = "name of the dimension with one entry per frequency"},
    {.name = "max_int_time",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "0",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(fbcca_settings, max_int_time_s),
     .help = "use this much of a window, from its start; 0: all of it"},
    {.name = NULL},
};

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err
find_dim(const weir_spec *in, const char *setting, const char *name, bool optional, int *ret_dim)
{
    int dim = name == NULL ? 0 : weir_spec_dim(in, name);
    if (dim > 0 || (name == NULL && optional)) {
        *ret_dim = dim;
        return WEIR_OK;
    }
    return dim == 0 ? weiri_fail(WEIR_E_CHAIN,
                                 "%s: '%s' is the stream's dimension; put window before this unit",
                                 setting, name)
                    : weiri_fail(WEIR_E_CHAIN, "%s: there is no dimension '%s'", setting, name);
}

static weir_err find_dims(const fbcca_settings *set, const weir_spec *in, fbcca *f)
{
    weir_err err = find_dim(in, "time_dim", set->time_dim, false, &f->time);
    if (err == WEIR_OK) {
        err = find_dim(in, "ch_dim", set->ch_dim, false, &f->channels);
    }
    if (err == WEIR_OK) {
        err = find_dim(in, "filterbank_dim", set->filterbank_dim, true, &f->bands);
    }
    if (err == WEIR_OK &&
        (f->time == f->channels || f->time == f->bands || f->channels == f->bands)) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "time_dim: '%s' is ch_dim or filterbank_dim too; each needs its own",
                         set->time_dim);
    }
    return err;
}

static uint64_t place(fbcca *f)
{
    weiri_carver carver = {.base = NULL, .used = 0};
    weiri_carve(&carver, 1, sizeof *f);
    f->sizes_at = carver.used;
    weiri_carve(&carver, f->freqs, sizeof(uint64_t));
    f->bases_at = carver.used;
    weiri_carve(&carver, f->freqs * f->rows * weiri_cca_row((size_t)f->samples), sizeof(double));
    return carver.used;
}

static weir_err fbcca_of(const fbcca_settings *set, const weir_spec *in, fbcca *f)
{
    *f = (fbcca){
        .freqs = set->freqs.count, .rows = 2 * (uint64_t)set->harmonics, .beta = set->softmax_beta};
    weir_err err = find_dims(set, in, f);
    if (err != WEIR_OK) {
        return err;
    }
    const weir_axis *time = &in->dims[f->time];
    if (time->labels != NULL || time->values != NULL || !(time->step > 0.0)) {
        return weiri_fail(WEIR_E_CHAIN, "time_dim: the entries of '%s' are not evenly spaced",
                          time->name);
    }
    if (f->freqs == 0) {
        return weiri_fail(WEIR_E_CHAIN, "freqs: at least one frequency is required");
    }
    uint64_t most = set->max_int_time_s > 0.0
                        ? weiri_frames_floor(set->max_int_time_s, 1.0 / time->step)
                        : time->size;
    f->samples = most < time->size ? most : time->size;
    uint64_t rows = 0, bytes = 0;
    if (!weiri_mul(f->freqs * f->rows, f->samples + WEIRI_DOTS, &rows) ||
        !weiri_mul(rows, sizeof(double), &bytes) || bytes > UINT64_MAX / 4) {
        return weiri_fail(WEIR_E_CHAIN, "freqs: %llu frequencies do not fit into memory",
                          (unsigned long long)f->freqs);
    }
    if (f->samples < 2) {
        return weiri_fail(WEIR_E_CHAIN, "max_int_time: %llu samples of a window are too few",
                          (unsigned long long)f->samples);
    }
    (void)place(f);
    return WEIR_OK;
}

/* Scratch of one call. */
typedef struct scratch {
    double *rows, *products, *largest, *results; /* results [frequencies] */
} scratch;

/* Series without their mean span one dimension less than they have samples. */
static scratch scratch_of(const fbcca *f, uint64_t channels, weiri_carver *carver)
{
    uint64_t most = f->samples - 1;
    uint64_t a = channels < most ? channels : most, b = f->rows < most ? f->rows : most;
    return (scratch){
        .rows = weiri_carve(carver, channels * weiri_cca_row((size_t)f->samples), sizeof(double)),
        .products = weiri_carve(carver, a * b, sizeof(double)),
        .largest = weiri_carve(carver, weiri_cca_scratch((size_t)a, (size_t)b), sizeof(double)),
        .results = weiri_carve(carver, f->freqs, sizeof(double)),
    };
}

/* What remains of the input's dimensions, and one entry a frequency at the end. */
static weir_err plan_axes(const fbcca_settings *set, const fbcca *f, weiri_unit_plan *plan)
{
    const weir_spec *in = plan->in;
    weir_spec *out = &plan->out;
    out->dim_count = 0;
    for (int i = 0; i < (int)in->dim_count; i++) {
        if (i == 0 || (i != f->time && i != f->channels && i != f->bands)) {
            out->dims[out->dim_count++] = in->dims[i];
        }
    }
    if (weir_spec_dim(out, set->target_freq_dim) >= 0) {
        return weiri_fail(WEIR_E_CHAIN, "target_freq_dim: the stream already has a dimension '%s'",
                          set->target_freq_dim);
    }
    double *values = plan->memory.get(plan->memory.user, f->freqs * sizeof *values);
    if (values == NULL) {
        return WEIR_E_NOMEM;
    }
    memcpy(values, set->freqs.of.numbers, (size_t)f->freqs * sizeof *values);
    out->dims[out->dim_count++] =
        (weir_axis){.name = set->target_freq_dim, .unit = "Hz", .size = f->freqs, .values = values};
    out->units = strcmp(in->dims[f->channels].name, "ch") == 0 ? NULL : out->units;
    return WEIR_OK;
}

static weir_err plan_fbcca(const void *settings, weiri_unit_plan *plan)
{
    fbcca f;
    weir_err err = fbcca_of(settings, plan->in, &f);
    if (err == WEIR_OK) {
        err = plan_axes(settings, &f, plan);
    }
    if (err == WEIR_OK) {
        weiri_carver carver = {.base = NULL, .used = 0};
        (void)scratch_of(&f, plan->in->dims[f.channels].size, &carver);
        plan->scratch_bytes = carver.used;
        plan->constant_bytes = place(&f);
    }
    return err;
}

/* Bases of the sines and cosines. */
static void prepare_fbcca(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const fbcca_settings *set = settings;
    fbcca *f = constants;
    (void)fbcca_of(set, plan->in, f);
    uint64_t *sizes = (uint64_t *)((unsigned char *)constants + f->sizes_at);
    double *basis = (double *)((unsigned char *)constants + f->bases_at);
    double products[2 * 64], step = plan->in->dims[f->time].step;
    size_t row = weiri_cca_row((size_t)f->samples);
    for (uint64_t i = 0; i < f->freqs; i++, basis += f->rows * row) {
        for (uint64_t r = 0; r < f->rows; r++) {
            double turns = (double)(r / 2 + 1) * set->freqs.of.numbers[i] * step;
            for (uint64_t n = 0; n < f->samples; n++) {
                double angle = 6.28318530717958647693 * remainder(turns * (double)n, 1.0);
                basis[r * row + n] = r % 2 == 0 ? sin(angle) : cos(angle);
            }
        }
        sizes[i] = weiri_cca_basis(basis, (size_t)f->rows, (size_t)f->samples, products);
    }
}

/* ---- running ------------------------------------------------------------------------------- */

static double value_of(const weir_spec *in, const void *values, uint64_t at)
{
    return in->dtype == WEIR_F32 ? (double)((const float *)values)[at]
                                 : ((const double *)values)[at];
}

/* Where entries of a dimension are, in values. */
static uint64_t stride_of(const weir_spec *in, int dim)
{
    return weiri_spec_split(in, dim).inner;
}

/* The channels of a window and band that have no missing sample. */
static size_t
gather(const fbcca *f, const weir_spec *in, const void *values, uint64_t first, double *rows)
{
    uint64_t time = stride_of(in, f->time), channel = stride_of(in, f->channels);
    size_t row = weiri_cca_row((size_t)f->samples), used = 0;
    for (uint64_t c = 0; c < in->dims[f->channels].size; c++) {
        double *to = rows + used * row;
        bool finite = true;
        memset(to, 0, row * sizeof *to);
        for (uint64_t n = 0; n < f->samples; n++) {
            to[n] = value_of(in, values, first + c * channel + n * time);
            finite &= isfinite(to[n]) != 0;
        }
        used += finite ? 1 : 0;
    }
    return used;
}

/* Adds weight x correlation^2 of each frequency. */
static void add_band(const fbcca *f, scratch *s, size_t channels, double weight)
{
    const weiri_kernels *k = weiri_kernels_get();
    const uint64_t *sizes = (const uint64_t *)((const unsigned char *)f + f->sizes_at);
    const double *basis = (const double *)((const unsigned char *)f + f->bases_at);
    size_t row = weiri_cca_row((size_t)f->samples);
    size_t size = weiri_cca_basis(s->rows, channels, (size_t)f->samples, s->products);
    for (uint64_t i = 0; i < f->freqs; i++, basis += f->rows * row) {
        k->dots(s->rows, size, basis, (size_t)sizes[i], row, s->products);
        double rho = weiri_cca_largest(s->products, size, (size_t)sizes[i], s->largest);
        s->results[i] += channels == 0 ? (double)NAN : weight * rho * rho;
    }
}

static void softmax(double *values, uint64_t count, double beta)
{
    double most = -INFINITY, sum = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        most = values[i] > most ? values[i] : most;
    }
    for (uint64_t i = 0; i < count; i++) {
        values[i] = exp(beta * (values[i] - most));
        sum += values[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        values[i] /= sum;
    }
}

/* All frequencies of what is at `first`: sub-band b weighs (b + 1)^-1.25 + 0.25. */
static void
run_one(const fbcca *f, const weir_spec *in, const void *values, uint64_t first, scratch *s)
{
    uint64_t bands = f->bands > 0 ? in->dims[f->bands].size : 1;
    uint64_t band = f->bands > 0 ? stride_of(in, f->bands) : 0;
    memset(s->results, 0, (size_t)f->freqs * sizeof *s->results);
    for (uint64_t b = 0; b < bands; b++) {
        size_t channels = gather(f, in, values, first + b * band, s->rows);
        add_band(f, s, channels, pow((double)(b + 1), -1.25) + 0.25);
    }
    if (f->beta != 0.0) {
        softmax(s->results, f->freqs, f->beta);
    }
}

static void run_fbcca(weiri_block *block, const weiri_work *work)
{
    const fbcca *f = block->constants;
    const weir_spec *in = block->in;
    weiri_carver carver = {.base = work->scratch, .used = 0};
    scratch s = scratch_of(f, in->dims[f->channels].size, &carver);
    uint64_t columns = weir_spec_columns(in), at = 0, others = 1, other = 0;
    for (int i = 1; i < (int)in->dim_count; i++) { /* at most one is left */
        if (i != f->time && i != f->channels && i != f->bands) {
            others *= in->dims[i].size;
            other = stride_of(in, i);
        }
    }
    for (uint64_t frame = 0; frame < work->consume; frame++) {
        for (uint64_t o = 0; o < others; o++) {
            run_one(f, in, work->in[0], frame * columns + o * other, &s);
            for (uint64_t i = 0; i < f->freqs; i++, at++) {
                if (in->dtype == WEIR_F32) {
                    ((float *)work->out)[at] = (float)s.results[i];
                } else {
                    ((double *)work->out)[at] = s.results[i];
                }
            }
        }
    }
    weiri_look_for_missing(block, work->in[0], work->consume);
}

const weiri_unit_ops weiri_unit_fbcca = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "fbcca",
         .summary = "frequencies in the channels of a window, by canonical correlation (SSVEP)",
         .before = "- window: {window_dur: 10 ms, window_shift: 5 ms}",
         .formula =
             "r = largest canonical correlation of the channels with sin and cos of 2 pi k f t, k "
             "= "
             "1 to harmonics; s[f] = sum over sub-bands b of (b^-1.25 + 0.25) r^2; y[f] = exp(beta "
             "s[f]) / sum of exp(beta s), or s[f] for beta = 0.",
         .source = "Lin et al. 2007 (CCA); Chen et al. 2015, doi:10.1088/1741-2560/12/4/046008 "
                   "(filter bank and weights).",
         .start = "No state: each window by itself.",
         .ezmsg = "fbcca.FBCCATransformer",
         .differs = "Channels that depend on others (after a common average reference) and "
                    "harmonics that fall together are left out: there, directions of rounding "
                    "errors count as signal. A channel with a missing sample is left out of its "
                    "window. max_int_time is a whole number of samples, rounded down. freqs is "
                    "required: there are no triggers.",
         .flags = WEIR_UNIT_COUPLES_CHANNELS,
         .settings = table},
    .settings_bytes = sizeof(fbcca_settings),
    .plan = plan_fbcca,
    .prepare = prepare_fbcca,
    .run = run_fbcca,
};
