/* SPDX-License-Identifier: MIT
 *
 * factor.c: see factor.h.
 *
 * Roots by the method of Aberth and Ehrlich: all at once, each by Newton's step less the pull of the others; cubic
 * convergence, and for multiple roots the same residue as the coefficients' rounding. Long double, because the
 * coefficients of a narrow filter determine its poles by their last bits.
 */
#include "dsp/factor.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "dsp/design.h"
#include "dsp/sos.h"

typedef long double complex number;

enum { MOST = WEIRI_FACTOR_DEGREE, STEPS = 200 };

/* ---- roots ------------------------------------------------------------------------------------- */

/* c[0] z^degree + ... + c[degree] and its derivative at z. */
static number value_at(const long double *c, size_t degree, number z, number *ret_slope)
{
    number value = c[0], slope = 0.0L;
    for (size_t i = 1; i <= degree; i++) {
        slope = slope * z + value;
        value = value * z + c[i];
    }
    *ret_slope = slope;
    return value;
}

/* Newton's ratio, from the other end of the polynomial where |z| > 1, so that no power overflows. */
static number newton(const long double *c, const long double *reversed, size_t degree, number z)
{
    number slope, value;
    if (cabsl(z) <= 1.0L) {
        value = value_at(c, degree, z, &slope);
        return slope == 0.0L ? value : value / slope;
    }
    number w = 1.0L / z;
    value = value_at(reversed, degree, w, &slope);
    number below = (number)degree * value - w * slope;
    return below == 0.0L ? value : value * z / below;
}

/* All roots of a polynomial whose first and last coefficients are not 0. */
static void find_roots(const long double *c, size_t degree, number *ret_roots)
{
    long double reversed[MOST + 1];
    for (size_t i = 0; i <= degree; i++) {
        reversed[i] = c[degree - i];
    }
    long double radius = powl(fabsl(c[degree] / c[0]), 1.0L / (long double)degree);
    for (size_t i = 0; i < degree; i++) { /* on a circle, at no symmetric places */
        long double angle = 6.2831853071795864769L * ((long double)i + 0.3L) / (long double)degree;
        ret_roots[i] = radius * (cosl(angle) + sinl(angle) * (number)I);
    }
    for (int step = 0; step < STEPS; step++) {
        long double moved = 0.0L;
        for (size_t i = 0; i < degree; i++) {
            number ratio = newton(c, reversed, degree, ret_roots[i]), pull = 0.0L;
            for (size_t k = 0; k < degree; k++) {
                number apart = ret_roots[i] - ret_roots[k];
                pull += k == i || apart == 0.0L ? 0.0L : 1.0L / apart;
            }
            number by = ratio / (1.0L - ratio * pull);
            if (isfinite(creall(by)) && isfinite(cimagl(by))) {
                ret_roots[i] -= by;
                moved = fmaxl(moved, cabsl(by) / fmaxl(cabsl(ret_roots[i]), 1e-300L));
            }
        }
        if (moved < 4.0L * LDBL_EPSILON) {
            break;
        }
    }
}

/* Divides by z - root as often as the remainder is rounding: the roots of designed filters that coincide, at 1 and -1.
 * Returns the degree that is left. */
static size_t divide(long double *c, size_t degree, long double root, weiri_roots *ret_roots)
{
    for (; degree > 0; degree--) {
        long double value = 0.0L, size = 0.0L, quotient[MOST + 1];
        for (size_t i = 0; i <= degree; i++) {
            value = value * root + c[i];
            size += fabsl(c[i]);
            quotient[i] = value;
        }
        if (fabsl(value) > 4.0L * (long double)DBL_EPSILON * size) {
            break;
        }
        memcpy(c, quotient, degree * sizeof *c);
        ret_roots->root[ret_roots->count++] = (double)root;
    }
    return degree;
}

/* Distance of the nearest other root that is not taken from the conjugate of roots[i]; *ret_nearest = count: none. */
static long double
nearest(const number *roots, size_t count, const bool *taken, size_t i, size_t *ret_nearest)
{
    long double least = (long double)INFINITY;
    *ret_nearest = count;
    for (size_t k = 0; k < count; k++) {
        long double distance = cabsl(roots[k] - conjl(roots[i]));
        if (k != i && !taken[k] && distance < least) {
            least = distance;
            *ret_nearest = k;
        }
    }
    return least;
}

/* Roots that are real or come in conjugate pairs, but for rounding, as weiri_roots has them. Of roots that coincide,
 * rounding makes a cluster: two of it are the roots of a quadratic polynomial with real coefficients all the same. */
static void pair_roots(const number *roots, size_t count, weiri_roots *ret_roots)
{
    bool taken[MOST] = {false};
    size_t other = 0;
    for (size_t i = 0; i < count;
         i++) { /* real: the conjugate is nearer to it than any other root */
        if (nearest(roots, count, taken, i, &other) >= 2.0L * fabsl(cimagl(roots[i]))) {
            taken[i] = true;
            ret_roots->root[ret_roots->count++] = (double)creall(roots[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (taken[i]) {
            continue;
        }
        (void)nearest(roots, count, taken, i, &other);
        taken[i] = true;
        if (other == count) {
            ret_roots->root[ret_roots->count++] = (double)creall(roots[i]);
            continue;
        }
        taken[other] = true;
        long double half = creall(roots[i] + roots[other]) / 2.0L;
        long double square = half * half - creall(roots[i] * roots[other]);
        if (square < 0.0L) {
            ret_roots->root[ret_roots->count++] = (double)half + (double)sqrtl(-square) * I;
        } else {
            ret_roots->root[ret_roots->count++] = (double)(half + sqrtl(square));
            ret_roots->root[ret_roots->count++] = (double)(half - sqrtl(square));
        }
    }
}

/* The roots of c[0] z^degree + ... + c[degree], c[0] not 0. */
static void factor(const double *c, size_t degree, weiri_roots *ret_roots)
{
    long double scaled[MOST + 1];
    number roots[MOST];
    ret_roots->count = 0;
    for (; c[degree] == 0.0; degree--) {
        ret_roots->root[ret_roots->count++] = 0.0;
    }
    for (size_t i = 0; i <= degree; i++) {
        scaled[i] = (long double)c[i] / (long double)c[0];
    }
    degree = divide(scaled, degree, 1.0L, ret_roots);
    degree = divide(scaled, degree, -1.0L, ret_roots);
    find_roots(scaled, degree, roots);
    pair_roots(roots, degree, ret_roots);
}

/* ---- accuracy --------------------------------------------------------------------------------------- */

/* c[0] + c[1] w + ... at w = exp(-i angle). */
static number at_angle(const double *c, size_t degree, long double angle)
{
    number w = cosl(angle) - sinl(angle) * (number)I, value = 0.0L;
    for (size_t i = degree + 1; i > 0; i--) {
        value = value * w + c[i - 1];
    }
    return value;
}

static number response(const weiri_sos_params *sections, long double angle)
{
    number h = sections->gain;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i];
        double b[3] = {1.0, c[0], c[1]}, a[3] = {1.0, -c[2], -c[3]};
        h *= at_angle(b, 2, angle) / at_angle(a, 2, angle);
    }
    return h;
}

/* Largest difference of the responses, in parts of the largest response: at angles in even and in geometric steps,
 * and at the poles', where it is largest if anywhere. */
static long double
difference(const double *b, const double *a, size_t degree, const weiri_sos_params *sections)
{
    enum { EACH = 512 };
    long double pi = 3.14159265358979323846L, worst = 0.0L, most = 0.0L;
    for (size_t i = 0; i < 2 * EACH + sections->sections; i++) {
        size_t k = i % EACH;
        long double angle = pi * (long double)k / EACH;
        if (i >= 2 * EACH) {
            const double *c = sections->coefs[i - 2 * EACH];
            long double cosine = c[2] / 2.0 / sqrt(fmax(-c[3], DBL_MIN));
            angle = acosl(fmaxl(-1.0L, fminl(1.0L, cosine)));
        } else if (i >= EACH) {
            angle = pi * powl(1e-7L, (long double)k / EACH);
        }
        number h = at_angle(b, degree, angle) / at_angle(a, degree, angle);
        long double off = cabsl(h - response(sections, angle));
        worst = off <= worst ? worst : off; /* NAN is worse */
        most = fmaxl(most, cabsl(h));
    }
    return worst / most;
}

/* ---- sections --------------------------------------------------------------------------------------- */

static weir_err check_stable(const weiri_sos_params *sections)
{
    return weiri_sos_is_stable(sections)
               ? WEIR_OK
               : weiri_fail(WEIR_E_CHAIN,
                            "the filter is not stable: a pole is not inside the unit circle");
}

weir_err weiri_sections_given(const double *rows, size_t count, weiri_sos_params *ret_sections)
{
    if (count == 0 || count > WEIRI_SOS_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "%zu sections are given; 1 to %d are allowed", count,
                          WEIRI_SOS_MAX);
    }
    weiri_sos_params sections = {.sections = count, .gain = 1.0};
    for (size_t i = 0; i < count; i++) {
        const double *row = rows + 6 * i;
        if (row[0] == 0.0 || row[3] == 0.0) {
            return weiri_fail(WEIR_E_CHAIN, "section %zu: %s is 0; it must not be", i,
                              row[3] == 0.0 ? "a0" : "b0");
        }
        sections.gain *= row[0] / row[3];
        sections.coefs[i][0] = row[1] / row[0];
        sections.coefs[i][1] = row[2] / row[0];
        sections.coefs[i][2] = -row[4] / row[3];
        sections.coefs[i][3] = -row[5] / row[3];
    }
    sections.kind = (int)weiri_sos_kind_of(&sections);
    weir_err err = check_stable(&sections);
    if (err == WEIR_OK) {
        *ret_sections = sections;
    }
    return err;
}

weir_err weiri_sections_factored(const double *b,
                                 size_t b_count,
                                 const double *a,
                                 size_t a_count,
                                 weiri_sos_params *ret_sections)
{
    double top[MOST + 1] = {0}, bottom[MOST + 1] = {0};
    if (b_count == 0 || a_count == 0 || b_count > MOST + 1 || a_count > MOST + 1) {
        return weiri_fail(WEIR_E_CHAIN, "b has %zu coefficients and a %zu; 1 to %d are allowed",
                          b_count, a_count, MOST + 1);
    }
    if (b[0] == 0.0 || a[0] == 0.0) {
        return weiri_fail(WEIR_E_CHAIN, "%s[0] is 0; it must not be", a[0] == 0.0 ? "a" : "b");
    }
    size_t degree = (b_count > a_count ? b_count : a_count) - 1;
    memcpy(top, b, b_count * sizeof *b);
    memcpy(bottom, a, a_count * sizeof *a);
    weiri_zpk digital = {.gain = b[0] / a[0]};
    weiri_sos_params sections;
    factor(top, degree, &digital.zeros);
    factor(bottom, degree, &digital.poles);
    weiri_design_pairs(&digital, &sections);
    weir_err err = check_stable(&sections);
    if (err != WEIR_OK) {
        return err;
    }
    long double off = difference(top, bottom, degree, &sections);
    if (!(off <= WEIRI_FACTOR_ERROR)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "b and a do not determine the filter in float64: its sections differ by "
                          "%.2Lg of the largest gain; give sections (coef_type: sos)",
                          off);
    }
    *ret_sections = sections;
    return WEIR_OK;
}
