/* SPDX-License-Identifier: MIT
 *
 * plot_side.c: what a .npy that weir wrote cannot say itself: rate, units, labels and segments, from the
 * side file NAME.npy.json. A file without one is read as it is; one that cannot be understood is left
 * aside piece by piece. Does not read samples.
 */
#include "plot.h"

#include <string.h>

json_t *plot_side_open(const char *path)
{
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".npy") != 0)
        return NULL;
    char *name = cli_text("%s.json", path);
    json_t *side = json_load_file(name, 0, NULL);
    free(name);
    return side;
}

double plot_side_rate(const json_t *side)
{
    return json_number_value(json_object_get(side, "rate_hz"));
}

plot_place plot_side_place(const json_t *side, uint64_t row, double rate_hz)
{
    const json_t *segments = json_object_get(side, "segments");
    plot_place place = {0, 0, UINT64_MAX};
    uint64_t first = 0;
    double start = 0;
    for (size_t i = 0; i < json_array_size(segments); i++) {
        const json_t *segment = json_array_get(segments, i);
        uint64_t at = (uint64_t)json_integer_value(json_object_get(segment, "first_row"));
        if (at > row) {
            place.rows_left = at - row;
            break;
        }
        first = at;
        start = json_number_value(json_object_get(segment, "start_s"));
        place.segment = i;
    }
    place.time_s = start + (double)(row - first) / rate_hz; /* S3 */
    return place;
}

const char *plot_side_label(const json_t *side, uint32_t dim, uint64_t entry)
{
    const char *name = json_string_value(json_array_get(json_object_get(side, "dims"), dim));
    const json_t *axis = name ? json_object_get(json_object_get(side, "axes"), name) : NULL;
    return json_string_value(json_array_get(json_object_get(axis, "labels"), (size_t)entry));
}

const char *plot_side_unit(const json_t *side, uint64_t channel)
{
    return json_string_value(json_array_get(json_object_get(side, "units"), (size_t)channel));
}
