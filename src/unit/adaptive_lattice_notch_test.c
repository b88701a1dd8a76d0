/* SPDX-License-Identifier: MIT
 *
 * adaptive_lattice_notch_test.c: the unit against ezmsg-sigproc's numbers and against a sinusoid that it must find.
 */
#include "unit/drive.h"

static weir_err
open_notch(const char *output, double rate_hz, const char *initial, bool chunkwise, drive **ret)
{
    weir_spec spec = weir_spec_make(WEIR_F64, rate_hz, 2, NULL, NULL);
    weir_value given[] = {weir_number("gamma", 0.9),         weir_number("mu", 0.8),
                          weir_number("eta", 0.95),          weir_text("init_notch_freq", initial),
                          weir_bool("chunkwise", chunkwise), weir_text("output", output)};
    return drive_open("adaptive_lattice_notch", &spec, given, 6, ret);
}

/* AdaptiveLatticeNotchFilterTransformer of ezmsg-sigproc 3.11.1. */
static void the_references_numbers(void **state)
{
    (void)state;
    static const size_t frames[6] = {0, 1, 2, 10, 31, 63};
    static const double expected[2][6] = {
        {-37.0, 19.279044048103668, 62.71188218260235, -14.694741659478169, 24.602629519730435,
         30.3080612683018},
        {4139.012761470073, 4456.638614861138, 5083.074974598975, 5319.692556806366,
         5511.385669764943, 5678.452096840559}};
    double input[64 * 2];
    for (int i = 0; i < 64 * 2; i++) {
        input[i] = (i / 2 * 7919 + 13) % 101 - 50 + 20 * sin(i / 2 * 0.7);
    }
    for (int k = 0; k < 2; k++) {
        drive *d = NULL;
        uint64_t random = drive_seed();
        assert_int_equal(open_notch(k == 0 ? "signal" : "frequency", 30000, "3 kHz", false, &d),
                         WEIR_OK);
        assert_true(k == 0 ? d->plan.out.units == d->plan.in->units
                           : strcmp(d->plan.out.units[1], "Hz") == 0);
        drive_output o = drive_cuts(d, input, 64, &random);
        for (int j = 0; j < 6; j++) {
            drive_near(drive_value(d, &o, frames[j] * 2 + 1), expected[k][j], 1e-11, 1e-11,
                       "ezmsg-sigproc");
        }
        free(o.data);
        drive_close(d);
    }
}

/* A sinusoid: its frequency is found, and little is left of it. */
static void a_sinusoid_is_found(void **state)
{
    (void)state;
    enum { FRAMES = 3000 };
    static double input[FRAMES * 2];
    for (int i = 0; i < FRAMES * 2; i++) {
        input[i] = 30.0 * sin(2.0 * M_PI * (i % 2 == 0 ? 50.0 : 110.0) / 1000.0 * (i / 2));
    }
    for (int k = 0; k < 2; k++) {
        drive *d = NULL;
        assert_int_equal(open_notch(k == 0 ? "frequency" : "signal", 1000, "70 Hz", false, &d),
                         WEIR_OK);
        drive_output o = drive_run(d, input, FRAMES, 0, NULL);
        for (size_t c = 0; c < 2; c++) {
            drive_near(drive_value(d, &o, (FRAMES - 1) * 2 + c),
                       k == 1   ? 0.0
                       : c == 0 ? 50.0
                                : 110.0,
                       0.0, 1e-6, "sinusoid");
        }
        free(o.data);
        drive_close(d);
    }
}

/* The frequency of float32 input is that of float64. */
static void frequencies_of_f32(void **state)
{
    (void)state;
    enum { FRAMES = 300 };
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 1, NULL, NULL);
    weir_value given[] = {weir_text("output", "frequency"), weir_text("init_notch_freq", "70 Hz")};
    drive *d = NULL;
    uint64_t random = drive_seed();
    float input[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        input[i] = (float)(30.0 * sin(2.0 * M_PI * 50.0 / 1000.0 * i));
    }
    assert_int_equal(drive_open("adaptive_lattice_notch", &spec, given, 2, &d), WEIR_OK);
    drive_output o = drive_cuts(d, input, FRAMES, &random);
    drive_near(drive_value(d, &o, 0), 70.0, 0.05, 0.0, "start");
    drive_near(drive_value(d, &o, FRAMES - 1), 50.0, 0.05, 0.0, "end");
    free(o.data);
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    drive *d = NULL;
    assert_int_equal(open_notch("signal", 1000, "500 Hz", false, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "init_notch_freq: 500 Hz is not below"));
    assert_int_equal(open_notch("signal", 1000, "50 Hz", true, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "chunkwise: true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_numbers),
        cmocka_unit_test(a_sinusoid_is_found),
        cmocka_unit_test(frequencies_of_f32),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
