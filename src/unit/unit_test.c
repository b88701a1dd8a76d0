/* SPDX-License-Identifier: MIT
 *
 * unit_test.c: physical units follow the arithmetic.
 */
#include "unit/drive.h"

static const char *const known[4] = {"uV", "uV^2", "", "uV*s"};

/* What the four become by a unit with at most two settings; NULL: none is known. */
static void
becomes(const char *unit, const weir_value *given, size_t count, const char *const *expected)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, known);
    if (strcmp(unit, "aggregate") == 0) {
        spec.dim_count = 3;
        spec.dims[2] = spec.dims[1];
        spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 3, .step = 2};
    }
    drive *d = NULL;
    if (drive_open(unit, &spec, given, count, &d) != WEIR_OK) {
        fail_msg("%s: %s", unit, weir_err_detail());
    }
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(d->plan.out.units[i], expected[i]) != 0) {
            fail_msg("%s: '%s' becomes '%s', not '%s'", unit, known[i], d->plan.out.units[i],
                     expected[i]);
        }
    }
    drive_close(d);
}

static void units_follow_the_arithmetic(void **state)
{
    (void)state;
    static const struct {
        double exponent;
        const char *expected[4];
    } powers[] = {{2, {"uV^2", "uV^4", "", "(uV*s)^2"}},
                  {0.5, {"uV^0.5", "uV", "", "(uV*s)^0.5"}},
                  {-1, {"uV^-1", "uV^-2", "", "(uV*s)^-1"}},
                  {1, {"uV", "uV^2", "", "uV*s"}},
                  {0, {"1", "1", "1", "1"}},
                  {1.5, {"uV^1.5", "uV^3", "", "(uV*s)^1.5"}}};
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        weir_value given = weir_number("exponent", powers[i].exponent);
        becomes("pow", &given, 1, powers[i].expected);
    }
    static const char *const number[4] = {"1", "1", "1", "1"};
    static const char *const area[4] = {"uV*s", "uV^2*s", "", "uV*s*s"};
    static const char *const hz[4] = {"Hz", "Hz", "Hz", "Hz"};
    static const char *const area_hz[4] = {"uV*Hz", "uV^2*Hz", "", "uV*s*Hz"};
    weir_value given[2] = {weir_text("operation", "argmax"), weir_text("axis", "freq")};
    becomes("log", NULL, 0, number);
    becomes("adaptive_standard_scaler", NULL, 0, number);
    becomes("binned_aggregate", given, 1, number);
    becomes("aggregate", given, 2, hz);
    given[0] = weir_text("operation", "trapezoid");
    becomes("binned_aggregate", given, 1, area);
    becomes("aggregate", given, 2, area_hz);
    given[0] = weir_text("operation", "std");
    becomes("binned_aggregate", given, 1, known);
    becomes("aggregate", given, 2, known);
    static const char *const kept[] = {"abs", "clip", "scale", "linear", "ewma"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        becomes(kept[i], NULL, 0, known);
    }
    given[0] = (weir_value){.key = "passthrough", .type = WEIR_VALUE_BOOL, .number = 1};
    becomes("adaptive_standard_scaler", given, 1, known);
}

static void what_is_not_known_is_not_made_up(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open("pow", &spec, NULL, 0, &d), WEIR_OK);
    assert_null(d->plan.out.units);
    drive_close(d);
    assert_int_equal(drive_open("log", &spec, NULL, 0, &d),
                     WEIR_OK); /* a number of whatever it is */
    assert_string_equal(d->plan.out.units[3], "1");
    drive_close(d);
}

/* A live setting is exchanged and saved as plain bytes: lists, matrices and texts cannot be live. */
static void live_settings_are_plain(void **state)
{
    (void)state;
    for (size_t i = 0; i < weir_unit_count(); i++) {
        const weir_unit_info *info = weir_unit_at(i);
        for (const weir_setting *row = info->settings; row != NULL && row->name != NULL; row++) {
            bool plain = row->type == WEIR_SETTING_NUMBER || row->type == WEIR_SETTING_QUANTITY ||
                         row->type == WEIR_SETTING_INTEGER || row->type == WEIR_SETTING_ENUM ||
                         row->type == WEIR_SETTING_BOOL;
            if (row->live && !plain) {
                fail_msg("%s: %s is live, and a list or text", info->name, row->name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_follow_the_arithmetic),
        cmocka_unit_test(what_is_not_known_is_not_made_up),
        cmocka_unit_test(live_settings_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
