/* SPDX-License-Identifier: MIT
 *
 * convert.c: converts values as stored in a file to rows of a tile: byte order, widths, physical
 * scale.
 */
#include <math.h>
#include <string.h>

#include "recording/reader.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_BIG true
#else
#define HOST_BIG false
#endif

#define BYTES(name, bytes, dtype) bytes,
static const unsigned char coding_bytes[] = {WEIRI_CODING_LIST(BYTES)};
#define DTYPE(name, bytes, dtype) dtype,
static const weir_dtype coding_dtype[] = {WEIRI_CODING_LIST(DTYPE)};

size_t weiri_stored_bytes(weiri_stored stored)
{
    return coding_bytes[stored.coding] * (size_t)(stored.is_complex ? 2 : 1);
}

weir_dtype weiri_stored_dtype(weiri_stored stored)
{
    weir_dtype part = coding_dtype[stored.coding];
    return !stored.is_complex ? part : part == WEIR_F32 ? WEIR_C64 : WEIR_C128;
}

static bool swapped(weiri_stored stored)
{
    return stored.big_endian != HOST_BIG && coding_bytes[stored.coding] > 1;
}

bool weiri_stored_is(weiri_stored stored, weir_dtype dtype)
{
    bool whole_64 = stored.coding == WEIRI_CODING_I64 || stored.coding == WEIRI_CODING_U64;
    return weiri_stored_dtype(stored) == dtype && !whole_64 &&
           weiri_stored_bytes(stored) == weir_dtype_bytes(dtype) && !swapped(stored);
}

weir_err weiri_stored_parse(const char *text, weiri_stored *ret_stored)
{
    /* weir's names, whose number counts bits, and NumPy's, whose number counts bytes. */
    static const struct {
        const char *names[3];
        weiri_coding coding;
    } codings[] = {
        {{"u8", "u1", "uint8"}, WEIRI_CODING_U8},
        {{"u16", "u2", "uint16"}, WEIRI_CODING_U16},
        {{"u32", "u4", "uint32"}, WEIRI_CODING_U32},
        {{"u64", "uint64"}, WEIRI_CODING_U64},
        {{"i8", "i1", "int8"}, WEIRI_CODING_I8},
        {{"i16", "i2", "int16"}, WEIRI_CODING_I16},
        {{"i24", "i3", "int24"}, WEIRI_CODING_I24},
        {{"i32", "i4", "int32"}, WEIRI_CODING_I32},
        {{"i64", "int64"}, WEIRI_CODING_I64},
        {{"f16", "f2", "float16"}, WEIRI_CODING_F16},
        {{"f32", "f4", "float32"}, WEIRI_CODING_F32},
        {{"f64", "f8", "float64"}, WEIRI_CODING_F64},
        {{"c64", "c8", "complex64"}, WEIRI_CODING_F32},
        {{"c128", "c16", "complex128"}, WEIRI_CODING_F64},
    };
    weiri_stored stored = {.big_endian = HOST_BIG};
    const char *name = text;
    if (*name == '<' || *name == '>') {
        stored.big_endian = *name == '>';
        name++;
    } else if (*name == '=' || *name == '|') {
        name++;
    }
    /* "u8" and "i8" can be both: after a mark of the byte order they are NumPy's, of 8 bytes. */
    bool numpys = name != text && (strcmp(name, "u8") == 0 || strcmp(name, "i8") == 0);
    stored.coding = numpys && *name == 'u' ? WEIRI_CODING_U64 : WEIRI_CODING_I64;
    bool known = numpys;
    for (size_t i = 0; !known && i < sizeof codings / sizeof *codings; i++) {
        for (size_t k = 0; k < 3 && codings[i].names[k]; k++) {
            known = known || weiri_equal_blind(name, codings[i].names[k]);
        }
        stored.coding = codings[i].coding;
        stored.is_complex = codings[i].names[0][0] == 'c';
    }
    if (!known) {
        return weiri_fail(WEIR_E_USAGE,
                          "dtype %.40s: not read; there are u8 u16 u32 u64 i8 i16 i24 i32 i64 f16 "
                          "f32 f64 c64 c128, with < or > before them for the byte order",
                          text);
    }
    *ret_stored = stored;
    return WEIR_OK;
}

bool weiri_scale_fits_f32(const weiri_scale *scale, weiri_stored stored)
{
    static const double low[WEIRI_CODINGS] = {
        [WEIRI_CODING_I8] = -128,      [WEIRI_CODING_I16] = -32768,
        [WEIRI_CODING_I24] = -8388608, [WEIRI_CODING_I32] = -2147483648.0,
        [WEIRI_CODING_I64] = -0x1p63,
    };
    static const double high[WEIRI_CODINGS] = {
        [WEIRI_CODING_U8] = 255,          [WEIRI_CODING_I8] = 127,
        [WEIRI_CODING_U16] = 65535,       [WEIRI_CODING_I16] = 32767,
        [WEIRI_CODING_I24] = 8388607,     [WEIRI_CODING_U32] = 4294967295.0,
        [WEIRI_CODING_I32] = 2147483647., [WEIRI_CODING_U64] = 0x1p64,
        [WEIRI_CODING_I64] = 0x1p63,
    };
    if (high[stored.coding] == 0) {
        return false; /* floats */
    }
    double step = fabs(scale->numer / scale->denom);
    double most = 0;
    for (int end = 0; end < 2; end++) {
        double count = end ? high[stored.coding] : low[stored.coding];
        double value = fabs((count - scale->base) * scale->numer / scale->denom + scale->offset);
        most = value > most ? value : most;
    }
    /* Neighbouring counts stay distinct if the spacing of f32 at the largest value is smaller
     * than a step; if it is equal, ties could merge two. A small margin allows for the rounding
     * of the scale itself. */
    if (!(most < 3e38)) {
        return false;
    }
    /* Below the largest value: 262144 itself, where the spacing doubles, is still represented
     * exactly. */
    double spacing = (double)((float)most - nextafterf((float)most, 0));
    bool whole =
        step == 1.0 && scale->offset == floor(scale->offset) && scale->base == floor(scale->base);
    return spacing * (1 + 1e-6) < step || (whole && most <= 16777216.0);
}

/* ---- loads ------------------------------------------------------------------------------------ */

static inline uint8_t load_U8(const unsigned char *from, bool swap)
{
    (void)swap;
    return *from;
}

static inline int8_t load_I8(const unsigned char *from, bool swap)
{
    (void)swap;
    return (int8_t)*from;
}

static inline uint16_t load_U16(const unsigned char *from, bool swap)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap16(bits) : bits;
}

static inline int16_t load_I16(const unsigned char *from, bool swap)
{
    return (int16_t)load_U16(from, swap);
}

static inline int32_t load_I24(const unsigned char *from, bool swap)
{
    bool big = swap != HOST_BIG;
    uint32_t bits =
        big ? (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8
            : (uint32_t)from[2] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[0] << 8;
    return (int32_t)bits >> 8;
}

static inline uint32_t load_bits32(const unsigned char *from, bool swap)
{
    uint32_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap32(bits) : bits;
}

static inline int32_t load_I32(const unsigned char *from, bool swap)
{
    return (int32_t)load_bits32(from, swap);
}

static inline uint32_t load_U32(const unsigned char *from, bool swap)
{
    return load_bits32(from, swap);
}

/* IEEE 754 half precision: 1 sign, 5 exponent, 10 fraction bits; numbers with exponent 0 are
 * fraction * 2^-24. */
static inline float load_F16(const unsigned char *from, bool swap)
{
    uint32_t half = load_U16(from, swap), exponent = half >> 10 & 31, fraction = half & 1023;
    float value = (float)fraction * 0x1p-24f;
    uint32_t bits = (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    if (exponent > 0) {
        memcpy(&value, &bits, sizeof value);
    }
    return half >> 15 ? -value : value;
}

static inline float load_F32(const unsigned char *from, bool swap)
{
    uint32_t bits = load_bits32(from, swap);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t load_U64(const unsigned char *from, bool swap)
{
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap64(bits) : bits;
}

static inline int64_t load_I64(const unsigned char *from, bool swap)
{
    return (int64_t)load_U64(from, swap);
}

static inline double load_F64(const unsigned char *from, bool swap)
{
    uint64_t bits = load_U64(from, swap);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- loops: one a coding and target ------------------------------------------------------------ */

/* Contiguous runs have their own copy of the loop, with constant steps, so that it is
 * vectorized: 256 channels of i16 at 30 kHz would otherwise cost more than the filters after
 * them. */
#define LOOP(load, width, type, swap)                                                              \
    do {                                                                                           \
        type *to = run->to;                                                                        \
        const unsigned char *from = run->from;                                                     \
        if (run->from_step == (width) && run->to_step == 1 && !(swap)) {                           \
            for (size_t i = 0; i < count; i++) {                                                   \
                to[i] = (type)load(from + i * (width), false);                                     \
            }                                                                                      \
        } else {                                                                                   \
            size_t from_step = run->from_step, to_step = run->to_step;                             \
            for (size_t i = 0; i < count; i++) {                                                   \
                to[i * to_step] = (type)load(from + i * from_step, swap);                          \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define SCALED(load, type, swap)                                                                   \
    do {                                                                                           \
        type *to = run->to;                                                                        \
        const unsigned char *from = run->from;                                                     \
        size_t from_step = run->from_step, to_step = run->to_step;                                 \
        const weiri_scale scale = *run->scale;                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            double value = (double)load(from + i * from_step, swap) - scale.base;                  \
            to[i * to_step] = (type)(value * scale.numer / scale.denom + scale.offset);            \
        }                                                                                          \
    } while (0)

#define CODING_LOOP(name, width, dtype_of)                                                         \
    static void convert_##name(const weiri_run *run, size_t count)                                 \
    {                                                                                              \
        const bool swap = swapped(run->stored);                                                    \
        if (run->scale && run->dtype == WEIR_F32) {                                                \
            SCALED(load_##name, float, swap);                                                      \
        } else if (run->scale) {                                                                   \
            SCALED(load_##name, double, swap);                                                     \
        } else if (run->dtype == WEIR_F32) {                                                       \
            LOOP(load_##name, width, float, swap);                                                 \
        } else if (run->dtype == WEIR_F64) {                                                       \
            LOOP(load_##name, width, double, swap);                                                \
        } else {                                                                                   \
            OWN_##name(load_##name, width, swap);                                                  \
        }                                                                                          \
    }
#define OWN_U8(load, width, swap)  LOOP(load, width, uint8_t, swap)
#define OWN_U16(load, width, swap) LOOP(load, width, uint16_t, swap)
#define OWN_I16(load, width, swap) LOOP(load, width, int16_t, swap)
#define OWN_I24(load, width, swap) LOOP(load, width, int32_t, swap)
#define OWN_I32(load, width, swap) LOOP(load, width, int32_t, swap)
#define OWN_F32(load, width, swap) (void)0 /* F32 and F64 are handled above */
#define OWN_F64(load, width, swap) (void)0
#define OWN_I8(load, width, swap)  LOOP(load, width, int16_t, swap)
#define OWN_U32(load, width, swap) (void)0 /* their counts are F64, those of F16 F32 */
#define OWN_I64(load, width, swap) (void)0
#define OWN_U64(load, width, swap) (void)0
#define OWN_F16(load, width, swap) (void)0
WEIRI_CODING_LIST(CODING_LOOP)

void weiri_convert(const weiri_run *run, size_t count)
{
#define CONVERT(name, bytes, dtype) convert_##name,
    static void (*const loops[])(const weiri_run *, size_t) = {WEIRI_CODING_LIST(CONVERT)};
    size_t parts = run->stored.is_complex ? 2 : 1; /* all real parts, then all imaginary ones */
    weiri_run part = *run;
    part.dtype = weir_dtype_part(run->dtype);
    part.to_step = run->to_step * parts;
    for (size_t i = 0; i < parts; i++) {
        part.from = run->from + i * coding_bytes[run->stored.coding];
        part.to = (unsigned char *)run->to + i * weir_dtype_bytes(part.dtype);
        loops[run->stored.coding](&part, count);
    }
}
