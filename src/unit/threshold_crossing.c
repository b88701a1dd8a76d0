/* SPDX-License-Identifier: MIT
 *
 * threshold_crossing.c: spikes and other events, where a channel crosses a threshold: the frame of the extremum as
 * a record, and the number of events in each bin as output.
 *
 * A crossing is a sample beyond the threshold after one that was not. It opens a search: the event is at the
 * extremum of that sample and the next max_peak_dur. Nothing else is looked for until the search is over and
 * refrac_dur has passed since the extremum: two events of a channel are at least that far apart.
 *
 * The noise is median(|x|) / 0.6745, which is the standard deviation of Gaussian noise and hardly sees spikes
 * (Donoho and Johnstone 1994; Quiroga, Nadasdy and Ben-Shaul 2004). The median is estimated sample by sample, by
 * stochastic approximation (Robbins and Monro 1951; for quantiles Tierney, SIAM J. Sci. Stat. Comput. 4, 1983): with
 * v = |x|, g = 1 / min(number of samples, noise_time x rate),
 *
 *     mean   += g (v - mean)
 *     median += g max(mean, median) sign(v - median)       not below 0
 *
 * The best step for a quantile is g / (2 x density there); for Gaussian noise that is 0.787 s, and the mean of |x| is
 * 0.798 s, so the estimate follows with the time constant noise_time, and is as good as a median of twice as many
 * samples: 0.5 % for 1 s at 30 kHz. max(..., median) lets it come back from a start in an artefact.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* No value changes: the loop over columns becomes one without branches (exceptions are masked, S6). */
#pragma GCC optimize("no-trapping-math")
#endif

#include <float.h>
#include <math.h>
#include <string.h>

#include "unit/unit.h"

typedef struct crossing_settings {
    double threshold, level; /* level: NAN = not given */
    int polarity;
    double noise_time_s, refrac_dur_s, max_peak_dur_s, bin_duration_s;
    bool align_on_peak;
} crossing_settings;

enum { NEG, POS, BOTH };
static const weir_choice polarities[] = {
    {"neg", NULL}, {"pos", NULL}, {"both", NULL}, {NULL, NULL}};

typedef struct crossing {
    weiri_fraction bin; /* frames */
    uint64_t refrac, search;
    double most;   /* samples that the noise is known from */
    double gain;   /* 1 / most */
    double least;  /* samples before it is used */
    double factor; /* threshold = factor x median; or `level` */
    double level;
    int polarity;
    bool absolute;
} crossing;

/* Fields. */
enum { BEYOND, ACTIVE, OPEN, PEAK, VALUE, DONE, DONE_VALUE, READY, COUNT, MEDIAN, MEAN, SEEN };

static const weir_setting table[] = {
    {.name = "threshold",
     .type = WEIR_SETTING_NUMBER,
     .preset = "4.5",
     .min = 1e-6,
     .max = 1e6,
     .offset = offsetof(crossing_settings, threshold),
     .help =
         "threshold as a multiple of the channel's running noise, median(|x|) / 0.6745; a change "
         "acts from the next frame on",
     .example = "2",
     .live = true},
    {.name = "level",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .min = 0,
     .max = 1e300,
     .offset = offsetof(crossing_settings, level),
     .help = "threshold as an amplitude, in the physical unit of the channels, instead of a "
             "multiple of the noise",
     .live = true},
    {.name = "polarity",
     .type = WEIR_SETTING_ENUM,
     .preset = "neg",
     .choices = polarities,
     .offset = offsetof(crossing_settings, polarity),
     .help = "which crossings count: below -threshold (neg, kind 0 of a record), above it (pos, "
             "kind 1), both"},
    {.name = "noise_time",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "1 s",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(crossing_settings, noise_time_s),
     .help = "time constant of the noise estimate; nothing is detected in the first tenth of it",
     .example = "50 ms"},
    {.name = "refrac_dur",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "1 ms",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(crossing_settings, refrac_dur_s),
     .help = "minimum time from one event of a channel to the next; at least 2 frames"},
    {.name = "align_on_peak",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(crossing_settings, align_on_peak),
     .help = "true: an event is at the extremum within max_peak_dur after the crossing; false: at "
             "the crossing"},
    {.name = "max_peak_dur",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "0.5 ms",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(crossing_settings, max_peak_dur_s),
     .help =
         "time after a crossing in which the extremum is searched; delays records and counts by "
         "that time"},
    {.name = "bin_duration",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "20 ms",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(crossing_settings, bin_duration_s),
     .help = "duration of a bin in which events are counted (exact on average); at least one "
             "frame"},
    {0},
};

/* `over`, `flags` and `settled` of each column, and what rounding adds. */
#define SCRATCH_COLUMN_BYTES (sizeof(double) + 2)
#define SCRATCH_BYTES        192

/* ---- plan ---------------------------------------------------------------------------------------- */

static crossing constants_of(const crossing_settings *set, double rate_hz)
{
    uint64_t refrac = weiri_frames_floor(set->refrac_dur_s, rate_hz);
    double most = (double)weiri_frames_floor(set->noise_time_s, rate_hz);
    most = most < 1.0 ? 1.0 : most;
    crossing c = {
        .refrac =
            refrac < 2 ? 2 : refrac, /* a crossing needs a sample on the near side before it */
        .search = set->align_on_peak ? weiri_frames_floor(set->max_peak_dur_s, rate_hz) : 0,
        .most = most,
        .gain = 1.0 / most,
        .least = ceil(most / 10.0),
        .factor =
            set->threshold / 0.67448975019608171, /* the quantile 0.75 of the normal distribution */
        .level = set->level,
        .polarity = set->polarity,
        .absolute = !isnan(set->level),
    };
    c.bin = weiri_bin_length(weiri_frames_exact(set->bin_duration_s, rate_hz), c.search);
    return c;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    static const weiri_field fields[] = {
        [BEYOND] = {.name = "beyond", .kind = 'u', .bytes = 1, .rows = 1},
        [ACTIVE] = {.name = "active", .kind = 'u', .bytes = 1, .rows = 1},
        [OPEN] = {.name = "open", .kind = 'u', .bytes = 8, .rows = 1},
        [PEAK] = {.name = "peak", .kind = 'u', .bytes = 8, .rows = 1},
        [VALUE] = {.name = "value", .kind = 'f', .bytes = 8, .rows = 1},
        [DONE] = {.name = "done", .kind = 'u', .bytes = 8, .rows = 1},
        [DONE_VALUE] = {.name = "done value", .kind = 'f', .bytes = 8, .rows = 1},
        [READY] = {.name = "ready", .kind = 'u', .bytes = 8, .rows = 1},
        [COUNT] = {.name = "count", .kind = 'u', .bytes = 4, .rows = 1},
        [MEDIAN] = {.name = "median", .kind = 'f', .bytes = 8, .rows = 1},
        [MEAN] = {.name = "mean", .kind = 'f', .bytes = 8, .rows = 1},
        [SEEN] = {.name = "seen", .kind = 'f', .bytes = 8, .rows = 1},
    };
    const crossing_settings *set = settings;
    double rate_hz = plan->in->rate_hz;
    crossing c = constants_of(set, rate_hz);
    if (c.search > INT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "max_peak_dur: %g s is more than %d frames",
                          set->max_peak_dur_s, INT32_MAX);
    }
    weir_err err = weiri_bin_check(c.bin, set->bin_duration_s, rate_hz);
    for (int i = 0; err == WEIR_OK && i < (c.absolute ? MEDIAN : SEEN + 1); i++) {
        err = weiri_plan_field(plan, fields[i]);
    }
    plan->due = weiri_bin_due(c.bin, c.search);
    plan->record_frames = c.refrac;
    plan->record_delay = c.search;
    plan->constant_bytes = sizeof(crossing);
    plan->scratch_bytes = SCRATCH_BYTES;
    plan->scratch_column_bytes = SCRATCH_COLUMN_BYTES;
    return err == WEIR_OK ? weiri_units_follow(plan, 0.0, "") : err; /* a number of events */
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    *(crossing *)constants = constants_of(settings, plan->in->rate_hz);
}

static void reset(weiri_block *block)
{
    const crossing *k = block->constants;
    size_t columns = (size_t)block->columns;
    for (int i = 0; i < (k->absolute ? MEDIAN : SEEN + 1); i++) {
        memset(block->state[i], 0, columns * (i == BEYOND || i == ACTIVE ? 1 : i == COUNT ? 4 : 8));
    }
    memset(block->state[BEYOND], 1,
           columns); /* the first sample comes from nowhere: it crosses nothing */
}

/* ---- crossings ----------------------------------------------------------------------------------- */

/* What the search needs of a sample. */
static inline double height(const crossing *k, double x)
{
    return k->polarity == NEG ? -x : k->polarity == POS ? x : fabs(x);
}

/* The same in all columns of a group goes without branches: 4 times as fast with the noise, which is above and below
 * its median by chance. */
#define GROUP 32

/* What a call works on: fields, and scratch. */
typedef struct look {
    const crossing *k;
    uint8_t *beyond;
    const uint8_t *active;
    double *median, *mean, *seen; /* NULL: the level is absolute */
    double *over;                 /* by how much the columns of a frame are beyond; NAN = missing */
    uint8_t *settled;             /* of each group: all of its columns have seen `most` samples */
    uint8_t *flags;               /* of each column: 1 = active, 2 = crosses */
} look;

/* One frame of `count` columns: `over`, by the noise of the samples before it, and then the noise. A missing sample
 * is held: nothing changes (S5). f32, settled and polarity are constants at each call. */
__attribute__((always_inline)) static inline void follow(
    const look *l, const void *row, size_t from, size_t count, bool f32, bool settled, int polarity)
{
    const double factor = l->k->factor, gain = l->k->gain, most = l->k->most;
    double *restrict medians = l->median + from, *restrict means = l->mean + from;
    double *restrict overs = l->over + from, *restrict seens = l->seen + from;
    const float *restrict row32 = (const float *)row + from;
    const double *restrict row64 = (const double *)row + from;
    for (size_t c = 0; c < count; c++) {
        double x = f32 ? (double)row32[c] : row64[c], m = medians[c], mean = means[c], g = gain;
        bool good = fabs(x) <= DBL_MAX;
        double v = good ? fabs(x) : m, y = polarity == NEG ? -x : polarity == POS ? x : fabs(x);
        double over = y - factor * m;
        overs[c] = good ? over : (double)NAN;
        if (!settled) {
            double seen = seens[c] + (good && seens[c] < most ? 1.0 : 0.0);
            seens[c] = seen;
            g = seen > 0.0 ? 1.0 / seen : 0.0;
        }
        g = good ? g : 0.0;
        mean += g * (v - mean);
        double step = g * (mean > m ? mean : m);
        step = v > m ? step : v < m ? -step : 0.0;
        means[c] = mean;
        medians[c] = m + step > 0.0 ? m + step : 0.0;
    }
}

/* The same where the threshold is a level. */
__attribute__((always_inline)) static inline void
compare(const look *l, const void *row, size_t from, size_t count, bool f32, int polarity)
{
    const double level = l->k->level;
    double *restrict overs = l->over + from;
    for (size_t c = 0; c < count; c++) {
        double x = f32 ? (double)((const float *)row)[from + c] : ((const double *)row)[from + c];
        double y = polarity == NEG ? -x : polarity == POS ? x : fabs(x);
        overs[c] = fabs(x) <= DBL_MAX ? y - level : (double)NAN;
    }
}

__attribute__((always_inline)) static inline void
look_group(const look *l, const void *row, size_t from, size_t count, bool f32, int polarity)
{
    if (l->median == NULL) {
        compare(l, row, from, count, f32, polarity);
    } else if (l->settled[from / GROUP] == 0) {
        follow(l, row, from, count, f32, false, polarity);
    } else if (count == GROUP) {
        follow(l, row, from, GROUP, f32, true, polarity);
    } else {
        follow(l, row, from, count, f32, true, polarity);
    }
}

__attribute__((always_inline)) static inline void
look_groups(const look *l, const void *row, size_t columns, bool f32, int polarity)
{
    for (size_t from = 0; from < columns; from += GROUP) {
        look_group(l, row, from, columns - from < GROUP ? columns - from : GROUP, f32, polarity);
    }
}

/* Which columns cross. Returns whether any flag is set; *clean is cleared by a missing sample. */
static bool look_at(const look *l, size_t columns, bool *clean)
{
    uint8_t any = 0, absent = 0;
    for (size_t c = 0; c < columns; c++) {
        double over = l->over[c];
        uint8_t before = l->beyond[c], missing = over != over;
        uint8_t now = missing ? before : over > 0.0;
        uint8_t flag = l->active[c] | (uint8_t)((now & ~before) << 1);
        l->beyond[c] = now;
        l->flags[c] = flag;
        any |= flag;
        absent |= missing;
    }
    *clean = *clean && absent == 0;
    return any != 0;
}

static bool look_row(const look *l, const void *row, bool f32, size_t columns, bool *clean)
{
    switch (l->k->polarity + (f32 ? 3 : 0)) {
    case NEG:
        look_groups(l, row, columns, false, NEG);
        break;
    case POS:
        look_groups(l, row, columns, false, POS);
        break;
    case BOTH:
        look_groups(l, row, columns, false, BOTH);
        break;
    case NEG + 3:
        look_groups(l, row, columns, true, NEG);
        break;
    case POS + 3:
        look_groups(l, row, columns, true, POS);
        break;
    default:
        look_groups(l, row, columns, true, BOTH);
        break;
    }
    return look_at(l, columns, clean);
}

static bool is_armed(const look *l, size_t c)
{
    return l->seen == NULL || l->seen[c] > l->k->least ||
           l->seen[c] >= l->k->most; /* the present one included */
}

static look look_of(weiri_block *block, void *scratch, size_t columns)
{
    const crossing *k = block->constants;
    weiri_carver carver = {.base = scratch};
    look l = {
        .k = k,
        .beyond = block->state[BEYOND],
        .active = block->state[ACTIVE],
        .median = k->absolute ? NULL : block->state[MEDIAN],
        .mean = k->absolute ? NULL : block->state[MEAN],
        .seen = k->absolute ? NULL : block->state[SEEN],
        .over = weiri_carve(&carver, columns, sizeof(double)),
        .settled = weiri_carve(&carver, (columns + GROUP - 1) / GROUP, 1),
        .flags = weiri_carve(&carver, columns, 1),
    };
    for (size_t c = 0; c < columns; c++) {
        bool settled = k->absolute || l.seen[c] >= k->most;
        l.settled[c / GROUP] = settled && (c % GROUP == 0 || l.settled[c / GROUP] != 0);
    }
    return l;
}

static void emit(const crossing *k, weiri_block *block, uint64_t index, size_t column, double value)
{
    bool above = k->polarity == POS || (k->polarity == BOTH && value > 0.0);
    weiri_record_add(block, index, column, above ? 1 : 0, value);
    ((uint32_t *)block->state[COUNT])[column]++;
}

/* One column at frame t, where something is open, done or crossed. */
static void
search(const crossing *k, weiri_block *block, uint64_t t, size_t c, double x, bool crosses)
{
    uint64_t *open = block->state[OPEN], *peak = block->state[PEAK], *done = block->state[DONE];
    uint64_t *ready = block->state[READY];
    double *value = block->state[VALUE], *done_value = block->state[DONE_VALUE];
    if (open[c] > 0 && isfinite(x) && height(k, x) > height(k, value[c])) {
        peak[c] = t;
        value[c] = x;
    } else if (open[c] == 0 && crosses && t >= ready[c]) {
        open[c] = t + 1;
        peak[c] = t;
        value[c] = x;
    }
    if (open[c] > 0 && t == open[c] - 1 + k->search) {
        done[c] = peak[c] +
                  1; /* the one before is out: its search began more than `search` frames before */
        done_value[c] = value[c];
        ready[c] = peak[c] + k->refrac;
        open[c] = 0;
    }
    if (done[c] > 0 && done[c] - 1 + k->search == t) {
        emit(k, block, done[c] - 1, c, done_value[c]);
        done[c] = 0;
    }
    ((uint8_t *)block->state[ACTIVE])[c] = open[c] > 0 || done[c] > 0;
}

/* At the segment's end: the events at a frame, those too whose search is not over. */
static void emit_frame(const crossing *k, weiri_block *block, uint64_t t, size_t columns)
{
    uint64_t *open = block->state[OPEN], *peak = block->state[PEAK], *done = block->state[DONE];
    for (size_t c = 0; c < columns; c++) {
        if (done[c] == t + 1) {
            emit(k, block, t, c, ((double *)block->state[DONE_VALUE])[c]);
            done[c] = 0;
        } else if (open[c] > 0 && peak[c] == t) {
            emit(k, block, t, c, ((double *)block->state[VALUE])[c]);
            open[c] = 0;
        }
    }
}

/* ---- running ------------------------------------------------------------------------------------- */

/* The counts of a bin, which then starts anew. */
static void *put_counts(weiri_block *block, void *out, size_t columns)
{
    uint32_t *count = block->state[COUNT];
    bool f32 = block->out->dtype == WEIR_F32;
    for (size_t c = 0; c < columns; c++) {
        if (f32) {
            ((float *)out)[c] = (float)count[c];
        } else {
            ((double *)out)[c] = (double)count[c];
        }
        count[c] = 0;
    }
    return (unsigned char *)out + columns * (f32 ? sizeof(float) : sizeof(double));
}

/* What is left of the segment: the bins that are due, and the records up to their end; in the last call the rest. */
static void run_end(weiri_block *block, const weiri_work *work, size_t columns)
{
    const crossing *k = block->constants;
    uint64_t bin = work->produced, n = work->consumed;
    uint64_t waiting = n > k->search ? n - k->search : 0, t = weiri_fraction_times(k->bin, bin);
    void *out = work->out;
    t = t > waiting ? t : waiting;
    for (size_t i = 0; i < work->produce; i++) {
        for (uint64_t end = weiri_fraction_times(k->bin, ++bin); t < end; t++) {
            emit_frame(k, block, t, columns);
        }
        out = put_counts(block, out, columns);
    }
    for (; work->produce == 0 && t < n; t++) {
        emit_frame(k, block, t, columns);
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    const crossing *k = block->constants;
    size_t columns = (size_t)block->columns;
    bool f32 = block->in->dtype == WEIR_F32, clean = true;
    size_t value_bytes = f32 ? sizeof(float) : sizeof(double);
    if (work->ended) {
        run_end(block, work, columns);
        return;
    }
    look l = look_of(block, work->scratch, columns);
    void *out = work->out;
    uint64_t bin = work->produced, end = weiri_fraction_times(k->bin, bin + 1) + k->search;
    for (size_t i = 0; i < work->consume; i++) {
        uint64_t t = work->consumed + i;
        const void *row = (const unsigned char *)work->in[0] + i * columns * value_bytes;
        bool any = look_row(&l, row, f32, columns, &clean);
        for (size_t c = 0; any && c < columns; c++) {
            if (l.flags[c] != 0) {
                double x = f32 ? (double)((const float *)row)[c] : ((const double *)row)[c];
                search(k, block, t, c, x, (l.flags[c] & 2) != 0 && is_armed(&l, c));
            }
        }
        if (t + 1 == end) {
            out = put_counts(block, out, columns);
            end = weiri_fraction_times(k->bin, ++bin + 1) + k->search;
        }
    }
    if (!clean) {
        weiri_count_missing(block, work->in[0], work->consume);
    }
}

const weiri_unit_ops weiri_unit_threshold_crossing = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "threshold_crossing",
             .summary =
                 "events where a channel crosses a threshold: records, and counts for each bin",
             .formula = "An event is the extremum within max_peak_dur after |x| first exceeds "
                        "threshold times the noise, noise = median(|x|) / 0.6745 running over "
                        "noise_time; y[k] = number of events in bin k.",
             .source = "Quiroga, Nadasdy and Ben-Shaul, Neural Computation 16, 2004 (noise); "
                       "Tierney, SIAM J. Sci. Stat. Comput. 4, 1983 (running quantile).",
             .start = "No event is open; the noise estimate begins with the first sample.",
             .checks = "events at known frames",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE |
                      WEIR_UNIT_RECORDS,
             .settings = table},
    .settings_bytes = sizeof(crossing_settings),
    .plan = plan,
    .prepare = prepare,
    .reset = reset,
    .run = run,
};
