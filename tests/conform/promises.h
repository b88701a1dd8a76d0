/* SPDX-License-Identifier: MIT
 *
 * promises.h: tests for every unit: S1 S3 S4 S5 S6 S7 S9 S10, M2 M3 M6, and the rules of unit.h.
 */
#ifndef WEIR_TEST_PROMISES_H
#define WEIR_TEST_PROMISES_H

#include "conform/fixture.h"

/* S1, S7: the same bits for any message boundaries, tile and number of threads; the buffer is
 * overwritten after each push. */
static void check_cuts(const fixture *at, const test_signal *signal, const test_output *whole)
{
    static const struct {
        uint64_t tile, threads;
        size_t cut;
    } ways[] = {
        {WEIR_TILE_AUTO, 1, 1}, {1, 1, 700}, {7, 1, 40}, {64, 1, 3}, {256, 3, 900}, {4096, 2, 700},
    };
    test_random random = {at->seed};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        test_output output = {0};
        weir_chain *chain = make_chain_of(at, ways[i].tile, ways[i].threads, NULL);
        push_segment(chain, signal, 0, signal->frames, ways[i].cut, &random, &output);
        test_same(whole, &output, "S1");
        test_output_free(&output);
        weir_chain_destroy(chain);
    }
}

/* S1: the same bits when pulled into rows of any size, from reads of any size. */
static void check_pull(const fixture *at, const test_signal *signal, const test_output *whole)
{
    test_random random = {at->seed + 1};
    for (size_t most = 1; most < 3000; most *= 13) {
        test_source source = test_source_make(signal, most, at->seed);
        weir_chain *chain = make_chain(at, WEIR_TILE_AUTO, &source.base);
        assert_non_null(chain);
        size_t frame_bytes = (size_t)weir_spec_frame_bytes(weir_chain_output_spec(chain, 0));
        test_output output = {0};
        unsigned char *rows = malloc(most * frame_bytes);
        assert_non_null(rows);
        for (;;) {
            size_t room = 1 + (size_t)test_random_below(&random, most);
            weir_message block;
            test_ok(weir_chain_pull(chain, rows, room, &block));
            if (block.frames == 0) {
                break;
            }
            assert_true(block.frames <= room);
            test_ok(test_collect(&output, &block));
        }
        test_same(whole, &output, "S1, pulled");
        test_output_free(&output);
        free(rows);
        weir_chain_destroy(chain);
    }
}

/* S9: after a reset the next frame is treated as the first. */
static void check_reset(const fixture *at, const test_signal *signal, const test_output *whole)
{
    test_random random = {at->seed + 2};
    test_output before = {0}, after = {0};
    weir_chain *chain = make_chain(at, WEIR_TILE_AUTO, NULL);
    test_push(chain, signal, 0, signal->frames * 2 / 3 + 1, 50, 0, 0, &random, &before);
    weir_chain_reset(chain);
    push_segment(chain, signal, 0, signal->frames, 50, &random, &after);
    test_same(whole, &after, "S9, reset");
    test_output_free(&before);
    test_output_free(&after);
    weir_chain_destroy(chain);
}

/* S4: after a gap the next frame is treated as the first, or, for units that hold, as if there
 * were no gap. S3: time starts again with the segment. */
static void check_gap(const fixture *at, const test_signal *signal, const test_output *whole)
{
    size_t half = signal->frames / 2 + 5;
    test_signal second = test_signal_copy(signal);
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&signal->spec);
    memmove(second.data, second.data + half * frame_bytes, (signal->frames - half) * frame_bytes);
    second.frames -= half;
    test_random random = {at->seed + 3};
    test_output first = {0}, gapped = {0}, fresh = run_whole(at, &second, WEIR_TILE_AUTO);
    weir_chain *chain = make_chain(at, WEIR_TILE_AUTO, NULL);
    test_push(chain, signal, 0, half, 90, 4, 1000, &random, &first);
    test_push(chain, signal, half, signal->frames, 90, 5, 777000, &random, &first);
    test_ok(weir_chain_finish(chain, test_collect, &first));
    size_t before = first.frames - (size_t)first.next_index; /* of the second segment */
    if (first.frames > before) {
        assert_int_equal(first.segments, before > 0 ? 2 : 1);
        assert_int_equal(first.segment_start_ns, 777000);
    }
    if (at->info->flags & WEIR_UNIT_HOLDS_OVER_GAP) {
        test_same(whole, &first, "S4, held over the gap");
    } else {
        gapped = first;
        gapped.data = first.data + before * first.frame_bytes;
        gapped.frames = first.frames - before;
        test_same(&fresh, &gapped, "S4, reset at the gap");
    }
    test_output_free(&first);
    test_output_free(&fresh);
    free(second.data);
    weir_chain_destroy(chain);
}

/* S5: missing samples are counted; channels without any are bit-equal to the clean run; message
 * boundaries do not matter; a unit with the input's rate and shape outputs NaN for them. */
static void check_missing(const fixture *at, const test_signal *signal, const test_output *whole)
{
    if (!test_is_float(signal->spec.dtype)) {
        return;
    }
    test_signal dirty = test_signal_copy(signal);
    test_random random = {at->seed + 4};
    int dim = weir_spec_dim(&signal->spec, "ch");
    size_t inner = 1, channels = (size_t)signal->spec.dims[dim].size;
    for (uint32_t i = (uint32_t)dim + 1; i < signal->spec.dim_count; i++) {
        inner *= (size_t)signal->spec.dims[i].size;
    }
    const double kinds[] = {NAN, INFINITY, -INFINITY};
    uint64_t expected[CHANNELS] = {0};
    size_t values = signal->frames * signal->columns;
    for (size_t i = 0; i < values / 150; i++) {
        size_t place = (size_t)test_random_below(&random, values);
        size_t channel = place % signal->columns / inner % channels;
        if (channel % 2 == 0 && isfinite(test_signal_get(&dirty, place))) {
            test_signal_set(&dirty, place, kinds[i % 3]);
            expected[channel]++;
        }
    }
    for (size_t c = 0; c < signal->columns; c += 4) { /* S9: the first sample may be missing */
        size_t channel = c / inner % channels;
        if (channel % 2 == 0 && isfinite(test_signal_get(&dirty, c))) {
            test_signal_set(&dirty, c, NAN);
            expected[channel]++;
        }
    }
    test_output first = run_whole(at, &dirty, 64), output = {0};
    weir_chain *chain = make_chain(at, 7, NULL);
    push_segment(chain, &dirty, 0, dirty.frames, 33, &random, &output);
    test_same(&first, &output, "S1 with S5");
    weir_unit_report report = {.report_size = sizeof report};
    /* A unit that consists of several: its first part gets the input. */
    size_t node = (at->info->flags & WEIR_UNIT_JOINS) ? weir_chain_node_count(chain) - 1 : 0;
    test_ok(weir_chain_node_report(chain, node, &report));
    const weir_spec *out = weir_chain_output_spec(chain, 0);
    if (!(at->info->flags & WEIR_UNIT_ANY_DTYPE)) {
        assert_int_equal(report.channels, channels);
        for (size_t c = 0; c < channels; c++) {
            if (report.missing[c] != expected[c]) {
                print_error("S5: channel %zu: %llu missing counted, %llu are\n", c,
                            (unsigned long long)report.missing[c], (unsigned long long)expected[c]);
                fail();
            }
        }
    }
    size_t columns = (size_t)weir_spec_columns(out), parts = weir_dtype_parts(out->dtype);
    int out_dim = weir_spec_dim(out, "ch");
    size_t out_inner = 1; /* of an output without channels: of all */
    for (uint32_t i = (uint32_t)(out_dim < 0 ? 0 : out_dim) + 1; i < out->dim_count; i++) {
        out_inner *= (size_t)out->dims[i].size;
    }
    bool same_shape = columns == signal->columns && output.frames == signal->frames;
    size_t out_channels = out_dim < 0 ? 1 : (size_t)out->dims[out_dim].size;
    assert_int_equal(output.frames, whole->frames);
    for (size_t i = 0; i < output.frames * columns; i++) {
        size_t channel = i % columns / out_inner % out_channels;
        for (size_t k = 0; k < parts; k++) {
            double value = output_get(&output, out->dtype, i * parts + k);
            if (same_shape && test_is_float(out->dtype) && !isfinite(test_signal_get(&dirty, i)) &&
                !(at->info->flags & WEIR_UNIT_ANY_DTYPE) && !isnan(value)) {
                print_error("S5: %s gives %g for a missing sample\n", at->info->name, value);
                fail();
            }
        }
        if (!(at->info->flags & WEIR_UNIT_COUPLES_CHANNELS) && out_channels == channels &&
            channel % 2 == 1) {
            size_t bytes = weir_dtype_bytes(out->dtype);
            assert_memory_equal(output.data + i * bytes, whole->data + i * bytes, bytes);
        }
    }
    test_output_free(&first);
    test_output_free(&output);
    free(dirty.data);
    weir_chain_destroy(chain);
}

/* S6: a signal that ends leaves no subnormal numbers, and the caller's floating-point mode is
 * unchanged. */
static void check_subnormal(const fixture *at, const test_signal *signal)
{
    if (!test_is_float(signal->spec.dtype)) {
        return;
    }
    test_signal faint = test_signal_copy(signal);
    weir_dtype part = weir_dtype_part(signal->spec.dtype);
    double smallest = part == WEIR_F32 ? (double)0x1p-126f : 0x1p-1022;
    for (size_t i = 0; i < faint.frames * faint.columns; i++) {
        double value = test_signal_get(&faint, i);
        test_signal_set(&faint, i, i / faint.columns < 50 ? value * smallest * 4 : 0.0);
    }
    weir_chain *chain = make_chain(at, WEIR_TILE_AUTO, NULL);
    test_output output = {0};
    test_random random = {at->seed + 5};
    test_push(chain, &faint, 0, faint.frames, 100, 0, 0, &random, &output);
    const weir_spec *out = weir_chain_output_spec(chain, 0);
    double least = weir_dtype_part(out->dtype) == WEIR_F32 ? (double)0x1p-126f : 0x1p-1022;
    if (test_is_float(out->dtype)) {
        /* Elementwise units may pass input through; nothing may remain once the signal has
         * ended. */
        size_t values =
            output.frames * (size_t)weir_spec_columns(out) * weir_dtype_parts(out->dtype);
        for (size_t i = values / 2; i < values; i++) {
            double value = fabs(output_get(&output, out->dtype, i));
            if (value > 0 && value < least) {
                print_error("S6: %s puts out %g\n", at->info->name, value);
                fail();
            }
        }
    }
    volatile double tiny = 0x1p-1060; /* our own subnormal numbers are unchanged */
    assert_true(tiny * 2.0 > 0);
    test_output_free(&output);
    free(faint.data);
    weir_chain_destroy(chain);
}

/* M2, M3, M6: within the plan, no heap call and no allocation after the first push, every part
 * used, nothing left allocated. */
static void check_bytes(const fixture *at, const test_signal *clean)
{
    test_signal dirty = test_signal_copy(clean), *signal = &dirty;
    bool floats = test_is_float(clean->spec.dtype);
    for (size_t i = 0; floats && i < dirty.frames * dirty.columns; i += 97) {
        test_signal_set(&dirty, i, NAN); /* the worst input: some rows have missing samples */
    }
    weir_chain *chain = make_chain(at, 64, NULL);
    const weir_plan *plan = NULL;
    test_ok(weir_chain_plan(chain, &at->spec, &plan));
    test_output output = {0};
    test_random random = {at->seed + 6};
    test_push(chain, signal, 0, 1, 0, 0, 0, &random, &output);
    weir_heap_counts started = weir_heap_counting_counts(at->heap);
    weir_cache_stats first = {.stats_size = sizeof first};
    weir_cache_stats_read(weir_chain_cache(chain), &first);
    weir_message message = {.spec = &signal->spec,
                            .data = signal->data + weir_spec_frame_bytes(&signal->spec),
                            .frames = signal->frames - 1,
                            .first_index = 1};
    test_ok(weir_chain_push(chain, &message, test_collect, &output));
    weir_heap_counts ended = weir_heap_counting_counts(at->heap);
    assert_int_equal(started.calls, ended.calls);
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(weir_chain_cache(chain), &stats);
    assert_int_equal(stats.hits + stats.misses, first.hits + first.misses);
    assert_true(stats.held_peak_bytes <= plan->total_bytes);
    assert_int_equal(stats.held_bytes, ended.bytes);
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        uint64_t used = weir_chain_used_bytes(chain, i);
        if (strcmp(part->kind, "record port") == 0) {
            continue; /* records: this signal has few; on the worst in promise/records_test.c */
        }
        if (strcmp(part->kind, "scratch") == 0 && !floats) {
            continue; /* integers are never missing: this is not the worst input of what that needs */
        }
        if ((used + TEST_PADDING) * 10 < part->bytes * 8) {
            print_error("M6: %s %s: %llu of %llu B used\n", part->name, part->kind,
                        (unsigned long long)used, (unsigned long long)part->bytes);
            fail();
        }
    }
    test_output_free(&output);
    free(dirty.data);
    weir_chain_destroy(chain);
    assert_int_equal(weir_heap_counting_counts(at->heap).bytes, 0);
}

/* S1: into the caller's rows, of any size. */
static void check_rows(const fixture *at, const test_signal *signal, const test_output *whole)
{
    test_random random = {at->seed + 7};
    test_output output = {0};
    weir_chain *chain = make_chain(at, 50, NULL);
    size_t in_bytes = (size_t)weir_spec_frame_bytes(&signal->spec), most = 80;
    unsigned char *rows =
        malloc(most * (size_t)weir_spec_frame_bytes(weir_chain_output_spec(chain, 0)));
    assert_non_null(rows);
    for (size_t done = 0, more = 1; done < signal->frames || more > 0;) {
        size_t frames = signal->frames - done, some = (size_t)test_random_below(&random, 300);
        size_t room = 1 + (size_t)test_random_below(&random, most);
        weir_message block, message = {.spec = &signal->spec,
                                       .data = signal->data + done * in_bytes,
                                       .frames = frames < some ? frames : some,
                                       .first_index = (int64_t)done};
        test_ok(weir_chain_push_into(chain, &message, rows, room, &block));
        assert_true(block.frames <= room);
        if (block.frames > 0) {
            test_ok(test_collect(&output, &block));
        }
        more = block.frames;
        done += weir_chain_consumed(chain);
    }
    assert_int_equal(output.frames, weir_chain_due(chain, 0, signal->frames));
    test_ok(weir_chain_finish(chain, test_collect, &output));
    test_same(whole, &output, "S1, into rows");
    test_output_free(&output);
    free(rows);
    weir_chain_destroy(chain);
}

/* S10: saved after any frame, restored into another chain with other tiles and threads,
 * repeatedly. All chains stay until the end: a state must not refer to the chain from which it
 * was saved. */
static void check_state(const fixture *at, const test_signal *signal, const test_output *whole)
{
    enum { SAVES = 5 };
    test_random random = {at->seed + 8};
    test_output output = {0};
    weir_chain *chains[SAVES + 1];
    chains[0] = make_chain(at, 64, NULL);
    size_t done = 0, bytes = (size_t)weir_spec_frame_bytes(&signal->spec);
    for (int i = 0; i <= SAVES; i++) {
        size_t left = signal->frames - done;
        size_t frames =
            i == SAVES ? left : (size_t)test_random_below(&random, signal->frames / SAVES);
        weir_message message = {.spec = &signal->spec,
                                .data = signal->data + done * bytes,
                                .frames = frames,
                                .first_index = (int64_t)done};
        test_ok(weir_chain_push(chains[i], &message, test_collect, &output));
        done += frames;
        if (i < SAVES && done > 0) {
            size_t size = (size_t)weir_chain_state_bytes(chains[i]);
            void *blob = malloc(size);
            assert_non_null(blob);
            test_ok(weir_chain_save(chains[i], blob, size));
            chains[i + 1] = make_chain_of(at, 1 + test_random_below(&random, 300),
                                          1 + test_random_below(&random, 3), NULL);
            test_ok(weir_chain_restore(chains[i + 1], blob, size));
            free(blob);
        } else if (i < SAVES) {
            chains[i + 1] = make_chain(at, 64, NULL);
        }
    }
    test_ok(weir_chain_finish(chains[SAVES], test_collect, &output));
    test_same(whole, &output, "S10");
    test_output_free(&output);
    for (int i = 0; i <= SAVES; i++) {
        weir_chain_destroy(chains[i]);
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum {
    ONLY_NAMED = true
}; /* their shadow memory has no name and covers most of the address space */
#else
enum { ONLY_NAMED = false };
#endif

/* Whether a word is an address of this process: in its program, heap, stack or libraries. Lower
 * words are two small integers next to each other. */
static bool is_address(uint64_t word)
{
    if (word < UINT64_C(1) << 45) {
        return false;
    }
    unsigned long long from, to;
    char line[512], name[2];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (!found && maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        int parts = sscanf(line, "%llx-%llx %*s %*s %*s %*s %1s", &from, &to, name);
        found = parts >= (ONLY_NAMED ? 3 : 2) && word >= from && word < to;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Constants are copied to devices as they are: they contain no pointers, and run never writes
 * them. */
static void check_constants(const fixture *at, const test_signal *signal)
{
    weir_chain *chain = make_chain(at, 64, NULL);
    const weiri_step *step = &chain->plan->steps[chain->plan->step_count - 1];
    const weiri_step_run *run = &chain->running->steps[step->number];
    size_t bytes = (size_t)step->unit.constant_bytes;
    unsigned char *before = malloc(bytes + 1);
    test_output output = {0};
    test_random random = {at->seed + 9};
    assert_non_null(before);
    test_push(chain, signal, 0, 1, 0, 0, 0, &random, &output);
    memcpy(before, run->constants, bytes);
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, before + i, sizeof word);
        if (is_address(word)) {
            print_error("constants: byte %zu is an address\n", i);
            fail();
        }
    }
    weir_message message = {.spec = &signal->spec,
                            .data = signal->data + weir_spec_frame_bytes(&signal->spec),
                            .frames = signal->frames - 1,
                            .first_index = 1};
    test_ok(weir_chain_push(chain, &message, NULL, NULL));
    if (memcmp(before, run->constants, bytes) != 0) {
        print_error("constants: were written while running\n");
        fail();
    }
    free(before);
    test_output_free(&output);
    weir_chain_destroy(chain);
}

#endif
