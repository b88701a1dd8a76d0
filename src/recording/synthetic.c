/* SPDX-License-Identifier: MIT
 *
 * synthetic.c: a generated signal: "synthetic:channels=256,rate=30000,seconds=60,seed=1".
 *
 * In uV, per channel c at frame n since the recording's origin:
 *   noise        Gaussian, SD `noise` (10 uV), white in time, independent between channels
 *   oscillations 10 Hz of 20 uV, its phase an eighth of a turn later a channel (c mod 8); 50 Hz of 5 uV
 *                and 130 Hz of 3 uV, in phase (each only where it is below the Nyquist frequency)
 *   spikes       on every fourth channel, about 5 a second, 1.6 ms long, -60 to -180 uV (from 2 kHz on)
 *   offset       `offset` (0)
 * With `pause_every` and `pause` the recording stops for `pause` seconds after each `pause_every`:
 * a new segment each time; the signal continues after the pauses.
 *
 * A frame's values depend on the seed and n only, however it is read. To be faster than the chains
 * that it feeds, a frame's noise is the sum of two runs of one table of 16,384 Gaussian values,
 * from places determined by a hash of n (4096 x 4096 pairs): two loads and two additions per
 * sample, 256 channels in about 30 ns. Generating a Gaussian for each sample would take fifty times
 * as long.
 */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "recording/reader.h"

#define TABLE      16384 /* Gaussian values; runs begin at multiples of 4 */
#define STARTS     (TABLE / 4)
#define SINE_BITS  12
#define PHASES     8
#define BATCH      64 /* frames generated at a time if rows are not f32 */
#define PI         3.14159265358979323846
#define SPIKE_S    1.6e-3
#define SLOT_S     0.1 /* in each slot, at most one spike per channel */
#define MAX_PAUSES 1000000.0

enum { AS_F32, AS_F64, AS_I16 };

typedef struct settings {
    int64_t channels, seed;
    double rate_hz, seconds, noise, offset, pause_every_s, pause_s;
    int dtype;
} settings;

static const weir_choice dtypes[] = {
    {"f32", "float32"}, {"f64", "float64"}, {"i16", "int16"}, {NULL, NULL}};

#define ROW(n, t, k, p, lo, hi, field, h)                                                          \
    {                                                                                              \
        .name = n, .type = WEIR_SETTING_##t, .kind = WEIR_##k, .preset = p, .min = lo, .max = hi,  \
        .offset = offsetof(settings, field), .help = h                                             \
    }
static const weir_setting table_of_settings[] = {
    ROW("channels", INTEGER, PLAIN, "256", 1, 65536, channels, "channels"),
    ROW("rate", QUANTITY, FREQUENCY, "30 kHz", 1, 1e6, rate_hz, "rate"),
    ROW("seconds", QUANTITY, TIME, "60", 0, 1e9, seconds, "duration, pauses included"),
    ROW("seed", INTEGER, PLAIN, "1", 0, 9e15, seed, "seed of the random numbers"),
    ROW("noise", NUMBER, AMPLITUDE, "10", 0, 1e6, noise, "standard deviation in uV"),
    ROW("offset", NUMBER, AMPLITUDE, "0", -1e6, 1e6, offset, "offset in uV"),
    ROW("pause_every", QUANTITY, TIME, "1e9", 1e-3, 1e9, pause_every_s, "length of a segment"),
    ROW("pause", QUANTITY, TIME, "0", 0, 1e9, pause_s, "time between segments"),
    {.name = "dtype",
     .type = WEIR_SETTING_ENUM,
     .preset = "f32",
     .choices = dtypes,
     .offset = offsetof(settings, dtype),
     .help = "i16: whole uV"},
    {.name = NULL},
};

typedef struct state {
    settings set;
    weiri_fraction rate;  /* Hz */
    uint64_t frames;      /* from the origin to the end, pauses included */
    uint64_t segment;     /* frames of one */
    uint64_t period;      /* from the start of one to the start of the next */
    uint64_t slot, spike; /* frames; 0 = no spikes */
    uint64_t steps[3];    /* of the oscillations, in 2^-64 turns a frame */
    bool ready;
    /* In the planned buffer. */
    float *noise, *sine, *shape, *row, *batch;
} state;

/* splitmix64: every bit of n affects every bit of the result. */
static uint64_t mix(uint64_t seed, uint64_t n)
{
    uint64_t z = seed * 0xd1342543de82ef95u + n * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double unit(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

/* ---- opening -------------------------------------------------------------------------------------- */

static weir_err read_settings(weiri_reader *reader, settings *set)
{
    const char *text = weiri_arena_text(&reader->arena, strchr(reader->path, ':') + 1);
    weir_value values[16] = {0};
    size_t count = 0;
    if (text == NULL) {
        return WEIR_E_NOMEM;
    }
    for (char *at = (char *)text; *at;) {
        char *end = at + strcspn(at, ",");
        char *next = *end ? end + 1 : end;
        *end = 0;
        char *equals = strchr(at, '=');
        if (equals == NULL || count == sizeof values / sizeof *values) {
            return weiri_fail(WEIR_E_USAGE,
                              "%s: \"%.40s\": expected name=value, separated by commas",
                              reader->path, at);
        }
        *equals = 0;
        values[count++] = weir_text(at, equals + 1);
        at = next;
    }
    weir_err err = weiri_settings_read(table_of_settings, NULL, values, count,
                                       weiri_arena_memory(&reader->arena), NULL, set, NULL, NULL);
    return err == WEIR_OK || err == WEIR_E_NOMEM || err == WEIR_E_LIMIT
               ? err
               : weiri_fail_prefix(WEIR_E_USAGE, "synthetic: ");
}

static weir_err synthetic_open(weiri_reader *reader)
{
    state *s;
    if (reader->options->rate_hz != 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: set its rate in the name: %srate=%g", reader->path,
                          reader->format->scheme, reader->options->rate_hz);
    }
    weir_err err = weiri_reader_get(reader, 1, sizeof *s, &s);
    if (err == WEIR_OK) {
        err = read_settings(reader, &s->set);
    }
    if (err != WEIR_OK) {
        return err;
    }
    const settings *set = &s->set;
    double rate_hz = set->rate_hz;
    s->rate = weiri_fraction_of(rate_hz);
    s->frames = weiri_frames_floor(set->seconds, rate_hz);
    s->segment = weiri_frames_floor(set->pause_every_s, rate_hz);
    s->segment = s->segment ? s->segment : 1;
    s->period = s->segment + weiri_frames_floor(set->pause_s, rate_hz);
    if ((double)s->frames / (double)s->period > MAX_PAUSES) {
        return weiri_fail(WEIR_E_USAGE, "synthetic: pause_every: more than %g pauses", MAX_PAUSES);
    }
    if (rate_hz >= 2000) {
        s->slot = weiri_frames_floor(SLOT_S, rate_hz);
        s->spike = weiri_frames_floor(SPIKE_S, rate_hz);
    }
    static const double hz[] = {10, 50, 130};
    for (size_t i = 0; i < 3; i++) {
        s->steps[i] = hz[i] < rate_hz / 2 ? (uint64_t)(hz[i] / rate_hz * 0x1p64) : 0;
    }
    uint64_t channels = (uint64_t)set->channels;
    err = weiri_reader_get(reader, channels, sizeof *reader->channels, &reader->channels);
    for (uint64_t i = 0; err == WEIR_OK && i < channels; i++) {
        /* The label is a number; the scale stays that of physical values. */
        reader->channels[i] = (weiri_channel){.label = "", .unit = "uV", .rate_hz = rate_hz};
    }
    static const weiri_coding codings[] = {WEIRI_CODING_F32, WEIRI_CODING_F64, WEIRI_CODING_I16};
    const uint16_t order = 1;
    reader->stored = (weiri_stored){.coding = codings[set->dtype],
                                    .big_endian = *(const unsigned char *)&order == 0};
    reader->channel_count = channels;
    reader->own = s;
    return err;
}

static void segment_at(const weiri_reader *reader, uint64_t number, weir_segment *ret)
{
    const state *s = reader->own;
    uint64_t first = number * s->period;
    uint64_t rest = s->frames - first;
    ret->start_ns = weiri_frames_ns((int64_t)first, s->rate);
    ret->frames = rest < s->segment ? rest : s->segment;
}

static weir_err synthetic_layout(weiri_reader *reader)
{
    const state *s = reader->own;
    /* i16 is delivered as it is, not widened: its purpose is to feed integers to a chain. */
    static const weir_dtype dtypes_out[] = {WEIR_F32, WEIR_F64, WEIR_I16};
    reader->info.spec.dtype = dtypes_out[s->set.dtype];
    for (uint64_t i = 0; i * s->period < s->frames; i++) {
        weir_segment segment;
        segment_at(reader, i, &segment);
        weiri_reader_segment(reader, segment.start_ns, segment.frames);
    }
    return WEIR_OK;
}

static weir_err synthetic_segment(weiri_reader *reader, uint64_t number, bool *ret_any)
{
    const state *s = reader->own;
    *ret_any = number * s->period < s->frames;
    if (*ret_any) {
        segment_at(reader, number, &reader->current);
    }
    return WEIR_OK;
}

/* ---- making --------------------------------------------------------------------------------------- */

static uint64_t row_floats(const weiri_reader *reader)
{
    return (reader->channel_count + PHASES - 1) / PHASES * PHASES;
}

static weir_err
synthetic_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    const state *s = reader->own;
    (void)tile_frames;
    uint64_t floats = TABLE + row_floats(reader) + (1u << SINE_BITS) + s->spike;
    floats += reader->picks ? row_floats(reader) : 0;
    floats += s->set.dtype == AS_F32 ? 0 : BATCH * reader->pick_count;
    *ret_bytes = floats * sizeof(float);
    return WEIR_OK;
}

/* Fills the tables, once. */
static void prepare(weiri_reader *reader)
{
    state *s = reader->own;
    uint64_t seed = (uint64_t)s->set.seed;
    uint64_t run = row_floats(reader);
    s->noise = (float *)(void *)reader->buffer;
    s->sine = s->noise + TABLE + run;
    s->shape = s->sine + (1u << SINE_BITS);
    s->row = s->shape + s->spike;
    s->batch = s->row + (reader->picks ? run : 0);
    double sd = s->set.noise * sqrt(0.5); /* two of them are added */
    for (uint64_t i = 0; i < TABLE; i += 2) {
        /* Box-Muller. */
        double radius = sqrt(-2 * log(unit(mix(seed, i)))) * sd;
        double angle = 2 * PI * unit(mix(seed, i + 1));
        s->noise[i] = (float)(radius * cos(angle));
        s->noise[i + 1] = (float)(radius * sin(angle));
    }
    memcpy(s->noise + TABLE, s->noise, run < TABLE ? run * sizeof(float) : TABLE * sizeof(float));
    for (uint64_t i = TABLE; i < run; i++) {
        s->noise[TABLE + i] = s->noise[i % TABLE];
    }
    for (uint64_t i = 0; i < 1u << SINE_BITS; i++) {
        s->sine[i] = (float)sin(2 * PI * (double)i / (1u << SINE_BITS));
    }
    for (uint64_t i = 0; i < s->spike; i++) {
        /* A trough at 0.5 ms, followed by a lower and longer peak. */
        double ms = (double)i / s->set.rate_hz * 1e3;
        s->shape[i] =
            (float)(-exp(-pow((ms - 0.5) / 0.13, 2)) + 0.35 * exp(-pow((ms - 0.9) / 0.25, 2)));
    }
    s->ready = true;
}

/* Four floats: runs begin at multiples of 16 bytes, rows anywhere. */
typedef float four __attribute__((vector_size(16), may_alias));
typedef float four_loose __attribute__((vector_size(16), aligned(4), may_alias));

static void make_row(const state *s, uint64_t n, float *row, size_t channels)
{
    uint64_t hash = mix((uint64_t)s->set.seed + 1, n);
    const float *a = s->noise + (hash % STARTS) * 4;
    const float *b = s->noise + ((hash >> 32) % STARTS) * 4;
    float wave[PHASES];
    float common = 5 * s->sine[n * s->steps[1] >> (64 - SINE_BITS)] +
                   3 * s->sine[n * s->steps[2] >> (64 - SINE_BITS)] + (float)s->set.offset;
    uint64_t phase = n * s->steps[0];
    for (uint64_t i = 0; i < PHASES; i++) {
        wave[i] = common + 20 * s->sine[(phase + (s->steps[0] ? i << 61 : 0)) >> (64 - SINE_BITS)];
    }
    size_t c = 0;
    four low, high;
    memcpy(&low, wave, sizeof low);
    memcpy(&high, wave + 4, sizeof high);
    for (; c + PHASES <= channels; c += PHASES) {
        *(four_loose *)(row + c) = *(const four *)(a + c) + *(const four *)(b + c) + low;
        *(four_loose *)(row + c + 4) =
            *(const four *)(a + c + 4) + *(const four *)(b + c + 4) + high;
    }
    for (; c < channels; c++) {
        row[c] = a[c] + b[c] + wave[c % PHASES];
    }
}

/* Spikes of one channel: in each slot of 0.1 s one with probability 1/2, entirely within it. */
static bool spike_at(const state *s, uint64_t slot, uint64_t channel, uint64_t *ret_first)
{
    uint64_t hash = mix((uint64_t)s->set.seed + 2, slot * 65536 + channel);
    *ret_first = slot * s->slot + (hash >> 1) % (s->slot - s->spike + 1);
    return hash & 1;
}

/* Adds to rows [first, first + frames), `columns` values apart. */
static void
add_spikes(const weiri_reader *reader, uint64_t first, size_t frames, float *rows, size_t columns)
{
    const state *s = reader->own;
    if (s->slot == 0) {
        return;
    }
    for (uint64_t slot = first / s->slot; slot * s->slot < first + frames; slot++) {
        for (size_t i = 0; i < columns; i++) {
            uint64_t channel = reader->picks ? reader->picks[i] : i;
            uint64_t at = 0;
            if (channel % 4 != 0 || !spike_at(s, slot, channel, &at)) {
                continue;
            }
            float size = 60.0f + (float)(mix(7, channel) % 121);
            uint64_t from = at > first ? at : first;
            uint64_t to = at + s->spike < first + frames ? at + s->spike : first + frames;
            for (uint64_t n = from; n < to; n++) {
                rows[(n - first) * columns + i] += size * s->shape[n - at];
            }
        }
    }
}

static int16_t to_i16(float value)
{
    float near = rintf(value);
    return near >= 32767.0f ? 32767 : near <= -32768.0f ? -32768 : (int16_t)near;
}

/* Generates up to `frames` frames as f32 rows of the selected channels. */
static void make(weiri_reader *reader, uint64_t first, size_t frames, float *rows)
{
    const state *s = reader->own;
    size_t columns = (size_t)reader->pick_count;
    for (size_t i = 0; i < frames; i++) {
        float *row = rows + i * columns;
        if (reader->picks == NULL) {
            make_row(s, first + i, row, columns);
            continue;
        }
        make_row(s, first + i, s->row, (size_t)reader->channel_count);
        for (size_t k = 0; k < columns; k++) {
            row[k] = s->row[reader->picks[k]];
        }
    }
    add_spikes(reader, first, frames, rows, columns);
}

static weir_err
synthetic_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    state *s = reader->own;
    if (!s->ready) {
        prepare(reader);
    }
    uint64_t first = reader->segment * s->period + index;
    size_t columns = (size_t)reader->pick_count;
    if (s->set.dtype == AS_F32) {
        make(reader, first, frames, rows);
        *ret_frames = frames;
        return WEIR_OK;
    }
    size_t count = frames < BATCH ? frames : BATCH;
    make(reader, first, count, s->batch);
    for (size_t i = 0; i < count * columns; i++) {
        if (s->set.dtype == AS_F64) {
            ((double *)rows)[i] = (double)s->batch[i];
        } else {
            ((int16_t *)rows)[i] = to_i16(s->batch[i]);
        }
    }
    *ret_frames = count;
    return WEIR_OK;
}

const weiri_format_ops weiri_format_synthetic = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "synthetic",
             .summary = "noise, oscillations and spikes: "
                        "synthetic:channels=256,rate=30000,seconds=60,seed=1 (also noise, offset, "
                        "dtype, pause_every, pause)",
             .extensions = "",
             .reads = true},
    .scheme = "synthetic:",
    .open = synthetic_open,
    .layout = synthetic_layout,
    .segment = synthetic_segment,
    .plan = synthetic_plan,
    .read = synthetic_read,
};
