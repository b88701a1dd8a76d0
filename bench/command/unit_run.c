/* SPDX-License-Identifier: MIT
 *
 * unit_run.c: one processing unit of weir on one thread, from memory. Where entries make its input they run with it, as
 * they do in a chain, and their own time is subtracted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit_bench.h"

enum { MOST_PASSES = 1 << 14, RING_VALUES = BENCH_RING * BENCH_FRAMES * BENCH_CHANNELS };

/* A pass: all messages of the ring through a chain. */
typedef struct pass {
    weir_chain *chain;
    weir_spec spec;
    const float *ring;
    float *copy; /* of a message; where there is no chain */
    /* What came out of the last pass. */
    uint64_t bytes, values; /* values: of the first output */
} pass;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static weir_err
make(const char *before, const char *entries, weir_spec *spec, weir_chain **ret_chain)
{
    static char names[BENCH_CHANNELS][12];
    static const char *labels[BENCH_CHANNELS];
    for (int i = 0; i < BENCH_CHANNELS; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        labels[i] = names[i];
    }
    *spec = weir_spec_make(WEIR_F32, BENCH_RATE_HZ, BENCH_CHANNELS, labels, NULL);
    weir_chain_options options = weir_chain_options_default();
    const weir_plan *plan = NULL;
    char *text = cli_text("threads: 1\nchain:\n%s%s", before, entries);
    weir_chain *chain = NULL;
    weir_err err = weir_config_parse(text, strlen(text), "bench", &options, &chain);
    if (err == WEIR_OK)
        err = weir_chain_plan(chain, spec, &plan);
    free(text);
    if (err == WEIR_OK)
        *ret_chain = chain;
    else
        weir_chain_destroy(chain);
    return err;
}

static weir_err count(void *user, const weir_message *block)
{
    pass *at = user;
    at->bytes += block->frames * weir_spec_frame_bytes(block->spec);
    at->values += block->output == 0 ? block->frames * weir_spec_columns(block->spec) : 0;
    return WEIR_OK;
}

static weir_err do_pass(pass *at)
{
    weir_message message = {
        .spec = &at->spec, .frames = BENCH_FRAMES, .first_index = WEIR_INDEX_NEXT};
    weir_err err = WEIR_OK;
    at->bytes = at->values = 0;
    for (size_t i = 0; i < BENCH_RING && err == WEIR_OK; i++) {
        const float *data = at->ring + i * BENCH_FRAMES * BENCH_CHANNELS;
        message.data = data;
        if (at->chain != NULL) {
            err = weir_chain_push(at->chain, &message, count, at);
        } else {
            memcpy(at->copy, data, sizeof(float) * BENCH_FRAMES * BENCH_CHANNELS);
            __asm__ volatile("" : : "r"(at->copy) : "memory");
        }
    }
    return err;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the passes of that many seconds, after a sixth of that as a warm-up. */
static weir_err median_pass(pass *at, double seconds, double *ret_ns)
{
    double *times = cli_alloc(MOST_PASSES, sizeof *times);
    size_t count = 0;
    double begun = now_ns(), before = begun, now = begun;
    weir_err err = do_pass(at);
    while (err == WEIR_OK && !cli_stop && (count == 0 || now - begun < seconds * 1e9 * 7 / 6)) {
        before = now_ns();
        err = do_pass(at);
        now = now_ns();
        if (before - begun >= seconds * 1e9 / 6)
            times[count++ % MOST_PASSES] = now - before;
    }
    count = count < MOST_PASSES ? count : MOST_PASSES;
    qsort(times, count, sizeof *times, compare);
    if (err == WEIR_OK)
        *ret_ns = count > 0 ? times[count / 2] : 0;
    free(times);
    return err;
}

/* *ret_pass: what came out; its chain is gone. */
static weir_err measure(const float *ring,
                        const char *before,
                        const char *entries,
                        double seconds,
                        pass *ret_pass,
                        double *ret_ns)
{
    pass at = {.ring = ring};
    weir_err err = make(before, entries, &at.spec, &at.chain);
    if (err == WEIR_OK)
        err = median_pass(&at, seconds, ret_ns);
    weir_chain_destroy(at.chain);
    *ret_pass = at;
    return err;
}

weir_err unit_measure(bench_input *input, const unit_row *row, double seconds, unit_pass *ret_pass)
{
    bench_input_reserve(input, RING_VALUES, false);
    double ns = 0, before_ns = 0, copy_ns = 0;
    pass own, before = {.bytes = sizeof(float) * RING_VALUES, .values = RING_VALUES};
    weir_err err = measure(input->f32, row->before, row->own, seconds, &own, &ns);
    if (err == WEIR_OK && *row->before != '\0')
        err = measure(input->f32, row->before, "", seconds, &before, &before_ns);
    pass copies = {.ring = input->f32};
    copies.copy = cli_alloc((size_t)BENCH_FRAMES * BENCH_CHANNELS, sizeof(float));
    if (err == WEIR_OK)
        err = median_pass(&copies, seconds, &copy_ns);
    free(copies.copy);
    if (err == WEIR_OK)
        *ret_pass = (unit_pass){
            .ns = fmax(ns - before_ns,
                       1), /* a busy machine, a short measurement: less than nothing */
            .byte_ns = copy_ns / (2 * sizeof(float) * RING_VALUES),
            .values = before.values,
            .bytes = before.bytes + own.bytes,
        };
    return err;
}
