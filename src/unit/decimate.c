/* SPDX-License-Identifier: MIT
 *
 * decimate.c: every k-th frame after a low-pass against aliasing: chebyshev, downsample.
 */
#include "unit/unit.h"

#include <math.h>

typedef struct decimate_settings {
    const char *axis;
    double target_rate_hz;
    int64_t factor;
} decimate_settings;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(decimate_settings, axis),
     .help = "name of the stream's dimension; no other is allowed"},
    {.name = "target_rate",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(decimate_settings, target_rate_hz),
     .help = "target rate, rounded up to input rate / integer; the filter's edge is 0.4 of it as "
             "given"},
    {.name = "factor",
     .type = WEIR_SETTING_INTEGER,
     .preset = "null",
     .min = 1,
     .max = 4294967296.0,
     .offset = offsetof(decimate_settings, factor),
     .help = "keep every factor-th frame; overrides target_rate",
     .example = "4"},
    {.name = NULL},
};

static weir_err expand(const void *settings, weiri_expansion *to)
{
    const decimate_settings *set = settings;
    bool by_factor = set->factor != INT64_MIN;
    if (!by_factor && isnan(set->target_rate_hz)) {
        return weiri_fail(WEIR_E_CHAIN, "factor: is required, or target_rate");
    }
    double edge = by_factor ? 0.8 / (double)set->factor : 0.4 * set->target_rate_hz;
    weir_value filter[] = {
        weir_number("order", 8),         weir_number("ripple_tol", 0.05),
        weir_number("Wn", edge),         weir_bool("wn_hz", !by_factor),
        weir_bool("for_decimate", true), weiri_expand_given(to, "axis", "axis"),
    };
    weir_value frames[] = {
        weiri_expand_given(to, "target_rate", "target_rate"),
        weiri_expand_given(to, "factor", "factor"),
    };
    weir_err err = to->add(to, "filter", "chebyshev", filter, 6);
    return err == WEIR_OK ? to->add(to, "downsample", "downsample", frames, 2) : err;
}

const weiri_unit_ops weiri_unit_decimate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "decimate",
             .summary = "every k-th frame after a low-pass against aliasing: chebyshev, downsample",
             .formula =
                 "A Chebyshev low-pass of type 1, order 8, ripple 0.05 dB, edge 0.8 / factor "
                 "of the Nyquist frequency or 0.4 target_rate; then every k-th frame. With a "
                 "factor of 1 there is no filter.",
             .start = "As chebyshev starts.",
             .ezmsg = "decimate.Decimate",
             .differs = "A target_rate that is the input's rate / k gives k in decimals: 30 kHz to "
                        "10 kHz is every 3rd frame (ezmsg-sigproc: every 2nd).",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(decimate_settings),
    .expand = expand,
};
