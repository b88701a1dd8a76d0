/* SPDX-License-Identifier: MIT
 *
 * ewma_test.c: ewma and adaptive_standard_scaler against the sums that define them, in long double, and
 * S1 S5 S9.
 */
#include "unit/drive.h"

static weir_err open_at(const char *name,
                        weir_dtype dtype,
                        uint64_t channels,
                        double rate_hz,
                        const char *time_constant,
                        drive **ret_drive)
{
    weir_spec spec = weir_spec_make(dtype, rate_hz, channels, NULL, NULL);
    weir_value given = weir_text("time_constant", time_constant);
    return drive_open(name, &spec, &given, 1, ret_drive);
}

/* Weighted mean and deviation of the good samples of one column up to each frame, from their definition. */
typedef struct truth {
    long double weight, sum, square; /* about the first sample, for precision */
    long double first;
    bool some;
} truth;

static void truth_add(truth *t, long double alpha, long double x)
{
    if (!t->some) {
        t->first = x;
        t->some = true;
    }
    x -= t->first;
    t->weight = (1.0L - alpha) * t->weight + alpha;
    t->sum = (1.0L - alpha) * t->sum + alpha * x;
    t->square = (1.0L - alpha) * t->square + alpha * x * x;
}

static double truth_mean(const truth *t)
{
    return (double)(t->first + t->sum / t->weight);
}

static double truth_score(const truth *t, long double x)
{
    long double mean = t->sum / t->weight;
    long double variance = t->square / t->weight - mean * mean;
    return variance > 1e-16L ? (double)((x - t->first - mean) / sqrtl(variance)) : 0.0;
}

/* S1 S2 S5 S9: against the definition, with samples missing, whole and cut. */
static void the_definition_holds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long double seconds;
    } constants[] = {{"1 ms", 1e-3L}, {"50 ms", 5e-2L}, {"10 s", 10.0L}};
    static const char *const names[] = {"ewma", "adaptive_standard_scaler"};
    enum { FRAMES = 400 };
    uint64_t random = drive_seed();
    for (size_t run = 0; run < 12; run++) {
        size_t which = run % 2, k = run / 2 % 3;
        weir_dtype dtype = run < 6 ? WEIR_F32 : WEIR_F64;
        uint64_t channels = 1 + drive_random(&random, 35);
        long double alpha = -expm1l(-1.0L / (constants[k].seconds * 1000.0L));
        drive *d = NULL;
        assert_int_equal(open_at(names[which], dtype, channels, 1000.0, constants[k].text, &d),
                         WEIR_OK);
        void *data = drive_signal(&d->in, FRAMES, 20.0, 0.05, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        for (size_t c = 0; c < channels; c++) {
            truth t = {0};
            uint64_t missing = 0;
            for (size_t f = 0; f < FRAMES; f++) {
                double x = drive_input(&d->in, data, f * channels + c);
                double y = drive_value(d, &o, f * channels + c);
                double tolerance = dtype == WEIR_F32 ? 3e-7 : 1e-9;
                if (!isfinite(x)) {
                    assert_true(isnan(y));
                    missing++;
                    continue;
                }
                truth_add(&t, alpha, x);
                drive_near(y, which == 0 ? truth_mean(&t) : truth_score(&t, x), tolerance,
                           tolerance, names[which]);
            }
            assert_int_equal(d->block->missing[c], missing);
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* The bias correction leaves a constant what it is, to the last bit, and no deviation from it. */
static void a_constant_stays(void **state)
{
    (void)state;
    enum { FRAMES = 20000 };
    double *input = calloc(FRAMES, sizeof *input);
    assert_non_null(input);
    for (size_t f = 0; f < FRAMES; f++) {
        input[f] = 175921.3;
    }
    drive *d = NULL;
    assert_int_equal(open_at("ewma", WEIR_F64, 1, 30000.0, "10 s", &d), WEIR_OK);
    drive_output o = drive_run(d, input, FRAMES, 0, NULL);
    assert_memory_equal(o.data, input, FRAMES * sizeof *input);
    free(o.data);
    drive_close(d);
    assert_int_equal(open_at("adaptive_standard_scaler", WEIR_F64, 1, 30000.0, "10 s", &d),
                     WEIR_OK);
    o = drive_run(d, input, FRAMES, 0, NULL);
    for (size_t f = 0; f < FRAMES; f++) {
        assert_true(drive_value(d, &o, f) == 0.0);
    }
    free(o.data);
    free(input);
    drive_close(d);
}

/* An offset of a million deviations costs six digits, not twelve. */
static void an_offset_does_not_cancel(void **state)
{
    (void)state;
    enum { FRAMES = 500 };
    double input[FRAMES], moved[FRAMES];
    uint64_t random = drive_seed();
    for (size_t f = 0; f < FRAMES; f++) {
        input[f] = (double)drive_random(&random, 1u << 20) * 0x1p-20;
        moved[f] = input[f] + 1e6;
        input[f] = moved[f] - 1e6;
    }
    drive *a = NULL, *b = NULL;
    assert_int_equal(open_at("adaptive_standard_scaler", WEIR_F64, 1, 1000.0, "1 s", &a), WEIR_OK);
    assert_int_equal(open_at("adaptive_standard_scaler", WEIR_F64, 1, 1000.0, "1 s", &b), WEIR_OK);
    drive_output x = drive_run(a, input, FRAMES, 0, NULL), y = drive_run(b, moved, FRAMES, 0, NULL);
    for (size_t f = 0; f < FRAMES; f++) {
        drive_near(drive_value(b, &y, f), drive_value(a, &x, f), 1e-7, 1e-7, "moved");
    }
    free(x.data);
    free(y.data);
    drive_close(a);
    drive_close(b);
}

static void settings_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = {"ewma", "adaptive_standard_scaler"};
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 2, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        drive *d = NULL;
        weir_value given = {.key = "accumulate", .type = WEIR_VALUE_BOOL, .number = 0.0};
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_E_CHAIN);
        assert_int_equal(strncmp(weir_err_detail(), "accumulate: ", 12), 0);
        given = weir_number("time_constant", 0.0);
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_E_CHAIN);
        given = weir_text("axis", "ch");
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_E_CHAIN);
        given = weir_text("axis", "time");
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_OK);
        drive_close(d);
        d = NULL;
        given = (weir_value){.key = "reset_on_resume", .type = WEIR_VALUE_BOOL, .number = 1.0};
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_OK);
        assert_int_equal(d->notices.count, 1);
        drive_close(d);
        d = NULL;
        given = (weir_value){.key = "passthrough", .type = WEIR_VALUE_BOOL, .number = 1.0};
        assert_int_equal(drive_open(names[i], &spec, &given, 1, &d), WEIR_OK);
        float input[4] = {1.0f, NAN, 3.0f, 4.0f};
        drive_output o = drive_run(d, input, 2, 0, NULL);
        assert_true(drive_value(d, &o, 0) == 1.0 && isnan(drive_value(d, &o, 1)) &&
                    drive_value(d, &o, 3) == 4.0);
        assert_int_equal(d->block->missing[1], 1);
        free(o.data);
        drive_close(d);
    }
}

/* Least frames after which the start matters by at most a tolerance; the scaler's never stops. */
static void settling_is_stated(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static const double tolerances[] = {0.5, 1e-3, 1e-6};
    for (size_t i = 0; i < 3; i++) {
        drive *d = NULL;
        assert_int_equal(open_at("ewma", WEIR_F64, 3, 1000.0, "50 ms", &d), WEIR_OK);
        (void)drive_settles(d, 400, tolerances[i], &random);
        /* exp(-(k + 1) / 50) <= tolerance */
        double frames = (double)drive_settle(d, tolerances[i]);
        assert_true(exp(-(frames + 1.0) / 50.0) <= tolerances[i] * (1.0 + 1e-12));
        assert_true(exp(-frames / 50.0) > tolerances[i]);
        assert_true(drive_settle(d, 0.0) == WEIR_SETTLES_NEVER);
        assert_int_equal(drive_settle(d, 1.0), 0);
        drive_close(d);
        assert_int_equal(open_at("adaptive_standard_scaler", WEIR_F64, 3, 1000.0, "50 ms", &d),
                         WEIR_OK);
        assert_true(drive_settle(d, tolerances[i]) == WEIR_SETTLES_NEVER);
        drive_close(d);
    }
}

/* Weight and mean so far are kept: the next output follows from them and the new constant. */
static void time_constant_changes_while_running(void **state)
{
    (void)state;
    double input[4] = {4.0, 0.0, 2.0, 6.0};
    drive *d = NULL;
    assert_int_equal(open_at("ewma", WEIR_F64, 1, 1000.0, "50 ms", &d), WEIR_OK);
    drive_output a = drive_run(d, input, 2, 0, NULL);
    weir_value given = weir_text("time_constant", "2 ms");
    assert_int_equal(drive_set(d, &given, 1), WEIR_OK);
    drive_output b = drive_run(d, input + 2, 2, 0, NULL);
    double weight = 0.0, sum = 0.0;
    for (size_t f = 0; f < 4; f++) {
        double alpha = -expm1(-1.0 / (f < 2 ? 50.0 : 2.0));
        weight = (1.0 - alpha) * weight + alpha;
        sum = (1.0 - alpha) * sum + alpha * input[f];
        drive_near(f < 2 ? drive_value(d, &a, f) : drive_value(d, &b, f - 2), sum / weight, 1e-12,
                   1e-12, "ewma");
    }
    free(a.data);
    free(b.data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_definition_holds),
        cmocka_unit_test(a_constant_stays),
        cmocka_unit_test(an_offset_does_not_cancel),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(settling_is_stated),
        cmocka_unit_test(time_constant_changes_while_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
