/* SPDX-License-Identifier: MIT
 *
 * design_test.c: sections against the Butterworth formula itself: |H|^2 = 1 / (1 + W^2n) with W the warped
 * frequency, at every order and band (S8).
 */
#include "dsp/design.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "dsp/sos_plain.h"

/* W of a frequency in a band; tan is the warping of the bilinear transform. */
static double warped(weiri_band band, double low, double high, double frequency)
{
    double t = tan(M_PI * frequency), a = tan(M_PI * low), b = tan(M_PI * high);
    switch (band) {
    case WEIRI_LOWPASS:
        return t / b;
    case WEIRI_HIGHPASS:
        return a / t;
    case WEIRI_BANDPASS:
        return (t * t - a * b) / ((b - a) * t);
    default:
        return (b - a) * t / (t * t - a * b);
    }
}

static const double edges[][2] = {{0.01, 0.2},  {0.1, 0.11},    {0.4, 0.49},
                                  {1e-4, 3e-4}, {2e-4, 0.4999}, {0.25, 0.3}};

static void the_formula_holds(void **state)
{
    (void)state;
    for (int order = 1; order <= WEIRI_ORDER_MAX; order++) {
        weiri_zpk prototype = weiri_butterworth_prototype(order);
        for (int band = WEIRI_LOWPASS; band <= WEIRI_BANDSTOP; band++) {
            for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
                double low = edges[i][0], high = edges[i][1];
                weiri_sos_params filter;
                weiri_design_sections(&prototype, (weiri_band)band, low, high, &filter);
                assert_true(weiri_design_error(&prototype, (weiri_band)band, low, high, &filter) <
                            1e-7);
                assert_int_equal(filter.sections, band >= WEIRI_BANDPASS ? order : (order + 1) / 2);
                for (double f = low / 4.0; f < 0.5; f = f * 1.37 + 1e-4) {
                    double w = warped((weiri_band)band, low, high, f);
                    double expected = 1.0 / sqrt(1.0 + pow(w, 2.0 * order));
                    double found = cabs(sos_plain_response(&filter, f));
                    if (fabs(found - expected) > 1e-7 * expected + 1e-13) {
                        fail_msg("order %d band %d edges %g %g at %g: %.17g, not %.17g", order,
                                 band, low, high, f, found, expected);
                    }
                }
            }
        }
    }
}

/* T(order, w), outside the ripples too. */
static double chebyshev(int order, double w)
{
    double cosine = w < 0.0 && order % 2 == 1 ? -1.0 : 1.0;
    w = fabs(w);
    return cosine * (w <= 1.0 ? cos(order * acos(w)) : cosh(order * acosh(w)));
}

/* |H|^2 = 1 / (1 + e^2 T(W)^2), and 1 / (1 + 1 / (d^2 T(1 / W)^2)). */
static void chebyshevs_formulas_hold(void **state)
{
    (void)state;
    static const double ripples[2][3] = {{0.01, 1.0, 3.0}, {20.0, 60.0, 100.0}};
    for (int i = 0; i < 2 * WEIRI_ORDER_MAX * 4 * 6 * 3; i++) {
        int type = i % 2, order = i / 2 % WEIRI_ORDER_MAX + 1;
        int band = i / 2 / WEIRI_ORDER_MAX % 4, edge = i / 2 / WEIRI_ORDER_MAX / 4 % 6;
        double db = ripples[type][i / 2 / WEIRI_ORDER_MAX / 4 / 6];
        double low = edges[edge][0], high = edges[edge][1], e2 = expm1(db * M_LN10 / 10.0);
        weiri_zpk prototype = type == 0 ? weiri_chebyshev1_prototype(order, db)
                                        : weiri_chebyshev2_prototype(order, db);
        weiri_sos_params filter;
        weiri_design_sections(&prototype, (weiri_band)band, low, high, &filter);
        double error = weiri_design_error(&prototype, (weiri_band)band, low, high, &filter);
        if (!(error <
              1e-5)) { /* up to 12 poles, all of them nearer to the circle than Butterworth's */
            fail_msg("type %d order %d band %d edges %g %g: off by %g", type + 1, order, band, low,
                     high, error);
        }
        for (double f = low / 4.0; f < 0.5; f = f * 1.37 + 1e-4) {
            double w = warped((weiri_band)band, low, high, f);
            double t = chebyshev(order, type == 0 ? w : 1.0 / w);
            double expected = 1.0 / sqrt(1.0 + (type == 0 ? e2 * t * t : e2 / (t * t)));
            double found = cabs(sos_plain_response(&filter, f));
            if (fabs(found - expected) > 1e-5 * expected + 1e-12) {
                fail_msg("type %d order %d band %d edges %g %g at %g: %.17g, not %.17g", type + 1,
                         order, band, low, high, f, found, expected);
            }
        }
    }
}

/* Every pole inside the unit circle: |a2| < 1 and |a1| < 1 + a2; of z - 1 the same conditions. */
static bool is_stable(int kind, double a1, double a2)
{
    return kind == WEIRI_SOS_DELTA ? a2 > 0.0 && a1 > a2 && 4.0 - 2.0 * a1 + a2 > 0.0
                                   : fabs(a2) < 1.0 && fabs(a1) < 1.0 + a2;
}

static void every_section_is_stable(void **state)
{
    (void)state;
    for (int order = 1; order <= WEIRI_ORDER_MAX; order++) {
        weiri_zpk prototype = weiri_butterworth_prototype(order);
        for (int band = WEIRI_LOWPASS; band <= WEIRI_BANDSTOP; band++) {
            for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
                weiri_sos_params filter;
                weiri_design_sections(&prototype, (weiri_band)band, edges[i][0], edges[i][1],
                                      &filter);
                for (size_t s = 0; s < filter.sections; s++) {
                    assert_true(is_stable(filter.kind, -filter.coefs[s][2], -filter.coefs[s][3]));
                }
            }
        }
    }
}

/* A pole that is moved is noticed, wherever the edge is. */
static void errors_are_measured(void **state)
{
    (void)state;
    weiri_zpk prototype = weiri_butterworth_prototype(2);
    for (int band = WEIRI_LOWPASS; band <= WEIRI_BANDSTOP; band++) {
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
            double low = edges[i][0], high = edges[i][1];
            weiri_sos_params filter;
            weiri_design_sections(&prototype, (weiri_band)band, low, high, &filter);
            double *c = filter.coefs[0];
            c[2] += filter.kind == WEIRI_SOS_DELTA
                        ? 0.5 * c[2]
                        : 0.5 * fmin(1.0 - c[2] - c[3], 1.0 + c[2] - c[3]);
            double error = weiri_design_error(&prototype, (weiri_band)band, low, high, &filter);
            if (!(error > 0.01)) {
                fail_msg("band %d edges %g %g: %g", band, low, high, error);
            }
            c[3] = filter.kind == WEIRI_SOS_DELTA ? 0.0 : -1.0;
            assert_true(
                isinf(weiri_design_error(&prototype, (weiri_band)band, low, high, &filter)));
        }
    }
}

/* The form decides how many operations a sample costs, so it is promised here. */
static void forms_are_found(void **state)
{
    (void)state;
    for (int order = 1; order <= WEIRI_ORDER_MAX; order++) {
        weiri_zpk prototype = weiri_butterworth_prototype(order);
        weiri_sos_params filter;
        weiri_design_sections(&prototype, WEIRI_BANDPASS, 0.01, 0.2, &filter);
        assert_int_equal(filter.kind, WEIRI_SOS_BAND);
        weiri_design_sections(&prototype, WEIRI_BANDSTOP, 0.01, 0.2, &filter);
        assert_int_equal(filter.kind, WEIRI_SOS_CIRCLE);
        weiri_design_sections(&prototype, WEIRI_LOWPASS, 0.01, 0.2, &filter);
        assert_int_equal(filter.kind, order % 2 == 0 ? WEIRI_SOS_CIRCLE : WEIRI_SOS_GENERAL);
        weiri_design_sections(&prototype, WEIRI_HIGHPASS, 0.01, 0.2, &filter);
        assert_int_equal(filter.kind, order % 2 == 0 ? WEIRI_SOS_CIRCLE : WEIRI_SOS_GENERAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula_holds),       cmocka_unit_test(chebyshevs_formulas_hold),
        cmocka_unit_test(every_section_is_stable), cmocka_unit_test(errors_are_measured),
        cmocka_unit_test(forms_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
