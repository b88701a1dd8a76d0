/* SPDX-License-Identifier: MIT
 *
 * iir.h: what units share that filter by second-order sections, however these were designed: checks of edges and
 * designs, plan, constants and run. Such a unit is a settings table, and a plan that turns settings and rate into
 * sections.
 */
#ifndef WEIRI_IIR_H
#define WEIRI_IIR_H

#include "dsp/design.h"
#include "dsp/sos.h"
#include "unit/recursive.h"

/* Edges as a setting gives them: in Hz, or as fractions of the Nyquist frequency. */
typedef struct weiri_edges {
    double rate_hz;
    bool wn_hz;
} weiri_edges;

/* In fractions of the rate; NAN stays. */
double weiri_edge_of(const weiri_edges *edges, double frequency);
/* Fails unless it lies between 0 and the Nyquist frequency. */
weir_err weiri_edge_check(const weiri_edges *edges, const char *name, double frequency);

/* Sections of a prototype in a band (weiri_design_sections). Fails where float64 does not hold them (S8): an edge is so
 * near 0 Hz or the Nyquist frequency that the poles' distance from it rounds. name and frequency: of the setting to
 * blame. */
weir_err weiri_iir_design(const weiri_edges *edges,
                          const char *name,
                          double frequency,
                          int order,
                          const weiri_zpk *prototype,
                          weiri_band band,
                          double low,
                          double high,
                          weiri_sos_params *ret_sections);

/* For plan: without sections the signal passes through. The sections are kept for the other functions of such a unit,
 * which are these. */
weir_err weiri_iir_plan(weiri_unit_plan *plan, const weiri_sos_params *sections);
void weiri_iir_prepare(const void *settings, const weiri_unit_plan *plan, void *constants);
uint64_t weiri_iir_settle(const void *settings, const weiri_unit_plan *plan, double tolerance);
void weiri_iir_run(weiri_block *block, const weiri_work *work);

/* Butterworth filters: settings of three units. */
typedef struct weiri_butterworth {
    int64_t order;
    double cuton, cutoff; /* NAN = not given */
    bool wn_hz;
    const char *axis;
} weiri_butterworth;

/* Every error of these settings; no sections for order 0. */
weir_err weiri_butterworth_design(const weiri_butterworth *settings,
                                  const weir_spec *in,
                                  weiri_sos_params *ret_sections);

/* Rows of tables. */
#define WEIRI_BUTTERWORTH_SETTINGS(owner, member, is_live)                                         \
    {.name = "order",                                                                              \
     .type = WEIR_SETTING_INTEGER,                                                                 \
     .min = 0,                                                                                     \
     .max = WEIRI_ORDER_MAX,                                                                       \
     .offset = offsetof(owner, member.order),                                                      \
     .help = "prototype low-pass order; 0 passes the signal through unchanged",                    \
     .example = "4"},                                                                              \
        {.name = "cuton",                                                                          \
         .type = WEIR_SETTING_QUANTITY,                                                            \
         .kind = WEIR_FREQUENCY,                                                                   \
         .preset = "null",                                                                         \
         .offset = offsetof(owner, member.cuton),                                                  \
         .help = "lower edge: alone a high-pass; below cutoff a band-pass, above it a band-stop"   \
                 "" is_live,                                                                       \
         .example = "300 Hz",                                                                      \
         .live = sizeof is_live > 1},                                                              \
        {.name = "cutoff",                                                                         \
         .type = WEIR_SETTING_QUANTITY,                                                            \
         .kind = WEIR_FREQUENCY,                                                                   \
         .preset = "null",                                                                         \
         .offset = offsetof(owner, member.cutoff),                                                 \
         .help = "upper edge: alone a low-pass" is_live,                                           \
         .example = "6 kHz",                                                                       \
         .live = sizeof is_live > 1},                                                              \
        {.name = "wn_hz",                                                                          \
         .type = WEIR_SETTING_BOOL,                                                                \
         .preset = "true",                                                                         \
         .offset = offsetof(owner, member.wn_hz),                                                  \
         .help =                                                                                   \
             "false: edges are fractions of the Nyquist frequency, plain numbers from 0 to 1"},    \
        WEIRI_AXIS_SETTING(owner, member.axis)

#define WEIRI_AXIS_SETTING(owner, member)                                                          \
    {                                                                                              \
        .name = "axis", .type = WEIR_SETTING_STRING, .preset = "null",                             \
        .offset = offsetof(owner, member),                                                         \
        .help = "name of the stream's dimension; no other is allowed"                              \
    }

#define WEIRI_IGNORED_SETTING(setting_name)                                                        \
    {                                                                                              \
        .name = setting_name, .type = WEIR_SETTING_IGNORED,                                        \
        .help = "accepted for ezmsg-sigproc compatibility; ignored"                                \
    }

#define WEIRI_COEF_TYPE_IGNORED                                                                    \
    {                                                                                              \
        .name = "coef_type", .type = WEIR_SETTING_IGNORED,                                         \
        .help = "accepted for ezmsg-sigproc compatibility; ignored: always second-order sections"  \
    }

#define WEIRI_IGNORED_FILTER_SETTINGS                                                              \
    WEIRI_IGNORED_SETTING("use_fast_sosfilt"), WEIRI_IGNORED_SETTING("use_mlx_metal"),             \
        WEIRI_IGNORED_SETTING("mlx_metal_chunk_sizes"), WEIRI_IGNORED_SETTING("thread_min_bytes"), \
        WEIRI_IGNORED_SETTING("fir_fft_min_taps")

#endif
