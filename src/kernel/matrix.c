/* SPDX-License-Identifier: MIT
 *
 * matrix.c: rows times one panel of a matrix: up to WEIRI_PANEL_BYTES of adjacent outputs, columns
 * in vector lanes, several rows at a time so that each loaded weight is used for all of them.
 *
 * Each output is offset + x[0] w[0] + x[1] w[1] + ..., in this order, by multiply-adds in the
 * samples' type, whatever the number of rows (S1). Inputs that no output of the panel uses are not
 * read: for a block-diagonal matrix, or any other sparse one, only the blocks are computed.
 */
#include "kernel/vector.h"

/* Rows x 2 vectors of sums stay in registers, together with 2 vectors of weights and a sample. */
#if defined(__AVX512F__)
enum { ROWS = 12 };
#else
enum { ROWS = 6 };
#endif
enum { FEW = 3 };

typedef float vf __attribute__((vector_size(WEIRI_VECTOR)));
typedef float vf_loose __attribute__((vector_size(WEIRI_VECTOR), aligned(4), may_alias));

WEIRI_INLINE vf fma_f32(vf a, vf b, vf c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

#define UNROLL_ROWS _Pragma("GCC unroll 12")

#define MATRIX(type_name, type, v, v_loose, fma)                                                   \
    WEIRI_INLINE void rows_##type_name(size_t rows, const type *in, size_t stride, size_t step,    \
                                       const weiri_panel *panel, type *out, size_t out_stride,     \
                                       size_t out_step)                                            \
    {                                                                                              \
        enum { LANES = WEIRI_VECTOR / sizeof(type), PANEL = WEIRI_PANEL_BYTES / sizeof(type) };    \
        const type *offsets = panel->weights;                                                      \
        const uint32_t *inputs = panel->inputs, *outputs = panel->outputs;                         \
        for (size_t at = 0; at < panel->width; at += 2 * LANES) {                                  \
            v sums[ROWS][2];                                                                       \
            UNROLL_ROWS                                                                            \
            for (size_t r = 0; r < rows; r++) {                                                    \
                sums[r][0] = *(const v_loose *)(offsets + at);                                     \
                sums[r][1] = *(const v_loose *)(offsets + at + LANES);                             \
            }                                                                                      \
            const type *weights = offsets + PANEL + at;                                            \
            for (size_t i = 0; i < panel->input_count; i++, weights += PANEL) {                    \
                v w0 = *(const v_loose *)weights, w1 = *(const v_loose *)(weights + LANES);        \
                const type *x = in + inputs[i] * step;                                             \
                UNROLL_ROWS                                                                        \
                for (size_t r = 0; r < rows; r++) {                                                \
                    v all = x[r * stride] - (v){0};                                                \
                    sums[r][0] = fma(all, w0, sums[r][0]);                                         \
                    sums[r][1] = fma(all, w1, sums[r][1]);                                         \
                }                                                                                  \
            }                                                                                      \
            size_t some = panel->width - at < 2 * LANES ? panel->width - at : 2 * LANES;           \
            if (panel->adjacent && out_step == 1 && some == 2 * LANES) {                           \
                UNROLL_ROWS                                                                        \
                for (size_t r = 0; r < rows; r++) {                                                \
                    type *to = out + r * out_stride + outputs[at];                                 \
                    *(v_loose *)to = sums[r][0];                                                   \
                    *(v_loose *)(to + LANES) = sums[r][1];                                         \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            type values[ROWS][2 * LANES];                                                          \
            UNROLL_ROWS                                                                            \
            for (size_t r = 0; r < rows; r++) {                                                    \
                *(v_loose *)values[r] = sums[r][0];                                                \
                *(v_loose *)(values[r] + LANES) = sums[r][1];                                      \
            }                                                                                      \
            for (size_t r = 0; r < rows; r++) {                                                    \
                for (size_t j = 0; j < some; j++) {                                                \
                    out[r * out_stride + outputs[at + j] * out_step] = values[r][j];               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void WEIRI_K(matrix_##type_name)(const type *in, size_t stride, size_t step, size_t rows,      \
                                     const weiri_panel *panel, type *out, size_t out_stride,       \
                                     size_t out_step)                                              \
    {                                                                                              \
        size_t row = 0;                                                                            \
        for (; row + ROWS <= rows; row += ROWS) {                                                  \
            rows_##type_name(ROWS, in + row * stride, stride, step, panel, out + row * out_stride, \
                             out_stride, out_step);                                                \
        }                                                                                          \
        for (; row + FEW <= rows; row += FEW) {                                                    \
            rows_##type_name(FEW, in + row * stride, stride, step, panel, out + row * out_stride,  \
                             out_stride, out_step);                                                \
        }                                                                                          \
        for (; row < rows; row++) {                                                                \
            rows_##type_name(1, in + row * stride, stride, step, panel, out + row * out_stride,    \
                             out_stride, out_step);                                                \
        }                                                                                          \
    }

MATRIX(f32, float, vf, vf_loose, fma_f32)
MATRIX(f64, double, weiri_vd, weiri_vd_loose, weiri_vd_fma)
