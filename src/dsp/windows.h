/* SPDX-License-Identifier: MIT
 *
 * windows.h: window functions by name, as scipy.signal.get_window knows them, with their parameters and all of its
 * other names: for the design of filters (symmetric) and for spectra (periodic).
 */
#ifndef WEIRI_WINDOWS_H
#define WEIRI_WINDOWS_H

#include <weir/base.h>

#include <stdbool.h>
#include <stddef.h>

#define WEIRI_WINDOW_PARAMS 16 /* most coefficients of a general_cosine window */

/* A window function and its parameters. Plain data. */
typedef struct weiri_window {
    int kind; /* row of the table in windows.c */
    size_t count;
    double params[WEIRI_WINDOW_PARAMS]; /* NAN = not given where that is allowed */
    int shape; /* 1: symmetric, -1: periodic, whatever the caller asks for (hann_periodic); 0: as asked */
} weiri_window;

/* Reads a setting's value: a name (hann), a list of a name and its parameters ([kaiser, 8.6],
 * [general_cosine, [0.5, 0.5]]), or a number, the beta of a Kaiser window. NULL or null: boxcar. WEIR_E_CHAIN:
 * the detail starts with `setting` and lists the names. */
weir_err weiri_window_read(const char *setting, const weir_value *value, weiri_window *ret_window);

weiri_window weiri_window_kaiser(double beta);

/* Whether `count` samples of it can be computed: dpss is too wide for few, kaiser_bessel_derived is for an even
 * number. WEIR_E_CHAIN: the detail starts with `setting`. */
weir_err
weiri_window_check(const char *setting, const weiri_window *window, size_t count, bool periodic);

/* Writes count samples of a window that was checked. periodic: the first `count` of the symmetric window that has
 * one sample more. A window of one sample is 1. Takes count steps; chebwin count^2 / 4. */
void weiri_window_fill(const weiri_window *window,
                       size_t count,
                       bool periodic,
                       double *ret_samples);

/* Name of the window, for notices and errors. */
const char *weiri_window_name(const weiri_window *window);

#endif
