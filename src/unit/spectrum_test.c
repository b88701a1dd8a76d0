/* SPDX-License-Identifier: MIT
 *
 * spectrum_test.c: random settings and shapes against the sum in long double; frequencies; what is refused.
 */
#include "unit/drive.h"

static const char *const windows[] = {"NONE", "HAMMING", "HANNING", "BARTLETT", "BLACKMAN"};
static const char *const transforms[] = {"RAW_COMPLEX", "REAL", "IMAG", "REL_POWER", "REL_DB"};
static const char *const outputs[] = {"FULL", "POSITIVE", "NEGATIVE"};
static const char *const norms[] = {"forward", "backward", "ortho"};

/* As numpy.hamming and the others. */
static long double window_at(int window, size_t i, size_t count)
{
    long double last = (long double)count - 1, turn = 2 * acosl(-1.0L) * (long double)i / last;
    if (count == 1 || window == 0) {
        return 1;
    }
    return window == 1   ? 0.54L - 0.46L * cosl(turn)
           : window == 2 ? 0.5L - 0.5L * cosl(turn)
           : window == 3 ? 2 / last * (last / 2 - fabsl((long double)i - last / 2))
                         : 0.42L - 0.5L * cosl(turn) + 0.08L * cosl(2 * turn);
}

typedef struct tried {
    int window, transform, output, norm;
    bool shifted;
    size_t n, size, inner;
    bool complex;
    double step; /* of the axis */
} tried;

/* Number of the point that entry i has. */
static long long point_of(const tried *t, size_t i)
{
    long long n = (long long)t->n, k = (long long)i;
    bool negative_first = t->output == 2 || (t->output == 0 && t->shifted);
    return negative_first ? k - n / 2 : t->output == 0 && k > (n - 1) / 2 ? k - n : k;
}

static void expect(const tried *t,
                   const weir_spec *spec,
                   const void *data,
                   size_t first,
                   size_t entry,
                   long double *ret_re,
                   long double *ret_im)
{
    long double re = 0, im = 0, squares = 0, n = (long double)t->n;
    long double angle = -2 * acosl(-1.0L) * (long double)point_of(t, entry) / n;
    for (size_t j = 0; j < t->size; j++) {
        long double w = window_at(t->window, j, t->size);
        squares += w * w;
        size_t at = first + j * t->inner;
        long double a = drive_input(spec, data, t->complex ? 2 * at : at);
        long double b = t->complex ? drive_input(spec, data, 2 * at + 1) : 0.0;
        if (j < t->n) {
            long double c = w * cosl(angle * (long double)j), s = w * sinl(angle * (long double)j);
            re += a * c - b * s;
            im += a * s + b * c;
        }
    }
    long double norm = t->norm == 0 ? n : t->norm == 1 ? 1 : sqrtl(n);
    re /= norm;
    im /= norm;
    long double power = (re * re + im * im) / (squares * (long double)t->step);
    *ret_re = t->transform == 2   ? im
              : t->transform == 3 ? power
              : t->transform == 4 ? 10 * log10l(power)
                                  : re;
    *ret_im = im;
}

static void check(const weir_spec *spec, uint64_t *random)
{
    tried t = {.window = (int)drive_random(random, 5),
               .transform = (int)drive_random(random, 5),
               .output = (int)drive_random(random, 3),
               .norm = (int)drive_random(random, 3),
               .shifted = drive_random(random, 2) == 1,
               .size = (size_t)spec->dims[1].size,
               .complex = weir_dtype_parts(spec->dtype) == 2,
               .step = spec->dims[1].step};
    t.n = drive_random(random, 2) == 0 ? t.size : 1 + (size_t)drive_random(random, 2 * t.size);
    t.inner = (size_t)weir_spec_columns(spec) / t.size;
    weir_value given[] = {weir_text("window", windows[t.window]),
                          weir_text("transform", transforms[t.transform]),
                          weir_text("output", outputs[t.output]),
                          weir_text("norm", norms[t.norm]),
                          weir_bool("do_fftshift", t.shifted),
                          weir_number("nfft", (double)t.n),
                          weir_text("axis", "time")};
    drive *d = NULL;
    size_t frames = 11;
    assert_int_equal(drive_open("spectrum", spec, given, 7, &d), WEIR_OK);
    size_t bins = t.output == 0 ? t.n : t.n / 2 + 1;
    const weir_axis *axis = &d->plan.out.dims[1];
    assert_string_equal(axis->name, "freq");
    assert_int_equal(axis->size, bins);
    for (size_t k = 0; k < bins; k++) {
        double found =
            axis->values != NULL ? axis->values[k] : axis->start + (double)k * axis->step;
        assert_true(fabs(found - (double)point_of(&t, k) / ((double)t.n * t.step)) < 1e-9 / t.step);
    }
    void *data = drive_signal(spec, frames, 0.5, 0.0, random);
    drive_output o = drive_cuts(d, data, frames, random);
    assert_int_equal(o.frames, frames);
    bool f32 = weir_dtype_part(spec->dtype) == WEIR_F32, pair = t.transform == 0;
    for (size_t f = 0; f < frames; f += 5) {
        for (size_t i = 0; i < bins * t.inner; i++) {
            size_t at = f * bins * t.inner + i, first = f * t.size * t.inner + i % t.inner;
            long double re, im;
            expect(&t, spec, data, first, i / t.inner, &re, &im);
            size_t place = pair ? 2 * at : at;
            double found = drive_value(d, &o, place);
            double tolerance = f32 ? 2e-6 : 1e-13, most = t.norm == 1 ? 1e3 : 1e2;
            if (t.transform != 4) {
                drive_near(found, (double)re, tolerance, tolerance * most, "value");
            } else if (re > -100) {
                drive_near(found, (double)re, 0, f32 ? 1e-3 : 1e-7, "dB");
            }
            if (pair) {
                found = drive_value(d, &o, place + 1);
                drive_near(found, (double)im, tolerance, tolerance * most, "imaginary part");
            }
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static weir_spec spec_of(weir_dtype dtype, uint64_t size, uint64_t channels)
{
    weir_spec spec = weir_spec_make(dtype, 100.0, channels, NULL, NULL);
    spec.dim_count = 3;
    spec.dims[2] = spec.dims[1];
    spec.dims[1] = (weir_axis){.name = "time", .unit = "s", .size = size, .step = 1 / 900.0};
    spec.dims[0].name = "win";
    return spec;
}

static void against_the_sum(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static const uint64_t channels[] = {1, 3, 7, 8, 9, 16, 21};
    for (int i = 0; i < 150; i++) {
        weir_dtype dtype = (weir_dtype)(WEIR_F32 + drive_random(&random, 4));
        uint64_t size = 1 + drive_random(&random, i % 10 == 0 ? 120 : 24);
        weir_spec spec = spec_of(dtype, size, channels[drive_random(&random, 7)]);
        check(&spec, &random);
    }
}

/* S5: the channel's own window is missing, nothing else, and the samples are counted. */
static void missing_samples(void **state)
{
    (void)state;
    uint64_t random = 5;
    weir_spec spec = spec_of(WEIR_F64, 20, 11);
    drive *d = NULL;
    weir_value given = weir_text("transform", "imag");
    assert_int_equal(drive_open("spectrum", &spec, &given, 1, &d), WEIR_OK);
    size_t columns = 220, out_columns = 11 * 11;
    double *data = drive_signal(&spec, 4, 0.5, 0.0, &random);
    double *dirty = malloc(4 * columns * sizeof *dirty);
    memcpy(dirty, data, 4 * columns * sizeof *dirty);
    dirty[columns + 7 * 11 + 3] = INFINITY;
    dirty[columns + 8 * 11 + 3] = -INFINITY;
    drive_output clean = drive_cuts(d, data, 4, &random);
    drive_output o = drive_cuts(d, dirty, 4, &random);
    for (size_t i = 0; i < 4 * out_columns; i++) {
        double found = drive_value(d, &o, i), expected = drive_value(d, &clean, i);
        bool gone = i / out_columns == 1 && i % 11 == 3;
        assert_true(gone ? isnan(found) : memcmp(&found, &expected, sizeof found) == 0);
    }
    assert_int_equal(d->block->missing[3], 2);
    free(clean.data);
    free(o.data);
    free(data);
    free(dirty);
    drive_close(d);
}

static void refused(void **state)
{
    (void)state;
    weir_spec plain = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, NULL),
              windowed = spec_of(WEIR_F32, 8, 4);
    drive *d = NULL;
    assert_int_equal(drive_open("spectrum", &plain, NULL, 0, &d), WEIR_E_CHAIN);
    assert_non_null(
        strstr(weir_err_detail(), "axis: 'time' is the stream's dimension; put window"));
    weir_value axis = weir_text("axis", "freq"), out = weir_text("out_axis", "ch");
    assert_int_equal(drive_open("spectrum", &windowed, &axis, 1, &d), WEIR_E_CHAIN);
    assert_int_equal(drive_open("spectrum", &windowed, &out, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "out_axis: the stream already has a dimension 'ch'"));
    windowed.dims[1].values = (const double[]){1, 2, 4, 8, 16, 32, 64, 128};
    assert_int_equal(drive_open("spectrum", &windowed, NULL, 0, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "not evenly spaced"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_sum),
        cmocka_unit_test(missing_samples),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
