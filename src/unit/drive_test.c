/* SPDX-License-Identifier: MIT
 *
 * drive_test.c: the test of the test: drive_cuts passes a unit that keeps the contract and fails it with each fault
 * that a unit can have. A fault runs in a process of its own, which must end as a failed test does.
 */
#include "unit/drive.h"

#include "children.h"

#include <fcntl.h>

/* A running sum of each column, times its channel's factor; every second frame comes out. */
typedef struct sums_constants {
    double factors[64];
} sums_constants;

enum {
    NONE,
    STOPS_EARLY,
    KEEPS_INPUT,
    COUNTS_CALLS,
    SEES_CONSUME,
    SEES_NO_PLACE,
    KNOWS_NO_CHANNELS,
    FORGETS_RESET,
    OWN_STATE,
    POINTS_AT_STATE,
    POINTS_AT_CONSTANTS,
    READS_SCRATCH,
    WRITES_INPUT,
    WRITES_BEHIND_OUTPUT,
    WRITES_BEHIND_STATE,
    WRITES_CONSTANTS,
    COUNTS_MISSING_BY_CALL,
    NOT_IN_PLACE,
    FAULTS
};
static int fault;
static double own[64];
static const double *kept;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->due = (weiri_due){.p = 2, .q = 1, .offset = 1, .end = 1, .grain = 1};
    if (fault == NOT_IN_PLACE) {
        plan->due = WEIRI_DUE_SAME;
    }
    plan->constant_bytes = sizeof(sums_constants);
    plan->scratch_column_bytes = sizeof(double);
    weiri_field sums = {.name = "sums", .kind = 'f', .bytes = 8, .rows = 1};
    weiri_field more = {.name = "pointer", .kind = 'u', .bytes = 8, .by_block = true, .rows = 2};
    weir_err err = weiri_plan_field(plan, sums);
    return err == WEIR_OK ? weiri_plan_field(plan, more) : err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    (void)plan;
    for (size_t i = 0; i < 64; i++) {
        ((sums_constants *)constants)->factors[i] = 1.0 + (double)i;
    }
}

static void reset(weiri_block *block)
{
    size_t columns = (size_t)weir_spec_columns(block->in);
    memset(block->state[0], 0, columns * sizeof(double) / (fault == FORGETS_RESET ? 2 : 1));
    uint64_t *pointer = block->state[1];
    pointer[0] =
        (uint64_t)(uintptr_t)(fault == POINTS_AT_STATE ? block->state[0] : block->constants);
    pointer[1] = 0;
}

static double one_sample(weiri_block *block, const weiri_work *work, double x, size_t column)
{
    const double *factors = ((const sums_constants *)block->constants)->factors;
    uint64_t *pointer = block->state[1];
    double *sums = fault == OWN_STATE         ? own
                   : fault == POINTS_AT_STATE ? (double *)(uintptr_t)pointer[0]
                                              : block->state[0];
    if (fault == POINTS_AT_CONSTANTS) {
        factors = (const double *)(uintptr_t)pointer[0];
    }
    sums[column] += isfinite(x) ? x : 0.0;
    size_t channel = column + (fault == KNOWS_NO_CHANNELS ? 0 : (size_t)block->first_channel);
    double extra = fault == COUNTS_CALLS    ? (double)pointer[1]
                   : fault == SEES_CONSUME  ? (double)work->consume
                   : fault == READS_SCRATCH ? ((const double *)work->scratch)[column] * 1e-9
                                            : 0.0;
    return sums[column] * factors[channel] + extra;
}

static void run(weiri_block *block, const weiri_work *work)
{
    size_t columns = (size_t)weir_spec_columns(block->in), made = 0;
    const double *in = work->in[0];
    double *out = work->out;
    double late = fault == KEEPS_INPUT && work->consumed > 0 ? kept[0] * 1e-9 : 0.0;
    kept = in;
    ((uint64_t *)block->state[1])[1]++;
    if (fault == NOT_IN_PLACE) {
        memset(out, 0, work->produce * columns * sizeof *out);
    }
    for (size_t f = 0; f < work->consume; f++) {
        uint64_t frame = fault == SEES_NO_PLACE ? f : work->consumed + f;
        bool comes = (fault == NOT_IN_PLACE || frame % 2 == 0) && made < work->produce;
        bool stops = fault == STOPS_EARLY && made > 5 && made + 1 == work->produce;
        for (size_t c = 0; c < columns; c++) {
            double x = in[f * columns + c], y = one_sample(block, work, x, c) + late;
            block->missing[c] += isfinite(x)                       ? 0
                                 : fault == COUNTS_MISSING_BY_CALL ? 1 + (f == 0)
                                                                   : 1;
            if (comes && !stops) {
                out[made * columns + c] = y;
            }
        }
        made += comes ? 1 : 0;
    }
    if (fault == WRITES_INPUT && work->consume > 0) {
        ((double *)(uintptr_t)in)[0] = 1.0;
    }
    if (fault == WRITES_BEHIND_OUTPUT) {
        out[work->produce * columns] = 1.0;
    }
    if (fault == WRITES_BEHIND_STATE) {
        ((double *)block->state[0])[columns] = 1.0;
    }
    if (fault == WRITES_CONSTANTS) {
        ((double *)(uintptr_t)block->constants)[63] += 1.0;
    }
}

static const weir_setting table[] = {{0}};

static const weiri_unit_ops sums_unit = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "sums",
             .summary = "for this test",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan,
    .prepare = prepare,
    .reset = reset,
    .run = run,
};
static weiri_unit_ops tested;
static const weiri_unit_ops *const units[] = {&tested, NULL};

static void cuts(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 19, NULL, NULL);
    uint64_t random = 7;
    drive *d = NULL;
    assert_int_equal(drive_open("sums", &spec, NULL, 0, &d), WEIR_OK);
    double *data = drive_signal(&spec, 120, 3.0, 0.05, &random);
    drive_output o = drive_cuts(d, data, 120, &random);
    free(o.data);
    free(data);
    drive_close(d);
}

static int run_cuts(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts)};
    int silent = open("/dev/null", O_WRONLY);
    dup2(silent, 1);
    dup2(silent, 2);
    tested = sums_unit;
    if (fault == NOT_IN_PLACE) {
        tested.info.flags |= WEIR_UNIT_IN_PLACE;
    }
    weiri_units_of_test = units;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static void every_fault_is_found(void **state)
{
    (void)state;
    for (int which = NONE; which < FAULTS; which++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            fault = which;
            _exit(run_cuts() == 0 ? 0 : 1);
        }
        int status = 0;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (passed != (which == NONE)) {
            fail_msg("fault %d: the unit %s", which, passed ? "passes" : "fails");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
