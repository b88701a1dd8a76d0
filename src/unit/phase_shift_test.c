/* SPDX-License-Identifier: MIT
 *
 * phase_shift_test.c: sinusoids sampled later than their frame, at the frame's time; ends, missing samples, errors.
 */
#include "unit/drive.h"

#define PI 3.14159265358979323846

enum { CHANNELS = 21, FRAMES = 1200 };

static void sinusoids_at_the_time_of_their_frame(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 12; i++) {
        bool f32 = i % 2 == 0;
        weir_spec spec = weir_spec_make(f32 ? WEIR_F32 : WEIR_F64, 30000.0, CHANNELS, NULL, NULL);
        weir_value shifts[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) {
            double shift = (double)(c % 13) / 13.0;
            if (i >= 6) {
                shift = (double)drive_random(&random, 1000) / 50.0 - 10.0;
            }
            shifts[c] = weir_number(NULL, shift);
        }
        weir_value given[2] = {
            {.key = "shift", .type = WEIR_VALUE_LIST, .items = shifts, .count = CHANNELS},
            weir_number("attenuation", i % 4 > 1 ? 100.0 : 60.0)};
        double near = i % 4 > 1 ? 1e-5 : 1e-3;
        drive *d = NULL;
        assert_int_equal(drive_open("phase_shift", &spec, given, 2, &d), WEIR_OK);
        assert_true(isnan(d->plan.delay_frames));
        size_t edge = (size_t)drive_settle(d, 1e-6) + 1;
        void *data = drive_signal(&spec, FRAMES, 0.0, 0.0, &random);
        for (size_t k = 0; k < FRAMES * CHANNELS; k++) {
            size_t c = k % CHANNELS;
            double frequency = 0.45 * (double)c / (CHANNELS - 1);
            double x =
                cos(2.0 * PI * frequency * ((double)(k / CHANNELS) + shifts[c].number) + (double)c);
            f32 ? (void)(((float *)data)[k] = (float)x) : (void)(((double *)data)[k] = x);
        }
        d->ends = true;
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        assert_int_equal(o.frames, FRAMES);
        for (size_t k = edge * CHANNELS; k < (FRAMES - edge) * CHANNELS; k++) {
            size_t c = k % CHANNELS;
            double frequency = 0.45 * (double)c / (CHANNELS - 1);
            drive_near(drive_value(d, &o, k),
                       cos(2.0 * PI * frequency * (double)(k / CHANNELS) + (double)c), 0.0,
                       near + 1e-6, "phase_shift");
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* One shift for all; a constant from the first frame to the last; a missing sample where it was. */
static void ends_and_missing_samples(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    weir_value given = weir_number("shift", 0.25);
    drive *d = NULL;
    static double data[FRAMES * CHANNELS];
    assert_int_equal(drive_open("phase_shift", &spec, &given, 1, &d), WEIR_OK);
    assert_true(d->plan.delay_frames == 0.25);
    for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
        bool missing = i % CHANNELS == 3 && i / CHANNELS % 50 < 2;
        data[i] = missing ? (double)INFINITY : -1e4 * (double)(i % CHANNELS + 1);
    }
    d->ends = true;
    drive_output o = drive_cuts(d, data, FRAMES, &random);
    for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
        drive_near(drive_value(d, &o, i), isinf(data[i]) ? (double)NAN : data[i], 1e-13, 0.0,
                   "phase_shift");
    }
    assert_int_equal(d->block->missing[3], FRAMES / 50 * 2);
    free(o.data);
    drive_close(d);
}

static void settings_are_checked(void **state)
{
    (void)state;
    weir_value two[2] = {weir_number(NULL, 0.0), weir_number(NULL, 0.5)};
    const weir_value list = {.key = "shift", .type = WEIR_VALUE_LIST, .items = two, .count = 2};
    const weir_value far = weir_number("shift", 1001.0);
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 3, NULL, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open("phase_shift", &spec, &list, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "shift: 2 numbers for 3 channels"));
    assert_int_equal(drive_open("phase_shift", &spec, &far, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "shift: 1001 of channel 0 is not within 1000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sinusoids_at_the_time_of_their_frame),
                                       cmocka_unit_test(ends_and_missing_samples),
                                       cmocka_unit_test(settings_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
