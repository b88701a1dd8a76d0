/* SPDX-License-Identifier: MIT
 *
 * sos.c: see sos.h.
 *
 * Settling: from the poles follows how far the impulse response matters (below). If that is within reach it is
 * computed that far, in chunks whose sums are added from the last to the first: no difference of nearly equal
 * numbers, so that tolerances of 1e-12 and less can be had.
 */
#include "dsp/sos.h"

#include <complex.h>
#include <math.h>
#include <string.h>

weiri_sos_kind weiri_sos_kind_of(const weiri_sos_params *sections)
{
    bool circle = true, band = true;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i];
        circle = circle && c[1] == 1.0;
        band = band && c[0] == 0.0 && c[1] == -1.0;
    }
    return band ? WEIRI_SOS_BAND : circle ? WEIRI_SOS_CIRCLE : WEIRI_SOS_GENERAL;
}

/* Both poles of a section inside the unit circle. */
static bool is_stable(int kind, const double *c)
{
    if (kind == WEIRI_SOS_DELTA) {
        return -c[3] > 0.0 && c[3] - c[2] > 0.0 && 4.0 + 2.0 * c[2] - c[3] > 0.0;
    }
    return (1.0 - c[2]) - c[3] > 0.0 && (1.0 + c[2]) - c[3] > 0.0 && 1.0 + c[3] > 0.0;
}

bool weiri_sos_is_stable(const weiri_sos_params *sections)
{
    for (size_t i = 0; i < sections->sections; i++) {
        if (!is_stable(sections->kind, sections->coefs[i])) {
            return false;
        }
    }
    return true;
}

void weiri_sos_steady_state(const weiri_sos_params *sections, double *ret_state)
{
    double x = 1.0;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i];
        x *= i == sections->sections - 1 ? sections->gain : 1.0;
        double y;
        if (sections->kind == WEIRI_SOS_DELTA) {
            y = x * c[1] / -c[3];
            ret_state[2 * i + 1] = -(c[0] * x + c[2] * y);
        } else {
            y = x * ((1.0 + c[0]) + c[1]) / ((1.0 - c[2]) - c[3]);
            ret_state[2 * i + 1] = c[1] * x + c[3] * y;
        }
        ret_state[2 * i] = y - x;
        x = y;
    }
}

/* ---- the bound ------------------------------------------------------------------------------------- */

/* h[j] = sum of weight x pole^j for j >= 1, over poles other than 0 (partial fractions). */
typedef struct modes {
    size_t count;
    double complex apart[2 * WEIRI_SOS_MAX]; /* 1 - pole: exact where the pole is near 1 */
    double weight[2 * WEIRI_SOS_MAX];        /* magnitudes */
} modes;

/* 1 - |pole| */
static double decay(double complex apart)
{
    double real = creal(apart), imag = cimag(apart);
    return (2.0 * real - real * real - imag * imag) / (1.0 + cabs(1.0 - apart));
}

/* Equal poles have no such sum: they are moved apart by a part of their distance to the circle. That makes
 * the bound larger, not wrong by much: it decides how far to compute. */
static void separate(modes *m)
{
    for (size_t i = 0; i < m->count; i++) {
        for (size_t k = 0; k < i; k++) {
            double least = 1e-4 * decay(m->apart[i]);
            if (cabs(m->apart[i] - m->apart[k]) < least) {
                double complex pole = 1.0 - m->apart[i];
                m->apart[i] -= 2.0 * least * pole / cabs(pole);
            }
        }
    }
}

/* The roots of x^2 - 2 half x + product, the larger one first. */
static void solve(double half, double product, double complex ret_roots[2])
{
    double complex root = csqrt(half * half - product);
    ret_roots[0] = creal(half * conj(root)) >= 0.0 ? half + root : half - root;
    ret_roots[1] = ret_roots[0] == 0.0 ? 0.0 : product / ret_roots[0];
}

/* 1 + b1 / p + b2 / p^2 */
static double complex numerator(int kind, const double *c, double complex apart)
{
    double complex p = 1.0 - apart;
    return kind == WEIRI_SOS_DELTA ? (c[1] + apart * (apart - c[0])) / (p * p)
                                   : 1.0 + (c[0] + c[1] / p) / p;
}

static bool find_modes(const weiri_sos_params *sections, modes *ret_modes)
{
    bool delta = sections->kind == WEIRI_SOS_DELTA;
    ret_modes->count = 0;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i];
        double complex roots[2]; /* poles, or 1 - poles */
        solve(delta ? -c[2] / 2.0 : c[2] / 2.0, -c[3], roots);
        for (int k = 0; k < 2; k++) {
            double complex apart = delta ? roots[k] : 1.0 - roots[k];
            if (decay(apart) <= 0.0) {
                return false;
            }
            if (cabs(1.0 - apart) > 1e-12) {
                ret_modes->apart[ret_modes->count++] = apart;
            }
        }
    }
    separate(ret_modes);
    for (size_t i = 0; i < ret_modes->count; i++) {
        double complex apart = ret_modes->apart[i], weight = sections->gain;
        for (size_t k = 0; k < sections->sections; k++) {
            weight *= numerator(sections->kind, sections->coefs[k], apart);
        }
        for (size_t k = 0; k < ret_modes->count; k++) {
            weight /= k == i ? 1.0 : (ret_modes->apart[k] - apart) / (1.0 - apart);
        }
        ret_modes->weight[i] = cabs(weight);
    }
    return true;
}

/* The sum over j > k of |h[j]| is at most this. */
static double bound(const modes *m, uint64_t k)
{
    double sum = 0.0;
    for (size_t i = 0; i < m->count; i++) {
        double loss = decay(m->apart[i]);
        sum += m->weight[i] * exp(((double)k + 1.0) * log1p(-loss)) / loss;
    }
    return sum;
}

/* The least k with bound(k) <= tolerance. */
static uint64_t bounded(const modes *m, double tolerance)
{
    uint64_t low = 0, high = 1;
    while (bound(m, high) > tolerance) {
        if (high > (uint64_t)1 << 60) {
            return WEIRI_SOS_NEVER;
        }
        high *= 2;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (bound(m, middle) <= tolerance) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* ---- the impulse response ---------------------------------------------------------------------------- */

enum { CHUNKS = 1024, CHUNK = WEIRI_SOS_STEPS / CHUNKS };

typedef struct response {
    const weiri_sos_params *sections;
    double state[2 * WEIRI_SOS_MAX];
    double input; /* 1 at first, then 0 */
} response;

/* |h| of the next CHUNK frames. */
static void next_chunk(response *r, double *ret_values)
{
    const weiri_sos_params *sections = r->sections;
    for (size_t i = 0; i < CHUNK; i++) {
        double x = r->input;
        for (size_t k = 0; k < sections->sections; k++) {
            const double *c = sections->coefs[k];
            double *s = r->state + 2 * k;
            x *= k == sections->sections - 1 ? sections->gain : 1.0;
            double y = x + s[0];
            bool delta = sections->kind == WEIRI_SOS_DELTA;
            s[0] = c[0] * x + c[2] * y + s[1] + (delta ? s[0] : 0.0);
            s[1] = c[1] * x + c[3] * y + (delta ? s[1] : 0.0);
            x = y;
        }
        ret_values[i] = fabs(x);
        r->input = 0.0;
    }
}

/* The least k with a sum over j > k of at most tolerance, where what comes after `chunks` chunks adds up to
 * `rest`. */
static uint64_t
computed(const weiri_sos_params *sections, size_t chunks, double rest, double tolerance)
{
    double sums[CHUNKS], values[CHUNK];
    response r = {.sections = sections, .input = 1.0};
    for (size_t i = 0; i < chunks; i++) {
        next_chunk(&r, values);
        sums[i] = 0.0;
        for (size_t k = CHUNK; k > 0; k--) {
            sums[i] += values[k - 1];
        }
    }
    size_t chunk = chunks;
    while (chunk > 0 && rest + sums[chunk - 1] <= tolerance) {
        rest += sums[--chunk];
    }
    if (chunk == 0) {
        return 0; /* all of it is below the tolerance */
    }
    r = (response){.sections = sections, .input = 1.0};
    for (size_t i = 0; i < chunk; i++) {
        next_chunk(&r, values);
    }
    size_t last = CHUNK;
    while (last > 0 && rest + values[last - 1] <= tolerance) {
        rest += values[--last];
    }
    return (uint64_t)(chunk - 1) * CHUNK + (last > 0 ? last - 1 : 0);
}

uint64_t weiri_sos_settle(const weiri_sos_params *sections, double tolerance)
{
    modes m;
    if (!(tolerance > 0.0) || !find_modes(sections, &m)) {
        return WEIRI_SOS_NEVER;
    }
    uint64_t reach = bounded(&m, tolerance * 1e-6);
    if (reach >= WEIRI_SOS_STEPS) {
        return bounded(&m, tolerance);
    }
    size_t chunks = (size_t)reach / CHUNK + 1;
    return computed(sections, chunks, bound(&m, (uint64_t)chunks * CHUNK - 1), tolerance);
}

double weiri_sos_sum(const weiri_sos_params *sections)
{
    modes m;
    if (!find_modes(sections, &m)) {
        return (double)INFINITY;
    }
    response r = {.sections = sections, .input = 1.0};
    double values[CHUNK], sum = 0.0, rest = (double)INFINITY;
    for (uint64_t done = 0; done < WEIRI_SOS_STEPS && rest > 1e-6 * sum; done += CHUNK) {
        next_chunk(&r, values);
        for (size_t i = 0; i < CHUNK; i++) {
            sum += values[i];
        }
        rest = bound(&m, done + CHUNK - 1);
    }
    return sum + rest;
}

uint64_t weiri_sos_fade(const weiri_sos_params *sections, double part)
{
    modes m;
    if (!find_modes(sections, &m)) {
        return WEIRI_SOS_NEVER;
    }
    response r = {.sections = sections, .input = 1.0};
    double values[CHUNK], peak = 0.0, rest = (double)INFINITY;
    uint64_t reach = 0, last = 0;
    for (; reach < WEIRI_SOS_STEPS && rest > part * peak; reach += CHUNK) {
        next_chunk(&r, values);
        for (size_t i = 0; i < CHUNK; i++) {
            peak = fmax(peak, values[i]);
        }
        rest = bound(&m, reach + CHUNK - 1);
    }
    if (rest > part * peak) { /* too long to compute: where its bound has fallen so far */
        uint64_t last_above = bounded(&m, part * peak);
        return last_above == WEIRI_SOS_NEVER ? WEIRI_SOS_NEVER : last_above + 1;
    }
    r = (response){.sections = sections, .input = 1.0};
    for (uint64_t done = 0; done < reach; done += CHUNK) {
        next_chunk(&r, values);
        for (size_t i = 0; i < CHUNK; i++) {
            last = values[i] > part * peak ? done + i + 1 : last;
        }
    }
    return last;
}
