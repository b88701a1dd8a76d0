/* SPDX-License-Identifier: MIT
 *
 * fir.c: see fir.h. Formulas: Oppenheim and Schafer, Discrete-Time Signal Processing, 3rd ed., section 7.5.
 */
#include "dsp/fir.h"

#include <math.h>

bool weiri_fir_passes_nyquist(const weiri_fir_bands *bands)
{
    return (bands->count % 2 == 1) != bands->pass_zero;
}

/* Band number i of those that pass; false: there are fewer. */
static bool band_at(const weiri_fir_bands *bands, size_t i, double *ret_left, double *ret_right)
{
    size_t left = 2 * i + (bands->pass_zero ? 0 : 1); /* among 0, edges, 1 */
    if (left > bands->count) {
        return false;
    }
    *ret_left = left == 0 ? 0.0 : bands->edges[left - 1];
    *ret_right = left == bands->count ? 1.0 : bands->edges[left];
    return true;
}

/* An ideal low-pass, t frames from its middle. */
static double ideal(double edge, double t)
{
    return t == 0.0 ? edge : sin(M_PI * edge * t) / (M_PI * t);
}

void weiri_fir_windowed(const weiri_fir_bands *bands,
                        const weiri_window *window,
                        bool scale,
                        size_t count,
                        double *ret_taps)
{
    double left = 0.0, right = 0.0, middle = 0.5 * (double)(count - 1);
    long double gain = 0.0L;
    weiri_window_fill(window, count, false, ret_taps);
    (void)band_at(bands, 0, &left, &right);
    double at = left == 0.0 ? 0.0 : right == 1.0 ? 1.0 : 0.5 * (left + right);
    for (size_t k = 0; k < count; k++) {
        double t = (double)k - middle, tap = 0.0;
        for (size_t i = 0; band_at(bands, i, &left, &right); i++) {
            tap += ideal(right, t) - ideal(left, t);
        }
        ret_taps[k] *= tap;
        gain += ret_taps[k] * cosl((long double)M_PIl * t * at);
    }
    for (size_t k = 0; scale && k < count; k++) {
        ret_taps[k] = (double)(ret_taps[k] / gain);
    }
}

double weiri_kaiser_attenuation(size_t count, double width)
{
    return 2.285 * (double)(count - 1) * M_PI * width + 7.95;
}

double weiri_kaiser_beta(double attenuation_db)
{
    double a = attenuation_db;
    return a > 50.0   ? 0.1102 * (a - 8.7)
           : a > 21.0 ? 0.5842 * pow(a - 21.0, 0.4) + 0.07886 * (a - 21.0)
                      : 0.0;
}

double weiri_kaiser_count(double attenuation_db, double width)
{
    return ceil((attenuation_db - 7.95) / 2.285 / (M_PI * width) + 1.0);
}

double weiri_fir_delay(const double *taps, size_t count)
{
    double sum = 0.0, size = 0.0, moment = 0.0, square = 0.0, square_moment = 0.0;
    for (size_t k = 0; k < count; k++) {
        sum += taps[k];
        size += fabs(taps[k]);
        moment += (double)k * taps[k];
        square += taps[k] * taps[k];
        square_moment += (double)k * taps[k] * taps[k];
    }
    double centre = fabs(sum) > 0.1 * size ? moment / sum
                    : square > 0.0         ? square_moment / square
                                           : 0.0;
    double half = floor(2.0 * centre + 0.5) / 2.0; /* of a symmetric filter, without its rounding */
    return fabs(centre - half) < 1e-9 * (double)count ? half : centre;
}
