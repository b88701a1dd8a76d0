/* SPDX-License-Identifier: MIT
 *
 * weir/array.h: dtypes, axes, the description of a stream, messages.
 *
 * An array has one to four named dimensions, row-major. The first one is the stream's: [frames x channels] as
 * in interleaved recordings, [frames x freq x channels], [win x time x channels]. A *frame* is one entry of
 * the stream's dimension, a *column* one of the values within a frame.
 */
#ifndef WEIR_ARRAY_H
#define WEIR_ARRAY_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every dtype: X(NAME, value, bytes, short name, NumPy name). Host byte order. A complex value is two floats,
 * the real part first. */
#define WEIR_DTYPE_LIST(X)                                                                         \
    X(U8, 0, 1, "u8", "uint8")                                                                     \
    X(U16, 1, 2, "u16", "uint16")                                                                  \
    X(I16, 2, 2, "i16", "int16")                                                                   \
    X(I32, 3, 4, "i32", "int32")                                                                   \
    X(F32, 4, 4, "f32", "float32")                                                                 \
    X(F64, 5, 8, "f64", "float64")                                                                 \
    X(C64, 6, 8, "c64", "complex64")                                                               \
    X(C128, 7, 16, "c128", "complex128")

#define WEIR_DTYPE_ENUM(name, value, bytes, text, numpy) WEIR_##name = (value),
typedef enum weir_dtype { WEIR_DTYPE_LIST(WEIR_DTYPE_ENUM) } weir_dtype;

WEIR_API size_t weir_dtype_bytes(weir_dtype dtype);
WEIR_API const char *weir_dtype_name(weir_dtype dtype);
/* Number of real numbers in a value (2 for a complex dtype, else 1), and their dtype (of a real dtype: itself).
 * A complex value is missing if either part is not finite (S5). */
WEIR_API size_t weir_dtype_parts(weir_dtype dtype);
WEIR_API weir_dtype weir_dtype_part(weir_dtype dtype);
/* By short or NumPy name, case-insensitive. WEIR_E_USAGE lists the known ones. */
WEIR_API WEIR_NODISCARD weir_err weir_dtype_parse(const char *text, weir_dtype *ret_dtype);

#define WEIR_MAX_DIMS 4

/* One dimension. Regular: entry i is at start + i * step. Labelled: `size` labels or values. */
typedef struct weir_axis {
    const char *name;          /* "time", "win", "ch", "freq", "metric" */
    const char *unit;          /* "s", "Hz"; "" = none */
    uint64_t size;             /* entries; 0 for the stream's own dimension, whose length varies */
    double start, step;        /* of a regular axis; the stream's: s, step = 1 / rate_hz */
    const char *const *labels; /* labelled by text, or NULL */
    const double *values;      /* labelled by numbers, or NULL */
} weir_axis;

/* Description of a stream, the same for all of its messages. Pointers are borrowed from its creator. */
typedef struct weir_spec {
    weir_dtype dtype;
    uint32_t dim_count;            /* 1..WEIR_MAX_DIMS */
    weir_axis dims[WEIR_MAX_DIMS]; /* dims[0] is the stream's */
    double rate_hz;                /* frames a second, > 0 */
    const char *const *units;      /* physical unit, one per channel (axis "ch"); NULL = not known */
    const char *name;              /* of the stream; "" = none */
    double scale; /* of integers: physical value = value * scale; 0 = none, as for floating point */
} weir_spec;

/* A spec [frames x channels] at a rate; labels and units may be NULL. Borrows both. */
WEIR_API weir_spec weir_spec_make(weir_dtype dtype,
                                  double rate_hz,
                                  uint64_t channels,
                                  const char *const *labels,
                                  const char *const *units);

/* Number of values in a frame (product of dims[1..]; 1 if there are none), and bytes of a frame. */
WEIR_API uint64_t weir_spec_columns(const weir_spec *spec);
WEIR_API uint64_t weir_spec_frame_bytes(const weir_spec *spec);

/* Index of the dimension of that name, or -1. */
WEIR_API int weir_spec_dim(const weir_spec *spec, const char *name);

/* Checks ranges and the products against overflow. WEIR_E_USAGE states field and range. */
WEIR_API WEIR_NODISCARD weir_err weir_spec_check(const weir_spec *spec);

/* Value of first_index that means: directly after the previous message. */
#define WEIR_INDEX_NEXT INT64_MIN

/* A message, or a block of output: frames of a stream and their time. Frame i of it is at
 * segment_start_ns * 1e-9 + dims[0].start + (first_index + i) / rate_hz seconds from the
 * recording's origin (S3). The memory is borrowed for the call that it is passed to (S7). */
typedef struct weir_message {
    const weir_spec *spec;
    const void *data; /* [frames x columns], spec->dtype, aligned to it (complex: to a part) */
    size_t frames;    /* may be 0 */
    uint64_t segment; /* counted from 0; a change starts a new segment (S4) */
    int64_t segment_start_ns; /* from the recording's origin */
    int64_t first_index;      /* within the segment; a jump starts a new segment (S4) */
    int output;               /* of an output block: number of the chain's output */
} weir_message;

#ifdef __cplusplus
}
#endif
#endif
