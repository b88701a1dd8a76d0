/* SPDX-License-Identifier: MIT
 *
 * levels_test.c: every kernel at every level of this machine compared with one line of arithmetic
 * per value or a plain loop: any count (tails), in place, and levels compared with each other (S1,
 * S2).
 */
#include "kernel/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "testing.h"

enum { MOST = 300 };

static double random_value(uint64_t *seed)
{
    return (double)(testing_random(seed) >> 40) * 0x1p-20 - 8.0;
}

/* Operations without sums give the same bits at every level, out of place and in place, whatever
 * the start and end. */
static void values_do_not_depend_on_place(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("elementwise");
    const weiri_kernels *base = weiri_kernels_at(0);
    float in32[MOST], a32[MOST], b32[MOST];
    double in64[MOST], a64[MOST], b64[MOST], factors[MOST], offsets[MOST];
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t round = 0; round < 200; round++) {
            size_t count = (size_t)(testing_random(&seed) >> 8) % MOST;
            for (size_t i = 0; i < MOST; i++) {
                in64[i] = random_value(&seed);
                in32[i] = (float)in64[i];
                factors[i] = random_value(&seed);
                offsets[i] = random_value(&seed);
            }
            k->add_f32(in32, in32 + 1, a32, count < 2 ? 0 : count - 1, -1);
            k->add_f64(factors, offsets, a64, count, 1);
            for (size_t i = 0; i < count; i++) {
                assert_true(a64[i] == factors[i] + offsets[i]);
                assert_true(i + 1 >= count || a32[i] == in32[i] - in32[i + 1]);
            }
#define BOTH(name, ...)                                                                            \
    do {                                                                                           \
        base->name##_f32(in32, a32, count, ##__VA_ARGS__);                                         \
        memcpy(b32, in32, sizeof b32);                                                             \
        k->name##_f32(b32, b32, count, ##__VA_ARGS__);                                             \
        assert_memory_equal(a32, b32, count * sizeof *a32);                                        \
        assert_memory_equal(b32 + count, in32 + count, (MOST - count) * sizeof *b32);              \
        base->name##_f64(in64, a64, count, ##__VA_ARGS__);                                         \
        memcpy(b64, in64, sizeof b64);                                                             \
        k->name##_f64(b64, b64, count, ##__VA_ARGS__);                                             \
        assert_memory_equal(a64, b64, count * sizeof *a64);                                        \
        assert_memory_equal(b64 + count, in64 + count, (MOST - count) * sizeof *b64);              \
    } while (0)
            BOTH(copy);
            BOTH(abs);
            BOTH(square);
            BOTH(reciprocal);
            BOTH(scale, 0.3);
            BOTH(clip, -1, 2);
            BOTH(linear, factors, offsets);
            BOTH(offset, -1, 3);
            BOTH(parabola, 0.25, -0.375);
            BOTH(inverse_anscombe);
            for (size_t i = 0; i < MOST; i++) { /* where roots and logarithms exist */
                in64[i] = fabs(in64[i]) + 0.1;
                in32[i] = (float)in64[i];
            }
            BOTH(root);
            BOTH(anscombe);
        }
    }
}

static void near_by_ulps(double found, double expected, double ulp, double ulps)
{
    if (!(fabs(found - expected) <= ulps * ulp * fabs(expected))) {
        fail_msg("%.17g, not %.17g", found, expected);
    }
}

/* Functions with vector versions in libm may differ between levels by some ulp (S2), but the
 * bits of a value do not depend on its place, within a vector or in the tail (S1). */
static void vectors_of_libm_do_not_depend_on_place(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("libm");
    float in32[MOST], each32[MOST], b32[MOST];
    double in64[MOST], each64[MOST], b64[MOST];
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t round = 0; round < 200; round++) {
            for (size_t i = 0; i < MOST; i++) {
                double exponent = (double)(testing_random(&seed) % 600) - 300.0;
                in64[i] = i % 11 == 0 ? 1.0 + random_value(&seed) / 1e6 : exp(exponent / 2.0);
                in32[i] = (float)exp(exponent / 10.0);
            }
            size_t first = (size_t)(testing_random(&seed) >> 8) % MOST;
            size_t count = (size_t)(testing_random(&seed) >> 8) % (MOST - first);
#define VECTORS(name, expression, ...)                                                             \
    do {                                                                                           \
        for (size_t i = 0; i < MOST; i++) {                                                        \
            k->name##_f64(in64 + i, each64 + i, 1, ##__VA_ARGS__);                                 \
            k->name##_f32(in32 + i, each32 + i, 1, ##__VA_ARGS__);                                 \
            double x = in64[i];                                                                    \
            near_by_ulps(each64[i], (expression), DBL_EPSILON, 4.0);                               \
            x = (double)in32[i];                                                                   \
            near_by_ulps((double)each32[i], (double)(float)(expression), (double)FLT_EPSILON,      \
                         1.0);                                                                     \
        }                                                                                          \
        memcpy(b64, in64, sizeof b64);                                                             \
        memcpy(b32, in32, sizeof b32);                                                             \
        k->name##_f64(b64 + first, b64 + first, count, ##__VA_ARGS__);                             \
        k->name##_f32(b32 + first, b32 + first, count, ##__VA_ARGS__);                             \
        assert_memory_equal(b64 + first, each64 + first, count * sizeof *b64);                     \
        assert_memory_equal(b32 + first, each32 + first, count * sizeof *b32);                     \
        assert_memory_equal(b64, in64, first * sizeof *b64);                                       \
        assert_memory_equal(b64 + first + count, in64 + first + count,                             \
                            (MOST - first - count) * sizeof *b64);                                 \
    } while (0)
            VECTORS(log, log(x) / 2.0, 2.0, -INFINITY);
            VECTORS(power, pow(x, 1.3), 1.3);
            VECTORS(expit, 1.0 / (1.0 + exp(-x)));
            VECTORS(log_expit, -log1p(exp(-x)));
            for (size_t i = 0; i < MOST;
                 i++) { /* 0 to 1, and about 1/2 where the result is about 0 */
                double most = exp(-(double)(testing_random(&seed) % 200) / 20.0);
                in64[i] = i % 2 == 0 ? most * 0.99 : 0.5 + random_value(&seed) * most / 20.0;
                in32[i] = (float)in64[i];
            }
            VECTORS(logit, x < 0.25 ? log(x) - log1p(-x)
                                    : (double)(log1pl(2.0L * (long double)x - 1.0L) -
                                               log1pl(1.0L - 2.0L * (long double)x)));
        }
        /* Values without a logarithm, at each place of a vector; logarithms of values raised to
         * a minimum first. */
        const double odd[] = {0.0, -0.0, -1.0, -INFINITY, 1e-310, -1e-310, 1.0, INFINITY};
        double out[8];
        for (size_t shift = 0; shift < 8; shift++) {
            double in[8];
            for (size_t i = 0; i < 8; i++) {
                in[i] = odd[(i + shift) % 8];
            }
            k->log_f64(in, out, 8, 1.0, -INFINITY);
            for (size_t i = 0; i < 8; i++) {
                size_t which = (i + shift) % 8;
                assert_true(which == 2 || which == 3 ? isnan(out[i])
                            : which == 6             ? out[i] == 0.0
                            : which == 7             ? out[i] == (double)INFINITY
                                                     : out[i] == -(double)INFINITY);
            }
            k->log_f64(in, out, 8, 1.0, DBL_MIN);
            assert_true(out[(8 - shift) % 8] == log(DBL_MIN));
            assert_true(out[(10 - shift) % 8] == log(DBL_MIN));
        }
    }
}

/* NumPy's tree, by recursion as documented. */
static float tree(const float *row, size_t count)
{
    if (count < 8) {
        float sum = 0.0f;
        for (size_t i = 0; i < count; i++) {
            sum += row[i];
        }
        return sum;
    }
    if (count <= 128) {
        float s[8] = {0};
        size_t i = 0;
        for (; i + 8 <= count; i += 8) {
            for (size_t j = 0; j < 8; j++) {
                s[j] += row[i + j];
            }
        }
        float sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        for (; i < count; i++) {
            sum += row[i];
        }
        return sum;
    }
    size_t half = count / 2;
    half -= half % 8;
    return tree(row, half) + tree(row + half, count - half);
}

static void sums_follow_the_tree(void **state)
{
    (void)state;
    enum { LONGEST = 1500 };
    uint64_t seed = testing_seed("sums");
    static float row[LONGEST], out[LONGEST];
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t count = 1; count <= LONGEST; count++) {
            for (size_t i = 0; i < count; i++) {
                row[i] = (float)random_value(&seed) + 1000.0f;
            }
            float sum = tree(row, count), mean = sum / (float)count;
            assert_true(k->sum_f32(row, count) == sum);
            weiri_shift shift = {.less = (double)mean, .gain = 2.0, .clean = true};
            assert_int_equal(k->shift_f32(row, count, out, 1, count, &shift), 1);
            for (size_t i = 0; i < count; i++) {
                assert_true(out[i] == (row[i] - mean) * 2.0f);
            }
            shift.clean = false;
            assert_int_equal(k->shift_f32(row, count, out, 1, count, &shift), 0);
            /* rows of a shorter length, an odd number of them */
            float sums[5];
            size_t length = count / 5;
            if (length > 0) {
                k->sums_f32(row, 5, length, sums);
            }
            for (size_t i = 0; length > 0 && i < 5; i++) {
                assert_true(sums[i] == tree(row + i * length, length));
            }
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void medians_are_the_middle(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("medians");
    double row64[MOST], sorted[MOST];
    float row32[MOST];
    static double scratch[8 * MOST] __attribute__((aligned(64)));
    weiri_shift shift;
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t count = 1; count <= MOST; count++) {
            for (size_t i = 0; i < count; i++) { /* many equal, some extreme */
                uint64_t choice = testing_random(&seed) >> 60;
                row32[i] = choice == 0   ? 3e38f
                           : choice == 1 ? -3e38f
                           : choice < 8  ? (float)(choice % 3)
                                         : (float)random_value(&seed);
                row64[i] = sorted[i] = (double)row32[i];
            }
            qsort(sorted, count, sizeof *sorted, compare);
            double expected = (sorted[count / 2] + sorted[(count - 1) / 2]) / 2.0;
            k->medians_f64(row64, count, 1, NULL, count, false, scratch, &shift);
            assert_true(shift.less == expected && shift.gain == 1.0);
            k->medians_f32(row32, count, 1, NULL, count, false, scratch, &shift);
            assert_true(shift.less == (double)(float)expected);
        }
    }
}

/* Some rows of any kind of values at once, by members too, missing ones left out: a sort has the same. Floats over
 * all exponents take the most passes. */
static double kind_of_value(int kind, uint64_t *seed)
{
    double x = random_value(seed), sign = x < 0 ? -1.0 : 1.0;
    switch (kind) {
    case 0:
        return x;
    case 1:
        return floor(x * 4.0); /* many alike */
    case 2:
        return sign * ldexp(1.0 + fabs(x) / 16.0, (int)(testing_random(seed) % 250) - 125);
    case 3:
        return testing_random(seed) % 64 == 0 ? 1e30 * sign : x + 1e4;
    case 4:
        return testing_random(seed) % 2 == 0 ? 0.0 * sign : x;
    default:
        return testing_random(seed) % 3 == 0 ? (x < 0 ? (double)NAN : (double)INFINITY * sign) : x;
    }
}

static void medians_of_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 37, KINDS = 6, WIDTH = 131 };
    uint64_t seed = testing_seed("rows");
    static float rows32[ROWS * WIDTH];
    static double rows64[ROWS * WIDTH], scratch[8 * WIDTH] __attribute__((aligned(64)));
    uint32_t members[WIDTH];
    weiri_shift shifts32[ROWS], shifts64[ROWS];
    for (int round = 0; round < 60 * KINDS; round++) {
        for (size_t i = 0; i < ROWS * WIDTH; i++) {
            rows32[i] = (float)kind_of_value(round % KINDS, &seed);
            rows64[i] = (double)rows32[i];
        }
        size_t rows = 1 + testing_random(&seed) % ROWS, count = 1 + testing_random(&seed) % WIDTH;
        bool by_members = testing_random(&seed) % 2 == 0;
        for (size_t i = 0; i < count; i++) {
            members[i] = by_members ? (uint32_t)(WIDTH - 1 - i) : (uint32_t)i;
        }
        for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
            const weiri_kernels *k = weiri_kernels_at(level);
            const uint32_t *which = by_members ? members : NULL;
            k->medians_f32(rows32, WIDTH, rows, which, count, false, scratch, shifts32);
            k->medians_f64(rows64, WIDTH, rows, which, count, false, scratch, shifts64);
            for (size_t row = 0; row < rows; row++) {
                double sorted[WIDTH];
                size_t good = 0;
                for (size_t i = 0; i < count; i++) {
                    sorted[good] = rows64[row * WIDTH + members[i]];
                    good += isfinite(sorted[good]) ? 1 : 0;
                }
                qsort(sorted, good, sizeof *sorted, compare);
                double a = good == 0 ? 0.0 : sorted[(good - 1) / 2],
                       b = good == 0 ? 0.0 : sorted[good / 2];
                assert_true(shifts64[row].less == (a + b) / 2.0);
                assert_true(shifts32[row].less == (double)(((float)a + (float)b) / 2.0f));
                assert_true(shifts32[row].below == shifts32[row].less && shifts32[row].gain == 1.0);
                assert_false(shifts64[row].less == 0.0 && signbit(shifts64[row].less));
            }
        }
    }
}

/* Each value minus the median of the others, at every level, in place too. */
static void medians_of_others_leave_one_out(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("others");
    float row[MOST], moved[MOST];
    double sorted[MOST];
    static double scratch[8 * MOST] __attribute__((aligned(64)));
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        const weiri_kernels *k = weiri_kernels_at(level);
        for (size_t count = 2; count <= MOST; count++) {
            for (size_t i = 0; i < count; i++) { /* many equal */
                row[i] = moved[i] = (float)(testing_random(&seed) % (1 + count / 2));
            }
            weiri_shift shift;
            k->medians_f32(row, count, 1, NULL, count, true, scratch, &shift);
            k->shift_others_f32(moved, moved, count, &shift);
            for (size_t i = 0; i < count; i++) {
                size_t others = 0;
                for (size_t j = 0; j < count; j++) {
                    sorted[others] = (double)row[j];
                    others += j != i ? 1 : 0;
                }
                qsort(sorted, others, sizeof *sorted, compare);
                double median = (sorted[others / 2] + sorted[(others - 1) / 2]) / 2.0;
                assert_true((double)moved[i] == (double)row[i] - median);
            }
        }
    }
}

/* Weighted sums over rows: shared weights and weights of each column; an output's bits do not depend on how many are
 * computed with it, and columns that are not wanted are not written. */
static void taps_weight_rows(void **state)
{
    (void)state;
    enum { ROWS = 90, N = WEIRI_BLOCK, OUT = 8, STRIDE = N + 5 };
    uint64_t seed = testing_seed("taps");
    static double rows64[ROWS * N], own[ROWS * N], shared[4][ROWS], out64[OUT * STRIDE];
    static float rows32[ROWS * N], out32[OUT * STRIDE], alone32[STRIDE];
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < ROWS * N; i++) {
            rows64[i] = random_value(&seed);
            rows32[i] = (float)rows64[i];
            own[i] = random_value(&seed);
            shared[i % 4][i / 4 % ROWS] = random_value(&seed);
        }
        size_t count = 1 + testing_random(&seed) % (ROWS - OUT),
               lanes = 1 + testing_random(&seed) % N;
        size_t outputs = 1 + testing_random(&seed) % 4, each = testing_random(&seed) % OUT;
        const double *taps[4] = {shared[0], shared[1], shared[2], shared[3]};
        for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
            const weiri_kernels *k = weiri_kernels_at(level);
            for (size_t i = 0; i < OUT * STRIDE; i++) {
                out64[i] = out32[i] = 77.0f;
            }
            k->taps_f64(rows64, count, taps, out64, STRIDE, lanes, outputs);
            k->taps_f32(rows32, count, taps, out32, STRIDE, lanes, outputs);
            for (size_t i = 0; i < OUT * STRIDE; i++) {
                size_t output = i / STRIDE, c = i % STRIDE;
                double sum = 0, size = 0;
                for (size_t j = 0; output < outputs && j < count; j++) {
                    sum += shared[output][j] * (c < lanes ? rows64[j * N + c] : 0.0);
                    size += fabs(shared[output][j]) * 8.0;
                }
                bool set = output < outputs && c < lanes;
                assert_true(fabs(out64[i] - (set ? sum : 77.0)) <= size * 1e-15);
                assert_true(fabs((double)out32[i] - (set ? sum : 77.0)) <= size * 1e-6);
            }
            for (size_t output = 0; output < outputs; output++) {
                k->taps_f32(rows32, count, taps + output, alone32, STRIDE, lanes, 1);
                assert_memory_equal(alone32, out32 + output * STRIDE, lanes * sizeof *alone32);
            }
            for (size_t i = 0; i < OUT * STRIDE; i++) {
                out64[i] = out32[i] = 77.0f;
            }
            k->taps_each_f64(rows64, count, own, out64, STRIDE, lanes, each);
            k->taps_each_f32(rows32, count, own, out32, STRIDE, lanes, each);
            for (size_t i = 0; i < OUT * STRIDE; i++) {
                size_t output = i / STRIDE, c = i % STRIDE;
                double sum = 0, size = 0;
                bool set = output < each && c < lanes;
                for (size_t j = 0; set && j < count; j++) {
                    sum += own[j * N + c] * rows64[(j + output) * N + c];
                    size += fabs(own[j * N + c]) * 8.0;
                }
                assert_true(fabs(out64[i] - (set ? sum : 77.0)) <= size * 1e-15);
                assert_true(fabs((double)out32[i] - (set ? sum : 77.0)) <= size * 1e-6);
            }
            for (size_t output = 0; output < each; output++) {
                k->taps_each_f32(rows32 + output * N, count, own, alone32, STRIDE, lanes, 1);
                assert_memory_equal(alone32, out32 + output * STRIDE, lanes * sizeof *alone32);
            }
        }
    }
}

/* Sections of every form and number against the difference equation. */
static void sections_follow_the_equation(void **state)
{
    (void)state;
    enum { FRAMES = 200, STRIDE = WEIRI_BLOCK + 3 };
    uint64_t seed = testing_seed("sections");
    static double in[FRAMES * STRIDE], out[FRAMES * STRIDE];
    static float in32[FRAMES * STRIDE], out32[FRAMES * STRIDE];
    for (size_t level = 0; weiri_kernels_at(level) != NULL; level++) {
        for (int kind = WEIRI_SOS_GENERAL; kind <= WEIRI_SOS_BAND; kind++) {
            for (size_t sections = 1; sections <= WEIRI_SOS_MAX; sections++) {
                const weiri_kernels *k = weiri_kernels_at(level);
                weiri_sos_params params = {.kind = kind, .sections = sections, .gain = 0.7};
                double state64[2 * WEIRI_SOS_MAX * WEIRI_BLOCK] = {0};
                double state32[2 * WEIRI_SOS_MAX * WEIRI_BLOCK] = {0};
                for (size_t s = 0; s < sections; s++) {
                    double step = (double)(s % 12);
                    double radius = 0.9 + step * 0.005, angle = 0.2 + 0.2 * step;
                    params.coefs[s][0] = kind == WEIRI_SOS_BAND ? 0.0 : 0.3 + 0.1 * step;
                    params.coefs[s][1] = kind == WEIRI_SOS_BAND     ? -1.0
                                         : kind == WEIRI_SOS_CIRCLE ? 1.0
                                                                    : 0.4;
                    params.coefs[s][2] = 2.0 * radius * cos(angle);
                    params.coefs[s][3] = -radius * radius;
                }
                for (size_t i = 0; i < FRAMES * STRIDE; i++) {
                    in32[i] = (float)random_value(&seed);
                    in[i] = (double)in32[i];
                }
                k->sos_f64(&params, state64, in, STRIDE, out, STRIDE, FRAMES, NULL);
                k->sos_f32(&params, state32, in32, STRIDE, out32, STRIDE, FRAMES, NULL);
                assert_memory_equal(state32, state64, sizeof state64);
                for (size_t c = 0; c < WEIRI_BLOCK; c++) {
                    double x[FRAMES];
                    double largest = 1.0;
                    for (size_t f = 0; f < FRAMES; f++) {
                        x[f] = in[f * STRIDE + c] * params.gain;
                    }
                    for (size_t s = 0; s < sections; s++) {
                        const double *p = params.coefs[s];
                        double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
                        for (size_t f = 0; f < FRAMES; f++) {
                            double y = x[f] + p[0] * x1 + p[1] * x2 + p[2] * y1 + p[3] * y2;
                            x2 = x1;
                            x1 = x[f];
                            y2 = y1;
                            y1 = y;
                            x[f] = y;
                            largest = fabs(y) > largest ? fabs(y) : largest;
                        }
                    }
                    for (size_t f = 0; f < FRAMES; f++) {
                        assert_true(fabs(out[f * STRIDE + c] - x[f]) < 1e-11 * largest);
                        assert_true(out32[f * STRIDE + c] == (float)out[f * STRIDE + c]);
                    }
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_do_not_depend_on_place),
        cmocka_unit_test(vectors_of_libm_do_not_depend_on_place),
        cmocka_unit_test(sums_follow_the_tree),
        cmocka_unit_test(medians_are_the_middle),
        cmocka_unit_test(medians_of_many_rows),
        cmocka_unit_test(taps_weight_rows),
        cmocka_unit_test(medians_of_others_leave_one_out),
        cmocka_unit_test(sections_follow_the_equation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
