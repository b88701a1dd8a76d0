/* SPDX-License-Identifier: MIT
 *
 * elementwise_test.c: abs, activation, anscombe, clip, linear, log, pow, scale and others against one line of arithmetic each; S1 S5 for
 * them, and in place.
 */
#include "unit/drive.h"

#include <float.h>

/* One unit with its settings, and what it does to a value of a column. */
typedef struct sample_case {
    const char *unit;
    weir_value given[2];
    size_t count;
    double (*expected)(double x, bool f32);
} sample_case;

static double expect_abs(double x, bool f32)
{
    (void)f32;
    return x < 0 ? -x : x;
}

static double expect_square(double x, bool f32)
{
    return f32 ? (double)((float)x * (float)x) : x * x;
}

static double expect_root(double x, bool f32)
{
    return f32 ? (double)(float)sqrt(x) : sqrt(x);
}

static double expect_same(double x, bool f32)
{
    (void)f32;
    return x;
}

static double expect_inverse(double x, bool f32)
{
    return f32 ? (double)(float)(1.0 / x) : 1.0 / x;
}

static double expect_power(double x, bool f32)
{
    return f32 ? (double)(float)pow(x, 3.7) : pow(x, 3.7);
}

static double expect_log10(double x, bool f32)
{
    double y = fabs(x) < DBL_MIN ? (double)-INFINITY : x < 0 ? (double)NAN : log(x) / log(10.0);
    return f32 ? (double)(float)y : y;
}

static double expect_log2_clipped(double x, bool f32)
{
    double least = f32 ? (double)FLT_MIN : DBL_MIN, y = log(x < least ? least : x) / log(2.0);
    return f32 ? (double)(float)y : y;
}

static double expect_scale(double x, bool f32)
{
    return f32 ? (double)(float)(x * 0.3) : x * 0.3;
}

static double expect_clip(double x, bool f32)
{
    double low = f32 ? (double)-0.7f : -0.7, high = f32 ? (double)1.3f : 1.3;
    return x < low ? low : x > high ? high : x;
}

static double expect_clip_above(double x, bool f32)
{
    (void)f32;
    return x > 0.25 ? 0.25 : x;
}

static double expect_linear(double x, bool f32)
{
    double y = x * 2.5 - 1.0;
    return f32 ? (double)(float)y : y;
}

static double expect_const_add(double x, bool f32)
{
    return f32 ? (double)((float)x + -0.3f) : x + -0.3;
}

static double expect_value_minus_x(double x, bool f32)
{
    return f32 ? (double)(0.3f - (float)x) : 0.3 - x;
}

static double expect_anscombe(double x, bool f32)
{
    return f32 ? (double)(2.0f * sqrtf((float)x + 0.375f)) : 2.0 * sqrt(x + 0.375);
}

static double expect_inverse_exact(double x, bool f32)
{
    long double a = sqrtl(1.5L), d = x < (double)a ? a : (long double)x;
    long double y = d * d / 4 + a / (4 * d) - 11 / (8 * d * d) + 5 * a / (8 * d * d * d) - 0.125L;
    return f32 ? (double)(float)y : (double)y;
}

static double expect_inverse_algebraic(double x, bool f32)
{
    double y = x * x / 4.0 - 0.375;
    return f32 ? (double)(float)y : y;
}

static double expect_expit(double x, bool f32)
{
    double y = (double)(1.0L / (1.0L + expl(-(long double)x)));
    return f32 ? (double)(float)y : y;
}

static double expect_logit(double x, bool f32)
{
    long double p = (long double)x;
    long double y =
        p < 0.25L ? logl(p) - log1pl(-p) : log1pl(2.0L * p - 1.0L) - log1pl(1.0L - 2.0L * p);
    return x < 0.0 || x > 1.0 ? (double)NAN : f32 ? (double)(float)y : (double)y;
}

static double expect_log_expit(double x, bool f32)
{
    double y = (double)-log1pl(expl(-(long double)x));
    return f32 ? (double)(float)y : y;
}

/* Of logarithms and powers by vectors (libmvec); all else is rounded once. */
static double ulps(const sample_case *c)
{
    bool vectors = c->expected == expect_power || c->expected == expect_log10 ||
                   c->expected == expect_log2_clipped || c->expected == expect_expit ||
                   c->expected == expect_logit || c->expected == expect_log_expit;
    return vectors ? 4.0 : 1.3;
}

static void run_case(const sample_case *c, bool f32, uint64_t *random)
{
    enum { FRAMES = 900 };
    uint64_t channels = 1 + drive_random(random, 9);
    weir_spec spec = weir_spec_make(f32 ? WEIR_F32 : WEIR_F64, 1000.0, channels, NULL, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open(c->unit, &spec, c->given, c->count, &d), WEIR_OK);
    assert_true((d->ops->info.flags & WEIR_UNIT_IN_PLACE) != 0);
    void *data = drive_signal(&spec, FRAMES, 0.1, 0.01, random);
    for (size_t i = 0; i < 12; i++) { /* where logarithms and quotients have no value */
        static const double odd[] = {0.0, -0.0, 1e-300, -1e-300, 1.0, -1.0};
        size_t at = 1000 % (FRAMES * channels) + i;
        if (f32 && fabs(odd[i % 6]) > 0.0 && fabs(odd[i % 6]) < 1.0) {
            continue;
        }
        if (f32) {
            ((float *)data)[at % (FRAMES * channels)] = (float)odd[i % 6];
        } else {
            ((double *)data)[at % (FRAMES * channels)] = odd[i % 6];
        }
    }
    drive_output o = drive_cuts(d, data, FRAMES, random);
    uint64_t missing[16] = {0};
    for (size_t i = 0; i < FRAMES * channels; i++) {
        double x = drive_input(&spec, data, i), y = drive_value(d, &o, i);
        missing[i % channels] += isfinite(x) ? 0 : 1;
        drive_near(y, isfinite(x) ? c->expected(x, f32) : (double)NAN,
                   ulps(c) * (f32 ? 6e-8 : 2.3e-16),
                   c->expected == expect_inverse_exact ? 1e-15 : 0.0, c->unit);
    }
    for (size_t k = 0; k < channels; k++) {
        assert_int_equal(d->block->missing[k], missing[k]);
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void each_value(void **state)
{
    (void)state;
    static const weir_value yes = {.key = "clip_zero", .type = WEIR_VALUE_BOOL, .number = 1.0};
    const sample_case cases[] = {
        {"abs", {{0}}, 0, expect_abs},
        {"pow", {{0}}, 0, expect_square},
        {"pow", {weir_number("exponent", 0.5)}, 1, expect_root},
        {"pow", {weir_number("exponent", 1.0)}, 1, expect_same},
        {"pow", {weir_number("exponent", -1.0)}, 1, expect_inverse},
        {"pow", {weir_number("exponent", 3.7)}, 1, expect_power},
        {"log", {{0}}, 0, expect_log10},
        {"log", {weir_number("base", 2.0), yes}, 2, expect_log2_clipped},
        {"scale", {{0}}, 0, expect_same},
        {"scale", {weir_number("scale", 0.3)}, 1, expect_scale},
        {"clip", {{0}}, 0, expect_same},
        {"clip", {weir_number("min", -0.7), weir_number("max", 1.3)}, 2, expect_clip},
        {"clip", {weir_number("max", 0.25)}, 1, expect_clip_above},
        {"const_add", {{0}}, 0, expect_same},
        {"const_add", {weir_number("value", -0.3)}, 1, expect_const_add},
        {"const_difference", {weir_number("value", 0.3)}, 1, expect_const_add},
        {"const_difference",
         {weir_number("value", 0.3), weir_text("subtrahend", "false")},
         2,
         expect_value_minus_x},
        {"anscombe", {{0}}, 0, expect_anscombe},
        {"inverse_anscombe", {{0}}, 0, expect_inverse_exact},
        {"inverse_anscombe", {weir_text("method", "algebraic")}, 1, expect_inverse_algebraic},
        {"activation", {{0}}, 0, expect_same},
        {"activation", {weir_text("function", "sigmoid")}, 1, expect_expit},
        {"activation", {weir_text("function", "expit")}, 1, expect_expit},
        {"activation", {weir_text("function", "logit")}, 1, expect_logit},
        {"activation", {weir_text("function", "log_expit")}, 1, expect_log_expit},
        {"linear", {{0}}, 0, expect_same},
        {"linear", {weir_number("scale", 2.5), weir_number("offset", -1.0)}, 2, expect_linear},
    };
    uint64_t random = drive_seed();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_case(&cases[i], false, &random);
        run_case(&cases[i], true, &random);
    }
}

/* linear: a list goes along the named axis, or the last. */
static void lists_go_along_an_axis(void **state)
{
    (void)state;
    enum { CHANNELS = 5, METRICS = 2, FRAMES = 200 };
    weir_value numbers[CHANNELS];
    for (size_t i = 0; i < CHANNELS; i++) {
        numbers[i] = weir_number(NULL, 10.0 + (double)i);
    }
    weir_value given[2] = {
        {.key = "scale", .type = WEIR_VALUE_LIST, .items = numbers, .count = CHANNELS},
        weir_text("axis", "ch")};
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    spec.dim_count = 3;
    spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = METRICS};
    uint64_t random = drive_seed();
    double *data = drive_signal(&spec, FRAMES, 0.0, 0.0, &random);
    for (size_t run = 0; run < 2; run++) {
        if (run == 1) {
            given[0].count = METRICS;
        }
        drive *d = NULL;
        assert_int_equal(drive_open("linear", &spec, given, run == 0 ? 2 : 1, &d), WEIR_OK);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        for (size_t i = 0; i < FRAMES * CHANNELS * METRICS; i++) {
            size_t entry = run == 0 ? i / METRICS % CHANNELS : i % METRICS;
            assert_true(drive_value(d, &o, i) == data[i] * (10.0 + (double)entry));
        }
        free(o.data);
        drive_close(d);
    }
    free(data);
}

/* Blocks of channels find their coefficients in any layout: channels before, between and after others, and a
 * list along another axis. */
static void lists_in_any_layout(void **state)
{
    (void)state;
    enum { CHANNELS = 37, FREQS = 3, METRICS = 2, FRAMES = 60 };
    weir_value numbers[CHANNELS];
    for (size_t i = 0; i < CHANNELS; i++) {
        numbers[i] = weir_number(NULL, 1.0 + (double)(i * i));
    }
    const weir_axis freq = {.name = "freq", .unit = "Hz", .size = FREQS, .step = 1.0};
    const weir_axis metric = {.name = "metric", .unit = "", .size = METRICS};
    uint64_t random = drive_seed();
    for (size_t layout = 0; layout < 4; layout++) {
        for (size_t along = 0; along < 2; along++) {
            weir_spec spec =
                weir_spec_make(layout % 2 == 0 ? WEIR_F64 : WEIR_F32, 1000.0, CHANNELS, NULL, NULL);
            weir_axis channels = spec.dims[1];
            const weir_axis dims[4][3] = {{channels, freq, metric},
                                          {freq, channels, metric},
                                          {freq, metric, channels},
                                          {channels, freq, metric}};
            memcpy(spec.dims + 1, dims[layout], sizeof dims[layout]);
            spec.dim_count = layout == 3 ? 3 : 4;
            weir_value given[3] = {{.key = "scale", .type = WEIR_VALUE_LIST, .items = numbers},
                                   {.key = "offset", .type = WEIR_VALUE_LIST, .items = numbers},
                                   weir_text("axis", along == 0 ? "ch" : "freq")};
            given[0].count = given[1].count = along == 0 ? CHANNELS : FREQS;
            drive *d = NULL;
            assert_int_equal(drive_open("linear", &spec, given, 3, &d), WEIR_OK);
            assert_true(d->plan.columnwise);
            void *data = drive_signal(&spec, FRAMES, 0.0, 0.001, &random);
            drive_output o = drive_cuts(d, data, FRAMES, &random);
            size_t columns = (size_t)weir_spec_columns(&spec);
            weiri_split split = weiri_spec_split(&spec, weir_spec_dim(&spec, given[2].text));
            for (size_t i = 0; i < FRAMES * columns; i++) {
                double by = numbers[i % columns / split.inner % split.size].number;
                double x = drive_input(&spec, data, i), y = x * by + by;
                drive_near(drive_value(d, &o, i),
                           !isfinite(x)             ? (double)NAN
                           : spec.dtype == WEIR_F32 ? (double)(float)y
                                                    : y,
                           0.0, 0.0, "linear");
            }
            free(o.data);
            free(data);
            drive_close(d);
        }
    }
}

/* A live setting acts from the next frame on. */
static void settings_change_while_running(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *setting;
        double first, second, expected[2];
    } cases[] = {{"scale", "scale", 2.0, -1.0, {6.0, -3.0}},
                 {"pow", "exponent", 2.0, 1.0, {9.0, 3.0}},
                 {"log", "base", 3.0, 9.0, {1.0, 0.5}},
                 {"clip", "min", 4.0, 1.0, {4.0, 3.0}},
                 {"clip", "max", 2.0, 5.0, {2.0, 3.0}}};
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 1, NULL, NULL);
    const double three = 3.0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        weir_value given = weir_number(cases[i].setting, cases[i].first);
        assert_int_equal(drive_open(cases[i].unit, &spec, &given, 1, &d), WEIR_OK);
        drive_output a = drive_run(d, &three, 1, 0, NULL);
        given = weir_number(cases[i].setting, cases[i].second);
        assert_int_equal(drive_set(d, &given, 1), WEIR_OK);
        drive_output b = drive_run(d, &three, 1, 0, NULL);
        drive_near(drive_value(d, &a, 0), cases[i].expected[0], 1e-15, 0.0, cases[i].setting);
        drive_near(drive_value(d, &b, 0), cases[i].expected[1], 1e-15, 0.0, cases[i].setting);
        free(a.data);
        free(b.data);
        drive_close(d);
    }
}

static void settings_are_checked(void **state)
{
    (void)state;
    weir_value numbers[3] = {weir_number(NULL, 1.0), weir_number(NULL, 2.0),
                             weir_number(NULL, 3.0)};
    const struct {
        const char *unit;
        weir_value given[2];
        size_t count;
        const char *detail;
    } cases[] = {
        {"clip", {weir_number("min", 2.0), weir_number("max", 1.0)}, 2, "min: 2 is above max, 1"},
        {"log", {weir_number("base", 1.0)}, 1, "base: 1 is not allowed"},
        {"log", {weir_number("base", -2.0)}, 1, "base: "},
        {"linear", {weir_text("axis", "freq")}, 1, "axis: the stream has no axis 'freq'"},
        {"linear",
         {{.key = "scale", .type = WEIR_VALUE_LIST, .items = numbers, .count = 3}},
         1,
         "scale: 3 numbers for the 2 entries of axis 'ch'"},
        {"linear",
         {{.key = "offset", .type = WEIR_VALUE_LIST, .items = numbers, .count = 2},
          weir_text("axis", "time")},
         2,
         "offset: a list goes along an axis of the frames"},
        {"scale", {weir_text("scale", "10 ms")}, 1, "scale: "},
    };
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 2, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        drive_refused(drive_open(cases[i].unit, &spec, cases[i].given, cases[i].count, &d),
                      cases[i].detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value),           cmocka_unit_test(lists_go_along_an_axis),
        cmocka_unit_test(lists_in_any_layout),  cmocka_unit_test(settings_change_while_running),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
