/* SPDX-License-Identifier: MIT
 *
 * spectrum.c: the Fourier transform of an inner dimension, the samples of a window: its points as they are, their power,
 * or the power in dB. A frame is transformed by itself; columns go through the transform side by side (dsp/fft.h).
 */
#include "unit/spectrum.h"

#include <math.h>
#include <string.h>

#include "dsp/fft.h"
#include "dsp/windows.h"

typedef struct spectrum_settings {
    const char *axis, *out_axis;
    const weir_value *window;
    int transform, output, norm;
    bool do_fftshift;
    int64_t nfft;
} spectrum_settings;

typedef struct spectrum {
    uint64_t n;     /* points of the transform */
    uint64_t size;  /* of the input's dimension */
    uint64_t count; /* samples that are transformed; the rest is 0 */
    uint64_t first, bins;
    double factor; /* of powers */
    int dim, what;
    bool db;
    uint64_t weights_at, fft_at; /* bytes from here */
} spectrum;

enum { RAW_COMPLEX, REAL, IMAG, REL_POWER, REL_DB };
const weir_choice weiri_spectrum_transforms[] = {
    {"raw_complex", "Complex FFT Output"},  {"real", "Real Component of FFT"},
    {"imag", "Imaginary Component of FFT"}, {"rel_power", "Relative Power"},
    {"rel_db", "Log Power (Relative dB)"},  {NULL, NULL}};

enum { FULL, POSITIVE, NEGATIVE };
const weir_choice weiri_spectrum_outputs[] = {{"full", "Full Spectrum"},
                                              {"positive", "Positive Frequencies"},
                                              {"negative", "Negative Frequencies"},
                                              {NULL, NULL}};

enum { FORWARD, BACKWARD, ORTHO };
static const weir_choice norms[] = {
    {"forward", NULL}, {"backward", NULL}, {"ortho", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(spectrum_settings, axis),
     .help = "dimension to transform; null: the last one but 'ch'"},
    {.name = "out_axis",
     .type = WEIR_SETTING_STRING,
     .preset = "freq",
     .offset = offsetof(spectrum_settings, out_axis),
     .help = "name of the dimension that replaces it"},
    {.name = "window",
     .type = WEIR_SETTING_ANY,
     .preset = "hamming",
     .offset = offsetof(spectrum_settings, window),
     .help = WEIRI_SPECTRUM_WINDOW_HELP},
    {.name = "transform",
     .type = WEIR_SETTING_ENUM,
     .preset = "rel_db",
     .choices = weiri_spectrum_transforms,
     .offset = offsetof(spectrum_settings, transform),
     .help =
         "what is output: complex values, their real or imaginary part, their squared magnitude "
         "/ (sum of squares of the window x seconds per sample), or that in dB"},
    {.name = "output",
     .type = WEIR_SETTING_ENUM,
     .preset = "positive",
     .choices = weiri_spectrum_outputs,
     .offset = offsetof(spectrum_settings, output),
     .help = "frequencies: all, 0 to Nyquist, or minus Nyquist to 0"},
    {.name = "norm",
     .type = WEIR_SETTING_ENUM,
     .preset = "forward",
     .choices = norms,
     .offset = offsetof(spectrum_settings, norm),
     .help =
         "forward: divide by the number of points; backward: do not; ortho: divide by its root"},
    {.name = "do_fftshift",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(spectrum_settings, do_fftshift),
     .help = "of output full: negative frequencies first"},
    {.name = "nfft",
     .type = WEIR_SETTING_INTEGER,
     .preset = "null",
     .min = 1,
     .max = (double)WEIRI_FFT_MOST,
     .offset = offsetof(spectrum_settings, nfft),
     .help = "points of the transform: zeros follow the samples, or the last samples are left out; "
             "null: as many as there are samples"},
    {.name = NULL},
};

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err read_window(const spectrum_settings *set, uint64_t size, weiri_window *ret_window)
{
    weir_err err = weiri_window_read("window", set->window, ret_window);
    return err == WEIR_OK ? weiri_window_check("window", ret_window, (size_t)size, false) : err;
}

static weir_err find_axis(const weir_spec *in, const char *name, int *ret_dim)
{
    int dim = name == NULL ? (int)in->dim_count - 1 : weir_spec_dim(in, name);
    while (name == NULL && dim > 0 && strcmp(in->dims[dim].name, "ch") == 0) {
        dim--;
    }
    if (dim == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "axis: '%s' is the stream's dimension; put window before it, or use "
                          "spectrogram",
                          in->dims[0].name);
    }
    if (dim < 0) {
        return weiri_fail(WEIR_E_CHAIN, "axis: there is no dimension '%s'", name);
    }
    const weir_axis *axis = &in->dims[dim];
    if (axis->labels != NULL || axis->values != NULL || !(axis->step > 0.0)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "axis: the entries of '%s' are not evenly spaced, as a transform needs",
                          axis->name);
    }
    *ret_dim = dim;
    return WEIR_OK;
}

static uint64_t points_of(const spectrum_settings *set, const weir_axis *axis)
{
    return set->nfft == INT64_MIN ? axis->size : (uint64_t)set->nfft;
}

static bool is_real(const weir_spec *in)
{
    return weir_dtype_parts(in->dtype) == 1;
}

static uint64_t place(spectrum *s, bool real)
{
    weiri_carver carver = {.base = NULL, .used = 0};
    weiri_carve(&carver, 1, sizeof *s);
    s->weights_at = carver.used;
    weiri_carve(&carver, s->size, sizeof(double));
    s->fft_at = carver.used;
    weiri_carve(&carver, weiri_fft_bytes(s->n, real), 1);
    return carver.used;
}

static spectrum spectrum_of(const spectrum_settings *set, const weir_spec *in, int dim)
{
    const weir_axis *axis = &in->dims[dim];
    uint64_t n = points_of(set, axis);
    bool negative =
        set->output == NEGATIVE || (set->output == FULL && set->do_fftshift); /* come first */
    static const int whats[] = {WEIRI_FFT_AS_COMPLEX, WEIRI_FFT_AS_REAL, WEIRI_FFT_AS_IMAG,
                                WEIRI_FFT_POWER, WEIRI_FFT_POWER};
    spectrum s = {.n = n,
                  .size = axis->size,
                  .count = axis->size < n ? axis->size : n,
                  .first = negative ? (n + 1) / 2 % n : 0,
                  .bins = set->output == FULL ? n : n / 2 + 1,
                  .dim = dim,
                  .what = whats[set->transform],
                  .db = set->transform == REL_DB};
    (void)place(&s, is_real(in));
    return s;
}

/* One entry a frequency. In the transform's own order they do not rise: each has its value then. */
static weir_err plan_axis(const spectrum_settings *set, const spectrum *s, weiri_unit_plan *plan)
{
    weir_axis *axis = &plan->out.dims[s->dim];
    int other = weir_spec_dim(plan->in, set->out_axis);
    if (other >= 0 && other != s->dim) {
        return weiri_fail(WEIR_E_CHAIN, "out_axis: the stream already has a dimension '%s'",
                          set->out_axis);
    }
    double step = 1.0 / (axis->step * (double)s->n);
    *axis = (weir_axis){.name = set->out_axis,
                        .unit = "Hz",
                        .size = s->bins,
                        .start = s->first > 0 ? -(double)(s->n / 2) * step : 0.0,
                        .step = step};
    if (set->output == FULL && !set->do_fftshift && s->n > 1) {
        double *values = plan->memory.get(plan->memory.user, s->n * sizeof *values);
        if (values == NULL) {
            return WEIR_E_NOMEM;
        }
        for (uint64_t k = 0; k < s->n; k++) {
            values[k] = k < (s->n + 1) / 2 ? (double)k * step : -(double)(s->n - k) * step;
        }
        axis->values = values;
    }
    return WEIR_OK;
}

static weir_err plan_spectrum(const void *settings, weiri_unit_plan *plan)
{
    const spectrum_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = 0;
    weir_err err = find_axis(in, set->axis, &dim);
    if (err != WEIR_OK) {
        return err;
    }
    if (points_of(set, &in->dims[dim]) > WEIRI_FFT_MOST) {
        return weiri_fail(WEIR_E_CHAIN, "nfft: %llu points; at most %llu are allowed",
                          (unsigned long long)points_of(set, &in->dims[dim]),
                          (unsigned long long)WEIRI_FFT_MOST);
    }
    weiri_window window;
    err = read_window(set, in->dims[dim].size, &window);
    if (err != WEIR_OK) {
        return err;
    }
    spectrum s = spectrum_of(set, in, dim);
    err = plan_axis(set, &s, plan);
    if (err == WEIR_OK && s.what == WEIRI_FFT_POWER) {
        err = weiri_units_follow(plan, s.db ? 0.0 : 2.0, s.db ? "dB" : "Hz");
    }
    bool f32 = weir_dtype_part(in->dtype) == WEIR_F32, real = is_real(in);
    plan->out.dtype =
        s.what == WEIRI_FFT_AS_COMPLEX ? (f32 ? WEIR_C64 : WEIR_C128) : weir_dtype_part(in->dtype);
    plan->columnwise = strcmp(in->dims[dim].name, "ch") != 0;
    plan->constant_bytes = place(&s, real);
    plan->scratch_bytes = weiri_fft_work_bytes(s.n, real);
    return err;
}

static void prepare_spectrum(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const spectrum_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = 0;
    weiri_window window;
    if (find_axis(in, set->axis, &dim) != WEIR_OK ||
        read_window(set, in->dims[dim].size, &window) != WEIR_OK) {
        return; /* not after plan */
    }
    spectrum *s = constants;
    *s = spectrum_of(set, in, dim);
    double *weights = (double *)((unsigned char *)constants + s->weights_at), squares = 0.0;
    double n = (double)s->n, scale = set->norm == FORWARD ? n : set->norm == ORTHO ? sqrt(n) : 1.0;
    weiri_window_fill(&window, (size_t)s->size, false, weights);
    for (uint64_t i = 0; i < s->size; i++) {
        squares += weights[i] * weights[i];
        weights[i] /= scale;
    }
    s->factor = 1.0 / (squares * in->dims[dim].step);
    weiri_fft_prepare(s->n, is_real(in), (weiri_fft *)((unsigned char *)constants + s->fft_at));
}

/* ---- running ------------------------------------------------------------------------------- */

enum { LANES_MOST = 16 };

/* Transforms the columns from `first` on of a piece [size x inner], or those that are apart. */
static void transform(const spectrum *s,
                      weiri_fft_input *in,
                      weiri_fft_output *out,
                      const unsigned char *from,
                      unsigned char *to,
                      void *scratch)
{
    const weiri_kernels *k = weiri_kernels_get();
    in->data = from;
    out->data = to;
    k->fft((const weiri_fft *)((const unsigned char *)s + s->fft_at), in, scratch);
    k->fft_emit(out, scratch);
}

/* Rows of at least a vector: the last columns together with some before them, whose bits stay the same. */
static void transform_rows(const spectrum *s,
                           weiri_fft_input *in,
                           weiri_fft_output *out,
                           const weiri_block *block,
                           const weiri_work *work,
                           weiri_split split)
{
    size_t lanes = weiri_kernels_get()->lanes, inner = (size_t)split.inner;
    size_t in_bytes = weir_dtype_bytes(block->in->dtype);
    size_t out_bytes = weir_dtype_bytes(block->out->dtype);
    const unsigned char *from = work->in[0];
    unsigned char *to = work->out;
    for (size_t piece = 0; piece < work->consume * (size_t)split.outer; piece++) {
        for (size_t c = 0; c < inner; c += lanes) {
            size_t first = c + lanes <= inner ? c : inner - lanes;
            transform(s, in, out, from + first * in_bytes, to + first * out_bytes, work->scratch);
        }
        from += (size_t)split.size * inner * in_bytes;
        to += (size_t)s->bins * inner * out_bytes;
    }
}

/* Short rows: columns of several pieces and frames, one value after the other. */
static void transform_apart(const spectrum *s,
                            weiri_fft_input in,
                            weiri_fft_output out,
                            const weiri_work *work,
                            weiri_split split)
{
    uint64_t lanes = weiri_kernels_get()->lanes, in_places[LANES_MOST], out_places[LANES_MOST];
    uint64_t series = work->consume * split.outer * split.inner;
    in.apart = in_places;
    out.apart = out_places;
    for (uint64_t first = 0; first < series; first += lanes) {
        out.lanes = first + lanes <= series ? lanes : series - first;
        for (uint64_t i = 0; i < lanes; i++) {
            uint64_t column = first + (i < out.lanes ? i : out.lanes - 1);
            uint64_t piece = column / split.inner, place = column % split.inner;
            in_places[i] = piece * split.size * split.inner + place;
            out_places[i] = piece * s->bins * split.inner + place;
        }
        transform(s, &in, &out, work->in[0], work->out, work->scratch);
    }
}

static void run_spectrum(weiri_block *block, const weiri_work *work)
{
    const spectrum *s = block->constants;
    const weiri_kernels *k = weiri_kernels_get();
    const weiri_fft *fft = (const weiri_fft *)((const unsigned char *)s + s->fft_at);
    weiri_split split = weiri_spec_split(block->in, s->dim);
    bool f32 = weir_dtype_part(block->in->dtype) == WEIR_F32, real = is_real(block->in);
    weiri_fft_input in = {
        .stride = split.inner,
        .count = s->count,
        .weights = (const double *)((const unsigned char *)s + s->weights_at),
        .kind = weiri_fft_kind(fft, real),
        .f32 = f32,
    };
    weiri_fft_output out = {
        .stride = split.inner,
        .first = s->first,
        .count = s->bins,
        .n = s->n,
        .factor = s->factor,
        .what = s->what,
        .f32 = f32,
        .mirrored = real,
    };
    if (split.inner >= k->lanes) {
        transform_rows(s, &in, &out, block, work, split);
    } else {
        transform_apart(s, in, out, work, split);
    }
    size_t values = work->produce * (size_t)weir_spec_columns(block->out);
    const double divisor = 0.23025850929940456840; /* ln 10 / 10 */
    if (s->db && f32) {
        k->log_f32(work->out, work->out, values, divisor, -INFINITY);
    } else if (s->db) {
        k->log_f64(work->out, work->out, values, divisor, -INFINITY);
    }
    weiri_look_for_missing(block, work->in[0], work->consume);
}

const weiri_unit_ops weiri_unit_spectrum = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "spectrum",
         .summary = "Fourier transform of each window: complex values, power or dB",
         .before = "- window: {window_dur: 10 ms, window_shift: 5 ms}",
         .formula = "X[k] = c * sum over j of x[j] w[j] exp(-2 pi i j k / nfft), with the window "
                    "w and c = 1 / nfft (norm forward); rel_power: |X[k]|^2 / (dt * sum of "
                    "w[j]^2), dt: seconds per sample; rel_db: 10 log10 of that. In float64, "
                    "whatever the input is.",
         .source = "Cooley and Tukey 1965 (mixed radix), Bluestein 1970 (prime factors above 43); "
                   "agrees with scipy.fft.fft and rfft.",
         .start = "No state: each window is transformed by itself.",
         .ezmsg = "spectrum.SpectrumTransformer",
         .differs =
             "Frequencies with nfft: multiples of 1 / (nfft dt); ezmsg-sigproc labels them as if "
             "nfft were the window's length. Complex input of odd length has (nfft + 1) / 2 "
             "positive frequencies, there one fewer. Output full without do_fftshift has the true "
             "frequency of each entry. norm: null means the default; write backward. out_axis "
             "cannot be null: write the axis's name. window may be any of fir's too.",
         .flags = WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(spectrum_settings),
    .plan = plan_spectrum,
    .prepare = prepare_spectrum,
    .run = run_spectrum,
};
