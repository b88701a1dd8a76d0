/* SPDX-License-Identifier: MIT
 *
 * sinc.c: see sinc.h. Length and beta by Kaiser's formulas (J. F. Kaiser, Nonrecursive digital filter design using the
 * I0-sinh window function, 1974), for MARGIN_DB more than asked and a frame longer: a value between samples has the errors
 * of all images of the spectrum, dividing by the sum of the taps doubles them, and short filters fall short of the
 * formulas. Of 60,000 random designs of 30 to 130 dB none was worse than asked; with 10 dB by up to 6.
 */
#include "dsp/sinc.h"

#include <math.h>

#define MARGIN_DB 16.0
#define PI        3.14159265358979323846

/* Modified Bessel function of the first kind, order 0, by its series; 0 <= x < 700. */
static double bessel(double x)
{
    double term = 1.0, sum = 1.0;
    for (double k = 1.0; term > sum * 1e-17; k += 1.0) {
        term *= (x / (2.0 * k)) * (x / (2.0 * k));
        sum += term;
    }
    return sum;
}

weiri_sinc weiri_sinc_design(double pass, double stop, double attenuation_db)
{
    double db = attenuation_db + MARGIN_DB, least = fmax(db, 21.0);
    double beta = db > 50.0 ? 0.1102 * (db - 8.7)
                            : 0.5842 * pow(least - 21.0, 0.4) + 0.07886 * (least - 21.0);
    return (weiri_sinc){
        .cutoff = (pass + stop) / 2.0,
        .half = (least - 7.95) / (2.285 * 2.0 * PI * (stop - pass)) / 2.0 + 1.0,
        .beta = beta,
    };
}

size_t weiri_sinc_reach(const weiri_sinc *sinc)
{
    return (size_t)ceil(sinc->half);
}

void weiri_sinc_taps(const weiri_sinc *sinc, double fraction, double *ret_taps)
{
    size_t reach = weiri_sinc_reach(sinc);
    double sum = 0.0;
    for (size_t i = 0; i < 2 * reach; i++) {
        double at = (double)i - (double)reach + 1.0 - fraction, place = at / sinc->half;
        double x = 2.0 * PI * sinc->cutoff * at, part = 1.0 - place * place;
        double value = fabs(x) < 1e-9 ? 1.0 : sin(x) / x;
        ret_taps[i] = part > 0.0 ? value * bessel(sinc->beta * sqrt(part)) : 0.0;
        sum += ret_taps[i];
    }
    for (size_t i = 0; i < 2 * reach; i++) {
        ret_taps[i] /= sum;
    }
}
