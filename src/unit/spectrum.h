/* SPDX-License-Identifier: MIT
 *
 * spectrum.h: choices of window and spectrum, which the units that stand for both have too.
 */
#ifndef WEIRI_SPECTRUM_H
#define WEIRI_SPECTRUM_H

#include "unit/unit.h"

#define WEIRI_SPECTRUM_WINDOW_HELP                                                                 \
    "window function: none, hamming, hanning, bartlett, blackman, or any other that fir knows, "   \
    "symmetric"

extern const weir_choice weiri_window_anchors[];      /* window.c */
extern const weir_choice weiri_spectrum_transforms[]; /* spectrum.c */
extern const weir_choice weiri_spectrum_outputs[];    /* spectrum.c */

#endif
