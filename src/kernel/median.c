/* SPDX-License-Identifier: MIT
 *
 * median.c: medians of columns, and of the values of rows, missing samples left out. As many at a
 * time as a vector has lanes: columns, or rows after a transposition.
 *
 * Each lane's median is searched by value: a pass over its values counts those up to a guess, and
 * finds the two next to it. The next guess is where a straight line between the two ends of the
 * remaining interval reaches the median (regula falsi). A normal distribution takes 4 passes, and 6
 * until the slowest of 16 lanes is done; after PASSES every other guess halves the remaining
 * interval as integers, so that no distribution takes more than PASSES + 2 x 64 passes. The median
 * is one value whatever the path to it, so levels and lanes give the same bits.
 *
 * ns per f32 sample, Zen 5, AVX-512 (AVX2, SSE2): rows of 256 and 384 values 0.28 (0.57, 1.2),
 * columns of 300 0.25 (0.59, 1.3). Bit by bit in 32 passes it was 3.6 and 2.7, qsort takes 47. A
 * network that sorts (Batcher) has 0.94 comparators a sample at 256 values and 1.3 at 384, each two
 * loads and two stores.
 */
#include "kernel/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PASSES = 12 };

typedef float lanes_f32 __attribute__((vector_size(WEIRI_VECTOR)));
typedef double lanes_f64 __attribute__((vector_size(WEIRI_VECTOR)));
typedef int32_t counts_f32 __attribute__((vector_size(WEIRI_VECTOR)));
typedef int64_t counts_f64 __attribute__((vector_size(WEIRI_VECTOR)));

/* One vector of values x in a pass: counts those up to v, finds the largest of them and the least of the others.
 * Without masks a value that does not count becomes NaN (all bits set), for which min and max return their second
 * operand. */
#define STEP(type_name, ...)                                                                       \
    WEIRI_INLINE void step_##type_name(lanes_##type_name x, lanes_##type_name v,                   \
                                       counts_##type_name *upto, lanes_##type_name *below,         \
                                       lanes_##type_name *above)                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#if defined(__AVX512F__)
#define MASK_STEP(type_name, mask, ps, epi32)                                                      \
    STEP(type_name, mask in = _mm512_cmp_##ps##_mask(x, v, _CMP_LE_OQ);                            \
         *upto = (counts_##type_name)_mm512_mask_add_##epi32((__m512i)*upto, in, (__m512i)*upto,   \
                                                             _mm512_set1_##epi32(1));              \
         *below = _mm512_mask_max_##ps(*below, in, x, *below);                                     \
         *above = _mm512_mask_min_##ps(*above, (mask)~in, x, *above);)

MASK_STEP(f32, __mmask16, ps, epi32)
MASK_STEP(f64, __mmask8, pd, epi64)
#define LEAST(ps, x, best)   _mm512_min_##ps(x, best)
#define LARGEST(ps, x, best) _mm512_max_##ps(x, best)
#elif defined(__SSE2__)
#if defined(__AVX2__)
#define OP(name)        _mm256_##name
#define UP_TO(ps, x, v) _mm256_cmp_##ps(x, v, _CMP_LE_OQ)
#define ABOVE(ps, x, v) _mm256_cmp_##ps(x, v, _CMP_GT_OQ)
#else
#define OP(name)        _mm_##name
#define UP_TO(ps, x, v) _mm_cmple_##ps(x, v)
#define ABOVE(ps, x, v) _mm_cmpgt_##ps(x, v)
#endif
#define NAN_STEP(type_name, ps)                                                                    \
    STEP(type_name, lanes_##type_name in = UP_TO(ps, x, v);                                        \
         lanes_##type_name out = ABOVE(ps, x, v); *upto -= (counts_##type_name)in;                 \
         *below = OP(max_##ps)(OP(or_##ps)(x, out), *below);                                       \
         *above = OP(min_##ps)(OP(or_##ps)(x, in), *above);)

NAN_STEP(f32, ps)
NAN_STEP(f64, pd)
#define LEAST(ps, x, best)   OP(min_##ps)(x, best)
#define LARGEST(ps, x, best) OP(max_##ps)(x, best)
#else
#define PLAIN_STEP(type_name, ps)                                                                  \
    STEP(                                                                                          \
        type_name, for (size_t i = 0; i < WEIRI_VECTOR / sizeof x[0]; i++) {                       \
            bool in = x[i] <= v[i];                                                                \
            (*upto)[i] += in ? 1 : 0;                                                              \
            (*below)[i] = in && x[i] > (*below)[i] ? x[i] : (*below)[i];                           \
            (*above)[i] = !in && x[i] < (*above)[i] ? x[i] : (*above)[i];                          \
        })                                                                                         \
    WEIRI_INLINE lanes_##type_name extreme_##ps(lanes_##type_name x, lanes_##type_name best,       \
                                                bool least)                                        \
    {                                                                                              \
        for (size_t i = 0; i < WEIRI_VECTOR / sizeof x[0]; i++) {                                  \
            best[i] = (least ? x[i] < best[i] : x[i] > best[i]) ? x[i] : best[i];                  \
        }                                                                                          \
        return best;                                                                               \
    }

PLAIN_STEP(f32, ps)
PLAIN_STEP(f64, pd)
#define LEAST(ps, x, best)   extreme_##ps(x, best, true)
#define LARGEST(ps, x, best) extreme_##ps(x, best, false)
#endif

/* A square of values, rows to columns. */
#if defined(__SSE2__)
enum { SIDE_f32 = 4, SIDE_f64 = 2 };

WEIRI_INLINE void turn_f32(const float *const *rows, size_t at, float *to, size_t stride)
{
    __m128 a = _mm_loadu_ps(rows[0] + at), b = _mm_loadu_ps(rows[1] + at);
    __m128 c = _mm_loadu_ps(rows[2] + at), d = _mm_loadu_ps(rows[3] + at);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + stride, b);
    _mm_storeu_ps(to + 2 * stride, c);
    _mm_storeu_ps(to + 3 * stride, d);
}

WEIRI_INLINE void turn_f64(const double *const *rows, size_t at, double *to, size_t stride)
{
    __m128d a = _mm_loadu_pd(rows[0] + at), b = _mm_loadu_pd(rows[1] + at);
    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(to + stride, _mm_unpackhi_pd(a, b));
}
#else
enum { SIDE_f32 = 1, SIDE_f64 = 1 };

WEIRI_INLINE void turn_f32(const float *const *rows, size_t at, float *to, size_t stride)
{
    (void)stride;
    *to = rows[0][at];
}

WEIRI_INLINE void turn_f64(const double *const *rows, size_t at, double *to, size_t stride)
{
    (void)stride;
    *to = rows[0][at];
}
#endif

/* A macro's argument is to be expanded first. */
#define LEAST_OF(ps, x, best)   LEAST(ps, x, best)
#define LARGEST_OF(ps, x, best) LARGEST(ps, x, best)

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f32, WEIRI_LEVEL)
#define T            float
#define T_MAX        FLT_MAX
#define T_INDEX      int32_t
#define T_MOST       INT32_MAX
#define VECTOR       lanes_f32
#define INDEX        counts_f32
#define STEP_OF      step_f32
#define PS           ps
#define TURN         turn_f32
#define SIDE         SIDE_f32
#include "kernel/median_body.h"
#undef NAME
#undef T
#undef T_MAX
#undef T_INDEX
#undef T_MOST
#undef VECTOR
#undef INDEX
#undef STEP_OF
#undef PS
#undef TURN
#undef SIDE

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f64, WEIRI_LEVEL)
#define T            double
#define T_MAX        DBL_MAX
#define T_INDEX      int64_t
#define T_MOST       INT64_MAX
#define VECTOR       lanes_f64
#define INDEX        counts_f64
#define STEP_OF      step_f64
#define PS           pd
#define TURN         turn_f64
#define SIDE         SIDE_f64
#include "kernel/median_body.h"
