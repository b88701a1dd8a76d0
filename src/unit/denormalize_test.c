/* SPDX-License-Identifier: MIT
 *
 * denormalize_test.c: offsets and gains of the channels, and no rate below 0.
 */
#include "unit/drive.h"

/* NumPy's default_rng(12345): uniform(2, 40, 3), normal(21, 38 / 6, 3) limited to 2..40, and the middle. */
static void channels_have_their_rates(void **state)
{
    (void)state;
    enum { CHANNELS = 3, FRAMES = 300 };
    static const struct {
        const char *distribution;
        double offsets[CHANNELS];
    } cases[] = {
        {"uniform",
         {2 + 38 * 0x1.d1958c6d97fe0p-3, 2 + 38 * 0x1.445c4c5727930p-2,
          2 + 38 * 0x1.984049046889dp-1}},
        {"normal",
         {21 - 38 * 0x1.6c7fcc2ecc744p+0 / 6, 21 + 38 * 0x1.4383b54eb0649p+0 / 6,
          21 - 38 * 0x1.bdc76014d359ep-1 / 6}},
        {"constant", {21, 21, 21}},
    };
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 6; i++) {
        weir_value given[2] = {weir_text("distribution", cases[i / 2].distribution),
                               weir_number("seed", 12345.0)};
        weir_spec spec =
            weir_spec_make(i % 2 == 0 ? WEIR_F32 : WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
        drive *d = NULL;
        assert_int_equal(drive_open("denormalize", &spec, given, 2, &d), WEIR_OK);
        void *data = drive_signal(&spec, FRAMES, 0.0, 0.01, &random);
        for (size_t k = 0; k < CHANNELS; k++) { /* far below -3.29 */
            i % 2 == 0 ? (void)(((float *)data)[k] = -9.0f) : (void)(((double *)data)[k] = -9.0);
        }
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        for (size_t k = 0; k < FRAMES * CHANNELS; k++) {
            double offset = cases[i / 2].offsets[k % CHANNELS], x = drive_input(&spec, data, k);
            double y = isfinite(x) ? fmax(offset + x * (offset / 3.29), 0.0) : (double)NAN;
            drive_near(drive_value(d, &o, k), y, i % 2 == 0 ? 1e-6 : 1e-12, 1e-6, "denormalize");
            assert_true(k >= CHANNELS || drive_value(d, &o, k) == 0.0 || !isfinite(x));
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* Channels between other dimensions: one rate for all values of a channel. */
static void one_rate_a_channel(void **state)
{
    (void)state;
    enum { CHANNELS = 5, INNER = 3 };
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    spec.dim_count = 3;
    spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = INNER};
    drive *d = NULL;
    double zeros[CHANNELS * INNER] = {0};
    assert_int_equal(drive_open("denormalize", &spec, NULL, 0, &d), WEIR_OK);
    drive_output o = drive_run(d, zeros, 1, 0, NULL);
    for (size_t i = 0; i < CHANNELS * INNER; i++) {
        assert_true(drive_value(d, &o, i) == drive_value(d, &o, i / INNER * INNER));
        assert_true(i < INNER || drive_value(d, &o, i) != drive_value(d, &o, i - INNER));
    }
    free(o.data);
    drive_close(d);
    const weir_value wrong[2] = {weir_text("low_rate", "50 Hz"), weir_text("high_rate", "40 Hz")};
    assert_int_equal(drive_open("denormalize", &spec, wrong, 2, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "low_rate: 50 Hz is above high_rate, 40 Hz"));
}

/* Of 4000 normal numbers some ten are further than three standard deviations from 0. */
static void rates_stay_in_the_range(void **state)
{
    (void)state;
    enum { CHANNELS = 4000 };
    static double zeros[CHANNELS];
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    weir_value given = weir_text("distribution", "normal");
    drive *d = NULL;
    assert_int_equal(drive_open("denormalize", &spec, &given, 1, &d), WEIR_OK);
    drive_output o = drive_run(d, zeros, 1, 0, NULL);
    size_t limited = 0;
    for (size_t i = 0; i < CHANNELS; i++) {
        double rate = drive_value(d, &o, i);
        assert_true(rate >= 2.0 && rate <= 40.0);
        limited += rate == 2.0 || rate == 40.0;
    }
    assert_true(limited > 2 && limited < 30);
    free(o.data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(channels_have_their_rates),
                                       cmocka_unit_test(one_rate_a_channel),
                                       cmocka_unit_test(rates_stay_in_the_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
