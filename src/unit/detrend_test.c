/* SPDX-License-Identifier: MIT
 *
 * detrend_test.c: detrend is the input minus ewma, in float64 before it is rounded.
 */
#include "unit/drive.h"

static void it_is_the_input_minus_ewma(void **state)
{
    (void)state;
    enum { FRAMES = 500, CHANNELS = 19 };
    uint64_t random = drive_seed();
    for (int f32 = 0; f32 < 2; f32++) {
        weir_spec spec = weir_spec_make(f32 ? WEIR_F32 : WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
        weir_value given = weir_text("time_constant", "50 ms");
        drive *a = NULL, *b = NULL;
        assert_int_equal(drive_open("detrend", &spec, &given, 1, &a), WEIR_OK);
        assert_int_equal(drive_open("ewma", &spec, &given, 1, &b), WEIR_OK);
        void *data = drive_signal(&spec, FRAMES, 50.0, 0.01, &random);
        drive_output x = drive_cuts(a, data, FRAMES, &random);
        drive_output y = drive_run(b, data, FRAMES, 0, NULL);
        for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
            double input = drive_input(&spec, data, i), mean = drive_value(b, &y, i);
            if (isfinite(input)) {
                drive_near(drive_value(a, &x, i), input - mean, 0.0,
                           f32 ? 1e-7 * (fabs(input) + fabs(mean)) : 1e-13, "x - ewma");
            } else {
                assert_true(isnan(drive_value(a, &x, i)));
            }
        }
        for (size_t c = 0; c < CHANNELS; c++) {
            double first = drive_value(a, &x, c);
            assert_true(first == 0.0 || isnan(first));
        }
        free(data);
        free(x.data);
        free(y.data);
        drive_close(a);
        drive_close(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_input_minus_ewma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
