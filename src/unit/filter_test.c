/* SPDX-License-Identifier: MIT
 *
 * filter_test.c: coefficients in each form against the difference equation, and what the settings refuse.
 */
#include "unit/drive.h"

static weir_err open_filter(const weir_value *coefs, const char *type, drive **ret)
{
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, 3, NULL, NULL);
    weir_value given[] = {*coefs, weir_text("coef_type", type)};
    return drive_open("filter", &spec, given, 2, ret);
}

/* b = 2, -0.6, 0.3, 0.1; a = 4, -2, 0.5, -0.2, in steady state before. */
static void the_equation_holds(void **state)
{
    (void)state;
    enum { FRAMES = 300 };
    static const double b[] = {2, -0.6, 0.3, 0.1}, a[] = {4, -2, 0.5, -0.2};
    uint64_t random = drive_seed();
    weir_value items[2][4];
    weir_value lists[2] = {weir_numbers("b", b, 4, items[0]), weir_numbers("a", a, 4, items[1])};
    weir_value forms[2] = {weir_map_of("coefs", lists, 2), weir_list_of("coefs", lists, 2)};
    for (int k = 0; k < 2; k++) {
        drive *d = NULL;
        assert_int_equal(open_filter(&forms[k], "ba", &d), WEIR_OK);
        double *data = drive_signal(&d->in, FRAMES, 10.0, 0.0, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        long double y[FRAMES + 3];
        for (int i = 0; i < 3; i++) {
            y[i] = data[1] * (2 - 0.6 + 0.3 + 0.1) / (4 - 2 + 0.5 - 0.2);
        }
        for (int i = 0; i < FRAMES; i++) {
            long double sum = 0;
            for (int j = 0; j < 4; j++) {
                sum += b[j] * data[(i >= j ? i - j : 0) * 3 + 1];
                sum -= j > 0 ? a[j] * y[i + 3 - j] : 0.0L;
            }
            y[i + 3] = sum / a[0];
            drive_near(drive_value(d, &o, (size_t)i * 3 + 1), (double)y[i + 3], 1e-12, 1e-12,
                       "difference equation");
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void refused(const weir_value *coefs, const char *type, const char *text)
{
    drive *d = NULL;
    drive_refused(open_filter(coefs, type, &d), text);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    weir_value one[6], two[6];
    weir_value lists[2] = {weir_numbers("b", (double[]){1, 2, 3, 4, 5, 6}, 6, one),
                           weir_numbers("a", (double[]){1, 0, 0}, 3, two)};
    weir_value list = weir_list_of("coefs", lists, 2), map = weir_map_of("coefs", lists, 1);
    weir_value number = weir_number("coefs", 3), null = weir_null("coefs");
    refused(&list, "ba", "coefs: a has one coefficient");
    refused(&list, "sos", "coefs: section 1 has 3 numbers");
    refused(&map, "ba", "coefs: expected {b:");
    refused(&number, "ba", "coefs: expected {b:");
    refused(&number, "sos", "coefs: expected a list of 1 to 32 sections");
    one[3] = weir_bool(NULL, true);
    refused(&list, "ba", "coefs: coefficient 3 is not a finite number");
    drive *d = NULL;
    assert_int_equal(open_filter(&null, "ba", &d), WEIR_OK);
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_equation_holds),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
