/* SPDX-License-Identifier: MIT
 *
 * line.c: one frame and a sinusoid common to all columns: estimates its phasor in each column and
 * subtracts it.
 */
#include "kernel/kernel.h"

#include <math.h>

#define DEMODULATE(name, type)                                                                     \
    void WEIRI_K(name)(const type *row, const type *minus, size_t columns, double cosine,          \
                       double sine, double *real, double *imag)                                    \
    {                                                                                              \
        for (size_t c = 0; c < columns; c++) {                                                     \
            double x = (double)row[c] - (minus != NULL ? (double)minus[c] : 0.0);                  \
            x = x - x == 0.0 ? x : 0.0;                                                            \
            real[c] = WEIRI_FMA(x, cosine, real[c]);                                               \
            imag[c] = WEIRI_FMA(x, sine, imag[c]);                                                 \
        }                                                                                          \
    }

#define SUBTRACT(name, type)                                                                       \
    void WEIRI_K(name)(const type *in, type *out, size_t columns, const double *amplitudes,        \
                       const double *cosines, size_t count)                                        \
    {                                                                                              \
        for (size_t c = 0; c < columns; c++) {                                                     \
            double x = (double)in[c], line = 0.0;                                                  \
            for (size_t k = 0; k < count; k++) {                                                   \
                line = WEIRI_FMA(amplitudes[k * columns + c], cosines[k], line);                   \
            }                                                                                      \
            out[c] = (type)(x - x == 0.0 ? x - line : (double)NAN);                                \
        }                                                                                          \
    }

DEMODULATE(demodulate_f32, float)
DEMODULATE(demodulate_f64, double)
SUBTRACT(subtract_line_f32, float)
SUBTRACT(subtract_line_f64, double)
