/* SPDX-License-Identifier: MIT
 *
 * slicer.c: some entries of an inner dimension: channels by name, number, slice or pattern. Labels and
 * units go with them. Values and dtype stay as they are.
 */
#include "dsp/selection.h"
#include "unit/unit.h"

#include <string.h>

typedef struct slicer_settings {
    const weir_value *selection;
    const char *axis;
    const char *field;
    int order;
    int on_empty;
} slicer_settings;

typedef struct slicer {
    int dim;         /* that is selected from */
    bool run;        /* entries one after the other: a single copy */
    uint64_t count;  /* of list */
    uint64_t list[]; /* indexes that are kept */
} slicer;

enum { ORDER_AXIS, ORDER_SELECTION };
static const weir_choice orders[] = {{"axis", NULL}, {"selection", NULL}, {NULL, NULL}};
enum { EMPTY_RAISE, EMPTY_WARN };
static const weir_choice empties[] = {{"raise", NULL}, {"warn", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "selection",
     .type = WEIR_SETTING_ANY,
     .preset = "",
     .offset = offsetof(slicer_settings, selection),
     .help = "numbers from 0 (negative: from the end), slices 1:5:2, labels, patterns C[34]; with "
             "commas or as a list; a single number removes the dimension",
     .example = "1:5:2"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(slicer_settings, axis),
     .help = "dimension to select from; default: ch, or the last if there is no ch"},
    {.name = "field",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(slicer_settings, field),
     .help = "only null is allowed: labels have no fields"},
    {.name = "order",
     .type = WEIR_SETTING_ENUM,
     .preset = "axis",
     .choices = orders,
     .offset = offsetof(slicer_settings, order),
     .help = "order of the output entries: as on the axis, or as in the selection"},
    {.name = "on_empty",
     .type = WEIR_SETTING_ENUM,
     .preset = "raise",
     .choices = empties,
     .offset = offsetof(slicer_settings, on_empty),
     .help = "a name that matches nothing: raise: an error; warn: a notice, if something else is "
             "selected"},
    {.name = NULL},
};

/* ---- plan ---------------------------------------------------------------------------------- */

static int find_dim(const slicer_settings *set, const weir_spec *in)
{
    if (set->axis != NULL) {
        return weir_spec_dim(in, set->axis);
    }
    int dim = weir_spec_dim(in, "ch");
    return dim > 0 ? dim : (int)in->dim_count - 1;
}

static weir_err check_dim(const slicer_settings *set, const weir_spec *in, int dim)
{
    if (set->field != NULL) {
        return weiri_fail(WEIR_E_CHAIN, "field: labels have no fields; remove this setting");
    }
    if (dim > 0) {
        return WEIR_OK;
    }
    if (dim == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "axis: '%s' is the stream's dimension; downsample keeps every n-th frame",
                          in->dims[0].name);
    }
    const char *d[WEIR_MAX_DIMS];
    for (size_t i = 0; i < WEIR_MAX_DIMS; i++) {
        d[i] = i < in->dim_count && i > 0 ? in->dims[i].name : "";
    }
    return weiri_fail(WEIR_E_CHAIN, "axis: there is no dimension '%s'; there are: %s %s %s",
                      set->axis, d[1], d[2], d[3]);
}

static weiri_selection selection_of(const slicer_settings *set, const weir_axis *axis)
{
    return (weiri_selection){.axis = axis,
                             .keep_order = set->order == ORDER_SELECTION,
                             .drop_none = set->on_empty == EMPTY_WARN};
}

static const char *const *
select_texts(const weiri_unit_plan *plan, const weiri_selection *s, const char *const *from)
{
    const char **to = plan->memory.get(plan->memory.user, (size_t)s->count * sizeof *to);
    for (uint64_t i = 0; to != NULL && i < s->count; i++) {
        to[i] = from[s->list[i]];
    }
    return to;
}

static bool is_even(const weiri_selection *s)
{
    for (uint64_t i = 2; i < s->count; i++) {
        if (s->list[i] - s->list[i - 1] != s->list[1] - s->list[0]) {
            return false;
        }
    }
    return true;
}

/* The axis of what is left: labels and values are picked, a regular axis stays one where it can. */
static weir_err select_axis(const weiri_unit_plan *plan, const weiri_selection *s, weir_axis *axis)
{
    const weir_axis *from = s->axis;
    axis->size = s->count;
    if (from->labels != NULL) {
        axis->labels = select_texts(plan, s, from->labels);
        return axis->labels != NULL ? WEIR_OK : WEIR_E_NOMEM;
    }
    if (from->values == NULL && is_even(s)) {
        double stride = s->count > 1 ? (double)s->list[1] - (double)s->list[0] : 1.0;
        axis->start = from->start + (double)s->list[0] * from->step;
        axis->step = stride * from->step;
        return WEIR_OK;
    }
    double *values = plan->memory.get(plan->memory.user, (size_t)s->count * sizeof *values);
    for (uint64_t i = 0; values != NULL && i < s->count; i++) {
        values[i] = from->values != NULL ? from->values[s->list[i]]
                                         : from->start + (double)s->list[i] * from->step;
    }
    axis->values = values;
    return values != NULL ? WEIR_OK : WEIR_E_NOMEM;
}

static weir_err plan_slicer(const void *settings, weiri_unit_plan *plan)
{
    const slicer_settings *set = settings;
    const weir_spec *in = plan->in;
    weir_spec *out = &plan->out;
    int dim = find_dim(set, in);
    weir_err err = check_dim(set, in, dim);
    if (err != WEIR_OK) {
        return err;
    }
    weiri_selection s = selection_of(set, &in->dims[dim]);
    s.list = plan->memory.get(plan->memory.user, (size_t)s.axis->size * sizeof *s.list);
    s.chosen = plan->memory.get(plan->memory.user, (size_t)s.axis->size * sizeof *s.chosen);
    if (s.list == NULL || s.chosen == NULL) {
        return WEIR_E_NOMEM;
    }
    err = weiri_selection_resolve(&s, set->selection);
    if (err == WEIR_OK) {
        err = select_axis(plan, &s, &out->dims[dim]);
    }
    if (err == WEIR_OK && in->units != NULL && strcmp(s.axis->name, "ch") == 0) {
        out->units = select_texts(plan, &s, in->units);
        err = out->units != NULL ? WEIR_OK : WEIR_E_NOMEM;
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (s.left_out > 0) {
        weiri_notice(plan->notices, "selection: %llu of its names match nothing",
                     (unsigned long long)s.left_out);
    }
    plan->columnwise = strcmp(s.axis->name, "ch") != 0;
    plan->constant_bytes = sizeof(slicer) + s.axis->size * (sizeof *s.list + sizeof *s.chosen);
    if (s.single) {
        size_t after = in->dim_count - (size_t)dim - 1;
        memmove(&out->dims[dim], &out->dims[dim + 1], after * sizeof out->dims[0]);
        out->dim_count--;
    }
    return WEIR_OK;
}

/* After the list: memory needed for resolving. */
static void prepare_slicer(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const slicer_settings *set = settings;
    slicer *s = constants;
    s->dim = find_dim(set, plan->in);
    weiri_selection selection = selection_of(set, &plan->in->dims[s->dim]);
    selection.list = s->list;
    selection.chosen = (bool *)(s->list + selection.axis->size);
    weir_err err = weiri_selection_resolve(&selection, set->selection);
    (void)err; /* plan() has seen that it is none */
    s->count = selection.count;
    s->run = true;
    for (uint64_t i = 1; i < s->count; i++) {
        s->run = s->run && s->list[i] == s->list[i - 1] + 1;
    }
}

/* ---- running ------------------------------------------------------------------------------- */

/* With the size a constant, a copy is one move. */
#define GATHER(bytes)                                                                              \
    case bytes:                                                                                    \
        for (size_t i = 0; i < s->count; i++) {                                                    \
            memcpy(to + i * (bytes), from + s->list[i] * (bytes), bytes);                          \
        }                                                                                          \
        break;

static void
copy_entries(const slicer *s, unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (s->run) {
        memcpy(to, from + s->list[0] * bytes, (size_t)s->count * bytes);
        return;
    }
    switch (bytes) {
        GATHER(1)
        GATHER(2)
        GATHER(4)
        GATHER(8)
        GATHER(16)
    default:
        for (size_t i = 0; i < s->count; i++) {
            memcpy(to + i * bytes, from + s->list[i] * bytes, bytes);
        }
    }
}

static void run_slicer(weiri_block *block, const weiri_work *work)
{
    const slicer *s = block->constants;
    weiri_split split = weiri_spec_split(block->in, s->dim);
    size_t entry_bytes = (size_t)split.inner * weir_dtype_bytes(block->in->dtype);
    const unsigned char *from = work->in[0];
    unsigned char *to = work->out;
    for (size_t i = 0; i < work->consume * (size_t)split.outer; i++) {
        copy_entries(s, to, from, entry_bytes);
        from += (size_t)split.size * entry_bytes;
        to += (size_t)s->count * entry_bytes;
    }
    /* S5: also where they are not selected: damage should show */
    weiri_look_for_missing(block, work->in[0], work->consume);
}

const weiri_unit_ops weiri_unit_slicer = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "slicer",
             .summary = "selects channels (or entries of another inner dimension)",
             .formula = "y[n, i] = x[n, selection[i]].",
             .ezmsg = "slicer.SlicerTransformer",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(slicer_settings),
    .plan = plan_slicer,
    .prepare = prepare_slicer,
    .run = run_slicer,
};
