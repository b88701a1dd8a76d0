/* SPDX-License-Identifier: MIT
 *
 * fft.c: the discrete Fourier transform of several series at the same time: each lane of a vector
 * is one of them. So nothing is shuffled, vectors are full for any length, and the bits of a series
 * do not depend on the other lanes (S1, S5). dsp/fft.c factors the lengths and computes all
 * constants.
 *
 * Decimation in time, depth first: the parts of a transform are complete before the pass that joins
 * them, so that small ones stay in L1 and middle ones in L2, whatever the length. The first pass
 * reads its points directly from the input; after that one buffer is enough. A point is two
 * vectors, real and imaginary part.
 *
 * A length with a large prime factor is a convolution with a chirp (Bluestein), in a longer transform.
 */
#include "kernel/vector.h"

#define LANES WEIRI_VECTOR_DOUBLES
#define POINT (2 * (size_t)LANES) /* doubles */

typedef struct point {
    weiri_vd re, im;
} point;

WEIRI_INLINE point get(const double *from)
{
    return (point){weiri_vd_load_f64(from), weiri_vd_load_f64(from + LANES)};
}

WEIRI_INLINE void put(double *to, point value)
{
    weiri_vd_store_f64(to, value.re);
    weiri_vd_store_f64(to + LANES, value.im);
}

WEIRI_INLINE point plus(point a, point b)
{
    return (point){a.re + b.re, a.im + b.im};
}

WEIRI_INLINE point minus(point a, point b)
{
    return (point){a.re - b.re, a.im - b.im};
}

/* a - i b, a + i b */
WEIRI_INLINE point minus_i(point a, point b)
{
    return (point){a.re + b.im, a.im - b.re};
}

WEIRI_INLINE point plus_i(point a, point b)
{
    return (point){a.re - b.im, a.im + b.re};
}

/* a + factor b */
WEIRI_INLINE point plus_times(point a, double factor, point b)
{
    weiri_vd f = weiri_vd_all(factor);
    return (point){weiri_vd_fma(f, b.re, a.re), weiri_vd_fma(f, b.im, a.im)};
}

/* a times one complex number for all lanes */
WEIRI_INLINE point times(point a, const double *w)
{
    weiri_vd re = weiri_vd_all(w[0]), im = weiri_vd_all(w[1]);
    return (point){weiri_vd_fms(a.re, re, a.im * im), weiri_vd_fma(a.re, im, a.im * re)};
}

/* ---- points of the input --------------------------------------------------------------------------- */

/* Multiplies by its weight; a value that is not finite becomes NaN, so that an infinity, like
 * any missing sample, affects its whole series. */
WEIRI_INLINE weiri_vd weighted(weiri_vd x, double weight)
{
    return weiri_vd_fma(x, weiri_vd_all(0.0), x * weiri_vd_all(weight));
}

WEIRI_INLINE weiri_vd load(const weiri_fft_input *in, bool f32, uint64_t at)
{
    return f32 ? weiri_vd_load_f32((const float *)in->data + at)
               : weiri_vd_load_f64((const double *)in->data + at);
}

/* For lanes that are not adjacent, each value by itself: `parts` of a complex one. */
static weiri_vd load_apart(const weiri_fft_input *in, uint64_t at, uint64_t parts, uint64_t part)
{
    weiri_vd lanes;
    for (int i = 0; i < LANES; i++) {
        uint64_t place = (in->apart[i] + at) * parts + part;
        lanes[i] =
            in->f32 ? (double)((const float *)in->data)[place] : ((const double *)in->data)[place];
    }
    return lanes;
}

/* In memory a real part is followed by its imaginary part: separates two vectors into even lanes
 * and odd lanes. And their halves, alternating. */
#if WEIRI_VECTOR == 64
#define EVENS        0, 2, 4, 6, 8, 10, 12, 14
#define ODDS         1, 3, 5, 7, 9, 11, 13, 15
#define FIRST_HALVES 0, 8, 1, 9, 2, 10, 3, 11
#define LAST_HALVES  4, 12, 5, 13, 6, 14, 7, 15
#elif WEIRI_VECTOR == 32
#define EVENS        0, 2, 4, 6
#define ODDS         1, 3, 5, 7
#define FIRST_HALVES 0, 4, 1, 5
#define LAST_HALVES  2, 6, 3, 7
#else
#define EVENS        0, 2
#define ODDS         1, 3
#define FIRST_HALVES 0, 2
#define LAST_HALVES  1, 3
#endif

WEIRI_INLINE weiri_vd load_real(const weiri_fft_input *in, bool f32, uint64_t at)
{
    return in->apart != NULL ? load_apart(in, at, 1, 0) : load(in, f32, at);
}

WEIRI_INLINE point load_complex(const weiri_fft_input *in, bool f32, uint64_t at)
{
    if (in->apart != NULL) {
        return (point){load_apart(in, at, 2, 0), load_apart(in, at, 2, 1)};
    }
    weiri_vd a = load(in, f32, 2 * at), b = load(in, f32, 2 * at + LANES);
    return (point){__builtin_shufflevector(a, b, EVENS), __builtin_shufflevector(a, b, ODDS)};
}

/* Point number i of the transform. Points after the input's last are 0. */
WEIRI_INLINE point load_point(const weiri_fft_input *in, int kind, bool f32, uint64_t i)
{
    weiri_vd zero = weiri_vd_all(0.0);
    if (kind == WEIRI_FFT_POINTS) {
        return get((const double *)in->data + i * POINT);
    }
    if (kind == WEIRI_FFT_PAIRS) {
        point pair = {zero, zero};
        if (2 * i < in->count) {
            pair.re = weighted(load_real(in, f32, 2 * i * in->stride), in->weights[2 * i]);
        }
        if (2 * i + 1 < in->count) {
            pair.im =
                weighted(load_real(in, f32, (2 * i + 1) * in->stride), in->weights[2 * i + 1]);
        }
        return pair;
    }
    if (i >= in->count) {
        return (point){zero, zero};
    }
    if (kind == WEIRI_FFT_REAL) {
        return (point){weighted(load_real(in, f32, i * in->stride), in->weights[i]), zero};
    }
    point value = load_complex(in, f32, i * in->stride);
    return (point){weighted(value.re, in->weights[i]), weighted(value.im, in->weights[i])};
}

#define LOAD(kind, f32)                                                                            \
    for (uint64_t q = 0; q < count; q++) {                                                         \
        put(to + q * POINT, load_point(in, kind, f32, from + q * step));                           \
    }

static void
load_points(const weiri_fft_input *in, uint64_t from, uint64_t step, uint64_t count, double *to)
{
    switch (in->kind * 2 + (in->f32 ? 1 : 0)) {
    case WEIRI_FFT_PAIRS * 2 + 1:
        LOAD(WEIRI_FFT_PAIRS, true)
        break;
    case WEIRI_FFT_PAIRS * 2:
        LOAD(WEIRI_FFT_PAIRS, false)
        break;
    case WEIRI_FFT_REAL * 2 + 1:
        LOAD(WEIRI_FFT_REAL, true)
        break;
    case WEIRI_FFT_REAL * 2:
        LOAD(WEIRI_FFT_REAL, false)
        break;
    case WEIRI_FFT_COMPLEX * 2 + 1:
        LOAD(WEIRI_FFT_COMPLEX, true)
        break;
    case WEIRI_FFT_COMPLEX * 2:
        LOAD(WEIRI_FFT_COMPLEX, false)
        break;
    default:
        LOAD(WEIRI_FFT_POINTS, false)
    }
}

/* ---- butterflies: the transform of a few points ------------------------------------------------------- */

WEIRI_INLINE void two(point *x)
{
    point a = x[0];
    x[0] = plus(a, x[1]);
    x[1] = minus(a, x[1]);
}

WEIRI_INLINE void three(point *x)
{
    const double s = 0.86602540378443864676;
    point sum = plus(x[1], x[2]), difference = minus(x[1], x[2]);
    point middle = plus_times(x[0], -0.5, sum);
    point turned = {difference.re * weiri_vd_all(s), difference.im * weiri_vd_all(s)};
    x[0] = plus(x[0], sum);
    x[1] = minus_i(middle, turned);
    x[2] = plus_i(middle, turned);
}

WEIRI_INLINE void four(point *x)
{
    point a = plus(x[0], x[2]), b = minus(x[0], x[2]), c = plus(x[1], x[3]), d = minus(x[1], x[3]);
    x[0] = plus(a, c);
    x[2] = minus(a, c);
    x[1] = minus_i(b, d);
    x[3] = plus_i(b, d);
}

WEIRI_INLINE void five(point *x)
{
    const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
    const double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    point a = plus(x[1], x[4]), b = minus(x[1], x[4]), c = plus(x[2], x[3]), d = minus(x[2], x[3]);
    point m1 = plus_times(plus_times(x[0], c1, a), c2, c);
    point m2 = plus_times(plus_times(x[0], c2, a), c1, c);
    point zero = {weiri_vd_all(0.0), weiri_vd_all(0.0)};
    point t1 = plus_times(plus_times(zero, s1, b), s2, d);
    point t2 = plus_times(plus_times(zero, s2, b), -s1, d);
    x[0] = plus(x[0], plus(a, c));
    x[1] = minus_i(m1, t1);
    x[4] = plus_i(m1, t1);
    x[2] = minus_i(m2, t2);
    x[3] = plus_i(m2, t2);
}

WEIRI_INLINE void eight(point *x)
{
    const double r = 0.70710678118654752440;
    point a = plus(x[0], x[4]), b = minus(x[0], x[4]), c = plus(x[2], x[6]), d = minus(x[2], x[6]);
    point e0 = plus(a, c), e2 = minus(a, c), e1 = minus_i(b, d), e3 = plus_i(b, d);
    a = plus(x[1], x[5]), b = minus(x[1], x[5]), c = plus(x[3], x[7]), d = minus(x[3], x[7]);
    point o0 = plus(a, c), o2 = minus(a, c), o1 = minus_i(b, d), o3 = plus_i(b, d);
    point w1 = {o1.re + o1.im, o1.im - o1.re}, w3 = {o3.im - o3.re, -(o3.re + o3.im)};
    x[0] = plus(e0, o0);
    x[4] = minus(e0, o0);
    x[1] = plus_times(e1, r, w1);
    x[5] = plus_times(e1, -r, w1);
    x[2] = minus_i(e2, o2);
    x[6] = plus_i(e2, o2);
    x[3] = plus_times(e3, r, w3);
    x[7] = plus_times(e3, -r, w3);
}

/* Any odd prime: roots[p] are the roots of unity. x and its conjugate partner share their
 * products. */
static void prime(point *x, size_t p, const double *roots)
{
    point sums[WEIRI_FFT_PRIME / 2 + 1], differences[WEIRI_FFT_PRIME / 2 + 1], first = x[0];
    size_t half = p / 2;
    for (size_t j = 1; j <= half; j++) {
        sums[j] = plus(x[j], x[p - j]);
        differences[j] = minus(x[j], x[p - j]);
        x[0] = plus(x[0], sums[j]);
    }
    for (size_t k = 1; k <= half; k++) {
        point even = first, odd = {weiri_vd_all(0.0), weiri_vd_all(0.0)};
        for (size_t j = 1, at = k; j <= half; j++, at = at + k < p ? at + k : at + k - p) {
            even = plus_times(even, roots[2 * at], sums[j]);
            odd = plus_times(odd, -roots[2 * at + 1], differences[j]);
        }
        x[k] = minus_i(even, odd);
        x[p - k] = plus_i(even, odd);
    }
}

/* ---- passes -------------------------------------------------------------------------------------------- */

/* p transforms of m points, one after the other, become one of p * m; twiddles [m x (p - 1)]. The first column has none:
 * they are 1. */
#define PASS(name, p, butterfly)                                                                   \
    WEIRI_INLINE void name##_at(double *at, size_t m, const double *twiddles)                      \
    {                                                                                              \
        point x[p];                                                                                \
        x[0] = get(at);                                                                            \
        for (size_t q = 1; q < (p); q++) {                                                         \
            x[q] = get(at + q * m * POINT);                                                        \
            x[q] = twiddles == NULL ? x[q] : times(x[q], twiddles + 2 * (q - 1));                  \
        }                                                                                          \
        butterfly;                                                                                 \
        for (size_t q = 0; q < (p); q++) {                                                         \
            put(at + q * m * POINT, x[q]);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void name(double *at, size_t m, const double *twiddles)                                 \
    {                                                                                              \
        name##_at(at, m, NULL);                                                                    \
        for (size_t k = 1; k < m; k++) {                                                           \
            twiddles += 2 * ((p)-1);                                                               \
            name##_at(at + k * POINT, m, twiddles);                                                \
        }                                                                                          \
    }

PASS(pass_2, 2, two(x))
PASS(pass_3, 3, three(x))
PASS(pass_4, 4, four(x))
PASS(pass_5, 5, five(x))
PASS(pass_8, 8, eight(x))

static void pass_prime(double *at, size_t p, size_t m, const double *twiddles, const double *roots)
{
    point x[WEIRI_FFT_PRIME];
    for (size_t k = 0; k < m; k++, at += POINT, twiddles += 2 * (p - 1)) {
        x[0] = get(at);
        for (size_t q = 1; q < p; q++) {
            x[q] = times(get(at + q * m * POINT), twiddles + 2 * (q - 1));
        }
        prime(x, p, roots);
        for (size_t q = 0; q < p; q++) {
            put(at + q * m * POINT, x[q]);
        }
    }
}

static void pass(const weiri_fft *fft, const weiri_fft_pass *of, double *to)
{
    const double *twiddles = fft->table + of->twiddles_at;
    switch (of->radix) {
    case 2:
        pass_2(to, of->points, twiddles);
        break;
    case 3:
        pass_3(to, of->points, twiddles);
        break;
    case 4:
        pass_4(to, of->points, twiddles);
        break;
    case 5:
        pass_5(to, of->points, twiddles);
        break;
    case 8:
        pass_8(to, of->points, twiddles);
        break;
    default:
        pass_prime(to, of->radix, of->points, twiddles, fft->table + of->roots_at);
    }
}

static void transform(const weiri_fft *fft,
                      size_t number,
                      const weiri_fft_input *in,
                      uint64_t from,
                      uint64_t step,
                      double *to)
{
    const weiri_fft_pass *of = &fft->passes[number];
    if (number + 1 == fft->pass_count) {
        load_points(in, from, step, of->radix, to);
    } else {
        for (uint64_t q = 0; q < of->radix; q++) {
            transform(fft, number + 1, in, from + q * step, step * of->radix,
                      to + q * of->points * POINT);
        }
    }
    pass(fft, of, to);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

/* Pairs of values of a real series were treated as complex: computes the transform of the series
 * from theirs, points 0 to half. Even and odd samples: X[k] = E[k] + w^k O[k]. */
static void from_pairs(const weiri_fft *fft, double *points)
{
    size_t half = (size_t)fft->points;
    const double *turns = fft->table + fft->turns_at;
    point first = get(points), zero = {weiri_vd_all(0.0), weiri_vd_all(0.0)};
    put(points, (point){first.re + first.im, zero.re});
    put(points + half * POINT, (point){first.re - first.im, zero.re});
    for (size_t k = 1; 2 * k <= half; k++) {
        point a = get(points + k * POINT), b = get(points + (half - k) * POINT);
        weiri_vd h = weiri_vd_all(0.5);
        point even = {(a.re + b.re) * h, (a.im - b.im) * h};
        point odd = times((point){(a.im + b.im) * h, (b.re - a.re) * h}, turns + 2 * k);
        put(points + k * POINT, plus(even, odd));
        put(points + (half - k) * POINT, (point){even.re - odd.re, odd.im - even.im});
    }
}

/* y[k] = c[k] * sum of x[j] c[j] d[k - j] with the chirp c[j] = exp(-i pi j^2 / n), d its
 * conjugate: a convolution, by a longer transform, whose constants include the transform of d.
 * The transform back is a forward one of the conjugate. */
static void chirp_transform(const weiri_fft *fft, const weiri_fft_input *in, double *work)
{
    const double *chirp = fft->table + fft->chirp_at, *spectrum = fft->table + fft->spectrum_at;
    size_t count = (size_t)fft->points, most = (size_t)fft->length;
    double *other = work + most * POINT;
    load_points(in, 0, 1, count, other);
    for (size_t i = 0; i < most; i++) {
        point x = {weiri_vd_all(0.0), weiri_vd_all(0.0)};
        put(other + i * POINT, i < count ? times(get(other + i * POINT), chirp + 2 * i) : x);
    }
    weiri_fft_input points = {.data = other, .kind = WEIRI_FFT_POINTS};
    transform(fft, 0, &points, 0, 1, work);
    for (size_t i = 0; i < most; i++) {
        point x = times(get(work + i * POINT), spectrum + 2 * i);
        put(other + i * POINT, (point){x.re, -x.im});
    }
    transform(fft, 0, &points, 0, 1, work);
    for (size_t i = 0; i < count; i++) {
        point x = get(work + i * POINT);
        put(work + i * POINT, times((point){x.re, -x.im}, chirp + 2 * i));
    }
}

void WEIRI_K(fft)(const weiri_fft *fft, const weiri_fft_input *in, double *work)
{
    if (fft->chirp) {
        chirp_transform(fft, in, work);
    } else {
        transform(fft, 0, in, 0, 1, work);
    }
    if (in->kind == WEIRI_FFT_PAIRS) {
        from_pairs(fft, work);
    }
}

/* ---- what is made of it ------------------------------------------------------------------------------------ */

static void
store_apart(const weiri_fft_output *out, uint64_t at, uint64_t parts, uint64_t part, weiri_vd value)
{
    for (uint64_t i = 0; i < out->lanes; i++) {
        uint64_t place = (out->apart[i] + at) * parts + part;
        if (out->f32) {
            ((float *)out->data)[place] = (float)value[i];
        } else {
            ((double *)out->data)[place] = value[i];
        }
    }
}

WEIRI_INLINE void store(const weiri_fft_output *out, bool f32, uint64_t at, weiri_vd value)
{
    if (f32) {
        weiri_vd_store_f32((float *)out->data + at, value);
    } else {
        weiri_vd_store_f64((double *)out->data + at, value);
    }
}

WEIRI_INLINE void store_real(const weiri_fft_output *out, bool f32, uint64_t at, weiri_vd value)
{
    if (out->apart != NULL) {
        store_apart(out, at, 1, 0, value);
    } else {
        store(out, f32, at, value);
    }
}

WEIRI_INLINE void store_complex(const weiri_fft_output *out, bool f32, uint64_t at, point value)
{
    if (out->apart != NULL) {
        store_apart(out, at, 2, 0, value.re);
        store_apart(out, at, 2, 1, value.im);
        return;
    }
    weiri_vd a = __builtin_shufflevector(value.re, value.im, FIRST_HALVES);
    weiri_vd b = __builtin_shufflevector(value.re, value.im, LAST_HALVES);
    store(out, f32, 2 * at, a);
    store(out, f32, 2 * at + LANES, b);
}

/* The second half of a real series' points are the conjugates of the first. */
WEIRI_INLINE point point_of(const weiri_fft_output *out, const double *points, uint64_t k)
{
    if (!out->mirrored || k <= out->n / 2) {
        return get(points + k * POINT);
    }
    point x = get(points + (out->n - k) * POINT);
    return (point){x.re, -x.im};
}

WEIRI_INLINE void emit(const weiri_fft_output *out, int what, bool f32, const double *points)
{
    weiri_vd factor = weiri_vd_all(out->factor);
    for (uint64_t i = 0, k = out->first; i < out->count; i++, k = k + 1 < out->n ? k + 1 : 0) {
        point x = point_of(out, points, k);
        uint64_t at = i * out->stride;
        if (what == WEIRI_FFT_POWER) {
            store_real(out, f32, at, (x.re * x.re + x.im * x.im) * factor);
        } else if (what == WEIRI_FFT_AS_COMPLEX) {
            store_complex(out, f32, at, x);
        } else {
            /* Either part of a missing value may be a number. */
            weiri_vd zero = weiri_vd_all(0.0);
            store_real(out, f32, at,
                       what == WEIRI_FFT_AS_REAL ? weiri_vd_fma(x.im, zero, x.re)
                                                 : weiri_vd_fma(x.re, zero, x.im));
        }
    }
}

void WEIRI_K(fft_emit)(const weiri_fft_output *out, const double *points)
{
    switch (out->what * 2 + (out->f32 ? 1 : 0)) {
    case WEIRI_FFT_POWER * 2 + 1:
        emit(out, WEIRI_FFT_POWER, true, points);
        break;
    case WEIRI_FFT_POWER * 2:
        emit(out, WEIRI_FFT_POWER, false, points);
        break;
    case WEIRI_FFT_AS_COMPLEX * 2 + 1:
        emit(out, WEIRI_FFT_AS_COMPLEX, true, points);
        break;
    case WEIRI_FFT_AS_COMPLEX * 2:
        emit(out, WEIRI_FFT_AS_COMPLEX, false, points);
        break;
    case WEIRI_FFT_AS_REAL * 2 + 1:
        emit(out, WEIRI_FFT_AS_REAL, true, points);
        break;
    case WEIRI_FFT_AS_REAL * 2:
        emit(out, WEIRI_FFT_AS_REAL, false, points);
        break;
    case WEIRI_FFT_AS_IMAG * 2 + 1:
        emit(out, WEIRI_FFT_AS_IMAG, true, points);
        break;
    default:
        emit(out, WEIRI_FFT_AS_IMAG, false, points);
    }
}
