/* SPDX-License-Identifier: MIT
 *
 * taps.c: weighted sums over rows of WEIRI_BLOCK columns, some outputs at once, in float64: a row is loaded and widened
 * once for all of them. Each output is one sum in the order of the rows, and rows whose weight is 0 do not change it,
 * so its bits do not depend on which others are computed with it (S1).
 */
#include "kernel/vector.h"

#define D WEIRI_VECTOR_DOUBLES
#define N WEIRI_BLOCK
#if defined(__AVX512F__)
#define WIDE 2 /* vectors at a time, if there are registers for them */
#else
#define WIDE 1
#endif

/* Sums of a column pair of vectors -> out, of which `lanes` columns are needed. */
#define STORE(type_name, type)                                                                     \
    WEIRI_INLINE void store_##type_name(type *to, weiri_vd value, size_t lanes)                    \
    {                                                                                              \
        if (lanes >= D) {                                                                          \
            weiri_vd_store_##type_name(to, value);                                                 \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < lanes; i++) {                                                       \
            to[i] = (type)value[i];                                                                \
        }                                                                                          \
    }

STORE(f32, float)
STORE(f64, double)

#define TAPS(type_name, type)                                                                        \
    /* taps[k][j] is the weight of row j in output k */                                              \
    WEIRI_INLINE void shared_##type_name(const type *rows, size_t count,                             \
                                         const double *const *taps, type *out, size_t stride,        \
                                         size_t lanes, size_t outputs)                               \
    {                                                                                                \
        for (size_t c = 0; c < lanes; c += 2 * D) {                                                  \
            weiri_vd sum[4][2] = {{{0}}};                                                            \
            for (size_t j = 0; j < count; j++) {                                                     \
                weiri_vd a = weiri_vd_load_##type_name(rows + j * N + c);                            \
                weiri_vd b = weiri_vd_load_##type_name(rows + j * N + c + D);                        \
                for (size_t k = 0; k < outputs; k++) {                                               \
                    weiri_vd tap = weiri_vd_all(taps[k][j]);                                         \
                    sum[k][0] = weiri_vd_fma(a, tap, sum[k][0]);                                     \
                    sum[k][1] = weiri_vd_fma(b, tap, sum[k][1]);                                     \
                }                                                                                    \
            }                                                                                        \
            for (size_t k = 0; k < outputs; k++) {                                                   \
                store_##type_name(out + k * stride + c, sum[k][0], lanes - c);                       \
                store_##type_name(out + k * stride + c + D, sum[k][1],                               \
                                  lanes - c > D ? lanes - c - D : 0);                                \
            }                                                                                        \
        }                                                                                            \
    }                                                                                                \
                                                                                                     \
    void WEIRI_K(taps_##type_name)(const type *rows, size_t count, const double *const *taps,        \
                                   type *out, size_t stride, size_t lanes, size_t outputs)           \
    {                                                                                                \
        switch (outputs) {                                                                           \
        case 1:                                                                                      \
            shared_##type_name(rows, count, taps, out, stride, lanes, 1);                            \
            break;                                                                                   \
        case 2:                                                                                      \
            shared_##type_name(rows, count, taps, out, stride, lanes, 2);                            \
            break;                                                                                   \
        case 3:                                                                                      \
            shared_##type_name(rows, count, taps, out, stride, lanes, 3);                            \
            break;                                                                                   \
        default:                                                                                     \
            shared_##type_name(rows, count, taps, out, stride, lanes, 4);                            \
            break;                                                                                   \
        }                                                                                            \
    }                                                                                                \
                                                                                                     \
    /* taps[count x N]: output k is the sum of rows k to k + count - 1 */                            \
    WEIRI_INLINE void one_##type_name(const type *rows, size_t count, const double *taps,            \
                                      type *out, size_t lanes)                                       \
    {                                                                                                \
        for (size_t c = 0; c < lanes; c += D) {                                                      \
            weiri_vd sum = {0};                                                                      \
            for (size_t j = 0; j < count; j++) {                                                     \
                sum = weiri_vd_fma(weiri_vd_load_##type_name(rows + j * N + c),                      \
                                   weiri_vd_load_f64(taps + j * N + c), sum);                        \
            }                                                                                        \
            store_##type_name(out + c, sum, lanes - c);                                              \
        }                                                                                            \
    }                                                                                                \
                                                                                                     \
    /* Four of them: each row and each tap is loaded once, the four newest rows stay in registers */ \
    WEIRI_INLINE void four_##type_name(const type *rows, size_t count, const double *taps,           \
                                       type *out, size_t stride, size_t lanes)                       \
    {                                                                                                \
        for (size_t c = 0; c < lanes; c += WIDE * D) {                                               \
            weiri_vd sum[4][WIDE] = {{{0}}}, x[4][WIDE];                                             \
            for (size_t i = 0; i < 3 * WIDE; i++) {                                                  \
                x[i / WIDE][i % WIDE] =                                                              \
                    weiri_vd_load_##type_name(rows + i / WIDE * N + c + i % WIDE * D);               \
            }                                                                                        \
            size_t j = 0;                                                                            \
            for (; j + 4 <= count; j += 4) {                                                         \
                for (size_t i = 0; i < 4; i++) {                                                     \
                    for (size_t w = 0; w < WIDE; w++) {                                              \
                        size_t at = (j + i) * N + c + w * D;                                         \
                        weiri_vd tap = weiri_vd_load_f64(taps + at);                                 \
                        x[(i + 3) % 4][w] = weiri_vd_load_##type_name(rows + at + 3 * N);            \
                        sum[0][w] = weiri_vd_fma(x[i][w], tap, sum[0][w]);                           \
                        sum[1][w] = weiri_vd_fma(x[(i + 1) % 4][w], tap, sum[1][w]);                 \
                        sum[2][w] = weiri_vd_fma(x[(i + 2) % 4][w], tap, sum[2][w]);                 \
                        sum[3][w] = weiri_vd_fma(x[(i + 3) % 4][w], tap, sum[3][w]);                 \
                    }                                                                                \
                }                                                                                    \
            }                                                                                        \
            for (; j < count; j++) {                                                                 \
                for (size_t i = 0; i < 4 * WIDE; i++) {                                              \
                    size_t k = i / WIDE, w = i % WIDE, at = j * N + c + w * D;                       \
                    sum[k][w] = weiri_vd_fma(weiri_vd_load_##type_name(rows + at + k * N),           \
                                             weiri_vd_load_f64(taps + at), sum[k][w]);               \
                }                                                                                    \
            }                                                                                        \
            for (size_t i = 0; i < 4 * WIDE; i++) {                                                  \
                size_t at = c + i % WIDE * D;                                                        \
                store_##type_name(out + i / WIDE * stride + at, sum[i / WIDE][i % WIDE],             \
                                  lanes > at ? lanes - at : 0);                                      \
            }                                                                                        \
        }                                                                                            \
    }                                                                                                \
                                                                                                     \
    void WEIRI_K(taps_each_##type_name)(const type *rows, size_t count, const double *taps,          \
                                        type *out, size_t stride, size_t lanes, size_t outputs)      \
    {                                                                                                \
        size_t k = 0;                                                                                \
        for (; k + 4 <= outputs; k += 4) {                                                           \
            four_##type_name(rows + k * N, count, taps, out + k * stride, stride, lanes);            \
        }                                                                                            \
        for (; k < outputs; k++) {                                                                   \
            one_##type_name(rows + k * N, count, taps, out + k * stride, lanes);                     \
        }                                                                                            \
    }

TAPS(f32, float)
TAPS(f64, double)
