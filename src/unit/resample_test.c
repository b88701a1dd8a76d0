/* SPDX-License-Identifier: MIT
 *
 * resample_test.c: exact sinusoids at another rate, how many frames are due, both ends, missing samples, errors.
 */
#include "unit/drive.h"

#define PI 3.14159265358979323846

static void sinusoids_at_another_rate(void **state)
{
    (void)state;
    static const struct {
        double from, to;
        uint64_t p, q;
    } cases[] = {
        {30000, 1000, 30, 1}, {30000, 24414.0625, 768, 625},
        {500, 512, 125, 128}, {1000, 30000, 1, 30},
        {30000, 20000, 3, 2}, {24414.0625, 1000, 3125, 128},
        {0.3, 0.1, 3, 1},     {100, 9.090909090909092, 11, 1},
    };
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        bool f32 = i % 2 == 0;
        double from = cases[i / 2].from, to = cases[i / 2].to;
        double nyquist =
            0.5 * (from < to ? from : to) / from; /* in fractions of the input's rate */
        enum { CHANNELS = 19 };
        weir_spec spec = weir_spec_make(f32 ? WEIR_F32 : WEIR_F64, from, CHANNELS, NULL, NULL);
        weir_value given[3] = {weir_number("resample_rate", to), weir_number("attenuation", 70.0),
                               weir_number("passband", 0.7)};
        drive *d = NULL;
        assert_int_equal(drive_open("resample", &spec, given, 3, &d), WEIR_OK);
        assert_true(d->plan.due.p == cases[i / 2].p && d->plan.due.q == cases[i / 2].q);
        size_t reach = ((size_t)drive_settle(d, 1e-6) + 1) / 2, frames = 4 * reach + 400;
        assert_int_equal(weiri_due_lag(&d->plan.due), reach);
        void *data = drive_signal(&spec, frames, 0.0, 0.0, &random);
        double frequency[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) { /* the last one is not to be there afterwards */
            frequency[c] = nyquist * (0.7 * (double)c / (CHANNELS - 1));
            if (c == CHANNELS - 1 && to < from) {
                frequency[c] = nyquist + (0.5 - nyquist) * 0.6;
            }
            for (size_t f = 0; f < frames; f++) {
                double x = cos(2.0 * PI * frequency[c] * (double)f + (double)c);
                f32 ? (void)(((float *)data)[f * CHANNELS + c] = (float)x)
                    : (void)(((double *)data)[f * CHANNELS + c] = x);
            }
        }
        d->ends = true;
        drive_output o = drive_cuts(d, data, frames, &random);
        uint64_t p = cases[i / 2].p, q = cases[i / 2].q;
        assert_int_equal(o.frames, (frames * q + p - 1) / p);
        for (size_t m = 0; m < o.frames; m++) {
            double at = (double)m * (double)p / (double)q;
            bool inner = at > (double)reach && at + (double)reach + 1.0 < (double)frames;
            for (size_t c = 0; inner && c < CHANNELS; c++) {
                bool gone = c == CHANNELS - 1 && to < from;
                double y = gone ? 0.0 : cos(2.0 * PI * frequency[c] * at + (double)c);
                drive_near(drive_value(d, &o, m * CHANNELS + c), y, 0.0, 3.2e-4, "resample");
            }
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* S9: a constant is a constant from the first frame to the last, whatever its size; S5: a missing sample is missing
 * where it is nearest, the others see the last good one instead. */
static void ends_and_missing_samples(void **state)
{
    (void)state;
    enum { FRAMES = 1000, CHANNELS = 3 };
    uint64_t random = drive_seed();
    for (int up = 0; up < 2; up++) {
        weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
        weir_value given = weir_number("resample_rate", up == 1 ? 3000.0 : 500.0);
        drive *d = NULL;
        static double data[FRAMES * CHANNELS];
        assert_int_equal(drive_open("resample", &spec, &given, 1, &d), WEIR_OK);
        for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
            bool missing = i % CHANNELS == 1 && (i / CHANNELS < 7 || i / CHANNELS % 100 == 50);
            data[i] = missing ? (double)NAN : 1e5 * (double)(i % CHANNELS + 1);
        }
        d->ends = true;
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        assert_int_equal(o.frames, up == 1 ? 3 * FRAMES : FRAMES / 2);
        for (size_t i = 0; i < o.frames * CHANNELS; i++) {
            size_t m = i / CHANNELS, frame = up == 1 ? (m + 1) / 3 : 2 * m, c = i % CHANNELS;
            frame = frame < FRAMES ? frame : FRAMES - 1;
            drive_near(drive_value(d, &o, i),
                       isnan(data[frame * CHANNELS + c]) ? (double)NAN : 1e5 * (double)(c + 1),
                       1e-13, 0.0, "resample");
        }
        assert_int_equal(d->block->missing[1], 7 + 10);
        free(o.data);
        drive_close(d);
    }
}

static void settings_are_checked(void **state)
{
    (void)state;
    const struct {
        double rate;
        weir_value given[2];
        size_t count;
        const char *detail;
    } cases[] = {
        {1000.0, {{0}}, 0, "resample_rate: is required"},
        {30000.123, {weir_number("resample_rate", 1000.0)}, 1, "resample_rate: the ratio "},
        {1000.0,
         {weir_number("resample_rate", 500.0), weir_number("passband", 1.0)},
         2,
         "passband: "},
        {1000.0, {weir_number("resample_rate", 500.0), weir_text("axis", "ch")}, 2, "axis: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        weir_spec spec = weir_spec_make(WEIR_F32, cases[i].rate, 2, NULL, NULL);
        assert_int_equal(drive_open("resample", &spec, cases[i].given, cases[i].count, &d),
                         WEIR_E_CHAIN);
        if (strncmp(weir_err_detail(), cases[i].detail, strlen(cases[i].detail)) != 0) {
            fail_msg("'%s' does not start with '%s'", weir_err_detail(), cases[i].detail);
        }
    }
    drive *d = NULL; /* the rate that is there: nothing happens */
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 2, NULL, NULL);
    weir_value same = weir_number("resample_rate", 1000.0);
    const float data[] = {1, 2, NAN, 4};
    assert_int_equal(drive_open("resample", &spec, &same, 1, &d), WEIR_OK);
    drive_output o = drive_run(d, data, 2, 0, NULL);
    assert_int_equal(o.frames, 2);
    assert_memory_equal(o.data, data, sizeof data);
    assert_int_equal(d->block->missing[0], 1);
    free(o.data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sinusoids_at_another_rate),
                                       cmocka_unit_test(ends_and_missing_samples),
                                       cmocka_unit_test(settings_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
