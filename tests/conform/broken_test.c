/* SPDX-License-Identifier: MIT
 *
 * broken_test.c: a test of the test. One unit, first correct, then breaking one rule of unit.h at a
 * time: the suite that every unit passes must fail for that reason. Each runs in a child process,
 * since a broken unit may do anything.
 */
#include "conform/suite.h"
#include "units_of_test.h"

#include <sys/wait.h>
#include <unistd.h>

typedef enum fault {
    NONE,
    WRITES_FEWER,     /* leaves out the last frame to produce */
    STATE_BY_POINTER, /* writes state through a pointer kept from reset */
    POINTER_KEPT,     /* the same, in a variable of its own */
    DEPENDS_ON_BLOCK, /* counts channels from the block's first one */
    DEPENDS_ON_CALL,  /* the number of frames per call affects the output */
    NOT_RESET,        /* reads state that reset did not write */
    WRITES_INPUT,     /* in place, without the flag */
    PLANS_TOO_MUCH,   /* ten times its state */
    POINTER_IN_CONSTANTS,
    WRITES_CONSTANTS,
    WRONG_DUE, /* looks one frame ahead without stating it */
    WRONG_DELAY,
    WRONG_SETTLING,
    MISSING_UNCOUNTED,
    MISSING_FILLED, /* outputs a number for a missing sample */
    FAULTS
} fault;

static const struct {
    const char *name, *says; /* expected message of the suite */
} faults[FAULTS] = {
    [WRITES_FEWER] = {"writes fewer frames", "S1"},
    [STATE_BY_POINTER] = {"writes state through a pointer in it", "S10"},
    [POINTER_KEPT] = {"writes state through a pointer of its own", "S1"},
    [DEPENDS_ON_BLOCK] = {"depends on the block", "S1"},
    [DEPENDS_ON_CALL] = {"depends on the call", "S1"},
    [NOT_RESET] = {"reads what reset did not write", "S9"},
    [WRITES_INPUT] = {"writes its input", "S7"},
    [PLANS_TOO_MUCH] = {"plans ten times its state", "M6"},
    [POINTER_IN_CONSTANTS] = {"holds a pointer in its constants", "constants"},
    [WRITES_CONSTANTS] = {"writes its constants", "constants"},
    [WRONG_DUE] = {"states a wrong due", "S1"},
    [WRONG_DELAY] = {"states a wrong delay", "delay"},
    [WRONG_SETTLING] = {"states too short a settling", "settling"},
    [MISSING_UNCOUNTED] = {"does not count what is missing", "S5"},
    [MISSING_FILLED] = {"fills what is missing", "S5"},
};

static fault broken; /* of this process */
static double *kept;
static const double table_of[1] = {0.5};

/* Each value plus half the one before it, plus a hundredth of its channel number. */
typedef struct constants {
    double half;
    uint64_t address, written;
} constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(constants);
    plan->delay_frames =
        broken == WRONG_DELAY ? 0 : 1.0 / 3.0; /* of 1, 0.5: (0 x 1 + 1 x 0.5) / 1.5 */
    weir_err err = weiri_plan_field(plan, (weiri_field){.name = "before",
                                                        .kind = 'f',
                                                        .bytes = 8,
                                                        .rows = broken == PLANS_TOO_MUCH ? 10 : 1});
    return err != WEIR_OK
               ? err
               : weiri_plan_field(
                     plan, (weiri_field){
                               .name = "at", .kind = 'u', .bytes = 8, .by_block = true, .rows = 1});
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *to)
{
    (void)settings;
    (void)plan;
    constants *c = to;
    c->half = table_of[0];
    c->address = broken == POINTER_IN_CONSTANTS ? (uint64_t)(uintptr_t)table_of : 0;
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    (void)plan;
    (void)tolerance;
    return broken == WRONG_SETTLING ? 0 : 1;
}

static void reset(weiri_block *block)
{
    uint64_t *at = block->state[1];
    kept = block->state[0];
    *at = broken == STATE_BY_POINTER ? (uint64_t)(uintptr_t)block->state[0] : 0;
    if (broken != NOT_RESET) {
        memset(block->state[0], 0, (size_t)weir_spec_columns(block->in) * sizeof(double));
    }
}

static double *before_of(const weiri_block *block)
{
    const uint64_t *at = block->state[1];
    return broken == STATE_BY_POINTER ? (double *)(uintptr_t)*at
           : broken == POINTER_KEPT   ? kept
                                      : block->state[0];
}

static void run(weiri_block *block, const weiri_work *work)
{
    const constants *c = block->constants;
    weir_dtype dtype = block->in->dtype;
    size_t columns = (size_t)weir_spec_columns(block->in);
    weiri_split split = weiri_spec_channels(block->in);
    double *before = before_of(block);
    size_t frames = work->produce - (broken == WRITES_FEWER ? 1 : 0);
    for (size_t i = 0; i < frames; i++) {
        for (size_t k = 0; k < columns; k++) {
            size_t from = (i + (broken == WRONG_DUE ? 1 : 0)) * columns + k;
            double value = value_get(dtype, work->in[0], from);
            uint64_t channel = k / split.inner % split.size;
            channel += broken == DEPENDS_ON_BLOCK ? 0 : block->first_channel;
            double out = value + c->half * before[k] + 0.01 * (double)channel;
            out += broken == DEPENDS_ON_CALL ? (double)work->consume : 0;
            out = isfinite(value) ? out : broken == MISSING_FILLED ? 0 : (double)NAN;
            value_set(dtype, work->out, i * columns + k, out);
            before[k] = isfinite(value) ? value : 0;
        }
    }
    if (broken != MISSING_UNCOUNTED) {
        count_what_is_missing(block, work);
    }
    if (broken == WRITES_INPUT && work->consume > 0) {
        value_set(dtype, (void *)(uintptr_t)work->in[0], 0, 0);
    }
    if (broken == WRITES_CONSTANTS) {
        ((constants *)(uintptr_t)c)->written++;
    }
}

static const weiri_unit_ops unit_broken = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_broken",
             .summary = "breaks a rule",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE},
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = reset,
    .run = run,
};

static const weiri_unit_ops *const units[] = {
    &unit_broken, &unit_ahead, &unit_resample, &unit_count, &unit_weave, &unit_tail, NULL,
};

/* Whether the unit passes the suite, in a child, and the suite's message. */
static bool passes(const weir_unit_info *info, fault with, char *said, size_t size)
{
    int ends[2];
    size_t used = 0;
    ssize_t got = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        broken = with;
        alarm(120);
        const struct CMUnitTest tests[] = {{.name = "suite",
                                            .test_func = unit_keeps_promises,
                                            .initial_state = (void *)(uintptr_t)info}};
        int failed = _cmocka_run_group_tests("broken", tests, 1, NULL, NULL);
        fflush(NULL);
        _exit(failed != 0);
    }
    close(ends[1]);
    while ((got = read(ends[0], said + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    said[used] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The units of units_of_test.h pass too: the suite requires nothing that a look-ahead or a join
 * cannot do. */
static void right_ones_pass(void **state)
{
    (void)state;
    char said[16384];
    for (size_t i = 0; units[i] != NULL; i++) {
        if (!passes(&units[i]->info, NONE, said, sizeof said)) {
            fail_msg("%s fails: %s", units[i]->info.name, said);
        }
    }
}

static void broken_ones_fail(void **state)
{
    (void)state;
    char said[16384];
    for (fault f = NONE + 1; f < FAULTS; f++) {
        if (passes(&unit_broken.info, f, said, sizeof said)) {
            fail_msg("a unit that %s passes", faults[f].name);
        }
        bool seen = strstr(said, "Sanitizer") != NULL; /* which checks first */
        if (!seen && strstr(said, faults[f].says) == NULL) {
            fail_msg("a unit that %s fails, but not for %s: %s", faults[f].name, faults[f].says,
                     said);
        }
    }
}

int main(void)
{
    weiri_units_of_test = units;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones_pass),
        cmocka_unit_test(broken_ones_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
