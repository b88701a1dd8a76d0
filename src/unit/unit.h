/* SPDX-License-Identifier: MIT
 *
 * unit.h: how a unit is written. A unit is one file that ends in its descriptor, plus one line in
 * units.def. It holds state and samples only: shapes, buffers, tiles, time and gaps belong to the
 * chain. Its memory is given by the chain; process allocates nothing and cannot fail.
 */
#ifndef WEIRI_UNIT_H
#define WEIRI_UNIT_H

#include <weir/unit.h>

#include "base/ahead.h"
#include "base/base.h"

/* A run of frames. As input: `frames` are there. As output: room for `frames`. */
typedef struct weiri_tile {
    void *
        data; /* [frames x columns]; an input is never written, unless the unit is IN_PLACE and both
                   tiles have the same data */
    size_t frames;
} weiri_tile;

/* What plan() works on. */
typedef struct weiri_unit_plan {
    const weir_spec *in; /* dtype F32 or F64 unless the unit is ANY_DTYPE */
    weir_spec out;       /* starts as a copy of *in; plan() changes what differs (dims, dtype) */
    double
        frames_per_output; /* starts as 1; input frames an output frame, an exact ratio. The chain
                                 makes out.rate_hz and the time step from it */
    uint64_t state_bytes;  /* of the instance */
    uint64_t shared_bytes; /* starts as 0; of a frame, between prepare() and apply(); 0 = neither */
    bool columnwise;       /* starts as the flag; cleared where a setting differs by channel */
    weiri_memory memory;   /* for labels of new axes; lives as long as the plan */
    weiri_notices *notices;
} weiri_unit_plan;

/* Some columns of some frames. */
typedef struct weiri_part {
    const void *rows; /* whole frames */
    size_t frames;
    size_t first, columns;
} weiri_part;

/* An instance. */
typedef struct weiri_unit {
    const struct weiri_unit_ops *ops;
    const void *settings;
    const weir_spec *in, *out;
    void *state;        /* state_bytes, 64-byte aligned, zeroed before init */
    uint64_t *missing;  /* one count an input channel (S5) */
    uint64_t channels;  /* entries of missing */
    uint64_t saturated; /* integer outputs that were clipped */
    weiri_ahead *ahead; /* what the chain will read next; NULL = not known */
} weiri_unit;

/* Of a unit with one value in and one out (elementwise.h): computes count values of its dtype; the first is
 * value number `first` of its tile. out may be in. Values that are not finite may give anything. */
typedef void
weiri_compute_fn(const weiri_unit *unit, const void *in, void *out, size_t first, size_t count);

typedef struct weiri_unit_ops {
    size_t ops_size; /* sizeof(weiri_unit_ops) */
    weir_unit_info info;
    size_t settings_bytes; /* of the struct that info.settings describes */

    /* Input spec and settings -> output spec, ratio, bytes. Pure. WEIR_E_CHAIN with a detail that
     * starts with the setting at fault ("cutoff: 20000 Hz is above half the rate, 15000 Hz"); the chain
     * puts file, line and unit before it. */
    weir_err (*plan)(const void *settings, weiri_unit_plan *plan);

    /* Makes the instance in unit->state. Cannot fail: plan() has checked everything. Optional: NULL =
     * zeroed memory is the start. */
    void (*init)(weiri_unit *unit);

    /* Takes frames from `in`, puts frames into `out`; says how many. May stop early when `out` is full
     * and is then called again with the rest; must consume or produce at least one frame while in has
     * any and out has room; called with in->frames == 0 it puts out what is still to come of frames
     * already consumed. IN_PLACE units consume and produce min(in, out) frames. In the mode of S6.
     *
     * Of a COLUMNWISE unit, one that treats each column by itself, the chain may make several instances,
     * each with a band of the channels: for threads, and to keep what lies between two units in L1. It
     * then takes all of `in`, given room for what comes of it. */
    void (*process)(weiri_unit *unit,
                    const weiri_tile *in,
                    size_t *ret_consumed,
                    weiri_tile *out,
                    size_t *ret_produced);

    weiri_compute_fn *compute; /* of process = weiri_elementwise_process; else NULL */

    /* As before the first frame (S9). Optional: NULL = no state. */
    void (*reset)(weiri_unit *unit);

    /* Optional, of a unit without memory that couples channels through a few values a frame: process in two,
     * so that the second half can be done by band, in one go with the units behind it. prepare makes
     * shared_bytes of each frame of `in`. apply makes the output of some columns, their rows side by side,
     * of what was prepared for these frames; by several threads at once, for different channels. */
    void (*prepare)(weiri_unit *unit, const weiri_tile *in, void *shared);
    void (*apply)(weiri_unit *unit, const weiri_part *part, const void *shared, void *out);

    /* Input frames consumed that will never be put out if nothing follows: a partial bin or window.
     * Optional: NULL = 0. */
    uint64_t (*unfinished)(const weiri_unit *unit);
} weiri_unit_ops;

#define WEIRI_UNIT_EXTERN(name) extern const weiri_unit_ops weiri_unit_##name;
#define X(name)                 WEIRI_UNIT_EXTERN(name)
#include "unit/units.def"
#undef X

/* Put in by the chain, not by a user: see convert.c. */
extern const weiri_unit_ops weiri_unit_convert, weiri_unit_copy;

/* All of units.def, in its order, NULL at the end. */
extern const weiri_unit_ops *const weiri_units[];
/* WEIR_E_CHAIN names the nearest. */
weir_err weiri_unit_find(const char *name, const weiri_unit_ops **ret_ops);

/* ---- helpers for units --------------------------------------------------------------------- */

/* Lays arrays one behind the other, 64-byte aligned: with base NULL to learn the size (returns NULL),
 * and again to place them. A unit keeps one function that does both. */
typedef struct weiri_carver {
    unsigned char *base;
    size_t used;
} weiri_carver;
void *weiri_carve(weiri_carver *carver, uint64_t count, size_t size);

/* [outer x size x inner] around a dimension other than the stream's: column = (o * size + i) * inner + k. */
typedef struct weiri_split {
    uint64_t outer, size, inner;
} weiri_split;
weiri_split weiri_spec_split(const weir_spec *spec, int dim);

/* Adds the non-finite values of frames rows to unit->missing by channel. Slow: for tiles that are known
 * not to be clean. */
void weiri_count_missing(weiri_unit *unit, const void *rows, size_t frames);

/* Physical units follow the arithmetic (DESIGN 3): what plan->out has becomes a power of plan->in's, times `times`
 * ("" = nothing): uV, 2 -> uV^2; uV, 1, s -> uV*s. Exponent 0 is a pure number, "1", known or not before. Where
 * none is known none is made up. WEIR_E_NOMEM. */
weir_err weiri_units_follow(weiri_unit_plan *plan, double exponent, const char *times);

/* Fails unless the axis setting (NULL = not given) names the stream's dimension. */
weir_err weiri_axis_is_stream(const weir_spec *in, const char *axis);

#endif
