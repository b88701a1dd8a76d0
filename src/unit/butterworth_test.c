/* SPDX-License-Identifier: MIT
 *
 * butterworth_test.c: the unit against SciPy's numbers, and S1 S5 S8 S9 for it. The designs themselves:
 * design_test.c.
 */
#include "dsp/design.h"
#include "dsp/sos.h"
#include "dsp/sos_plain.h"
#include "unit/drive.h"
#include "unit/filter_numbers.h"

static weir_err open_filter(weir_dtype dtype,
                            uint64_t channels,
                            double order,
                            const char *cuton,
                            const char *cutoff,
                            drive **ret_drive)
{
    weir_spec spec = weir_spec_make(dtype, 30000.0, channels, NULL, NULL);
    weir_value given[3] = {weir_number("order", order)};
    size_t count = 1;
    if (cuton != NULL) {
        given[count++] = weir_text("cuton", cuton);
    }
    if (cutoff != NULL) {
        given[count++] = weir_text("cutoff", cutoff);
    }
    return drive_open("butterworth", &spec, given, count, ret_drive);
}

/* scipy.signal.butter(output='sos'), sosfilt from sosfilt_zi * x[0], SciPy 1.17.1. */
static void scipys_numbers(void **state)
{
    (void)state;
    static const struct {
        double order;
        const char *cuton, *cutoff;
        double expected[FILTER_NUMBERS];
    } cases[] = {
        {4,
         "300 Hz",
         "6 kHz",
         {0.0, 1.6237091687622163, 10.909003185574218, 18.134863891924223, 4.501061261706198,
          18.48410305872752}},
        {5,
         NULL,
         "900 Hz",
         {62.999999999999716, 63.00022797267265, 63.00259667170909, 65.74335010423509,
          101.66717295392174, 104.43940254711188}},
        {3,
         "2 kHz",
         NULL,
         {0.0, 26.88388716950721, 31.39289434020253, -33.29846229854286, 14.240057383692008,
          13.803297755945955}},
        {2,
         "1200 Hz",
         "800 Hz",
         {63.00000000000014, 101.64170592977104, 135.8061768076579, 51.93140204822266,
          115.0073882598658, 117.79652316594527}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        assert_int_equal(
            open_filter(WEIR_F64, 1, cases[i].order, cases[i].cuton, cases[i].cutoff, &d), WEIR_OK);
        filter_numbers(d, cases[i].expected, 1e-11);
        drive_close(d);
    }
}

/* S5: each column as if its missing samples had not come, bit for bit; S1 S9 by drive_cuts. */
static void missing_samples_hold_the_state(void **state)
{
    (void)state;
    static const double orders[] = {1, 2, 3, 4, 5, 12};
    uint64_t random = drive_seed();
    for (int wide = 0; wide < 2; wide++) {
        for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
            enum { FRAMES = 300 };
            uint64_t channels = 1 + drive_random(&random, 40);
            weir_dtype dtype = wide ? WEIR_F64 : WEIR_F32;
            drive *d = NULL;
            assert_int_equal(open_filter(dtype, channels, orders[k],
                                         k % 2 == 0 ? "300 Hz" : "6 kHz",
                                         k % 2 == 0 ? "6 kHz" : "300 Hz", &d),
                             WEIR_OK);
            unsigned char *data = drive_signal(&d->in, FRAMES, 500.0, 0.03, &random);
            drive_output o = drive_cuts(d, data, FRAMES, &random);
            assert_int_equal(o.frames, FRAMES);
            size_t bytes = weir_dtype_bytes(dtype);
            for (size_t c = 0; c < channels; c++) {
                unsigned char good[FRAMES * 8];
                size_t at[FRAMES], count = 0;
                for (size_t f = 0; f < FRAMES; f++) {
                    size_t place = f * (size_t)channels + c;
                    if (isfinite(drive_input(&d->in, data, place))) {
                        memcpy(good + count * bytes, data + place * bytes, bytes);
                        at[count++] = place;
                    } else {
                        assert_true(isnan(drive_value(d, &o, place)));
                    }
                }
                drive *alone = NULL;
                assert_int_equal(open_filter(dtype, 1, orders[k], k % 2 == 0 ? "300 Hz" : "6 kHz",
                                             k % 2 == 0 ? "6 kHz" : "300 Hz", &alone),
                                 WEIR_OK);
                drive_output expected = drive_run(alone, good, count, 0, NULL);
                for (size_t f = 0; f < count; f++) {
                    assert_memory_equal(o.data + at[f] * bytes, expected.data + f * bytes, bytes);
                }
                assert_int_equal(d->block->missing[c], FRAMES - count);
                free(expected.data);
                drive_close(alone);
            }
            free(o.data);
            free(data);
            drive_close(d);
        }
    }
}

/* S8: in f32 only input and output round: an offset of 1000 SD costs nothing but that. */
static void f32_has_float64_inside(void **state)
{
    (void)state;
    enum { FRAMES = 3000 };
    uint64_t random = drive_seed();
    drive *narrow = NULL, *wide = NULL;
    assert_int_equal(open_filter(WEIR_F32, 3, 2, "2 Hz", "8 Hz", &narrow), WEIR_OK);
    assert_int_equal(open_filter(WEIR_F64, 3, 2, "2 Hz", "8 Hz", &wide), WEIR_OK);
    float *input = drive_signal(&narrow->in, FRAMES, 1000.0, 0.0, &random);
    double *same = calloc(FRAMES * 3, sizeof *same);
    assert_non_null(same);
    for (size_t i = 0; i < FRAMES * 3; i++) {
        same[i] = (double)input[i];
    }
    drive_output a = drive_run(narrow, input, FRAMES, 0, NULL);
    drive_output b = drive_run(wide, same, FRAMES, 0, NULL);
    for (size_t i = 0; i < FRAMES * 3; i++) {
        assert_true(drive_value(narrow, &a, i) == (double)(float)drive_value(wide, &b, i));
    }
    free(a.data);
    free(b.data);
    free(input);
    free(same);
    drive_close(narrow);
    drive_close(wide);
}

static void order_0_hands_on(void **state)
{
    (void)state;
    drive *d = NULL;
    assert_int_equal(open_filter(WEIR_F64, 2, 0, NULL, NULL, &d), WEIR_OK);
    assert_int_equal(d->notices.count, 1);
    double input[4] = {1.0, -2.0, INFINITY, 4.0};
    drive_output o = drive_run(d, input, 2, 0, NULL);
    assert_true(drive_value(d, &o, 0) == 1.0 && drive_value(d, &o, 1) == -2.0);
    assert_true(isnan(drive_value(d, &o, 2)) && drive_value(d, &o, 3) == 4.0);
    assert_int_equal(d->block->missing[0], 1);
    free(o.data);
    drive_close(d);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        double order;
        const char *cuton, *cutoff, *detail;
    } cases[] = {
        {4, NULL, "20 kHz", "cutoff: 20000 Hz is above the Nyquist frequency, 15000 Hz"},
        {4, NULL, "15 kHz", "cutoff: 15000 Hz is not below the Nyquist frequency, 15000 Hz"},
        {4, "16 kHz", NULL, "cuton: 16000 Hz is above the Nyquist frequency, 15000 Hz"},
        {4, "0 Hz", "1 kHz", "cuton: 0 Hz is not above 0"},
        {4, "1 kHz", "1 kHz", "cutoff: 1000 Hz equals cuton: the band is empty"},
        {4, NULL, NULL, "cutoff: neither cuton"},
        {13, NULL, "1 kHz", "order: "},
        {-1, NULL, "1 kHz", "order: "},
        {2.5, NULL, "1 kHz", "order: "},
        {4, NULL, "10 ms", "cutoff: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        drive_refused(open_filter(WEIR_F32, 1, cases[i].order, cases[i].cuton, cases[i].cutoff, &d),
                      cases[i].detail);
    }
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, 2, NULL, NULL);
    weir_value given[] = {weir_number("order", 2), weir_text("cutoff", "1 kHz"),
                          weir_text("axis", "ch")};
    drive *d = NULL;
    assert_int_equal(drive_open("butterworth", &spec, given, 3, &d), WEIR_E_CHAIN);
    given[2] = weir_text("coef_type", "sos");
    assert_int_equal(drive_open("butterworth", &spec, given, 3, &d), WEIR_OK);
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
}

/* wn_hz: false is 0..1 of the Nyquist frequency. */
static void edges_may_be_fractions(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, 1, NULL, NULL);
    weir_value given[] = {weir_number("order", 3), weir_number("cutoff", 0.25),
                          weir_text("wn_hz", "false")};
    given[2].type = WEIR_VALUE_BOOL;
    given[2].number = 0.0;
    drive *a = NULL, *b = NULL;
    uint64_t random = drive_seed();
    assert_int_equal(drive_open("butterworth", &spec, given, 3, &a), WEIR_OK);
    assert_int_equal(open_filter(WEIR_F64, 1, 3, NULL, "3750 Hz", &b), WEIR_OK);
    double *data = drive_signal(&spec, 100, 0.0, 0.0, &random);
    drive_output x = drive_run(a, data, 100, 0, NULL), y = drive_run(b, data, 100, 0, NULL);
    assert_memory_equal(x.data, y.data, 100 * sizeof(double));
    free(x.data);
    free(y.data);
    free(data);
    drive_close(a);
    drive_close(b);
}

/* After settle() frames the start no longer matters above the tolerance; dsp/sos_test.c: and not sooner. */
static void settling_is_stated(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static const char *const edges[][2] = {
        {"300 Hz", "6 kHz"}, {NULL, "900 Hz"}, {"300 Hz", NULL}, {"1200 Hz", "800 Hz"}};
    for (size_t i = 0; i < 16; i++) {
        drive *d = NULL;
        double tolerance = i % 2 == 0 ? 1e-3 : 1e-6;
        assert_int_equal(
            open_filter(WEIR_F64, 3, 1.0 + (double)(i / 4), edges[i % 4][0], edges[i % 4][1], &d),
            WEIR_OK);
        assert_true(isnan(d->plan.delay_frames));
        (void)drive_settles(d, 50, tolerance, &random);
        assert_true(drive_settle(d, tolerance) < 30000);
        assert_true(drive_settle(d, 0.0) == WEIR_SETTLES_NEVER);
        drive_close(d);
    }
    drive *d = NULL;
    assert_int_equal(open_filter(WEIR_F64, 1, 0, NULL, NULL, &d), WEIR_OK);
    assert_int_equal(drive_settle(d, 1e-9), 0);
    drive_close(d);
}

/* The same edges again change no bit; others are those of a filter that has run with them for long. */
static void edges_change_while_running(void **state)
{
    (void)state;
    enum { FRAMES = 3000 };
    uint64_t random = drive_seed();
    weir_value given[] = {weir_number("order", 4), weir_text("cuton", "300 Hz"),
                          weir_text("cutoff", "6 kHz")};
    drive *a = NULL, *b = NULL;
    assert_int_equal(open_filter(WEIR_F64, 2, 4, "300 Hz", "6 kHz", &a), WEIR_OK);
    assert_int_equal(open_filter(WEIR_F64, 2, 4, "300 Hz", "6 kHz", &b), WEIR_OK);
    double *data = drive_signal(&a->in, FRAMES, 0.0, 0.01, &random);
    drive_output whole = drive_run(a, data, FRAMES, 0, NULL);
    drive_output x = drive_run(b, data, 1000, 0, NULL);
    assert_int_equal(drive_set(b, given, 3), WEIR_OK);
    drive_output y = drive_run(b, data + 2000, FRAMES - 1000, 0, NULL);
    assert_memory_equal(x.data, whole.data, 2000 * sizeof(double));
    assert_memory_equal(y.data, whole.data + 2000 * sizeof(double), 4000 * sizeof(double));
    free(whole.data);
    free(x.data);
    free(y.data);
    given[2] = weir_text("cutoff", "3 kHz");
    drive_reset(b);
    x = drive_run(b, data, 1000, 0, NULL);
    assert_int_equal(drive_set(b, given, 3), WEIR_OK);
    y = drive_run(b, data + 2000, FRAMES - 1000, 0, NULL);
    drive_close(a);
    assert_int_equal(open_filter(WEIR_F64, 2, 4, "300 Hz", "3 kHz", &a), WEIR_OK);
    whole = drive_run(a, data, FRAMES, 0, NULL);
    for (size_t i = 3000; i < 4000; i++) {
        drive_near(drive_value(b, &y, i), drive_value(a, &whole, i + 2000), 1e-9, 1e-9, "later");
    }
    free(whole.data);
    free(x.data);
    free(y.data);
    free(data);
    drive_close(a);
    drive_close(b);
}

/* S8: an edge as near 0 Hz or the Nyquist frequency as you like: refused with the reason, or finite output,
 * which for a constant is the gain at 0 Hz. */
static void edges_that_float64_cannot_hold(void **state)
{
    (void)state;
    double input[200];
    for (int i = 0; i < 200; i++) {
        input[i] = i < 100 ? 50.0 : (i * 7919 + 13) % 101;
    }
    int refused = 0, run = 0;
    for (int order = 1; order <= 12; order++) {
        for (int kind = 0; kind < 6; kind++) {
            for (double off = 1e-2; off > 1e-11; off /= 10) {
                char at[40], further[40];
                double hz = kind % 2 == 0 ? off : 15000.0 - off;
                snprintf(at, sizeof at, "%.17g", hz);
                snprintf(further, sizeof further, "%.17g",
                         kind % 2 == 0 ? 2 * off : 15000 - 2 * off);
                const char *cuton = kind < 2 ? NULL : at, *cutoff = kind < 2   ? at
                                                                    : kind < 4 ? NULL
                                                                               : further;
                drive *d = NULL;
                if (hz >= 15000.0) {
                    continue;
                }
                weir_err err = open_filter(WEIR_F64, 1, order, cuton, cutoff, &d);
                if (err != WEIR_OK) {
                    assert_int_equal(err, WEIR_E_CHAIN);
                    assert_true(kind % 2 == 1); /* near 0 Hz every one is carried */
                    assert_non_null(strstr(weir_err_detail(), "float64 cannot represent"));
                    refused++;
                    continue;
                }
                drive_output o = drive_run(d, input, 200, 0, NULL);
                for (size_t i = 0; i < 200; i++) {
                    assert_true(isfinite(drive_value(d, &o, i)));
                }
                /* At once what a constant becomes: 0 by a high-pass, itself by a low-pass. */
                drive_near(drive_value(d, &o, 1),
                           kind < 2   ? 50.0
                           : kind < 4 ? 0.0
                                      : drive_value(d, &o, 1),
                           0.01, 1e-9, "0 Hz");
                free(o.data);
                drive_close(d);
                run++;
            }
        }
    }
    assert_true(refused > 150 && run > 300);
    drive *d = NULL;
    assert_int_equal(open_filter(WEIR_F32, 1, 2, NULL, "14999.99999 Hz", &d), WEIR_E_CHAIN);
    assert_string_equal(
        weir_err_detail(),
        "cutoff: float64 cannot represent a filter of order 2 with an edge at 14999.99999 Hz for "
        "30000 Hz: it would not be stable; lower the rate before it (downsample), or "
        "the order");
    assert_int_equal(open_filter(WEIR_F32, 1, 2, "1e-5 Hz", NULL, &d), WEIR_OK);
    drive_close(d);
    assert_int_equal(open_filter(WEIR_F32, 1, 4, "0.01 Hz", NULL, &d), WEIR_OK);
    drive_close(d);
}

/* z^2 + c1 z + c2 of a section's d = z - 1. */
static weiri_sos_params of_z(const weiri_sos_params *filter)
{
    weiri_sos_params plain = *filter;
    for (size_t i = 0; i < plain.sections && plain.kind == WEIRI_SOS_DELTA; i++) {
        double *c = plain.coefs[i];
        double b1 = c[0], b2 = c[1], a1 = -c[2], a2 = -c[3];
        const double z[4] = {b1 - 2, 1 - b1 + b2, 2 - a1, a1 - a2 - 1};
        memcpy(c, z, sizeof z);
    }
    plain.kind = WEIRI_SOS_GENERAL;
    return plain;
}

/* A live setting may change the form of the coefficients, in both directions: state goes on. */
static void another_form_while_running(void **state)
{
    (void)state;
    static const char *const edges[] = {"30 Hz", "3 kHz", "20 Hz", "2 kHz"};
    static const double low[] = {30, 3000, 20, 2000};
    enum { FRAMES = 400, COLUMNS = 19 };
    uint64_t random = drive_seed();
    drive *d = NULL;
    double words[2 * WEIRI_SOS_MAX];
    assert_int_equal(open_filter(WEIR_F64, COLUMNS, 3, edges[0], NULL, &d), WEIR_OK);
    double *data = drive_signal(&d->in, 4 * FRAMES, 5.0, 0.0, &random);
    for (size_t part = 0; part < 4; part++) {
        weir_value given[] = {weir_number("order", 3), weir_text("cuton", edges[part])};
        weiri_zpk prototype = weiri_butterworth_prototype(3);
        weiri_sos_params filter, plain;
        assert_int_equal(drive_set(d, given, 2), WEIR_OK);
        weiri_design_sections(&prototype, WEIRI_HIGHPASS, low[part] / 30000, 0.25, &filter);
        assert_int_equal(filter.kind == WEIRI_SOS_DELTA, part % 2 == 0);
        plain = of_z(&filter);
        if (part == 0) {
            weiri_sos_steady_state(&plain, words);
            for (size_t i = 0; i < 2 * plain.sections; i++) {
                words[i] *= data[COLUMNS - 1];
            }
        }
        drive_output o = drive_run(d, data + part * FRAMES * COLUMNS, FRAMES, 0, NULL);
        for (size_t i = 0; i < FRAMES; i++) { /* of the last column */
            double x = data[(part * FRAMES + i + 1) * COLUMNS - 1];
            drive_near(drive_value(d, &o, (i + 1) * COLUMNS - 1), sos_plain_step(&plain, words, x),
                       1e-8, 1e-8, edges[part]);
        }
        free(o.data);
    }
    free(data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scipys_numbers),
        cmocka_unit_test(edges_that_float64_cannot_hold),
        cmocka_unit_test(another_form_while_running),
        cmocka_unit_test(missing_samples_hold_the_state),
        cmocka_unit_test(f32_has_float64_inside),
        cmocka_unit_test(order_0_hands_on),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(edges_may_be_fractions),
        cmocka_unit_test(settling_is_stated),
        cmocka_unit_test(edges_change_while_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
