/* SPDX-License-Identifier: MIT
 *
 * levels_test.c: quantize and digitize: every type of output, ends of the range, missing samples, errors.
 */
#include "unit/drive.h"

static double integer_at(const drive *d, const drive_output *o, size_t at)
{
    switch (d->plan.out.dtype) {
    case WEIR_U8:
        return ((const uint8_t *)o->data)[at];
    case WEIR_U16:
        return ((const uint16_t *)(const void *)o->data)[at];
    case WEIR_I16:
        return ((const int16_t *)(const void *)o->data)[at];
    default:
        return ((const int32_t *)(const void *)o->data)[at];
    }
}

static void run_case(const char *unit, weir_value setting, double span, double least, weir_dtype to)
{
    enum { FRAMES = 900, CHANNELS = 7 };
    uint64_t random = drive_seed(), missing[CHANNELS] = {0}, outside = 0;
    for (int f32 = 0; f32 < 2; f32++) {
        weir_spec spec =
            weir_spec_make(f32 == 1 ? WEIR_F32 : WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
        weir_value given[3] = {weir_number("min_val", -0.75), weir_number("max_val", 1.25),
                               setting};
        drive *d = NULL;
        assert_int_equal(drive_open(unit, &spec, given, 3, &d), WEIR_OK);
        assert_int_equal(d->plan.out.dtype, to);
        void *data = drive_signal(&spec, FRAMES, 0.1, 0.01, &random);
        memset(missing, 0, sizeof missing);
        outside = 0;
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
            double x = drive_input(&spec, data, i), y = integer_at(d, &o, i);
            if (!isfinite(x)) {
                missing[i % CHANNELS]++;
                assert_true(y == 0.0);
                continue;
            }
            outside += x < -0.75 || x > 1.25 ? 1 : 0;
            double exact = (fmin(fmax(x, -0.75), 1.25) + 0.75) / 2.0 * span + least;
            /* 24 bits of f32 put a value of 16 bits half a step and 2^-8 off at most */
            double near = f32 == 1 && span < 1e5 ? 0.51 : 0.5 + 1e-6;
            assert_true(fabs(y - exact) <= near && y >= least && y <= least + span);
        }
        for (size_t k = 0; k < CHANNELS; k++) {
            assert_int_equal(d->block->missing[k], missing[k]);
        }
        assert_int_equal(d->block->saturated, outside);
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void ranges_become_integers(void **state)
{
    (void)state;
    run_case("digitize", weir_text("dtype", "int16"), 65535.0, -32768.0, WEIR_I16);
    run_case("digitize", weir_text("dtype", "int32"), 4294967295.0, -2147483648.0, WEIR_I32);
    run_case("quantize", weir_number("bits", 1.0), 1.0, 0.0, WEIR_U8);
    run_case("quantize", weir_number("bits", 8.0), 255.0, 0.0, WEIR_U8);
    run_case("quantize", weir_number("bits", 12.0), 4095.0, 0.0, WEIR_U16);
    run_case("quantize", weir_number("bits", 16.0), 65535.0, 0.0, WEIR_U16);
    run_case("quantize", weir_number("bits", 31.0), 2147483647.0, 0.0, WEIR_I32);
}

/* A tie goes to the even number: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2. */
static void ties_go_to_the_even(void **state)
{
    (void)state;
    const float in[] = {0.5f, 1.5f, 2.5f, 254.5f, -1.0f, 256.0f};
    const uint8_t expected[] = {0, 2, 2, 254, 0, 255};
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 1, NULL, NULL);
    weir_value given = weir_number("max_val", 255.0);
    drive *d = NULL;
    assert_int_equal(drive_open("quantize", &spec, &given, 1, &d), WEIR_OK);
    drive_output o = drive_run(d, in, 6, 0, NULL);
    assert_memory_equal(o.data, expected, 6);
    free(o.data);
    drive_close(d);
}

static void settings_are_checked(void **state)
{
    (void)state;
    const struct {
        const char *unit;
        weir_value given[3];
        size_t count;
        const char *detail;
    } cases[] = {
        {"quantize", {weir_number("max_val", -1.0)}, 1, "max_val: -1 must be above min_val, 0"},
        {"quantize", {weir_number("max_val", 1.0), weir_number("bits", 32.0)}, 2, "bits: "},
        {"digitize",
         {weir_number("max_val", 2.0), weir_number("min_val", 2.0)},
         2,
         "max_val: 2 must be above min_val, 2"},
        {"digitize",
         {weir_number("max_val", 1.7e308), weir_number("min_val", -1.7e308)},
         2,
         "max_val: 1.7e+308 is too far above min_val, -1.7e+308"},
        {"digitize",
         {weir_number("max_val", 2.0), weir_number("min_val", 1.0), weir_text("dtype", "int64")},
         3,
         "dtype: int64 is not supported; the largest is int32"},
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_become_integers),
                                       cmocka_unit_test(ties_go_to_the_even),
                                       cmocka_unit_test(settings_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
