/* SPDX-License-Identifier: MIT
 *
 * remez.c: see remez.h. Parks and McClellan, IEEE Trans. Circuit Theory 19 (1972) 189-194; grid of 16 points a
 * coefficient as in McClellan, Parks and Rabiner, IEEE Trans. Audio Electroacoust. 21 (1973) 506-526.
 *
 * The response is a polynomial in cos(2 pi f), for hilbert times sin(2 pi f). It is kept by its values at the
 * extremal frequencies (barycentric Lagrange form). An exchange scans the grid: of each stretch where the error has
 * one sign the largest is the next extremum; surplus ones are dropped at the ends. Grid points are formulas and need
 * no memory.
 */
#include "dsp/remez.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { DENSITY = 16, EXCHANGES = 100, MORE = 64 };

typedef struct extremum {
    size_t at; /* grid point */
    long double error;
} extremum;

typedef struct design {
    const weiri_remez *wanted;
    size_t r; /* coefficients; r + 1 extrema */
    double step;
    size_t points[WEIRI_REMEZ_BANDS]; /* of the grid in each band */
    size_t grid;
    bool open;                   /* hilbert: the Nyquist frequency, where sin is 0, is left out */
    long double *x, *y, *weight; /* of the extrema: cosine, value, barycentric weight */
    extremum *now, *next;
    long double deviation;
} design;

/* A grid point: frequency, and gain and weight of the polynomial there. */
typedef struct point {
    long double x, gain, weight;
} point;

static point point_at(const design *d, size_t at)
{
    size_t band = 0;
    while (at >= d->points[band]) {
        at -= d->points[band++];
    }
    const weiri_remez_band *b = &d->wanted->bands[band];
    bool last = at + 1 == d->points[band] && !(d->open && band + 1 == d->wanted->count);
    double low = d->wanted->hilbert && band == 0 && b->low < d->step ? d->step : b->low;
    long double turn = 2.0L * (long double)M_PIl * (last ? b->high : low + (double)at * d->step);
    long double shape = d->wanted->hilbert ? sinl(turn) : 1.0L;
    return (point){cosl(turn), b->gain / shape, b->weight * shape};
}

static void set_up(design *d)
{
    d->step = 0.5 / (DENSITY * (double)d->r);
    d->grid = 0;
    for (size_t i = 0; i < d->wanted->count; i++) {
        const weiri_remez_band *b = &d->wanted->bands[i];
        double low = d->wanted->hilbert && i == 0 && b->low < d->step ? d->step : b->low;
        double width = (b->high - low) / d->step + 0.5;
        d->points[i] = width >= 1.0 ? (size_t)width : 1;
        if (d->wanted->hilbert && i + 1 == d->wanted->count && b->high > 0.5 - d->step) {
            d->open = true;
            d->points[i]--;
        }
        d->grid += d->points[i];
    }
}

static long double value_at(const design *d, long double x)
{
    long double over = 0.0L, under = 0.0L;
    for (size_t i = 0; i <= d->r; i++) {
        long double distance = x - d->x[i];
        if (distance == 0.0L) {
            return d->y[i];
        }
        long double part = d->weight[i] / distance;
        over += part * d->y[i];
        under += part;
    }
    return over / under;
}

/* The polynomial whose error at the extrema is +-deviation in turn. false: two extrema are one. */
static bool interpolate(design *d)
{
    long double over = 0.0L, under = 0.0L;
    for (size_t i = 0; i <= d->r; i++) {
        d->x[i] = point_at(d, d->now[i].at).x;
    }
    for (size_t i = 0; i <= d->r; i++) {
        long double product = 1.0L;
        for (size_t j = 0; j <= d->r; j++) {
            product *= j == i ? 1.0L : 2.0L * (d->x[i] - d->x[j]);
        }
        if (product == 0.0L || !isfinite(product)) {
            return false;
        }
        point p = point_at(d, d->now[i].at);
        d->weight[i] = 1.0L / product;
        over += d->weight[i] * p.gain;
        under += (i % 2 == 0 ? d->weight[i] : -d->weight[i]) / p.weight;
    }
    d->deviation = over / under;
    for (size_t i = 0; i <= d->r; i++) {
        point p = point_at(d, d->now[i].at);
        d->y[i] = p.gain - (i % 2 == 0 ? d->deviation : -d->deviation) / p.weight;
    }
    return isfinite(d->deviation);
}

static void drop(extremum *list, size_t *count, size_t at, size_t some)
{
    memmove(list + at, list + at + some, (*count - at - some) * sizeof *list);
    *count -= some;
}

/* Surplus extrema go, so that signs still alternate: the smallest with its smaller neighbour, or an end. What is
 * left is at least the deviation, so that this rises from one exchange to the next. */
static void thin(extremum *list, size_t *count, size_t wanted)
{
    while (*count > wanted) {
        size_t least = 0, end = *count - 1;
        for (size_t i = 1; i <= end; i++) {
            least = fabsl(list[i].error) < fabsl(list[least].error) ? i : least;
        }
        bool inside = least > 0 && least < end;
        if (inside && *count > wanted + 1) {
            bool before = fabsl(list[least - 1].error) < fabsl(list[least + 1].error);
            drop(list, count, before ? least - 1 : least, 2);
        } else {
            drop(list, count, fabsl(list[0].error) < fabsl(list[end].error) ? 0 : end, 1);
        }
    }
}

/* The next extrema. *ret_largest: the largest error of the grid. Returns how many there are, up to r + 1. */
static size_t exchange(design *d, long double *ret_largest)
{
    size_t count = 0, held = 0;
    long double largest = 0.0L;
    for (size_t at = 0; at < d->grid; at++) {
        point p = point_at(d, at);
        extremum e = {at, p.weight * (p.gain - value_at(d, p.x))};
        if (held <= d->r &&
            at == d->now[held].at) { /* by definition; the difference may round to 0 */
            e.error = held++ % 2 == 0 ? d->deviation : -d->deviation;
        }
        extremum *last = count > 0 ? &d->next[count - 1] : NULL;
        if (last != NULL && (last->error > 0.0L) == (e.error > 0.0L)) {
            *last = fabsl(e.error) > fabsl(last->error) ? e : *last;
        } else {
            if (count == d->r + 1 + MORE) {
                thin(d->next, &count, d->r + 1 + MORE / 2);
            }
            d->next[count++] = e;
        }
        largest = fabsl(e.error) > largest ? fabsl(e.error) : largest;
    }
    thin(d->next, &count, d->r + 1);
    *ret_largest = largest;
    return count;
}

/* The taps from the response at the multiples of rate / taps. */
static void transform(design *d, size_t taps, double *ret_taps)
{
    size_t half = taps / 2;
    long double turn = 2.0L * (long double)M_PIl / (long double)taps;
    bool hilbert = d->wanted->hilbert;
    long double *response = (long double *)(void *)d->next; /* no longer needed */
    for (size_t k = 0; k <= half; k++) {
        long double angle = turn * (long double)k;
        response[k] = value_at(d, cosl(angle)) * (hilbert ? sinl(angle) : 1.0L);
    }
    for (size_t m = 0; m <= half; m++) {
        long double sum = hilbert ? 0.0L : response[0];
        for (size_t k = 1; k <= half; k++) {
            long double angle = turn * (long double)(k * m % taps);
            sum += 2.0L * response[k] * (hilbert ? sinl(angle) : cosl(angle));
        }
        double tap = (double)(sum / (long double)taps);
        ret_taps[half - m] = tap;
        ret_taps[half + m] = hilbert ? -tap : tap;
    }
    if (hilbert) {
        ret_taps[half] = 0.0;
    }
}

size_t weiri_remez_bytes(size_t taps)
{
    size_t extrema = taps / 2 + 2;
    return extrema * (3 * sizeof(long double) + sizeof(extremum)) +
           (extrema + MORE) * sizeof(extremum) + 64;
}

bool weiri_remez_design(const weiri_remez *wanted, size_t taps, void *work, double *ret_taps)
{
    design d = {.wanted = wanted, .r = taps / 2 + (wanted->hilbert ? 0 : 1)};
    size_t extrema = d.r + 1;
    unsigned char *at = (unsigned char *)work + (16 - (uintptr_t)work % 16) % 16;
    d.x = (void *)at;
    d.y = d.x + extrema;
    d.weight = d.y + extrema;
    d.now = (void *)(d.weight + extrema);
    d.next = d.now + extrema;
    set_up(&d);
    if (d.grid < extrema) {
        return false;
    }
    for (size_t i = 0; i < extrema; i++) {
        d.now[i].at = i * (d.grid - 1) / d.r;
    }
    bool converged = false;
    for (int i = 0; i < EXCHANGES && !converged; i++) {
        long double largest = 0.0L;
        if (!interpolate(&d)) {
            return false;
        }
        size_t count = exchange(&d, &largest);
        converged = largest <= fabsl(d.deviation) * (1.0L + 1e-10L) + 1e-16L;
        if (!converged && count < extrema) {
            return false;
        }
        if (!converged) {
            memcpy(d.now, d.next, extrema * sizeof *d.now);
        }
    }
    if (converged) {
        transform(&d, taps, ret_taps);
    }
    return converged;
}
