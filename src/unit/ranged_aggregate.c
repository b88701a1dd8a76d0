/* SPDX-License-Identifier: MIT
 *
 * ranged_aggregate.c: one value for each band of an inner dimension, as the power from 8 to 13 Hz of a spectrum. The
 * dimension stays, with one entry a band.
 */
#include "dsp/reduce.h"
#include "unit/aggregate_shared.h"
#include "unit/elementwise.h"

#include <stdio.h>
#include <string.h>

typedef struct ranged_settings {
    const char *axis;
    weir_matrix bands;
    int operation;
} ranged_settings;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(ranged_settings, axis),
     .help = "dimension of the bands; default: the first after the stream's"},
    {.name = "bands",
     .type = WEIR_SETTING_MATRIX,
     .preset = "null",
     .offset = offsetof(ranged_settings, bands),
     .help = "list of [lowest, highest] coordinate, both included; labelled entries count from 0; "
             "null passes the signal through unchanged",
     .example = "[[0, 1], [0, 3]]"},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(ranged_settings, operation),
     .help = "aggregation; argmin and argmax give the coordinate"},
    {.name = NULL},
};

static double coordinate(const weir_axis *axis, uint64_t entry)
{
    return axis->labels != NULL   ? (double)entry
           : axis->values != NULL ? axis->values[entry]
                                  : axis->start + (double)entry * axis->step;
}

/* The entries of a band. count is 0 where there are none; adjacent: no entry outside the band is between them. */
static weiri_aggregate_band
find_band(const weir_axis *axis, const double *range, bool *ret_adjacent)
{
    weiri_aggregate_band band = {0, 0};
    *ret_adjacent = true;
    for (uint64_t i = 0; i < axis->size; i++) {
        double at = coordinate(axis, i);
        if (at >= range[0] && at <= range[1]) {
            band.first = band.count == 0 ? i : band.first;
            *ret_adjacent = *ret_adjacent && i == band.first + band.count;
            band.count++;
        }
    }
    return band;
}

static weir_err check_bands(const ranged_settings *set, const weir_axis *axis)
{
    for (size_t i = 0; i < set->bands.rows; i++) {
        const double *range = set->bands.numbers + 2 * i;
        bool adjacent = true;
        if (set->bands.columns != 2 || range[0] > range[1]) {
            return weiri_fail(WEIR_E_CHAIN, "bands: band %zu is not [lowest, highest]", i);
        }
        uint64_t count = find_band(axis, range, &adjacent).count;
        if (count == 0) {
            return weiri_fail(
                WEIR_E_CHAIN,
                "bands: no entry of axis '%s' is from %g to %g; it goes from %g to %g in %llu "
                "entries",
                axis->name, range[0], range[1], coordinate(axis, 0),
                coordinate(axis, axis->size - 1), (unsigned long long)axis->size);
        }
        if (!adjacent) {
            return weiri_fail(WEIR_E_CHAIN,
                              "bands: entries of axis '%s' from %g to %g are not adjacent; sort "
                              "the axis by slicer",
                              axis->name, range[0], range[1]);
        }
    }
    return WEIR_OK;
}

/* A band is at the mean of its entries' coordinates; of labels: from the first to the last. */
static weir_err plan_axis(const ranged_settings *set,
                          const weiri_unit_plan *plan,
                          const weir_axis *in,
                          weir_axis *out)
{
    size_t bands = set->bands.rows;
    const char **labels = plan->memory.get(plan->memory.user, bands * sizeof *labels);
    double *values = plan->memory.get(plan->memory.user, bands * sizeof *values);
    if (labels == NULL || values == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < bands; i++) {
        bool adjacent;
        weiri_aggregate_band band = find_band(in, set->bands.numbers + 2 * i, &adjacent);
        double sum = 0;
        for (uint64_t k = 0; k < band.count; k++) {
            sum += in->values != NULL ? in->values[band.first + k] : (double)(band.first + k);
        }
        values[i] = sum / (double)band.count;
        values[i] = in->values != NULL ? values[i] : in->start + values[i] * in->step;
        if (in->labels != NULL) {
            const char *from = in->labels[band.first],
                       *to = in->labels[band.first + band.count - 1];
            size_t bytes = strlen(from) + strlen(to) + sizeof " - ";
            char *text = plan->memory.get(plan->memory.user, bytes);
            if (text == NULL) {
                return WEIR_E_NOMEM;
            }
            (void)snprintf(text, bytes, "%s - %s", from, to);
            labels[i] = text;
        }
    }
    *out = *in;
    out->size = bands;
    out->labels = in->labels != NULL ? labels : NULL;
    out->values = in->labels != NULL ? NULL : values;
    return WEIR_OK;
}

static int dimension(const ranged_settings *set, const weir_spec *in)
{
    return set->axis == NULL ? 1 : weir_spec_dim(in, set->axis);
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const ranged_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = 1;
    weir_err err = WEIR_OK;
    if (set->axis != NULL) {
        err = weiri_aggregate_find_axis(in, set->axis, &dim);
    } else if (in->dim_count < 2) {
        err = weiri_fail(WEIR_E_CHAIN, "axis: frames have no dimension; use binned_aggregate");
    }
    if (err != WEIR_OK || set->bands.rows == 0) {
        plan->constant_bytes = sizeof(weiri_aggregate); /* zeroed: no bands */
        return err;
    }
    err = check_bands(set, &in->dims[dim]);
    if (err == WEIR_OK) {
        err = weiri_aggregate_plan(plan, set->operation, dim, set->bands.rows);
    }
    if (err == WEIR_OK) {
        err = plan_axis(set, plan, &in->dims[dim], &plan->out.dims[dim]);
    }
    if (err == WEIR_OK && plan->out.units != NULL && strcmp(in->dims[dim].name, "ch") == 0) {
        /* all channels have the same physical unit: there is one in memory even if there are more bands */
        const char **units = plan->memory.get(plan->memory.user, set->bands.rows * sizeof *units);
        for (size_t i = 0; units != NULL && i < set->bands.rows; i++) {
            units[i] = plan->out.units[0];
        }
        plan->out.units = units;
        err = units != NULL ? WEIR_OK : WEIR_E_NOMEM;
    }
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const ranged_settings *set = settings;
    if (set->bands.rows == 0) {
        return;
    }
    int dim = dimension(set, plan->in);
    weiri_aggregate_prepare(plan->in, set->operation, dim, set->bands.rows, constants);
    for (size_t i = 0; i < set->bands.rows; i++) {
        bool adjacent;
        weiri_aggregate_bands(constants)[i] =
            find_band(&plan->in->dims[dim], set->bands.numbers + 2 * i, &adjacent);
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_aggregate *aggregate = block->constants;
    if (aggregate->bands > 0) {
        weiri_aggregate_run(block, work);
    } else {
        weiri_elementwise_pass(block, work);
    }
}

const weiri_unit_ops weiri_unit_ranged_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "ranged_aggregate",
             .summary =
                 "aggregates bands of an inner dimension, one value each: band power and so on",
             .before = "- window: {window_dur: 20 ms, window_shift: 5 ms}",
             .formula = "y[b] = operation over the entries of an axis whose coordinate is from "
                        "bands[b][0] to bands[b][1], frame by frame.",
             .ezmsg = "aggregate.RangedAggregateTransformer",
             .differs =
                 "Labelled axes count entries from 0, where the class compares texts. A band "
                 "without any entry is an error that states the axis's range; there it is an "
                 "IndexError.",
             .flags = WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(ranged_settings),
    .plan = plan,
    .prepare = prepare,
    .run = run,
};
