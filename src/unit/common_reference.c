/* SPDX-License-Identifier: MIT
 *
 * common_reference.c: each channel less the mean or median of its group's channels in the same
 * frame. Channels that are missing in a frame are left out of it (S5).
 *
 * A *set* is what is reduced together: a group's channels at one place of the other dimensions.
 * Where the one group is all channels and they lie side by side, rows go to a kernel; all else,
 * and rows with something missing, through tables of columns, by the same sum in the same order.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "unit/elementwise.h"

enum { MEAN, MEDIAN, PASSTHROUGH };

typedef struct reference_settings {
    int mode;
    const char *axis;
    bool include_current;
    const weir_value *channel_groups; /* NULL = one group of all */
} reference_settings;

typedef struct reference_state {
    size_t sets;       /* that have a reference */
    size_t row;        /* columns of a set that lies in one piece, or 0: tables only */
    uint32_t *members; /* [columns]: of one set behind the other, then those in none */
    uint32_t *ends;    /* [sets]: where each ends in members */
    void *values;      /* [columns]: of one set, gathered */
    void *scratch;     /* [columns]: for the median */
    size_t columns;
    size_t inner, channels; /* missing is counted at column / inner % channels */
} reference_state;

/* ---- settings -------------------------------------------------------------------------------- */

static int dimension(const reference_settings *settings, const weir_spec *in)
{
    return weir_spec_dim(in, settings->axis == NULL ? "ch" : settings->axis);
}

static weir_err check_groups(const weir_value *groups, uint64_t channels, weiri_memory memory)
{
    if (groups->type != WEIR_VALUE_LIST) {
        return weiri_fail(WEIR_E_CHAIN,
                          "channel_groups: a list of lists of channel numbers is wanted");
    }
    bool *seen = memory.get(memory.user, (size_t)channels + 1);
    if (seen == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t g = 0; g < groups->count; g++) {
        const weir_value *group = &groups->items[g];
        if (group->type != WEIR_VALUE_LIST) {
            return weiri_fail(WEIR_E_CHAIN,
                              "channel_groups: group %zu is not a list of channel numbers", g);
        }
        for (size_t i = 0; i < group->count; i++) {
            double number = group->items[i].number;
            if (group->items[i].type != WEIR_VALUE_NUMBER || number != floor(number) ||
                number < 0.0 || number >= (double)channels) {
                return weiri_fail(WEIR_E_CHAIN,
                                  "channel_groups: '%s' in group %zu is not a channel number, "
                                  "0 to %llu",
                                  group->items[i].text == NULL ? "?" : group->items[i].text, g,
                                  (unsigned long long)channels - 1);
            }
            if (seen[(size_t)number]) {
                return weiri_fail(
                    WEIR_E_CHAIN,
                    "channel_groups: channel %.0f stands twice; groups do not overlap", number);
            }
            seen[(size_t)number] = true;
        }
    }
    return WEIR_OK;
}

static reference_state *
lay_out(const reference_settings *settings, const weir_spec *in, void *base, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = base};
    int dim = dimension(settings, in);
    weiri_split split = weiri_spec_split(in, dim);
    size_t columns = (size_t)weir_spec_columns(in);
    size_t groups = settings->channel_groups == NULL ? 1 : settings->channel_groups->count;
    size_t sets = (size_t)(split.outer * split.inner) * groups;
    reference_state *state = weiri_carve(&carver, 1, sizeof *state);
    uint32_t *members = weiri_carve(&carver, columns, sizeof *members);
    uint32_t *ends = weiri_carve(&carver, sets, sizeof *ends);
    void *values = weiri_carve(&carver, columns, sizeof(double));
    void *scratch = weiri_carve(&carver, columns, sizeof(double));
    if (base != NULL) {
        int ch = weir_spec_dim(in, "ch");
        weiri_split counted = ch > 0 ? weiri_spec_split(in, ch) : (weiri_split){1, 1, columns};
        bool in_pieces = settings->channel_groups == NULL && split.inner == 1;
        *state = (reference_state){.sets = sets,
                                   .row = in_pieces ? (size_t)split.size : 0,
                                   .members = members,
                                   .ends = ends,
                                   .values = values,
                                   .scratch = scratch,
                                   .columns = columns,
                                   .inner = (size_t)counted.inner,
                                   .channels = (size_t)counted.size};
    }
    *ret_bytes = carver.used;
    return state;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const reference_settings *given = settings;
    int dim = dimension(given, plan->in);
    if (dim < 0) {
        return weiri_fail(WEIR_E_CHAIN, "axis: the stream has no axis '%s'",
                          given->axis == NULL ? "ch" : given->axis);
    }
    if (dim == 0) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "axis: '%s' is the stream's dimension; a reference is taken within a frame",
            given->axis);
    }
    if (weir_spec_columns(plan->in) > UINT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "axis: more than %u values a frame", UINT32_MAX);
    }
    if (given->channel_groups != NULL) {
        weir_err err = check_groups(given->channel_groups, plan->in->dims[dim].size, plan->memory);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (given->mode != PASSTHROUGH) {
        (void)lay_out(given, plan->in, NULL, &plan->state_bytes);
        bool one_set = given->channel_groups == NULL &&
                       plan->in->dims[dim].size == weir_spec_columns(plan->in);
        plan->shared_bytes = one_set ? sizeof(weiri_shift) : 0;
    }
    return WEIR_OK;
}

/* The columns that are in no set, behind the others. */
static void add_others(reference_state *state, size_t at)
{
    unsigned char *taken = state->scratch;
    memset(taken, 0, state->columns);
    for (size_t i = 0; i < at; i++) {
        taken[state->members[i]] = 1;
    }
    for (size_t column = 0; column < state->columns; column++) {
        if (taken[column] == 0) {
            state->members[at++] = (uint32_t)column;
        }
    }
}

static void init(weiri_unit *unit)
{
    const reference_settings *settings = unit->settings;
    if (settings->mode == PASSTHROUGH) {
        return;
    }
    uint64_t bytes;
    reference_state *state = lay_out(settings, unit->in, unit->state, &bytes);
    weiri_split split = weiri_spec_split(unit->in, dimension(settings, unit->in));
    const weir_value *groups = settings->channel_groups;
    size_t group_count = groups == NULL ? 1 : groups->count;
    size_t at = 0, set = 0;
    for (uint64_t place = 0; place < split.outer * split.inner; place++) {
        uint64_t base = place / split.inner * split.size * split.inner + place % split.inner;
        for (size_t g = 0; g < group_count; g++) {
            size_t count = groups == NULL ? (size_t)split.size : groups->items[g].count;
            for (size_t i = 0; i < count; i++) {
                uint64_t channel = groups == NULL ? i : (uint64_t)groups->items[g].items[i].number;
                state->members[at++] = (uint32_t)(base + channel * split.inner);
            }
            state->ends[set++] = (uint32_t)at;
        }
    }
    add_others(state, at);
}

/* ---- one set --------------------------------------------------------------------------------- */

/* N / (N - 1) turns x - mean of all into x - mean of the others. */
static double gain_of(const reference_settings *settings, size_t good)
{
    return settings->include_current ? 1.0 : (double)good / (double)(good - 1);
}

/* A set's values of one frame, gathered, all of them where they are clean; else for a mean the
 * missing ones as 0, so that each keeps its place in the tree (S1), and for a median the good
 * ones alone. Returns how many are good. */
#define GATHER(type_name, type)                                                                    \
    static size_t gather_##type_name(const type *in, const uint32_t *members, size_t count,        \
                                     bool clean, bool mean, type *ret_values)                      \
    {                                                                                              \
        size_t good = 0;                                                                           \
        for (size_t i = 0; clean && i < count; i++) {                                              \
            ret_values[i] = in[members[i]];                                                        \
        }                                                                                          \
        for (size_t i = 0; !clean && i < count; i++) {                                             \
            type x = in[members[i]];                                                               \
            bool finite = isfinite(x);                                                             \
            ret_values[mean ? i : good] = finite ? x : 0;                                          \
            good += finite ? 1 : 0;                                                                \
        }                                                                                          \
        return clean ? count : good;                                                               \
    }                                                                                              \
                                                                                                   \
    /* As the kernel does it; NaN where x is missing. */                                           \
    static type moved_##type_name(type x, const weiri_shift *shift)                                \
    {                                                                                              \
        type pivot = (type)shift->pivot;                                                           \
        double less = x < pivot ? shift->below : x > pivot ? shift->above : shift->less;           \
        return isfinite(x) ? (x - (type)less) * (type)shift->gain : (type)NAN;                     \
    }

GATHER(f32, float)
GATHER(f64, double)

static void count_missing(weiri_unit *unit, const uint32_t *members, size_t count, const void *in)
{
    const reference_state *state = unit->state;
    for (size_t i = 0; i < count; i++) {
        size_t at = members[i];
        bool finite = unit->in->dtype == WEIR_F32 ? isfinite(((const float *)in)[at])
                                                  : isfinite(((const double *)in)[at]);
        if (!finite) {
            unit->missing[at / state->inner % state->channels]++;
        }
    }
}

/* What a set is moved by in one frame. On its own a channel has no others, and stays as it is. */
#define SHIFT_OF(type_name, type)                                                                  \
    static weiri_shift shift_of_##type_name(const reference_settings *settings,                    \
                                            const reference_state *state, const uint32_t *members, \
                                            size_t count, bool clean, const type *in)              \
    {                                                                                              \
        const weiri_kernels *kernels = weiri_kernels_get();                                        \
        bool mean = settings->mode == MEAN;                                                        \
        weiri_shift shift = {.less = 0.0, .gain = 1.0, .clean = clean};                            \
        size_t good = gather_##type_name(in, members, count, clean, mean, state->values);          \
        if (good < (settings->include_current ? 1u : 2u)) {                                        \
            return shift;                                                                          \
        }                                                                                          \
        if (mean) {                                                                                \
            shift.less = (double)(kernels->sum_##type_name(state->values, count) / (type)good);    \
            shift.gain = gain_of(settings, good);                                                  \
        } else if (settings->include_current) {                                                    \
            shift.less = (double)kernels->median_##type_name(state->values, good, state->scratch); \
        } else {                                                                                   \
            shift = (weiri_shift){.gain = 1.0, .split = clean};                                    \
            kernels->medians_of_others_##type_name(state->values, good, state->scratch, &shift);   \
            return shift;                                                                          \
        }                                                                                          \
        shift.below = shift.above = shift.less;                                                    \
        return shift;                                                                              \
    }

SHIFT_OF(f32, float)
SHIFT_OF(f64, double)

static weiri_shift
shift_of(weiri_unit *unit, const uint32_t *members, size_t count, bool clean, const void *in)
{
    return unit->in->dtype == WEIR_F32
               ? shift_of_f32(unit->settings, unit->state, members, count, clean, in)
               : shift_of_f64(unit->settings, unit->state, members, count, clean, in);
}

/* Moves a set, or what is in none; in may be out. */
static void move_members(weiri_unit *unit,
                         const uint32_t *members,
                         size_t count,
                         weiri_shift shift,
                         const void *in,
                         void *out)
{
    if (!shift.clean && !shift.split) {
        count_missing(unit, members, count, in);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = members[i];
        if (unit->in->dtype == WEIR_F32) {
            ((float *)out)[at] = moved_f32(((const float *)in)[at], &shift);
        } else {
            ((double *)out)[at] = moved_f64(((const double *)in)[at], &shift);
        }
    }
}

/* All sets of one frame, and what is in none. */
static void reference_frame(weiri_unit *unit, const void *in, void *out)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const reference_state *state = unit->state;
    bool clean = unit->in->dtype == WEIR_F32 ? kernels->finite_f32(in, state->columns)
                                             : kernels->finite_f64(in, state->columns);
    size_t first = 0;
    for (size_t set = 0; set < state->sets; set++) {
        const uint32_t *members = state->members + first;
        size_t count = state->ends[set] - first;
        move_members(unit, members, count, shift_of(unit, members, count, clean, in), in, out);
        first = state->ends[set];
    }
    move_members(unit, state->members + first, state->columns - first,
                 (weiri_shift){.less = 0.0, .gain = 1.0, .clean = clean}, in, out);
}

/* ---- rows that are sets in one piece --------------------------------------------------------- */

enum { ROWS = 16 }; /* of 256 f32: seen twice, so that the second look comes from L1 */

/* The means of some rows; what is missing in a row, or too large, makes its mean not finite. */
static void row_means(weiri_unit *unit, const void *in, size_t rows, double *ret_means)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const reference_state *state = unit->state;
    if (unit->in->dtype == WEIR_F32) {
        float sums[ROWS];
        kernels->sums_f32(in, rows, state->row, sums);
        for (size_t i = 0; i < rows; i++) {
            ret_means[i] = (double)(sums[i] / (float)state->row);
        }
    } else {
        kernels->sums_f64(in, rows, state->row, ret_means);
        for (size_t i = 0; i < rows; i++) {
            ret_means[i] /= (double)state->row;
        }
    }
}

/* What rows first, first + 1, ... of a tile are moved by; no more than ROWS of them. */
static void
row_shifts(weiri_unit *unit, const void *tile, size_t first, size_t rows, weiri_shift *ret_shifts)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const reference_settings *settings = unit->settings;
    const reference_state *state = unit->state;
    size_t bytes = state->row * weir_dtype_bytes(unit->in->dtype);
    const unsigned char *from = (const unsigned char *)tile + first * bytes;
    double means[ROWS];
    bool by_mean = settings->mode == MEAN && state->row > (settings->include_current ? 0u : 1u);
    double gain = by_mean ? gain_of(settings, state->row) : 1.0;
    if (by_mean) {
        row_means(unit, from, rows, means);
    }
    for (size_t i = 0; i < rows; i++) {
        const void *row = from + i * bytes;
        bool clean = by_mean                       ? isfinite(means[i])
                     : unit->in->dtype == WEIR_F32 ? kernels->finite_f32(row, state->row)
                                                   : kernels->finite_f64(row, state->row);
        if (by_mean && clean) {
            ret_shifts[i] = (weiri_shift){.less = means[i], .gain = gain, .clean = true};
        } else { /* by its table, whose numbers count from the frame's start */
            size_t set = (first + i) % state->sets;
            ret_shifts[i] = shift_of(unit, state->members + set * state->row, state->row, clean,
                                     from + i * bytes - set * bytes);
        }
    }
}

/* A row in which something is missing, or may be; `column`: of its first value. */
static void move_row(
    weiri_unit *unit, const void *in, void *out, size_t count, size_t column, weiri_shift shift)
{
    const reference_state *state = unit->state;
    for (size_t i = 0; i < count; i++) {
        bool f32 = unit->in->dtype == WEIR_F32;
        bool finite = f32 ? isfinite(((const float *)in)[i]) : isfinite(((const double *)in)[i]);
        if (!finite) {
            unit->missing[(column + i) / state->inner % state->channels]++;
        }
        if (f32) {
            ((float *)out)[i] = moved_f32(((const float *)in)[i], &shift);
        } else {
            ((double *)out)[i] = moved_f64(((const double *)in)[i], &shift);
        }
    }
}

/* Some columns of some rows, `stride` bytes apart, into rows that lie side by side; `first`: number of the
 * first row, `column`: of its first value, within the row. */
static void move_rows(weiri_unit *unit,
                      const void *in,
                      size_t stride,
                      void *out,
                      size_t first,
                      size_t rows,
                      size_t column,
                      size_t columns,
                      const weiri_shift *shifts)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const reference_state *state = unit->state;
    size_t value = weir_dtype_bytes(unit->in->dtype), bytes = columns * value;
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *from = (const unsigned char *)in + row * stride;
        unsigned char *to = (unsigned char *)out + row * bytes;
        row += unit->in->dtype == WEIR_F32
                   ? kernels->shift_f32((const void *)from, stride / value, (void *)to, rows - row,
                                        columns, shifts + row)
                   : kernels->shift_f64((const void *)from, stride / value, (void *)to, rows - row,
                                        columns, shifts + row);
        if (row < rows && shifts[row].split) {
            from = (const unsigned char *)in + row * stride;
            to = (unsigned char *)out + row * bytes;
            unit->in->dtype == WEIR_F32
                ? kernels->shift_others_f32((const void *)from, (void *)to, columns, shifts + row)
                : kernels->shift_others_f64((const void *)from, (void *)to, columns, shifts + row);
        } else if (row < rows) {
            size_t set = (first + row) % state->sets;
            move_row(unit, (const unsigned char *)in + row * stride,
                     (unsigned char *)out + row * bytes, columns, set * state->row + column,
                     shifts[row]);
        }
    }
}

/* ---- the unit -------------------------------------------------------------------------------- */

static void prepare(weiri_unit *unit, const weiri_tile *in, void *shared)
{
    weiri_shift *shifts = shared;
    for (size_t row = 0; row < in->frames; row += ROWS) {
        size_t rows = in->frames - row < ROWS ? in->frames - row : ROWS;
        row_shifts(unit, in->data, row, rows, shifts + row);
    }
}

static void apply(weiri_unit *unit, const weiri_part *part, const void *shared, void *out)
{
    const reference_state *state = unit->state;
    size_t value = weir_dtype_bytes(unit->in->dtype);
    move_rows(unit, (const unsigned char *)part->rows + part->first * value, state->columns * value,
              out, 0, part->frames, part->first, part->columns, shared);
}

static void process(weiri_unit *unit,
                    const weiri_tile *in,
                    size_t *ret_consumed,
                    weiri_tile *out,
                    size_t *ret_produced)
{
    const reference_settings *settings = unit->settings;
    const reference_state *state = unit->state;
    if (settings->mode == PASSTHROUGH) {
        weiri_elementwise_hand_on(unit, in, ret_consumed, out, ret_produced);
        return;
    }
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(unit->in);
    const unsigned char *from = in->data;
    unsigned char *to = out->data;
    size_t all = state->row > 0 ? frames * state->sets : 0;
    for (size_t row = 0; row < all; row += ROWS) {
        size_t rows = all - row < ROWS ? all - row : ROWS, bytes = frame_bytes / state->sets;
        weiri_shift shifts[ROWS];
        row_shifts(unit, from, row, rows, shifts);
        move_rows(unit, from + row * bytes, bytes, to + row * bytes, row, rows, 0, state->row,
                  shifts);
    }
    for (size_t frame = 0; state->row == 0 && frame < frames; frame++) {
        reference_frame(unit, from + frame * frame_bytes, to + frame * frame_bytes);
    }
    *ret_consumed = *ret_produced = frames;
}

static const weir_choice modes[] = {
    {"mean", NULL}, {"median", NULL}, {"passthrough", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "mode",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = modes,
     .offset = offsetof(reference_settings, mode),
     .help = "what of the group's channels is subtracted"},
    {.name = "include_current",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(reference_settings, include_current),
     .help =
         "false: a channel is not in its own reference: it is the mean or median of the others "
         "(ezmsg-sigproc's median without the channel differs: (x - median of all) N / (N - 1))"},
    {.name = "channel_groups",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(reference_settings, channel_groups),
     .help =
         "lists of channel numbers from 0, a reference each; channels in none stay as they are"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(reference_settings, axis),
     .help = "the axis whose entries are channels; null = ch"},
    {0},
};

const weiri_unit_ops weiri_unit_common_reference = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "common_reference",
             .summary = "each channel less the mean or median of all, or of its group",
             .flags = WEIR_UNIT_COUPLES_CHANNELS | WEIR_UNIT_IN_PLACE,
             .settings = table},
    .settings_bytes = sizeof(reference_settings),
    .plan = plan,
    .init = init,
    .process = process,
    .prepare = prepare,
    .apply = apply,
};
