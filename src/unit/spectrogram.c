/* SPDX-License-Identifier: MIT
 *
 * spectrogram.c: the spectrum of windows that follow each other: window, spectrum.
 */
#include "unit/spectrum.h"

#include <math.h>

typedef struct spectrogram_settings {
    double window_dur_s, window_shift_s;
    const weir_value *window;
    int anchor, transform, output;
} spectrogram_settings;

static const weir_setting table[] = {
    {.name = "window_dur",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = NULL,
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(spectrogram_settings, window_dur_s),
     .help = "duration of a window, floor(duration x rate) frames, computed as decimals",
     .example = "10 ms"},
    {.name = "window_shift",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "null",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(spectrogram_settings, window_shift_s),
     .help = "time from a window's start to the next one's; null: window_dur. The stream is padded "
             "with zeros before its start, so that the first window is output after window_shift",
     .example = "5 ms"},
    {.name = "window_anchor",
     .type = WEIR_SETTING_ENUM,
     .preset = "beginning",
     .choices = weiri_window_anchors,
     .offset = offsetof(spectrogram_settings, anchor),
     .help = "which point of a window gets the timestamp"},
    {.name = "window",
     .type = WEIR_SETTING_ANY,
     .preset = "hamming",
     .offset = offsetof(spectrogram_settings, window),
     .help = WEIRI_SPECTRUM_WINDOW_HELP},
    {.name = "transform",
     .type = WEIR_SETTING_ENUM,
     .preset = "rel_db",
     .choices = weiri_spectrum_transforms,
     .offset = offsetof(spectrogram_settings, transform),
     .help = "what is output, as of spectrum"},
    {.name = "output",
     .type = WEIR_SETTING_ENUM,
     .preset = "positive",
     .choices = weiri_spectrum_outputs,
     .offset = offsetof(spectrogram_settings, output),
     .help = "frequencies, as of spectrum"},
    {.name = NULL},
};

static weir_err expand(const void *settings, weiri_expansion *to)
{
    const spectrogram_settings *set = settings;
    const char *shift = isnan(set->window_shift_s) ? "window_dur" : "window_shift";
    weir_value window[] = {
        weir_text("newaxis", "win"),
        weiri_expand_given(to, "window_dur", "window_dur"),
        weiri_expand_given(to, shift, "window_shift"),
        weir_text("zero_pad_until", "shift"),
        weiri_expand_given(to, "window_anchor", "anchor"),
    };
    weir_value spectrum[] = {
        weir_text("axis", "time"),
        weiri_expand_given(to, "window", "window"),
        weiri_expand_given(to, "transform", "transform"),
        weiri_expand_given(to, "output", "output"),
    };
    weir_value name = weir_text("win", "time"), names = weir_map_of("name_map", &name, 1);
    weir_err err = to->add(to, "window", "window", window, 5);
    if (err == WEIR_OK) {
        err = to->add(to, "spectrum", "spectrum", spectrum, 4);
    }
    return err == WEIR_OK ? to->add(to, "axis", "modify_axis", &names, 1) : err;
}

const weiri_unit_ops weiri_unit_spectrogram = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "spectrogram",
             .summary = "spectrum of each of a sequence of windows: window, spectrum",
             .formula = "As spectrum, of each window. Stands for window, spectrum and modify_axis.",
             .start = "As window with zero_pad_until: shift starts.",
             .ezmsg = "spectrogram.SpectrogramTransformer",
             .differs =
                 "window_dur is required, and without window_shift windows follow each other: "
                 "there a window is a message, or zeros before it depend on the message.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COMPLEX |
                      WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(spectrogram_settings),
    .expand = expand,
};
