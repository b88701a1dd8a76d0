/* SPDX-License-Identifier: MIT
 *
 * unit.h: how a processing unit is written. A unit is one file that ends in its descriptor, plus one line
 * in units.def. It is arithmetic on frames and the state that this needs; shapes, buffers, channel blocks,
 * threads, ports, time and gaps belong to the chain.
 *
 * The life of a unit, all of it called by the chain:
 *
 *   plan     once per step: input specs and settings -> output spec, counts, bytes. Every error is here.
 *   prepare  once per step: computes the constants (taps, sections, matrices), shared read-only by all
 *            channel blocks and threads.
 *   reset    each block, before the first frame and after a gap: writes all state that run reads.
 *   run      each block: consumes `consume` frames, produces `produce` frames. Cannot fail.
 *
 * How many frames run consumes and produces is not the unit's decision: it follows from `due`, which is
 * data, so that the chain, a device queue and the plan all do the same integer arithmetic.
 *
 * Output frame m is a function of the constants and of input frames alone, never of how many frames a call
 * consumed or produced, nor of the channel block (S1).
 */
#ifndef WEIRI_UNIT_H
#define WEIRI_UNIT_H

#include <weir/heap.h>
#include <weir/unit.h>

#include "base/ahead.h"
#include "base/base.h"
#include "base/decimal.h"
#include "unit/due.h"

#define WEIRI_INPUTS_MAX 8

/* ---- state --------------------------------------------------------------------------------------- */

/* One field of a block's state. The chain lays it out, saves and restores it in channel order, so that a
 * saved state fits any channel blocks (S10). */
typedef struct weiri_field {
    const char *name;
    char kind;      /* 'f' float, 'c' complex, 'i' signed, 'u' unsigned integer */
    uint32_t bytes; /* of an entry: 1, 2, 4, 8, 16 */
    bool
        by_block; /* true: `rows` entries in all, equal in every block; false: `rows` entries for each
                       column (value of an input frame) of the block */
    uint64_t rows;
    uint32_t
        lanes; /* how columns are stored. 0: [rows x columns]. L > 0: columns in groups of L, each
                       [rows x L], the last group padded (index weiri_field_at). 1: each column's entries
                       are adjacent */
} weiri_field;

/* Bytes that a field needs in a block with that many columns; UINT64_MAX on overflow. */
uint64_t weiri_field_bytes(const weiri_field *field, uint64_t columns);
/* Where an entry of a column is stored, in entries. */
uint64_t weiri_field_at(const weiri_field *field, uint64_t columns, uint64_t row, uint64_t column);

/* ---- plan ---------------------------------------------------------------------------------------- */

/* What plan() reads and fills. */
typedef struct weiri_unit_plan {
    const weir_spec
        *in;       /* [inputs]; dtype F32 or F64, and what the flags ANY_DTYPE and COMPLEX add */
    size_t inputs; /* 1 unless the unit is JOINS */

    weir_spec out; /* starts as a copy of in[0]; plan changes what differs (dims, dtype, units, the
                            stream's dims[0].name and .start). Rate and step follow from `due` */
    weiri_due due; /* starts as one output frame for each input frame */
    uint64_t
        skipped_frames;  /* starts as 0: input frames after each output that belong to none (windows
                                apart, frames that are not kept): not counted as unfinished */
    double delay_frames; /* starts as 0; group delay in input frames; NAN = differs by frequency */
    /* Records (flag RECORDS): in any `record_frames` consecutive input frames a column has at most one. A record
     * of frame t is added by the call that consumes frame t + record_delay. Both start as 0: there are none. */
    uint64_t record_frames, record_delay;
    uint64_t constant_bytes; /* starts as 0 */
    const void *
        made; /* starts as NULL: what plan() has computed for prepare(), in memory; what may fail to be
                         computed (a design) is computed once, in plan() */
    weiri_field *fields; /* state: add by weiri_plan_field */
    size_t field_count;
    uint64_t scratch_bytes;        /* starts as 0: for each thread, plus ... */
    uint64_t scratch_column_bytes; /* starts as 0: ... these for each column of a block */
    bool
        columnwise; /* starts as the flag; cleared where a setting couples channels: one block then */
    weiri_memory memory; /* for labels of new axes, fields; lives as long as the plan */
    weiri_notices *notices;
} weiri_unit_plan;

/* Most records of one call that consumes `frames` frames of `columns` columns, or that ends a segment. */
uint64_t weiri_record_most(const weiri_unit_plan *plan, uint64_t frames, uint64_t columns);

/* Adds a field; its number is field_count before the call (block->state[number]). WEIR_E_NOMEM. */
weir_err weiri_plan_field(weiri_unit_plan *plan, weiri_field field);

/* ---- running ------------------------------------------------------------------------------------- */

/* Records of a block that the chain has not passed on; empty before each call of run. */
typedef struct weiri_record_list {
    weir_record *list;
    size_t room, count;
    size_t taken; /* the chain's: those that are in a batch */
} weiri_record_list;

/* A channel block: some or all channels of one step, with their state. Where channels are divided into
 * blocks, a block's frames are compact arrays with the specs below: the block's channels only. */
typedef struct weiri_block {
    const struct weiri_unit_ops *ops;
    const void *constants;     /* of the step, for all channels */
    const weir_spec *in;       /* [inputs], of this block */
    const weir_spec *out;      /* of this block */
    uint64_t first_channel;    /* of the step's input, in its dimension "ch" */
    uint64_t channels;         /* of this block; 1 where the input has no dimension "ch" */
    uint64_t columns;          /* values of a frame of in[0] */
    void *const *state;        /* one pointer a field, 64-byte aligned */
    uint64_t *missing;         /* [channels]: samples that were not finite (S5) */
    uint64_t saturated;        /* integer outputs that were clipped */
    weiri_record_list records; /* see weiri_record_add */
    weiri_ahead *ahead;        /* memory that will be read next; NULL = not known */
} weiri_block;

/* One call of run. */
typedef struct weiri_work {
    uint64_t consumed,
        produced; /* place: frames of the segment consumed and produced before this call */
    size_t consume, produce; /* frames to consume now, from each input; frames to produce now */
    bool
        ended; /* the segment has ended: nothing is consumed, what is produced is output after the input's end. The last
                   such call of a unit with records also produces nothing: it adds the records that are left */
    const void
        *in[WEIRI_INPUTS_MAX]; /* [consume x columns], never written; frame i of every input has the
                                         same time */
    void *out; /* [produce x columns of out]; == in[0] only if the unit is IN_PLACE */
    /* Values from a frame of in[0] to the next, and from one of out; 0 = adjacent, always unless `strided`. */
    size_t in_stride, out_stride;
    void *scratch; /* of this thread, 64-byte aligned; what is in it is undefined */
} weiri_work;

typedef struct weiri_queue weiri_queue; /* of a device: defined by the heap that runs work */

/* Of a unit with one value in and one out (elementwise.h): computes count values of its dtype; the first
 * is value number `first` of the call's input. out may be in. Values that are not finite may give
 * anything. */
typedef void
weiri_compute_fn(const weiri_block *block, const void *in, void *out, size_t first, size_t count);

/* A composite unit stands for several. It has `expand` instead of all that follows its settings: the chain calls
 * it when the unit is added, and it names its parts, each after the one before. These are ordinary steps of the plan,
 * called "bandpower.spectrogram.window" there and in errors. */
typedef struct weiri_expansion {
    /* Adds a part: a unit, which may be a composite itself. `role` is its name within the composite; for a part whose
     * settings are a map in the user's chain, the name of that setting. */
    weir_err (*add)(struct weiri_expansion *to,
                    const char *role,
                    const char *unit,
                    const weir_value *settings,
                    size_t count);
    const weir_setting *table; /* of the composite */
    const weir_value
        *given; /* the settings that the user gave, with their places in the chain file */
    size_t given_count;
} weiri_expansion;

/* The user's setting `name`, or its preset, as a setting of a part that is called `key` there. */
weir_value weiri_expand_given(const weiri_expansion *to, const char *name, const char *key);
/* Adds a part whose settings are the map that the user gave as `name`. WEIR_E_CHAIN: no map. */
weir_err
weiri_expand_nested(weiri_expansion *to, const char *role, const char *name, const char *unit);

typedef struct weiri_unit_ops {
    size_t ops_size; /* sizeof(weiri_unit_ops) */
    weir_unit_info info;
    size_t settings_bytes; /* of the struct that info.settings describes */

    /* Of a composite only, and then the only function. WEIR_E_CHAIN as plan; errors of `add` are passed on. */
    weir_err (*expand)(const void *settings, weiri_expansion *to);

    /* Pure. WEIR_E_CHAIN with a detail that starts with the setting at fault ("cutoff: 20 kHz is above the
     * Nyquist frequency, 15 kHz"); the chain puts file, line and unit before it. */
    weir_err (*plan)(const void *settings, weiri_unit_plan *plan);

    /* Writes constants (constant_bytes, 64-byte aligned, zeroed before), for all channels. They hold no
     * pointers: they may be copied elsewhere as they are. Optional: NULL = none. */
    void (*prepare)(const void *settings, const weiri_unit_plan *plan, void *constants);

    /* The least k such that outputs of two runs whose inputs differ only before frame n differ, from the
     * output of frame n + k on, by at most tolerance x the largest difference of the inputs; in input
     * frames. WEIR_SETTLES_NEVER for what never forgets (counters, adaptive units). Optional: NULL = 0 for
     * a unit without state, never otherwise. */
    uint64_t (*settle)(const void *settings, const weiri_unit_plan *plan, double tolerance);

    /* As before the first frame of a segment (S9): writes every byte of state that run reads. Optional:
     * NULL = no state. */
    void (*reset)(weiri_block *block);

    /* Consumes and produces exactly what work says; allocates nothing, cannot fail, never writes input. In
     * the floating-point mode of S6. Different blocks may run on several threads at once; a unit that is
     * neither STATEFUL nor CHANGES_RATE may also be given parts of the frames on several threads. */
    void (*run)(weiri_block *block, const weiri_work *work);

    /* The same on a device: enqueues the work on its queue. Optional: NULL = runs on the host only. */
    weir_err (*run_device)(weiri_block *block, weiri_queue *queue, const weiri_work *work);

    /* run obeys in_stride and out_stride, as it does wherever there is a compute: the first unit of a group then reads
     * each channel block where it is, and the last one writes it where it is to be, and no block is copied (1024
     * channels x 30 frames: 14.8 us a push, 12.9 so). */
    bool strided;

    weiri_compute_fn *compute; /* of run = weiri_elementwise_run; else NULL */

    /* Of a unit that converts for another heap: the limit that this heap's default cache is to have, set by the
     * chain in the process that converts, before its first frame (SEEDS B5); *ret_heap is NULL where none is to
     * be set. WEIR_E_CHAIN as plan. Optional: NULL = there is none. */
    weir_err (*heap_limit)(const void *settings, weir_heap **ret_heap, uint64_t *ret_limit);

    /* A live setting has changed: block->constants are the new ones. Optional: NULL = state is kept as it
     * is. */
    void (*changed)(weiri_block *block, const void *constants_before);
} weiri_unit_ops;

#define WEIRI_UNIT_EXTERN(name) extern const weiri_unit_ops weiri_unit_##name;
#define X(name)                 WEIRI_UNIT_EXTERN(name)
#include "unit/units.def"
#undef X

/* Inserted by the chain, not by a user: see convert.c. */
extern const weiri_unit_ops weiri_unit_convert, weiri_unit_copy;

/* All of units.def, in its order, NULL at the end. */
extern const weiri_unit_ops *const weiri_units[];
/* WEIR_E_CHAIN names the nearest. */
weir_err weiri_unit_find(const char *name, const weiri_unit_ops **ret_ops);

/* Units of a test, found by name after those of units.def; a list that ends in NULL, or NULL. Set before
 * any chain is made. */
extern const weiri_unit_ops *const *weiri_units_of_test;

/* ---- helpers for units --------------------------------------------------------------------------- */

/* Places arrays one after the other, 64-byte aligned: with base NULL to learn the size (returns NULL), and
 * again to place them. For constants and scratch; constants keep offsets, not these pointers. */
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
/* Around the channels; {1, 1, columns} where there is no dimension "ch". */
weiri_split weiri_spec_channels(const weir_spec *spec);

/* Adds the non-finite values of frames rows of in[0] to block->missing by channel. Slow: for frames that
 * are known not to be clean. */
void weiri_count_missing(weiri_block *block, const void *rows, size_t frames);
/* The same for frames that may be clean, and mostly are: for units that pass samples through. */
void weiri_look_for_missing(weiri_block *block, const void *rows, size_t frames);

/* Physical units follow the arithmetic: what plan->out has becomes a power of plan->in's, times `times`
 * ("" = nothing): uV, 2 -> uV^2; uV, 1, s -> uV*s. Exponent 0 is a pure number, "1", known or not before. Where
 * none is known none is made up. WEIR_E_NOMEM. */
weir_err weiri_units_follow(weiri_unit_plan *plan, double exponent, const char *times);

/* A label that two entries of the axis have; NULL: they differ, as they must. WEIR_E_NOMEM. */
weir_err
weiri_label_twice(const weiri_unit_plan *plan, const weir_axis *axis, const char **ret_label);

/* Adds a record of a frame of the segment and a column of the block. In a call, records are added in order of
 * (index, column), and in each call only those of frames consumed + i - record_delay for its consumed frames i. */
static inline void
weiri_record_add(weiri_block *block, uint64_t index, uint64_t column, uint32_t kind, double value)
{
    weiri_record_list *records = &block->records;
    if (records->count <
        records->room) { /* the chain reports a unit that adds more than it stated */
        records->list[records->count] = (weir_record){
            .index = (int64_t)index, .column = (uint32_t)column, .kind = kind, .value = value};
    }
    records->count++;
}

/* Fails unless the axis setting (NULL = not given) names the stream's dimension. */
weir_err weiri_axis_is_stream(const weir_spec *in, const char *axis);

#endif
