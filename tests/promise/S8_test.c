/* SPDX-License-Identifier: MIT
 *
 * S8_test.c: the error of float64 sections: every design of a grid of rates, edges and orders
 * compared with a filter designed and run in long double, on noise with an offset of up to 100
 * standard deviations. A design is either within 1e-9 of the output's RMS, or refused because
 * float64 cannot represent it.
 *
 * The reference: poles of the analog prototype, pre-warped edges, bilinear transform (Oppenheim and
 * Schafer, 7.3 and 6.3), direct form II transposed, all in long double; nothing of it is the
 * library's.
 */
#include "conform/stream.h"

#include <complex.h>

#define FRAMES 20000
#define LIMIT  1e-9

typedef long double real;
typedef complex long double number;

static const real pi = 3.14159265358979323846264338327950288L;

typedef struct section {
    real b[3], a[3], state[2];
} section;

typedef struct filter {
    size_t count;
    section sections[16];
} filter;

static number digital(number s, real rate)
{
    return (2 * rate + s) / (2 * rate - s);
}

static real warped(real edge, real rate)
{
    return 2 * rate * tanl(pi * edge / rate);
}

static real gain_at(const filter *f, real w)
{
    number z = cexpl(-1.0iL * w), gain = 1;
    for (size_t i = 0; i < f->count; i++) {
        const section *s = &f->sections[i];
        gain *= (s->b[0] + z * (s->b[1] + z * s->b[2])) / (1 + z * (s->a[1] + z * s->a[2]));
    }
    return cabsl(gain);
}

/* With two poles and two zeros, each pair conjugate or real; one of each if second is false. */
static void
add(filter *f, number pole, number other_pole, number zero, number other_zero, bool second)
{
    section *s = &f->sections[f->count++];
    *s = second ? (section){{1, -creall(zero + other_zero), creall(zero * other_zero)},
                            {1, -creall(pole + other_pole), creall(pole * other_pole)},
                            {0}}
                : (section){{1, -creall(zero), 0}, {1, -creall(pole), 0}, {0}};
}

/* NAN = no such edge. */
static void design(filter *f, int order, real cuton, real cutoff, real rate)
{
    bool band = !isnan(cuton) && !isnan(cutoff), stop = band && cuton > cutoff;
    real low = warped(stop ? cutoff : cuton, rate), high = warped(stop ? cuton : cutoff, rate);
    real centre = band ? sqrtl(low * high) : 0, width = band ? high - low : 0;
    *f = (filter){0};
    for (int k = 0; 2 * k < order; k++) {
        number p = cexpl(1.0iL * pi * (2 * k + order + 1) / (2 * order));
        bool alone = 2 * k + 1 == order; /* the real pole */
        if (!band) {
            number pole = digital(isnan(cuton) ? high * p : low / p, rate);
            add(f, pole, conjl(pole), isnan(cuton) ? -1 : 1, isnan(cuton) ? -1 : 1, !alone);
            continue;
        }
        number half = (stop ? width / p : width * p) / 2,
               root = csqrtl(half * half - centre * centre);
        number one = digital(half + root, rate), two = digital(half - root, rate);
        number notch = digital(1.0iL * centre, rate);
        number zero = stop ? notch : 1, other = stop ? conjl(notch) : -1;
        if (alone) { /* conjugate to each other, or both real */
            add(f, one, two, zero, other, true);
        } else {
            add(f, one, conjl(one), zero, other, true);
            add(f, two, conjl(two), zero, other, true);
        }
    }
    real w = !band ? (isnan(cuton) ? 0 : pi) : stop ? 0 : 2 * atanl(centre / (2 * rate));
    real gain = gain_at(f, w);
    for (int i = 0; i < 3; i++) {
        f->sections[0].b[i] /= gain;
    }
}

static real step(filter *f, real x)
{
    for (size_t i = 0; i < f->count; i++) {
        section *s = &f->sections[i];
        real y = s->b[0] * x + s->state[0];
        s->state[0] = s->b[1] * x - s->a[1] * y + s->state[1];
        s->state[1] = s->b[2] * x - s->a[2] * y;
        x = y;
    }
    return x;
}

/* As if x had been the input permanently before (S9). */
static void start(filter *f, real x)
{
    for (size_t i = 0; i < f->count; i++) {
        section *s = &f->sections[i];
        real y = x * (s->b[0] + s->b[1] + s->b[2]) / (s->a[0] + s->a[1] + s->a[2]);
        s->state[1] = s->b[2] * x - s->a[2] * y;
        s->state[0] = s->b[1] * x - s->a[1] * y + s->state[1];
        x = y;
    }
}

/* Error over RMS; -1 if the design is refused. */
static double error_of(const test_signal *signal, int order, double cuton, double cutoff)
{
    weir_value settings[3] = {weir_number("order", order)};
    size_t count = 1;
    if (!isnan(cuton)) {
        settings[count++] = weir_number("cuton", cuton);
    }
    if (!isnan(cutoff)) {
        settings[count++] = weir_number("cutoff", cutoff);
    }
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    test_output output = {0};
    test_random random = {1};
    filter judge;
    int node = 0;
    test_ok(weir_chain_create(NULL, &chain));
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "butterworth", settings, count, NULL, &node));
    if (weir_chain_plan(chain, &signal->spec, &plan) != WEIR_OK) {
        assert_non_null(strstr(weir_err_detail(), "float64"));
        weir_chain_destroy(chain);
        return -1;
    }
    test_push(chain, signal, 0, signal->frames, 700, 0, 0, &random, &output);
    weir_chain_destroy(chain);
    assert_int_equal(output.frames, signal->frames);
    const double *found = (const double *)(const void *)output.data;
    design(&judge, order, (real)cuton, (real)cutoff, (real)signal->spec.rate_hz);
    start(&judge, (real)test_signal_get(signal, 0));
    real worst = 0, square = 0;
    for (size_t i = 0; i < signal->frames; i++) {
        real right = step(&judge, (real)test_signal_get(signal, i));
        real error = fabsl((real)found[i] - right);
        worst = error > worst || isnan(error) ? error : worst;
        square += right * right;
    }
    test_output_free(&output);
    return (double)(worst / sqrtl(square / (real)signal->frames));
}

static void grid(void **state)
{
    (void)state;
    static const double none = (double)NAN, rates[] = {30000.0, 24414.0625};
    static const double offsets[] = {0, 1, 100}; /* standard deviations */
    const double edges[][2] = {{0.01, none},  {0.5, none},   {1, none},   {10, none},
                               {300, none},   {none, 0.5},   {none, 100}, {none, 6000},
                               {none, 12000}, {none, 12190}, {0.5, 4},    {4, 30},
                               {8, 13},       {300, 6000},   {500, 1000}, {59, 61},
                               {61, 59},      {51, 49},      {3000, 300}, {12000, none}};
    size_t carried = 0, refused = 0;
    double worst = 0;
    for (size_t r = 0; r < 2; r++) {
        for (size_t o = 0; o < 3; o++) {
            weir_spec spec = weir_spec_make(WEIR_F64, rates[r], 1, NULL, NULL);
            test_signal signal = test_signal_make(spec, FRAMES, 7 + o);
            for (size_t i = 0; i < FRAMES; i++) {
                test_signal_set(&signal, i, test_signal_get(&signal, i) + 30 * offsets[o]);
            }
            for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
                for (int order = 1; order <= 8; order++) {
                    double error = error_of(&signal, order, edges[e][0], edges[e][1]);
                    carried += error >= 0;
                    refused += error < 0;
                    worst = error > worst ? error : worst;
                    if (!(error < LIMIT)) {
                        print_error("S8: order %d, %g to %g Hz at %g Hz, offset %g SD: error / RMS "
                                    "%.3g\n",
                                    order, edges[e][0], edges[e][1], rates[r], offsets[o], error);
                    }
                }
            }
            free(signal.data);
        }
    }
    print_message("%zu designs within %.2g of the RMS, %zu refused\n", carried, worst, refused);
    assert_true(worst < LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grid)};
    return cmocka_run_group_tests_name("S8", tests, NULL, NULL);
}
