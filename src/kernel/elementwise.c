/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: one value in, one value out. `out` may be `in`. Values that are missing (S5)
 * come out as whatever the arithmetic makes of them: the caller puts NaN there.
 */
#include "kernel/kernel.h"

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

/* libm, in float64 for both. */
EACH(power_f32, float, (float)pow((double)x, exponent), double exponent)
EACH(power_f64, double, pow(x, exponent), double exponent)

/* One rounding for f32: the product is made in float64. */
EACH(scale_f32, float, (float)((double)x *factor), double factor)
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

/* |x| < DBL_MIN gives -inf, what is below that NaN (S5); `least` is the value that x is raised to
 * first, or -inf. */
static double logarithm(double x, double divisor, double least)
{
    x = x < least ? least : x;
    if (x < DBL_MIN) {
        return x > -DBL_MIN ? -INFINITY : NAN;
    }
    return log(x) / divisor;
}

EACH(log_f32, float, (float)logarithm((double)x, divisor, least), double divisor, double least)
EACH(log_f64, double, logarithm(x, divisor, least), double divisor, double least)
