/* SPDX-License-Identifier: MIT
 *
 * rms_bandpower.c: the power of one frequency band in bins of time: band-pass, square, mean of each bin, square root.
 */
#include "unit/unit.h"

typedef struct rms_settings {
    const weir_value *bandpass;
    double bin_duration_s;
    bool apply_sqrt;
} rms_settings;

static const weir_setting table[] = {
    {.name = "bandpass",
     .type = WEIR_SETTING_ANY,
     .preset = NULL,
     .offset = offsetof(rms_settings, bandpass),
     .help = "settings of butterworth: order, and the band from cuton to cutoff",
     .example = "{order: 4, cuton: 300 Hz, cutoff: 1 kHz}"},
    {.name = "bin_duration",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "50 ms",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(rms_settings, bin_duration_s),
     .help = "duration of a bin, floor(duration x rate) frames, computed as decimals",
     .example = "10 ms"},
    {.name = "apply_sqrt",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(rms_settings, apply_sqrt),
     .help = "true: root of the mean square; false: mean square"},
    {.name = "materialize",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = NULL},
};

static weir_err expand(const void *settings, weiri_expansion *to)
{
    const rms_settings *set = settings;
    weir_value square = weir_number("exponent", 2.0), root = weir_number("exponent", 0.5);
    weir_value bins[] = {weiri_expand_given(to, "bin_duration", "bin_duration"),
                         weir_bool("fractional", false)};
    weir_err err = weiri_expand_nested(to, "bandpass", "bandpass", "butterworth");
    if (err == WEIR_OK) {
        err = to->add(to, "square", "pow", &square, 1);
    }
    if (err == WEIR_OK) {
        err = to->add(to, "bins", "binned_aggregate", bins, 2);
    }
    return err != WEIR_OK || !set->apply_sqrt ? err : to->add(to, "sqrt", "pow", &root, 1);
}

const weiri_unit_ops weiri_unit_rms_bandpower = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "rms_bandpower",
             .summary = "RMS of a frequency band in bins: band-pass, square, mean, square root",
             .formula = "y[k] = sqrt(mean of b[n]^2 over the frames of bin k), where b is the "
                        "band-passed x. Stands for butterworth, pow, binned_aggregate and pow.",
             .start = "As butterworth starts.",
             .ezmsg = "singlebandpow.RMSBandPowerTransformer",
             .differs = "bandpass has no default band, so it must be given. A bin's length is "
                        "computed from decimals: 9 ms at 25 kHz are 225 frames.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(rms_settings),
    .expand = expand,
};
