/* SPDX-License-Identifier: MIT
 *
 * factor_test.c: numerators and denominators into sections: multiplied out again they are what was given, and what
 * float64 does not determine is refused.
 */
#include "dsp/factor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The sections' numerator or denominator multiplied out: product of (1, sign c[k], sign c[k + 1]). */
static void expand(const weiri_sos_params *sections, size_t k, double sign, long double *ret)
{
    memset(ret, 0, (2 * WEIRI_SOS_MAX + 1) * sizeof *ret);
    ret[0] = 1.0L;
    for (size_t i = 0; i < sections->sections; i++) {
        const double *c = sections->coefs[i] + k;
        for (size_t n = 2 * i + 2; n > 0; n--) {
            ret[n] += sign * c[0] * ret[n - 1] + (n > 1 ? sign * c[1] * ret[n - 2] : 0.0L);
        }
    }
}

static void check(const double *b, size_t b_count, const double *a, size_t a_count, double most)
{
    weiri_sos_params sections;
    long double product[2 * WEIRI_SOS_MAX + 1];
    if (weiri_sections_factored(b, b_count, a, a_count, &sections) != WEIR_OK) {
        fail_msg("%s", weir_err_detail());
    }
    expand(&sections, 0, 1.0, product);
    for (size_t i = 0; i <= 2 * sections.sections; i++) {
        double given = i < b_count ? b[i] / a[0] : 0.0;
        assert_true(fabsl(sections.gain * product[i] - given) <= most * fabs(sections.gain));
    }
    expand(&sections, 2, -1.0, product);
    for (size_t i = 0; i <= 2 * sections.sections; i++) {
        double given = i < a_count ? a[i] / a[0] : 0.0;
        if (!(fabsl(product[i] - given) <= most)) {
            fail_msg("a of %zu: coefficient %zu is off by %Lg", a_count, i, product[i] - given);
        }
    }
}

static void products_are_what_was_given(void **state)
{
    (void)state;
    /* roots: real, of any distance; complex; 0; outside the circle (zeros) */
    check((double[]){3, 1}, 2, (double[]){2, -1}, 2, 1e-15);
    check((double[]){1}, 1, (double[]){1, 0, 0.81}, 3, 1e-15);
    check((double[]){1, -5, 6, 2}, 4, (double[]){1, -0.5, 0.25}, 3, 1e-13);
    check((double[]){0.5, 0, 0, 0, 0.1}, 5, (double[]){4, 0, 0, 0, 1}, 5, 1e-14);
    /* roots that coincide: (1 + z)^6, (1 - z)^3 (1 + z)^3; 0.5 three times */
    check((double[]){1, 6, 15, 20, 15, 6, 1}, 7, (double[]){1, -0.9, 0.2}, 3, 1e-13);
    check((double[]){1, 0, -3, 0, 3, 0, -1}, 7, (double[]){1, -0.9, 0.2}, 3, 1e-13);
    check((double[]){1}, 1, (double[]){1, -1.5, 0.75, -0.125}, 4, 1e-6);
    /* 64 of them */
    double a[WEIRI_FACTOR_DEGREE + 1] = {1};
    a[WEIRI_FACTOR_DEGREE] = 0.01;
    check((double[]){1}, 1, a, WEIRI_FACTOR_DEGREE + 1, 1e-8);
}

static void forms_are_found(void **state)
{
    (void)state;
    weiri_sos_params sections;
    double a[] = {1, -1.6, 1.2, -0.5, 0.1};
    assert_int_equal(weiri_sections_factored((double[]){1, 4, 6, 4, 1}, 5, a, 5, &sections), 0);
    assert_int_equal(sections.kind, WEIRI_SOS_CIRCLE);
    assert_int_equal(weiri_sections_factored((double[]){1, 0, -2, 0, 1}, 5, a, 5, &sections), 0);
    assert_int_equal(sections.kind, WEIRI_SOS_BAND);
    assert_int_equal(weiri_sections_given((double[]){2, 0.2, 4, 2, -1, 0.5}, 1, &sections), 0);
    assert_int_equal(sections.kind, WEIRI_SOS_GENERAL);
    assert_true(sections.gain == 1.0 && sections.coefs[0][0] == 0.1 && sections.coefs[0][1] == 2);
    assert_true(sections.coefs[0][2] == 0.5 && sections.coefs[0][3] == -0.25);
}

static void
refused(const double *b, size_t b_count, const double *a, size_t a_count, const char *text)
{
    weiri_sos_params sections;
    assert_int_equal(weiri_sections_factored(b, b_count, a, a_count, &sections), WEIR_E_CHAIN);
    if (strstr(weir_err_detail(), text) == NULL) {
        fail_msg("%s", weir_err_detail());
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    double one[] = {1, 0.5}, a[2 * WEIRI_SOS_MAX + 2] = {1};
    refused(one, 2, (double[]){1, -1}, 2, "not stable");
    refused(one, 2, (double[]){1, -2.5, 1}, 3, "not stable");
    refused((double[]){0, 1}, 2, one, 2, "b[0] is 0");
    refused(one, 2, (double[]){0, 1}, 2, "a[0] is 0");
    refused(one, 2, a, 2 * WEIRI_SOS_MAX + 2, "1 to 65 are allowed");
    /* poles at 0.99, 12 times: rounding the coefficients moves them out of the circle, or by more than is allowed */
    double power[13] = {1};
    for (int n = 0; n < 12; n++) {
        for (int i = n + 1; i > 0; i--) {
            power[i] -= 0.99 * power[i - 1];
        }
    }
    refused(one, 2, power, 13, "");
    weiri_sos_params sections;
    assert_int_equal(weiri_sections_given((double[]){0, 1, 0, 1, 0, 0}, 1, &sections),
                     WEIR_E_CHAIN);
    assert_int_equal(weiri_sections_given((double[]){1, 1, 0, 1, 0, 1}, 1, &sections),
                     WEIR_E_CHAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_what_was_given),
        cmocka_unit_test(forms_are_found),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
