/* SPDX-License-Identifier: MIT
 *
 * windows_test.c: samples of window functions, what defines those that have no formula, and what is refused.
 * All windows were compared with SciPy 1.17 for 1 to 4096 samples: equal to 1e-14, chebwin and dpss to 4e-10,
 * which is SciPy's rounding (their defining properties are tested here).
 */
#include "dsp/windows.h"

#include <math.h>
#include <string.h>

#include "testing.h"

enum { MOST = 1024 };

/* A window of a name and up to three parameters; NAN = null. */
static weiri_window window_of(const char *name, size_t count, const double *params)
{
    weir_value items[4] = {weir_text(NULL, name)};
    weiri_window window;
    for (size_t i = 0; i < count; i++) {
        items[i + 1] = isnan(params[i]) ? weir_null(NULL) : weir_number(NULL, params[i]);
    }
    weir_value value = weir_list_of(NULL, items, count + 1);
    assert_ok(weiri_window_read("window", &value, &window));
    return window;
}

typedef struct sample_case {
    const char *name;
    size_t params_count;
    double params[3];
    size_t count;
    bool periodic;
    double samples[4]; /* the first */
} sample_case;

static const sample_case cases[] = {
    {"barthann", 0, {0}, 7, false, {0, 0.27, 0.73, 1}},
    {"bohman", 0, {0}, 7, false, {0, 0.1089977810442, 0.6089977810442, 1}},
    {"parzen", 0, {0}, 7, false, {2.0 / 343, 54.0 / 343, 223.0 / 343, 1}},
    {"triangle", 0, {0}, 6, true, {0.25, 0.5, 0.75, 1}},
    {"bartlett", 0, {0}, 5, false, {0, 0.5, 1, 0.5}},
    {"tukey", 1, {0.4}, 9, false, {0, 0.6913417161825, 1, 1}},
    {"taylor", 0, {0}, 7, false, {0.2900953127271, 0.5782126011092, 0.8780082248653, 1}},
    {"chebwin", 1, {60}, 7, false, {0.08706262592321, 0.380025263042, 0.7947244494572, 1}},
    {"dpss", 1, {2}, 8, false, {0.08756300064501, 0.3344558734866, 0.6941232410014, 64.0 / 66}},
    {"kbd", 1, {4}, 6, false, {0.2204787612372, M_SQRT1_2, 0.9753917755668, 0.9753917755668}},
    {"ksr",
     1,
     {8.6},
     7,
     true,
     {0.001332513997902, 0.09113651292827, 0.4596437745934, 0.9204615832582}},
    {"poisson",
     2,
     {1.5, 2},
     5,
     true,
     {0.472366552741, 0.7788007830714, 0.7788007830714, 0.472366552741}},
    {"exponential", 2, {NAN, 2}, 3, false, {0.6065306597126, 1, 0.6065306597126}},
    {"lanczos", 0, {0}, 7, false, {0, 0.4134966715663, 0.8269933431327, 1}},
    {"flattop",
     0,
     {0},
     7,
     true,
     {-0.000421051, -0.03684078115492, 0.01070371671615, 0.7808739149388}},
    {"nuttall", 0, {0}, 6, false, {0.0003628, 0.1105152530499, 0.7982580969501, 0.7982580969501}},
    {"ggs",
     2,
     {1.5, 2},
     6,
     false,
     {0.3766034507109, 0.8098246793421, 0.9922179382602, 0.9922179382602}},
    {"gaussian", 1, {2}, 5, false, {0.6065306597126, 0.8824969025846, 1, 0.8824969025846}},
    {"hamming", 0, {0}, 5, false, {0.08, 0.54, 1, 0.54}},
    {"general_hamming", 1, {0.75}, 4, true, {0.5, 0.75, 1, 0.75}},
    {"general cosine", 3, {0.4, 0.4, 0.2}, 4, true, {0.2, 0.2, 1, 0.2}},
    {"hann_symmetric", 0, {0}, 5, true, {0, 0.5, 1, 0.5}},
    {"HANN_periodic", 0, {0}, 4, false, {0, 0.5, 1, 0.5}},
    {"blackman", 0, {0}, 4, true, {0, 0.34, 1, 0.34}},
    {"blackmanharris", 0, {0}, 4, true, {0.00006, 0.21747, 1, 0.21747}},
    {"cosine", 0, {0}, 3, false, {0.5, 1, 0.5}},
    {"none", 0, {0}, 3, false, {1, 1, 1}},
};

static void samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sample_case *c = &cases[i];
        weiri_window window = window_of(c->name, c->params_count, c->params);
        double got[16];
        assert_ok(weiri_window_check("window", &window, c->count, c->periodic));
        weiri_window_fill(&window, c->count, c->periodic, got);
        for (size_t n = 0; n < c->count && n < 4; n++) {
            if (fabs(got[n] - c->samples[n]) > 2e-13) {
                fail_msg("%s[%zu] is %.13g, not %.13g", c->name, n, got[n], c->samples[n]);
            }
        }
    }
}

/* A periodic window is the symmetric one of one sample more without its last; symmetric ones are so exactly; one
 * sample is 1; nothing is written past the end. */
static void lengths(void **state)
{
    (void)state;
    static double a[MOST + 2], b[MOST + 2];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sample_case *c = &cases[i];
        weiri_window window = window_of(c->name, c->params_count, c->params);
        for (size_t count = 1; count < 40; count++) {
            window.shape = 0;
            bool can = weiri_window_check("", &window, count, true) == WEIR_OK &&
                       weiri_window_check("", &window, count + 1, false) == WEIR_OK;
            if (!can) {
                continue;
            }
            a[count] = b[count + 1] = 77.0;
            weiri_window_fill(&window, count, true, a);
            weiri_window_fill(&window, count + 1, false, b);
            assert_true(a[count] == 77.0 && b[count + 1] == 77.0);
            assert_true(count > 1 ? memcmp(a, b, count * sizeof a[0]) == 0 : a[0] == 1.0);
            for (size_t n = 0; n <= count; n++) {
                assert_true(b[n] == b[count - n]);
            }
        }
    }
}

static double response(const double *w, size_t count, double angle)
{
    long double sum = 0.0L;
    for (size_t n = 0; n < count; n++) {
        sum += w[n] * cosl(angle * ((long double)n - (count - 1) / 2.0L));
    }
    return (double)sum;
}

/* Dolph-Chebyshev: every sidelobe is `attenuation` below the main lobe, and the highest reaches it. */
static void chebwin_has_equal_sidelobes(void **state)
{
    (void)state;
    static const double attenuations[] = {50, 80, 120};
    static double w[MOST];
    for (size_t i = 0; i < 3; i++) {
        for (size_t count = 63; count <= 64; count++) {
            weiri_window window = window_of("chebwin", 1, &attenuations[i]);
            weiri_window_fill(&window, count, false, w);
            double main = response(w, count, 0.0), most = 0.0;
            bool in_main = true;
            for (double angle = 0.0, last = main; angle < M_PI; angle += 1e-3) {
                double now = response(w, count, angle);
                in_main = in_main && now > 0.0 && now <= last;
                most = !in_main && fabs(now) > most ? fabs(now) : most;
                last = now;
            }
            assert_true(fabs(20.0 * log10(main / most) - attenuations[i]) < 0.01);
        }
    }
}

/* The first Slepian sequence is an eigenvector of the matrix sin(2 pi W (m - n)) / (pi (m - n)). */
static void dpss_is_an_eigenvector(void **state)
{
    (void)state;
    static double w[MOST];
    for (size_t count = 64; count <= 65; count++) {
        double nw = 3.0, width = nw / (double)count, share = 0.0;
        weiri_window window = window_of("dpss", 1, &nw);
        weiri_window_fill(&window, count, false, w);
        for (size_t m = count / 2 + 1; m-- > 0;) {
            long double sum = 0.0L;
            for (size_t n = 0; n < count; n++) {
                long double d = (long double)m - (long double)n;
                sum += w[n] * (m == n ? 2.0L * width : sinl(2.0L * M_PI * width * d) / (M_PI * d));
            }
            if (m == count / 2) {
                share = (double)(sum / w[m]);
            }
            assert_true(fabs((double)sum - share * w[m]) < 1e-14);
        }
        assert_true(share > 0.999999 && share < 1.0);
    }
}

static void long_windows_are_finite(void **state)
{
    (void)state;
    static double w[65536];
    weiri_window window = window_of("dpss", 1, (const double[]){500});
    weiri_window_fill(&window, 65536, true, w);
    for (size_t n = 0; n < 65536; n++) {
        assert_true(isfinite(w[n]) && w[n] >= 0.0 && w[n] <= 1.0);
    }
    window = weiri_window_kaiser(700);
    weiri_window_fill(&window, 65536, false, w);
    assert_true(w[0] >= 0.0 && w[0] < 1e-290 && w[32767] > 0.99999);
}

static weir_err read_text(const char *text)
{
    weiri_window window;
    weir_value value = weir_text(NULL, text);
    return weiri_window_read("window", &value, &window);
}

static weir_err read_list(const char *name, const double *params, size_t count)
{
    weir_value items[4] = {weir_text(NULL, name)};
    for (size_t i = 0; i < count; i++) {
        items[i + 1] = weir_number(NULL, params[i]);
    }
    weir_value value = weir_list_of(NULL, items, count + 1);
    weiri_window window;
    return weiri_window_read("window", &value, &window);
}

static void refusals(void **state)
{
    (void)state;
    assert_fails(
        read_text("hamning"), WEIR_E_CHAIN,
        "window: there is no window 'hamning' (did you mean hamming?); there are: general");
    assert_fails(read_text("hann,han"), WEIR_E_CHAIN, "no window 'hann,han'");
    assert_fails(read_text(""), WEIR_E_CHAIN, "no window ''");
    assert_fails(read_text("kaiser"), WEIR_E_CHAIN, "write [kaiser, beta]");
    assert_fails(read_list("hann", (const double[]){1}, 1), WEIR_E_CHAIN, "has no parameters");
    assert_fails(read_list("gaussian", (const double[]){0}, 1), WEIR_E_CHAIN,
                 "std of window gaussian is 0, it must be not 0");
    assert_fails(read_list("taylor", (const double[]){2.5}, 1), WEIR_E_CHAIN, "a whole number");
    assert_fails(read_list("kaiser", (const double[]){701}, 1), WEIR_E_CHAIN, "from -700 to 700");
    weir_value flag = weir_bool(NULL, true);
    weiri_window window;
    assert_fails(weiri_window_read("window", &flag, &window), WEIR_E_CHAIN, "[kaiser, 8.6]");
    window = window_of("dpss", 1, (const double[]){4});
    assert_fails(weiri_window_check("window", &window, 8, false), WEIR_E_CHAIN, "below 4");
    window = window_of("kbd", 1, (const double[]){4});
    assert_fails(weiri_window_check("window", &window, 7, false), WEIR_E_CHAIN, "even number");
    assert_fails(weiri_window_check("window", &window, 8, true), WEIR_E_CHAIN, "periodic");
    window = window_of("exponential", 1, (const double[]){4});
    assert_fails(weiri_window_check("window", &window, 8, false), WEIR_E_CHAIN, "in the middle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
        cmocka_unit_test(lengths),
        cmocka_unit_test(chebwin_has_equal_sidelobes),
        cmocka_unit_test(dpss_is_an_eigenvector),
        cmocka_unit_test(long_windows_are_finite),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
