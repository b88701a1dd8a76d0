/* SPDX-License-Identifier: MIT
 *
 * unit.c: the table of units, and the helpers that units share.
 */
#include "unit/unit.h"

#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

const weiri_unit_ops *const weiri_units[] = {
#define X(name) &weiri_unit_##name,
#include "unit/units.def"
#undef X
    NULL,
};

static const size_t UNIT_COUNT = sizeof weiri_units / sizeof weiri_units[0] - 1;

size_t weir_unit_count(void)
{
    return UNIT_COUNT;
}

const weir_unit_info *weir_unit_at(size_t number)
{
    return number < UNIT_COUNT ? &weiri_units[number]->info : NULL;
}

const weiri_unit_ops *const *weiri_units_of_test;

weir_err weiri_unit_find(const char *name, const weiri_unit_ops **ret_ops)
{
    const char *names[sizeof weiri_units / sizeof weiri_units[0]] = {NULL};
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        names[i] = weiri_units[i]->info.name;
        if (strcmp(names[i], name) == 0) {
            *ret_ops = weiri_units[i];
            return WEIR_OK;
        }
    }
    for (const weiri_unit_ops *const *ops = weiri_units_of_test; ops != NULL && *ops != NULL;
         ops++) {
        if (strcmp((*ops)->info.name, name) == 0) {
            *ret_ops = *ops;
            return WEIR_OK;
        }
    }
    const char *near = weiri_nearest(name, names, UNIT_COUNT);
    return near == NULL ? weiri_fail(WEIR_E_CHAIN, "no unit '%s' (weir units lists them)", name)
                        : weiri_fail(WEIR_E_CHAIN, "no unit '%s'; the nearest is '%s'", name, near);
}

weir_err weir_unit_find(const char *name, const weir_unit_info **ret_info)
{
    if (name == NULL || ret_info == NULL) {
        return weiri_null(__func__);
    }
    const weiri_unit_ops *ops = NULL;
    weir_err err = weiri_unit_find(name, &ops);
    if (err == WEIR_OK) {
        *ret_info = &ops->info;
    }
    return err;
}

/* ---- units that stand for several ----------------------------------------------------------------- */

static const weir_value *given(const weiri_expansion *to, const char *name)
{
    for (size_t i = 0; i < to->given_count; i++) {
        if (strcmp(to->given[i].key, name) == 0 && to->given[i].type != WEIR_VALUE_NULL) {
            return &to->given[i];
        }
    }
    return NULL;
}

weir_value weiri_expand_given(const weiri_expansion *to, const char *name, const char *key)
{
    const weir_value *value = given(to, name);
    if (value != NULL) {
        weir_value renamed = *value;
        renamed.key = key;
        return renamed;
    }
    const weir_setting *row = to->table;
    while (strcmp(row->name, name) != 0) {
        row++;
    }
    bool none = row->preset == NULL || strcmp(row->preset, "null") == 0;
    return none ? weir_null(key) : weir_text(key, row->preset);
}

weir_err
weiri_expand_nested(weiri_expansion *to, const char *role, const char *name, const char *unit)
{
    const weir_value *value = given(to, name);
    if (value != NULL && value->type != WEIR_VALUE_MAP) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: found %s%.60s%s; expected a map of the settings of %s, as in {name: "
                          "value}",
                          name, value->text != NULL ? "'" : "a list",
                          value->text != NULL ? value->text : "", value->text != NULL ? "'" : "",
                          unit);
    }
    return value == NULL ? to->add(to, role, unit, NULL, 0)
                         : to->add(to, role, unit, value->items, value->count);
}

/* ---- fields of state ----------------------------------------------------------------------------- */

weir_err weiri_plan_field(weiri_unit_plan *plan, weiri_field field)
{
    enum {
        FIRST = 4
    }; /* then doubled each time, so that the count says how many there is memory for */
    size_t count = plan->field_count;
    if (count == 0 || (count >= FIRST && (count & (count - 1)) == 0)) {
        size_t more = count == 0 ? FIRST : 2 * count;
        weiri_field *fields = plan->memory.get(plan->memory.user, more * sizeof *fields);
        if (fields == NULL) {
            return weiri_fail(WEIR_E_NOMEM, "no memory for %zu fields of state", more);
        }
        if (count > 0) {
            memcpy(fields, plan->fields, count * sizeof *fields);
        }
        plan->fields = fields;
    }
    plan->fields[plan->field_count++] = field;
    return WEIR_OK;
}

uint64_t weiri_record_most(const weiri_unit_plan *plan, uint64_t frames, uint64_t columns)
{
    uint64_t apart = plan->record_frames, most = 0;
    if (apart == 0) {
        return 0;
    }
    frames =
        frames > plan->record_delay ? frames : plan->record_delay; /* those of a segment's end */
    return weiri_mul(frames / apart + (frames % apart > 0 ? 1 : 0), columns, &most) ? most
                                                                                    : UINT64_MAX;
}

uint64_t weiri_field_bytes(const weiri_field *field, uint64_t columns)
{
    uint64_t lanes = field->lanes > 0 ? field->lanes : 1;
    uint64_t entries = field->by_block ? 1 : columns / lanes + (columns % lanes > 0 ? 1 : 0);
    bool fits = (field->by_block || weiri_mul(entries, lanes, &entries)) &&
                weiri_mul(entries, field->rows, &entries) &&
                weiri_mul(entries, field->bytes, &entries);
    return fits ? entries : UINT64_MAX;
}

uint64_t weiri_field_at(const weiri_field *field, uint64_t columns, uint64_t row, uint64_t column)
{
    if (field->by_block) {
        return row;
    }
    uint64_t lanes = field->lanes > 0 ? field->lanes : columns;
    return (column / lanes * field->rows + row) * lanes + column % lanes;
}

/* ---- helpers for units ---------------------------------------------------------------------------- */

void *weiri_carve(weiri_carver *carver, uint64_t count, size_t size)
{
    void *place = carver->base == NULL ? NULL : carver->base + carver->used;
    carver->used += weiri_round_up((size_t)count * size, 64);
    return place;
}

weiri_split weiri_spec_split(const weir_spec *spec, int dim)
{
    weiri_split split = {1, spec->dims[dim].size, 1};
    for (int i = 1; i < dim; i++) {
        split.outer *= spec->dims[i].size;
    }
    for (int i = dim + 1; i < (int)spec->dim_count; i++) {
        split.inner *= spec->dims[i].size;
    }
    return split;
}

weiri_split weiri_spec_channels(const weir_spec *spec)
{
    int dim = weir_spec_dim(spec, "ch");
    return dim > 0 ? weiri_spec_split(spec, dim) : (weiri_split){1, 1, weir_spec_columns(spec)};
}

/* Of complex values, 0 x both parts, added, is NaN where either is not finite. */
#define COUNT_PAIRS(type_name, type)                                                               \
    static void count_pairs_##type_name(const type *rows, size_t frames, size_t columns,           \
                                        size_t count, uint32_t *absent)                            \
    {                                                                                              \
        const weiri_kernels *kernels = weiri_kernels_get();                                        \
        for (size_t f = 0; f < frames; f++, rows += 2 * columns) {                                 \
            type both[COLUMNS];                                                                    \
            for (size_t i = 0; i < count; i++) {                                                   \
                both[i] = 0 * rows[2 * i] + 0 * rows[2 * i + 1];                                   \
            }                                                                                      \
            kernels->reduce_absent_##type_name(both, 1, count, count, absent);                     \
        }                                                                                          \
    }

enum { COLUMNS = 512 };

COUNT_PAIRS(f32, float)
COUNT_PAIRS(f64, double)

/* Values of the columns from first on that are missing: added to absent, one a column. */
static void count_absent(weir_dtype dtype,
                         const void *rows,
                         size_t frames,
                         size_t columns,
                         size_t first,
                         size_t count,
                         uint32_t *absent)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const float *f32 = rows;
    const double *f64 = rows;
    switch (dtype) {
    case WEIR_F32:
        kernels->reduce_absent_f32(f32 + first, frames, columns, count, absent);
        break;
    case WEIR_F64:
        kernels->reduce_absent_f64(f64 + first, frames, columns, count, absent);
        break;
    case WEIR_C64:
        count_pairs_f32(f32 + 2 * first, frames, columns, count, absent);
        break;
    case WEIR_C128:
        count_pairs_f64(f64 + 2 * first, frames, columns, count, absent);
        break;
    default: /* an integer is never missing */
        break;
    }
}

/* A damaged channel puts missing samples into every tile of a recording, so this goes by vectors, some
 * columns at a time: 13 us for 300 x 256, where looking at one sample after the other took 176. */
void weiri_count_missing(weiri_block *block, const void *rows, size_t frames)
{
    const weir_spec *in = &block->in[0];
    size_t columns = (size_t)weir_spec_columns(in);
    weiri_split split = weiri_spec_channels(in);
    for (size_t first = 0; first < columns; first += COLUMNS) {
        uint32_t absent[COLUMNS] = {0};
        size_t count = columns - first < COLUMNS ? columns - first : COLUMNS;
        count_absent(in->dtype, rows, frames, columns, first, count, absent);
        for (size_t i = 0; i < count; i++) {
            if (absent[i] > 0) {
                block->missing[(first + i) / split.inner % split.size] += absent[i];
            }
        }
    }
}

void weiri_look_for_missing(weiri_block *block, const void *rows, size_t frames)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const weir_spec *in = &block->in[0];
    size_t count = frames * (size_t)weir_spec_columns(in) * weir_dtype_parts(in->dtype);
    weir_dtype part = weir_dtype_part(in->dtype);
    if ((part == WEIR_F32 && !kernels->finite_f32(rows, count)) ||
        (part == WEIR_F64 && !kernels->finite_f64(rows, count))) {
        weiri_count_missing(block, rows, frames);
    }
}

/* unit^exponent x times. Of "uV^2" the exponents are multiplied; a product is put in brackets. */
static void unit_text(const char *unit, double exponent, const char *times, char *text, size_t size)
{
    char power[40] = "";
    double before = 1.0;
    size_t base = strlen(unit);
    if (exponent == 0.0 || strcmp(unit, "1") == 0) {
        snprintf(text, size, "%s", times[0] != '\0' ? times : "1");
        return;
    }
    if (unit[0] == '\0') { /* not known */
        snprintf(text, size, "%s", "");
        return;
    }
    const char *end = NULL, *at = strchr(unit, '^');
    bool plain = strpbrk(unit, " */()") == NULL;
    if (plain && at != NULL && weiri_number_read(at + 1, &end, &before) && *end == '\0') {
        base = (size_t)(at - unit);
    } else if (at != NULL) {
        plain = false;
    }
    before = plain ? before : 1.0;
    if (before * exponent != 1.0) {
        weiri_number_write(before * exponent, power, sizeof power);
    }
    bool brackets = !plain && exponent != 1.0;
    snprintf(text, size, "%s%.*s%s%s%s%s%s", brackets ? "(" : "", (int)base, unit,
             brackets ? ")" : "", power[0] != '\0' ? "^" : "", power, times[0] != '\0' ? "*" : "",
             times);
}

weir_err weiri_units_follow(weiri_unit_plan *plan, double exponent, const char *times)
{
    const weir_spec *in = plan->in;
    int dim = weir_spec_dim(in, "ch");
    if (dim <= 0 || (in->units == NULL && exponent != 0.0)) {
        return WEIR_OK;
    }
    size_t count = (size_t)in->dims[dim].size;
    const char **units = plan->memory.get(plan->memory.user, count * sizeof *units);
    if (units == NULL) {
        return WEIR_E_NOMEM;
    }
    const char *before = "";
    for (size_t i = 0; i < count; i++) {
        const char *unit = in->units == NULL || in->units[i] == NULL ? "" : in->units[i];
        if (i > 0 && strcmp(unit, before) == 0) {
            units[i] = units[i - 1]; /* one text for all channels, as a rule */
            continue;
        }
        before = unit;
        size_t size = strlen(unit) + strlen(times) + 48;
        char *text = plan->memory.get(plan->memory.user, size);
        if (text == NULL) {
            return WEIR_E_NOMEM;
        }
        unit_text(unit, exponent, times, text, size);
        units[i] = text;
    }
    plan->out.units = units;
    return WEIR_OK;
}

weir_err weiri_axis_is_stream(const weir_spec *in, const char *axis)
{
    if (axis == NULL || strcmp(axis, in->dims[0].name) == 0) {
        return WEIR_OK;
    }
    return weiri_fail(WEIR_E_CHAIN,
                      "axis: this unit works along the stream's dimension, '%s', not '%s'",
                      in->dims[0].name, axis);
}
