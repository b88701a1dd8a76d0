/* SPDX-License-Identifier: MIT
 *
 * windowed.h: the bands of filters by the window method: settings that fir, kaiser and filterbank_design share.
 */
#ifndef WEIRI_WINDOWED_H
#define WEIRI_WINDOWED_H

#include "dsp/fir.h"
#include "unit/convolve.h"

typedef struct weiri_windowed_settings {
    weir_list cutoff;
    int pass_zero;
    bool wn_hz;
    const char *axis;
} weiri_windowed_settings;

extern const weir_choice weiri_pass_zero[];

/* Checks them; edges are in memory of the plan. */
weir_err weiri_windowed_bands(const weiri_windowed_settings *settings,
                              weiri_unit_plan *plan,
                              weiri_fir_bands *ret_bands);

#define WEIRI_WINDOWED_SETTINGS(owner, member)                                                     \
    {.name = "cutoff",                                                                             \
     .type = WEIR_SETTING_LIST,                                                                    \
     .kind = WEIR_FREQUENCY,                                                                       \
     .preset = "null",                                                                             \
     .offset = offsetof(owner, member.cutoff),                                                     \
     .help = "edge, or a list of rising edges; the gain there is 0.5; a change while running "     \
             "keeps the filter's state",                                                           \
     .example = "3 kHz",                                                                           \
     .live = true},                                                                                \
        {.name = "pass_zero",                                                                      \
         .type = WEIR_SETTING_ENUM,                                                                \
         .preset = "true",                                                                         \
         .choices = weiri_pass_zero,                                                               \
         .offset = offsetof(owner, member.pass_zero),                                              \
         .help = "true: the band from 0 Hz to the first edge passes, the next does not, and so "   \
                 "on; false: the other bands pass; or the kind of filter"},                        \
        {.name = "wn_hz",                                                                          \
         .type = WEIR_SETTING_BOOL,                                                                \
         .preset = "true",                                                                         \
         .offset = offsetof(owner, member.wn_hz),                                                  \
         .help = "false: frequencies are fractions of the Nyquist frequency, plain numbers from "  \
                 "0 to 1"},                                                                        \
        WEIRI_AXIS_SETTING(owner, member.axis)

#endif
