/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: one or two input values for each output value. `out` may be `in`. For missing
 * values (S5) the result is undefined: the caller replaces it by NaN.
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

/* One rounding for f32: the product is made in float64. */
EACH(scale_f32, float, (float)((double)x *factor), double factor)
EACH(scale_f64, double, x *factor, double factor)

/* low > x ? : so that a bound never replaces NaN, and -0 is kept. */
EACH(clip_f32, float, x<low ? low : x> high ? high : x, float low, float high)
EACH(clip_f64, double, x<low ? low : x> high ? high : x, double low, double high)

EACH(linear_f32,
     float,
     (float)((double)x *factors[i] + offsets[i]),
     const double *factors,
     const double *offsets)
EACH(linear_f64, double, x *factors[i] + offsets[i], const double *factors, const double *offsets)

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

/* |x| < DBL_MIN gives -inf, values below that NaN (S5); `least` is the minimum to which x is
 * raised first, or -inf. */
WEIRI_INLINE weiri_vd logarithm(weiri_vd x, double divisor, double least)
{
    weiri_bits raised = (weiri_bits)(x < weiri_vd_all(least));
    x = (weiri_vd)weiri_blend(raised, (weiri_bits)weiri_vd_all(least), (weiri_bits)x);
    weiri_bits none = (weiri_bits)(x < weiri_vd_all(DBL_MIN));
    weiri_bits zero = (weiri_bits)(x > weiri_vd_all(-DBL_MIN));
    weiri_bits instead = weiri_blend(zero, (weiri_bits)weiri_vd_all(-INFINITY),
                                     (weiri_bits)weiri_vd_all((double)NAN));
    weiri_vd some = (weiri_vd)weiri_blend(none, (weiri_bits)weiri_vd_all(1.0), (weiri_bits)x);
    return (weiri_vd)weiri_blend(none, instead, (weiri_bits)(log_of(some) / weiri_vd_all(divisor)));
}

/* The tail is computed with the same vectors, filled up with ones: its bits must not differ
 * (S1). */
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
EACH_VECTOR_OF_BOTH(log, logarithm(x, divisor, least), double divisor, double least)
