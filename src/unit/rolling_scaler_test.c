/* SPDX-License-Identifier: MIT
 *
 * rolling_scaler_test.c: the unit against the definition, each window summed anew in long double.
 */
#include "unit/drive.h"

#include <float.h>

enum { FRAMES = 700, CHANNELS = 19 };

static drive *open_scaler(weir_dtype dtype, double k, double least, double artifact)
{
    weir_spec spec = weir_spec_make(dtype, 1000.0, CHANNELS, NULL, NULL);
    weir_value given[] = {weir_number("k_samples", k), weir_number("min_samples", least),
                          weir_number("clip", 3), weir_number("artifact_z_thresh", artifact)};
    drive *d = NULL;
    assert_int_equal(drive_open("rolling_scaler", &spec, given, artifact > 0 ? 4 : 3, &d), WEIR_OK);
    assert_true(d->plan.columnwise == !(artifact > 0));
    return d;
}

/* The window's samples of a channel: the last k of those accepted. */
typedef struct window {
    long double values[FRAMES];
    size_t count;
} window;

static long double score(const window *w, size_t k, long double x)
{
    size_t n = k > 0 && w->count > k ? k : w->count;
    long double sum = 0, square = 0;
    for (size_t i = w->count - n; i < w->count; i++) {
        sum += w->values[i];
    }
    for (size_t i = w->count - n; i < w->count; i++) {
        long double d = w->values[i] - sum / n;
        square += d * d;
    }
    return (x - sum / n) / fmaxl(sqrtl(square / n), 1e-8L);
}

static void the_definition_holds(void **state)
{
    (void)state;
    static const struct {
        double k, least, artifact;
    } cases[] = {{20, 1, 0}, {7, 7, 0}, {1, 1, 0}, {0, 5, 0}, {50, 60, 0}, {30, 10, 2.9}};
    uint64_t random = drive_seed();
    static window windows[CHANNELS];
    for (size_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; n++) {
        weir_dtype dtype = n % 2 == 0 ? WEIR_F64 : WEIR_F32;
        size_t k = (size_t)cases[n / 2].k, least = (size_t)cases[n / 2].least, excluded = 0;
        double artifact = cases[n / 2].artifact;
        least = k > 0 && least > k ? k : least;
        drive *d = open_scaler(dtype, cases[n / 2].k, cases[n / 2].least, artifact);
        void *data = drive_signal(&d->in, FRAMES, 100.0, 0.02, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        memset(windows, 0, sizeof windows);
        for (size_t i = 0; i < FRAMES; i++) {
            bool far = false;
            for (size_t c = 0; c < CHANNELS; c++) {
                double x = drive_input(&d->in, data, i * CHANNELS + c);
                double found = drive_value(d, &o, i * CHANNELS + c);
                if (!isfinite(x)) {
                    assert_true(isnan(found));
                    continue;
                }
                long double z = windows[c].count > 0 ? score(&windows[c], k, x) : 0.0L;
                far = far || (artifact > 0 && fabsl(z) > artifact);
                size_t held = k > 0 && windows[c].count > k ? k : windows[c].count;
                double expected =
                    held < least || held == 0 ? x : (double)fmaxl(-3.0L, fminl(3.0L, z));
                drive_near(found, expected, dtype == WEIR_F32 ? 1e-6 : 1e-9, 1e-9, "definition");
            }
            excluded += far;
            for (size_t c = 0; !far && c < CHANNELS; c++) {
                double x = drive_input(&d->in, data, i * CHANNELS + c);
                if (isfinite(x)) {
                    windows[c].values[windows[c].count++] = x;
                }
            }
        }
        assert_true(artifact > 0 ? excluded > 20 : excluded == 0);
        free(data);
        free(o.data);
        drive_close(d);
    }
}

/* A sample of 1e9 leaves nothing behind once the window is computed anew. */
static void nothing_stays(void **state)
{
    (void)state;
    drive *d = open_scaler(WEIR_F64, 10, 1, 0);
    double data[60 * CHANNELS];
    for (int i = 0; i < 60 * CHANNELS; i++) {
        data[i] = i / CHANNELS == 3 ? 1e9 : i / CHANNELS % 2 == 0 ? 1.0 : -1.0;
    }
    drive_output o = drive_run(d, data, 60, 0, NULL);
    for (size_t i = 30; i < 60; i++) {
        drive_near(drive_value(d, &o, i * CHANNELS), data[i * CHANNELS], 1e-15, 0.0, "+-1");
    }
    free(o.data);
    drive_close(d);
}

/* Scores beyond the largest number of the type are that number, or clip; none is 0 or infinite. */
static void large_scores(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        weir_dtype dtype = n % 2 == 0 ? WEIR_F32 : WEIR_F64;
        double clip = n < 2 ? 0 : 10, most = dtype == WEIR_F32 ? (double)FLT_MAX : DBL_MAX;
        weir_spec spec = weir_spec_make(dtype, 1000.0, 1, NULL, NULL);
        weir_value given[] = {weir_number("k_samples", 5), weir_number("clip", clip)};
        drive *d = NULL;
        assert_int_equal(drive_open("rolling_scaler", &spec, given, 2, &d), WEIR_OK);
        float f32[20] = {[10] = 1e35f};
        double f64[20] = {[10] = -1e305};
        drive_output o = drive_run(d, dtype == WEIR_F32 ? (void *)f32 : (void *)f64, 20, 0, NULL);
        double expected = clip > 0 ? clip : most;
        drive_near(drive_value(d, &o, 10), dtype == WEIR_F32 ? expected : -expected, 0, 0, "score");
        for (size_t i = 0; i < 20; i++) {
            assert_true(isfinite(drive_value(d, &o, i)));
        }
        free(o.data);
        drive_close(d);
    }
}

/* The second frame already can be an artifact: the first is its mean, and there is no deviation. */
static void an_early_artifact(void **state)
{
    (void)state;
    drive *d = open_scaler(WEIR_F64, 5, 1, 3.0);
    double data[4 * CHANNELS];
    for (int i = 0; i < 4 * CHANNELS; i++) {
        data[i] = i / CHANNELS == 1 ? 50.0 : 1.0;
    }
    drive_output o = drive_run(d, data, 4, 0, NULL);
    for (size_t c = 0; c < CHANNELS; c++) {
        assert_true(drive_value(d, &o, CHANNELS + c) == 3.0);     /* clipped */
        assert_true(drive_value(d, &o, 2 * CHANNELS + c) == 0.0); /* 50 is not in the window */
    }
    free(o.data);
    drive_close(d);
}

static void the_window_must_fill(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 1, NULL, NULL);
    weir_value given = weir_bool("update_with_signal", false);
    drive *d = NULL;
    assert_int_equal(drive_open("rolling_scaler", &spec, &given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "update_with_signal: with false"));
    given = weir_text("window_size", "10.5 ms"); /* whole frames, rounded up */
    assert_int_equal(drive_open("rolling_scaler", &spec, &given, 1, &d), WEIR_OK);
    assert_int_equal(d->plan.fields[3].rows, 11);
    assert_int_equal(drive_settle(d, 1e-6), 22);
    drive_close(d);
    weir_value least[] = {weir_text("window_size", "10 ms"), weir_text("min_seconds", "2.5 ms")};
    float data[5] = {1, 2, 8, 4, 5}; /* 2.5 frames are 3: the first three pass as they are */
    assert_int_equal(drive_open("rolling_scaler", &spec, least, 2, &d), WEIR_OK);
    drive_output o = drive_run(d, data, 5, 0, NULL);
    assert_true(drive_value(d, &o, 2) == 8.0 && drive_value(d, &o, 3) != 4.0);
    free(o.data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_definition_holds), cmocka_unit_test(nothing_stays),
        cmocka_unit_test(large_scores),         cmocka_unit_test(an_early_artifact),
        cmocka_unit_test(the_window_must_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
