/* SPDX-License-Identifier: MIT
 *
 * stream.h: shared by tests of promises: a reproducible signal, a chain of one or more units,
 * pushes with any message boundaries into a collector, and a source that reads from memory.
 */
#ifndef WEIR_TEST_STREAM_H
#define WEIR_TEST_STREAM_H

#include <weir/chain.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Bytes by which a part of a plan may exceed its use: arrays are padded to 64 bytes each. */
#define TEST_PADDING 320

/* ---- numbers ------------------------------------------------------------------------------------- */

typedef struct test_random {
    uint64_t state;
} test_random;

static inline uint64_t test_random_next(test_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t test_random_below(test_random *random, uint64_t n)
{
    return test_random_next(random) % n;
}

static inline double test_random_normal(test_random *random)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += (double)(test_random_next(random) >> 11) * 0x1p-53;
    }
    return sum - 6.0;
}

/* The seed of a property test: WEIR_SEED, or the time; always printed. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (WEIR_SEED repeats it)\n", (unsigned long long)seed);
    return seed;
}

static inline void test_ok_at(weir_err err, const char *what, const char *file, int line)
{
    if (err != WEIR_OK) {
        print_error("%s: %s: %s\n", what, weir_err_text(err), weir_err_detail());
        _fail(file, line);
    }
}
#define test_ok(call) test_ok_at((call), #call, __FILE__, __LINE__)

/* ---- signals ------------------------------------------------------------------------------------- */

/* A stream in memory: [frames x columns] with its spec. */
typedef struct test_signal {
    weir_spec spec;
    size_t frames, columns;
    unsigned char *data;
} test_signal;

static inline bool test_is_float(weir_dtype dtype)
{
    weir_dtype part = weir_dtype_part(dtype);
    return part == WEIR_F32 || part == WEIR_F64;
}

/* For a complex value the real part; NaN if either part is not finite (S5). */
static inline double test_signal_get(const test_signal *signal, size_t at)
{
    switch (signal->spec.dtype) {
    case WEIR_F32:
        return ((const float *)(const void *)signal->data)[at];
    case WEIR_F64:
        return ((const double *)(const void *)signal->data)[at];
    case WEIR_I16:
        return ((const int16_t *)(const void *)signal->data)[at];
    case WEIR_C64: {
        const float *parts = (const float *)(const void *)signal->data + 2 * at;
        return isfinite(parts[1]) ? (double)parts[0] : (double)NAN;
    }
    case WEIR_C128: {
        const double *parts = (const double *)(const void *)signal->data + 2 * at;
        return isfinite(parts[1]) ? parts[0] : (double)NAN;
    }
    default:
        return ((const int32_t *)(const void *)signal->data)[at];
    }
}

/* For a complex value both parts, different ones; a non-finite value becomes one of them, the
 * imaginary part in every second case. */
static inline void test_signal_set(test_signal *signal, size_t at, double value)
{
    switch (signal->spec.dtype) {
    case WEIR_F32:
        ((float *)(void *)signal->data)[at] = (float)value;
        break;
    case WEIR_F64:
        ((double *)(void *)signal->data)[at] = value;
        break;
    case WEIR_I16:
        ((int16_t *)(void *)signal->data)[at] = (int16_t)value;
        break;
    case WEIR_C64: {
        float *parts = (float *)(void *)signal->data + 2 * at;
        parts[0] = isfinite(value) || at % 2 == 0 ? (float)value : 1.0f;
        parts[1] = isfinite(value) ? (float)value * -0.75f : at % 2 == 0 ? 2.0f : (float)value;
        break;
    }
    case WEIR_C128: {
        double *parts = (double *)(void *)signal->data + 2 * at;
        parts[0] = isfinite(value) || at % 2 == 0 ? value : 1.0;
        parts[1] = isfinite(value) ? value * -0.75 : at % 2 == 0 ? 2.0 : value;
        break;
    }
    default:
        ((int32_t *)(void *)signal->data)[at] = (int32_t)value;
        break;
    }
}

/* Noise on an offset with slow waves: amplitude about 50, offset by column. */
static inline test_signal test_signal_make(weir_spec spec, size_t frames, uint64_t seed)
{
    test_signal signal = {.spec = spec, .frames = frames};
    signal.columns = (size_t)weir_spec_columns(&spec);
    signal.data = malloc(frames * (size_t)weir_spec_frame_bytes(&spec) + 64);
    assert_non_null(signal.data);
    test_random random = {seed};
    for (size_t f = 0; f < frames; f++) {
        for (size_t c = 0; c < signal.columns; c++) {
            double value = 20.0 * test_random_normal(&random) + 30.0 * sin((double)f * 0.03) +
                           5.0 * (double)(c % 7) - 10.0;
            test_signal_set(&signal, f * signal.columns + c, value);
        }
    }
    return signal;
}

static inline test_signal test_signal_copy(const test_signal *from)
{
    test_signal copy = *from;
    size_t bytes = from->frames * (size_t)weir_spec_frame_bytes(&from->spec);
    copy.data = malloc(bytes + 64);
    assert_non_null(copy.data);
    memcpy(copy.data, from->data, bytes);
    return copy;
}

/* ---- collecting ---------------------------------------------------------------------------------- */

typedef struct test_output {
    unsigned char *data;
    size_t frames, frame_bytes, room;
    int64_t next_index; /* expected of the next block of this segment */
    uint64_t segment;
    int64_t segment_start_ns;
    size_t segments;
    const unsigned char *lent, *lent_end; /* S7: output must not be within the borrowed input */
} test_output;

static inline weir_err test_collect(void *user, const weir_message *block)
{
    test_output *output = user;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(block->spec);
    const unsigned char *data = block->data;
    assert_true(block->frames > 0);
    assert_true(data + block->frames * frame_bytes <= output->lent || data >= output->lent_end);
    if (output->segments == 0 || block->segment != output->segment) {
        output->segments++;
        output->segment = block->segment;
        output->segment_start_ns = block->segment_start_ns;
        output->next_index = 0;
    }
    assert_int_equal(block->first_index, output->next_index);
    output->next_index += (int64_t)block->frames;
    output->frame_bytes = frame_bytes;
    if (output->frames + block->frames > output->room) {
        output->room = 2 * (output->frames + block->frames);
        output->data = realloc(output->data, output->room * frame_bytes);
        assert_non_null(output->data);
    }
    memcpy(output->data + output->frames * frame_bytes, data, block->frames * frame_bytes);
    output->frames += block->frames;
    return WEIR_OK;
}

static inline void test_output_free(test_output *output)
{
    free(output->data);
    *output = (test_output){0};
}

/* Bit for bit. */
static inline void test_same(const test_output *a, const test_output *b, const char *what)
{
    if (a->frames != b->frames) {
        print_error("%s: %zu frames against %zu\n", what, a->frames, b->frames);
        fail();
    }
    size_t bytes = a->frames * a->frame_bytes;
    for (size_t i = 0; i < bytes; i++) {
        if (a->data[i] != b->data[i]) {
            print_error("%s: differ in frame %zu, byte %zu of %zu\n", what, i / a->frame_bytes,
                        i % a->frame_bytes, a->frame_bytes);
            fail();
        }
    }
}

/* ---- pushing ------------------------------------------------------------------------------------- */

/* Pushes frames [from, to) of the signal in pieces of random length up to `most` (0 = one
 * piece), all from the same slot of a ring, which is overwritten after each push (S7). */
static inline void test_push(weir_chain *chain,
                             const test_signal *signal,
                             size_t from,
                             size_t to,
                             size_t most,
                             uint64_t segment,
                             int64_t start_ns,
                             test_random *random,
                             test_output *output)
{
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&signal->spec);
    unsigned char *lent = malloc((to - from) * frame_bytes + 1);
    assert_non_null(lent);
    for (size_t at = from; at < to || at == from;) {
        size_t frames = to - at;
        if (most > 0 && frames > 0) {
            frames = (size_t)test_random_below(random, most + 1);
            frames = frames < to - at ? frames : to - at;
        }
        memcpy(lent, signal->data + at * frame_bytes, frames * frame_bytes);
        output->lent = lent;
        output->lent_end = lent + (to - from) * frame_bytes;
        weir_message message = {
            .spec = &signal->spec,
            .data = lent,
            .frames = frames,
            .segment = segment,
            .segment_start_ns = start_ns,
            .first_index = (int64_t)(at - from),
        };
        test_ok(weir_chain_push(chain, &message, test_collect, output));
        if (memcmp(lent, signal->data + at * frame_bytes, frames * frame_bytes) != 0) {
            print_error("S7: what was lent was written to\n");
            fail();
        }
        memset(lent, 0xA5, frames * frame_bytes); /* S7 */
        at += frames;
        if (at == from && most == 0) {
            break;
        }
    }
    free(lent);
}

/* ---- a source in memory -------------------------------------------------------------------------- */

typedef struct test_source {
    weir_source base;
    weir_source_info info;
    const test_signal *signal;
    size_t at, most; /* returns at most this many frames per read; 0 = as many as fit */
    test_random random;
} test_source;

static inline const weir_source_info *test_source_info(weir_source *source)
{
    return &((test_source *)(void *)source)->info;
}

static inline weir_err test_source_plan(weir_source *source, uint64_t tile, uint64_t *ret_bytes)
{
    (void)source;
    (void)tile;
    *ret_bytes = 0;
    return WEIR_OK;
}

static inline weir_err test_source_start(weir_source *source, uint64_t tile, void *memory)
{
    (void)source;
    (void)tile;
    (void)memory;
    return WEIR_OK;
}

static inline weir_err
test_source_read(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    test_source *self = (test_source *)(void *)source;
    size_t frames = self->signal->frames - self->at;
    frames = frames < capacity ? frames : capacity;
    if (self->most > 0 && frames > 0) {
        size_t some = 1 + (size_t)test_random_below(&self->random, self->most);
        frames = frames < some ? frames : some;
    }
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&self->signal->spec);
    memcpy(rows, self->signal->data + self->at * frame_bytes, frames * frame_bytes);
    ret->frames = frames;
    ret->segment = 0;
    ret->segment_start_ns = 0;
    ret->first_index = (int64_t)self->at;
    self->at += frames;
    return WEIR_OK;
}

static inline void test_source_close(weir_source *source)
{
    (void)source;
}

static inline test_source test_source_make(const test_signal *signal, size_t most, uint64_t seed)
{
    static const weir_source_ops ops = {
        .ops_size = sizeof ops,
        .name = "memory",
        .info = test_source_info,
        .plan = test_source_plan,
        .start = test_source_start,
        .read = test_source_read,
        .close = test_source_close,
    };
    return (test_source){
        .base = {.ops = &ops},
        .info = {.info_size = sizeof(weir_source_info),
                 .format = "memory",
                 .spec = signal->spec,
                 .frames = signal->frames,
                 .start_time = ""},
        .signal = signal,
        .most = most,
        .random = {seed},
    };
}

#endif
