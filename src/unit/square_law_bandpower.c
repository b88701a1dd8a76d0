/* SPDX-License-Identifier: MIT
 *
 * square_law_bandpower.c: the power of one frequency band over time: band-pass, square, low-pass, every k-th frame.
 */
#include "unit/unit.h"

typedef struct square_law_settings {
    const weir_value *bandpass, *lowpass, *downsample;
} square_law_settings;

static const weir_setting table[] = {
    {.name = "bandpass",
     .type = WEIR_SETTING_ANY,
     .preset = NULL,
     .offset = offsetof(square_law_settings, bandpass),
     .help = "settings of butterworth: order, and the band from cuton to cutoff",
     .example = "{order: 4, cuton: 300 Hz, cutoff: 1 kHz}"},
    {.name = "lowpass",
     .type = WEIR_SETTING_ANY,
     .preset = NULL,
     .offset = offsetof(square_law_settings, lowpass),
     .help = "settings of butterworth for the squared signal: order and cutoff",
     .example = "{order: 4, cutoff: 100 Hz}"},
    {.name = "downsample",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(square_law_settings, downsample),
     .help = "settings of downsample: target_rate or factor; null: every frame is output",
     .example = "{target_rate: 1 kHz}"},
    {.name = NULL},
};

static weir_err expand(const void *settings, weiri_expansion *to)
{
    const square_law_settings *set = settings;
    weir_value square = weir_number("exponent", 2.0);
    weir_err err = weiri_expand_nested(to, "bandpass", "bandpass", "butterworth");
    if (err == WEIR_OK) {
        err = to->add(to, "square", "pow", &square, 1);
    }
    if (err == WEIR_OK) {
        err = weiri_expand_nested(to, "lowpass", "lowpass", "butterworth");
    }
    return err != WEIR_OK || set->downsample == NULL
               ? err
               : weiri_expand_nested(to, "downsample", "downsample", "downsample");
}

const weiri_unit_ops weiri_unit_square_law_bandpower = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "square_law_bandpower",
             .summary =
                 "smoothed power of a frequency band: band-pass, square, low-pass, downsample",
             .formula = "y = every k-th frame of l(b(x)^2), with the band-pass b and the low-pass "
                        "l. Stands for butterworth, pow, butterworth and downsample.",
             .start = "As butterworth starts.",
             .ezmsg = "singlebandpow.SquareLawBandPowerTransformer",
             .differs = "bandpass and lowpass have no default band, so they must be given.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(square_law_settings),
    .expand = expand,
};
