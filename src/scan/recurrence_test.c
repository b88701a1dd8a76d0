/* SPDX-License-Identifier: MIT
 *
 * recurrence_test.c: S1, S5 and S9 of recurrences, at every SIMD level of this machine: any message
 * boundaries, samples missing singly, permanently and in all columns at once, states that overflow.
 */
#include "scan/recurrence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum { FRAMES = 500, COLUMNS_MAX = 40 };

/* Two sections of a band-pass with poles near one, for a state that lasts. */
static const weiri_sos_params band = {.kind = WEIRI_SOS_BAND,
                                      .sections = 2,
                                      .gain = 0.03,
                                      .coefs = {{0.0, -1.0, 1.95, -0.96}, {0.0, -1.0, 0.9, -0.5}}};
static const double band_start[4] = {-0.03, -0.03, 0.0, 0.0}; /* a constant gives 0 */
/* Five sections with zeros off the unit circle: the general form, in more than one group at each
 * level. */
static const weiri_sos_params general = {.kind = WEIRI_SOS_GENERAL,
                                         .sections = 5,
                                         .gain = 0.2,
                                         .coefs = {{0.3, 0.2, 0.5, -0.1},
                                                   {0.1, 0.0, 0.2, -0.3},
                                                   {-0.4, 0.1, -0.3, -0.2},
                                                   {0.5, 0.25, 0.7, -0.4},
                                                   {0.2, 0.1, 0.1, -0.1}}};
static const weiri_ewma_params slow = {0.01, 0.99};

typedef struct kind {
    const char *name;
    size_t words;
    const void *params;
    const double *start;
} kind;

static const kind kinds[] = {
    {"band", 4, &band, band_start},
    {"general", 10, &general, NULL},
    {"ewma", 2, &slow, NULL},
    {"standardize", 3, &slow, NULL},
};

static weiri_recurrence_fn *kernel_of(const weiri_kernels *kernels, size_t which, bool f32)
{
    switch (which) {
    case 0:
    case 1:
        return f32 ? kernels->sos_f32 : kernels->sos_f64;
    case 2:
        return f32 ? kernels->ewma_f32 : kernels->ewma_f64;
    default:
        return f32 ? kernels->standardize_f32 : kernels->standardize_f64;
    }
}

/* Runs a signal in pieces of up to `longest` frames, whose frames are adjacent or have other values between them;
 * 0 = whole. */
static void run(const weiri_kernels *kernels,
                size_t which,
                bool f32,
                size_t columns,
                const void *in,
                void *out,
                size_t frames,
                size_t longest,
                uint64_t *missing,
                uint64_t *seed)
{
    size_t bytes = f32 ? 4 : 8;
    weiri_recurrence recurrence = {
        .run = kernel_of(kernels, which, f32),
        .params = kinds[which].params,
        .start = kinds[which].start,
        .words = kinds[which].words,
        .columns = columns,
        .in_stride = (ptrdiff_t)columns,
        .out_stride = (ptrdiff_t)columns,
        .value_bytes = bytes,
        .missing = missing,
        .inner = 1,
        .channels = columns,
        .state = calloc(weiri_recurrence_state_words(columns, kinds[which].words), sizeof(double)),
        .started = calloc(columns, 1),
    };
    assert_true(recurrence.state != NULL && recurrence.started != NULL);
    memset(missing, 0, columns * sizeof *missing);
    weiri_recurrence_reset(&recurrence);
    for (size_t done = 0; done < frames;) {
        size_t some = longest == 0 ? frames : (size_t)(testing_random(seed) >> 8) % (longest + 1);
        some = some < frames - done ? some : frames - done;
        size_t stride = columns + (longest == 0 ? 0 : (size_t)(testing_random(seed) >> 8) % 3 * 7);
        unsigned char *rows = malloc(some * stride * bytes + 1);
        assert_non_null(rows);
        memset(rows, 0xff, some * stride * bytes); /* NaN */
        for (size_t f = 0; f < some; f++) {
            memcpy(rows + f * stride * bytes,
                   (const unsigned char *)in + (done + f) * columns * bytes, columns * bytes);
        }
        recurrence.in_stride = (ptrdiff_t)stride;
        weiri_recurrence_process(&recurrence, rows, (unsigned char *)out + done * columns * bytes,
                                 some);
        free(rows);
        done += some;
    }
    free(recurrence.state);
    free(recurrence.started);
}

static double get(const void *rows, bool f32, size_t at)
{
    return f32 ? (double)((const float *)rows)[at] : ((const double *)rows)[at];
}

static void put(void *rows, bool f32, size_t at, double value)
{
    if (f32) {
        ((float *)rows)[at] = (float)value;
    } else {
        ((double *)rows)[at] = value;
    }
}

/* A signal with columns that are clean, dead, late, or interrupted; frames 200 to 229 are
 * missing in all, as when an artefact is blanked. */
static void fill(void *rows, bool f32, size_t columns, bool blanked_only, uint64_t *seed)
{
    static const double missing[] = {NAN, INFINITY, -INFINITY};
    for (size_t c = 0; c < columns; c++) {
        uint64_t fate = blanked_only ? 0 : testing_random(seed) >> 8;
        for (size_t f = 0; f < FRAMES; f++) {
            double x = (double)(testing_random(seed) >> 40) * 0x1p-20 + 30.0;
            bool lost = (fate % 5 == 1) || (fate % 5 == 2 && f < 1 + fate / 5 % 300) ||
                        (fate % 5 == 3 && testing_random(seed) >> 59 == 0) ||
                        (f >= 200 && f < 230) || (blanked_only && f < 2);
            put(rows, f32, f * columns + c, lost ? missing[f % 3] : x);
        }
    }
}

/* Columns equal, bit for bit, a run without the missing samples, for any message boundaries. */
static void missing_is_as_if_it_had_not_come(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("recurrence");
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        for (size_t round = 0; round < 8 * (sizeof kinds / sizeof kinds[0]); round++) {
            const weiri_kernels *kernels = weiri_kernels_at(level);
            size_t which = round % 4,
                   columns = 1 + (size_t)(testing_random(&seed) >> 8) % COLUMNS_MAX;
            bool f32 = round / 4 % 2 == 0;
            size_t bytes = f32 ? 4 : 8, total = FRAMES * columns * bytes;
            unsigned char *in = malloc(total), *whole = malloc(total), *cut = malloc(total);
            assert_true(in != NULL && whole != NULL && cut != NULL);
            uint64_t missing[COLUMNS_MAX], again[COLUMNS_MAX];
            fill(in, f32, columns, round % 3 == 0, &seed);
            run(kernels, which, f32, columns, in, whole, FRAMES, 0, missing, &seed);
            static const size_t longest[] = {1, 3, 70};
            for (size_t i = 0; i < 3; i++) {
                run(kernels, which, f32, columns, in, cut, FRAMES, longest[i], again, &seed);
                assert_memory_equal(cut, whole, total);
                assert_memory_equal(again, missing, columns * sizeof *missing);
            }
            for (size_t c = 0; c < columns; c++) {
                unsigned char good[FRAMES * 8], alone[FRAMES * 8];
                size_t at[FRAMES], count = 0;
                uint64_t none;
                for (size_t f = 0; f < FRAMES; f++) {
                    if (isfinite(get(in, f32, f * columns + c))) {
                        memcpy(good + count * bytes, in + (f * columns + c) * bytes, bytes);
                        at[count++] = f * columns + c;
                    } else {
                        assert_true(isnan(get(whole, f32, f * columns + c)));
                    }
                }
                assert_int_equal(missing[c], FRAMES - count);
                run(kernels, which, f32, 1, good, alone, count, 0, &none, &seed);
                assert_int_equal(none, 0);
                for (size_t f = 0; f < count; f++) {
                    assert_memory_equal(whole + at[f] * bytes, alone + f * bytes, bytes);
                }
            }
            free(in);
            free(whole);
            free(cut);
        }
    }
}

/* A finite sample that overflows the state is missing, decided sample by sample; the column
 * recovers, and others are not affected. */
static void overflow_does_not_depend_on_the_cut(void **state)
{
    (void)state;
    enum { COLUMNS = 18 };
    uint64_t seed = testing_seed("overflow");
    static double in[FRAMES * COLUMNS], clean[FRAMES * COLUMNS], whole[FRAMES * COLUMNS],
        cut[FRAMES * COLUMNS], undisturbed[FRAMES * COLUMNS];
    for (size_t i = 0; i < FRAMES * COLUMNS; i++) {
        in[i] = clean[i] = (double)(testing_random(&seed) >> 40) * 0x1p-20;
    }
    static const size_t frames[] = {0, 1, 99, 100, 101, 300, 499};
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        in[frames[i] * COLUMNS + 3] = i % 2 == 0 ? 1.7e308 : -1.7e308;
        in[frames[i] * COLUMNS + 17] = i % 2 == 0 ? -1.7e308 : 1.7e308;
    }
    in[50 * COLUMNS + 3] = (double)NAN;
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        for (size_t which = 0; which < sizeof kinds / sizeof kinds[0]; which++) {
            const weiri_kernels *kernels = weiri_kernels_at(level);
            uint64_t missing[COLUMNS], again[COLUMNS];
            run(kernels, which, false, COLUMNS, in, whole, FRAMES, 0, missing, &seed);
            for (size_t i = 0; i < 6; i++) {
                run(kernels, which, false, COLUMNS, in, cut, FRAMES, 1 + i * i * 7, again, &seed);
                assert_memory_equal(cut, whole, sizeof whole);
                assert_memory_equal(again, missing, sizeof missing);
            }
            run(kernels, which, false, COLUMNS, clean, undisturbed, FRAMES, 0, again, &seed);
            for (size_t c = 0; c < COLUMNS; c++) {
                for (size_t f = 0; f < FRAMES; f++) {
                    size_t at = f * COLUMNS + c;
                    if (c != 3 && c != 17) {
                        assert_memory_equal(&whole[at], &undisturbed[at], sizeof(double));
                    }
                }
            }
            assert_true(missing[3] >= 1 && missing[3] < 20);
            assert_true(isfinite(whole[498 * COLUMNS + 3]) && isfinite(whole[498 * COLUMNS + 17]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_is_as_if_it_had_not_come),
        cmocka_unit_test(overflow_does_not_depend_on_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
