/* SPDX-License-Identifier: MIT
 *
 * fir_test.c: the taps of fir, kaiser, fir_pmc and gaussian_smoothing, as an impulse shows them, against SciPy's; and
 * what their settings refuse. How taps are applied is tests/conform and src/dsp/fir_test.c.
 */
#include "unit/drive.h"

enum { BEFORE = 5, FRAMES = 64 };

static weir_value edges[2][2];

static weir_value list(const char *key, double low, double high)
{
    weir_value *items = edges[strcmp(key, "window") == 0];
    items[0] = weir_number(NULL, low);
    items[1] = weir_number(NULL, high);
    return weir_list_of(key, items, high > 0 ? 2 : 1);
}

static weir_err open_fir(const char *unit, const weir_value *given, drive **ret_drive)
{
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 1, NULL, NULL);
    size_t count = 0;
    while (given[count].key != NULL) {
        count++;
    }
    return drive_open(unit, &spec, given, count, ret_drive);
}

/* The first three taps and the one in the middle; sum: of all; none after `count`. */
static void check_taps(const char *unit,
                       const weir_value *given,
                       size_t count,
                       const double expected[4],
                       double tolerance)
{
    drive *d = NULL;
    double input[FRAMES] = {[BEFORE] = 1.0};
    uint64_t random = drive_seed();
    assert_int_equal(open_fir(unit, given, &d), WEIR_OK);
    drive_output o = drive_cuts(d, input, FRAMES, &random);
    for (size_t i = 0; i < 4; i++) {
        size_t tap = i < 3 ? i : count / 2;
        drive_near(drive_value(d, &o, BEFORE + tap), expected[i], tolerance, tolerance, unit);
    }
    for (size_t i = 0; i < FRAMES; i++) {
        assert_true((i >= BEFORE && i < BEFORE + count) || drive_value(d, &o, i) == 0.0);
    }
    double last = drive_value(d, &o, BEFORE + count - 1);
    assert_true(last != 0.0 || expected[0] == 0.0);
    free(o.data);
    drive_close(d);
}

/* scipy.signal.firwin, kaiserord, remez (grid_density 16), SciPy 1.17.1; 1000 Hz. */
static void scipys_taps(void **state)
{
    (void)state;
    weir_value width[] = {weir_number("order", 31), list("cutoff", 100, 0),
                          weir_number("width", 80), weir_text(NULL, NULL)};
    check_taps("fir", width, 31,
               (double[]){9.046920327400496e-19, 0.0023040103240183447, 0.0055022974233908135,
                          0.19902033897068647},
               1e-12);
    weir_value stop[] = {weir_number("order", 31), list("cutoff", 100, 200),
                         weir_bool("scale", false), weir_text(NULL, NULL)};
    check_taps("fir", stop, 31,
               (double[]){1.1020934008251924e-17, 0.0031507208000423844, 0.004512793786388993, 0.8},
               1e-12);
    weir_value pass[] = {weir_number("order", 30), list("cutoff", 100, 200),
                         weir_bool("pass_zero", false), weir_text("window", "hann"),
                         weir_text(NULL, NULL)};
    check_taps("fir", pass, 30,
               (double[]){0.0, -0.0005007811847474127, -0.0012147705512281063, 0.1826607757325708},
               1e-12);
    weir_value high[] = {list("cutoff", 150, 0), weir_number("ripple", 60),
                         weir_number("width", 80), weir_bool("pass_zero", false),
                         weir_text(NULL, NULL)};
    check_taps(
        "kaiser", high, 47,
        (double[]){-8.719253119392098e-05, -0.000506180967999069, -0.0007104633899287241, 0.7},
        1e-12);
}

static void remez_taps(void **state)
{
    (void)state;
    weir_value given[] = {weir_number("order", 31),      weir_number("cutoff", 100),
                          weir_number("transition", 50), weir_number("weight_stop_hi", 10),
                          weir_text(NULL, NULL),         weir_text(NULL, NULL),
                          weir_text(NULL, NULL),         weir_text(NULL, NULL)};
    check_taps("fir_pmc", given, 33,
               (double[]){-0.006655460560320571, -0.007748080033344471, -0.006432665660231475,
                          0.24101298840038732},
               1e-7);
    given[0] = weir_number("order", 32);
    given[1] = weir_number("cuton", 150);
    given[3] = weir_number("weight_stop_lo", 10);
    check_taps("fir_pmc", given, 33,
               (double[]){-0.015596760626532057, -0.0024159097770600916, 0.02136396683607918,
                          0.740596338984437},
               1e-7);
    given[0] = weir_number("order", 40);
    given[1] = weir_number("cuton", 100);
    given[3] = weir_number("cutoff", 200);
    given[4] = weir_number("weight_stop_lo", 1);
    given[5] = weir_number("weight_pass", 2);
    given[6] = weir_number("weight_stop_hi", 3);
    check_taps("fir_pmc", given, 41,
               (double[]){-9.32451035496334e-05, 0.005594165647797938, -0.0027111541059089135,
                          0.2999673017519781},
               1e-7);
    given[1] = weir_number("cuton", 300); /* above cutoff, which is 100: a band-stop */
    given[3] = weir_number("cutoff", 100);
    given[6] = weir_number("weight_stop_hi", 5);
    check_taps("fir_pmc", given, 41,
               (double[]){0.006976753390667305, -0.0010898114914368534, 0.006788292567654612,
                          0.6912946743445294},
               1e-7);
}

static void gaussian_taps(void **state)
{
    (void)state;
    weir_value given[] = {weir_number("sigma", 0.005), weir_text(NULL, NULL),
                          weir_text(NULL, NULL)};
    check_taps("gaussian_smoothing", given, 41,
               (double[]){2.6767118904327468e-05, 5.8391727517082985e-05, 0.00012238529545573198,
                          0.07979165688795059},
               1e-13);
    given[1] = weir_bool("causal", true); /* the newest sample weighs most */
    check_taps("gaussian_smoothing", given, 21,
               (double[]){0.14779083794352843, 0.14486438327914022, 0.13642813835184933,
                          0.020001314912863746},
               1e-13);
    given[1] = weir_number("kernel_size", 12);
    check_taps("gaussian_smoothing", given, 12,
               (double[]){0.05653807500446491, 0.06905576075151999, 0.08103768594651829,
                          0.10301908940352422},
               1e-13);
}

static void refuses(const char *unit, const weir_value *given, const char *detail)
{
    drive *d = NULL;
    assert_int_equal(open_fir(unit, given, &d), WEIR_E_CHAIN);
    if (strstr(weir_err_detail(), detail) == NULL) {
        fail_msg("'%s' is not '%s'", weir_err_detail(), detail);
    }
}

/* S8: taps that float64 does not have are an error, not NaN or nothing. */
static void no_taps_are_an_error(void **state)
{
    (void)state;
    weir_value window[] = {weir_number("order", 2), list("cutoff", 100, 0),
                           weir_text("window", "hann"), weir_text(NULL, NULL),
                           weir_text(NULL, NULL)};
    refuses("fir", window, "window: is 0 at all 2 taps");
    window[3] = weir_bool("scale", false);
    refuses("fir", window, "window: is 0 at all 2 taps");
    weir_value sigma[] = {weir_number("sigma", 1e-6), weir_number("kernel_size", 4),
                          weir_text(NULL, NULL)};
    refuses("gaussian_smoothing", sigma, "sigma: 1e-06 s is so short that all 4 taps would be 0");
    sigma[1] = weir_number("width", 100);
    sigma[0] = weir_number("sigma", 1e17); /* more frames than 64 bits count */
    refuses("gaussian_smoothing", sigma, "taps; at most 65536 are allowed");
    sigma[0] = weir_number("sigma", 1e300);
    refuses("gaussian_smoothing", sigma, "taps; at most 65536 are allowed");
    weir_value derived[] = {weir_number("order", 3), list("cutoff", 100, 0),
                            weir_text("window", "kaiser_bessel_derived"), weir_text(NULL, NULL)};
    edges[1][0] = weir_text(NULL, "kaiser_bessel_derived");
    edges[1][1] = weir_number(NULL, 3);
    derived[2] = weir_list_of("window", edges[1], 2);
    refuses("fir", derived, "is for an even number of samples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scipys_taps),
        cmocka_unit_test(remez_taps),
        cmocka_unit_test(gaussian_taps),
        cmocka_unit_test(no_taps_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
