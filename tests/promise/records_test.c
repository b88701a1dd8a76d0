/* SPDX-License-Identifier: MIT
 *
 * records_test.c: records of units: the same sequence for any message boundaries, tiles, threads,
 * blocks and fusing, pushed, pulled, with gaps and after a restore; errors of the function that
 * receives them; memory.
 */
#include "conform/stream.h"

#define CHANNELS 70 /* more than a channel block */
#define FRAMES   6000

/* ---- a chain, and what comes out ----------------------------------------------------------------- */

typedef struct way {
    uint64_t tile, threads;
    bool fuse;
    size_t cut;
    bool deep; /* the detector follows others, and its output is processed further */
} way;

typedef struct records_log {
    weir_chain *chain;
    weir_record *records;
    size_t count, room, batches;
    size_t refuse_each; /* every n-th batch is refused once; 0 = none */
    bool refused;
    int64_t start_ns[8]; /* of each segment */
} records_log;

static bool is_sorted(const weir_record *a, const weir_record *b)
{
    return a->segment != b->segment ? a->segment < b->segment
           : a->index != b->index   ? a->index < b->index
                                    : a->column < b->column;
}

static weir_err keep(void *user, const weir_record_batch *batch)
{
    records_log *l = user;
    volatile double tiny = 0x1p-1060; /* S6: in the caller's mode */
    assert_true(tiny * 2.0 > 0);
    assert_true(batch->count > 0);
    assert_true(weir_spec_columns(batch->spec) % CHANNELS == 0);
    weir_message none = {.frames = 0};
    assert_int_equal(weir_chain_push(l->chain, &none, NULL, NULL), WEIR_E_USAGE);
    assert_int_equal(weir_chain_on_records(l->chain, batch->node, NULL, NULL), WEIR_E_USAGE);
    if (l->refuse_each > 0 && l->batches % l->refuse_each == 0 && !l->refused) {
        l->refused = true;
        return WEIR_E_IO;
    }
    l->refused = false;
    l->batches++;
    if (l->count + batch->count > l->room) {
        l->room = 2 * (l->count + batch->count);
        l->records = realloc(l->records, l->room * sizeof *l->records);
        assert_non_null(l->records);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const weir_record *record = &batch->records[i];
        assert_int_equal(record->segment, batch->records[0].segment);
        assert_true(record->segment < 8 && record->column < weir_spec_columns(batch->spec) &&
                    record->index >= 0);
        assert_true(l->count == 0 || is_sorted(&l->records[l->count - 1], record));
        l->start_ns[record->segment] = batch->segment_start_ns;
        l->records[l->count++] = *record;
    }
    return WEIR_OK;
}

static void same_records(const records_log *a, const records_log *b, const char *what)
{
    if (a->count != b->count) {
        print_error("%s: %zu records against %zu\n", what, a->count, b->count);
        fail();
    }
    if (memcmp(a->records, b->records, a->count * sizeof *a->records) != 0) {
        print_error("%s: other records\n", what);
        fail();
    }
}

static void log_clear(records_log *l)
{
    l->count = l->batches = 0;
    l->refused = false;
}

static weir_chain *
make(const way *w, const weir_spec *spec, weir_heap *heap, weir_source *source, records_log *l)
{
    const weir_value settings[] = {weir_number("threshold", 1.5), weir_text("noise_time", "20 ms"),
                                   weir_text("refrac_dur", "0.3 ms"),
                                   weir_text("bin_duration", "2.1 ms"),
                                   weir_text("polarity", "both")};
    const weir_value order[] = {weir_number("order", 2), weir_text("cuton", "300 Hz")};
    weir_chain_options options = weir_chain_options_default();
    options.heap = heap;
    options.tile_frames = w->tile;
    options.threads = w->threads;
    options.fuse = w->fuse;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    int node = WEIR_CHAIN_INPUT, detector = 0;
    test_ok(weir_chain_create(&options, &chain));
    if (w->deep) {
        test_ok(weir_chain_add(chain, node, "butterworth", order, 2, NULL, &node));
        test_ok(weir_chain_add(chain, node, "abs", NULL, 0, NULL, &node));
    }
    test_ok(weir_chain_add(chain, node, "threshold_crossing", settings, 5, NULL, &detector));
    if (w->deep) {
        test_ok(weir_chain_add(chain, detector, "abs", NULL, 0, NULL, &node));
    }
    l->chain = chain;
    test_ok(weir_chain_on_records(chain, detector, keep, l));
    test_ok(source == NULL ? weir_chain_plan(chain, spec, &plan)
                           : weir_chain_plan_run(chain, source, NULL, 0, &plan));
    return chain;
}

static weir_spec spec_of(weir_dtype dtype)
{
    return weir_spec_make(dtype, 30000.0, CHANNELS, NULL, NULL);
}

/* All of the signal, and the segment's end. */
static void run_way(const way *w, const test_signal *signal, records_log *l, test_output *output)
{
    test_random random = {7};
    weir_chain *chain = make(w, &signal->spec, NULL, NULL, l);
    test_push(chain, signal, 0, signal->frames, w->cut, 0, 0, &random, output);
    test_ok(weir_chain_finish(chain, test_collect, output));
    weir_unit_report report = {.report_size = sizeof report};
    test_ok(weir_chain_node_report(chain, w->deep ? 2 : 0, &report)); /* S9: bins of 63 frames */
    assert_int_equal(report.unfinished_frames, signal->frames % 63);
    weir_chain_destroy(chain);
}

/* ---- promises ------------------------------------------------------------------------------------ */

/* S1: for any message boundaries, tiles, threads, blocks: the same bytes; and as many records in
 * a bin as it counts. */
static void the_same_sequence(void **state)
{
    (void)state;
    static const way ways[] = {
        {1, 1, true, 90, false},     {7, 1, true, 40, false},   {64, 3, true, 700, false},
        {256, 2, false, 900, false}, {4096, 4, true, 0, false}, {1024, 2, true, 5000, false},
    };
    const weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_I16};
    uint64_t seed = test_seed();
    for (int kind = 0; kind < 8; kind++) {
        weir_spec spec = spec_of(dtypes[kind % 3]);
        if (kind >= 6) { /* [frames x freq x channels]: a block's columns are not adjacent */
            spec.dim_count = 3;
            spec.dims[2] = spec.dims[1];
            spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 3, .step = 10};
        }
        test_signal signal = test_signal_make(spec, FRAMES, seed);
        for (size_t i = 0; kind % 3 != 2 && i < FRAMES * CHANNELS; i += 997) {
            test_signal_set(&signal, i, NAN);
        }
        way first = {WEIR_TILE_AUTO, 1, true, 0, kind >= 3 && kind != 6};
        records_log whole = {0};
        test_output output = {0};
        run_way(&first, &signal, &whole, &output);
        assert_true(whole.count > 1000);
        assert_true(whole.records[whole.count - 1].index >=
                    FRAMES / 63 * 63); /* after the last bin */
        if (kind == 1 || kind == 4) {
            double sum = 0.0;
            size_t inside = 0, bins = output.frames;
            for (size_t i = 0; i < bins * CHANNELS; i++) {
                sum += ((const double *)(const void *)output.data)[i];
            }
            for (size_t i = 0; i < whole.count; i++) {
                inside += whole.records[i].index < (int64_t)bins * 63 ? 1 : 0;
            }
            assert_int_equal(bins, FRAMES / 63);
            assert_true(sum == (double)inside);
        }
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            way w = ways[i];
            w.deep = first.deep;
            records_log l = {0};
            test_output o = {0};
            run_way(&w, &signal, &l, &o);
            same_records(&whole, &l, "S1");
            test_same(&output, &o, "S1");
            free(l.records);
            test_output_free(&o);
        }
        free(whole.records);
        test_output_free(&output);
        free(signal.data);
    }
}

/* Pulled and run from a source, into rows of any size. */
static void pulled_and_run(void **state)
{
    (void)state;
    test_signal signal = test_signal_make(spec_of(WEIR_F32), FRAMES, test_seed());
    way first = {WEIR_TILE_AUTO, 1, true, 0, true};
    records_log whole = {0};
    test_output output = {0};
    run_way(&first, &signal, &whole, &output);
    for (size_t most = 1; most < 100; most += 40) {
        for (int run = 0; run < 2; run++) {
            records_log l = {.refuse_each = run == 0 ? most % 3 : 0};
            test_output o = {0};
            test_source source = test_source_make(&signal, most * 7, 3);
            weir_chain *chain = make(&first, NULL, NULL, &source.base, &l);
            float *rows = malloc(most * CHANNELS * sizeof *rows);
            weir_message block = {.frames = 1};
            weir_run_report report = {.report_size = sizeof report};
            assert_non_null(rows);
            if (run == 1) {
                test_ok(weir_chain_run(chain, NULL, &report));
            }
            while (run == 0 && block.frames > 0) {
                weir_err err = weir_chain_pull(chain, rows, most, &block);
                assert_true(err == WEIR_OK || (err == WEIR_E_IO && l.refuse_each > 0));
                block.frames = err == WEIR_OK ? block.frames : 1;
                if (err == WEIR_OK && block.frames > 0) {
                    test_ok(test_collect(&o, &block));
                }
            }
            same_records(&whole, &l, run == 1 ? "run" : "pulled");
            if (run == 0) {
                test_same(&output, &o, "pulled");
            }
            weir_chain_destroy(chain);
            free(l.records);
            free(rows);
            test_output_free(&o);
        }
    }
    free(whole.records);
    test_output_free(&output);
    free(signal.data);
}

/* S4: segments are counted; each has the records of a run of its own. */
static void over_a_gap(void **state)
{
    (void)state;
    enum { HALF = 2503 };
    test_signal signal = test_signal_make(spec_of(WEIR_F32), FRAMES, test_seed());
    test_signal parts[2] = {signal, signal};
    parts[0].frames = HALF;
    parts[1].data += HALF * CHANNELS * sizeof(float);
    parts[1].frames -= HALF;
    for (size_t cut = 0; cut < 1000; cut += 333) {
        way w = {cut == 0 ? WEIR_TILE_AUTO : 50, 1, true, cut, cut % 2 == 1};
        records_log l = {0}, alone[2] = {{0}, {0}};
        test_output o = {0};
        test_random random = {5};
        weir_chain *chain = make(&w, &signal.spec, NULL, NULL, &l);
        test_push(chain, &parts[0], 0, HALF, cut, 4, 1000, &random, &o);
        test_push(chain, &parts[1], 0, FRAMES - HALF, cut, 9, 777000, &random, &o);
        test_ok(weir_chain_finish(chain, test_collect, &o));
        assert_int_equal(l.start_ns[0], 1000);
        assert_int_equal(l.start_ns[1], 777000);
        for (int i = 0; i < 2; i++) {
            test_output unused = {0};
            run_way(&w, &parts[i], &alone[i], &unused);
            test_output_free(&unused);
            for (size_t k = 0; k < alone[i].count; k++) {
                alone[i].records[k].segment = (uint64_t)i;
            }
        }
        assert_int_equal(l.count, alone[0].count + alone[1].count);
        assert_memory_equal(l.records, alone[0].records, alone[0].count * sizeof(weir_record));
        assert_memory_equal(l.records + alone[0].count, alone[1].records,
                            alone[1].count * sizeof(weir_record));
        weir_chain_destroy(chain);
        free(l.records);
        free(alone[0].records);
        free(alone[1].records);
        test_output_free(&o);
    }
    free(signal.data);
}

/* An error ends the call; a refused batch is offered again, and nothing is lost. */
static void refused_batches(void **state)
{
    (void)state;
    test_signal signal = test_signal_make(spec_of(WEIR_F32), FRAMES, test_seed());
    for (size_t each = 1; each < 6; each += 2) {
        way w = {each == 3 ? 4096 : 60, each, true, 0, each == 5};
        records_log whole = {0}, l = {.refuse_each = each};
        test_output output = {0}, o = {0};
        run_way(&w, &signal, &whole, &output);
        weir_chain *chain = make(&w, &signal.spec, NULL, NULL, &l);
        size_t at = 0, errors = 0;
        weir_err err = WEIR_OK;
        while (at < FRAMES) {
            weir_message message = {.spec = &signal.spec,
                                    .data = signal.data + at * CHANNELS * sizeof(float),
                                    .frames = FRAMES - at,
                                    .first_index = (int64_t)at};
            err = weir_chain_push(chain, &message, test_collect, &o);
            assert_true(err == WEIR_OK || err == WEIR_E_IO);
            errors += err != WEIR_OK;
            at += weir_chain_consumed(chain);
            unsigned char blob[1];
            assert_int_equal(weir_chain_save(chain, blob, 1), WEIR_E_USAGE);
        }
        do {
            err = weir_chain_finish(chain, test_collect, &o);
            errors += err != WEIR_OK;
        } while (err == WEIR_E_IO);
        test_ok(err);
        assert_true(errors >= whole.batches / each && errors > 3);
        same_records(&whole, &l, "refused");
        test_same(&output, &o, "refused");
        /* weir_chain_reset drops them. */
        weir_message all = {.spec = &signal.spec, .data = signal.data, .frames = FRAMES};
        log_clear(&l);
        assert_int_equal(weir_chain_push(chain, &all, NULL, NULL), WEIR_E_IO);
        weir_chain_reset(chain);
        log_clear(&l);
        l.refuse_each = 0;
        all.segment = 3;
        test_ok(weir_chain_push(chain, &all, NULL, NULL));
        test_ok(weir_chain_finish(chain, NULL, NULL));
        assert_int_equal(l.count, whole.count);
        assert_int_equal(l.records[0].index, whole.records[0].index);
        weir_chain_destroy(chain);
        free(whole.records);
        free(l.records);
        test_output_free(&output);
        test_output_free(&o);
    }
    free(signal.data);
}

/* Into the caller's rows: the number of frames is returned before the error. */
static void refused_into_rows(void **state)
{
    (void)state;
    test_signal signal = test_signal_make(spec_of(WEIR_F32), FRAMES, test_seed());
    way w = {100, 1, true, 0, false};
    records_log whole = {0}, l = {.refuse_each = 2};
    test_output output = {0}, o = {0};
    run_way(&w, &signal, &whole, &output);
    weir_chain *chain = make(&w, &signal.spec, NULL, NULL, &l);
    float rows[11 * CHANNELS];
    for (size_t at = 0; at < FRAMES;) {
        weir_message block = {.frames = 0};
        weir_message message = {.spec = &signal.spec,
                                .data = signal.data + at * CHANNELS * sizeof(float),
                                .frames = FRAMES - at,
                                .first_index = (int64_t)at};
        weir_err err = weir_chain_push_into(chain, &message, rows, 11, &block);
        assert_true(err == WEIR_OK || err == WEIR_E_IO);
        if (block.frames > 0) {
            assert_int_equal(err, WEIR_OK);
            test_ok(test_collect(&o, &block));
        }
        at += weir_chain_consumed(chain);
    }
    while (weir_chain_finish(chain, test_collect, &o) == WEIR_E_IO) {
    }
    same_records(&whole, &l, "refused into rows");
    test_same(&output, &o, "refused into rows");
    weir_chain_destroy(chain);
    free(whole.records);
    free(l.records);
    test_output_free(&output);
    test_output_free(&o);
    free(signal.data);
}

/* S10: saved at any frame, restored under other tiles and threads. */
static void saved_and_restored(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    test_random random = {seed};
    test_signal signal = test_signal_make(spec_of(WEIR_F32), FRAMES, seed);
    way first = {WEIR_TILE_AUTO, 1, true, 0, true};
    records_log whole = {0};
    test_output output = {0};
    run_way(&first, &signal, &whole, &output);
    for (int i = 0; i < 12; i++) {
        size_t half = 1 + (size_t)test_random_below(&random, FRAMES - 2);
        way ways[2] = {{64, 1, true, 77, true}, {33, 3, i % 2 == 0, 200, true}};
        records_log l = {0};
        test_output o = {0};
        weir_chain *chain = make(&ways[i % 2], &signal.spec, NULL, NULL, &l);
        test_push(chain, &signal, 0, half, 100, 0, 0, &random, &o);
        size_t size = (size_t)weir_chain_state_bytes(chain);
        void *blob = malloc(size);
        assert_non_null(blob);
        test_ok(weir_chain_save(chain, blob, size));
        weir_chain_destroy(chain);
        chain = make(&ways[1 - i % 2], &signal.spec, NULL, NULL, &l);
        test_ok(weir_chain_restore(chain, blob, size));
        weir_message message = {.spec = &signal.spec,
                                .data = signal.data + half * CHANNELS * sizeof(float),
                                .frames = FRAMES - half,
                                .first_index = (int64_t)half};
        test_ok(weir_chain_push(chain, &message, test_collect, &o));
        test_ok(weir_chain_finish(chain, test_collect, &o));
        same_records(&whole, &l, "S10");
        test_same(&output, &o, "S10");
        weir_chain_destroy(chain);
        free(blob);
        free(l.records);
        test_output_free(&o);
    }
    free(whole.records);
    test_output_free(&output);
    free(signal.data);
}

/* M6, on the worst input: all channels cross as often as the refractory period allows. */
static void memory_is_planned(void **state)
{
    (void)state;
    static const size_t every[] = {2, 9, 30, 100};
    weir_heap *host = NULL, *heap = NULL;
    test_ok(weir_heap_find("host", &host));
    test_ok(weir_heap_counting_create(host, &heap));
    for (size_t i = 0; i < 8; i++) {
        size_t apart = every[i / 2];
        weir_spec spec = spec_of(WEIR_F32);
        const weir_value settings[] = {
            weir_number("level", 1.0),
            weir_number("refrac_dur", (double)apart / 30000.0),
            weir_number("max_peak_dur", i % 2 == 0 ? 0.0 : (double)(apart - 1) / 30000.0),
        };
        weir_chain_options options = weir_chain_options_default();
        options.heap = heap;
        options.tile_frames = 64;
        options.threads = 1 + i % 3;
        weir_chain *chain = NULL;
        const weir_plan *plan = NULL;
        int node = 0;
        records_log l = {0};
        test_ok(weir_chain_create(&options, &chain));
        test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "threshold_crossing", settings, 3, NULL,
                               &node));
        l.chain = chain;
        test_ok(weir_chain_on_records(chain, node, keep, &l));
        test_ok(weir_chain_plan(chain, &spec, &plan));
        float *data = calloc(FRAMES * CHANNELS, sizeof *data);
        assert_non_null(data);
        for (size_t t = 1; t < FRAMES; t++) {
            for (size_t c = 0; c < CHANNELS; c++) {
                data[t * CHANNELS + c] = t % apart == 1 ? -2.0f : 0.0f;
            }
        }
        weir_message message = {.spec = &spec, .data = data, .frames = 1};
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
        uint64_t calls = weir_heap_counting_counts(heap).calls;
        message = (weir_message){
            .spec = &spec, .data = data + CHANNELS, .frames = FRAMES - 1, .first_index = 1};
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
        test_ok(weir_chain_finish(chain, NULL, NULL));
        assert_int_equal(weir_heap_counting_counts(heap).calls, calls);
        assert_int_equal(l.count, (FRAMES - 1 + apart - 1) / apart * CHANNELS);
        size_t parts = 0;
        for (size_t p = 0; p < plan->part_count; p++) {
            if (strcmp(plan->parts[p].kind, "record port") == 0) {
                uint64_t used = weir_chain_used_bytes(chain, p), bytes = plan->parts[p].bytes;
                parts++;
                if (used * 10 < bytes * 8) {
                    print_error("M6: %s: %llu of %llu B used\n", plan->parts[p].name,
                                (unsigned long long)used, (unsigned long long)bytes);
                    fail();
                }
            }
        }
        assert_int_equal(parts, 2);
        weir_chain_destroy(chain);
        free(data);
        free(l.records);
    }
    assert_int_equal(weir_heap_counting_counts(heap).bytes, 0);
    weir_heap_destroy(heap);
}

/* A state with another polarity: it is not a live setting, and neither counts nor bytes depend
 * on it. */
static void state_of_another_polarity(void **state)
{
    (void)state;
    static const char *const names[] = {"neg", "pos"};
    weir_spec spec = spec_of(WEIR_F32);
    unsigned char *blob = NULL;
    size_t size = 0;
    for (int i = 0; i < 2; i++) {
        const weir_value setting = weir_text("polarity", names[i]);
        float frame[CHANNELS] = {0};
        weir_message message = {.spec = &spec, .data = frame, .frames = 1};
        weir_chain *chain = NULL;
        const weir_plan *plan = NULL;
        int node = 0;
        test_ok(weir_chain_create(NULL, &chain));
        test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "threshold_crossing", &setting, 1, NULL,
                               &node));
        test_ok(weir_chain_plan(chain, &spec, &plan));
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
        if (i == 0) {
            size = (size_t)weir_chain_state_bytes(chain);
            blob = malloc(size);
            assert_non_null(blob);
            test_ok(weir_chain_save(chain, blob, size));
        } else {
            assert_int_equal(weir_chain_restore(chain, blob, size), WEIR_E_USAGE);
        }
        weir_chain_destroy(chain);
    }
    free(blob);
}

static void usage(void **state)
{
    (void)state;
    weir_chain *chain = NULL;
    int node = 0;
    test_ok(weir_chain_create(NULL, &chain));
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "abs", NULL, 0, NULL, &node));
    assert_int_equal(weir_chain_on_records(NULL, node, keep, NULL), WEIR_E_USAGE);
    assert_int_equal(weir_chain_on_records(chain, node, keep, NULL), WEIR_E_USAGE);
    assert_non_null(strstr(weir_err_detail(), "abs has no records"));
    assert_int_equal(weir_chain_on_records(chain, 5, keep, NULL), WEIR_E_USAGE);
    assert_int_equal(weir_chain_on_records(chain, -1, keep, NULL), WEIR_E_USAGE);
    weir_chain_destroy(chain);
    assert_int_equal(sizeof(weir_record), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_sequence),
        cmocka_unit_test(pulled_and_run),
        cmocka_unit_test(over_a_gap),
        cmocka_unit_test(refused_batches),
        cmocka_unit_test(refused_into_rows),
        cmocka_unit_test(saved_and_restored),
        cmocka_unit_test(memory_is_planned),
        cmocka_unit_test(state_of_another_polarity),
        cmocka_unit_test(usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
