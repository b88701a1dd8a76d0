/* SPDX-License-Identifier: MIT
 *
 * adaptive_lnc_test.c: the unit against ezmsg-sigproc's numbers, a line whose frequency is off, and missing samples.
 */
#include "unit/drive.h"

static weir_err open_lnc(double rate_hz, const char *method, const char *track, drive **ret)
{
    weir_spec spec = weir_spec_make(WEIR_F64, rate_hz, 2, NULL, NULL);
    weir_value given[] = {weir_text("cancel_method", method),
                          weir_text("freq_time_constant", track), weir_number("num_harmonics", 2),
                          weir_text("adapt_time_constant", "50 ms")};
    return drive_open("adaptive_lnc", &spec, given, 4, ret);
}

/* AdaptiveLNCTransformer of ezmsg-sigproc 3.11.1; windows of 8 frames. */
static void the_references_numbers(void **state)
{
    (void)state;
    static const size_t frames[6] = {0, 1, 7, 8, 31, 63};
    static const double expected[2][2][6] = {
        {{94.15346738469205, 172.7214711082715, 143.57218691225148, 117.86680683887106,
          129.20392736334932, 135.2785613349706},
         {18.57673369234602, 45.04011415945379, -10.09015827956914, 19.495864301956647,
          0.4429299718493275, 9.245095149124424}},
        {{94.15346738469205, 178.26951737993335, 120.32893972065376, 104.27581202985725,
          119.38813349844591, 124.196102120874},
         {18.57673369234602, 46.13475868996667, -12.83553013967312, 7.953328950918907,
          4.927486850018585, 11.694245329182863}}};
    double input[64 * 2];
    for (int i = 0; i < 64; i++) {
        input[2 * i] = (i * 7919 + 13) % 101 - 50 + 80 * sin(i * 0.79 + 0.4) + 100;
        input[2 * i + 1] = (i * 17 + 3) % 11 + 40 * sin(i * 0.79 + 0.4);
    }
    for (int k = 0; k < 2; k++) {
        drive *d = NULL;
        uint64_t random = drive_seed();
        assert_int_equal(open_lnc(480, k == 0 ? "notch" : "subtract", "100 ms", &d), WEIR_OK);
        assert_false(d->plan.columnwise);
        drive_output o = drive_cuts(d, input, 64, &random);
        for (size_t j = 0; j < 12; j++) {
            drive_near(drive_value(d, &o, frames[j / 2] * 2 + j % 2), expected[k][j % 2][j / 2],
                       1e-11, 1e-11, "ezmsg-sigproc");
        }
        free(o.data);
        drive_close(d);
    }
}

/* A line of 60.7 Hz and its double goes away where the frequency is followed, also around missing samples; to subtract,
 * as far as its amplitude has been estimated. Where it is not, a tenth of it and more is left. */
static void the_line_goes_away(void **state)
{
    (void)state;
    enum { FRAMES = 8000 };
    static double input[FRAMES * 2];
    for (int i = 0; i < FRAMES; i++) {
        double phase = 2.0 * M_PI * 60.7 / 1000.0 * i;
        for (int c = 0; c < 2; c++) {
            input[2 * i + c] = (c + 1) * (sin(phase) + 0.5 * sin(2.0 * phase));
        }
        input[2 * i] = i % 1000 < 3 && i < 6000 ? (double)NAN : input[2 * i];
    }
    static const struct {
        const char *method, *track;
        double least, most;
    } cases[] = {{"notch", "500 ms", 0.0, 0.01},
                 {"notch", "0 s", 0.1, 1.5},
                 {"subtract", "500 ms", 0.0, 0.2},
                 {"passthrough", "0 s", 1.2, 1.4}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        drive *d = NULL;
        uint64_t random = drive_seed();
        assert_int_equal(open_lnc(1000, cases[k].method, cases[k].track, &d), WEIR_OK);
        drive_output o = drive_cuts(d, input, FRAMES, &random);
        double worst = 0.0;
        for (size_t i = 0; i < FRAMES; i++) {
            assert_true(isnan(input[2 * i]) == isnan(drive_value(d, &o, 2 * i)));
            worst = i >= 7500 ? fmax(worst, fabs(drive_value(d, &o, 2 * i))) : worst;
        }
        if (worst < cases[k].least || worst > cases[k].most) {
            fail_msg("%s, %s: %g of the line is left", cases[k].method, cases[k].track, worst);
        }
        assert_true((drive_settle(d, 1e-3) == WEIR_SETTLES_NEVER) == (k % 2 == 0));
        free(o.data);
        drive_close(d);
    }
}

/* The frequency goes no further than max_freq_deviation: a line 0.7 Hz away is reached with 1 Hz, and not with 0.1. */
static void the_deviation_is_limited(void **state)
{
    (void)state;
    enum { FRAMES = 6000 };
    static double input[FRAMES];
    double left[2] = {0.0, 0.0};
    for (int i = 0; i < FRAMES; i++) {
        input[i] = sin(2.0 * M_PI * 60.7 / 1000.0 * i);
    }
    for (size_t k = 0; k < 2; k++) {
        weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 1, NULL, NULL);
        weir_value given[] = {weir_number("max_freq_deviation", k == 0 ? 1.0 : 0.1)};
        drive *d = NULL;
        assert_int_equal(drive_open("adaptive_lnc", &spec, given, 1, &d), WEIR_OK);
        drive_output o = drive_run(d, input, FRAMES, 0, NULL);
        for (size_t i = FRAMES - 500; i < FRAMES; i++) {
            left[k] = fmax(left[k], fabs(drive_value(d, &o, i)));
        }
        free(o.data);
        drive_close(d);
    }
    assert_true(left[0] < 0.01 && left[1] > 0.2);
}

/* A missing sample adds nothing to the estimate: what is subtracted after it stays as it was. */
static void a_missing_sample_leaves_the_estimate(void **state)
{
    (void)state;
    enum { FRAMES = 3000 };
    static double input[FRAMES * 2];
    drive *d = NULL;
    for (int i = 0; i < FRAMES * 2; i++) {
        input[i] = sin(2.0 * M_PI * 60.0 / 1000.0 * (i / 2));
    }
    input[2500 * 2] = (double)NAN;
    assert_int_equal(open_lnc(1000, "subtract", "0 s", &d), WEIR_OK);
    drive_output o = drive_run(d, input, FRAMES, 0, NULL);
    assert_true(isnan(drive_value(d, &o, 2500 * 2)));
    for (size_t i = 2501; i < FRAMES; i++) {
        assert_true(fabs(drive_value(d, &o, 2 * i)) < 0.2);
    }
    free(o.data);
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    drive *d = NULL;
    assert_int_equal(open_lnc(120, "notch", "0 s", &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "line_freq: 60 Hz is not below"));
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 2, NULL, NULL);
    weir_value given = weir_text("adapt_time_constant", "1 ms");
    assert_int_equal(drive_open("adaptive_lnc", &spec, &given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "adapt_time_constant: 0.001 s is not longer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_numbers),
        cmocka_unit_test(the_line_goes_away),
        cmocka_unit_test(the_deviation_is_limited),
        cmocka_unit_test(a_missing_sample_leaves_the_estimate),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
