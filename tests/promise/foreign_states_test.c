/* SPDX-License-Identifier: MIT
 *
 * foreign_states_test.c: a saved state (S10) is accepted by a chain that computes the same, and rejected by a
 * chain with other units, settings, order of inputs or groups, and for another input.
 */
#include "conform/stream.h"

typedef struct foreign {
    const char *unit, *second;
    const char *names[3];
    const char *texts[3];
    int order[2]; /* of the last unit's inputs */
    double groups[4];
} foreign;

static weir_chain *make_foreign(const foreign *f, const weir_spec *spec)
{
    weir_chain *chain = NULL;
    const weir_plan *shown = NULL;
    weir_value settings[4], numbers[4], lists[2];
    size_t count = 0;
    int number = -1;
    test_ok(weir_chain_create(NULL, &chain));
    for (; count < 3 && f->names[count] != NULL; count++) {
        settings[count] = weir_text(f->names[count], f->texts[count]);
    }
    for (int i = 0; i < 4; i++) {
        numbers[i] = (weir_value){.type = WEIR_VALUE_NUMBER, .number = f->groups[i]};
    }
    for (int i = 0; i < 2; i++) {
        lists[i] = (weir_value){.type = WEIR_VALUE_LIST, .items = &numbers[2 * i], .count = 2};
    }
    if (f->groups[1] > 0) {
        settings[count++] = (weir_value){
            .key = "channel_groups", .type = WEIR_VALUE_LIST, .items = lists, .count = 2};
    }
    test_ok(weir_chain_add(chain, -1, f->unit, settings, count, NULL, &number));
    test_ok(weir_chain_add(chain, 0, f->second, NULL, 0, NULL, &number));
    test_ok(weir_chain_join(chain, f->order, 2, "difference", NULL, 0, NULL, &number));
    test_ok(weir_chain_plan(chain, spec, &shown));
    return chain;
}

/* A state fits the chain from which it was saved, in another object, but no chain that would
 * compute something else. */
static void foreign_states(void **state)
{
    (void)state;
    static const foreign chains[] = {
        {.unit = "ewma", .second = "abs", .order = {0, 1}},
        {.unit = "ewma", .second = "abs", .order = {1, 0}},
        {.unit = "ewma", .second = "pow", .order = {0, 1}},
        {.unit = "ewma", .second = "abs", .names = {"on_gap"}, .texts = {"reset"}, .order = {0, 1}},
        {.unit = "linear", .second = "abs", .names = {"scale"}, .texts = {"2"}, .order = {0, 1}},
        {.unit = "linear", .second = "abs", .names = {"scale"}, .texts = {"3"}, .order = {0, 1}},
        {.unit = "butterworth",
         .second = "abs",
         .names = {"order", "cutoff"},
         .texts = {"4", "300 Hz"},
         .order = {0, 1}},
        {.unit = "butterworth",
         .second = "abs",
         .names = {"order", "cutoff"},
         .texts = {"3", "300 Hz"},
         .order = {0, 1}},
        {.unit = "common_reference", .second = "abs", .order = {0, 1}, .groups = {0, 1, 2, 3}},
        {.unit = "common_reference", .second = "abs", .order = {0, 1}, .groups = {0, 2, 1, 3}},
    };
    enum { COUNT = sizeof chains / sizeof chains[0] };
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 4, NULL, NULL);
    test_signal signal = test_signal_make(spec, 50, 1);
    weir_message message = {.spec = &spec, .data = signal.data, .frames = 50};
    for (int i = 0; i < COUNT; i++) {
        weir_chain *chain = make_foreign(&chains[i], &spec);
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
        size_t size = (size_t)weir_chain_state_bytes(chain);
        unsigned char *blob = malloc(size);
        assert_non_null(blob);
        test_ok(weir_chain_save(chain, blob, size));
        for (int k = 0; k < COUNT; k++) {
            weir_chain *other = make_foreign(&chains[k], &spec);
            weir_err err = weir_chain_restore(other, blob, size);
            if (err != (i == k ? WEIR_OK : WEIR_E_USAGE)) {
                fail_msg("the state of chain %d, restored in chain %d: %s", i, k,
                         weir_err_text(err));
            }
            assert_true(i == k || strstr(weir_err_detail(), "chain") != NULL);
            weir_chain_destroy(other);
        }
        /* Inputs that differ in one property. */
        weir_spec others[4] = {spec, spec, spec, spec};
        static const char *const labels[] = {"a", "b", "c", "d"};
        others[0].dims[1].size = 5;
        others[1].rate_hz = 2000.0;
        others[2].dtype = WEIR_F32;
        others[3].dims[1].labels = labels;
        for (int k = 0; k < 4; k++) {
            weir_chain *other = make_foreign(&chains[i], &others[k]);
            assert_int_equal(weir_chain_restore(other, blob, size), WEIR_E_USAGE);
            assert_non_null(strstr(weir_err_detail(), "input"));
            weir_chain_destroy(other);
        }
        free(blob);
        weir_chain_destroy(chain);
    }
    free(signal.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
