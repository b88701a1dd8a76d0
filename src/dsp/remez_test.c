/* SPDX-License-Identifier: MIT
 *
 * remez_test.c: what defines an equiripple filter: in its bands the weighted error reaches the same largest value with
 * alternating sign one more time than there are coefficients.
 */
#include "dsp/remez.h"

#include <math.h>
#include <string.h>

#include "testing.h"

enum { MOST = 257 };

static double gain_of(const double *h, size_t taps, bool hilbert, double f)
{
    size_t half = taps / 2;
    long double sum = hilbert ? 0.0L : h[half];
    for (size_t m = 1; m <= half; m++) {
        long double angle = 2.0L * (long double)M_PIl * f * (long double)m;
        sum += 2.0L * h[half - m] * (hilbert ? sinl(angle) : cosl(angle));
    }
    return (double)sum;
}

static void check(const weiri_remez *wanted, size_t taps)
{
    static double h[MOST];
    void *work = malloc(weiri_remez_bytes(taps));
    assert_non_null(work);
    assert_true(weiri_remez_design(wanted, taps, work, h));
    free(work);
    double largest = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        size_t alternations = 0;
        int sign = 0;
        for (size_t i = 0; i < wanted->count; i++) {
            const weiri_remez_band *b = &wanted->bands[i];
            for (int k = 0; k <= 20000; k++) {
                double f = b->low + (b->high - b->low) * k / 20000;
                double e = b->weight * (b->gain - gain_of(h, taps, wanted->hilbert, f));
                largest = fabs(e) > largest && pass == 0 ? fabs(e) : largest;
                int now = e > 0.0 ? 1 : -1;
                if (pass == 1 && fabs(e) > 0.97 * largest && now != sign) {
                    alternations++;
                    sign = now;
                }
            }
        }
        size_t coefficients = taps / 2 + (wanted->hilbert ? 0 : 1);
        if (pass == 1 && alternations < coefficients + 1) {
            fail_msg("%zu alternations, %zu coefficients", alternations, coefficients);
        }
    }
    for (size_t k = 0; k <= taps / 2; k++) {
        assert_true(h[k] == (wanted->hilbert ? -h[taps - 1 - k] : h[taps - 1 - k]));
    }
}

static void alternates(void **state)
{
    (void)state;
    static const size_t taps[] = {11, 33, 63, 101};
    for (size_t i = 0; i < sizeof taps / sizeof taps[0]; i++) {
        check(&(weiri_remez){.bands = {{0, 0.2, 1, 1}, {0.24, 0.5, 0, 1}}, .count = 2}, taps[i]);
        check(&(weiri_remez){.bands = {{0, 0.2, 0, 10}, {0.23, 0.5, 1, 1}}, .count = 2}, taps[i]);
        check(&(weiri_remez){.bands = {{0, 0.1, 0, 1}, {0.13, 0.3, 1, 3}, {0.33, 0.5, 0, 1}},
                             .count = 3},
              taps[i]);
        check(&(weiri_remez){.bands = {{0.03, 0.47, 1, 1}}, .count = 1, .hilbert = true},
              taps[i] < 50 ? taps[i] : 51);
    }
}

/* Here an exchange that drops surplus extrema at the ends only goes in circles. */
static void surplus_extrema(void **state)
{
    (void)state;
    check(&(weiri_remez){.bands = {{0, 0.0668450093, 1, 1},
                                   {0.1067950436, 0.3653077954, 0, 1},
                                   {0.4052578298, 0.5, 1, 1}},
                         .count = 3},
          33);
}

static void hopeless_ones_end(void **state)
{
    (void)state;
    static double h[MOST];
    weiri_remez wanted = {.bands = {{0, 0.05, 1, 1}, {0.4, 0.5, 0, 1}}, .count = 2};
    void *work = malloc(weiri_remez_bytes(MOST));
    assert_non_null(work);
    assert_false(weiri_remez_design(&wanted, MOST, work, h));
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alternates),
        cmocka_unit_test(surplus_extrema),
        cmocka_unit_test(hopeless_ones_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
