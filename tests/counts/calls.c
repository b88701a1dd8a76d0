/* SPDX-License-Identifier: MIT
 *
 * calls.c: calls of the kernels of kernels.def whose instructions are counted, f32 and f64, as
 * units call them; count.c names those that are missing. Results are not checked here but in the
 * tests of src/kernel.
 */
#include "tests/counts/calls.h"

#include <math.h>

#include "kernel/kernel.h"

enum { MOST = 64 * 64 };

static const double factors[MOST] = {2, 3}, offsets[MOST] = {1};
static const uint32_t absent[MOST]; /* none */
static const weiri_sos_params sections = {
    .kind = WEIRI_SOS_BAND,
    .sections = 4,
    .gain = 0.1,
    .coefs = {{0, -1, 1.95, -0.96}, {0, -1, 0.9, -0.5}, {0, -1, 1.8, -0.85}, {0, -1, 0.7, -0.3}},
};
static const weiri_ewma_params slow = {.alpha = 1e-3, .beta = 1 - 1e-3};
static const weiri_lattice_params notch = {
    .initial = -0.9, .gamma = 0.9, .eta = 0.99, .mu = 0.99, .hz = 1.0};

/* Defines call_NAME_f32 and call_NAME_f64; in the text: k the kernel, in, squares, out, T the type, tile. */
#define TYPED(name, type_name, type, input, positive, index_type, ...)                             \
    static void call_##name##_##type_name(bench_tile *tile)                                        \
    {                                                                                              \
        typedef type T;                                                                            \
        typedef index_type INDEX;                                                                  \
        const T *in = tile->input, *squares = tile->positive;                                      \
        T *out = tile->out;                                                                        \
        size_t channels = tile->channels, frames = tile->frames, count = channels * frames;        \
        __typeof__(weiri_kernels_get()->name##_##type_name) k =                                    \
            weiri_kernels_get()->name##_##type_name;                                               \
        (void)sizeof(INDEX);                                                                       \
        (void)in, (void)squares, (void)out, (void)count, (void)frames, (void)channels;             \
        __VA_ARGS__;                                                                               \
    }
#define BOTH(name, ...)                                                                            \
    TYPED(name, f32, float, in32, squares32, int32_t, __VA_ARGS__)                                 \
    TYPED(name, f64, double, in64, squares64, int64_t, __VA_ARGS__)

BOTH(finite, *(bool *)out = k(in, count))
BOTH(copy, k(in, out, count))
BOTH(abs, k(in, out, count))
BOTH(square, k(in, out, count))
BOTH(root, k(squares, out, count))
BOTH(reciprocal, k(squares, out, count))
BOTH(power, k(squares, out, count, 1.7))
BOTH(scale, k(in, out, count, 3.0))
BOTH(clip, k(in, out, count, -1, 1))
BOTH(linear, k(in, out, count, factors, offsets))
BOTH(log, k(squares, out, count, 1.0, -INFINITY))
BOTH(offset, k(in, out, count, -1, 2))
BOTH(parabola, k(in, out, count, 0.25, -0.375))
BOTH(anscombe, k(squares, out, count))
BOTH(inverse_anscombe, k(squares, out, count))
BOTH(expit, k(in, out, count))
BOTH(logit, k(squares, out, count))
BOTH(log_expit, k(in, out, count))
BOTH(subtract, k(in + 1, in, out, count - 1, 1.0))
#define LEVELS(integer, type)                                                                      \
    BOTH(levels_##integer, static const weiri_levels levels = {-3.0, 3.0, 6.0, 255.0, 0.0};        \
         *(uint32_t *)tile->scratch = k(in, (type *)(void *)out, count, &levels))
LEVELS(u8, uint8_t)
LEVELS(u16, uint16_t)
LEVELS(i16, int16_t)
LEVELS(i32, int32_t)
BOTH(add, k(in, in + 1, out, count - 1, -1))
BOTH(sum, out[0] = k(in, count))
BOTH(sums, k(in, frames, channels, out))
BOTH(
    shift, weiri_shift shifts[64]; for (size_t i = 0; i < 64; i++) {
        shifts[i] = (weiri_shift){.less = 0.25, .gain = 1, .clean = true};
    }(void)k(in, channels, out, frames < 64 ? frames : 64, channels, shifts))
BOTH(medians, weiri_shift shifts[64];
     k(in, channels, frames < 64 ? frames : 64, NULL, channels, false, tile->scratch, shifts))
BOTH(shift_others, weiri_shift shift = {.less = 0.25, .below = 0.5}; k(in, out, channels, &shift))
BOTH(fir,
     for (size_t i = 0; i < channels; i += WEIRI_BLOCK)
         k(factors, 32, in, frames, out + i, channels))
BOTH(sos, k(&sections, tile->state, in, channels, out, channels, frames, NULL))
BOTH(ewma, k(&slow, tile->state, in, channels, out, channels, frames, NULL))
BOTH(standardize, k(&slow, tile->state, in, channels, out, channels, frames, NULL))
BOTH(detrend, k(&slow, tile->state, in, channels, out, channels, frames, NULL))
BOTH(lattice, k(&notch, tile->state, in, channels, out, channels, frames, NULL))
BOTH(lattice_reflection, k(&notch, tile->state, in, channels, out, channels, frames, NULL))
BOTH(reduce_sum, *(bool *)out = k(in, frames, channels, tile->state))
BOTH(reduce_extreme, *(bool *)out = k(in, frames, channels, true, (T *)tile->state))
BOTH(reduce_where,
     *(bool *)out = k(in, frames, channels, true, 0, (T *)tile->state, (INDEX *)tile->scratch))
BOTH(reduce_spread,
     *(bool *)out = k(in, frames, channels, 0, absent, tile->state, tile->state + channels))
BOTH(reduce_area,
     *(bool *)out = k(in,
                      frames,
                      channels,
                      0,
                      NULL,
                      tile->state,
                      tile->state + channels,
                      tile->state + 2 * channels))
BOTH(reduce_absent, k(in, frames, channels, channels, (uint32_t *)tile->scratch))
BOTH(reduce_median, k(in, frames, channels, tile->scratch, tile->state))

#define ROW(name) {#name "_f32", call_##name##_f32}, {#name "_f64", call_##name##_f64},
const count_call count_calls[] = {
    ROW(finite) ROW(copy) ROW(abs) ROW(square) ROW(root) ROW(reciprocal) ROW(power) ROW(scale)
        ROW(clip) ROW(linear) ROW(log) ROW(offset) ROW(parabola) ROW(anscombe) ROW(inverse_anscombe)
            ROW(expit) ROW(logit) ROW(log_expit) ROW(subtract) ROW(levels_u8) ROW(levels_u16)
                ROW(levels_i16) ROW(levels_i32) ROW(add) ROW(sum) ROW(sums) ROW(shift) ROW(medians)
                    ROW(shift_others) ROW(fir) ROW(sos) ROW(ewma) ROW(standardize) ROW(detrend)
                        ROW(lattice) ROW(lattice_reflection) ROW(reduce_sum) ROW(reduce_extreme)
                            ROW(reduce_where) ROW(reduce_spread) ROW(reduce_area) ROW(reduce_absent)
                                ROW(reduce_median){0},
};
