/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: one or two input values for each output value. `out` may be `in`. For missing
 * values (S5) the result is undefined: the caller replaces it by NaN.
 */
#include "kernel/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define EACH(name, type, expression, ...)                                                          \
    void WEIRI_K(name)(const type *in, type *out, size_t count, ##__VA_ARGS__)                     \
    {                                                                                              \
        WEIRI_INDEPENDENT WEIRI_UNROLL for (size_t i = 0; i < count; i++)                          \
        {                                                                                          \
            type x = in[i];                                                                        \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

EACH(copy_f32, float, x)
EACH(copy_f64, double, x)
EACH(abs_f32, float, fabsf(x))
EACH(abs_f64, double, fabs(x))
EACH(square_f32, float, x *x)
EACH(square_f64, double, x *x)
EACH(root_f32, float, sqrtf(x))
EACH(root_f64, double, sqrt(x))
EACH(reciprocal_f32, float, 1.0f / x)
EACH(reciprocal_f64, double, 1.0 / x)

/* One rounding for f32: the product is made in float64, unless it is exact there: then float32's own is the same. */
static EACH(scale_by_f32, float, x *factor, float factor);
static EACH(scale_by_f64, float, (float)((double)x *factor), double factor);

void WEIRI_K(scale_f32)(const float *in, float *out, size_t count, double factor)
{
    if ((double)(float)factor == factor) {
        WEIRI_K(scale_by_f32)(in, out, count, (float)factor);
    } else {
        WEIRI_K(scale_by_f64)(in, out, count, factor);
    }
}

EACH(scale_f64, double, x *factor, double factor)

/* low > x ? : so that a bound never replaces NaN, and -0 is kept. */
EACH(clip_f32, float, x<low ? low : x> high ? high : x, float low, float high)
EACH(clip_f64, double, x<low ? low : x> high ? high : x, double low, double high)

EACH(offset_f32, float, sign *x + value, float sign, float value)
EACH(offset_f64, double, sign *x + value, double sign, double value)
EACH(parabola_f32,
     float,
     (float)(factor *((double)x *(double)x) + value),
     double factor,
     double value)
EACH(parabola_f64, double, factor *(x *x) + value, double factor, double value)
EACH(anscombe_f32, float, 2.0f * sqrtf(x + 0.375f))
EACH(anscombe_f64, double, 2.0 * sqrt(x + 0.375))

EACH(linear_f32,
     float,
     (float)((double)x *factors[i] + offsets[i]),
     const double *factors,
     const double *offsets)
EACH(linear_f64, double, x *factors[i] + offsets[i], const double *factors, const double *offsets)

/* Adding and subtracting 1.5 x 2^(bits of the mantissa - 1) rounds to nearest even on every level; SSE2 has no
 * instruction for it. 8 and 16 bits are computed in the type of the samples, 32 in float64. */
#define LEVELS(name, from, type, to, magic)                                                        \
    uint32_t WEIRI_K(levels_##name)(const from *in, to *out, size_t count,                         \
                                    const weiri_levels *levels)                                    \
    {                                                                                              \
        const type low = (type)levels->low, high = (type)levels->high;                             \
        const type range = (type)levels->range, span = (type)levels->span;                         \
        const type least = (type)levels->least;                                                    \
        uint32_t outside = 0;                                                                      \
        WEIRI_INDEPENDENT for (size_t i = 0; i < count; i++)                                       \
        {                                                                                          \
            type x = (type)in[i];                                                                  \
            outside += (uint32_t)((x < low) | (x > high));                                         \
            x = x < low ? low : x > high ? high : x;                                               \
            x = (x - low) / range * span + least;                                                  \
            out[i] = (to)(int32_t)((x + magic) - magic);                                           \
        }                                                                                          \
        return outside;                                                                            \
    }

LEVELS(u8_f32, float, float, uint8_t, 0x1.8p23f)
LEVELS(u16_f32, float, float, uint16_t, 0x1.8p23f)
LEVELS(i16_f32, float, float, int16_t, 0x1.8p23f)
LEVELS(i32_f32, float, double, int32_t, 0x1.8p52)
LEVELS(u8_f64, double, double, uint8_t, 0x1.8p52)
LEVELS(u16_f64, double, double, uint16_t, 0x1.8p52)
LEVELS(i16_f64, double, double, int16_t, 0x1.8p52)
LEVELS(i32_f64, double, double, int32_t, 0x1.8p52)

/* The same, but what is outside counts after rounding: -0.4 is 0 as u8. Clamped first, so that the sum is exact.
 * By vectors: as a plain loop gcc 12 leaves it scalar. */
typedef int32_t four_bytes __attribute__((vector_size(WEIRI_VECTOR / 2)));
typedef float float_f32;
typedef double float_f64;

WEIRI_INLINE weiri_vd clamp(weiri_vd x, weiri_vd low, weiri_vd high)
{
#if defined(__AVX512F__)
    return _mm512_min_pd(_mm512_max_pd(x, low), high);
#elif defined(__AVX2__)
    return _mm256_min_pd(_mm256_max_pd(x, low), high);
#else
    x = (weiri_vd)weiri_blend(x < low, (weiri_bits)low, (weiri_bits)x);
    return (weiri_vd)weiri_blend(x > high, (weiri_bits)high, (weiri_bits)x);
#endif
}

WEIRI_INLINE four_bytes to_int32(weiri_vd x)
{
#if defined(__AVX512F__)
    return (four_bytes)_mm512_cvttpd_epi32(x);
#elif defined(__AVX2__)
    return (four_bytes)_mm256_cvttpd_epi32(x);
#else
    return __builtin_convertvector(x, four_bytes);
#endif
}

#define WHOLE(name, from, to, least, most)                                                         \
    typedef to vector_##name __attribute__((vector_size(WEIRI_VECTOR_DOUBLES * sizeof(to))));      \
                                                                                                   \
    WEIRI_INLINE vector_##name some_##name(const float_##from *in, double factor,                  \
                                           weiri_bits *outside)                                    \
    {                                                                                              \
        weiri_vd low = weiri_vd_all(least), high = weiri_vd_all(most);                             \
        weiri_vd x = weiri_vd_load_##from(in) * weiri_vd_all(factor);                              \
        x = (clamp(x, low - 1.0, high + 1.0) + 0x1.8p52) - 0x1.8p52;                               \
        weiri_vd held = clamp(x, low, high);                                                       \
        *outside += (weiri_bits)(x != held);                                                       \
        return __builtin_convertvector(to_int32(held), vector_##name);                             \
    }                                                                                              \
                                                                                                   \
    uint32_t WEIRI_K(whole_##name)(const float_##from *in, to *out, size_t count, double factor)   \
    {                                                                                              \
        enum { LANES = WEIRI_VECTOR_DOUBLES };                                                     \
        weiri_bits outside = {0};                                                                  \
        vector_##name whole;                                                                       \
        float_##from rest[LANES] = {0};                                                            \
        size_t i = 0;                                                                              \
        for (; i + LANES <= count; i += LANES) {                                                   \
            whole = some_##name(in + i, factor, &outside);                                         \
            memcpy(out + i, &whole, sizeof whole);                                                 \
        }                                                                                          \
        memcpy(rest, in + i, (count - i) * sizeof *in);                                            \
        whole = some_##name(rest, factor, &outside);                                               \
        memcpy(out + i, &whole, (count - i) * sizeof *out);                                        \
        uint32_t all = 0;                                                                          \
        for (i = 0; i < LANES; i++) {                                                              \
            all -= (uint32_t)outside[i];                                                           \
        }                                                                                          \
        return all;                                                                                \
    }

WHOLE(u8_f32, f32, uint8_t, 0.0, 255.0)
WHOLE(u16_f32, f32, uint16_t, 0.0, 65535.0)
WHOLE(i16_f32, f32, int16_t, -32768.0, 32767.0)
WHOLE(i32_f32, f32, int32_t, -2147483648.0, 2147483647.0)
WHOLE(u8_f64, f64, uint8_t, 0.0, 255.0)
WHOLE(u16_f64, f64, uint16_t, 0.0, 65535.0)
WHOLE(i16_f64, f64, int16_t, -32768.0, 32767.0)
WHOLE(i32_f64, f64, int32_t, -2147483648.0, 2147483647.0)

/* One rounding for f32 where the scale is 1. */
#define SUBTRACT(name, type)                                                                       \
    void WEIRI_K(name)(const type *a, const type *b, type *out, size_t count, double scale)        \
    {                                                                                              \
        WEIRI_INDEPENDENT WEIRI_UNROLL for (size_t i = 0; i < count; i++)                          \
        {                                                                                          \
            out[i] = (type)(((double)a[i] - (double)b[i]) * scale);                                \
        }                                                                                          \
    }

SUBTRACT(subtract_f32, float)
SUBTRACT(subtract_f64, double)

/* A product with 1 or -1 is exact: with or without a fused multiply-add there is one rounding. */
#define ADD(name, type)                                                                            \
    void WEIRI_K(name)(const type *a, const type *b, type *out, size_t count, type sign)           \
    {                                                                                              \
        WEIRI_INDEPENDENT WEIRI_UNROLL for (size_t i = 0; i < count; i++)                          \
        {                                                                                          \
            out[i] = a[i] + sign * b[i];                                                           \
        }                                                                                          \
    }

ADD(add_f32, float)
ADD(add_f64, double)

/* ---- what libm does, a vector at a time: in float64 for both ------------------------------------ */

/* glibc's libm has vector functions on x86-64 (libmvec: at most 4 ulp; for log and pow 1 was
 * observed). */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX512F__)
#define MVEC(name) _ZGVeN8##name
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX2__)
#define MVEC(name) _ZGVdN4##name
#elif defined(__x86_64__) && defined(__GLIBC__)
#define MVEC(name) _ZGVbN2##name
#endif

#ifdef MVEC
weiri_vd MVEC(v_log)(weiri_vd x);
weiri_vd MVEC(v_exp)(weiri_vd x);
weiri_vd MVEC(vv_pow)(weiri_vd x, weiri_vd exponent);

WEIRI_INLINE weiri_vd log_of(weiri_vd x)
{
    return MVEC(v_log)(x);
}

WEIRI_INLINE weiri_vd exp_of(weiri_vd x)
{
    return MVEC(v_exp)(x);
}

WEIRI_INLINE weiri_vd power_of(weiri_vd x, double exponent)
{
    return MVEC(vv_pow)(x, weiri_vd_all(exponent));
}
#else
WEIRI_INLINE weiri_vd log_of(weiri_vd x)
{
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        x[i] = log(x[i]);
    }
    return x;
}

WEIRI_INLINE weiri_vd exp_of(weiri_vd x)
{
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        x[i] = exp(x[i]);
    }
    return x;
}

WEIRI_INLINE weiri_vd power_of(weiri_vd x, double exponent)
{
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        x[i] = pow(x[i], exponent);
    }
    return x;
}
#endif

/* ln(x) times `by` for finite x >= DBL_MIN, with a relative error of 2^-39: for results in
 * float32, since libmvec's 2^-51 takes twice as long. x = 2^k m with m from sqrt(1/2) to
 * sqrt(2); with s = (m - 1) / (m + 1), of 0.172 at most, ln(m) = 2 s (1 + s^2 / 3 + s^4 / 5 +
 * ...). */
WEIRI_INLINE weiri_vd short_log(weiri_vd x, double by)
{
    typedef uint64_t whole __attribute__((vector_size(WEIRI_VECTOR)));
    const int64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000; /* sqrt(1/2), 1 */
    /* k + 1023 before the remaining bits of m; of a NaN it wraps */
    weiri_bits shifted = (weiri_bits)((whole)x - (uint64_t)(root - one));
    weiri_bits power = (weiri_bits)((whole)shifted >> 52);
    weiri_vd m = (weiri_vd)((shifted & 0xfffffffffffff) + root);
    weiri_vd k = (weiri_vd)(power | 0x4330000000000000) - (0x1p52 + 1023); /* 2^52 + power */
    weiri_vd s = (m - 1.0) / (m + 1.0), square = s * s;
    weiri_vd sum = weiri_vd_all(2.0 / 13);
    for (int term = 11; term >= 1; term -= 2) {
        sum = weiri_vd_fma(sum, square, weiri_vd_all(2.0 / term));
    }
    return weiri_vd_fma(k, weiri_vd_all(0.6931471805599453 * by), s * weiri_vd_all(by) * sum);
}

/* |x| < DBL_MIN gives -inf, values below that NaN (S5); `least` is the minimum to which x is
 * raised first, or -inf. */
WEIRI_INLINE weiri_vd logarithm(weiri_vd x, double divisor, double least, bool is_short)
{
    double usual = least < DBL_MIN ? DBL_MIN : least;
    if (is_short && weiri_all_ones((weiri_bits)(x >= weiri_vd_all(usual)))) {
        return short_log(x, 1.0 / divisor); /* the same bits as below */
    }
    weiri_bits raised = (weiri_bits)(x < weiri_vd_all(least));
    x = (weiri_vd)weiri_blend(raised, (weiri_bits)weiri_vd_all(least), (weiri_bits)x);
    weiri_bits none = (weiri_bits)(x < weiri_vd_all(DBL_MIN));
    weiri_bits zero = (weiri_bits)(x > weiri_vd_all(-DBL_MIN));
    weiri_bits instead = weiri_blend(zero, (weiri_bits)weiri_vd_all(-INFINITY),
                                     (weiri_bits)weiri_vd_all((double)NAN));
    weiri_vd some = (weiri_vd)weiri_blend(none, (weiri_bits)weiri_vd_all(1.0), (weiri_bits)x);
    weiri_vd log = is_short ? short_log(some, 1.0 / divisor) : log_of(some) / weiri_vd_all(divisor);
    return (weiri_vd)weiri_blend(none, instead, (weiri_bits)log);
}

WEIRI_INLINE weiri_vd choose(weiri_bits where, weiri_vd yes, weiri_vd no)
{
    return (weiri_vd)weiri_blend(where, (weiri_bits)yes, (weiri_bits)no);
}

/* exp(-x) is finite from -708 on; below that the result is smaller than the smallest normal number. */
WEIRI_INLINE weiri_vd expit(weiri_vd x)
{
    weiri_vd one = weiri_vd_all(1.0), least = weiri_vd_all(-708.0);
    weiri_bits under = (weiri_bits)(x < least);
    weiri_vd y = one / (one + exp_of(-choose(under, least, x)));
    return choose(under, weiri_vd_all(0.0), y);
}

/* log(1 + u) for u > -1/2, 4 ulp: what 1 + u loses by rounding is put right by the quotient. */
WEIRI_INLINE weiri_vd log1p_of(weiri_vd u)
{
    weiri_vd one = weiri_vd_all(1.0), w = one + u;
    weiri_bits tiny = (weiri_bits)(w == one);
    weiri_vd safe = choose(tiny, weiri_vd_all(2.0), w);
    return choose(tiny, u, log_of(safe) * u / (safe - one));
}

/* log(x / (1 - x)); around 1/2, where that is about 0, log(1 + (2 x - 1) / (1 - x)). -inf at 0, inf at 1, NaN outside. */
WEIRI_INLINE weiri_vd logit(weiri_vd x)
{
    weiri_vd one = weiri_vd_all(1.0), zero = weiri_vd_all(0.0);
    weiri_bits inside = (weiri_bits)(x > zero) & (weiri_bits)(x < one);
    weiri_vd p = choose(inside, x, weiri_vd_all(0.5)), q = one - p;
    weiri_bits middle =
        (weiri_bits)(p > weiri_vd_all(0.375)) & (weiri_bits)(p < weiri_vd_all(0.75));
    weiri_vd half = p - weiri_vd_all(0.5); /* exact there */
    weiri_vd u = choose(middle, (half + half) / q, one);
    weiri_vd y = choose(middle, log1p_of(u), log_of(p / q));
    weiri_vd outside =
        choose((weiri_bits)(x == zero), weiri_vd_all(-INFINITY),
               choose((weiri_bits)(x == one), weiri_vd_all(INFINITY), weiri_vd_all((double)NAN)));
    return choose(inside, y, outside);
}

/* min(x, 0) - log(1 + exp(-|x|)) */
WEIRI_INLINE weiri_vd log_expit(weiri_vd x)
{
    weiri_vd zero = weiri_vd_all(0.0), least = weiri_vd_all(-708.0);
    weiri_vd below = choose((weiri_bits)(x < zero), x, zero);
    weiri_vd minus = below + below - x; /* -|x| */
    weiri_bits under = (weiri_bits)(minus < least);
    weiri_vd small = choose(under, zero, exp_of(choose(under, least, minus)));
    return below - log1p_of(small);
}

/* In float64: for small counts the terms cancel. Below the value of count 0 the polynomial would rise again. */
WEIRI_INLINE weiri_vd inverse_anscombe(weiri_vd x)
{
    const double root = 1.224744871391589; /* sqrt(3/2), and 2 sqrt(3/8), the value of count 0 */
    weiri_bits above = (weiri_bits)(x > weiri_vd_all(root));
    weiri_vd d = choose(above, x, weiri_vd_all(root)), r = weiri_vd_all(1.0) / d;
    weiri_vd y = weiri_vd_all(0.625 * root) * r + weiri_vd_all(-1.375);
    y = (y * r + weiri_vd_all(0.25 * root)) * r - weiri_vd_all(0.125);
    return choose(above, weiri_vd_all(0.25) * d * d + y, weiri_vd_all(0.0));
}

/* The tail is computed with the same vectors, filled up with ones: its bits must not differ
 * (S1). */
#define EACH_VECTOR(name, type, load, store, expression, ...)                                      \
    void WEIRI_K(name)(const type *in, type *out, size_t count, ##__VA_ARGS__)                     \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + WEIRI_VECTOR_DOUBLES <= count; i += WEIRI_VECTOR_DOUBLES) {                     \
            weiri_vd x = load(in + i);                                                             \
            store(out + i, (expression));                                                          \
        }                                                                                          \
        if (i < count) {                                                                           \
            type tail[WEIRI_VECTOR_DOUBLES];                                                       \
            for (size_t k = 0; k < WEIRI_VECTOR_DOUBLES; k++) {                                    \
                tail[k] = i + k < count ? in[i + k] : 1;                                           \
            }                                                                                      \
            weiri_vd x = load(tail);                                                               \
            store(tail, (expression));                                                             \
            for (size_t k = 0; i + k < count; k++) {                                               \
                out[i + k] = tail[k];                                                              \
            }                                                                                      \
        }                                                                                          \
    }
#define EACH_VECTOR_OF_BOTH(name, expression, ...)                                                 \
    EACH_VECTOR(name##_f32, float, weiri_vd_load_f32, weiri_vd_store_f32, expression,              \
                ##__VA_ARGS__)                                                                     \
    EACH_VECTOR(name##_f64, double, weiri_vd_load_f64, weiri_vd_store_f64, expression,             \
                ##__VA_ARGS__)

EACH_VECTOR_OF_BOTH(power, power_of(x, exponent), double exponent)
EACH_VECTOR_OF_BOTH(inverse_anscombe, inverse_anscombe(x))
EACH_VECTOR_OF_BOTH(expit, expit(x))
EACH_VECTOR_OF_BOTH(logit, logit(x))
EACH_VECTOR_OF_BOTH(log_expit, log_expit(x))
EACH_VECTOR(log_f32,
            float,
            weiri_vd_load_f32,
            weiri_vd_store_f32,
            logarithm(x, divisor, least, true),
            double divisor,
            double least)
EACH_VECTOR(log_f64,
            double,
            weiri_vd_load_f64,
            weiri_vd_store_f64,
            logarithm(x, divisor, least, false),
            double divisor,
            double least)
