/* SPDX-License-Identifier: MIT
 *
 * chains_test.c: random chains: S1 (the same bits for any message boundaries and tile), M6 (held <=
 * plan, parts used), M3 (nothing left allocated), splits (the same as two chains), and what a chain
 * refuses.
 */
#include "caches.h"
#include "conform/stream.h"

#define CHANNELS 20

typedef struct link {
    const char *unit;
    const char *settings[6]; /* name, text, ... */
} link;

static const link links[] = {
    {"common_reference", {NULL}},
    {"common_reference", {"mode", "median"}},
    {"butterworth", {"order", "4", "cuton", "300", "cutoff", "3 kHz"}},
    {"butterworth", {"order", "3", "cutoff", "900 Hz"}},
    {"pow", {"exponent", "2"}},
    {"abs", {NULL}},
    {"ewma", {"time_constant", "10 ms"}},
    {"adaptive_standard_scaler", {"time_constant", "0.1 s"}},
    {"downsample", {"factor", "3"}},
    {"binned_aggregate", {"bin_duration", "2.1 ms", "operation", "max"}},
    {"binned_aggregate", {"bin_duration", "5 ms", "operation", "median"}},
    {"linear", {"scale", "2", "offset", "-1"}},
    {"clip", {"min", "-60", "max", "60"}},
    {"scale", {"scale", "0.5"}},
    {"slicer", {"selection", "2:18"}},
};
static const link window = {"window", {"window_dur", "20 ms", "window_shift", "7 ms"}};
static const link aggregate = {"aggregate", {"axis", "time", "operation", "mean"}};

static weir_err add_link(weir_chain *chain, const link *which, int *node)
{
    weir_value settings[3];
    size_t count = 0;
    for (; count < 3 && which->settings[2 * count] != NULL; count++) {
        settings[count] = weir_text(which->settings[2 * count], which->settings[2 * count + 1]);
    }
    return weir_chain_add(chain, *node, which->unit, settings, count, NULL, node);
}

static weir_chain *new_chain(weir_heap *heap, uint64_t tile)
{
    weir_chain_options options = weir_chain_options_default();
    options.heap = heap;
    options.tile_frames = tile;
    weir_chain *chain = NULL;
    test_ok(weir_chain_create(&options, &chain));
    return chain;
}

/* A chain of 1..6 links by a seed; perhaps with a window and a unit that removes its time
 * dimension. NULL: the links do not fit together (a cutoff above the Nyquist frequency of a
 * reduced rate, a bin shorter than a frame). */
static weir_chain *random_chain_of(const weir_chain_options *options,
                                   uint64_t seed,
                                   const weir_spec *spec,
                                   const weir_plan **ret_plan)
{
    test_random random = {seed};
    weir_chain *chain = NULL;
    test_ok(weir_chain_create(options, &chain));
    int node = WEIR_CHAIN_INPUT;
    uint64_t length = 1 + test_random_below(&random, 5);
    bool windowed = test_random_below(&random, 4) == 0;
    for (uint64_t i = 0; i < length; i++) {
        const link *which = &links[test_random_below(&random, sizeof links / sizeof links[0])];
        test_ok(add_link(chain, which, &node));
    }
    if (windowed) {
        test_ok(add_link(chain, &window, &node));
        test_ok(add_link(chain, &aggregate, &node));
    }
    weir_err err = weir_chain_plan(chain, spec, ret_plan);
    if (err != WEIR_OK) {
        assert_int_equal(err, WEIR_E_CHAIN);
        weir_chain_destroy(chain);
        return NULL;
    }
    return chain;
}

static weir_chain *random_chain(weir_heap *heap,
                                uint64_t seed,
                                uint64_t tile,
                                uint64_t threads,
                                bool fuse,
                                const weir_spec *spec,
                                const weir_plan **ret_plan)
{
    weir_chain_options options = weir_chain_options_default();
    options.fuse = fuse;
    options.heap = heap;
    options.tile_frames = tile;
    options.threads = threads;
    return random_chain_of(&options, seed, spec, ret_plan);
}

/* missing: of integers no sample is, and what only missing samples need is not used. */
static void
check_plan(weir_chain *chain, const weir_plan *plan, uint64_t seed, bool enough, bool missing)
{
    weir_cache_stats stats = stats_of(weir_chain_cache(chain));
    assert_true(stats.held_peak_bytes <= plan->total_bytes);
    uint64_t sum = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        sum += part->bytes;
        /* A buffer of a few windows may have contained one fewer than the maximum. */
        uint64_t used = weir_chain_used_bytes(chain, i);
        uint64_t one = part->capacity_frames > 0 ? part->bytes / part->capacity_frames : 0;
        /* Which threads process a block is chance. */
        bool by_chance = plan->threads > 1 && strcmp(part->kind, "scratch") == 0;
        by_chance |= !missing && strcmp(part->kind, "scratch") == 0;
        if (enough && !by_chance && (used + one + TEST_PADDING) * 10 < part->bytes * 8) {
            print_error("M6: chain %llu: %s %s uses %llu of %llu B\n", (unsigned long long)seed,
                        part->name, part->kind, (unsigned long long)used,
                        (unsigned long long)part->bytes);
            fail();
        }
    }
    assert_int_equal(sum, plan->total_bytes);
}

/* Compares the plan's parts with the heap calls: all except records are what the first push
 * allocates, and records are what is allocated before it and the metadata of the allocation
 * (M6). */
static void parts_are_what_the_heap_gave(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    test_random random = {seed};
    weir_heap *host = NULL, *heap = NULL;
    test_ok(weir_heap_find("host", &host));
    int ran = 0;
    for (int i = 0; i < 40; i++) {
        test_ok(weir_heap_counting_create(host, &heap));
        weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
        test_signal signal = test_signal_make(spec, 100, seed);
        const weir_plan *plan = NULL;
        weir_chain *chain = random_chain(heap, test_random_next(&random), WEIR_TILE_AUTO,
                                         1 + (uint64_t)i % 2, true, &spec, &plan);
        if (chain != NULL) {
            ran++;
            uint64_t parts = 0, records = 0;
            for (size_t k = 0; k < plan->part_count; k++) {
                const weir_plan_part *part = weir_plan_part_at(plan, k);
                *(strcmp(part->kind, "records") == 0 ? &records : &parts) += part->bytes;
            }
            weir_cache_clear(weir_chain_cache(chain)); /* as the start does */
            uint64_t before = weir_heap_counting_counts(heap).bytes;
            weir_message message = {.spec = &spec, .data = signal.data, .frames = 100};
            test_ok(weir_chain_push(chain, &message, NULL, NULL));
            uint64_t taken = weir_heap_counting_counts(heap).bytes - before;
            assert_true(taken == host->ops->good_size(host, (size_t)parts));
            assert_true(records == before + taken - parts);
            weir_chain_destroy(chain);
        }
        assert_int_equal(weir_heap_counting_counts(heap).bytes, 0);
        weir_heap_destroy(heap);
        free(signal.data);
    }
    assert_true(ran > 15);
}

/* S1, M3, M6 */
static void random_chains(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    test_random random = {seed};
    weir_heap *host = NULL, *heap = NULL;
    test_ok(weir_heap_find("host", &host));
    test_ok(weir_heap_counting_create(host, &heap));
    weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_I16};
    int ran = 0;
    for (int i = 0; i < 60; i++) {
        weir_spec spec = weir_spec_make(dtypes[i % 3], 30000.0, CHANNELS, NULL, NULL);
        test_signal signal = test_signal_make(spec, 9000, seed + (uint64_t)i);
        for (size_t k = 0; test_is_float(spec.dtype) && k < 9000 * CHANNELS; k += 97) {
            test_signal_set(&signal, k, NAN); /* the worst input: some rows have missing samples */
        }
        uint64_t own = test_random_next(&random);
        const weir_plan *plan = NULL;
        weir_chain *chain = random_chain(heap, own, WEIR_TILE_AUTO, 1, true, &spec, &plan);
        if (chain != NULL) {
            ran++;
            test_output whole = {0};
            test_push(chain, &signal, 0, signal.frames, 0, 0, 0, &random, &whole);
            check_plan(chain, plan, own, true, test_is_float(spec.dtype));
            weir_chain_destroy(chain);
            for (int j = 0; j < 3; j++) {
                test_output cut = {0};
                chain = random_chain(heap, own, 1 + test_random_below(&random, 200),
                                     1 + test_random_below(&random, 8), j != 1, &spec, &plan);
                test_push(chain, &signal, 0, signal.frames, j == 0 ? 1 : 500, 0, 0, &random, &cut);
                if (whole.frames != cut.frames) {
                    print_error("chain %llu\n", (unsigned long long)own);
                }
                test_same(&whole, &cut, "S1");
                check_plan(chain, plan, own, false, false);
                test_output_free(&cut);
                weir_chain_destroy(chain);
            }
            test_output_free(&whole);
        }
        free(signal.data);
    }
    print_message("%d chains ran\n", ran);
    assert_true(ran > 20);
    assert_int_equal(weir_heap_counting_counts(heap).bytes, 0);
    weir_heap_destroy(heap);
}

/* Neighbours fused on a tile give the same as one by one, with rows so wide that they are
 * divided into channel blocks and a common reference is computed in two halves; with missing
 * samples too (S1, S5). */
static void fused(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    test_random random = {seed};
    int ran = 0, fewer = 0;
    for (int i = 0; i < 24; i++) {
        uint64_t channels = 300 + test_random_below(&random, 500);
        weir_spec spec =
            weir_spec_make(i % 2 == 0 ? WEIR_F32 : WEIR_F64, 30000.0, channels, NULL, NULL);
        test_signal signal = test_signal_make(spec, 700, seed + (uint64_t)i);
        for (int bad = 0; i % 3 == 0 && bad < 40; bad++) {
            size_t at = (size_t)test_random_below(&random, signal.frames * channels);
            if (spec.dtype == WEIR_F32) {
                ((float *)(void *)signal.data)[at] = bad % 2 == 0 ? NAN : INFINITY;
            } else {
                ((double *)(void *)signal.data)[at] = bad % 2 == 0 ? (double)NAN : -INFINITY;
            }
        }
        test_output outputs[2] = {{0}};
        uint64_t own = test_random_next(&random);
        size_t parts[2] = {0};
        /* a tile of several pieces, and the size for this machine's cache */
        uint64_t tile = i % 5 == 0 ? WEIR_TILE_AUTO : 50 + test_random_below(&random, 300);
        for (int off = 0; off < 2; off++) {
            const weir_plan *plan = NULL;
            weir_chain *chain =
                random_chain(NULL, own, tile, 1 + (uint64_t)(i % 4), off == 0, &spec, &plan);
            if (chain == NULL) {
                break;
            }
            parts[off] = plan->part_count;
            test_push(chain, &signal, 0, signal.frames, 400, 0, 0, &random, &outputs[off]);
            check_plan(chain, plan, own, false, false);
            weir_chain_destroy(chain);
            ran += off;
        }
        test_same(&outputs[0], &outputs[1], "fused");
        fewer += parts[0] < parts[1] ? 1 : 0;
        test_output_free(&outputs[0]);
        test_output_free(&outputs[1]);
        free(signal.data);
    }
    print_message("%d chains ran, %d of them with fewer edges\n", ran, fewer);
    assert_true(ran > 8);
    assert_true(fewer > 4);
}

/* Chains whose tiles are several pieces, on one thread and on two. */
static void in_pieces(const int *units, size_t count, uint64_t channels, uint64_t tile)
{
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, channels, NULL, NULL);
    test_signal signal = test_signal_make(spec, 1200, 3);
    test_random random = {3};
    test_output outputs[2] = {{0}};
    for (int threads = 1; threads <= 2; threads++) {
        weir_chain_options options = weir_chain_options_default();
        options.tile_frames = tile;
        options.threads = (uint64_t)threads;
        weir_chain *chain = NULL;
        const weir_plan *plan = NULL;
        int node = WEIR_CHAIN_INPUT;
        test_ok(weir_chain_create(&options, &chain));
        for (size_t i = 0; i < count; i++) {
            test_ok(add_link(chain, &links[units[i]], &node));
        }
        test_ok(weir_chain_plan(chain, &spec, &plan));
        test_push(chain, &signal, 0, signal.frames, 0, 0, 0, &random, &outputs[threads - 1]);
        check_plan(chain, plan, 0, true, false);
        weir_chain_destroy(chain);
    }
    test_same(&outputs[0], &outputs[1], "pieces");
    test_output_free(&outputs[0]);
    test_output_free(&outputs[1]);
    free(signal.data);
}

static void pieces(void **state)
{
    (void)state;
    /* Scratch buffers of which the second is smaller: writing past it is writing past the
     * buffer, which a sanitizer detects, also in the pool of threads. */
    static const int thinned[] = {0, 8};
    in_pieces(thinned, 2, 399, 300);
    /* Space for one bin, which the first piece of a tile may fill: the second must be processed
     * all the same. */
    static const int binned[] = {14, 0, 10};
    in_pieces(binned, 3, 20, 97);
}

typedef struct both {
    test_output outputs[2];
    int order[4];
    int calls;
} both;

static weir_err collect_both(void *user, const weir_message *block)
{
    both *at = user;
    if (at->calls < 4) {
        at->order[at->calls] = block->output;
    }
    at->calls++;
    return test_collect(&at->outputs[block->output], block);
}

/* Each branch of a split outputs what a chain of its own would, in file order. */
static void split_by(uint64_t tile)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, 5000, 3);
    test_random random = {3};
    weir_chain *chain = new_chain(NULL, tile);
    int trunk = WEIR_CHAIN_INPUT, left, right;
    const weir_plan *plan = NULL;
    test_ok(add_link(chain, &links[0], &trunk));
    left = right = trunk;
    test_ok(add_link(chain, &links[2], &left));
    test_ok(add_link(chain, &links[4], &left));
    test_ok(add_link(chain, &links[9], &right));
    test_ok(weir_chain_output(chain, left, "power"));
    test_ok(weir_chain_output(chain, right, "envelope"));
    assert_int_equal(weir_chain_output(chain, right, "twice"), WEIR_E_CHAIN);
    test_ok(weir_chain_plan(chain, &spec, &plan));
    both got = {0};
    got.outputs[0].lent = got.outputs[1].lent = signal.data;
    weir_message message = {.spec = &spec, .data = signal.data, .frames = signal.frames};
    test_ok(weir_chain_push(chain, &message, collect_both, &got));
    assert_int_equal(got.order[0], 0);
    assert_int_equal(got.order[1], 1);
    check_plan(chain, plan, 0, true, false);
    weir_chain_destroy(chain);
    const link *const branches[2][3] = {{&links[0], &links[2], &links[4]},
                                        {&links[0], &links[9], NULL}};
    for (int i = 0; i < 2; i++) {
        chain = new_chain(NULL, 50);
        int node = WEIR_CHAIN_INPUT;
        for (int j = 0; j < 3 && branches[i][j] != NULL; j++) {
            test_ok(add_link(chain, branches[i][j], &node));
        }
        test_ok(weir_chain_plan(chain, &spec, &plan));
        test_output alone = {0};
        test_push(chain, &signal, 0, signal.frames, 70, 0, 0, &random, &alone);
        test_same(&alone, &got.outputs[i], "split");
        test_output_free(&alone);
        test_output_free(&got.outputs[i]);
        weir_chain_destroy(chain);
    }
    free(signal.data);
}

/* An empty chain passes the stream through. */
static void empty_chain(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_I16, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, 500, 3);
    test_random random = {3};
    weir_chain *chain = new_chain(NULL, WEIR_TILE_AUTO);
    const weir_plan *plan = NULL;
    test_ok(weir_chain_plan(chain, &spec, &plan));
    test_output out = {0};
    test_push(chain, &signal, 0, signal.frames, 70, 0, 0, &random, &out);
    assert_int_equal(out.frames, signal.frames);
    assert_memory_equal(out.data, signal.data, signal.frames * CHANNELS * sizeof(int16_t));
    test_output_free(&out);
    free(signal.data);
    weir_chain_destroy(chain);
}

static void split(void **state)
{
    (void)state;
    split_by(WEIR_TILE_AUTO);
}

static weir_err refuse(void *user, const weir_message *block)
{
    (void)user;
    (void)block;
    return WEIR_E_IO;
}

static void refusals(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, 500, 3);
    weir_message message = {.spec = &spec, .data = signal.data, .frames = signal.frames};
    weir_chain *chain = new_chain(NULL, WEIR_TILE_AUTO);
    const weir_plan *plan = NULL;
    int node = WEIR_CHAIN_INPUT;
    assert_int_equal(weir_chain_push(chain, &message, NULL, NULL), WEIR_E_USAGE);
    weir_value misspelt[] = {weir_number("ordr", 4)};
    assert_int_equal(weir_chain_add(chain, node, "butterwort", NULL, 0, NULL, &node), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "'butterworth'"));
    assert_int_equal(weir_chain_add(chain, node, "butterworth", misspelt, 1, NULL, &node),
                     WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "order"));
    weir_value high[] = {weir_number("order", 4), weir_text("cutoff", "20 kHz")};
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "butterworth", high, 2, NULL, &node));
    assert_int_equal(weir_chain_plan(chain, &spec, &plan), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "cutoff"));
    weir_chain_destroy(chain);

    /* Mixed physical units where channels are coupled. */
    const char *units[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
        units[i] = i == 7 ? "mV" : "uV";
    }
    spec.units = units;
    chain = new_chain(NULL, WEIR_TILE_AUTO);
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "common_reference", NULL, 0, NULL, &node));
    assert_int_equal(weir_chain_plan(chain, &spec, &plan), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "mV"));
    spec.units = NULL;

    /* A sink's error is returned by the push; the chain can continue with a new segment. */
    test_ok(weir_chain_plan(chain, &spec, &plan));
    assert_int_equal(weir_chain_push(chain, &message, refuse, NULL), WEIR_E_IO);
    test_ok(weir_chain_push(chain, &message, NULL, NULL));
    assert_int_equal(weir_chain_plan(chain, &spec, &plan), WEIR_E_USAGE);
    weir_chain_destroy(chain);

    /* A plan above the limit: not an error of the plan, but of the first push (M2). */
    weir_chain_options options = weir_chain_options_default();
    options.memory_limit = 20000;
    test_ok(weir_chain_create(&options, &chain));
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "common_reference", NULL, 0, NULL, &node));
    test_ok(weir_chain_plan(chain, &spec, &plan));
    assert_false(plan->fits);
    assert_int_equal(weir_chain_push(chain, &message, NULL, NULL), WEIR_E_PLAN);
    weir_chain_destroy(chain);
    free(signal.data);
}

/* The whole life of a chain on that heap. */
static weir_err live(weir_heap *heap, const weir_message *message)
{
    weir_chain_options options = weir_chain_options_default();
    options.heap = heap;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    int node = WEIR_CHAIN_INPUT;
    weir_err err = weir_chain_create(&options, &chain);
    for (size_t i = 0; err == WEIR_OK && i < 7; i++) {
        err = add_link(chain, &links[i], &node);
    }
    if (err == WEIR_OK) {
        err = weir_chain_plan(chain, message->spec, &plan);
    }
    if (err == WEIR_OK) {
        err = weir_chain_push(chain, message, NULL, NULL);
    }
    weir_chain_destroy(chain);
    return err;
}

/* M3: the n-th heap call fails, once or permanently, for every n until the case passes without a
 * failure. */
static void faults(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, 500, 3);
    weir_message message = {.spec = &spec, .data = signal.data, .frames = signal.frames};
    weir_heap *host = NULL, *heap = NULL;
    test_ok(weir_heap_find("host", &host));
    test_ok(weir_heap_counting_create(host, &heap));
    static const uint64_t repeats[] = {1, UINT32_MAX};
    for (size_t i = 0; i < 2; i++) {
        uint64_t n = 0, made = 0;
        do {
            n++;
            uint64_t before = weir_heap_counting_counts(heap).calls;
            weir_heap_counting_fail(heap, n, repeats[i]);
            weir_err err = live(heap, &message);
            made = weir_heap_counting_counts(heap).calls - before;
            weir_heap_counting_fail(heap, 0, 0);
            assert_int_equal(weir_heap_counting_counts(heap).bytes, 0);
            if (made < n) {
                assert_int_equal(err, WEIR_OK);
            } else if (i == 1) {
                assert_int_equal(err, WEIR_E_NOMEM);
            } else {
                assert_true(err == WEIR_OK || err == WEIR_E_NOMEM);
            }
        } while (made >= n);
        print_message("untouched at n = %llu\n", (unsigned long long)n);
        assert_true(n > 3);
    }
    weir_heap_destroy(heap);
    free(signal.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_what_the_heap_gave),
        cmocka_unit_test(random_chains),
        cmocka_unit_test(fused),
        cmocka_unit_test(pieces),
        cmocka_unit_test(split),
        cmocka_unit_test(empty_chain),
        cmocka_unit_test(refusals),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
