/* SPDX-License-Identifier: MIT
 *
 * fir_test.c: filters by the window method: gains in their bands, scaling, Kaiser's formulas, delays.
 */
#include "dsp/fir.h"

#include <math.h>
#include <string.h>

#include "testing.h"

static double gain_at(const double *h, size_t count, double part) /* of the Nyquist frequency */
{
    long double sum = 0.0L;
    for (size_t k = 0; k < count; k++) {
        sum += h[k] * cosl((long double)M_PIl * part * ((long double)k - (count - 1) / 2.0L));
    }
    return (double)sum;
}

/* Kaiser's formula keeps its promise: outside of transitions the gain deviates by 10^(-A / 20) at most. */
static void kaiser_reaches_its_ripple(void **state)
{
    (void)state;
    static double h[4096];
    static const double edges[] = {0.1, 0.35, 0.7};
    for (double a = 30.0; a <= 100.0; a += 35.0) {
        for (int zero = 0; zero < 2; zero++) {
            weiri_fir_bands bands = {edges, 3, zero == 1};
            size_t count = (size_t)weiri_kaiser_count(a, 0.05) | 1;
            weiri_window window = weiri_window_kaiser(weiri_kaiser_beta(a));
            weiri_fir_windowed(&bands, &window, false, count, h);
            assert_true(weiri_fir_passes_nyquist(&bands) == (zero == 0));
            for (double f = 0.0; f <= 1.0; f += 0.001) {
                size_t band = 0;
                bool near = false;
                for (size_t i = 0; i < 3; i++) {
                    band += f > edges[i] ? 1 : 0;
                    near = near || fabs(f - edges[i]) < 0.026;
                }
                double wanted = (band % 2 == 0) == (zero == 1) ? 1.0 : 0.0;
                assert_true(near || fabs(gain_at(h, count, f) - wanted) < 1.6 * pow(10, -a / 20));
            }
        }
    }
    assert_true(fabs(weiri_kaiser_attenuation((size_t)weiri_kaiser_count(60, 0.05), 0.05) - 60) <
                0.4);
}

static void scale_is_exact(void **state)
{
    (void)state;
    double h[64];
    static const double edges[] = {0.3, 0.6};
    weiri_window window = weiri_window_kaiser(5);
    weiri_fir_windowed(&(weiri_fir_bands){edges, 1, true}, &window, true, 64, h);
    assert_true(fabs(gain_at(h, 64, 0.0) - 1.0) < 1e-15);
    weiri_fir_windowed(&(weiri_fir_bands){edges, 1, false}, &window, true, 63, h);
    assert_true(fabs(gain_at(h, 63, 1.0) - 1.0) < 1e-15);
    weiri_fir_windowed(&(weiri_fir_bands){edges, 2, false}, &window, true, 63, h);
    assert_true(fabs(gain_at(h, 63, 0.45) - 1.0) < 1e-15);
}

/* Hamming, 3 taps, edge at half the Nyquist frequency: 0.08 sinc, 0.5, 0.08 sinc. */
static void three_taps(void **state)
{
    (void)state;
    double h[3], edge = 0.5;
    weiri_window window;
    weir_value name = weir_text("window", "hamming");
    assert_ok(weiri_window_read("window", &name, &window));
    weiri_fir_windowed(&(weiri_fir_bands){&edge, 1, true}, &window, false, 3, h);
    assert_true(fabs(h[0] - 0.08 / M_PI) < 1e-16 && fabs(h[1] - 0.5) < 1e-16 && h[2] == h[0]);
}

static void delays(void **state)
{
    (void)state;
    assert_true(weiri_fir_delay((const double[]){1, 2, 2, 1}, 4) == 1.5);
    assert_true(weiri_fir_delay((const double[]){1, 0, -1}, 3) == 1.0);
    assert_true(fabs(weiri_fir_delay((const double[]){3, 1}, 2) - 0.25) < 1e-15);
    assert_true(weiri_fir_delay((const double[]){0}, 1) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kaiser_reaches_its_ripple),
        cmocka_unit_test(scale_is_exact),
        cmocka_unit_test(three_taps),
        cmocka_unit_test(delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
