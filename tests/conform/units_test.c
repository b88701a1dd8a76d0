/* SPDX-License-Identifier: MIT
 *
 * units_test.c: every unit of units.def, by its name, against the promises that hold for all: see promises.h.
 */
#include "conform/promises.h"

int main(void)
{
    size_t count = weir_unit_count();
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    for (size_t i = 0; tests != NULL && i < count; i++) {
        const weir_unit_info *info = weir_unit_at(i);
        tests[i] = (struct CMUnitTest){
            .name = info->name,
            .test_func = unit_keeps_promises,
            .initial_state = (void *)(uintptr_t)info,
        };
    }
    int failed = tests == NULL ? 1 : _cmocka_run_group_tests("units", tests, count, NULL, NULL);
    free(tests);
    return failed;
}
