/* SPDX-License-Identifier: MIT
 *
 * threshold_crossing_test.c: against a detector that looks at the whole of a channel at once, known spikes, the noise
 * estimate against known noise, edges: message boundaries, a segment's end, missing samples, refractory period.
 */
#include "unit/drive.h"

#define RATE 30000.0

static const char *const labels[5] = {"a", "b", "c", "d", "e"};

/* ---- the plain detector -------------------------------------------------------------------------- */

typedef struct rule {
    double threshold, level; /* level > 0: absolute */
    int polarity;            /* -1, 1, 0 = both */
    size_t search, refrac, noise;
    bool ended;
} rule;

static double height(const rule *r, double x)
{
    return r->polarity == 0 ? fabs(x) : (double)r->polarity * x;
}

/* Whether each sample of a channel is beyond its threshold (1), not (0), or missing (-1); armed: may cross. */
static void beyond_of(const rule *r, const double *x, size_t frames, int *beyond, bool *armed)
{
    double median = 0.0, mean = 0.0;
    size_t seen = 0;
    for (size_t t = 0; t < frames; t++) {
        double limit = r->level > 0.0 ? r->level : r->threshold / 0.67448975019608171 * median;
        armed[t] = r->level > 0.0 || (double)seen >= ceil((double)r->noise / 10.0);
        beyond[t] = !isfinite(x[t]) ? -1 : height(r, x[t]) > limit;
        if (isfinite(x[t])) {
            seen += seen < r->noise ? 1 : 0;
            double v = fabs(x[t]), g = 1.0 / (double)seen;
            mean += g * (v - mean);
            double step = g * fmax(mean, median);
            median = fmax(0.0, v > median ? median + step : v < median ? median - step : median);
        }
    }
}

/* Events of a channel: frames and amplitudes; returns how many are known. */
static size_t detect(const rule *r, const double *x, size_t frames, size_t *at)
{
    int *beyond = calloc(frames, sizeof *beyond), before = 1;
    bool *armed = calloc(frames, sizeof *armed);
    size_t count = 0, ready = 0;
    assert_true(beyond != NULL && armed != NULL);
    beyond_of(r, x, frames, beyond, armed);
    for (size_t t = 0; t < frames; t++) {
        bool crosses = beyond[t] == 1 && before == 0 && armed[t];
        before = beyond[t] < 0 ? before : beyond[t];
        if (crosses && t >= ready) {
            size_t peak = t;
            for (size_t u = t; u <= t + r->search && u < frames; u++) {
                peak = isfinite(x[u]) && height(r, x[u]) > height(r, x[peak]) ? u : peak;
            }
            if (r->ended || peak + r->search < frames) {
                at[count++] = peak;
            }
            ready = peak + r->refrac > t + r->search ? peak + r->refrac : t + r->search + 1;
        }
    }
    free(beyond);
    free(armed);
    return count;
}

/* ---- comparing ----------------------------------------------------------------------------------- */

static void check_column(const drive *d,
                         const drive_output *o,
                         const rule *r,
                         const void *data,
                         size_t frames,
                         size_t column,
                         size_t bin)
{
    size_t columns = (size_t)weir_spec_columns(&d->in);
    double *x = malloc(frames * sizeof *x);
    size_t *at = malloc(frames * sizeof *at), found = 0, first = 0;
    assert_true(x != NULL && at != NULL);
    for (size_t t = 0; t < frames; t++) {
        x[t] = drive_input(&d->in, data, t * columns + column);
    }
    size_t count = detect(r, x, frames, at);
    for (size_t i = 0; i < d->record_count; i++) {
        const weir_record *record = &d->records[i];
        if (record->column == column) {
            assert_true(found < count);
            assert_int_equal(record->index, at[found]);
            assert_true(record->value == x[at[found]]);
            assert_int_equal(record->kind, x[at[found]] > 0.0);
            found++;
        }
    }
    assert_int_equal(found, count);
    for (size_t k = 0; k < o->frames; k++) { /* a bin has the records of its frames */
        size_t inside = 0;
        for (; first < count && at[first] < (k + 1) * bin; first++) {
            inside++;
        }
        assert_true(drive_value(d, o, k * columns + column) == (double)inside);
    }
    free(x);
    free(at);
}

static void check_rule(const rule *r, weir_dtype dtype, double missing, uint64_t *random)
{
    static const char *const names[] = {"neg", "both", "pos"};
    const size_t frames = 5000, bin = 100;
    weir_spec in = weir_spec_make(dtype, RATE, 5, labels, NULL);
    weir_value settings[] = {
        weir_number("threshold", r->threshold),
        weir_text("polarity", names[r->polarity + 1]),
        weir_number("noise_time", (double)r->noise / RATE),
        weir_number("refrac_dur", (double)r->refrac / RATE),
        weir_number("max_peak_dur", (double)r->search / RATE),
        weir_number("bin_duration", (double)bin / RATE),
        weir_number("level", r->level),
    };
    drive *d = NULL;
    size_t given = sizeof settings / sizeof settings[0] - (r->level > 0.0 ? 0 : 1);
    assert_int_equal(drive_open("threshold_crossing", &in, settings, given, &d), WEIR_OK);
    d->ends = r->ended;
    assert_int_equal(d->plan.record_frames, r->refrac);
    assert_int_equal(d->plan.record_delay, r->search);
    void *data = drive_signal(&in, frames, 0.0, missing, random);
    drive_output o = drive_cuts(d, data, frames, random);
    assert_int_equal(o.frames, (frames - (r->ended ? 0 : r->search)) / bin);
    assert_true(d->record_count > 50);
    for (size_t c = 0; c < 5; c++) {
        check_column(d, &o, r, data, frames, c, bin);
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void as_the_plain_detector(void **state)
{
    (void)state;
    static const rule rules[] = {
        {.threshold = 2.0, .polarity = -1, .search = 15, .refrac = 30, .noise = 3000},
        {.threshold = 2.0, .polarity = 1, .search = 0, .refrac = 2, .noise = 300},
        {.threshold = 1.0, .polarity = 0, .search = 1, .refrac = 2, .noise = 30000},
        {.threshold = 1.5, .polarity = 0, .search = 40, .refrac = 7, .noise = 700},
        {.threshold = 1.0, .polarity = -1, .search = 3, .refrac = 90, .noise = 10},
        {.threshold = 1.0, .level = 0.9, .polarity = -1, .search = 99, .refrac = 20},
        {.threshold = 1.0, .level = 0.4, .polarity = 0, .search = 2, .refrac = 2},
        {.threshold = 1.0, .level = 0.7, .polarity = 1, .search = 250, .refrac = 300},
    };
    uint64_t random = drive_seed();
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        for (int way = 0; way < 4; way++) {
            rule r = rules[i];
            r.ended = way % 2 == 1;
            r.noise = r.noise == 0 ? 30000 : r.noise;
            check_rule(&r, way < 2 ? WEIR_F32 : WEIR_F64, way == 3 ? 0.05 : 0.0, &random);
        }
    }
}

/* ---- known spikes -------------------------------------------------------------------------------- */

static void spikes_are_found_where_they_are(void **state)
{
    (void)state;
    enum { FRAMES = 60000, SPIKES = 400 };
    uint64_t random = drive_seed();
    weir_spec in = weir_spec_make(WEIR_F32, RATE, 2, labels, NULL);
    drive *d = NULL;
    const weir_value settings[] = {weir_number("threshold", 6.0)};
    assert_int_equal(drive_open("threshold_crossing", &in, settings, 1, &d), WEIR_OK);
    float *data =
        drive_signal(&in, FRAMES, 0.0, 0.0, &random); /* its standard deviation is 0.707 */
    size_t at[SPIKES];
    for (size_t i = 0; i < SPIKES; i++) { /* 14 times that; the flanks are 9 and 11 */
        at[i] = 3500 + i * 140 + (size_t)drive_random(&random, 60);
        for (int k = -1; k <= 1; k++) {
            data[2 * (at[i] + (size_t)(k + 1))] = k == 0 ? -10.0f : k < 0 ? -6.5f : -8.0f;
        }
        at[i]++;
    }
    drive_output o = drive_run(d, data, FRAMES, 0, NULL);
    size_t found = 0;
    for (size_t i = 0; i < d->whole.log_count; i++) {
        const weir_record *record = &d->whole.log[i];
        assert_int_equal(record->column,
                         0); /* 6 times the noise is not met by chance: values end at 4.2 */
        assert_true(found < SPIKES);
        assert_int_equal(record->index, at[found++]);
        assert_true(record->value == -10.0);
        assert_int_equal(record->kind, 0);
    }
    assert_int_equal(found, SPIKES);
    assert_int_equal(o.frames, FRAMES / 600 - 1); /* the last bin waits for 15 frames */
    free(o.data);
    free(data);
    drive_close(d);
}

/* ---- noise --------------------------------------------------------------------------------------- */

static double noise_of(const drive *d, size_t column)
{
    enum { MEDIAN = 9 };
    assert_string_equal(d->plan.fields[MEDIAN].name, "median");
    return ((const double *)d->block->state[MEDIAN])[column] / 0.67448975019608171;
}

static double gauss(uint64_t *random)
{
    double u = ((double)drive_random(random, UINT64_C(1) << 52) + 1.0) * 0x1p-52;
    double v = (double)drive_random(random, UINT64_C(1) << 52) * 0x1p-52;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Of 3 uV; with spikes in 2 % of the samples; after a start in an artefact; after a dead electrode. */
static void noise_is_known(void **state)
{
    (void)state;
    enum { FRAMES = 180000 };
    uint64_t random = drive_seed();
    weir_spec in = weir_spec_make(WEIR_F64, RATE, 4, labels, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open("threshold_crossing", &in, NULL, 0, &d), WEIR_OK);
    double *data = malloc(FRAMES * 4 * sizeof *data);
    assert_non_null(data);
    for (size_t t = 0; t < FRAMES; t++) {
        for (size_t c = 0; c < 4; c++) {
            data[4 * t + c] = 3.0 * gauss(&random);
        }
        data[4 * t + 1] = t % 50 == 0 ? -300.0 : data[4 * t + 1];
        data[4 * t + 2] = t < 3 ? 3000.0 : data[4 * t + 2];
        data[4 * t + 3] = t < 30000 ? 0.0 : data[4 * t + 3];
    }
    drive_output o = drive_run(d, data, 30000, 0, NULL); /* one second */
    assert_int_equal(weiri_due_at(&d->plan.due, 30000, false), 49);
    drive_near(noise_of(d, 0), 3.0, 0.03, 0.0, "noise after 1 s");
    drive_near(noise_of(d, 2), 3.0, 0.05, 0.0, "noise after an artefact, 1 s");
    drive_near(noise_of(d, 3), 0.0, 0.0, 1e-3, "noise of a dead electrode");
    free(o.data);
    o = drive_run(d, data + 4 * 30000, FRAMES - 30000, 0, NULL);
    drive_near(noise_of(d, 0), 3.0, 0.025, 0.0, "noise");
    drive_near(noise_of(d, 1), 3.0, 0.05, 0.0, "noise with spikes");
    drive_near(noise_of(d, 2), 3.0, 0.025, 0.0, "noise after an artefact");
    drive_near(noise_of(d, 3), 3.0, 0.03, 0.0, "noise after a dead electrode");
    free(o.data);
    free(data);
    drive_close(d);
}

/* ---- edges --------------------------------------------------------------------------------------- */

/* One channel of chosen values, level 1, search 5, refractory 8 frames; bins of 10. */
static size_t
events_of(const double *x, size_t frames, bool ends, int64_t *at, size_t most, double *bins)
{
    weir_spec in = weir_spec_make(WEIR_F64, 1000.0, 1, labels, NULL);
    const weir_value settings[] = {
        weir_number("level", 1.0),
        weir_text("max_peak_dur", "5 ms"),
        weir_text("refrac_dur", "8 ms"),
        weir_text("bin_duration", "10 ms"),
    };
    uint64_t random = 1;
    drive *d = NULL;
    assert_int_equal(drive_open("threshold_crossing", &in, settings, 4, &d), WEIR_OK);
    d->ends = ends;
    drive_output o = drive_cuts(d, x, frames, &random);
    assert_int_equal(o.frames, (frames - (ends ? 0 : frames < 5 ? frames : 5)) / 10);
    size_t count = d->record_count;
    assert_true(count <= most);
    for (size_t i = 0; i < count; i++) {
        at[i] = d->records[i].index;
    }
    for (size_t i = 0; bins != NULL && i < o.frames; i++) {
        bins[i] = drive_value(d, &o, i);
    }
    free(o.data);
    drive_close(d);
    return count;
}

static void edges(void **state)
{
    (void)state;
    int64_t at[20];
    double x[60] = {0}, bins[6];
    x[0] = -5.0; /* beyond from the start: no crossing */
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 0);
    x[0] = 0.0;
    x[9] = -2.0; /* crosses in bin 0; its extremum, at the last frame of the search, is in bin 1 */
    x[14] = -3.0;
    assert_int_equal(events_of(x, 60, true, at, 20, bins), 1);
    assert_int_equal(at[0], 14);
    assert_true(bins[0] == 0.0 && bins[1] == 1.0);
    x[15] = -4.0; /* a frame later: not seen */
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 1);
    assert_int_equal(at[0], 14);
    x[15] = 0.0;
    x[21] = -9.0; /* 7 frames after the extremum: refractory */
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 1);
    x[22] = -9.0; /* still beyond when it ends: no crossing */
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 1);
    x[21] = 0.0;
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 2);
    assert_int_equal(at[1], 22);
    x[22] = 0.0;
    x[57] = -2.0; /* the search is cut by the segment's end */
    x[58] = -2.5;
    assert_int_equal(events_of(x, 60, false, at, 20, NULL), 1);
    assert_int_equal(events_of(x, 60, true, at, 20, bins), 2);
    assert_int_equal(at[1], 58);
    assert_true(bins[5] == 1.0);
    assert_int_equal(events_of(x, 59, true, at, 20, NULL),
                     2); /* in a bin that is not full: a record only */
    assert_int_equal(events_of(x, 58, true, at, 20, NULL), 2);
    assert_int_equal(at[1], 57);
    assert_int_equal(events_of(x, 3, true, at, 20, NULL), 0);
}

/* S5: a missing sample changes nothing: neither a crossing nor an extremum nor an end of being beyond. */
static void missing_samples_are_held(void **state)
{
    (void)state;
    int64_t at[20];
    double x[60] = {0};
    x[10] = (double)NAN;
    x[11] = -2.0;
    x[12] = (double)-INFINITY;
    x[13] = -3.0;
    x[30] = -2.0;
    x[31] = x[32] = x[33] = (double)NAN;
    for (int i = 34; i < 50; i++) {
        x[i] = -2.0;
    }
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 2);
    assert_int_equal(at[0], 13);
    assert_int_equal(at[1], 30);
    x[0] = (double)NAN; /* the first good sample comes from nowhere too */
    x[1] = -5.0;
    assert_int_equal(events_of(x, 60, true, at, 20, NULL), 2);
}

/* Each second sample crosses, in all channels. */
static void every_sample_crosses(void **state)
{
    (void)state;
    enum { FRAMES = 1000 };
    weir_spec in = weir_spec_make(WEIR_F32, 1000.0, 5, labels, NULL);
    const weir_value settings[] = {
        weir_number("level", 1.0),
        weir_text("refrac_dur", "0 ms"),
        {.key = "align_on_peak", .type = WEIR_VALUE_BOOL, .number = 0},
    };
    uint64_t random = 1;
    drive *d = NULL;
    assert_int_equal(drive_open("threshold_crossing", &in, settings, 3, &d), WEIR_OK);
    assert_int_equal(d->plan.record_frames, 2);
    float *data = calloc(FRAMES * 5, sizeof *data);
    assert_non_null(data);
    for (size_t i = 5; i < FRAMES * 5; i++) {
        data[i] = i / 5 % 2 == 1 ? -2.0f : 0.0f;
    }
    drive_output o = drive_cuts(d, data, FRAMES, &random);
    assert_int_equal(d->record_count, FRAMES / 2 * 5);
    assert_int_equal(o.frames, FRAMES / 20);
    for (size_t i = 0; i < o.frames * 5; i++) {
        assert_true(drive_value(d, &o, i) == 10.0);
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void settings_are_checked(void **state)
{
    (void)state;
    weir_spec in = weir_spec_make(WEIR_F32, 1000.0, 5, labels, NULL);
    drive *d = NULL;
    weir_value bin = weir_text("bin_duration", "0.5 ms"),
               peak = weir_text("max_peak_dur", "9999 h");
    assert_int_equal(drive_open("threshold_crossing", &in, &bin, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "bin_duration: "));
    assert_int_equal(drive_open("threshold_crossing", &in, &peak, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "max_peak_dur: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_plain_detector),
        cmocka_unit_test(spikes_are_found_where_they_are),
        cmocka_unit_test(noise_is_known),
        cmocka_unit_test(edges),
        cmocka_unit_test(missing_samples_are_held),
        cmocka_unit_test(every_sample_crosses),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
