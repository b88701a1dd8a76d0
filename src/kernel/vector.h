/* SPDX-License-Identifier: MIT
 *
 * vector.h: one vector of doubles of the level's width, with a multiply-add that rounds exactly as
 * WEIRI_FMA does, and loads and stores that widen and narrow f32 on the way. For kernels whose
 * state must stay in registers; plain loops are left to the compiler. Only kernel files may include
 * it.
 */
#ifndef WEIRI_VECTOR_H
#define WEIRI_VECTOR_H

#include "kernel/kernel.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define WEIRI_VECTOR_DOUBLES (WEIRI_VECTOR / 8)

/* Everything here is forced inline: vectors in registers have no calling convention that is the
 * same at every level. */
#define WEIRI_INLINE static inline __attribute__((always_inline))

typedef double weiri_vd __attribute__((vector_size(WEIRI_VECTOR)));
/* The same in memory, aligned to its elements only. */
typedef double weiri_vd_loose __attribute__((vector_size(WEIRI_VECTOR), aligned(8), may_alias));
typedef float weiri_vf_loose __attribute__((vector_size(WEIRI_VECTOR / 2), aligned(4), may_alias));
typedef float weiri_vf __attribute__((vector_size(WEIRI_VECTOR / 2)));

WEIRI_INLINE weiri_vd weiri_vd_load_f64(const double *from)
{
    return *(const weiri_vd_loose *)from;
}

/* With intrinsics where available: gcc 12 makes two halves of __builtin_convertvector. */
WEIRI_INLINE weiri_vd weiri_vd_load_f32(const float *from)
{
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif defined(__AVX2__)
    return _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
    weiri_vf narrow = *(const weiri_vf_loose *)from;
    return __builtin_convertvector(narrow, weiri_vd);
#endif
}

WEIRI_INLINE void weiri_vd_store_f64(double *to, weiri_vd value)
{
    *(weiri_vd_loose *)to = value;
}

WEIRI_INLINE void weiri_vd_store_f32(float *to, weiri_vd value)
{
#if defined(__AVX512F__)
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(value));
#elif defined(__AVX2__)
    _mm_storeu_ps(to, _mm256_cvtpd_ps(value));
#else
    weiri_vf narrow = __builtin_convertvector(value, weiri_vf);
    *(weiri_vf_loose *)to = narrow;
#endif
}

WEIRI_INLINE weiri_vd weiri_vd_all(double value)
{
    return value - (weiri_vd){0}; /* - and not +: keeps the sign of -0 */
}

/* a * b + c, and a * b - c. */
WEIRI_INLINE weiri_vd weiri_vd_fma(weiri_vd a, weiri_vd b, weiri_vd c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_pd(a, b, c);
#else
    return a * b + c;
#endif
}

WEIRI_INLINE weiri_vd weiri_vd_fms(weiri_vd a, weiri_vd b, weiri_vd c)
{
#if defined(__AVX512F__)
    return _mm512_fmsub_pd(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmsub_pd(a, b, c);
#else
    return a * b - c;
#endif
}

/* a + b where many conversions are done too, which some processors (Zen) execute in their
 * adders: this uses the multipliers, with the same bits. */
WEIRI_INLINE weiri_vd weiri_vd_add_beside(weiri_vd a, weiri_vd b)
{
#if defined(__FMA__)
    return weiri_vd_fma(weiri_vd_all(1.0), a, b);
#else
    return a + b;
#endif
}

/* All ones where a comparison is true; also any vector as bits. */
typedef int64_t weiri_bits __attribute__((vector_size(WEIRI_VECTOR)));

WEIRI_INLINE bool weiri_all_ones(weiri_bits where)
{
#if defined(__AVX512F__)
    return _mm512_cmpeq_epi64_mask((__m512i)where, _mm512_set1_epi64(-1)) == 0xff;
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)where) == 0xff;
#else
    int64_t all = -1;
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        all &= where[i];
    }
    return all == -1;
#endif
}

WEIRI_INLINE weiri_bits weiri_blend(weiri_bits where, weiri_bits yes, weiri_bits no)
{
#if defined(__AVX512F__)
    return (weiri_bits)_mm512_ternarylogic_epi64((__m512i)where, (__m512i)yes, (__m512i)no, 0xca);
#elif defined(__AVX2__)
    return (weiri_bits)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)where);
#else
    return (where & yes) | (~where & no);
#endif
}

WEIRI_INLINE weiri_vd weiri_vd_sqrt(weiri_vd a)
{
#if defined(__AVX512F__)
    return _mm512_sqrt_pd(a);
#elif defined(__AVX2__)
    return _mm256_sqrt_pd(a);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(a);
#else
    for (int i = 0; i < WEIRI_VECTOR_DOUBLES; i++) {
        a[i] = __builtin_sqrt(a[i]);
    }
    return a;
#endif
}

#endif
