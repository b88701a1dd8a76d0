/* SPDX-License-Identifier: MIT
 *
 * common_reference.c: each channel minus the mean or median of its group's channels in the same frame.
 * Channels that are missing in a frame are left out of it (S5).
 *
 * A *set* is what is averaged together: a group's channels at one place of the other dimensions. Where the one
 * group is all channels and they are adjacent, whole rows go to a kernel; all else, and rows with a missing
 * sample, through tables of columns, by the same sum in the same order.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "unit/elementwise.h"
#include "unit/groups.h"

enum { MEAN, MEDIAN, PASSTHROUGH };

typedef struct reference_settings {
    int mode;
    const char *axis;
    bool include_current;
    const weir_value *channel_groups; /* NULL = one group of all */
} reference_settings;

typedef struct reference_constants {
    int mode;
    bool include_current;
    size_t sets; /* that have a reference */
    size_t row;  /* columns of a set whose columns are adjacent, or 0: tables only */
    size_t columns;
    size_t inner, channels; /* missing samples are counted at column / inner % channels */
    size_t members, ends;   /* where the tables are, in bytes from here: uint32_t */
} reference_constants;

/* What one call works with. */
typedef struct call {
    weiri_block *block;
    const reference_constants *constants;
    const uint32_t *members; /* [columns]: of one set after the other, then those in none */
    const uint32_t *ends;    /* [sets]: where each ends in members */
    void *values;            /* scratch: frames of a set, gathered */
    bool f32;
} call;

/* ---- settings -------------------------------------------------------------------------------- */

static int dimension(const reference_settings *settings, const weir_spec *in)
{
    return weir_spec_dim(in, settings->axis == NULL ? "ch" : settings->axis);
}

static reference_constants
lay_out(const reference_settings *settings, const weir_spec *in, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = NULL};
    weiri_split split = weiri_spec_split(in, dimension(settings, in));
    weiri_split counted = weiri_spec_channels(in);
    size_t groups = settings->channel_groups == NULL ? 1 : settings->channel_groups->count;
    bool adjacent = settings->channel_groups == NULL && split.inner == 1;
    reference_constants constants = {
        .mode = settings->mode,
        .include_current = settings->include_current,
        .sets = (size_t)(split.outer * split.inner) * groups,
        .row = adjacent ? (size_t)split.size : 0,
        .columns = (size_t)weir_spec_columns(in),
        .inner = (size_t)counted.inner,
        .channels = (size_t)counted.size,
    };
    (void)weiri_carve(&carver, 1, sizeof constants);
    constants.members = carver.used;
    (void)weiri_carve(&carver, constants.columns, sizeof(uint32_t));
    constants.ends = carver.used;
    (void)weiri_carve(&carver, constants.sets, sizeof(uint32_t));
    *ret_bytes = carver.used;
    return constants;
}

/* Channels of the largest set. */
static uint64_t longest(const weir_value *groups, uint64_t channels)
{
    uint64_t most = groups == NULL ? channels : 0;
    for (size_t g = 0; groups != NULL && g < groups->count; g++) {
        most = groups->items[g].count > most ? groups->items[g].count : most;
    }
    return most;
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
            "axis: '%s' is the stream's dimension; a reference is computed within a frame",
            given->axis);
    }
    if (weir_spec_columns(plan->in) > UINT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "axis: more than %u values per frame", UINT32_MAX);
    }
    if (given->channel_groups != NULL) {
        weir_err err =
            weiri_groups_check(given->channel_groups, plan->in->dims[dim].size, plan->memory);
        if (err != WEIR_OK) {
            return err;
        }
    }
    reference_constants constants = lay_out(given, plan->in, &plan->constant_bytes);
    bool by_frame = constants.mode == MEAN && constants.row > 0; /* which few frames are */
    plan->scratch_bytes = longest(given->channel_groups, plan->in->dims[dim].size) *
                          (by_frame ? weir_dtype_bytes(plan->in->dtype)
                                    : weiri_kernels_get()->lanes * sizeof(double));
    return WEIR_OK;
}

/* The columns that are in no set, at the end of members. Before that its start, zeroed, holds which channels are
 * in a group: the end is filled downwards and never reaches a channel that has not been looked at. */
static void add_others(const weir_value *groups, weiri_split split, uint32_t *members)
{
    size_t at = (size_t)(split.outer * split.size * split.inner);
    for (size_t g = 0; g < groups->count; g++) {
        for (size_t i = 0; i < groups->items[g].count; i++) {
            members[(size_t)groups->items[g].items[i].number] = 1;
        }
    }
    for (uint64_t channel = split.size; channel-- > 0;) {
        bool grouped = members[channel] != 0;
        for (uint64_t place = 0; !grouped && place < split.outer * split.inner; place++) {
            uint64_t outer = place / split.inner, inner = place % split.inner;
            members[--at] = (uint32_t)((outer * split.size + channel) * split.inner + inner);
        }
    }
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *memory)
{
    const reference_settings *given = settings;
    uint64_t bytes;
    reference_constants *constants = memory;
    *constants = lay_out(given, plan->in, &bytes);
    uint32_t *members = (uint32_t *)((unsigned char *)memory + constants->members);
    uint32_t *ends = (uint32_t *)((unsigned char *)memory + constants->ends);
    weiri_split split = weiri_spec_split(plan->in, dimension(given, plan->in));
    const weir_value *groups = given->channel_groups;
    size_t group_count = groups == NULL ? 1 : groups->count;
    size_t at = 0, set = 0;
    if (groups != NULL) {
        add_others(groups, split, members);
    }
    for (uint64_t place = 0; place < split.outer * split.inner; place++) {
        uint64_t base = place / split.inner * split.size * split.inner + place % split.inner;
        for (size_t g = 0; g < group_count; g++) {
            size_t count = groups == NULL ? (size_t)split.size : groups->items[g].count;
            for (size_t i = 0; i < count; i++) {
                uint64_t channel = groups == NULL ? i : (uint64_t)groups->items[g].items[i].number;
                members[at++] = (uint32_t)(base + channel * split.inner);
            }
            ends[set++] = (uint32_t)at;
        }
    }
}

/* ---- one set --------------------------------------------------------------------------------- */

/* N / (N - 1) turns x - mean of all into x - mean of the others. */
static double gain_of(const reference_constants *constants, size_t good)
{
    return constants->include_current ? 1.0 : (double)good / (double)(good - 1);
}

/* A set's values of one frame, gathered (members NULL: adjacent columns), the missing ones as 0, so that each keeps
 * its place in the tree (S1). Returns how many are good. */
#define GATHER(type_name, type)                                                                    \
    static size_t gather_##type_name(const type *in, const uint32_t *members, size_t count,        \
                                     type *ret_values)                                             \
    {                                                                                              \
        size_t good = 0;                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            type x = in[members == NULL ? i : members[i]];                                         \
            bool finite = isfinite(x);                                                             \
            ret_values[i] = finite ? x : 0;                                                        \
            good += finite ? 1 : 0;                                                                \
        }                                                                                          \
        return good;                                                                               \
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

static void count_missing(const call *r, const uint32_t *members, size_t count, const void *in)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = members[i];
        bool finite =
            r->f32 ? isfinite(((const float *)in)[at]) : isfinite(((const double *)in)[at]);
        if (!finite) {
            r->block->missing[at / r->constants->inner % r->constants->channels]++;
        }
    }
}

/* The means that are subtracted from a set in some frames; ret_shifts[].clean stays as it is. A single channel has
 * no others, and stays as it is. */
#define MEANS_OF(type_name, type)                                                                  \
    static void means_of_##type_name(const call *r, const type *in, size_t stride, size_t frames,  \
                                     const uint32_t *members, size_t count,                        \
                                     weiri_shift *ret_shifts)                                      \
    {                                                                                              \
        enum { SOME = 64 / sizeof(type) };                                                         \
        size_t good[SOME], least = r->constants->include_current ? 1 : 2;                          \
        type *values = r->values, sums[SOME];                                                      \
        size_t vector = weiri_kernels_get()->lanes * 8 / sizeof(type);                             \
        size_t most = r->constants->row > 0 ? 1 : vector, some = 0;                                \
        for (size_t first = 0; first < frames; first += some) {                                    \
            some = frames - first < most ? frames - first : most;                                  \
            for (size_t i = 0; i < some; i++) {                                                    \
                good[i] = gather_##type_name(in + (first + i) * stride, members, count,            \
                                             values + i * count);                                  \
            }                                                                                      \
            weiri_kernels_get()->sums_##type_name(values, some, count, sums);                      \
            for (size_t i = 0; i < some; i++) {                                                    \
                weiri_shift *shift = &ret_shifts[first + i];                                       \
                bool any = good[i] >= least;                                                       \
                shift->less = any ? (double)(sums[i] / (type)good[i]) : 0.0;                       \
                shift->gain = any ? gain_of(r->constants, good[i]) : 1.0;                          \
                shift->pivot = 0.0;                                                                \
                shift->below = shift->above = shift->less;                                         \
                shift->split = false;                                                              \
            }                                                                                      \
        }                                                                                          \
    }

MEANS_OF(f32, float)
MEANS_OF(f64, double)

static void means_of(const call *r,
                     const void *in,
                     size_t stride,
                     size_t frames,
                     const uint32_t *members,
                     size_t count,
                     weiri_shift *ret_shifts)
{
    if (r->f32) {
        means_of_f32(r, in, stride, frames, members, count, ret_shifts);
    } else {
        means_of_f64(r, in, stride, frames, members, count, ret_shifts);
    }
}

static bool is_clean(const call *r, const void *values, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    return r->f32 ? kernels->finite_f32(values, count) : kernels->finite_f64(values, count);
}

/* The medians that are subtracted from a set in some frames; members NULL: adjacent columns. ret_shifts[].clean
 * stays as it is. */
static void medians_of(const call *r,
                       const void *in,
                       size_t stride,
                       size_t frames,
                       const uint32_t *members,
                       size_t count,
                       weiri_shift *ret_shifts)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    bool others = !r->constants->include_current;
    if (r->f32) {
        kernels->medians_f32(in, stride, frames, members, count, others, r->values, ret_shifts);
    } else {
        kernels->medians_f64(in, stride, frames, members, count, others, r->values, ret_shifts);
    }
    for (size_t i = 0; i < frames; i++) {
        ret_shifts[i].split = others && ret_shifts[i].clean;
        ret_shifts[i].clean = ret_shifts[i].clean && !others;
    }
}

/* Moves a set, or the columns in none; in may be out. */
static void move_members(const call *r,
                         const uint32_t *members,
                         size_t count,
                         weiri_shift shift,
                         const void *in,
                         void *out)
{
    if (!shift.clean && !shift.split) {
        count_missing(r, members, count, in);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = members[i];
        if (r->f32) {
            ((float *)out)[at] = moved_f32(((const float *)in)[at], &shift);
        } else {
            ((double *)out)[at] = moved_f64(((const double *)in)[at], &shift);
        }
    }
}

enum { ROWS = 16 }; /* at once: of 256 f32, still in L1 when they are moved */

/* All sets of some frames, and the columns in none. */
static void
reference_frames(const call *r, const unsigned char *in, unsigned char *out, size_t frames)
{
    const reference_constants *constants = r->constants;
    size_t columns = constants->columns, bytes = columns * (r->f32 ? 4u : 8u), first = 0;
    bool clean[ROWS];
    for (size_t i = 0; i < frames; i++) {
        clean[i] = is_clean(r, in + i * bytes, columns);
    }
    for (size_t set = 0; set <= constants->sets; set++) {
        const uint32_t *members = r->members + first;
        size_t count = (set < constants->sets ? r->ends[set] : columns) - first;
        weiri_shift shifts[ROWS];
        for (size_t i = 0; i < frames; i++) {
            shifts[i] = (weiri_shift){.gain = 1.0, .clean = clean[i]};
        }
        if (set < constants->sets) {
            (constants->mode == MEAN ? means_of : medians_of)(r, in, columns, frames, members,
                                                              count, shifts);
        }
        for (size_t i = 0; i < frames; i++) {
            move_members(r, members, count, shifts[i], in + i * bytes, out + i * bytes);
        }
        first += count;
    }
}

/* ---- rows that are sets of adjacent columns ---------------------------------------------------- */

/* The means of some rows; a missing sample in a row, or one too large, makes its mean not finite. */
static void row_means(const call *r, const void *in, size_t rows, double *ret_means)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    size_t row = r->constants->row;
    if (r->f32) {
        float sums[ROWS];
        kernels->sums_f32(in, rows, row, sums);
        for (size_t i = 0; i < rows; i++) {
            ret_means[i] = (double)(sums[i] / (float)row);
        }
    } else {
        kernels->sums_f64(in, rows, row, ret_means);
        for (size_t i = 0; i < rows; i++) {
            ret_means[i] /= (double)row;
        }
    }
}

/* What is subtracted from some rows, at most ROWS. */
static void
row_shifts(const call *r, const unsigned char *from, size_t rows, weiri_shift *ret_shifts)
{
    const reference_constants *constants = r->constants;
    size_t row = constants->row, bytes = row * (r->f32 ? 4u : 8u);
    if (constants->mode == MEDIAN) {
        for (size_t i = 0; i < rows; i++) {
            ret_shifts[i].clean = is_clean(r, from + i * bytes, row);
        }
        medians_of(r, from, row, rows, NULL, row, ret_shifts);
        return;
    }
    double means[ROWS];
    bool clean = row > (constants->include_current ? 0u : 1u);
    double gain = clean ? gain_of(constants, row) : 1.0;
    row_means(r, from, rows, means);
    for (size_t i = 0; i < rows; i++) {
        ret_shifts[i] =
            (weiri_shift){.less = means[i], .gain = gain, .clean = isfinite(means[i]) != 0};
        clean = clean && ret_shifts[i].clean;
    }
    if (!clean) {
        means_of(r, from, row, rows, NULL, row, ret_shifts);
    }
}

/* A row in which something is missing, or may be; `column`: of its first value. */
static void move_row(const call *r, const void *in, void *out, size_t column, weiri_shift shift)
{
    const reference_constants *constants = r->constants;
    for (size_t i = 0; i < constants->row; i++) {
        bool finite = r->f32 ? isfinite(((const float *)in)[i]) : isfinite(((const double *)in)[i]);
        if (!finite) {
            r->block->missing[(column + i) / constants->inner % constants->channels]++;
        }
        if (r->f32) {
            ((float *)out)[i] = moved_f32(((const float *)in)[i], &shift);
        } else {
            ((double *)out)[i] = moved_f64(((const double *)in)[i], &shift);
        }
    }
}

/* Some rows; `first`: number of the first of them. */
static void move_rows(const call *r,
                      const unsigned char *in,
                      unsigned char *out,
                      size_t first,
                      size_t rows,
                      const weiri_shift *shifts)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    size_t width = r->constants->row, bytes = width * (r->f32 ? 4u : 8u);
    for (size_t row = 0; row < rows; row++) {
        const void *from = in + row * bytes;
        void *to = out + row * bytes;
        row += r->f32 ? kernels->shift_f32(from, width, to, rows - row, width, shifts + row)
                      : kernels->shift_f64(from, width, to, rows - row, width, shifts + row);
        if (row == rows) {
            break;
        }
        from = in + row * bytes;
        to = out + row * bytes;
        if (!shifts[row].split) {
            size_t set = (first + row) % r->constants->sets;
            move_row(r, from, to, set * width, shifts[row]);
        } else if (r->f32) {
            kernels->shift_others_f32(from, to, width, shifts + row);
        } else {
            kernels->shift_others_f64(from, to, width, shifts + row);
        }
    }
}

/* ---- the unit -------------------------------------------------------------------------------- */

static void run(weiri_block *block, const weiri_work *work)
{
    const reference_constants *constants = block->constants;
    if (constants->mode == PASSTHROUGH) {
        weiri_elementwise_pass(block, work);
        return;
    }
    const unsigned char *base = block->constants, *from = work->in[0];
    unsigned char *to = work->out;
    call r = {
        .block = block,
        .constants = constants,
        .members = (const uint32_t *)(base + constants->members),
        .ends = (const uint32_t *)(base + constants->ends),
        .values = work->scratch,
        .f32 = block->in->dtype == WEIR_F32,
    };
    size_t value = r.f32 ? 4 : 8, row_bytes = constants->row * value;
    size_t rows = constants->row > 0 ? work->consume * constants->sets : 0;
    for (size_t row = 0; row < rows; row += ROWS) {
        size_t some = rows - row < ROWS ? rows - row : ROWS;
        weiri_shift shifts[ROWS];
        row_shifts(&r, from + row * row_bytes, some, shifts);
        move_rows(&r, from + row * row_bytes, to + row * row_bytes, row, some, shifts);
    }
    size_t frame_bytes = constants->columns * value;
    for (size_t frame = 0; constants->row == 0 && frame < work->consume; frame += ROWS) {
        size_t some = work->consume - frame < ROWS ? work->consume - frame : ROWS;
        reference_frames(&r, from + frame * frame_bytes, to + frame * frame_bytes, some);
    }
}

static const weir_choice modes[] = {
    {"mean", NULL}, {"median", NULL}, {"passthrough", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "mode",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = modes,
     .offset = offsetof(reference_settings, mode),
     .help = "value subtracted from each channel of a group"},
    {.name = "include_current",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(reference_settings, include_current),
     .help =
         "false: the reference of a channel is the mean or median of the other channels "
         "(ezmsg-sigproc's median without the channel differs: (x - median of all) N / (N - 1))",
     .live = true},
    {.name = "channel_groups",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(reference_settings, channel_groups),
     .help = "lists of channel numbers from 0, each with its own reference; other channels stay "
             "unchanged"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(reference_settings, axis),
     .help = "axis whose entries are the channels; null = ch"},
    {0},
};

const weiri_unit_ops weiri_unit_common_reference = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "common_reference",
             .summary = "each channel minus the mean or median of all, or of its group",
             .formula = "y[n, c] = x[n, c] - mean or median over the channels of c's group in "
                        "frame n; with include_current: false, over the group's other channels.",
             .ezmsg = "affinetransform.CommonRereferenceTransformer",
             .differs = "The median without the own channel is x minus the median of the others; "
                        "ezmsg-sigproc returns (x - median of all) N / (N - 1), which is right for "
                        "the mean only. Missing channels are left out of the mean and median.",
             .flags = WEIR_UNIT_COUPLES_CHANNELS | WEIR_UNIT_IN_PLACE,
             .settings = table},
    .settings_bytes = sizeof(reference_settings),
    .plan = plan,
    .prepare = prepare,
    .run = run,
};
