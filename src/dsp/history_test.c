/* SPDX-License-Identifier: MIT
 *
 * history_test.c: the frames that a history shows against the whole signal, for any number of frames, columns and
 * rows, message boundaries and missing samples (S1 S5 S9), and that only memory and place are state (S10).
 */
#include "dsp/history.h"

#include <math.h>
#include <string.h>

#include "testing.h"

enum { FRAMES = 300, COLUMNS_MAX = 40 };

typedef struct signal {
    size_t columns;
    bool f32;
    double x[FRAMES * COLUMNS_MAX];
    unsigned char in[FRAMES * COLUMNS_MAX * 8];
} signal;

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return (testing_random(seed) >> 11) % limit;
}

/* Some columns are late, dead, or broken here and there. */
static void fill(signal *s, uint64_t *seed)
{
    static const double kinds[] = {NAN, INFINITY, -INFINITY};
    for (size_t c = 0; c < s->columns; c++) {
        uint64_t fate = below(seed, 5), late = below(seed, FRAMES);
        for (size_t f = 0; f < FRAMES; f++) {
            size_t at = f * s->columns + c;
            bool lost = (fate == 1 && f < late) || (fate == 2 && below(seed, 8) == 0) ||
                        (fate == 3 && late < 20);
            double x = (double)(float)(1.0 + (double)below(seed, 1000));
            s->x[at] = lost ? kinds[f % 3] : x;
            if (s->f32) {
                ((float *)(void *)s->in)[at] = (float)s->x[at];
            } else {
                ((double *)(void *)s->in)[at] = s->x[at];
            }
        }
    }
}

/* What column c is to show of frame f (from -before on) when frame `now` is the last one. */
static double expected(const signal *s, bool starts, long f, size_t now, size_t c, bool *ret_absent)
{
    size_t first = 0; /* the first good sample up to now */
    while (first <= now && !isfinite(s->x[first * s->columns + c])) {
        first++;
    }
    *ret_absent = f >= 0 && !isfinite(s->x[(size_t)f * s->columns + c]);
    if (first > now) {
        return 0.0; /* nothing yet */
    }
    if (f < (long)first) {
        return starts ? s->x[first * s->columns + c] : 0.0;
    }
    while (!isfinite(s->x[(size_t)f * s->columns + c])) {
        f--;
    }
    return s->x[(size_t)f * s->columns + c];
}

static void check_run(const signal *s, const weiri_history *h, uint64_t consumed, size_t run)
{
    for (size_t c = 0; c < s->columns; c++) {
        const void *rows = weiri_history_values(h, consumed, c / WEIRI_BLOCK);
        for (size_t i = 0; i < h->before + run; i++) {
            size_t at = i * WEIRI_BLOCK + c % WEIRI_BLOCK;
            long frame = (long)consumed - (long)h->before + (long)i;
            bool absent;
            double found = s->f32 ? (double)((const float *)rows)[at] : ((const double *)rows)[at];
            /* as the run's first frame sees it; the later ones see no start in between */
            size_t now = frame > (long)consumed ? (size_t)frame : (size_t)consumed;
            double wanted = expected(s, h->started != NULL, frame, now, c, &absent);
            if (found != wanted) {
                fail_msg("frame %ld of column %zu at %llu: %g, expected %g", frame, c,
                         (unsigned long long)consumed, found, wanted);
            }
            if (h->absent != NULL) {
                const uint8_t *marks = weiri_history_absent(h, consumed, c / WEIRI_BLOCK);
                assert_int_equal(marks[at], absent);
            }
        }
    }
}

static void shows_the_last_frames(void **state)
{
    (void)state;
    static signal s;
    uint64_t seed = testing_seed("history");
    for (int round = 0; round < 300; round++) {
        s.columns = 1 + below(&seed, COLUMNS_MAX);
        s.f32 = below(&seed, 2) == 0;
        fill(&s, &seed);
        size_t before = 1 + below(&seed, 60), step = 1 + below(&seed, 80);
        size_t longest = 1 + below(&seed, 100);
        size_t groups = (s.columns + WEIRI_BLOCK - 1) / WEIRI_BLOCK;
        size_t count = groups * (before + step) * WEIRI_BLOCK, bytes = s.f32 ? 4 : 8;
        unsigned char *values = malloc(count * bytes), *absent = malloc(count);
        uint8_t started[COLUMNS_MAX];
        assert_true(values != NULL && absent != NULL);
        memset(values, 0xff, count * bytes); /* reset writes all that is read */
        memset(absent, 0xff, count);
        memset(started, 0xff, sizeof started);
        weiri_history h = {.columns = s.columns,
                           .value_bytes = bytes,
                           .before = before,
                           .step = step,
                           .values = values,
                           .absent = below(&seed, 2) == 0 ? absent : NULL,
                           .started = below(&seed, 2) == 0 ? started : NULL};
        weiri_history_reset(&h);
        for (size_t at = 0; at < FRAMES;) {
            size_t piece = below(&seed, longest + 1);
            piece = piece < FRAMES - at ? piece : FRAMES - at;
            for (size_t done = 0; done < piece;) {
                bool clean = false, good = true;
                size_t run = weiri_history_append(
                    &h, at + done, s.in + (at + done) * s.columns * bytes, piece - done, &clean);
                assert_true(run >= 1 && run <= piece - done);
                for (size_t i = 0; i < run * s.columns; i++) {
                    good = good && isfinite(s.x[(at + done) * s.columns + i]);
                }
                assert_int_equal(clean, good);
                check_run(&s, &h, at + done, run);
                done += run;
            }
            if (piece == 0) {
                bool clean = false;
                assert_int_equal(weiri_history_append(&h, at, s.in, 0, &clean), 0);
            }
            at += piece;
            unsigned char *moved = malloc(count * bytes); /* at another address from here on */
            assert_non_null(moved);
            memcpy(moved, values, count * bytes);
            memset(values, 0xff, count * bytes);
            free(values);
            h.values = values = moved;
        }
        free(values);
        free(absent);
    }
}

/* The memory after a number of frames is the same however they came: what a saved state holds. */
static void memory_does_not_depend_on_the_split(void **state)
{
    (void)state;
    static signal s;
    uint64_t seed = testing_seed("memory");
    for (int round = 0; round < 50; round++) {
        enum { BEFORE = 7, STEP = 11, COUNT = 3 * (BEFORE + STEP) * WEIRI_BLOCK };
        static double values[2][COUNT];
        static uint8_t absent[2][COUNT], started[2][COLUMNS_MAX];
        s.columns = COLUMNS_MAX;
        s.f32 = false;
        fill(&s, &seed);
        for (size_t which = 0; which < 2; which++) {
            weiri_history h = {s.columns,     8, BEFORE, STEP, values[which], absent[which],
                               started[which]};
            weiri_history_reset(&h);
            for (size_t at = 0; at < 200;) {
                bool clean;
                size_t most = which == 0 ? 200 - at : 1;
                at += weiri_history_append(&h, at, s.in + at * s.columns * 8, most, &clean);
            }
        }
        assert_memory_equal(values[0], values[1], sizeof values[0]);
        assert_memory_equal(absent[0], absent[1], sizeof absent[0]);
        assert_memory_equal(started[0], started[1], sizeof started[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_the_last_frames),
        cmocka_unit_test(memory_does_not_depend_on_the_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
