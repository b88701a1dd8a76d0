/* SPDX-License-Identifier: MIT
 *
 * figures.c: figures in readable form. The command never calls setlocale, so the decimal point is a
 * point in any locale.
 */
#include "cli.h"

#include <math.h>
#include <string.h>

char *cli_bytes(uint64_t bytes, char *text, size_t size)
{
    if (bytes == WEIR_NO_LIMIT) {
        snprintf(text, size, "none");
        return text;
    }
    return weir_bytes_format(bytes, text, size);
}

char *cli_count(uint64_t count, char *text, size_t size)
{
    char digits[24];
    if (count == WEIR_FRAMES_UNKNOWN) {
        snprintf(text, size, "unknown");
        return text;
    }
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

char *cli_rate(double rate_hz, char *text, size_t size)
{
    if (rate_hz >= 1e6)
        snprintf(text, size, "%.9g MHz", rate_hz / 1e6);
    else if (rate_hz >= 1e4)
        snprintf(text, size, "%.9g kHz", rate_hz / 1e3);
    else
        snprintf(text, size, "%.9g Hz", rate_hz);
    return text;
}

char *cli_duration(double seconds, char *text, size_t size)
{
    if (!isfinite(seconds))
        snprintf(text, size, "unknown");
    else if (seconds < 0.0995)
        snprintf(text, size, "%.3g ms", seconds * 1e3);
    else if (seconds < 99.5)
        snprintf(text, size, "%.3g s", seconds);
    else if (seconds < 3599.5)
        snprintf(text, size, "%d min %d s", (int)(seconds + 0.5) / 60, (int)(seconds + 0.5) % 60);
    else
        snprintf(text, size, "%.0f h %d min", floor(seconds / 3600),
                 (int)(fmod(seconds, 3600) / 60));
    return text;
}

char *cli_shape(const weir_spec *spec, char *text, size_t size)
{
    size_t at = 0;
    if (size > 0)
        text[0] = '\0';
    for (uint32_t i = 0; spec != NULL && i < spec->dim_count && at < size; i++) {
        const weir_axis *axis = &spec->dims[i];
        const char *name = axis->name != NULL ? axis->name : "";
        int wrote = i == 0 ? snprintf(text, size, "%s", name)
                           : snprintf(text + at, size - at, " x %llu %s",
                                      (unsigned long long)axis->size, name);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return text;
}

char *cli_times(double times, char *text, size_t size)
{
    char digits[CLI_FIGURE];
    if (!isfinite(times) || times < 1000 || times > 1e15)
        snprintf(digits, sizeof digits, "%.3g", times);
    else {
        double step = pow(10, floor(log10(times)) - 2);
        cli_count((uint64_t)(round(times / step) * step), digits, sizeof digits);
    }
    snprintf(text, size, "%s x", digits);
    return text;
}

double cli_seconds(uint64_t frames, double rate_hz)
{
    return frames == WEIR_FRAMES_UNKNOWN || !(rate_hz > 0) ? NAN : (double)frames / rate_hz;
}

char *cli_frames_time(uint64_t frames, double rate_hz, char *text, size_t size)
{
    if (frames != WEIR_SETTLES_NEVER)
        return cli_delay_time((double)frames, rate_hz, text, size);
    snprintf(text, size, "never");
    return text;
}

char *cli_delay_time(double frames, double rate_hz, char *text, size_t size)
{
    if (frames != 0 && !isnan(frames))
        return cli_duration(frames / rate_hz, text, size);
    snprintf(text, size, isnan(frames) ? "differs" : "0");
    return text;
}
