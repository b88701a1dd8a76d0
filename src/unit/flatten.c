/* SPDX-License-Identifier: MIT
 *
 * flatten.c: several dimensions of frames as one, the last of them fastest, as for formats and networks that know
 * frames x channels only.
 */
#include "unit/permute.h"

#include <stdio.h>
#include <string.h>

typedef struct flatten_settings {
    const char *preserve_axis, *sample_axis, *output_axis, *label_separator;
    const weir_value *flatten_axes;
} flatten_settings;

/* from[1..flattened] are joined. */
static weir_err read_axes(const flatten_settings *set,
                          const weir_spec *in,
                          weiri_permute *ret,
                          uint32_t *ret_flattened)
{
    const weir_value *axes = set->flatten_axes;
    weiri_permute permute = {.count = 1};
    if (axes != NULL && axes->type != WEIR_VALUE_LIST) {
        return weiri_fail(WEIR_E_CHAIN, "flatten_axes: expected a list of dimensions");
    }
    for (size_t i = 0; axes != NULL && i < axes->count; i++) {
        uint32_t dim = 0;
        weir_err err = weiri_permute_find(in, "flatten_axes", &axes->items[i], &dim);
        if (err != WEIR_OK) {
            return err;
        }
        for (uint32_t k = 0; k < permute.count; k++) {
            if (permute.from[k] == dim) {
                return weiri_fail(WEIR_E_CHAIN, "flatten_axes: '%s' %s", in->dims[dim].name,
                                  dim == 0 ? "is the stream's dimension, which stays the first"
                                           : "is listed twice");
            }
        }
        permute.from[permute.count++] = dim;
    }
    *ret_flattened = permute.count - 1;
    weiri_permute_complete(&permute, in);
    *ret_flattened = axes == NULL ? permute.count - 1 : *ret_flattened;
    *ret = permute;
    return WEIR_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Label, coordinate or position from 1 of an entry. */
static const char *entry_text(const weir_axis *axis, uint64_t entry, char text[32])
{
    if (axis->labels != NULL) {
        return axis->labels[entry];
    }
    if (axis->values != NULL) {
        return weiri_number_write(axis->values[entry], text, 32);
    }
    (void)snprintf(text, 32, "%llu", (unsigned long long)entry + 1);
    return text;
}

/* The entries of the joined dimensions at a place of the new one. */
static void entries_at(const weir_spec *in,
                       const weiri_permute *permute,
                       uint32_t flattened,
                       uint64_t place,
                       uint64_t ret_entries[WEIR_MAX_DIMS])
{
    for (uint32_t i = flattened; i > 0; i--) {
        uint64_t size = in->dims[permute->from[i]].size;
        ret_entries[i] = place % size;
        place /= size;
    }
}

static char *label_at(const flatten_settings *set,
                      const weiri_unit_plan *plan,
                      const weiri_permute *permute,
                      uint32_t flattened,
                      const uint64_t entries[WEIR_MAX_DIMS])
{
    char number[32];
    size_t bytes = 1;
    for (uint32_t i = 1; i <= flattened; i++) {
        const weir_axis *axis = &plan->in->dims[permute->from[i]];
        bytes += strlen(entry_text(axis, entries[i], number)) + strlen(set->label_separator);
    }
    char *label = plan->memory.get(plan->memory.user, bytes);
    for (uint32_t i = 1; label != NULL && i <= flattened; i++) {
        const weir_axis *axis = &plan->in->dims[permute->from[i]];
        strcat(label, i > 1 ? set->label_separator : "");
        strcat(label, entry_text(axis, entries[i], number));
    }
    return label;
}

static weir_err plan_axis(const flatten_settings *set,
                          weiri_unit_plan *plan,
                          const weiri_permute *permute,
                          uint32_t flattened)
{
    const weir_spec *in = plan->in;
    uint64_t size = 1;
    uint32_t channel_dim = 0; /* place among the joined ones; 0: not among them */
    for (uint32_t i = 1; i <= flattened; i++) {
        size *= in->dims[permute->from[i]].size;
        channel_dim = strcmp(in->dims[permute->from[i]].name, "ch") == 0 ? i : channel_dim;
    }
    const char **labels = plan->memory.get(plan->memory.user, (size_t)size * sizeof *labels);
    const char **units = plan->memory.get(plan->memory.user, (size_t)size * sizeof *units);
    if (labels == NULL || units == NULL) {
        return WEIR_E_NOMEM;
    }
    for (uint64_t at = 0; at < size; at++) {
        uint64_t entries[WEIR_MAX_DIMS] = {0};
        entries_at(in, permute, flattened, at, entries);
        labels[at] = label_at(set, plan, permute, flattened, entries);
        if (labels[at] == NULL) {
            return WEIR_E_NOMEM;
        }
        units[at] = in->units != NULL ? in->units[entries[channel_dim]] : "";
    }
    plan->out.dims[1] = (weir_axis){
        .name = set->output_axis, .unit = "", .size = size, .step = 1, .labels = labels};
    if (channel_dim > 0) {
        bool channels = strcmp(set->output_axis, "ch") == 0;
        plan->out.units = channels && in->units != NULL ? units : NULL;
    }
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const flatten_settings *set = settings;
    const weir_spec *in = plan->in;
    weiri_permute permute;
    uint32_t flattened = 0;
    if (set->preserve_axis != NULL && strcmp(set->preserve_axis, in->dims[0].name) != 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "preserve_axis: '%s' is not the stream's dimension, '%s', which stays",
                          set->preserve_axis, in->dims[0].name);
    }
    weir_err err = read_axes(set, in, &permute, &flattened);
    if (err != WEIR_OK) {
        return err;
    }
    if (permute.count - flattened + 1 > WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_CHAIN, "flatten_axes: would be a dimension more, and there are %d",
                          WEIR_MAX_DIMS);
    }
    weir_spec *out = &plan->out;
    out->dim_count = 2;
    for (uint32_t i = flattened + 1; i < permute.count; i++) {
        out->dims[out->dim_count++] = in->dims[permute.from[i]];
        if (strcmp(in->dims[permute.from[i]].name, set->output_axis) == 0) {
            return weiri_fail(WEIR_E_CHAIN, "output_axis: there would be two dimensions '%s'",
                              set->output_axis);
        }
    }
    if (set->sample_axis != NULL) {
        out->dims[0].name = set->sample_axis;
    }
    plan->columnwise = false; /* channels of the output are others */
    plan->constant_bytes = sizeof permute;
    return plan_axis(set, plan, &permute, flattened);
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    uint32_t flattened;
    weir_err err = read_axes(settings, plan->in, constants, &flattened);
    (void)err; /* plan() has seen that it is none */
}

static const weir_setting table[] = {
    {.name = "preserve_axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(flatten_settings, preserve_axis),
     .help = "dimension that stays the first: the stream's"},
    {.name = "sample_axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(flatten_settings, sample_axis),
     .help = "new name of the stream's dimension, such as time after window; null: as it is"},
    {.name = "flatten_axes",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(flatten_settings, flatten_axes),
     .help = "list of the dimensions that become one, the last of them fastest; null: all but the "
             "stream's, in their order"},
    {.name = "output_axis",
     .type = WEIR_SETTING_STRING,
     .preset = "ch",
     .offset = offsetof(flatten_settings, output_axis),
     .help = "name of the new dimension"},
    {.name = "label_separator",
     .type = WEIR_SETTING_STRING,
     .preset = "/",
     .offset = offsetof(flatten_settings, label_separator),
     .help = "text between the labels that become one"},
    {.name = NULL},
};

const weiri_unit_ops weiri_unit_flatten = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "flatten",
             .summary = "joins dimensions of frames into one",
             .before = "- window: {window_dur: 20 ms, window_shift: 5 ms}",
             .formula =
                 "y[n, i size_j + j] = x[n, i, j]; an entry's label is those of i and j with a "
                 "separator between, or the position from 1 where an axis has none.",
             .ezmsg = "flatten.FlattenTransformer",
             .differs =
                 "The stream's dimension is not flattened, since its length has no end. Labels "
                 "have no further fields.",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX,
             .settings = table},
    .settings_bytes = sizeof(flatten_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_permute_run,
};
