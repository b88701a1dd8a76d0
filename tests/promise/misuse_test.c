/* SPDX-License-Identifier: MIT
 *
 * misuse_test.c: wrong use of the C interface is a clear error, and the chain continues as if the
 * call had not been made: NULL where a pointer is required, a push into a chain that reads a
 * source, a call from a sink, a message of another shape, a time that 64 bits of ns cannot hold.
 */
#include <weir/trace.h>
#include <weir/weir.h>

#include <fenv.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

enum { FRAMES = 3000, CHANNELS = 4 };

static weir_chain *chain_of(const char *text, uint64_t tile)
{
    weir_chain_options options = weir_chain_options_default();
    weir_chain *chain = NULL;
    options.tile_frames = tile;
    assert_ok(weir_config_parse(text, strlen(text), "test", &options, &chain));
    return chain;
}

static weir_chain *planned(weir_spec *spec)
{
    const weir_plan *plan = NULL;
    weir_chain *chain = chain_of("chain: [abs]", 1000);
    assert_ok(weir_chain_plan(chain, spec, &plan));
    return chain;
}

static weir_spec spec_of(uint64_t channels)
{
    return weir_spec_make(WEIR_F32, 1000, channels, NULL, NULL);
}

static weir_err count(void *user, const weir_message *block)
{
    *(uint64_t *)user += block->frames;
    return WEIR_OK;
}

/* ---- NULL ------------------------------------------------------------------------------------------- */

#define REFUSED(call) assert_fails(call, WEIR_E_USAGE, "NULL")
#define REFUSED_TEXT(call)                                                                         \
    assert_int_equal(call, WEIR_E_USAGE) /* "no text to read a number from" */

static void nulls_of_a_chain(void **state)
{
    (void)state;
    weir_spec spec = spec_of(CHANNELS);
    const weir_plan *plan = NULL;
    weir_chain *chain = NULL, *open = chain_of("chain: [abs]", 0), *ready = planned(&spec);
    weir_value number = weir_number("exponent", 2);
    float rows[10 * CHANNELS] = {0};
    weir_message message = {.data = rows, .frames = 10, .first_index = WEIR_INDEX_NEXT}, block;
    weir_run_report run = {.report_size = sizeof run};
    weir_unit_report unit = {.report_size = sizeof unit};
    int node = 0;
    size_t some = 9;

    REFUSED(weir_chain_create(NULL, NULL));
    REFUSED(weir_config_parse(NULL, 0, "a", NULL, &chain));
    REFUSED(weir_config_parse("chain: []", 9, "a", NULL, NULL));
    REFUSED(weir_config_load(NULL, NULL, &chain));
    REFUSED(weir_config_load("none.yaml", NULL, NULL));
    REFUSED(weir_chain_add(NULL, WEIR_CHAIN_INPUT, "abs", NULL, 0, NULL, &node));
    REFUSED(weir_chain_add(open, WEIR_CHAIN_INPUT, NULL, NULL, 0, NULL, &node));
    REFUSED(weir_chain_add(open, WEIR_CHAIN_INPUT, "pow", NULL, 1, NULL, &node));
    REFUSED(weir_chain_add(open, WEIR_CHAIN_INPUT, "abs", NULL, 0, NULL, NULL));
    REFUSED(weir_chain_join(open, NULL, 2, "add", NULL, 0, NULL, &node));
    REFUSED(weir_chain_output(NULL, 0, "x"));
    REFUSED(weir_chain_output(open, 0, NULL));
    REFUSED(weir_chain_set_text(open, NULL));
    REFUSED(weir_chain_plan(NULL, &spec, &plan));
    REFUSED(weir_chain_plan(open, NULL, &plan));
    REFUSED(weir_chain_plan(open, &spec, NULL));
    REFUSED(weir_chain_plan_run(open, NULL, NULL, 0, &plan));
    REFUSED(weir_chain_push(NULL, &message, NULL, NULL));
    REFUSED(weir_chain_push(ready, NULL, NULL, NULL));
    REFUSED(weir_chain_finish(NULL, NULL, NULL));
    REFUSED(weir_chain_push_into(NULL, &message, rows, 10, &block));
    REFUSED(weir_chain_push_into(ready, NULL, rows, 10, &block));
    REFUSED(weir_chain_push_into(ready, &message, rows, 10, NULL));
    REFUSED_TEXT(weir_chain_push_into(ready, &message, NULL, 10, &block)); /* needs rows */
    REFUSED(weir_chain_pull(NULL, rows, 10, &block));
    REFUSED(weir_chain_on_records(NULL, 0, NULL, NULL));
    REFUSED(weir_chain_set(NULL, 0, &number));
    REFUSED(weir_chain_set(ready, 0, NULL));
    REFUSED_TEXT(weir_chain_save(NULL, rows, sizeof rows)); /* not started */
    REFUSED(weir_chain_restore(NULL, rows, sizeof rows));
    REFUSED(weir_chain_restore(ready, NULL, 100));
    REFUSED_TEXT(weir_chain_run(NULL, NULL, &run)); /* needs a plan */
    REFUSED(weir_chain_run(ready, NULL, NULL));
    REFUSED(weir_chain_node_report(NULL, 0, &unit));
    REFUSED(weir_chain_node_report(ready, 0, NULL));
    REFUSED(weir_chain_untiled(ready, NULL, 0, 1));
    REFUSED(weir_checkpoint_put(NULL, rows, 1));
    REFUSED(weir_checkpoint_get(NULL, rows, 1));

    assert_null(weir_chain_cache(NULL));
    assert_true(isnan(weir_chain_gap_tolerance(NULL)));
    assert_null(weir_plan_part_at(NULL, 0));
    assert_int_equal(weir_chain_used_bytes(NULL, 0), 0);
    assert_int_equal(weir_chain_due(NULL, 0, 10), 0);
    assert_int_equal(weir_chain_output_count(NULL), 0);
    assert_null(weir_chain_output_name(NULL, 0));
    assert_null(weir_chain_output_spec(NULL, 0));
    assert_int_equal(weir_chain_consumed(NULL), 0);
    assert_int_equal(weir_chain_state_bytes(NULL), 0);
    assert_int_equal(weir_chain_node_count(NULL), 0);
    assert_null(weir_chain_notices(NULL, &some));
    assert_int_equal(some, 0);
    (void)weir_chain_notices(ready, NULL);
    assert_null(weir_source_info_get(NULL));
    weir_chain_on_event(NULL, NULL, NULL);
    weir_chain_reset(NULL);
    weir_rss_read(NULL, NULL);
    weir_source_close(NULL);
    weir_sink_close(NULL);
    weir_chain_destroy(NULL);

    /* None of this affects it. */
    uint64_t came = 0;
    assert_ok(weir_chain_push(ready, &message, count, &came));
    assert_int_equal(came, 10);
    weir_chain_destroy(open);
    weir_chain_destroy(ready);
}

static void nulls_elsewhere(void **state)
{
    (void)state;
    weir_spec spec = spec_of(CHANNELS);
    weir_source *source = NULL;
    weir_sink *sink = NULL;
    weir_cache *cache = NULL;
    weir_buffer *buffer = NULL;
    weir_heap *heap = NULL;
    weir_trace *trace = NULL;
    weir_trace_step step;
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_replay_report replay = {.report_size = sizeof replay};
    weir_tune_report tune = {.report_size = sizeof tune};
    const weir_unit_info *unit = NULL;
    double number;
    uint64_t bytes;
    weir_dtype dtype;
    char text[4] = "";

    REFUSED_TEXT(weir_quantity_parse(NULL, WEIR_TIME, &number));
    REFUSED_TEXT(weir_quantity_parse("1", WEIR_TIME, NULL));
    REFUSED_TEXT(weir_bytes_parse("1", NULL));
    REFUSED_TEXT(weir_bytes_parse(NULL, &bytes));
    REFUSED(weir_limit_parse(NULL, true, &bytes));
    REFUSED(weir_limit_parse("none", true, NULL));
    REFUSED_TEXT(weir_dtype_parse(NULL, &dtype));
    REFUSED_TEXT(weir_spec_check(NULL));
    REFUSED(weir_unit_find(NULL, &unit));
    REFUSED(weir_unit_find("abs", NULL));
    assert_int_equal(weir_spec_columns(NULL), 0);
    assert_int_equal(weir_spec_frame_bytes(NULL), 0);
    assert_int_equal(weir_spec_dim(NULL, "ch"), -1);
    assert_int_equal(weir_spec_dim(&spec, NULL), -1);
    REFUSED(weir_recording_open(NULL, NULL, &source));
    REFUSED(weir_recording_open("synthetic:channels=1,rate=1000,seconds=1", NULL, NULL));
    REFUSED(weir_recording_create(NULL, NULL, &sink));
    REFUSED(weir_recording_create("o.npy", NULL, NULL));

    REFUSED_TEXT(weir_heap_find(NULL, &heap));
    REFUSED_TEXT(weir_heap_find("host", NULL));
    REFUSED_TEXT(weir_heap_check(NULL));
    REFUSED_TEXT(weir_heap_counting_create(NULL, &heap));
    assert_ok(weir_heap_find("host", &heap));
    REFUSED(weir_heap_counting_create(heap, NULL));
    assert_int_equal(weir_heap_counting_counts(NULL).calls, 0);
    weir_heap_counting_fail(NULL, 1, 1);
    weir_heap_destroy(NULL);

    REFUSED(weir_cache_create(NULL, NULL));
    assert_ok(weir_cache_create(NULL, &cache));
    REFUSED(weir_cache_take(NULL, 1, &buffer));
    REFUSED(weir_cache_take(cache, 1, NULL));
    assert_ok(weir_cache_take(cache, 1, &buffer));
    REFUSED(weir_buffer_copy_in(NULL, 0, text, 1, NULL));
    REFUSED(weir_buffer_copy_in(buffer, 0, NULL, 1, NULL));
    REFUSED(weir_buffer_copy_out(NULL, 0, text, 1, NULL));
    REFUSED(weir_buffer_copy_out(buffer, 0, NULL, 1, NULL));
    REFUSED(weir_cache_charge(NULL, 1));
    REFUSED(weir_cache_limit_held(NULL, 1));
    REFUSED(weir_cache_stats_read(NULL, &stats));
    REFUSED(weir_cache_stats_read(cache, NULL));
    REFUSED(weir_cache_check(NULL));
    REFUSED(weir_cache_default(NULL));
    assert_null(weir_buffer_ref(NULL));
    weir_buffer_unref(NULL);
    weir_cache_uncharge(NULL, 1);
    weir_cache_limit_idle(NULL, 1);
    weir_cache_clear(NULL);
    weir_cache_destroy(NULL);

    char path[64];
    snprintf(path, sizeof path, "/tmp/weir_misuse_%d.trace", (int)getpid());
    REFUSED(weir_trace_start(NULL, path));
    REFUSED(weir_trace_start(cache, NULL));
    REFUSED(weir_trace_stop(NULL));
    assert_ok(weir_trace_start(cache, path));
    assert_ok(weir_trace_stop(cache));
    REFUSED(weir_trace_open(NULL, &trace));
    REFUSED(weir_trace_open(path, NULL));
    assert_ok(weir_trace_open(path, &trace));
    REFUSED(weir_trace_next(NULL, &step));
    REFUSED(weir_trace_next(trace, NULL));
    REFUSED(weir_trace_rewind(NULL));
    REFUSED(weir_trace_replay(NULL, NULL, &replay));
    REFUSED(weir_trace_replay(trace, NULL, NULL));
    REFUSED(weir_trace_tune(NULL, "fit", 0.9, &tune));
    REFUSED(weir_trace_tune(trace, "fit", 0.9, NULL));
    assert_null(weir_trace_info_get(NULL));
    weir_trace_close(NULL);
    weir_trace_close(trace);
    unlink(path);
    weir_buffer_unref(buffer);
    weir_cache_destroy(cache);
}

/* ---- a chain that reads a source ---------------------------------------------------------------------- */

/* S7: nothing is written into what a caller passes as const. */
static void pushes_into_a_source(void **state)
{
    (void)state;
    static float zeros[FRAMES * CHANNELS], rows[FRAMES * CHANNELS], alone[FRAMES * CHANNELS];
    weir_message message = {.data = zeros, .frames = FRAMES, .first_index = WEIR_INDEX_NEXT}, block;
    for (int pushed = 0; pushed < 2; pushed++) {
        weir_chain *chain = chain_of("chain: [{butterworth: {order: 2, cutoff: 10 Hz}}]", 0);
        weir_source *source = NULL;
        const weir_plan *plan = NULL;
        float *to = pushed ? rows : alone;
        assert_ok(
            weir_recording_open("synthetic:channels=4,rate=1000,seconds=5,seed=1", NULL, &source));
        assert_ok(weir_chain_plan_run(chain, source, NULL, 0, &plan));
        assert_ok(weir_chain_pull(chain, to, 1000, &block));
        if (pushed) {
            const char *why = "planned for a source, not for pushes";
            uint64_t came = 0;
            assert_fails(weir_chain_push(chain, &message, count, &came), WEIR_E_USAGE, why);
            assert_fails(weir_chain_push_into(chain, &message, to, 1000, &block), WEIR_E_USAGE,
                         why);
            assert_fails(weir_chain_finish(chain, count, &came), WEIR_E_USAGE, why);
            assert_int_equal(came, 0);
        }
        assert_ok(weir_chain_pull(chain, to + 1000 * CHANNELS, 2000, &block));
        assert_int_equal(block.frames, 2000);
        weir_run_report report = {.report_size = sizeof report};
        assert_fails(weir_chain_run(chain, NULL, &report), WEIR_E_USAGE, "has run already");
        weir_chain_destroy(chain);
        weir_source_close(source);
    }
    assert_memory_equal(rows, alone, sizeof rows);
    for (size_t i = 0; i < FRAMES * CHANNELS; i++) {
        assert_true(zeros[i] == 0.0F);
    }
}

/* ---- calls from a sink ---------------------------------------------------------------------------------- */

typedef struct inside {
    weir_chain *chain;
    const weir_message *message;
    uint64_t frames, refused;
} inside;

static weir_err calls_again(void *user, const weir_message *block)
{
    inside *in = user;
    float rows[CHANNELS];
    weir_message came;
    const char *why = "called while the chain runs";
    in->frames += block->frames;
    assert_fails(weir_chain_push(in->chain, in->message, calls_again, in), WEIR_E_USAGE, why);
    assert_fails(weir_chain_push_into(in->chain, in->message, rows, 1, &came), WEIR_E_USAGE, why);
    assert_fails(weir_chain_finish(in->chain, calls_again, in), WEIR_E_USAGE, why);
    weir_chain_reset(in->chain); /* nothing */
    in->refused++;
    return WEIR_OK;
}

static void from_a_sink(void **state)
{
    (void)state;
    static float samples[FRAMES * CHANNELS];
    weir_spec spec = spec_of(CHANNELS);
    weir_message message = {.data = samples, .frames = FRAMES, .first_index = WEIR_INDEX_NEXT};
    inside in = {.chain = planned(&spec), .message = &message};
    for (int i = 0; i < 4; i++) {
        assert_ok(weir_chain_push(in.chain, &message, calls_again, &in));
    }
    assert_int_equal(in.frames, 4 * FRAMES);
    assert_int_equal(in.refused, 4 * FRAMES / 1000);
    weir_chain_destroy(in.chain);
}

/* ---- messages ------------------------------------------------------------------------------------------- */

static void other_shapes(void **state)
{
    (void)state;
    static float samples[10 * 8];
    weir_spec spec = spec_of(8), other;
    weir_chain *chain = planned(&spec);
    weir_message message = {
        .spec = &other, .data = samples, .frames = 10, .first_index = WEIR_INDEX_NEXT};
    uint64_t came = 0;
    for (int i = 0; i < 5; i++) {
        other = spec;
        switch (i) {
        case 0: /* as many values in a frame */
            other.dim_count = 3;
            other.dims[1].size = 4;
            other.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 2, .step = 1};
            break;
        case 1:
            other.dims[1].name = "freq";
            break;
        case 2:
            other.rate_hz = 999;
            break;
        case 3:
            other.dtype = WEIR_I32;
            break;
        default:
            other.dims[1].size = 7;
        }
        assert_fails(weir_chain_push(chain, &message, count, &came), WEIR_E_USAGE,
                     "is not the one that was planned for");
    }
    assert_int_equal(came, 0);
    other = spec; /* an equal copy is accepted */
    assert_ok(weir_chain_push(chain, &message, count, &came));
    assert_int_equal(came, 10);
    weir_chain_destroy(chain);
}

typedef struct seen {
    uint64_t frames;
    int64_t start_ns;
} seen;

static weir_err see(void *user, const weir_message *block)
{
    seen *all = user;
    all->frames += block->frames;
    all->start_ns = block->segment_start_ns;
    return WEIR_OK;
}

/* ns in 64 bits are 292 years: times beyond are refused and do not begin a segment, a time just
 * within is accepted. */
static void beyond_time(void **state)
{
    (void)state;
    static float samples[1000 * CHANNELS];
    static const int64_t year = INT64_C(31557600000000000); /* ns */
    static const struct {
        int64_t start_ns, index;
        const char *refused; /* NULL = it is not */
        int64_t begins_ns;
    } cases[] = {
        {292 * year, 0, NULL, 292 * year},
        {-292 * year, 5000, NULL, -292 * year + INT64_C(5000000000)},
        {292 * year, INT64_C(1) << 40, "within 292 years", 0},
        {-292 * year, -(INT64_C(1) << 40), "within 292 years", 0},
        {0, INT64_C(9300000000000), "within 292 years", 0},
        {-year, INT64_MAX - 1000, "within 292 years", 0},
        {0, INT64_MAX - 999, "counted to 2^63 - 1", 0},
        {0, INT64_MIN + 1, "within 292 years", 0},
    };
    weir_spec spec = spec_of(CHANNELS);
    weir_chain *chain = planned(&spec);
    seen all = {0};
    weir_message message = {.data = samples, .frames = 1000};
    uint64_t frames = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message.segment = i;
        message.segment_start_ns = cases[i].start_ns;
        message.first_index = cases[i].index;
        if (cases[i].refused != NULL) {
            assert_fails(weir_chain_push(chain, &message, see, &all), WEIR_E_USAGE,
                         cases[i].refused);
        } else {
            assert_ok(weir_chain_push(chain, &message, see, &all));
            assert_true(all.start_ns == cases[i].begins_ns);
            frames += 1000;
        }
        assert_int_equal(all.frames, frames);
    }
    /* A slow stream may last longer: only its segments' starts are kept as ns. */
    weir_chain_destroy(chain);
    spec.rate_hz = 1e-9;
    chain = planned(&spec);
    message = (weir_message){.data = samples, .frames = 1000, .first_index = WEIR_INDEX_NEXT};
    assert_ok(weir_chain_push(chain, &message, see, &all));
    assert_ok(weir_chain_push(chain, &message, see, &all));
    weir_chain_destroy(chain);
}

/* S6: a caller who enables SIGFPE does not end a run whose missing values are written as text. */
static void traps_in_a_run(void **state)
{
    (void)state;
    static const char *const names[] = {"csv", "npy", "raw", "wav"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/weir_misuse_%d.%s", (int)getpid(), names[i]);
        weir_chain *chain = chain_of("chain: [log, {as_array: {dtype: f64}}]", 0);
        weir_source *source = NULL;
        weir_sink *sink = NULL;
        const weir_plan *plan = NULL;
        weir_run_report report = {.report_size = sizeof report};
        fenv_t before;
        fegetenv(&before);
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
        assert_ok(
            weir_recording_open("synthetic:channels=4,rate=1000,seconds=1,seed=1", NULL, &source));
        assert_ok(weir_recording_create(path, NULL, &sink));
        assert_ok(weir_chain_plan_run(chain, source, &sink, 1, &plan));
        assert_ok(weir_chain_run(chain, NULL, &report));
        fesetenv(&before);
        assert_int_equal(report.frames_out, 1000);
        weir_sink_close(sink);
        weir_source_close(source);
        weir_chain_destroy(chain);
        unlink(path);
        strcat(path, ".json");
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nulls_of_a_chain),     cmocka_unit_test(nulls_elsewhere),
        cmocka_unit_test(pushes_into_a_source), cmocka_unit_test(from_a_sink),
        cmocka_unit_test(other_shapes),         cmocka_unit_test(beyond_time),
        cmocka_unit_test(traps_in_a_run),
    };
    return cmocka_run_group_tests_name("promise/misuse", tests, NULL, NULL);
}
