/* SPDX-License-Identifier: MIT
 *
 * weir/array.h: dtype, shape, axes, message: what flows.
 *
 * An array has one to four named dimensions, row-major, the stream's first: [frames x channels] as
 * recordings are interleaved, [frames x freq x channels], [win x time x channels]. A *frame* is one
 * entry of the stream's dimension, a *column* one of the values within it.
 */
#ifndef WEIR_ARRAY_H
#define WEIR_ARRAY_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every dtype: X(NAME, value, bytes, short name, numpy's name). Host byte order. A complex value is two floats,
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
/* The real numbers that a value consists of: 2 for a complex dtype, else 1; and their dtype, which is a real
 * dtype itself. A value of several parts is missing where any of them is not finite (S5). */
WEIR_API size_t weir_dtype_parts(weir_dtype dtype);
WEIR_API weir_dtype weir_dtype_part(weir_dtype dtype);
/* By short or numpy's name, case-blind. WEIR_E_USAGE names those there are. */
WEIR_API WEIR_NODISCARD weir_err weir_dtype_parse(const char *text, weir_dtype *ret_dtype);

#define WEIR_MAX_DIMS 4

/* One dimension. Regular: entry i lies at start + i * step. Labelled: labels or values, size of them. */
typedef struct weir_axis {
    const char *name;          /* "time", "win", "ch", "freq", "metric" */
    const char *unit;          /* "s", "Hz"; "" = none */
    uint64_t size;             /* entries; 0 for the stream's own dimension, whose length varies */
    double start, step;        /* of a regular axis; the stream's: s, step = 1 / rate_hz */
    const char *const *labels; /* labelled by text, or NULL */
    const double *values;      /* labelled by numbers, or NULL */
} weir_axis;

/* What stays the same for every message of a stream. Pointers are lent by whoever made it. */
typedef struct weir_spec {
    weir_dtype dtype;
    uint32_t dim_count;            /* 1..WEIR_MAX_DIMS */
    weir_axis dims[WEIR_MAX_DIMS]; /* dims[0] is the stream's */
    double rate_hz;                /* frames a second, > 0 */
    const char *const *units;      /* physical unit, one a channel (axis "ch"); NULL = not known */
    const char *name;              /* of the stream; "" = none */
} weir_spec;

/* A spec [frames x channels] at a rate; labels and units may be NULL. Borrows both. */
WEIR_API weir_spec weir_spec_make(weir_dtype dtype,
                                  double rate_hz,
                                  uint64_t channels,
                                  const char *const *labels,
                                  const char *const *units);

/* Values in one frame (product of dims[1..]; 1 where there are none) and its bytes. */
WEIR_API uint64_t weir_spec_columns(const weir_spec *spec);
WEIR_API uint64_t weir_spec_frame_bytes(const weir_spec *spec);

/* Index of the dimension of that name, or -1. */
WEIR_API int weir_spec_dim(const weir_spec *spec, const char *name);

/* Checks ranges and the products against overflow. WEIR_E_USAGE names field and range. */
WEIR_API WEIR_NODISCARD weir_err weir_spec_check(const weir_spec *spec);

/* Follows directly on the message before it. */
#define WEIR_INDEX_NEXT INT64_MIN

/* A message, or a block of output: frames of a stream and where they stand in time. Frame i of it is
 * at segment_start_ns * 1e-9 + dims[0].start + (first_index + i) / rate_hz seconds from the
 * recording's origin (S3). The memory is borrowed for the call that it is given to (S7). */
typedef struct weir_message {
    const weir_spec *spec;
    const void *data; /* [frames x columns], spec->dtype, aligned to a part of the dtype */
    size_t frames;    /* 0 is a message too */
    uint64_t segment; /* number from 0; another number than before starts a new segment (S4) */
    int64_t segment_start_ns; /* from the recording's origin */
    int64_t first_index;      /* within the segment; a jump starts a new segment (S4) */
    int output;               /* of an output block: index of the chain's output */
} weir_message;

#ifdef __cplusplus
}
#endif
#endif
