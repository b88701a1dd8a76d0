/* SPDX-License-Identifier: MIT
 *
 * fft.c: what a transform's length is made of, and its constants, each correctly rounded but for the last bit (long
 * double, angles within an eighth of a turn). The arithmetic is kernel/fft.c's.
 */
#include "dsp/fft.h"

#include <math.h>

/* Radices from the last pass, which goes over all points, to the first. Passes over memory beyond L1 cost most, so that
 * the greatest radix comes last: 8. Returns the number of passes; 0: a prime factor is too great. */
static uint64_t factor(uint64_t n, uint64_t radices[WEIRI_FFT_PASSES])
{
    uint64_t count = 0, twos = 0, rest = n;
    while (rest % 2 == 0) {
        rest /= 2;
        twos++;
    }
    for (uint64_t p = 3; p <= WEIRI_FFT_PRIME; p += 2) {
        while (rest % p == 0) {
            radices[count++] = p;
            rest /= p;
        }
    }
    if (rest > 1) {
        return 0;
    }
    uint64_t fours = twos % 3 == 1 && twos > 1 ? 2 : twos % 3 == 2 ? 1 : 0;
    uint64_t eights = (twos - 2 * fours) / 3;
    for (uint64_t i = 0; i < eights; i++) {
        radices[count++] = 8;
    }
    for (uint64_t i = 0; i < fours; i++) {
        radices[count++] = 4;
    }
    if (twos == 1 || n == 1) {
        radices[count++] = twos == 1 ? 2 : 1;
    }
    return count;
}

/* Length of a chirp's convolution: the least with quick passes. */
static uint64_t convolution_length(uint64_t points)
{
    uint64_t least = 2 * points - 1, best = 1;
    while (best < least) {
        best *= 2;
    }
    static const uint64_t others[] = {9, 15, 5, 25, 27, 3};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t length = others[i];
        while (length < least) {
            length *= 2;
        }
        best = length < best ? length : best;
    }
    return best;
}

/* Everything but the values; returns doubles of the table. */
static uint64_t lay_out(uint64_t n, bool real, weiri_fft *fft)
{
    uint64_t radices[WEIRI_FFT_PASSES], used = 0;
    fft->n = n;
    fft->pairs = real && n % 2 == 0;
    fft->points = fft->pairs ? n / 2 : n;
    fft->length = fft->points;
    fft->pass_count = factor(fft->length, radices);
    fft->chirp = fft->pass_count == 0;
    if (fft->chirp) {
        fft->length = convolution_length(fft->points);
        fft->pass_count = factor(fft->length, radices);
        fft->chirp_at = used;
        used += 2 * fft->points;
        fft->spectrum_at = used;
        used += 2 * fft->length;
    }
    fft->turns_at = used;
    used += fft->pairs ? 2 * (fft->points / 2 + 1) : 0;
    uint64_t points = fft->length;
    for (uint64_t i = 0; i < fft->pass_count; i++) {
        points /= radices[i];
        fft->passes[i] = (weiri_fft_pass){.radix = radices[i], .points = points};
        fft->passes[i].twiddles_at = used;
        used += 2 * points * (radices[i] - 1);
        fft->passes[i].roots_at = used;
        used += radices[i] > 5 && radices[i] != 8 ? 2 * radices[i] : 0;
    }
    return used;
}

uint64_t weiri_fft_bytes(uint64_t n, bool real)
{
    weiri_fft fft;
    return sizeof fft + lay_out(n, real, &fft) * sizeof fft.table[0];
}

/* Half as many pairs as values have one point more when they are taken apart; a chirp has a second buffer. */
uint64_t weiri_fft_work_bytes(uint64_t n, bool real)
{
    weiri_fft fft;
    (void)lay_out(n, real, &fft);
    uint64_t points = fft.chirp ? 2 * fft.length : fft.length + 1;
    return points * 2 * weiri_kernels_get()->lanes * sizeof(double);
}

/* exp(-2 pi i k / n) */
static void turn(uint64_t k, uint64_t n, double *ret)
{
    k %= n;
    /* Quarters of a turn, and the rest in units of 1 / (4 n), at most half a quarter away. */
    uint64_t quarter = (4 * k + n / 2) / n % 4;
    long double rest = ((long double)(4 * k) - (long double)(((4 * k + n / 2) / n) * n)) /
                       (long double)n * (3.14159265358979323846264338327950288L / 2);
    double c = (double)cosl(rest), s = (double)sinl(rest);
    static const int turned[4][4] = {{1, 0, 0, -1}, {0, -1, -1, 0}, {-1, 0, 0, 1}, {0, 1, 1, 0}};
    ret[0] = turned[quarter][0] * c + turned[quarter][1] * s;
    ret[1] = turned[quarter][2] * c + turned[quarter][3] * s;
}

/* The conjugate chirp around 0, in a circle of fft->length. */
static void chirp_at(const weiri_fft *fft, uint64_t at, double *ret)
{
    uint64_t j = at < fft->points ? at : fft->length - at;
    const double *chirp = fft->table + fft->chirp_at + 2 * j;
    bool there = j < fft->points;
    ret[0] = there ? chirp[0] / (double)fft->length : 0.0;
    ret[1] = there ? -chirp[1] / (double)fft->length : 0.0;
}

/* Its transform, as the kernel's of one series: plain, for it happens once. */
static void
transform_chirp(const weiri_fft *fft, uint64_t number, uint64_t from, uint64_t step, double *to)
{
    const weiri_fft_pass *pass = &fft->passes[number];
    uint64_t p = pass->radix, m = pass->points;
    for (uint64_t q = 0; q < p; q++) {
        if (number + 1 < fft->pass_count) {
            transform_chirp(fft, number + 1, from + q * step, step * p, to + 2 * q * m);
        } else {
            chirp_at(fft, from + q * step, to + 2 * q);
        }
    }
    double x[2 * WEIRI_FFT_PRIME], roots[2 * WEIRI_FFT_PRIME];
    for (uint64_t q = 0; q < p; q++) {
        turn(q, p, roots + 2 * q);
    }
    for (uint64_t k = 0; k < m; k++) {
        const double *twiddles = fft->table + pass->twiddles_at + 2 * k * (p - 1);
        for (uint64_t q = 0; q < p; q++) {
            const double *y = to + 2 * (q * m + k), one[2] = {1, 0};
            const double *w = q == 0 ? one : twiddles + 2 * (q - 1);
            x[2 * q] = y[0] * w[0] - y[1] * w[1];
            x[2 * q + 1] = y[0] * w[1] + y[1] * w[0];
        }
        for (uint64_t q = 0; q < p; q++) {
            double *y = to + 2 * (q * m + k);
            y[0] = y[1] = 0.0;
            for (uint64_t j = 0; j < p; j++) {
                const double *w = roots + 2 * (q * j % p);
                y[0] += x[2 * j] * w[0] - x[2 * j + 1] * w[1];
                y[1] += x[2 * j] * w[1] + x[2 * j + 1] * w[0];
            }
        }
    }
}

/* c[j] = exp(-i pi j^2 / points), and the transform. */
static void prepare_chirp(weiri_fft *fft)
{
    uint64_t twice = 2 * fft->points, square = 0;
    for (uint64_t j = 0; j < fft->points; j++) {
        turn(square, twice, fft->table + fft->chirp_at + 2 * j);
        square = (square + 2 * j + 1) % twice;
    }
    transform_chirp(fft, 0, 0, 1, fft->table + fft->spectrum_at);
}

void weiri_fft_prepare(uint64_t n, bool real, weiri_fft *fft)
{
    (void)lay_out(n, real, fft);
    for (uint64_t k = 0; fft->pairs && 2 * k <= fft->points; k++) {
        turn(k, n, fft->table + fft->turns_at + 2 * k);
    }
    for (uint64_t i = 0; i < fft->pass_count; i++) {
        const weiri_fft_pass *pass = &fft->passes[i];
        double *twiddles = fft->table + pass->twiddles_at;
        for (uint64_t k = 0; k < pass->points; k++) {
            for (uint64_t q = 1; q < pass->radix; q++, twiddles += 2) {
                turn(q * k, pass->radix * pass->points, twiddles);
            }
        }
        for (uint64_t q = 0; pass->radix > 5 && pass->radix != 8 && q < pass->radix; q++) {
            turn(q, pass->radix, fft->table + pass->roots_at + 2 * q);
        }
    }
    if (fft->chirp) {
        prepare_chirp(fft);
    }
}
