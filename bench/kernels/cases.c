/* SPDX-License-Identifier: MIT
 *
 * cases.c: see cases.h. Operations are counted per output value, whatever the kernel does: the
 * least arithmetic for the same structure (a second-order section in transposed direct form II
 * stays one), not the least of any other algorithm. Conversions between f32 and f64 are not
 * counted.
 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "scan/recurrence.h"

#define STATE_WORDS (2 * WEIRI_SOS_MAX)
#define MOST_FRAMES 65536
#define APART       512 /* distance of out and in, modulo 4 KiB: loads do not wait for stores */

/* The sections of a band-pass have their zeros at 1 and -1, those of a low-pass on the unit
 * circle. */
#define BAND                                                                                       \
    {                                                                                              \
        {0, -1, 1.95, -0.96}, {0, -1, 0.9, -0.5}, {0, -1, 1.8, -0.85},                             \
        {                                                                                          \
            0, -1, 0.7, -0.3                                                                       \
        }                                                                                          \
    }
static const weiri_sos_params band[] = {
    {.kind = WEIRI_SOS_BAND, .sections = 1, .gain = 0.1, .coefs = BAND},
    {.kind = WEIRI_SOS_BAND, .sections = 2, .gain = 0.1, .coefs = BAND},
    {.kind = WEIRI_SOS_BAND, .sections = 4, .gain = 0.1, .coefs = BAND},
    {.kind = WEIRI_SOS_BAND,
     .sections = 8,
     .gain = 0.1,
     .coefs = {{0, -1, 1.95, -0.96},
               {0, -1, 0.9, -0.5},
               {0, -1, 1.8, -0.85},
               {0, -1, 0.7, -0.3},
               {0, -1, 1.95, -0.96},
               {0, -1, 0.9, -0.5},
               {0, -1, 1.8, -0.85},
               {0, -1, 0.7, -0.3}}},
};
static const weiri_sos_params circle = {
    .kind = WEIRI_SOS_CIRCLE,
    .sections = 2,
    .gain = 0.1,
    .coefs = {{1.9, 1, 1.2, -0.5}, {1.7, 1, 0.9, -0.3}},
};
static const weiri_sos_params general = {
    .kind = WEIRI_SOS_GENERAL,
    .sections = 2,
    .gain = 0.1,
    .coefs = {{1.9, 0.8, 1.2, -0.5}, {1.7, 0.9, 0.9, -0.3}},
};
static const weiri_ewma_params slow = {.alpha = 1e-3, .beta = 1 - 1e-3};

/* ---- recurrences ------------------------------------------------------------------------------ */

/* The kernel alone: block by block of columns, over all frames. */
static void
by_block(bench_tile *tile, weiri_recurrence_fn *run, const void *params, size_t words, bool f32)
{
    for (size_t first = 0; first + WEIRI_BLOCK <= tile->channels; first += WEIRI_BLOCK) {
        const void *in = f32 ? (const void *)(tile->in32 + first) : tile->in64 + first;
        void *out = f32 ? (void *)((float *)tile->out + first) : (double *)tile->out + first;
        run(params, tile->state + first * words, in, tile->channels, out, tile->channels,
            tile->frames, NULL);
    }
}

#define SOS(name, dtype, params, f32)                                                              \
    static void name##_##dtype(bench_tile *tile)                                                   \
    {                                                                                              \
        by_block(tile, weiri_kernels_get()->sos_##dtype, params, 2 * (params)->sections, f32);     \
    }
SOS(band1, f32, &band[0], true)
SOS(band2, f32, &band[1], true)
SOS(band4, f32, &band[2], true)
SOS(band4, f64, &band[2], false)
SOS(band8, f32, &band[3], true)
SOS(circle2, f32, &circle, true)
SOS(general2, f32, &general, true)

static void ewma(bench_tile *tile)
{
    by_block(tile, weiri_kernels_get()->ewma_f32, &slow, 2, true);
}

static void standardize(bench_tile *tile)
{
    by_block(tile, weiri_kernels_get()->standardize_f32, &slow, 3, true);
}

/* What butterworth runs: the kernel, the first sample, missing samples. */
static void band4_unit(bench_tile *tile)
{
    static const double start[8] = {0};
    weiri_recurrence recurrence = {
        .run = weiri_kernels_get()->sos_f32,
        .params = &band[2],
        .start = start,
        .words = 8,
        .columns = tile->channels,
        .in_stride = (ptrdiff_t)tile->channels,
        .out_stride = (ptrdiff_t)tile->channels,
        .value_bytes = 4,
        .missing = tile->missing,
        .inner = 1,
        .channels = tile->channels,
        .state = tile->state,
        .started = tile->started,
    };
    weiri_recurrence_process(&recurrence, tile->in32, tile->out, tile->frames);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void reference_sums(bench_tile *tile)
{
    weiri_kernels_get()->sums_f32(tile->in32, tile->frames, tile->channels, tile->scratch);
}

static void reference_shift(bench_tile *tile)
{
    static weiri_shift shifts[MOST_FRAMES];
    for (size_t i = 0; i < tile->frames; i++) {
        shifts[i] = (weiri_shift){.less = 0.25, .gain = 1.0, .clean = true};
    }
    (void)weiri_kernels_get()->shift_f32(tile->in32, tile->channels, tile->out, tile->frames,
                                         tile->channels, shifts);
}

static void reference_median(bench_tile *tile)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_shift shifts[16];
    for (size_t i = 0; i < tile->frames; i += 16) {
        const float *in = tile->in32 + i * tile->channels;
        float *out = (float *)tile->out + i * tile->channels;
        size_t rows = tile->frames - i < 16 ? tile->frames - i : 16;
        kernels->medians_f32(in, tile->channels, rows, NULL, tile->channels, false, tile->scratch,
                             shifts);
        for (size_t row = 0; row < rows; row++) {
            shifts[row].clean = true;
        }
        kernels->shift_f32(in, tile->channels, out, rows, tile->channels, shifts);
    }
}

/* ---- values ------------------------------------------------------------------------------------- */

static size_t values(const bench_tile *tile)
{
    return tile->channels * tile->frames;
}

static void all_finite(bench_tile *tile)
{
    *(bool *)tile->out = weiri_kernels_get()->finite_f32(tile->in32, values(tile));
}

#define VALUES(name, in, ...)                                                                      \
    static void each_##name(bench_tile *tile)                                                      \
    {                                                                                              \
        weiri_kernels_get()->name##_f32(tile->in, tile->out, values(tile), ##__VA_ARGS__);         \
    }
VALUES(copy, in32)
VALUES(square, in32)
VALUES(root, squares32)
VALUES(power, squares32, 1.7)
VALUES(scale, in32, 3.0)
VALUES(clip, in32, -1.0f, 1.0f)
VALUES(log, squares32, 1.0, -INFINITY)
VALUES(anscombe, squares32)
VALUES(inverse_anscombe, squares32)
VALUES(expit, in32)
VALUES(logit, squares32)
VALUES(log_expit, in32)

static void each_digit(bench_tile *tile)
{
    static const weiri_levels levels = {-3.0, 3.0, 6.0, 65535.0, -32768.0};
    (void)weiri_kernels_get()->levels_i16_f32(tile->in32, tile->out, values(tile), &levels);
}

static void differences(bench_tile *tile)
{
    size_t channels = tile->channels;
    weiri_kernels_get()->subtract_f32(tile->in32 + channels, tile->in32, tile->out,
                                      values(tile) - channels, 1.0);
}

/* ---- over frames -------------------------------------------------------------------------------- */

static void bins_mean(bench_tile *tile)
{
    weiri_kernels_get()->reduce_sum_f32(tile->in32, tile->frames, tile->channels, tile->state);
}

static void bins_max(bench_tile *tile)
{
    weiri_kernels_get()->reduce_extreme_f32(tile->in32, tile->frames, tile->channels, true,
                                            (float *)tile->state);
}

static void bins_std(bench_tile *tile)
{
    static const uint32_t absent[4096]; /* none */
    weiri_kernels_get()->reduce_spread_f32(tile->in32, tile->frames, tile->channels, 0, absent,
                                           tile->state, tile->state + tile->channels);
}

static void bins_median(bench_tile *tile)
{
    weiri_kernels_get()->reduce_median_f32(tile->in32, tile->frames, tile->channels, tile->scratch,
                                           tile->state);
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define FILTER(text, type, function, count, bytes)                                                 \
    {                                                                                              \
        text, type, function, 2.0 * (count), (count) + 1.0, 8, bytes, bytes, count,                \
            "a section: y = x + s1, s1 = s2 - a1 y, s2 = -x - a2 y; and the gain"                  \
    }

const bench_case bench_cases[] = {
    FILTER("sos, 4 band-pass sections", "f32", band4_f32, 4, 4),
    FILTER("sos, 4, as butterworth runs it", "f32", band4_unit, 4, 4),
    FILTER("sos, 4 band-pass sections", "f64", band4_f64, 4, 8),
    FILTER("sos, 1 band-pass section", "f32", band1_f32, 1, 4),
    FILTER("sos, 2 band-pass sections", "f32", band2_f32, 2, 4),
    FILTER("sos, 8 band-pass sections", "f32", band8_f32, 8, 4),
    {"sos, 2 low- or high-pass", "f32", circle2_f32, 6, 3, 8, 4, 4, 0,
     "a section: y = x + s1, s1 = s2 + b1 x - a1 y, s2 = x - a2 y; and the gain"},
    {"sos, 2 of any kind", "f32", general2_f32, 6, 5, 8, 4, 4, 0,
     "a section: y = x + s1, s1 = s2 + b1 x - a1 y, s2 = b2 x - a2 y; and the gain"},
    {"common_reference, sums", "f32", reference_sums, 0, 1, 4, 4, 0, 0, "added to the sum"},
    {"common_reference, minus the mean", "f32", reference_shift, 0, 1, 4, 4, 4, 0,
     "minus the mean"},
    {"common_reference, median", "f32", reference_median, 0, 2.5, 4, 4, 4, 0,
     "1.5 comparisons select (Floyd and Rivest), minus the median"},
    {"pow, 2", "f32", each_square, 0, 1, 4, 4, 4, 0, "a product"},
    {"pow, 0.5", "f32", each_root, 0, 1, 4, 4, 4, 0, "a root, as if it were a product"},
    {"pow, 1.7", "f32", each_power, 20, 2, 4, 4, 4, 0,
     "log and exp of f32, each a polynomial of degree 8 and 2 to take apart and join"},
    {"log", "f32", each_log, 10, 1, 4, 4, 4, 0,
     "a polynomial of degree 8 and 2 to join the exponent (as Cephes' logf), over the base"},
    {"scale", "f32", each_scale, 0, 1, 4, 4, 4, 0, "a product"},
    {"clip", "f32", each_clip, 0, 2, 4, 4, 4, 0, "two comparisons"},
    {"diff", "f32", differences, 0, 1, 4, 4, 4, 0, "a difference"},
    {"anscombe", "f32", each_anscombe, 0, 3, 4, 4, 4, 0, "a sum, a root as if a product, doubled"},
    {"inverse_anscombe", "f32", each_inverse_anscombe, 3, 4, 4, 4, 4, 0,
     "1 / x as if a product, a polynomial of degree 3 of it, and x^2 / 4"},
    {"activation, expit", "f32", each_expit, 9, 2, 4, 4, 4, 0,
     "exp of f32: a polynomial of degree 8; a sum, a quotient as if a product"},
    {"activation, logit", "f32", each_logit, 9, 3, 4, 4, 4, 0,
     "log of f32: a polynomial of degree 8; a difference, a quotient as if a product"},
    {"activation, log_expit", "f32", each_log_expit, 18, 3, 4, 4, 4, 0, "exp and log of f32"},
    {"digitize, 16 bits", "f32", each_digit, 2, 5, 4, 4, 2, 0,
     "two comparisons to clip, minus the least, a product and a sum, rounded"},
    {"ewma", "f32", ewma, 2, 2, 8, 4, 4, 0,
     "W = b W + a; a / W as if it were a product; d = x - m; m = m + a d"},
    {"adaptive_standard_scaler", "f32", standardize, 3, 8, 8, 4, 4, 0,
     "ewma's, and v = (1 - a)(v + a d d), (x - m) / sqrt(v); division and root as if products"},
    {"bins, mean", "f32", bins_mean, 0, 1, 8, 4, 0, 0, "added to the sum"},
    {"bins, max", "f32", bins_max, 0, 1, 4, 4, 0, 0, "a comparison"},
    {"bins, std", "f32", bins_std, 2, 2, 8, 4, 0, 0,
     "Welford: d = x - m, m = m + d / n, q = q + d (x - m); 1 / n once per frame"},
    {"bins, median", "f32", bins_median, 0, 1.5, 4, 4, 0, 0,
     "1.5 comparisons select (Floyd and Rivest)"},
    {"is all finite (S5)", "f32", all_finite, 0, 1, 4, 4, 0, 0, "a comparison"},
    {"copy", "f32", each_copy, 0, 0, 4, 4, 4, 0, "none"},
    {0},
};

/* ---- the tile ------------------------------------------------------------------------------------ */

static double noise(uint64_t *random)
{
    double sum = 0; /* of twelve uniform numbers: about normal, standard deviation 1 */
    for (int k = 0; k < 12; k++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*random >> 11) * 0x1p-53;
    }
    return sum - 6;
}

static void *get(size_t bytes, bool *ok)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    *ok &= memory != NULL;
    return memory;
}

bool bench_tile_init(bench_tile *tile, size_t channels, size_t frames)
{
    bool ok = channels <= 4096 && frames > 0 && frames <= MOST_FRAMES;
    size_t count = channels * frames;
    uint64_t random = 1;
    *tile = (bench_tile){.channels = channels, .frames = frames};
    tile->in32 = get(count * sizeof(float), &ok);
    tile->squares32 = get(count * sizeof(float), &ok);
    tile->in64 = get(count * sizeof(double), &ok);
    tile->squares64 = get(count * sizeof(double), &ok);
    tile->out_memory = get(count * sizeof(double) + APART, &ok);
    tile->state = get((channels + WEIRI_BLOCK) * STATE_WORDS * sizeof(double), &ok);
    tile->scratch = get((channels * 8 + frames * WEIRI_BLOCK) * sizeof(double), &ok);
    tile->started = get(channels + WEIRI_BLOCK, &ok);
    tile->missing = get(channels * sizeof(uint64_t), &ok);
    tile->out = ok ? (unsigned char *)tile->out_memory + APART : NULL;
    for (size_t i = 0; ok && i < count; i++) {
        double value = noise(&random);
        tile->in32[i] = (float)value;
        tile->squares32[i] = (float)(value * value + 1e-6);
        tile->in64[i] = value;
        tile->squares64[i] = value * value + 1e-6;
    }
    if (ok) {
        memset(tile->scratch, 0, (channels * 8 + frames * WEIRI_BLOCK) * sizeof(double));
    }
    for (size_t i = 0; ok && i < channels; i++) {
        tile->started[i] = 1;
        tile->missing[i] = 0;
    }
    if (ok) {
        bench_tile_clear(tile);
    }
    return ok;
}

void bench_tile_fini(bench_tile *tile)
{
    void *all[] = {tile->in32,  tile->squares32, tile->in64,    tile->squares64, tile->out_memory,
                   tile->state, tile->scratch,   tile->started, tile->missing};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

void bench_tile_clear(bench_tile *tile)
{
    memset(tile->state, 0, (tile->channels + WEIRI_BLOCK) * STATE_WORDS * sizeof *tile->state);
}
