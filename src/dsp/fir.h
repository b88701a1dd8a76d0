/* SPDX-License-Identifier: MIT
 *
 * fir.h: taps of filters with a finite impulse response from their specification: windowed sinc (firwin), Kaiser's
 * formulas. Parks-McClellan: remez.h. Knows nothing of units or streams.
 */
#ifndef WEIRI_FIR_H
#define WEIRI_FIR_H

#include "dsp/windows.h"

/* Bands that pass, in fractions of the Nyquist frequency: edges rise, 0 < edge < 1. */
typedef struct weiri_fir_bands {
    const double *edges;
    size_t count;
    bool pass_zero; /* 0 Hz passes, and the bands alternate from there */
} weiri_fir_bands;

/* Whether the Nyquist frequency passes: the number of taps must be odd then. */
bool weiri_fir_passes_nyquist(const weiri_fir_bands *bands);

/* The ideal response to 1..count taps, times the window (symmetric). scale: the response is 1 in the middle of the
 * first band that passes; at 0 where that begins there, at the Nyquist frequency where it ends there. */
void weiri_fir_windowed(const weiri_fir_bands *bands,
                        const weiri_window *window,
                        bool scale,
                        size_t count,
                        double *ret_taps);

/* Kaiser's formulas (attenuation in dB, width in fractions of the Nyquist frequency): what count taps reach, the
 * window's shape for it, and the least number of taps. */
double weiri_kaiser_attenuation(size_t count, double width);
double weiri_kaiser_beta(double attenuation_db);
double weiri_kaiser_count(double attenuation_db, double width);

/* Where the response is centred, in frames: the group delay at 0 Hz, of a symmetric or antisymmetric filter at all
 * frequencies; of others whose gain at 0 Hz is about 0, the centre of its energy. */
double weiri_fir_delay(const double *taps, size_t count);

#endif
