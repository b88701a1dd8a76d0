/* SPDX-License-Identifier: MIT
 *
 * aggregate.c: one value for a whole inner dimension (the samples of a window, the frequencies of a
 * spectrum), which goes from the output. Along the stream's own dimension there is binned_aggregate.
 */
#include "dsp/reduce.h"
#include "unit/aggregate_shared.h"

#include <string.h>

typedef struct aggregate_settings {
    const char *axis;
    int operation;
} aggregate_settings;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = NULL,
     .offset = offsetof(aggregate_settings, axis),
     .help = "dimension to aggregate; not the stream's dimension",
     .example = "time"},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(aggregate_settings, operation),
     .help =
         "aggregation; argmin and argmax give the coordinate, if the dimension has coordinates"},
    {.name = NULL},
};

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const aggregate_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = 0;
    weir_err err = weiri_aggregate_find_axis(in, set->axis, &dim);
    if (err == WEIR_OK) {
        err = weiri_aggregate_plan(plan, set->operation, dim, 1);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weir_spec *out = &plan->out;
    size_t after = in->dim_count - (size_t)dim - 1;
    memmove(&out->dims[dim], &out->dims[dim + 1], after * sizeof out->dims[0]);
    out->dim_count--;
    return WEIR_OK;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const aggregate_settings *set = settings;
    int dim = weir_spec_dim(plan->in, set->axis);
    weiri_aggregate_prepare(plan->in, set->operation, dim, 1, constants);
    *weiri_aggregate_bands(constants) = (weiri_aggregate_band){0, plan->in->dims[dim].size};
}

const weiri_unit_ops weiri_unit_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "aggregate",
             .summary = "aggregates an inner dimension into one value: mean, max, std and so on",
             .before = "- window: {window_dur: 20 ms, window_shift: 5 ms}",
             .formula = "y = operation over all entries of an axis, frame by frame.",
             .ezmsg = "aggregate.AggregateTransformer",
             .flags = WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(aggregate_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_aggregate_run,
};
