/* SPDX-License-Identifier: MIT
 *
 * design.c: see design.h. The frequency scale is such that the bilinear transform is z = (1 + s)
 * / (1 - s), so an edge f (a fraction of the rate) lies at s = i tan(pi f).
 */
#include "dsp/design.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "dsp/sos.h"

/* ---- roots ----------------------------------------------------------------------------------- */

static void add(weiri_roots *roots, double complex root)
{
    /* a conjugate pair is kept by its upper half */
    roots->root[roots->count++] = cimag(root) < 0.0 ? conj(root) : root;
}

static bool is_pair(double complex root)
{
    return cimag(root) != 0.0;
}

static size_t degree(const weiri_roots *roots)
{
    size_t count = 0;
    for (size_t i = 0; i < roots->count; i++) {
        count += is_pair(roots->root[i]) ? 2 : 1;
    }
    return count;
}

/* prod(at - root), over both of a pair. */
static double product(const weiri_roots *roots, double at)
{
    double result = 1.0;
    for (size_t i = 0; i < roots->count; i++) {
        double complex d = at - roots->root[i];
        result *= is_pair(roots->root[i]) ? creal(d) * creal(d) + cimag(d) * cimag(d) : creal(d);
    }
    return result;
}

/* ---- prototype and bands --------------------------------------------------------------------- */

weiri_zpk weiri_butterworth_prototype(int order)
{
    weiri_zpk zpk = {.gain = 1.0};
    for (int k = 0; k < order / 2; k++) {
        double angle = M_PI * (2 * k + 1) / (2 * order); /* from the imaginary axis */
        add(&zpk.poles, -sin(angle) + cos(angle) * I);
    }
    if (order % 2 == 1) {
        add(&zpk.poles, -1.0);
    }
    return zpk;
}

/* Poles of an ellipse: sinh and cosh of the half axis times those of the Butterworth circle. */
static void add_ellipse(weiri_roots *roots, int order, double axis, bool inverted)
{
    for (int k = 0; k < (order + 1) / 2; k++) {
        double angle = M_PI * (2 * k + 1) / (2 * order);
        bool real = 2 * k + 1 == order;
        double complex root = -sinh(axis) * sin(angle) + (real ? 0.0 : cosh(axis) * cos(angle)) * I;
        add(roots,
            inverted ? conj(root) / (creal(root) * creal(root) + cimag(root) * cimag(root)) : root);
    }
}

/* sqrt(10^(db / 10) - 1): without cancellation where db is small. */
static double ripple(double db)
{
    return sqrt(expm1(db * (M_LN10 / 10.0)));
}

weiri_zpk weiri_chebyshev1_prototype(int order, double ripple_db)
{
    weiri_zpk zpk = {.gain = 1.0};
    double epsilon = ripple(ripple_db);
    add_ellipse(&zpk.poles, order, asinh(1.0 / epsilon) / order, false);
    zpk.gain = product(&zpk.poles, 0.0);
    zpk.gain *= order % 2 == 0 ? 1.0 / sqrt(1.0 + epsilon * epsilon) : 1.0;
    return zpk;
}

weiri_zpk weiri_chebyshev2_prototype(int order, double ripple_db)
{
    weiri_zpk zpk = {.gain = 1.0};
    add_ellipse(&zpk.poles, order, asinh(ripple(ripple_db)) / order, true);
    for (int k = 0; k < order / 2; k++) {
        add(&zpk.zeros, 1.0 / cos(M_PI * (2 * k + 1) / (2 * order)) * I);
    }
    zpk.gain = product(&zpk.poles, 0.0) / product(&zpk.zeros, 0.0);
    return zpk;
}

/* The two s with s^2 - 2 half s + centre^2 = 0 where `half` stands for itself and, if not real,
 * its conjugate. The smaller one comes from the product, since the difference would cancel in a
 * wide band. */
static void add_band_roots(weiri_roots *roots, double complex half, double centre)
{
    double complex root = csqrt(half * half - centre * centre);
    if (!is_pair(half) && creal(half) * creal(half) < centre * centre) {
        double real = creal(half);
        add(roots, real + sqrt(centre * centre - real * real) * I);
        return;
    }
    double complex one = half + root, other = half - root;
    double complex large = cabs(one) >= cabs(other) ? one : other;
    double complex small = centre * centre / large;
    if (!is_pair(half)) {
        large = creal(large);
        small = creal(small);
    }
    add(roots, large);
    add(roots, small);
}

/* Low-pass at 1 -> the band; low and high warped. */
static weiri_zpk to_band(const weiri_zpk *from, weiri_band band, double low, double high)
{
    weiri_zpk to = {.gain = from->gain};
    double width = high - low, centre = sqrt(low) * sqrt(high);
    size_t more = degree(&from->poles) - degree(&from->zeros); /* zeros at infinity */
    double edge = band == WEIRI_HIGHPASS ? low : high;
    const weiri_roots *sources[2] = {&from->zeros, &from->poles};
    weiri_roots *targets[2] = {&to.zeros, &to.poles};
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < sources[which]->count; i++) {
            double complex root = sources[which]->root[i];
            switch (band) {
            case WEIRI_LOWPASS:
                add(targets[which], root * edge);
                break;
            case WEIRI_HIGHPASS:
                add(targets[which], edge / root);
                break;
            case WEIRI_BANDPASS:
                add_band_roots(targets[which], root * (width / 2.0), centre);
                break;
            case WEIRI_BANDSTOP:
                add_band_roots(targets[which], width / 2.0 / root, centre);
                break;
            }
        }
    }
    for (size_t i = 0; i < more && band != WEIRI_LOWPASS; i++) {
        add(&to.zeros, band == WEIRI_BANDSTOP ? centre * I : 0.0);
    }
    if (band == WEIRI_LOWPASS) {
        to.gain *= pow(edge, (double)more);
    } else if (band == WEIRI_BANDPASS) {
        to.gain *= pow(width, (double)more);
    } else {
        to.gain *= product(&from->zeros, 0.0) / product(&from->poles, 0.0);
    }
    return to;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* A root of the digital filter: z = (1 + s) / (1 - s), and 1 - z, exact where z is near 1. */
typedef struct digital_root {
    double complex z, apart;
} digital_root;

typedef struct digital_roots {
    size_t count;
    digital_root root[2 * WEIRI_SOS_MAX];
} digital_roots;

/* Of an analogue filter, with `more` zeros at infinity, or of a digital one. */
static digital_roots roots_of(const weiri_roots *roots, bool analogue, size_t more)
{
    digital_roots all = {.count = roots->count + more};
    for (size_t i = 0; i < roots->count; i++) {
        double complex s = roots->root[i], z = analogue ? (1.0 + s) / (1.0 - s) : s;
        all.root[i].z = cimag(z) < 0.0 ? conj(z) : z;
        all.root[i].apart = analogue ? -2.0 * s / (1.0 - s) : 1.0 - z;
    }
    for (size_t i = roots->count; i < all.count; i++) {
        all.root[i] = (digital_root){-1.0, 2.0};
    }
    return all;
}

/* One factor z^2 + c1 z + c2, or z + c1 with c2 = 0; the same of d = z - 1: d^2 + d1 d + d2, where a single root is
 * multiplied by z = d + 1, which the other polynomial has too; near: where its (upper) root lies. */
typedef struct factor {
    double c1, c2, d1, d2;
    double complex near;
    bool single;
} factor;

static factor pair_factor(digital_root root)
{
    double real = creal(root.z), imag = cimag(root.z), d = creal(root.apart), e = cimag(root.apart);
    return (factor){-2.0 * real, real * real + imag * imag, 2.0 * d, d * d + e * e, root.z, false};
}

static factor real_factor(digital_root one, digital_root other)
{
    double low = creal(one.z), high = creal(other.z);
    double d = creal(one.apart), e = creal(other.apart);
    return (factor){-(low + high), low * high, d + e, d * e, high, false};
}

static factor single_factor(digital_root root)
{
    double real = creal(root.z), d = creal(root.apart);
    return (factor){-real, 0.0, d + 1.0, d, real, true};
}

/* Factors of all roots. Reals are paired smallest with largest: a zero at -1 with one at 1. The single one, where the
 * degree is odd, comes last. */
static size_t factors(const digital_roots *roots, factor *ret_factors)
{
    digital_root reals[2 * WEIRI_SOS_MAX];
    size_t count = 0, real_count = 0;
    for (size_t i = 0; i < roots->count; i++) {
        digital_root root = roots->root[i];
        if (is_pair(root.z)) {
            ret_factors[count++] = pair_factor(root);
            continue;
        }
        size_t at = real_count++;
        for (; at > 0 && creal(reals[at - 1].z) > creal(root.z); at--) {
            reals[at] = reals[at - 1];
        }
        reals[at] = root;
    }
    for (size_t i = 0; i < real_count / 2; i++) {
        ret_factors[count++] = real_factor(reals[i], reals[real_count - 1 - i]);
    }
    if (real_count % 2 == 1) {
        ret_factors[count++] = single_factor(reals[real_count / 2]);
    }
    return count;
}

/* Of the product of the poles' distances from 1, below which it is lost in float64: for a double pole at 0.16 % of the
 * rate the other form is 2e-12 off. */
#define DELTA_BELOW 1e-4

/* Whether the poles nearest to 1 lose more than those nearest to -1. */
static bool is_near_one(const factor *poles, size_t count)
{
    double near_one = 1.0, near_minus_one = 1.0;
    for (size_t i = 0; i < count; i++) {
        double one = fabs(poles[i].d2), minus_one = fabs(4.0 - 2.0 * poles[i].d1 + poles[i].d2);
        near_one = fmin(near_one, poles[i].single ? one * one : one);
        near_minus_one = fmin(near_minus_one, poles[i].single ? 1.0 : minus_one);
    }
    return near_one < DELTA_BELOW && near_one < near_minus_one;
}

static double sharpness(const factor *poles)
{
    return fabs(1.0 - cabs(poles->near));
}

/* near_one: sections may be in z - 1. */
static void pairs(const digital_roots *pole_roots,
                  const digital_roots *zero_roots,
                  double gain,
                  bool near_one,
                  weiri_sos_params *ret_sections)
{
    factor poles[WEIRI_SOS_MAX + 1], zeros[WEIRI_SOS_MAX + 1];
    size_t count = factors(pole_roots, poles), left = factors(zero_roots, zeros);
    bool delta = near_one && is_near_one(poles, count);
    /* sharpest first to choose zeros, and last to run: what it amplifies is then small already */
    for (size_t i = 1; i < count; i++) {
        factor moved = poles[i];
        size_t at = i;
        for (; at > 0 && sharpness(&poles[at - 1]) > sharpness(&moved); at--) {
            poles[at] = poles[at - 1];
        }
        poles[at] = moved;
    }
    *ret_sections =
        (weiri_sos_params){.sections = count}; /* constants are copied whole: nothing undefined */
    for (size_t i = 0; i < count; i++) {
        size_t best = SIZE_MAX;
        for (size_t j = 0; j < left; j++) {
            if (zeros[j].single == poles[i].single &&
                (best == SIZE_MAX ||
                 cabs(zeros[j].near - poles[i].near) < cabs(zeros[best].near - poles[i].near))) {
                best = j;
            }
        }
        const factor *zero = &zeros[best];
        double *coefs = ret_sections->coefs[count - 1 - i];
        coefs[0] = zero->c1;
        /* a zero on the unit circle is there for good, whatever its rounding says */
        coefs[1] = fabs(zero->c2 - 1.0) < 16.0 * DBL_EPSILON ? 1.0 : zero->c2;
        coefs[2] = -poles[i].c1;
        coefs[3] = -poles[i].c2;
        if (delta) {
            const double near[4] = {zero->d1, zero->d2, -poles[i].d1, -poles[i].d2};
            memcpy(coefs, near, sizeof near);
        }
        zeros[best] = zeros[--left];
    }
    ret_sections->sections = count;
    ret_sections->gain = gain;
    ret_sections->kind = delta ? WEIRI_SOS_DELTA : (int)weiri_sos_kind_of(ret_sections);
}

void weiri_design_pairs(const weiri_zpk *digital, weiri_sos_params *ret_sections)
{
    digital_roots poles = roots_of(&digital->poles, false, 0);
    digital_roots zeros = roots_of(&digital->zeros, false, 0);
    pairs(&poles, &zeros, digital->gain, false,
          ret_sections); /* how far z is from 1 is lost in it */
}

void weiri_design_sections(const weiri_zpk *prototype,
                           weiri_band band,
                           double low,
                           double high,
                           weiri_sos_params *ret_sections)
{
    weiri_zpk analogue = to_band(prototype, band, tan(M_PI * low), tan(M_PI * high));
    size_t more = degree(&analogue.poles) - degree(&analogue.zeros);
    digital_roots poles = roots_of(&analogue.poles, true, 0);
    digital_roots zeros = roots_of(&analogue.zeros, true, more);
    double gain = analogue.gain * product(&analogue.zeros, 1.0) / product(&analogue.poles, 1.0);
    pairs(&poles, &zeros, gain, true, ret_sections);
}

/* ---- what rounding has left -------------------------------------------------------------------- */

/* 1 + c1 w + c2 w^2 at w = 1 + u, without the cancellation that a root near 1 brings. */
static double complex polynomial(double c1, double c2, double complex u)
{
    return ((1.0 + c1) + c2) + u * ((c1 + 2.0 * c2) + u * c2);
}

/* w - 1 at w = exp(-2 pi i frequency) */
static double complex less_one(double frequency)
{
    double half = sin(M_PI * frequency);
    return -2.0 * half * half - sin(2.0 * M_PI * frequency) * I;
}

static double magnitude(const weiri_sos_params *sections, double frequency)
{
    double complex d = conj(less_one(frequency)); /* z - 1 */
    /* Above half the Nyquist frequency for -w, which is then the one near 1. */
    double sign = frequency > 0.25 ? -1.0 : 1.0;
    double complex u = less_one(frequency - (sign < 0.0 ? 0.5 : 0.0));
    double result = sections->gain;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i];
        result *=
            sections->kind == WEIRI_SOS_DELTA
                ? cabs(c[1] + d * (c[0] + d)) / cabs(-c[3] + d * (-c[2] + d))
                : cabs(polynomial(sign * c[0], c[1], u)) / cabs(polynomial(-sign * c[2], -c[3], u));
    }
    return result;
}

static double prototype_magnitude(const weiri_zpk *prototype, double complex s)
{
    double result = prototype->gain;
    for (size_t i = 0; i < prototype->zeros.count; i++) {
        double complex root = prototype->zeros.root[i];
        result *= cabs(s - root) * (is_pair(root) ? cabs(s - conj(root)) : 1.0);
    }
    for (size_t i = 0; i < prototype->poles.count; i++) {
        double complex root = prototype->poles.root[i];
        result /= cabs(s - root) * (is_pair(root) ? cabs(s - conj(root)) : 1.0);
    }
    return result;
}

double weiri_design_error(const weiri_zpk *prototype,
                          weiri_band band,
                          double low,
                          double high,
                          const weiri_sos_params *sections)
{
    /* Edges are the prototype's s = i, in every band; the far ends of what passes its s = 0. */
    bool to_0_hz = band == WEIRI_LOWPASS || band == WEIRI_BANDSTOP;
    bool to_nyquist = band == WEIRI_HIGHPASS || band == WEIRI_BANDSTOP;
    double frequencies[4];
    size_t count = 0, edges;
    if (band != WEIRI_LOWPASS) {
        frequencies[count++] = low;
    }
    if (band != WEIRI_HIGHPASS) {
        frequencies[count++] = high;
    }
    edges = count;
    if (to_0_hz) {
        frequencies[count++] = 0.0;
    }
    if (to_nyquist) {
        frequencies[count++] = 0.5;
    }
    if (band == WEIRI_BANDPASS) { /* where the prototype's 0 is */
        frequencies[count++] = atan(sqrt(tan(M_PI * low)) * sqrt(tan(M_PI * high))) / M_PI;
    }
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        double designed = prototype_magnitude(prototype, i < edges ? I : 0.0);
        double error = fabs(magnitude(sections, frequencies[i]) / designed - 1.0);
        worst = error <= worst ? worst : isfinite(error) ? error : (double)INFINITY;
    }
    return weiri_sos_is_stable(sections) ? worst : (double)INFINITY;
}
