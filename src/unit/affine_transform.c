/* SPDX-License-Identifier: MIT
 *
 * affine_transform.c: each frame times a matrix, plus an offset: spatial filters, projections, references. Factors that
 * do not mix channels are linear's.
 *
 * The matrix is kept as panels of adjacent outputs, each with the inputs that it uses (kernel/matrix.c). Outputs are
 * sorted by the first input that they use, so that blocks, also of interleaved channels, become panels of their own.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "unit/elementwise.h"
#include "unit/groups.h"

enum { CAR, IDENTITY, PASSTHROUGH };
enum { ROWS_BYTES = 96 << 10 }; /* of input at once: stays in L2 beside the weights */
#define NO_GROUP UINT32_MAX

typedef struct affine_settings {
    weir_matrix weights;
    const char *axis;
    bool right_multiply;
    const weir_value *channel_groups;
} affine_settings;

/* Where a panel's tables are: bytes from the constants' start. */
typedef struct panel_place {
    size_t inputs, input_count, first_output, width, weights;
    bool adjacent;
} panel_place;

typedef struct affine {
    bool pass;
    int dim;
    size_t inputs, outputs; /* of the matrix, without offsets */
    size_t panel_count;
    size_t order, panels; /* uint32_t[outputs], panel_place[panel_count]: bytes from here */
} affine;

/* The weights as the settings give them. Working memory: firsts, and groups and sizes of CAR. */
typedef struct weights {
    const affine_settings *set;
    int kind; /* CAR, IDENTITY, or -1: a matrix */
    size_t inputs, outputs;
    bool offsets;
    uint32_t *order;  /* [outputs]: sorted by first */
    uint32_t *firsts; /* [outputs]: the first input used; inputs where there is none */
    uint32_t *groups; /* [inputs]: of CAR */
} weights;

/* ---- the matrix ------------------------------------------------------------------------------ */

static double entry(const weir_matrix *m, bool right, size_t row, size_t column)
{
    return right ? m->numbers[row * m->columns + column] : m->numbers[column * m->columns + row];
}

static double weight_of(const weights *w, size_t input, size_t output)
{
    if (w->kind < 0) {
        return entry(&w->set->weights, w->set->right_multiply, input, output);
    }
    double same = input == output ? 1.0 : 0.0;
    const weir_value *groups = w->set->channel_groups;
    uint32_t group = w->groups[input];
    if (w->kind == IDENTITY || group == NO_GROUP || group != w->groups[output]) {
        return same;
    }
    return same - 1.0 / (groups == NULL ? (double)w->inputs : (double)groups->items[group].count);
}

static double offset_of(const weights *w, size_t output)
{
    return w->offsets ? entry(&w->set->weights, w->set->right_multiply, w->inputs, output) : 0.0;
}

static int kind_of(const affine_settings *set)
{
    return set->weights.rows == 0 ? (int)set->weights.columns - 1 : -1;
}

static int dimension(const affine_settings *set, const weir_spec *in)
{
    return set->axis == NULL ? (int)in->dim_count - 1 : weir_spec_dim(in, set->axis);
}

/* Without its working memory. */
static weights weights_of(const affine_settings *set, const weir_spec *in)
{
    size_t size = (size_t)in->dims[dimension(set, in)].size;
    weights w = {.set = set, .kind = kind_of(set), .inputs = size, .outputs = size};
    if (w.kind < 0) {
        w.outputs = set->right_multiply ? set->weights.columns : set->weights.rows;
        size_t rows = set->right_multiply ? set->weights.rows : set->weights.columns;
        w.offsets = rows == size + 1;
    }
    return w;
}

/* Fills the working memory. */
static void sort_outputs(const weights *w)
{
    const weir_value *groups = w->set->channel_groups;
    for (size_t i = 0; i < w->inputs; i++) {
        w->groups[i] = groups == NULL ? 0 : NO_GROUP;
    }
    for (size_t g = 0; groups != NULL && g < groups->count; g++) {
        for (size_t i = 0; i < groups->items[g].count; i++) {
            w->groups[(size_t)groups->items[g].items[i].number] = (uint32_t)g;
        }
    }
    for (size_t j = 0; j < w->outputs; j++) {
        uint32_t first = 0;
        while (first < w->inputs && weight_of(w, first, j) == 0.0) {
            first++;
        }
        w->firsts[j] = first;
    }
    size_t at = 0;
    for (size_t first = 0; first <= w->inputs; first++) {
        for (size_t j = 0; j < w->outputs; j++) {
            if (w->firsts[j] == first) {
                w->order[at++] = (uint32_t)j;
            }
        }
    }
}

static bool is_used(const weights *w, size_t input, const uint32_t *outputs, size_t width)
{
    for (size_t j = 0; j < width; j++) {
        if (weight_of(w, input, outputs[j]) != 0.0) {
            return true;
        }
    }
    return false;
}

static void put(void *to, weir_dtype dtype, size_t at, double number)
{
    if (dtype == WEIR_F32) {
        ((float *)to)[at] = (float)number;
    } else {
        ((double *)to)[at] = number;
    }
}

/* Places a panel; with memory, fills it. */
static void make_panel(const weights *w,
                       weir_dtype dtype,
                       panel_place *place,
                       weiri_carver *carver,
                       size_t first,
                       size_t width)
{
    size_t bytes = weir_dtype_bytes(dtype), panel = WEIRI_PANEL_BYTES / bytes, count = 0;
    const uint32_t *outputs = w->order + first;
    *place = (panel_place){.first_output = first, .width = width, .adjacent = true};
    for (size_t j = 1; j < width; j++) {
        place->adjacent = place->adjacent && outputs[j] == outputs[j - 1] + 1;
    }
    for (size_t i = 0; i < w->inputs; i++) {
        place->input_count += is_used(w, i, outputs, width) ? 1 : 0;
    }
    uint32_t *inputs = weiri_carve(carver, place->input_count, sizeof *inputs);
    void *numbers = weiri_carve(carver, (1 + place->input_count) * panel, bytes);
    if (carver->base == NULL) {
        return;
    }
    place->inputs = (size_t)((unsigned char *)inputs - carver->base);
    place->weights = (size_t)((unsigned char *)numbers - carver->base);
    for (size_t j = 0; j < width; j++) {
        put(numbers, dtype, j, offset_of(w, outputs[j]));
    }
    for (size_t i = 0; i < w->inputs; i++) {
        if (!is_used(w, i, outputs, width)) {
            continue;
        }
        inputs[count++] = (uint32_t)i;
        for (size_t j = 0; j < width; j++) {
            put(numbers, dtype, count * panel + j, weight_of(w, i, outputs[j]));
        }
    }
}

/* All of the constants, with memory, or their size; working memory is part of them. */
static uint64_t
make(const affine_settings *set, const weir_spec *in, unsigned char *memory, const weights *working)
{
    weiri_carver carver = {.base = memory};
    weights w = working != NULL ? *working : weights_of(set, in);
    size_t panel = WEIRI_PANEL_BYTES / weir_dtype_bytes(in->dtype);
    affine a = {.pass = w.kind == PASSTHROUGH,
                .dim = dimension(set, in),
                .inputs = w.inputs,
                .outputs = w.outputs,
                .panel_count = (w.outputs + panel - 1) / panel};
    affine *header = weiri_carve(&carver, 1, sizeof a);
    if (a.pass) {
        if (memory != NULL) {
            *header = a;
        }
        return carver.used;
    }
    a.order = carver.used;
    uint32_t *order = weiri_carve(&carver, w.outputs, sizeof *order);
    uint32_t *firsts = weiri_carve(&carver, w.outputs, sizeof *firsts);
    uint32_t *groups = weiri_carve(&carver, w.inputs, sizeof *groups);
    a.panels = carver.used;
    panel_place *panels = weiri_carve(&carver, a.panel_count, sizeof *panels);
    if (memory != NULL) {
        w.order = order;
        w.firsts = firsts;
        w.groups = groups;
        sort_outputs(&w);
        *header = a;
    }
    for (size_t p = 0; p < a.panel_count; p++) {
        size_t width = w.outputs - p * panel < panel ? w.outputs - p * panel : panel;
        panel_place unused;
        make_panel(&w, in->dtype, memory != NULL ? &panels[p] : &unused, &carver, p * panel, width);
    }
    return carver.used;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static weir_err check(const affine_settings *set, weiri_unit_plan *plan, const weights *w)
{
    const weir_axis *axis = &plan->in->dims[dimension(set, plan->in)];
    if (w->kind < 0) {
        const weir_matrix *m = &set->weights;
        size_t rows = set->right_multiply ? m->rows : m->columns;
        if (rows != axis->size && rows != axis->size + 1) {
            return weiri_fail(
                WEIR_E_CHAIN,
                "weights: %zu %s for the %llu entries of axis '%s'; expected as many, or "
                "one more for offsets",
                rows, set->right_multiply ? "rows" : "columns", (unsigned long long)axis->size,
                axis->name);
        }
        if (set->channel_groups != NULL) {
            weiri_notice(plan->notices, "channel_groups: ignored, as weights are given as numbers");
        }
        return WEIR_OK;
    }
    return set->channel_groups == NULL
               ? WEIR_OK
               : weiri_groups_check(set->channel_groups, axis->size, plan->memory);
}

/* Entries that are used, in order, name the outputs, where these are as many; else outputs have no names. */
static weir_err name_outputs(const weights *w, const weiri_unit_plan *plan, weir_axis *axis)
{
    const weir_axis from = *axis;
    axis->size = w->outputs;
    if (w->outputs == w->inputs) {
        return WEIR_OK;
    }
    const char **labels = plan->memory.get(plan->memory.user, w->outputs * sizeof *labels);
    double *values = plan->memory.get(plan->memory.user, w->outputs * sizeof *values);
    if (labels == NULL || values == NULL) {
        return WEIR_E_NOMEM;
    }
    size_t used = 0;
    for (size_t i = 0; i < w->inputs; i++) {
        if (!is_used(w, i, w->order, w->outputs)) {
            continue;
        }
        if (used < w->outputs) {
            labels[used] = from.labels != NULL ? from.labels[i] : NULL;
            values[used] =
                from.values != NULL ? from.values[i] : from.start + (double)i * from.step;
        }
        used++;
    }
    bool named = used == w->outputs;
    *axis = (weir_axis){
        .name = from.name, .unit = named ? from.unit : "", .size = w->outputs, .step = 1};
    axis->labels = named && from.labels != NULL ? labels : NULL;
    axis->values = named && from.labels == NULL ? values : NULL;
    return WEIR_OK;
}

/* Weights are pure numbers, and the chain has checked that channels have one physical unit. */
static weir_err plan_units(const weights *w, weiri_unit_plan *plan, const weir_axis *axis)
{
    if (plan->in->units == NULL || strcmp(axis->name, "ch") != 0) {
        return WEIR_OK;
    }
    const char **units = plan->memory.get(plan->memory.user, w->outputs * sizeof *units);
    for (size_t j = 0; units != NULL && j < w->outputs; j++) {
        units[j] = plan->in->units[0];
    }
    plan->out.units = units;
    return units != NULL ? WEIR_OK : WEIR_E_NOMEM;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const affine_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = dimension(set, in);
    if (dim <= 0) {
        return weiri_fail(
            WEIR_E_CHAIN, "axis: '%s' is not a dimension of frames; the last one is '%s'",
            set->axis != NULL ? set->axis : in->dims[0].name, in->dims[in->dim_count - 1].name);
    }
    weights w = weights_of(set, in);
    weir_err err = check(set, plan, &w);
    if (err != WEIR_OK) {
        return err;
    }
    plan->columnwise = strcmp(in->dims[dim].name, "ch") != 0;
    if (w.kind == PASSTHROUGH) {
        plan->constant_bytes = make(set, in, NULL, NULL);
        return WEIR_OK;
    }
    weiri_memory memory = plan->memory;
    w.order = memory.get(memory.user, w.outputs * sizeof *w.order);
    w.firsts = memory.get(memory.user, w.outputs * sizeof *w.firsts);
    w.groups = memory.get(memory.user, w.inputs * sizeof *w.groups);
    if (w.order == NULL || w.firsts == NULL || w.groups == NULL) {
        return WEIR_E_NOMEM;
    }
    sort_outputs(&w);
    err = plan_units(&w, plan, &in->dims[dim]);
    if (err == WEIR_OK) {
        err = name_outputs(&w, plan, &plan->out.dims[dim]);
    }
    plan->constant_bytes = make(set, in, NULL, &w);
    plan->scratch_bytes = w.inputs * weir_dtype_bytes(in->dtype);
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)make(settings, plan->in, constants, NULL);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Rows: entry i of row r is at r * stride + i * step. */
typedef struct rows {
    const affine *a;
    bool f32;
    size_t stride, step, out_stride;
} rows;

static weiri_panel panel_of(const affine *a, size_t number)
{
    const unsigned char *base = (const unsigned char *)a;
    const panel_place *place = (const panel_place *)(base + a->panels) + number;
    return (weiri_panel){
        .inputs = (const uint32_t *)(base + place->inputs),
        .outputs = (const uint32_t *)(base + a->order) + place->first_output,
        .input_count = place->input_count,
        .width = place->width,
        .adjacent = place->adjacent,
        .weights = base + place->weights,
    };
}

static void
multiply(const rows *r, const void *in, size_t stride, size_t step, size_t count, void *out)
{
    const weiri_kernels *k = weiri_kernels_get();
    for (size_t p = 0; p < r->a->panel_count; p++) {
        weiri_panel panel = panel_of(r->a, p);
        if (r->f32) {
            k->matrix_f32(in, stride, step, count, &panel, out, r->out_stride, r->step);
        } else {
            k->matrix_f64(in, stride, step, count, &panel, out, r->out_stride, r->step);
        }
    }
}

static double value_at(const rows *r, const void *values, size_t at)
{
    return r->f32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

/* Outputs that use an input that is missing are missing (S5). */
static void spoil(const rows *r, size_t input, void *out)
{
    for (size_t p = 0; p < r->a->panel_count; p++) {
        weiri_panel panel = panel_of(r->a, p);
        size_t width = WEIRI_PANEL_BYTES / (r->f32 ? 4u : 8u), i = 0;
        while (i < panel.input_count && panel.inputs[i] != input) {
            i++;
        }
        for (size_t j = 0; i < panel.input_count && j < panel.width; j++) {
            if (value_at(r, panel.weights, (1 + i) * width + j) != 0.0) {
                put(out, r->f32 ? WEIR_F32 : WEIR_F64, panel.outputs[j] * r->step, (double)NAN);
            }
        }
    }
}

/* One row in which something may be missing: with zeros there, so that other outputs keep their bits. */
static void multiply_row(const rows *r, const void *in, void *out, void *scratch)
{
    weir_dtype dtype = r->f32 ? WEIR_F32 : WEIR_F64;
    bool clean = true;
    for (size_t i = 0; i < r->a->inputs; i++) {
        double value = value_at(r, in, i * r->step);
        clean = clean && isfinite(value);
        put(scratch, dtype, i, isfinite(value) ? value : 0.0);
    }
    multiply(r, scratch, 0, 1, 1, out);
    for (size_t i = 0; !clean && i < r->a->inputs; i++) {
        if (!isfinite(value_at(r, in, i * r->step))) {
            spoil(r, i, out);
        }
    }
}

static bool is_clean(const rows *r, const void *values, size_t count)
{
    const weiri_kernels *k = weiri_kernels_get();
    return r->f32 ? k->finite_f32(values, count) : k->finite_f64(values, count);
}

static void run(weiri_block *block, const weiri_work *work)
{
    const affine *a = block->constants;
    if (a->pass) {
        weiri_elementwise_pass(block, work);
        return;
    }
    weiri_split split = weiri_spec_split(block->in, a->dim);
    size_t inner = (size_t)split.inner, bytes = weir_dtype_bytes(block->in->dtype);
    rows r = {.a = a,
              .f32 = block->in->dtype == WEIR_F32,
              .stride = inner == 1 ? a->inputs : 1,
              .step = inner,
              .out_stride = inner == 1 ? a->outputs : 1};
    /* groups of rows: some frames, or the places beside the axis in one frame */
    size_t groups = work->consume * (size_t)split.outer, at_once = 1;
    if (inner == 1) {
        at_once = ROWS_BYTES / (a->inputs * bytes) / 12 * 12;
        at_once = at_once < 12 ? 12 : at_once;
    }
    bool clean = true;
    for (size_t group = 0; group < groups; group += at_once) {
        size_t some = groups - group < at_once ? groups - group : at_once;
        size_t count = some * inner;
        const unsigned char *in =
            (const unsigned char *)work->in[0] + group * a->inputs * inner * bytes;
        unsigned char *out = (unsigned char *)work->out + group * a->outputs * inner * bytes;
        if (is_clean(&r, in, count * a->inputs)) {
            multiply(&r, in, r.stride, r.step, count, out);
            continue;
        }
        clean = false;
        for (size_t row = 0; row < count; row++) {
            multiply_row(&r, in + row * r.stride * bytes, out + row * r.out_stride * bytes,
                         work->scratch);
        }
    }
    if (!clean) {
        weiri_count_missing(block, work->in[0], work->consume);
    }
}

static const weir_choice kinds[] = {
    {"car", NULL}, {"identity", NULL}, {"passthrough", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "weights",
     .type = WEIR_SETTING_MATRIX,
     .choices = kinds,
     .offset = offsetof(affine_settings, weights),
     .help =
         "matrix, a row for each input and a column for each output, one more row for offsets; or "
         "a file with it (npy or text); or car, identity, passthrough",
     .example = "car"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(affine_settings, axis),
     .help = "dimension to transform; null = the last"},
    {.name = "right_multiply",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(affine_settings, right_multiply),
     .help = "false: weights have a row for each output, and are transposed"},
    {.name = "channel_groups",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(affine_settings, channel_groups),
     .help = "for car: lists of channel numbers, each with its own average; null = one of all"},
    {.name = "kernel",
     .type = WEIR_SETTING_IGNORED,
     .preset = "auto",
     .help = "has no effect: zeros of the matrix are always left out"},
    {.name = NULL},
};

const weiri_unit_ops weiri_unit_affine_transform = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "affine_transform",
             .summary =
                 "multiplies each frame by a matrix and adds offsets: spatial filters, projections",
             .formula =
                 "y[j] = offset[j] + sum over i of x[i] weights[i][j], the sum in the order of i.",
             .ezmsg = "affinetransform.AffineTransformTransformer",
             .differs =
                 "Files may also be npy, and text files may use blanks. An output that uses a "
                 "missing sample is missing; for a common average reference, common_reference "
                 "leaves missing channels out and is faster. If the number of outputs differs from "
                 "that of inputs, outputs have names only if as many inputs are used.",
             .flags = WEIR_UNIT_COLUMNWISE | WEIR_UNIT_COUPLES_CHANNELS,
             .settings = table},
    .settings_bytes = sizeof(affine_settings),
    .plan = plan,
    .prepare = prepare,
    .run = run,
};
