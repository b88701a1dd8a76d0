/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: one value in (or two), one value out. `out` may be `in`. Values that are missing (S5)
 * come out as whatever the arithmetic makes of them: the caller puts NaN there.
 */
#include "kernel/vector.h"

#include <float.h>
#include <math.h>

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

/* low > x ? : so that a bound wins over NaN nowhere and -0 stays what it is. */
EACH(clip_f32, float, x<low ? low : x> high ? high : x, float low, float high)
EACH(clip_f64, double, x<low ? low : x> high ? high : x, double low, double high)

EACH(linear_f32,
     float,
     (float)((double)x *factors[i] + offsets[i]),
     const double *factors,
     const double *offsets)
EACH(linear_f64, double, x *factors[i] + offsets[i], const double *factors, const double *offsets)

/* A product with 1 or -1 is exact: fused or not, it is one rounding. */
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

/* glibc's libm has vectors of its own on x86-64 (libmvec: 4 ulp at most; of log and pow 1 was seen). */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX512F__)
#define MVEC(name) _ZGVeN8##name
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX2__)
#define MVEC(name) _ZGVdN4##name
#elif defined(__x86_64__) && defined(__GLIBC__)
#define MVEC(name) _ZGVbN2##name
#endif

#ifdef MVEC
weiri_vd MVEC(v_log)(weiri_vd x);
weiri_vd MVEC(vv_pow)(weiri_vd x, weiri_vd exponent);

WEIRI_INLINE weiri_vd log_of(weiri_vd x)
{
    return MVEC(v_log)(x);
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

WEIRI_INLINE weiri_vd power_of(weiri_vd x, double exponent)
{
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        x[i] = pow(x[i], exponent);
    }
    return x;
}
#endif

/* ln(x) times `by` of finite x >= DBL_MIN, to 2^-39 of itself: for results in float32, where libmvec's 2^-51 takes
 * twice as long. x = 2^k m with m from sqrt(1/2) to sqrt(2); with s = (m - 1) / (m + 1), of 0.172 at most,
 * ln(m) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...). */
WEIRI_INLINE weiri_vd short_log(weiri_vd x, double by)
{
    typedef uint64_t whole __attribute__((vector_size(WEIRI_VECTOR)));
    const int64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000; /* sqrt(1/2), 1 */
    weiri_bits shifted = (weiri_bits)x - (root - one); /* k + 1023 in front of what is left of m */
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

/* |x| < DBL_MIN gives -inf, what is below that NaN (S5); `least` is the value that x is raised to
 * first, or -inf. */
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
    weiri_vd log =
        is_short ? short_log(some, 1.0 / divisor) : log_of(some) / weiri_vd_all(divisor);
    return (weiri_vd)weiri_blend(none, instead, (weiri_bits)log);
}

/* The tail through the same vectors, filled up with ones: its bits must not differ (S1). */
#define EACH_VECTOR(name, type, load, store, expression, ...)                                      \
    void WEIRI_K(name)(const type *in, type *out, size_t count, __VA_ARGS__)                       \
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
    EACH_VECTOR(name##_f32, float, weiri_vd_load_f32, weiri_vd_store_f32, expression, __VA_ARGS__) \
    EACH_VECTOR(name##_f64, double, weiri_vd_load_f64, weiri_vd_store_f64, expression, __VA_ARGS__)

EACH_VECTOR_OF_BOTH(power, power_of(x, exponent), double exponent)
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
