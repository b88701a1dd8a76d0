/* SPDX-License-Identifier: MIT
 *
 * merge.c: the channels of several inputs next to each other (or the entries of another dimension; or a new
 * dimension that counts the inputs). Values and dtype stay as they are; labels and physical units go with
 * them.
 */
#include "unit/merge.h"

#include <stdio.h>
#include <string.h>

typedef struct merge {
    uint32_t inputs;
    int dim; /* that is joined; -1: a new one, the last */
} merge;

const weir_setting weiri_merge_table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "ch",
     .offset = offsetof(weiri_merge_settings, axis),
     .help = "dimension along which the inputs are joined; if they have none of that name, it is "
             "added, with one entry for each input"},
    {.name = "align_axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(weiri_merge_settings, align_axis),
     .help = "the stream's dimension; inputs are always aligned along it"},
    {.name = "buffer_dur",
     .type = WEIR_SETTING_IGNORED,
     .preset = "null",
     .help = "accepted for ezmsg-sigproc compatibility; ignored: the plan states what is buffered"},
    {.name = "relabel_axis",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(weiri_merge_settings, relabel_axis),
     .help = "true: append label_a to the labels of the first input, label_b to those of the "
             "second, _c to those of a third, and so on; false: keep labels, which must then be "
             "unique"},
    {.name = "label_a",
     .type = WEIR_SETTING_STRING,
     .preset = "_a",
     .offset = offsetof(weiri_merge_settings, label_a),
     .help = "suffix for labels of the first input, or its label on a new dimension"},
    {.name = "label_b",
     .type = WEIR_SETTING_STRING,
     .preset = "_b",
     .offset = offsetof(weiri_merge_settings, label_b),
     .help = "suffix for labels of the second input, or its label on a new dimension"},
    {.name = "assert_identical_shared_axes",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(weiri_merge_settings, assert_identical_shared_axes),
     .help = "true: the other dimensions must have the same labels and coordinates, not only the "
             "same sizes; false: those of the first input are used"},
    {.name = "auto_coerce_backend",
     .type = WEIR_SETTING_IGNORED,
     .preset = "false",
     .help = "accepted for ezmsg-sigproc compatibility; ignored: all inputs are on one heap"},
    {.name = "new_key",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(weiri_merge_settings, new_key),
     .help = "name of the output stream; default: that of the first input"},
    {.name = NULL},
};

/* ---- plan: labels --------------------------------------------------------------------------------- */

static const char *suffix_of(const weiri_merge_settings *set, size_t input, char text[3])
{
    snprintf(text, 3, "_%c", 'a' + (int)input);
    return input == 0 ? set->label_a : input == 1 ? set->label_b : text;
}

/* A label, or the number of an entry without one, and a suffix. */
static char *
make_label(const weiri_unit_plan *plan, const weir_axis *axis, uint64_t i, const char *suffix)
{
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)i);
    const char *label = axis != NULL && axis->labels != NULL ? axis->labels[i] : number;
    label = axis == NULL ? "" : label;
    size_t size = strlen(label) + strlen(suffix) + 1;
    char *text = plan->memory.get(plan->memory.user, size);
    if (text != NULL) {
        snprintf(text, size, "%s%s", label, suffix);
    }
    return text;
}

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return h ^ (h >> 32);
}

/* By a table of twice as many places: channels are thousands. */
static weir_err check_unique(const weiri_unit_plan *plan, const weir_axis *axis, bool relabel)
{
    uint64_t places = 2;
    while (places < 2 * axis->size) {
        places *= 2;
    }
    const char **seen = plan->memory.get(plan->memory.user, (size_t)places * sizeof *seen);
    if (seen == NULL) {
        return WEIR_E_NOMEM;
    }
    for (uint64_t i = 0; i < axis->size; i++) {
        uint64_t at = hash(axis->labels[i]) & (places - 1);
        for (; seen[at] != NULL; at = (at + 1) & (places - 1)) {
            if (strcmp(seen[at], axis->labels[i]) == 0) {
                return weiri_fail(WEIR_E_CHAIN, "%s: two entries of '%s' would be '%s'; %s",
                                  relabel ? "label_b" : "relabel_axis", axis->name, seen[at],
                                  relabel ? "use another suffix"
                                          : "leave it true, so that suffixes tell them apart");
            }
        }
        seen[at] = axis->labels[i];
    }
    return WEIR_OK;
}

/* Numbers on an axis, where there are no labels. */
static double value_at(const weir_axis *axis, uint64_t i)
{
    return axis->values != NULL ? axis->values[i] : axis->start + (double)i * axis->step;
}

static weir_err
join_labels(const weiri_merge_settings *set, const weiri_unit_plan *plan, int dim, weir_axis *axis)
{
    const char **labels = plan->memory.get(plan->memory.user, (size_t)axis->size * sizeof *labels);
    uint64_t n = 0;
    for (size_t input = 0; labels != NULL && input < plan->inputs; input++) {
        const weir_axis *from = dim > 0 ? &plan->in[input].dims[dim] : NULL;
        uint64_t count = from != NULL ? from->size : 1;
        bool relabel = set->relabel_axis || from == NULL;
        char text[3];
        const char *suffix = relabel ? suffix_of(set, input, text) : "";
        for (uint64_t i = 0; i < count; i++) {
            labels[n] = make_label(plan, from, i, suffix);
            if (labels[n++] == NULL) {
                return WEIR_E_NOMEM;
            }
        }
    }
    axis->values = NULL;
    axis->labels = labels;
    return labels == NULL ? WEIR_E_NOMEM : check_unique(plan, axis, set->relabel_axis || dim < 0);
}

static weir_err join_values(const weiri_unit_plan *plan, int dim, weir_axis *axis)
{
    double *values = plan->memory.get(plan->memory.user, (size_t)axis->size * sizeof *values);
    uint64_t n = 0;
    for (size_t input = 0; values != NULL && input < plan->inputs; input++) {
        const weir_axis *from = &plan->in[input].dims[dim];
        for (uint64_t i = 0; i < from->size; i++) {
            values[n++] = value_at(from, i);
        }
    }
    axis->values = values;
    return values != NULL ? WEIR_OK : WEIR_E_NOMEM;
}

/* The joined axis: labels where an input has some, else coordinates; channels without either are counted. */
static weir_err
join_axis(const weiri_merge_settings *set, const weiri_unit_plan *plan, int dim, weir_axis *axis)
{
    bool labelled = dim<0, numbered = dim> 0 && strcmp(axis->name, "ch") != 0;
    axis->size = 0;
    for (size_t i = 0; i < plan->inputs; i++) {
        const weir_axis *from = &plan->in[i].dims[dim > 0 ? dim : 0];
        axis->size += dim > 0 ? from->size : 1;
        labelled = labelled || from->labels != NULL;
        numbered = numbered || from->values != NULL;
    }
    return labelled   ? join_labels(set, plan, dim, axis)
           : numbered ? join_values(plan, dim, axis)
                      : WEIR_OK;
}

/* ---- plan: the rest ------------------------------------------------------------------------------- */

static uint64_t channels_of(const weir_spec *spec)
{
    int dim = weir_spec_dim(spec, "ch");
    return dim > 0 ? spec->dims[dim].size : 1;
}

static weir_err join_units(const weiri_unit_plan *plan, weir_spec *out)
{
    bool known = false;
    uint64_t n = 0;
    for (size_t i = 0; i < plan->inputs; i++) {
        known = known || plan->in[i].units != NULL;
    }
    if (!known) {
        return WEIR_OK;
    }
    const char **units =
        plan->memory.get(plan->memory.user, (size_t)channels_of(out) * sizeof *units);
    for (size_t input = 0; units != NULL && input < plan->inputs; input++) {
        const weir_spec *in = &plan->in[input];
        for (uint64_t i = 0; i < channels_of(in); i++) {
            units[n++] = in->units != NULL ? in->units[i] : "";
        }
    }
    out->units = units;
    return units != NULL ? WEIR_OK : WEIR_E_NOMEM;
}

static bool same_entries(const weir_axis *a, const weir_axis *b)
{
    for (uint64_t i = 0; i < a->size; i++) {
        bool same = a->labels != NULL && b->labels != NULL
                        ? strcmp(a->labels[i], b->labels[i]) == 0
                        : a->labels == b->labels && value_at(a, i) == value_at(b, i);
        if (!same) {
            return false;
        }
    }
    return true;
}

static weir_err
check_shared(const weiri_merge_settings *set, const weiri_unit_plan *plan, size_t input, int dim)
{
    const weir_spec *a = &plan->in[0], *b = &plan->in[input];
    for (int i = 1; i < (int)a->dim_count; i++) {
        if (i == dim || same_entries(&a->dims[i], &b->dims[i])) {
            continue;
        }
        if (set->assert_identical_shared_axes) {
            return weiri_fail(WEIR_E_CHAIN,
                              "assert_identical_shared_axes: '%s' has other entries in input %zu "
                              "than in the first",
                              a->dims[i].name, input + 1);
        }
        weiri_notice(plan->notices,
                     "inputs: '%s' has other entries in number %zu than in the first, whose are "
                     "kept",
                     a->dims[i].name, input + 1);
    }
    return WEIR_OK;
}

/* The dimension to join; -1: a new one. */
static weir_err
find_axis(const weiri_merge_settings *set, const weiri_unit_plan *plan, int *ret_dim)
{
    const weir_spec *in = plan->in;
    int dim = weir_spec_dim(in, set->axis);
    weir_err err = set->align_axis == NULL ? WEIR_OK : weiri_axis_is_stream(in, set->align_axis);
    if (err != WEIR_OK) {
        return weiri_fail(WEIR_E_CHAIN, "align_axis: inputs are aligned along '%s', not '%s'",
                          in->dims[0].name, set->align_axis);
    }
    if (dim == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "axis: '%s' is the stream's dimension, along which inputs are aligned; "
                          "use another one, such as ch",
                          set->axis);
    }
    if (dim < 0 && in->dim_count >= WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_CHAIN, "axis: '%s' would be a new dimension, and there are %d",
                          set->axis, WEIR_MAX_DIMS);
    }
    for (size_t i = 1; i < plan->inputs; i++) {
        if (!weiri_join_same(in, &in[i], dim > 0 ? dim : 0)) {
            return weiri_join_fail(plan, i, "all dimensions but the joined one must be equal");
        }
        err = check_shared(set, plan, i, dim);
        if (err == WEIR_OK && (dim < 0 || strcmp(set->axis, "ch") != 0)) {
            err = weiri_join_units(plan, i);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    *ret_dim = dim;
    return WEIR_OK;
}

weir_err weiri_merge_plan(const void *settings, weiri_unit_plan *plan)
{
    const weiri_merge_settings *set = settings;
    weir_spec *out = &plan->out;
    int dim = -1;
    weir_err err = weiri_join_check(plan, WEIRI_INPUTS_MAX);
    if (err == WEIR_OK) {
        err = find_axis(set, plan, &dim);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (dim < 0) {
        out->dims[out->dim_count++] = (weir_axis){.name = set->axis, .unit = "", .step = 1};
    }
    err = join_axis(set, plan, dim, &out->dims[dim > 0 ? dim : (int)out->dim_count - 1]);
    if (err == WEIR_OK && strcmp(set->axis, "ch") == 0) {
        err = join_units(plan, out);
        plan->columnwise = false;
    }
    out->name = set->new_key != NULL ? set->new_key : out->name;
    plan->constant_bytes = sizeof(merge);
    return err;
}

void weiri_merge_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const weiri_merge_settings *set = settings;
    merge *m = constants;
    m->inputs = (uint32_t)plan->inputs;
    m->dim = weir_spec_dim(plan->in, set->axis);
}

/* ---- running -------------------------------------------------------------------------------------- */

/* Copies groups of `bytes`, `step` apart in the output. With the size a constant, a copy is one move. */
#define COPY(size)                                                                                 \
    case size:                                                                                     \
        for (size_t i = 0; i < groups; i++) {                                                      \
            memcpy(to + i * step, from + i * (size), size);                                        \
        }                                                                                          \
        break;

static void
copy_groups(unsigned char *to, size_t step, const unsigned char *from, size_t bytes, size_t groups)
{
    switch (bytes) {
        COPY(1)
        COPY(2)
        COPY(4)
        COPY(8)
    default:
        for (size_t i = 0; i < groups; i++) {
            memcpy(to + i * step, from + i * bytes, bytes);
        }
    }
}

void weiri_merge_run(weiri_block *block, const weiri_work *work)
{
    const merge *m = block->constants;
    const weir_spec *in = block->in;
    size_t value = weir_dtype_bytes(in->dtype), step = 0, groups = 1, bytes[WEIRI_INPUTS_MAX];
    for (uint32_t i = 0; i < m->inputs; i++) {
        weiri_split split = m->dim > 0 ? weiri_spec_split(&in[i], m->dim)
                                       : (weiri_split){weir_spec_columns(in), 1, 1};
        bytes[i] = (size_t)(split.size * split.inner) * value;
        groups = work->consume * (size_t)split.outer;
        step += bytes[i];
    }
    unsigned char *to = work->out;
    bool channels = strcmp(block->out->dims[m->dim > 0 ? m->dim : 0].name, "ch") == 0;
    for (uint32_t i = 0; i < m->inputs; i++) {
        copy_groups(to, step, work->in[i], bytes[i], groups);
        to += bytes[i];
        if (i == 0 || !channels) { /* S5: of channels that the first input has */
            weiri_block of = *block;
            of.in = &in[i];
            weiri_look_for_missing(&of, work->in[i], work->consume);
        }
    }
}

const weiri_unit_ops weiri_unit_merge = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "merge",
             .summary = "channels of several inputs next to each other, in one stream",
             .formula =
                 "y[n] = the channels of all inputs' frames of the same time, one after the other.",
             .ezmsg = "merge.MergeProcessor",
             .flags =
                 WEIR_UNIT_JOINS | WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_merge_table},
    .settings_bytes = sizeof(weiri_merge_settings),
    .plan = weiri_merge_plan,
    .prepare = weiri_merge_prepare,
    .run = weiri_merge_run,
};
