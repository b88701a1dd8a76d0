/* SPDX-License-Identifier: MIT
 *
 * live_test.c: settings while running. A value that would change shape, time, physical unit, rate or bytes is refused
 * by name and changes nothing; a unit adapts its state in `changed`; what plan() made belongs to the present value.
 */
#include "conform/stream.h"
#include "unit/unit.h"

enum { CHANNELS = 19 };

/* ---- a unit that changes what it must not --------------------------------------------------------- */

enum { SAME, SHAPE, TIME, PHYSICAL_UNIT, RATE, BYTES, KINDS };

static const char *const refused[KINDS] = {NULL,
                                           "the shape of its output",
                                           "the time of its output",
                                           "the physical unit of its output",
                                           "its rate",
                                           "its bytes"};

typedef struct live_settings {
    int64_t kind;
    double gain;
} live_settings;

static const weir_setting table[] = {{.name = "kind",
                                      .type = WEIR_SETTING_INTEGER,
                                      .preset = "0",
                                      .min = 0,
                                      .max = KINDS - 1,
                                      .offset = offsetof(live_settings, kind),
                                      .live = true},
                                     {.name = "gain",
                                      .type = WEIR_SETTING_NUMBER,
                                      .preset = "1",
                                      .min = -10,
                                      .max = 10,
                                      .offset = offsetof(live_settings, gain),
                                      .live = true},
                                     {0}};

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    static const char *const volts[CHANNELS] = {"V", "V", "V", "V", "V", "V", "V", "V", "V", "V",
                                                "V", "V", "V", "V", "V", "V", "V", "V", "V"};
    const live_settings *set = settings;
    double *made = plan->memory.get(plan->memory.user, sizeof *made);
    assert_non_null(made);
    *made = set->gain;
    plan->made = made;
    plan->constant_bytes = sizeof(double) * (set->kind == BYTES ? 2 : 1);
    plan->out.dims[1].size = set->kind == SHAPE ? CHANNELS - 1 : CHANNELS;
    plan->out.dims[0].start += set->kind == TIME ? 1.0 : 0.0;
    plan->out.units = set->kind == PHYSICAL_UNIT ? volts : plan->in->units;
    plan->due.p = set->kind == RATE ? 2 : 1;
    return weiri_plan_field(plan,
                            (weiri_field){.name = "told", .kind = 'f', .bytes = 8, .rows = 1});
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    memcpy(constants, plan->made, sizeof(double));
}

static void reset(weiri_block *block)
{
    memset(block->state[0], 0, (size_t)block->columns * sizeof(double));
}

/* How often it was told, a column. */
static void changed(weiri_block *block, const void *constants_before)
{
    double before;
    memcpy(&before, constants_before, sizeof before);
    for (uint64_t i = 0; i < block->columns; i++) {
        ((double *)block->state[0])[i] += before;
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    double gain;
    memcpy(&gain, block->constants, sizeof gain);
    const double *in = work->in[0], *told = block->state[0];
    double *out = work->out;
    for (size_t i = 0; i < work->produce * block->columns; i++) {
        out[i] = gain * in[i] + 1000.0 * told[i % block->columns];
    }
}

static const weiri_unit_ops unit_live = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_live",
             .summary = "changes what it must not",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE | WEIR_UNIT_CHANGES_RATE,
             .settings = table},
    .settings_bytes = sizeof(live_settings),
    .plan = plan,
    .prepare = prepare,
    .reset = reset,
    .changed = changed,
    .run = run,
};

static const weiri_unit_ops *const units[] = {&unit_live, NULL};

/* ---- tests ---------------------------------------------------------------------------------------- */

static weir_chain *make(uint64_t threads)
{
    weir_chain_options options = weir_chain_options_default();
    options.threads = threads;
    weir_chain *chain = NULL;
    const weir_plan *plan_of = NULL;
    int node = 0;
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    test_ok(weir_chain_create(&options, &chain));
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "t_live", NULL, 0, NULL, &node));
    test_ok(weir_chain_plan(chain, &spec, &plan_of));
    return chain;
}

static weir_err keep_last(void *user, const weir_message *block)
{
    assert_int_equal(block->frames, 1);
    *(double *)user = ((const double *)block->data)[CHANNELS - 1];
    return WEIR_OK;
}

/* Pushes a frame of ones and returns what comes out of the last channel. */
static double one(weir_chain *chain, int64_t index)
{
    double ones[CHANNELS], last = (double)NAN;
    for (size_t i = 0; i < CHANNELS; i++) {
        ones[i] = 1.0;
    }
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
    weir_message message = {.spec = &spec, .data = ones, .frames = 1, .first_index = index};
    test_ok(weir_chain_push(chain, &message, keep_last, &last));
    return last;
}

static void set(weir_chain *chain, const char *name, double number)
{
    weir_value value = weir_number(name, number);
    test_ok(weir_chain_set(chain, 0, &value));
}

/* Before the start and after it. */
static void what_changes_the_plan_is_refused(void **state)
{
    (void)state;
    for (int started = 0; started < 2; started++) {
        weir_chain *chain = make(1);
        int64_t index = 0;
        if (started) {
            assert_true(one(chain, index++) == 1.0);
        }
        for (int kind = SHAPE; kind < KINDS; kind++) {
            weir_value value = weir_number("kind", kind);
            assert_int_equal(weir_chain_set(chain, 0, &value), WEIR_E_CHAIN);
            char text[128];
            snprintf(text, sizeof text, "t_live: kind: this value would change %s;", refused[kind]);
            if (strstr(weir_err_detail(), text) == NULL) {
                fail_msg("'%s' is not in '%s'", text, weir_err_detail());
            }
            assert_true(one(chain, index++) == 1.0); /* nothing was changed */
        }
        weir_chain_destroy(chain);
    }
}

static void units_are_told(void **state)
{
    (void)state;
    for (uint64_t threads = 1; threads <= 3; threads++) {
        weir_chain *chain = make(threads);
        set(chain, "gain", 2); /* before the start: there is no state yet */
        assert_true(one(chain, 0) == 2.0);
        set(chain, "gain", 5);
        assert_true(one(chain, 1) == 5.0 + 1000.0 * 2.0);
        set(chain, "gain", 3);
        assert_true(one(chain, 2) == 3.0 + 1000.0 * 7.0);
        weir_chain_destroy(chain);
    }
}

int main(void)
{
    weiri_units_of_test = units;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_the_plan_is_refused),
        cmocka_unit_test(units_are_told),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
