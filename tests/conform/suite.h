/* SPDX-License-Identifier: MIT
 *
 * suite.h: all tests of a unit, by its name: the promises and what it states. It is tested with
 * each kind of stream in kinds.h and must accept at least one. For units_test.c, and for
 * broken_test.c, which shows that a unit that breaks a rule fails.
 */
#ifndef WEIR_TEST_SUITE_H
#define WEIR_TEST_SUITE_H

#include "conform/promises.h"
#include "conform/stated.h"

static void check_kind(const fixture *at)
{
    test_signal signal = test_signal_make(at->spec, FRAMES, at->seed);
    test_output whole = run_whole(at, &signal, WEIR_TILE_AUTO);
    assert_true(whole.frames > 0);
    check_cuts(at, &signal, &whole);
    check_pull(at, &signal, &whole);
    check_reset(at, &signal, &whole);
    check_gap(at, &signal, &whole);
    check_missing(at, &signal, &whole);
    check_subnormal(at, &signal);
    check_rows(at, &signal, &whole);
    check_state(at, &signal, &whole);
    check_constants(at, &signal);
    check_bytes(at, &signal);
    check_stated(at, &signal, &whole);
    test_output_free(&whole);
    free(signal.data);
}

/* Units refuse complex values by name, except those that state that they accept them. */
static void check_complex(const fixture *at, bool accepted)
{
    if (weir_dtype_parts(at->spec.dtype) == 1) {
        return;
    }
    bool states = (at->info->flags & WEIR_UNIT_COMPLEX) != 0;
    char said[96];
    snprintf(said, sizeof said, ": accepts real values only; its input is complex (%s)",
             weir_dtype_name(at->spec.dtype));
    const char *detail = weir_err_detail();
    bool refused = !accepted && strstr(detail, said) != NULL &&
                   strncmp(detail, at->info->name, strlen(at->info->name)) == 0;
    if (refused == states || (accepted && !states)) {
        print_error("%s is %s complex values: %s\n", at->info->name, accepted ? "given" : "refused",
                    accepted ? "no flag" : weir_err_detail());
        fail();
    }
}

static void unit_keeps_promises(void **state)
{
    const weir_unit_info *info = *state;
    weir_heap *host = NULL;
    weir_spec kinds[TEST_KINDS];
    size_t count = test_kinds(kinds), accepted = 0;
    fixture at = {.info = info, .seed = test_seed()};
    test_ok(weir_heap_find("host", &host));
    test_ok(weir_heap_counting_create(host, &at.heap));
    for (size_t i = 0; i < count; i++) {
        at.spec = kinds[i];
        weir_chain *chain = make_chain(&at, WEIR_TILE_AUTO, NULL);
        check_complex(&at, chain != NULL);
        if (chain != NULL) {
            weir_chain_destroy(chain);
            check_kind(&at);
            accepted++;
        }
    }
    assert_true(accepted > 0);
    assert_int_equal(weir_heap_counting_counts(at.heap).bytes, 0);
    weir_heap_destroy(at.heap);
}

#endif
