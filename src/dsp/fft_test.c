/* SPDX-License-Identifier: MIT
 *
 * fft_test.c: the transform of every length to 260 and of some longer ones against the sum in long double, at each SIMD
 * level: real and complex values, zeros after the input, weights; missing values stay in their series.
 */
#include "dsp/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

static double value_of(uint64_t *seed)
{
    return (double)(testing_random(seed) >> 11) * 0x1p-52 - 1.0;
}

typedef struct one {
    const weiri_kernels *k;
    uint64_t n, count;
    bool real, f32;
    size_t lanes;
    double *values; /* [count][lanes], complex: pairs */
    double *weights;
    double *points;
} one;

static void run(one *of)
{
    size_t parts = of->real ? 1 : 2, total = (size_t)of->count * of->lanes * parts;
    weiri_fft *fft = aligned_alloc(64, (weiri_fft_bytes(of->n, of->real) + 63) / 64 * 64);
    size_t work = (size_t)weiri_fft_work_bytes(of->n, of->real);
    of->points = aligned_alloc(64, work / 64 * 64 + 128);
    assert_true(fft != NULL && of->points != NULL);
    memset(fft, 0, (size_t)weiri_fft_bytes(of->n, of->real));
    memset(of->points, 0xff, work + 8);
    weiri_fft_prepare(of->n, of->real, fft);
    float *narrow = malloc((total + 1) * sizeof *narrow);
    for (size_t i = 0; i < total; i++) {
        narrow[i] = (float)of->values[i];
    }
    weiri_fft_input in = {.data = of->f32 ? (void *)narrow : of->values,
                          .stride = of->lanes,
                          .count = of->count,
                          .weights = of->weights,
                          .kind = weiri_fft_kind(fft, of->real),
                          .f32 = of->f32};
    of->k->fft(fft, &in, of->points);
    double after;
    memset(&after, 0xff, sizeof after);
    assert_memory_equal((unsigned char *)of->points + work, &after, sizeof after);
    free(narrow);
    free(fft);
}

/* The largest error of a lane, against the largest value. */
static double error_of(const one *of, size_t lane)
{
    size_t parts = of->real ? 1 : 2;
    uint64_t bins = of->real ? of->n / 2 + 1 : of->n;
    long double worst = 0, most = 0, pi2 = 2 * acosl(-1.0L);
    long double *cosines = malloc(of->n * sizeof *cosines), *sines = malloc(of->n * sizeof *sines);
    for (uint64_t i = 0; i < of->n; i++) {
        cosines[i] = cosl(pi2 * (long double)i / (long double)of->n);
        sines[i] = sinl(pi2 * (long double)i / (long double)of->n);
    }
    uint64_t step = bins > 300 ? bins / 97 : 1;
    for (uint64_t k = 0; k < bins; k += step) {
        long double re = 0, im = 0;
        for (uint64_t j = 0; j < of->count; j++) {
            const double *x = of->values + (j * of->lanes + lane) * parts;
            long double a = of->f32 ? (float)x[0] : x[0];
            long double b = of->real ? 0.0 : of->f32 ? (float)x[1] : x[1];
            a *= of->weights[j];
            b *= of->weights[j];
            long double c = cosines[j * k % of->n], s = sines[j * k % of->n];
            re += a * c + b * s;
            im += b * c - a * s;
        }
        const double *found = of->points + k * 2 * of->lanes + lane;
        worst = fmaxl(worst, hypotl(found[0] - re, found[of->lanes] - im));
        most = fmaxl(most, hypotl(re, im));
    }
    free(cosines);
    free(sines);
    return (double)(worst / most);
}

static double check(const weiri_kernels *k, uint64_t n, bool real, bool f32, uint64_t count)
{
    uint64_t seed = n * 4 + real;
    size_t total = (size_t)count * k->lanes * 2;
    one of = {.k = k, .n = n, .count = count, .real = real, .f32 = f32, .lanes = k->lanes};
    of.values = malloc((total + 1) * sizeof *of.values);
    of.weights = malloc((count + 1) * sizeof *of.weights);
    for (size_t i = 0; i < total; i++) {
        of.values[i] = value_of(&seed);
    }
    for (size_t i = 0; i < count; i++) {
        of.weights[i] = count == n ? 1.0 : value_of(&seed);
    }
    run(&of);
    double error = error_of(&of, 0), last = error_of(&of, k->lanes - 1);
    free(of.values);
    free(of.weights);
    free(of.points);
    return error > last ? error : last;
}

static void against_the_sum(void **state)
{
    (void)state;
    static const uint64_t longer[] = {625,  1000, 1021, 1024, 1331, 2048,  2186, 3000,
                                      4096, 4099, 6561, 8190, 8192, 16384, 10007};
    double worst = 0;
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        if (k != weiri_kernels_get()) { /* the memory's size is that of the chosen level */
            continue;
        }
        for (uint64_t n = 1; n <= 260 + sizeof longer / sizeof longer[0]; n++) {
            uint64_t points = n <= 260 ? n : longer[n - 261];
            for (int how = 0; how < 4; how++) {
                uint64_t count = n % 7 == 3 ? points / 2 + 1 : points;
                double error = check(k, points, how % 2 == 0, how / 2 == 1, count);
                worst = fmax(worst, error);
                if (!(error < 1e-15)) {
                    fail_msg("%s: %llu points, %s: error %g", k->level, (unsigned long long)points,
                             how % 2 == 0 ? "real" : "complex", error);
                }
            }
        }
    }
    print_message("worst error %g of the largest value\n", worst);
}

/* A series' bits do not depend on the others (S1), which a missing value does not touch (S5). */
static void series_do_not_touch(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {240, 243, 47, 94, 49};
    const weiri_kernels *k = weiri_kernels_get();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint64_t n = lengths[i], seed = n;
        size_t total = (size_t)n * k->lanes;
        double *values = malloc(total * sizeof *values), *dirty = malloc(total * sizeof *dirty);
        double *weights = malloc(n * sizeof *weights);
        for (size_t j = 0; j < total; j++) {
            values[j] = dirty[j] = value_of(&seed);
        }
        for (size_t j = 0; j < n; j++) {
            weights[j] = 0.5;
            dirty[j * k->lanes] = 1e200 * value_of(&seed);
        }
        dirty[(n / 3) * k->lanes] = i % 2 == 0 ? INFINITY : (double)NAN;
        one a = {.k = k, .n = n, .count = n, .real = true, .lanes = k->lanes, .values = values};
        one b = a;
        a.weights = b.weights = weights;
        b.values = dirty;
        run(&a);
        run(&b);
        for (size_t j = 0; j < (n / 2 + 1) * 2 * k->lanes; j++) {
            if (j % k->lanes != 0) {
                assert_memory_equal(&a.points[j], &b.points[j], sizeof *a.points);
            } else if (j % (2 * k->lanes) == 0) { /* both parts, or one of them */
                assert_true(isnan(b.points[j]) || isnan(b.points[j + k->lanes]));
            }
        }
        free(values);
        free(dirty);
        free(weights);
        free(a.points);
        free(b.points);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_sum),
        cmocka_unit_test(series_do_not_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
