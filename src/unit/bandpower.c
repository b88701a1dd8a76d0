/* SPDX-License-Identifier: MIT
 *
 * bandpower.c: what a spectrogram has in frequency bands: spectrogram, ranged_aggregate.
 */
#include "dsp/reduce.h"
#include "unit/unit.h"

typedef struct bandpower_settings {
    const weir_value *spectrogram, *also, *bands;
    int aggregation;
} bandpower_settings;

static const weir_setting table[] = {
    {.name = "spectrogram",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(bandpower_settings, spectrogram),
     .help = "settings of spectrogram; window_dur is required",
     .example = "{window_dur: 100 ms, window_shift: 20 ms}"},
    {.name = "spectrogram_settings",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(bandpower_settings, also),
     .help = "another name of spectrogram, as in ezmsg-sigproc"},
    {.name = "bands",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(bandpower_settings, bands),
     .help = "a list of bands, [lowest, highest] in Hz; null: 17-30 and 70-170 Hz"},
    {.name = "aggregation",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(bandpower_settings, aggregation),
     .help = "what is made of the entries of a band"},
    {.name = "materialize",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = NULL},
};

static weir_err expand(const void *settings, weiri_expansion *to)
{
    const bandpower_settings *set = settings;
    if (set->spectrogram != NULL && set->also != NULL) {
        return weiri_fail(WEIR_E_CHAIN, "spectrogram_settings: is spectrogram, which is given too");
    }
    weir_value edges[4], pairs[2];
    pairs[0] = weir_numbers(NULL, (const double[]){17, 30}, 2, edges);
    pairs[1] = weir_numbers(NULL, (const double[]){70, 170}, 2, edges + 2);
    weir_value bands[] = {
        weir_text("axis", "freq"),
        set->bands == NULL ? weir_list_of("bands", pairs, 2)
                           : weiri_expand_given(to, "bands", "bands"),
        weiri_expand_given(to, "aggregation", "operation"),
    };
    const char *given = set->also != NULL ? "spectrogram_settings" : "spectrogram";
    weir_err err = weiri_expand_nested(to, "spectrogram", given, "spectrogram");
    return err == WEIR_OK ? to->add(to, "bands", "ranged_aggregate", bands, 3) : err;
}

const weiri_unit_ops weiri_unit_bandpower = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "bandpower",
             .summary = "power in frequency bands of each window: spectrogram, ranged_aggregate",
             .formula = "The mean, or another aggregation, of the entries of each band of a "
                        "spectrogram. Stands for window, spectrum, modify_axis and "
                        "ranged_aggregate.",
             .start = "As spectrogram starts.",
             .ezmsg = "bandpower.BandPowerTransformer",
             .differs = "As of spectrogram.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COMPLEX |
                      WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(bandpower_settings),
    .expand = expand,
};
