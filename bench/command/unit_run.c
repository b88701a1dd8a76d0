/* SPDX-License-Identifier: MIT
 *
 * unit_run.c: one processing unit of weir alone, on one thread. Entries that it needs before it run first, and not in
 * the measured time: their output is its input. Then the bytes of that input are copied, from the same place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit_bench.h"

enum { MOST_PASSES = 1 << 14 };

/* The unit's input: messages in one piece of memory. */
typedef struct ring {
    weir_chain *chain; /* the entries before; it owns the spec's texts. NULL = none */
    weir_spec spec;
    unsigned char *data, *made; /* made: to be freed */
    size_t bytes, room;
    size_t frames[BENCH_RING], now;
} ring;

typedef struct pushing {
    weir_chain *chain;
    const ring *in;
    unsigned char *copy; /* of the longest message */
    uint64_t bytes_out;
} pushing;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static weir_err make(const char *entries, const weir_spec *spec, weir_chain **ret_chain)
{
    weir_chain_options options = weir_chain_options_default();
    const weir_plan *plan = NULL;
    char *text = cli_text("threads: 1\nchain:\n%s", entries);
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

/* ---- the unit's input ---------------------------------------------------------------------------- */

static weir_err keep(void *user, const weir_message *block)
{
    ring *in = user;
    size_t bytes = block->frames * (size_t)weir_spec_frame_bytes(block->spec);
    if (in->bytes + bytes > in->room) {
        unsigned char *before = in->made;
        in->room = 2 * (in->bytes + bytes);
        in->made = cli_alloc(in->room, 1);
        if (before != NULL)
            memcpy(in->made, before, in->bytes);
        free(before);
    }
    memcpy(in->made + in->bytes, block->data, bytes);
    in->bytes += bytes;
    in->frames[in->now] += block->frames;
    in->spec = *block->spec;
    return WEIR_OK;
}

static weir_err fill(ring *in, const unit_row *row, const bench_input *input)
{
    static char names[BENCH_CHANNELS][8];
    static const char *labels[BENCH_CHANNELS];
    for (int i = 0; i < BENCH_CHANNELS; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        labels[i] = names[i];
    }
    weir_spec stream = weir_spec_make(WEIR_F32, BENCH_RATE_HZ, BENCH_CHANNELS, labels, NULL);
    *in = (ring){.spec = stream, .data = (unsigned char *)input->f32};
    if (*row->before == '\0') {
        for (size_t i = 0; i < BENCH_RING; i++)
            in->frames[i] = BENCH_FRAMES;
        in->bytes = sizeof(float) * BENCH_RING * BENCH_FRAMES * BENCH_CHANNELS;
        return WEIR_OK;
    }
    weir_err err = make(row->before, &stream, &in->chain);
    weir_message message = {
        .spec = &stream, .frames = BENCH_FRAMES, .first_index = WEIR_INDEX_NEXT};
    for (; in->now < BENCH_RING && err == WEIR_OK; in->now++) {
        message.data = input->f32 + in->now * BENCH_FRAMES * BENCH_CHANNELS;
        err = weir_chain_push(in->chain, &message, keep, in);
    }
    in->data = in->made;
    return err;
}

/* ---- passes -------------------------------------------------------------------------------------- */

static weir_err count_bytes(void *user, const weir_message *block)
{
    pushing *at = user;
    at->bytes_out += block->frames * weir_spec_frame_bytes(block->spec);
    return WEIR_OK;
}

static weir_err push_all(pushing *at)
{
    const ring *in = at->in;
    weir_message message = {.spec = &in->spec, .first_index = WEIR_INDEX_NEXT};
    const unsigned char *data = in->data;
    weir_err err = WEIR_OK;
    for (size_t i = 0; i < BENCH_RING && err == WEIR_OK; i++) {
        message.data = data;
        message.frames = in->frames[i];
        err = weir_chain_push(at->chain, &message, count_bytes, at);
        data += in->frames[i] * (size_t)weir_spec_frame_bytes(&in->spec);
    }
    return err;
}

static weir_err copy_all(pushing *at)
{
    const ring *in = at->in;
    const unsigned char *data = in->data;
    for (size_t i = 0; i < BENCH_RING; i++) {
        size_t bytes = in->frames[i] * (size_t)weir_spec_frame_bytes(&in->spec);
        memcpy(at->copy, data, bytes);
        __asm__ volatile("" : : "r"(at->copy) : "memory");
        data += bytes;
    }
    return WEIR_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median pass of those of that many seconds; a sixth more before as a warm-up. */
static weir_err
median_pass(weir_err (*pass)(pushing *), pushing *at, double seconds, double *ret_ns)
{
    double *times = cli_alloc(MOST_PASSES, sizeof *times);
    size_t count = 0;
    double begun = now_ns(), before = begun, now = begun;
    weir_err err = WEIR_OK;
    do {
        err = pass(at);
        now = now_ns();
        if (before - begun >= seconds * 1e9 / 6)
            times[count++ % MOST_PASSES] = now - before;
        before = now;
    } while (err == WEIR_OK && !cli_stop && (count == 0 || now - begun < seconds * 1e9 * 7 / 6));
    count = count < MOST_PASSES ? count : MOST_PASSES;
    qsort(times, count, sizeof *times, compare);
    if (err == WEIR_OK)
        *ret_ns = count > 0 ? times[count / 2] : 0;
    free(times);
    return err;
}

/* Entries of a chain over the ring. */
static weir_err measure(
    const ring *in, const char *entries, double seconds, double *ret_ns, uint64_t *ret_bytes_out)
{
    pushing at = {.in = in};
    weir_err err = make(entries, &in->spec, &at.chain);
    for (int i = 0; i < 2 && err == WEIR_OK;
         i++) { /* the second pass counts: the first has a start */
        at.bytes_out = 0;
        err = push_all(&at);
    }
    *ret_bytes_out = at.bytes_out;
    if (err == WEIR_OK)
        err = median_pass(push_all, &at, seconds, ret_ns);
    weir_chain_destroy(at.chain);
    return err;
}

weir_err unit_measure(bench_input *input, const unit_row *row, double seconds, unit_pass *ret_pass)
{
    bench_input_reserve(input, (size_t)BENCH_RING * BENCH_FRAMES * BENCH_CHANNELS, false);
    ring in;
    double branches_ns = 0;
    uint64_t not_its;
    weir_err err = fill(&in, row, input);
    unit_pass pass = {.bytes_in = in.bytes, .values = in.bytes / weir_dtype_bytes(in.spec.dtype)};
    if (err == WEIR_OK)
        err = measure(&in, row->own, seconds, &pass.ns, &pass.bytes_out);
    if (err == WEIR_OK && row->branches != NULL)
        err = measure(&in, row->branches, seconds, &branches_ns, &not_its);
    pushing copies = {.in = &in, .copy = cli_alloc(in.bytes + 1, 1)};
    if (err == WEIR_OK)
        err = median_pass(copy_all, &copies, seconds, &pass.copy_ns);
    if (err == WEIR_OK) {
        pass.ns -= branches_ns;
        *ret_pass = pass;
    }
    free(copies.copy);
    free(in.made);
    weir_chain_destroy(in.chain);
    return err;
}
