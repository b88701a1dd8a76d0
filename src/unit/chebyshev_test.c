/* SPDX-License-Identifier: MIT
 *
 * chebyshev_test.c: the unit against SciPy's numbers, and what its settings refuse. The designs: design_test.c.
 */
#include "unit/drive.h"

typedef struct design {
    double order, ripple_db;
    const char *type, *band;
    double edges[2];
    size_t count;
} design;

static weir_err open_filter(const design *given, weir_dtype dtype, drive **ret_drive)
{
    weir_spec spec = weir_spec_make(dtype, 30000.0, 3, NULL, NULL);
    weir_value items[2];
    weir_value settings[] = {weir_number("order", given->order),
                             weir_number("ripple_tol", given->ripple_db),
                             weir_text("cheby_type", given->type), weir_text("btype", given->band),
                             weir_numbers("Wn", given->edges, given->count, items)};
    return drive_open("chebyshev", &spec, settings, 5, ret_drive);
}

/* scipy.signal.cheby1 and cheby2 (output='sos'), sosfilt from sosfilt_zi * x[0], SciPy 1.17.1. */
static void scipys_numbers(void **state)
{
    (void)state;
    static const struct {
        design given;
        double expected[6]; /* at frames 0, 1, 2, 10, 31, 63 */
    } cases[] = {
        {{4, 0.5, "cheby1", "lowpass", {6000}, 1},
         {59.47583520601321, 60.72407487753142, 68.69211455509526, 120.06569190400873,
          98.29113624662165, 97.92554632238141}},
        {{5, 1, "cheby1", "highpass", {900}, 1},
         {0.0, 26.79823583455849, 31.66193559444517, -35.47290257118478, 9.657098363304936,
          7.826372974111948}},
        {{3, 40, "cheby2", "bandpass", {500, 4000}, 2},
         {0.0, 0.436358732779462, 1.7651616702696513, 0.7692892816730748, -1.6263462942764417,
          5.044161682284232}},
        {{4, 30, "cheby2", "bandstop", {800, 1200}, 2},
         {63.00000000000045, 98.82711880772283, 125.21198508882219, 42.7561736249084,
          119.7370701781047, 116.16662913202032}},
        {{1, 3, "cheby1", "low", {2000}, 1},
         {63.00000000000003, 70.20122931598252, 89.27527318288774, 105.94504574247101,
          103.46908382917358, 102.4812492604333}},
    };
    static const size_t frames[6] = {0, 1, 2, 10, 31, 63};
    double input[64 * 3];
    for (int i = 0; i < 64 * 3; i++) {
        input[i] = (i / 3 * 7919 + 13) % 101 - 50 + 100;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        uint64_t random = drive_seed();
        assert_int_equal(open_filter(&cases[i].given, WEIR_F64, &d), WEIR_OK);
        drive_output o = drive_cuts(d, input, 64, &random);
        for (int j = 0; j < 6; j++) {
            drive_near(drive_value(d, &o, frames[j] * 3 + 1), cases[i].expected[j], 1e-10, 1e-10,
                       "scipy");
        }
        free(o.data);
        drive_close(d);
    }
}

static void refused(const design *given, const char *start)
{
    drive *d = NULL;
    assert_int_equal(open_filter(given, WEIR_F32, &d), WEIR_E_CHAIN);
    if (strncmp(weir_err_detail(), start, strlen(start)) != 0) {
        fail_msg("%s", weir_err_detail());
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    refused(&(design){4, 1, "cheby1", "lowpass", {15000}, 1}, "Wn: 15000 Hz is not below");
    refused(&(design){4, 1, "cheby1", "bandpass", {300}, 1}, "Wn: 1 frequencies are given");
    refused(&(design){4, 1, "cheby1", "highpass", {300, 400}, 2}, "Wn: 2 frequencies are given");
    refused(&(design){4, 1, "cheby2", "bandstop", {400, 300}, 2}, "Wn: 400 is not below 300");
    refused(&(design){12, 1, "cheby1", "highpass", {14999.9999}, 1},
            "Wn: float64 cannot represent");
    refused(&(design){4, 0, "cheby1", "lowpass", {300}, 1}, "ripple_tol: 0 is out of range");
}

/* An edge of 0.4 x the target rate: a filter only where every second frame or fewer is kept. */
static void for_decimate(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, 3, NULL, NULL);
    static const struct {
        double edge;
        bool hz, filters;
    } cases[] = {{6000, true, true},
                 {6001, true, false},
                 {20000, true, false},
                 {0.8 / 2, false, true},
                 {0.8, false, false}};
    double input[64 * 3];
    for (int i = 0; i < 64 * 3; i++) {
        input[i] = (i / 3 * 7919 + 13) % 101;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given[] = {weir_number("order", 8), weir_number("ripple_tol", 0.05),
                              weir_number("Wn", cases[i].edge), weir_bool("wn_hz", cases[i].hz),
                              weir_bool("for_decimate", true)};
        drive *d = NULL;
        uint64_t random = 1;
        assert_int_equal(drive_open("chebyshev", &spec, given, 5, &d), WEIR_OK);
        drive_output o = drive_cuts(d, input, 64, &random);
        assert_int_equal(memcmp(o.data, input, sizeof input) != 0, cases[i].filters);
        free(o.data);
        drive_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scipys_numbers),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(for_decimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
