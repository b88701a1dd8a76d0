/* SPDX-License-Identifier: MIT
 *
 * units_test.c: tests every unit of units.def for the promises common to all: S1 S3 S4 S5 S6 S7 S9
 * S10, M2 M3 M6. The tests are in suite.h.
 */
#include "conform/suite.h"

/* units_test [NAME]: all units, or the one of that name. */
int main(int argc, char **argv)
{
    size_t count = weir_unit_count(), run = 0;
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    for (size_t i = 0; tests != NULL && i < count; i++) {
        const weir_unit_info *info = weir_unit_at(i);
        if (argc > 1 && strcmp(argv[1], info->name) != 0) {
            continue;
        }
        tests[run++] = (struct CMUnitTest){
            .name = info->name,
            .test_func = unit_keeps_promises,
            .initial_state = (void *)(uintptr_t)info,
        };
    }
    if (run == 0) {
        print_error("no unit %s\n", argc > 1 ? argv[1] : "");
    }
    int failed = run == 0 ? 1 : _cmocka_run_group_tests("units", tests, run, NULL, NULL);
    free(tests);
    return failed;
}
