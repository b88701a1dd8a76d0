/* SPDX-License-Identifier: MIT
 *
 * diff_test.c: differences across message boundaries, after missing samples, and per second.
 */
#include "unit/drive.h"

static void each_minus_the_last_good_one(void **state)
{
    (void)state;
    enum { FRAMES = 400 };
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 24; i++) {
        bool f32 = i % 2 == 0, scaled = i % 4 > 1;
        uint64_t channels = 1 + drive_random(&random, 40);
        double rate = i % 3 == 0 ? 24414.0625 : 500.0;
        weir_spec spec = weir_spec_make(f32 ? WEIR_F32 : WEIR_F64, rate, channels, NULL, NULL);
        weir_value given = weir_text("scale_by_fs", scaled ? "true" : "false");
        drive *d = NULL;
        assert_int_equal(drive_open("diff", &spec, &given, 1, &d), WEIR_OK);
        assert_true(d->plan.delay_frames == 0.5 && drive_settle(d, 1e-6) == 1);
        void *data = drive_signal(&spec, FRAMES, 1.0, i < 8 ? 0.0 : 0.1, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        for (size_t c = 0; c < channels; c++) {
            double last = NAN;
            for (size_t f = 0; f < FRAMES; f++) {
                double x = drive_input(&spec, data, f * channels + c), y = NAN;
                if (isfinite(x)) {
                    y = isnan(last) ? 0.0 : (x - last) * (scaled ? rate : 1.0);
                    last = x;
                }
                y = f32 ? (double)(float)y : y;
                drive_near(drive_value(d, &o, f * channels + c), y, 0.0, 0.0, "diff");
            }
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void units_are_per_second(void **state)
{
    (void)state;
    static const char *const units[] = {"uV"};
    weir_spec spec = weir_spec_make(WEIR_F64, 500.0, 1, NULL, units);
    weir_value given[2] = {weir_text("scale_by_fs", "true"), weir_text("axis", "ch")};
    drive *d = NULL;
    assert_int_equal(drive_open("diff", &spec, given, 1, &d), WEIR_OK);
    assert_string_equal(d->plan.out.units[0], "uV*s^-1");
    drive_close(d);
    assert_int_equal(drive_open("diff", &spec, given, 2, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "axis: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_minus_the_last_good_one),
                                       cmocka_unit_test(units_are_per_second)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
