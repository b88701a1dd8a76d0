/* SPDX-License-Identifier: MIT
 *
 * sos_test.c: steady state (S9) and settling of sections, against the impulse response summed in long double.
 */
#include "dsp/sos.h"

#include <math.h>
#include <stdlib.h>

#include "dsp/design.h"
#include "dsp/sos_plain.h"
#include "testing.h"

static weiri_sos_params design(int order, weiri_band band, double low, double high)
{
    weiri_zpk prototype = weiri_butterworth_prototype(order);
    weiri_sos_params filter;
    weiri_design_sections(&prototype, band, low, high, &filter);
    return filter;
}

/* S9: from the steady state a constant gives the response at 0 Hz at once and for ever. */
static void the_steady_state_stays(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8;
         kind++) { /* each band, with an edge in reach and one far below the rate */
        int band = kind / 2;
        for (int order = 1; order <= 6; order++) {
            double words[2 * WEIRI_SOS_MAX];
            weiri_sos_params filter = kind % 2 == 0 ? design(order, (weiri_band)band, 0.02, 0.3)
                                                    : design(order, (weiri_band)band, 1e-5, 2e-5);
            weiri_sos_steady_state(&filter, words);
            double expected = band == WEIRI_LOWPASS || band == WEIRI_BANDSTOP ? 1.0 : 0.0;
            for (int frame = 0; frame < 100; frame++) {
                assert_true(fabs(sos_plain_step(&filter, words, 1.0) - expected) < 1e-11);
            }
        }
    }
}

/* By its definition: all of |h| down to 1e-30, added from the end. */
static uint64_t plain_settle(const weiri_sos_params *filter, double tolerance, size_t frames)
{
    double words[2 * WEIRI_SOS_MAX] = {0};
    double *h = calloc(frames, sizeof *h);
    assert_non_null(h);
    for (size_t frame = 0; frame < frames; frame++) {
        h[frame] = fabs(sos_plain_step(filter, words, frame == 0 ? 1.0 : 0.0));
    }
    long double tail = 0.0L;
    size_t k = frames - 1;
    while (k > 0 && tail + h[k] <= tolerance) {
        tail += h[k--];
    }
    free(h);
    return k;
}

static void settling_is_the_tail_of_the_impulse_response(void **state)
{
    (void)state;
    static const double edges[][2] = {{0.01, 0.2}, {0.1, 0.11}, {0.4, 0.49}, {0.002, 0.003}};
    static const double tolerances[] = {1e-1, 1e-3, 1e-6, 1e-12};
    for (int order = 1; order <= WEIRI_ORDER_MAX; order++) {
        for (int band = WEIRI_LOWPASS; band <= WEIRI_BANDSTOP; band++) {
            for (size_t i = 0; i < 4; i++) {
                weiri_sos_params filter = design(order, (weiri_band)band, edges[i][0], edges[i][1]);
                double tolerance = tolerances[(size_t)order % 4];
                uint64_t expected = plain_settle(&filter, tolerance, 400000);
                uint64_t found = weiri_sos_settle(&filter, tolerance);
                if (found < expected || found > expected + 1) {
                    fail_msg("order %d band %d edges %g %g: %llu, not %llu", order, band,
                             edges[i][0], edges[i][1], (unsigned long long)found,
                             (unsigned long long)expected);
                }
            }
        }
    }
}

/* One pole r and a zero at 1: |h[j]| = (1 + r) / 2 (1 - r) r^(j - 1), whose tail is (1 + r) / 2 r^k. */
static uint64_t of_one_pole(double edge, double tolerance)
{
    double t = tan(M_PI * edge), r = (1.0 - t) / (1.0 + t);
    return (uint64_t)ceil(log(2.0 * tolerance / (1.0 + r)) / log(r));
}

static void slow_filters(void **state)
{
    (void)state;
    static const double edges[] = {0.5 / 30000.0, 0.05 / 30000.0, 0.0005 / 30000.0};
    for (size_t i = 0; i < 3; i++) {
        weiri_sos_params filter = design(1, WEIRI_HIGHPASS, edges[i], 0.25);
        double expected = (double)of_one_pole(edges[i], 1e-6);
        double found = (double)weiri_sos_settle(&filter, 1e-6);
        assert_true(found >= expected - 1 && found <= expected * (1.0 + 1e-6) + 1);
    }
    weiri_sos_params filter = design(1, WEIRI_HIGHPASS, 0.5 / 30000.0, 0.25);
    assert_int_equal(weiri_sos_settle(&filter, 1e-6), 131928);
    /* Beyond what is computed: a bound that is not below, and not 2 x, what a long sum gives. */
    for (int order = 2; order <= 4; order++) {
        filter = design(order, WEIRI_HIGHPASS, 0.2 / 30000.0, 0.25);
        uint64_t expected = plain_settle(&filter, 1e-6, 8000000);
        uint64_t found = weiri_sos_settle(&filter, 1e-6);
        assert_true(found >= expected && found < 2 * expected);
    }
}

static void limits(void **state)
{
    (void)state;
    weiri_sos_params filter = design(4, WEIRI_BANDPASS, 0.01, 0.2);
    assert_true(weiri_sos_settle(&filter, 0.0) == WEIRI_SOS_NEVER);
    assert_true(weiri_sos_settle(&filter, (double)NAN) == WEIRI_SOS_NEVER);
    assert_int_equal(weiri_sos_settle(&filter, 100.0), 0);
    filter.coefs[0][2] = 2.1; /* a pole outside the unit circle */
    filter.coefs[0][3] = -1.1;
    assert_true(weiri_sos_settle(&filter, 1e-3) == WEIRI_SOS_NEVER);
    weiri_sos_params twice = {.sections = 2, .gain = 1.0, .coefs = {{0, 0, 1.8, -0.81}}};
    for (size_t i = 0; i < 4; i++) { /* a pole of 0.9 four times */
        twice.coefs[1][i] = twice.coefs[0][i];
    }
    uint64_t expected = plain_settle(&twice, 1e-9, 10000);
    assert_int_equal(weiri_sos_settle(&twice, 1e-9), expected);
    weiri_sos_params direct = {.sections = 1, .gain = 1.0, .coefs = {{0.5, 0.25, 0.0, 0.0}}};
    assert_int_equal(weiri_sos_settle(&direct, 1e-9), 2); /* three taps */
}

/* One pole: h[j] = 0.9^j, by 10 in all; two poles: the response counted out. */
static void responses_are_measured(void **state)
{
    (void)state;
    weiri_sos_params one = {.sections = 1, .gain = 1.0, .coefs = {{0.0, 0.0, 0.9, 0.0}}};
    assert_true(fabs(weiri_sos_sum(&one) - 10.0) < 1e-4);
    for (uint64_t k = 1; k < 60; k += 7) { /* |h[j]| <= 0.9^k x 1.001 from k on */
        assert_int_equal(weiri_sos_fade(&one, pow(0.9, (double)k) * 1.001), k);
    }
    weiri_sos_params two = {.sections = 1, .gain = 2.0, .coefs = {{-1.0, 0.3, 1.6, -0.8}}};
    double h[400], sum = 0.0, peak = 0.0;
    for (int j = 0; j < 400; j++) {
        h[j] = (j == 0   ? 2.0
                : j == 1 ? -2.0
                : j == 2 ? 0.6
                         : 0.0) +
               (j > 0 ? 1.6 * h[j - 1] : 0.0) - (j > 1 ? 0.8 * h[j - 2] : 0.0);
        sum += fabs(h[j]);
        peak = fmax(peak, fabs(h[j]));
    }
    uint64_t last = 0;
    for (uint64_t j = 0; j < 400; j++) {
        last = fabs(h[j]) > 0.003 * peak ? j + 1 : last;
    }
    assert_true(fabs(weiri_sos_sum(&two) - sum) < 1e-5 * sum);
    assert_int_equal(weiri_sos_fade(&two, 0.003), last);
    double pole = 1.0 - 1e-7; /* longer than what is computed: a bound, the sum of what follows */
    one.coefs[0][2] = pole;
    uint64_t fade = weiri_sos_fade(&one, 0.01);
    assert_true(fade > WEIRI_SOS_STEPS && pow(pole, (double)fade) <= 0.01);
    assert_true(pow(pole, (double)fade) > 0.01 * 1e-7 / 2.0);
    one.coefs[0][2] = 1.0;
    assert_true(isinf(weiri_sos_sum(&one)) && weiri_sos_fade(&one, 0.5) == WEIRI_SOS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_steady_state_stays),
        cmocka_unit_test(settling_is_the_tail_of_the_impulse_response),
        cmocka_unit_test(slow_filters),
        cmocka_unit_test(limits),
        cmocka_unit_test(responses_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
