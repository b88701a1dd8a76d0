/* SPDX-License-Identifier: MIT
 *
 * sinc_test.c: values between samples of exact sinusoids, as exact as stated; a constant stays what it is.
 */
#include "dsp/sinc.h"

#include <math.h>
#include <stdlib.h>

#include "testing.h"

#define PI 3.14159265358979323846

/* The value of a sinusoid of unit amplitude at fraction, from its samples, minus the true one. */
static double error_at(const weiri_sinc *sinc, double frequency, double phase, double fraction)
{
    size_t reach = weiri_sinc_reach(sinc);
    double *taps = malloc(2 * reach * sizeof *taps), sum = 0.0;
    assert_non_null(taps);
    weiri_sinc_taps(sinc, fraction, taps);
    for (size_t i = 0; i < 2 * reach; i++) {
        double frame = (double)i - (double)reach + 1.0;
        sum += taps[i] * cos(2.0 * PI * frequency * frame + phase);
    }
    free(taps);
    return sum - cos(2.0 * PI * frequency * fraction + phase);
}

static void sinusoids_are_exact(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("sinc");
    for (int round = 0; round < 3000; round++) {
        double random[5];
        for (int i = 0; i < 5; i++) {
            random[i] = (double)(testing_random(&seed) >> 11) * 0x1p-53;
        }
        double db = 30.0 + 100.0 * random[0], part = 0.3 + 0.65 * random[1];
        double stop = round % 2 == 0 ? 1.0 - 0.5 * part : 0.01 + 0.49 * random[2];
        double pass = round % 2 == 0 ? 0.5 * part : stop * part, least = pow(10.0, -db / 20.0);
        weiri_sinc sinc = weiri_sinc_design(pass, stop, db);
        double passed = error_at(&sinc, pass * random[3], 6.28 * random[4], random[2]);
        assert_true(fabs(passed) <= least + 1e-13);
        assert_true(fabs(error_at(&sinc, 0.0, 0.0, random[2])) <= 1e-14 * sinc.half + 1e-15);
        if (round % 2 == 1) { /* what is suppressed: the true value does not count */
            double high = stop + (0.5 - stop) * random[3], at = 6.28 * random[4];
            double left =
                error_at(&sinc, high, at, random[2]) + cos(2.0 * PI * high * random[2] + at);
            assert_true(fabs(left) <= least + 1e-13);
        }
    }
}

/* At a frame that is a sample a half-band-free sinc (cut-off at the Nyquist frequency) has one tap. */
static void samples_stay_what_they_are(void **state)
{
    (void)state;
    double taps[200];
    weiri_sinc sinc = weiri_sinc_design(0.45, 0.55, 80.0);
    size_t reach = weiri_sinc_reach(&sinc);
    assert_true(2 * reach <= 200);
    weiri_sinc_taps(&sinc, 0.0, taps);
    for (size_t i = 0; i < 2 * reach; i++) {
        assert_true(fabs(taps[i] - (i == reach - 1 ? 1.0 : 0.0)) < 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sinusoids_are_exact),
                                       cmocka_unit_test(samples_stay_what_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
