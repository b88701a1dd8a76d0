/* SPDX-License-Identifier: MIT
 *
 * limits.c: see limits.h. Each loop keeps twelve accumulators: two multiply-adds a cycle of four cycles'
 * latency need eight, and sixteen registers hold twelve with their constants.
 */
#include "limits.h"

#include "kernel/vector.h"

#define TEXT2(a) #a
#define TEXT(a)  TEXT2(a)

typedef weiri_vd vd;
enum { LANES = WEIRI_VECTOR_DOUBLES, UNROLL = 4 };

/* Makes the compiler assume that the value has changed, so that it neither hoists, merges nor
 * removes what computed it. */
#if defined(__x86_64__)
#if defined(__AVX512F__)
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#else
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#endif
#elif defined(__aarch64__)
#define KEEP(v) __asm__ volatile("" : "+w"(v))
#else
#define KEEP(v) __asm__ volatile("" : "+m"(v))
#endif

#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

static void multiply_adds(size_t rounds)
{
    vd half = weiri_vd_all(0.5),
       one = weiri_vd_all(1.0); /* towards 2: never subnormal or infinite */
#define START(i) vd a##i = weiri_vd_all(1.0 + i);
    TWELVE(START)
    for (size_t round = 0; round < rounds; round++) {
        KEEP(half);
#define STEP(i)                                                                                    \
    a##i = weiri_vd_fma(a##i, half, one);                                                          \
    KEEP(a##i);
        TWELVE(STEP)
        TWELVE(STEP)
    }
#undef STEP
}

/* Nine of the accumulators are multiplied, which hides the latency; four more are added to. */
#if defined(__FMA__)
#define MULTIPLIED(X)                                                                              \
    X(0, 0, 1)                                                                                     \
    X(1, 2, 3) X(2, 4, 5) X(3, 6, 7) X(0, 8, 0) X(1, 1, 2) X(2, 3, 4) X(3, 5, 6) X(1, 7, 8)
enum { SECTIONS = 9 };
#else /* products need registers too */
#define MULTIPLIED(X) X(0, 0, 1) X(1, 2, 3) X(2, 4, 5) X(3, 6, 7)
enum { SECTIONS = 4 };
#endif

static void sections(size_t rounds)
{
    vd half = weiri_vd_all(0.5), one = weiri_vd_all(1.0);
    vd y0 = one, y1 = one, y2 = one, y3 = one;
    TWELVE(START)
    for (size_t round = 0; round < rounds; round++) {
        KEEP(half);
#define STEP(sum, s1, s2)                                                                          \
    y##sum = y##sum + one;                                                                         \
    a##s1 = weiri_vd_fma(a##s1, half, one);                                                        \
    a##s2 = weiri_vd_fms(a##s2, half, one);                                                        \
    KEEP(y##sum);                                                                                  \
    KEEP(a##s1);                                                                                   \
    KEEP(a##s2);
        MULTIPLIED(STEP)
    }
    (void)a8, (void)a9, (void)a10, (void)a11; /* not all are used at each level */
}

static void copy(void *to, const void *from, size_t bytes)
{
    double *out = to;
    const double *in = from;
    for (size_t i = 0; i < bytes / sizeof(double); i += UNROLL * LANES) {
        vd v[UNROLL];
        for (int k = 0; k < UNROLL; k++) {
            v[k] = weiri_vd_load_f64(in + i + (size_t)k * LANES);
        }
        for (int k = 0; k < UNROLL; k++) {
            weiri_vd_store_f64(out + i + (size_t)k * LANES, v[k]);
        }
    }
    __asm__ volatile("" : : "r"(to) : "memory");
}

static double read(const void *from, size_t bytes)
{
    const double *in = from;
    vd sums[2 * UNROLL] = {{0}};
    for (size_t i = 0; i < bytes / sizeof(double); i += 2 * UNROLL * LANES) {
        for (int k = 0; k < 2 * UNROLL; k++) {
            sums[k] += weiri_vd_load_f64(in + i + (size_t)k * LANES);
        }
    }
    double sum = 0;
    for (int k = 0; k < 2 * UNROLL; k++) {
        sum += sums[k][0];
    }
    return sum;
}

extern const bench_limits WEIRI_JOIN(bench_limits, WEIRI_LEVEL);
const bench_limits WEIRI_JOIN(bench_limits, WEIRI_LEVEL) = {
    .level = TEXT(WEIRI_LEVEL),
    .vector_bytes = WEIRI_VECTOR,
#ifdef __FMA__
    .fused = true,
#endif
    .multiply_adds = multiply_adds,
    .multiply_adds_a_round = 24,
    .sections = sections,
    .sections_a_round = SECTIONS,
    .copy = copy,
    .read = read,
};
