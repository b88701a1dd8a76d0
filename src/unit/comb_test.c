/* SPDX-License-Identifier: MIT
 *
 * comb_test.c: the unit against SciPy's numbers, and what its settings refuse.
 */
#include "unit/drive.h"
#include "unit/filter_numbers.h"

static weir_err open_comb(double hz, double count, double q, const weir_value *more, drive **ret)
{
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, 3, NULL, NULL);
    weir_value given[4] = {weir_number("fundamental_freq", hz), weir_number("num_harmonics", count),
                           weir_number("q_factor", q)};
    given[3] = more != NULL ? *more : weir_text("filter_type", "notch");
    return drive_open("comb", &spec, given, 4, ret);
}

/* scipy.signal.iirnotch and iirpeak, sosfilt from sosfilt_zi * x[0], SciPy 1.17.1. */
static void scipys_numbers(void **state)
{
    (void)state;
    const struct {
        double hz, count, q;
        weir_value more;
        size_t sections;
        double expected[FILTER_NUMBERS];
    } cases[] = {
        {1000,
         3,
         5,
         weir_text("filter_type", "notch"),
         3,
         {63.000000000000014, 99.2619403627651, 127.93035143033703, 65.26484934061358,
          117.10306588953355, 113.14479127408421}},
        {700,
         2,
         2,
         weir_text("filter_type", "peak"),
         2,
         {0.0, 0.09921214116041167, 0.564736980514407, 4.100712388917745, 2.3393478542600126,
          0.7052670003938849}},
        {4000, /* three of six are below the Nyquist frequency */
         6,
         3,
         weir_text("quality_scaling", "proportional"),
         3,
         {62.99999999999999, 90.63448274625026, 119.93352994779525, 79.27404830350349,
          92.84945488719832, 93.32376705104501}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive *d = NULL;
        assert_int_equal(open_comb(cases[i].hz, cases[i].count, cases[i].q, &cases[i].more, &d),
                         WEIR_OK);
        assert_int_equal(d->plan.fields[0].rows, 2 * cases[i].sections);
        assert_int_equal(d->notices.count, cases[i].count > (double)cases[i].sections ? 1 : 0);
        filter_numbers(d, cases[i].expected, 1e-11);
        drive_close(d);
    }
}

static void limits_are_named(void **state)
{
    (void)state;
    drive *d = NULL;
    assert_int_equal(open_comb(60, 3, 0.003, NULL, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "not below the Nyquist frequency"));
    assert_int_equal(open_comb(1, 3, 1e9, NULL, &d), WEIR_E_CHAIN); /* 1 nHz wide */
    assert_non_null(strstr(weir_err_detail(), "float64 cannot represent a notch"));
    assert_int_equal(open_comb(60, 33, 35, NULL, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "num_harmonics: 33 is out of range"));
    /* a harmonic at the Nyquist frequency, of which binary rounding makes one just below it */
    weir_spec slow = weir_spec_make(WEIR_F64, 0.9, 3, NULL, NULL);
    weir_value given[] = {weir_number("fundamental_freq", 0.15), weir_number("q_factor", 10)};
    assert_true(0.15 * 3.0 < 0.9 / 2.0);
    assert_int_equal(drive_open("comb", &slow, given, 2, &d), WEIR_OK);
    assert_int_equal(d->plan.fields[0].rows, 4);
    drive_close(d);
    assert_int_equal(open_comb(15000, 3, 35, NULL, &d), WEIR_OK); /* all above: unchanged */
    assert_int_equal(d->plan.field_count, 0);
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scipys_numbers),
        cmocka_unit_test(limits_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
