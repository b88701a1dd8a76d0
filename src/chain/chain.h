/* SPDX-License-Identifier: MIT
 *
 * chain.h: shared by the files of this module. A chain has three lives, with a type for each:
 *
 *   struct weir_chain   built: nodes (units as the user added them, a graph without cycles), outputs, limits
 *   weiri_plan          planned for an input, then never changed: *steps* (one for each unit that runs: the
 *                       nodes, and conversions inserted between), *groups* (steps in a row that process a
 *                       tile together, channel block by channel block; or one step), buffers and their bytes
 *   weiri_running       running: the one buffer, each step's place and blocks, frames between groups, time
 *
 * Between groups are *edges*: buffers in which a group's output waits for the groups that follow it. Between
 * the steps of one group there are only two scratch buffers for each thread, used again and again.
 *
 *   chain.c    building: nodes, settings, outputs, limits
 *   graph.c    from nodes to steps: specs, counts, outputs, alignment of joined inputs
 *   groups.c   from steps to groups: what runs together, channel blocks, order
 *   plan.c     tile length, capacities, bytes; one buffer for everything
 *   start.c    allocates that buffer, prepares everything, and frees it
 *   blocks.c   one call of a group: how many frames, then block by block
 *   engine.c   which group runs next; time, gaps, a segment's end
 *   push.c     push, pull, finish, reset, reports
 *   live.c     settings while running
 *   records.c  events that units detected: merged, in order, passed to the program
 *   state.c    state saved and restored
 *   run.c      source -> chain -> sinks, progress
 *   checkpoint.c  the file from which a run is resumed
 *   ends.c     what sources and sinks must be
 *   untiled.c  what would be allocated without tiles
 */
#ifndef WEIRI_CHAIN_H
#define WEIRI_CHAIN_H

#include <weir/chain.h>

#include "cache/arena.h"
#include "chain/pool.h"
#include "heap/heap.h"
#include "unit/unit.h"

/* mode.c: the processor's mode for subnormal numbers (S6). */
typedef uint64_t weiri_mode;
weiri_mode weiri_mode_enter(void);
void weiri_mode_leave(weiri_mode mode);

/* ---- built --------------------------------------------------------------------------------------- */

typedef struct weiri_node {
    const weiri_unit_ops *ops;
    const char *name; /* of the unit; of a part "bandpower.window", with the name of the user's unit first */
    int first;        /* node of the first part of the user's unit; its own number for all others */
    void *settings, *spare_settings; /* spare: a live setting is tried there first */
    bool changed; /* a live setting, after planning and before the start: the plan has another value */
    weir_value *marks; /* place of each setting in its file, one per row of ops->info.settings */
    weir_value mark;   /* place of the unit's name in its file */
    int parents[WEIRI_INPUTS_MAX]; /* nodes, or WEIR_CHAIN_INPUT */
    int inputs;
    bool holds; /* over a gap (S4) */
    int number;
    weir_records_fn records_fn; /* NULL: none */
    void *records_user;
    struct weiri_node *next;
} weiri_node;

typedef struct weiri_output {
    int node; /* or WEIR_CHAIN_INPUT */
    const char *name;
    struct weiri_output *next;
} weiri_output;

/* ---- planned ------------------------------------------------------------------------------------- */

#define WEIRI_STRIP_NONE (-1)

/* One unit as it runs. */
typedef struct weiri_step {
    weiri_node *node; /* NULL: inserted by the plan */
    const weiri_unit_ops *ops;
    const char *name; /* "2 butterworth" */
    weiri_unit_plan unit; /* what its unit stated: counts, fields, bytes, delay */
    int parents[WEIRI_INPUTS_MAX]; /* steps, or -1 = the chain's input */
    int inputs;
    uint64_t skip[WEIRI_INPUTS_MAX]; /* frames of each input before the first common time */
    weir_spec *in; /* [inputs], all channels */
    weir_spec out; /* all channels */
    size_t frame_bytes;     /* of its output, all channels */
    size_t in_bytes[WEIRI_INPUTS_MAX]; /* of a frame of each input, all channels */
    uint64_t channels;      /* of its input */
    bool has_blocks;        /* its channels may be divided */
    int output;             /* number of the output after it, or -1 */
    int children;
    int number, group;
    weiri_fraction ratio;    /* of its output to the chain's input, in frames; {0, 0}: does not fit */
    bool same;               /* one output frame for each input frame, at once */
    struct weiri_step *next; /* of its group */
    uint64_t settle_frames; /* of its input, at WEIRI_SETTLE_TOLERANCE */
    double delay_total;     /* from the chain's input, in its frames */
    uint64_t settle_total;
    /* Channel blocks: all but the last have as many channels, so there are two shapes at most. */
    weir_spec *block_in[2], block_out[2]; /* [0] of all blocks but the last, [1] of the last */
    bool by_frame; /* one block of all channels, frames divided among threads */
    int blocks;    /* or threads, where by_frame */
    size_t take_frames;  /* most that it consumes in one call of its group */
    size_t strip_frames; /* most that one call of its group makes of it */
    int strip;           /* scratch buffer of its output: 0, 1, or WEIRI_STRIP_NONE = the group's edge */
    uint64_t state_bytes[2]; /* of a block */
    uint64_t records_room[2]; /* of a block */
    uint64_t constants_at, spare_at, state_at, missing_at, records_at; /* in the chain's buffer */
} weiri_step;

/* Frames [outer x channels x inner] in bytes: where a block's channels are in them. */
typedef struct weiri_layout {
    size_t frame_bytes, outer, outer_bytes, channel_bytes;
} weiri_layout;

typedef struct weiri_group {
    weiri_step *first, *last;
    int length; /* steps */
    int parents[WEIRI_INPUTS_MAX]; /* groups, or -1 = the chain's input */
    int inputs;
    int children;
    int output; /* number of the output after it, or -1 */
    bool joins; /* several inputs */
    bool same;  /* each of its steps is one for one */
    bool plain; /* and it is one step over all channels, on one thread, without records */
    bool finds; /* a step has records */
    bool alone; /* no other group follows its (only) input */
    uint64_t block_channels; /* of all blocks but the last */
    int blocks;
    bool gathers; /* its input is copied into a scratch buffer, block by block; else read where it is */
    size_t in_stride; /* values, where it is read there; 0 = frames are adjacent */
    bool scatters;
    size_t out_stride; /* the same of its output: 0 = it is copied, where there are several blocks */
    size_t take;  /* most input frames of one call */
    weiri_layout in, out;
    /* The edge after it. */
    bool in_place; /* its output is stored where its input is */
    int lends;     /* the group after it that is in place, or -1 */
    bool feeds_join;
    size_t capacity; /* frames */
    uint64_t lead;   /* of them, what may wait for another branch between two tiles */
    uint64_t edge_at;
} weiri_group;

/* An output as planned: after which step. */
typedef struct weiri_exit {
    const char *name;
    int step;
} weiri_exit;

/* Where the bytes of a part are in the one buffer: to measure what was used of it (M6). */
typedef struct weiri_range {
    uint64_t from, bytes;
} weiri_range;

/* A step of weir_chain_untiled. */
typedef struct weiri_untiled {
    weir_buffer *buffer; /* its output of one message; NULL = none now */
    uint64_t due;        /* frames that were due before it */
} weiri_untiled;

typedef struct weiri_plan {
    weir_spec input;
    weiri_step *steps;
    int step_count;
    int *node_steps; /* by number of the node */
    weiri_group *groups;
    int group_count;
    int *order; /* groups after all that follow them, branches in file order */
    int input_children; /* groups that follow the input directly */
    int entry;          /* place in the order where a push begins: of an only child, else 0 */
    size_t input_bytes; /* of a frame */
    weiri_exit *exits;  /* by number of the output */
    int exit_count;
    bool flushes; /* a step outputs more at a segment's end */
    uint64_t *dues; /* one a step: used by weiri_plan_due */
    weiri_untiled *untiled; /* one a step: used by weir_chain_untiled */
    void *bench;    /* for a unit's plan of another value of a live setting */
    size_t bench_bytes;
    weir_source *source; /* NULL: pushed. With a source there is an input tile that it fills */
    weir_sink **sinks;   /* one an exit, or NULL */
    uint64_t threads;
    weir_plan shown;
    weir_plan_part *parts;
    weiri_range *ranges; /* one a part */
    uint64_t buffer_bytes;
    uint64_t tile_at, reader_at, *writers_at;
    uint64_t work_at, work_bytes;    /* scratch: of all threads; of one */
    uint64_t strip1_at, scratch_at;  /* in it: the second buffer between steps, a unit's own */
    uint64_t pool_at;
    uint64_t checkpoint_at, checkpoint_bytes; /* of a saved state, where there are checkpoints */
    uint64_t batch_at;
    size_t batch_room; /* records; 0: there are none */
} weiri_plan;

/* ---- running ------------------------------------------------------------------------------------- */

typedef struct weiri_step_run {
    uint64_t consumed, produced; /* place: frames of this segment */
    uint64_t unfinished;         /* input frames dropped at ends of segments (S4, S9) */
    bool told;                   /* the last call of this segment was made (units with records) */
    const void *constants, *spare;
    weiri_block *blocks;
} weiri_step_run;

/* Frames between groups, or at the chain's input. */
typedef struct weiri_edge {
    unsigned char *base; /* of its memory */
    unsigned char *data; /* of the first frame that is there */
    size_t frames;       /* there now */
    uint64_t first;      /* index of the first one, within the segment */
} weiri_edge;

typedef struct weiri_group_run {
    weiri_edge edge;
    uint64_t taken[WEIRI_INPUTS_MAX]; /* frames of each input consumed or skipped, in this segment */
    size_t undelivered; /* last frames of the edge, refused by a sink: offered again first */
    bool more;          /* output is due of frames consumed already */
    bool ended;         /* the segment's end has passed through all of its steps */
} weiri_group_run;

typedef struct weiri_running {
    weir_buffer *buffer;
    weiri_pool *pool; /* NULL = one thread */
    weiri_step_run *steps;
    weiri_group_run *groups;
    weiri_edge input;
    weir_record *batch; /* records in order; refused ones stay in it */
    size_t batch_count;
    bool ending;  /* no more input frames in this segment: units output what is left */
    bool pending; /* the last call left frames between groups, or refused ones */
    weiri_ahead ahead; /* the message's next tile, or a part of it */
    size_t ahead_most; /* bytes of it: half of L2 */
    weir_message held; /* pull, run: read, and waiting for the segment before it to end */
    bool holding, source_ended;
    bool busy;           /* a call is under way */
    bool at_rest;        /* though busy: between two tiles of a run, in its progress */
    bool in_segment;     /* a frame has come */
    weiri_mode callers_mode; /* while busy (S6) */
    bool after_segment;      /* there was one before, since the start or a reset; it ended then: */
    int64_t segment_end_ns;
    size_t source_notices; /* that the source had when it was looked at last */
    bool announced;      /* the conversion's process-wide limit was set (M8) */
    bool start_failed;   /* a file could not be started: those that could still use the buffer */
    uint64_t segment_in; /* number stated by the input */
    int64_t index_in;    /* expected next */
    uint64_t segment;    /* number counted here */
    int64_t segment_start_ns;
    uint64_t segments, frames_in, frames_out;
    size_t consumed; /* frames of the last push */
} weiri_running;

/* Where a chain's bytes are: what it writes about itself, and the one buffer of a run. */
enum { WEIRI_HOST, WEIRI_BUFFERS, WEIRI_PLACES };

struct weir_chain {
    weir_chain_options options; /* limits resolved (M8) */
    weir_cache *caches[WEIRI_PLACES]; /* one and the same, unless the chain's heap is a device's */
    weiri_arena arena; /* nodes, settings, names */
    const char *text;
    weiri_node *nodes, **last_node;
    int node_count;
    weiri_output *outputs, **last_output;
    int output_count;
    bool named_outputs; /* by the user */
    weiri_notices notices;
    size_t plan_notices; /* the last ones: by the plan, with which they go */
    uint64_t plan_left_out;
    weir_event_fn on_event;
    void *event_user;
    weiri_arena plan_arena; /* plan, and what runs */
    weiri_plan *plan;       /* NULL = none yet */
    weiri_running *running; /* NULL = not started */
};

/* chain.c: as weir_chain_create, but accepts a device heap: all that exists so far of chains on devices. */
weir_err weiri_chain_create(const weir_chain_options *options, weir_chain **ret_chain);
/* WEIR_E_USAGE, names the heap. */
weir_err weiri_chain_refuse_device(const weir_heap *heap);
/* Puts file, line, column and unit in front of the detail of an error of a node's unit. */
weir_err weiri_chain_fail_node(const weir_chain *chain, const weiri_node *node, weir_err err);

/* graph.c: each unit's plan, conversions, outputs. */
weir_err weiri_plan_graph(weir_chain *chain, weiri_plan *plan);
/* Output frames of a step after n frames of the chain's input, from the segment's start. */
uint64_t weiri_plan_due(const weiri_plan *plan, int step, uint64_t n);
/* The spec that a step outputs, narrowed to some channels from `first` on. */
weir_spec weiri_spec_narrow(const weir_spec *spec, uint64_t first, uint64_t channels);

#define WEIRI_SETTLE_TOLERANCE 1e-6

/* groups.c */
weir_err weiri_plan_groups(weir_chain *chain, weiri_plan *plan);
/* Divides the groups' channels into blocks; needs tile and capacities. */
weir_err weiri_plan_blocks(weir_chain *chain, weiri_plan *plan);
/* Most output frames of a group in one call that consumes `frames` frames. */
uint64_t weiri_group_most(const weiri_group *group, uint64_t frames);
/* Whether a unit's output may be stored where its input is. */
bool weiri_step_in_place(const weiri_step *step);

/* Target size of a scratch buffer between steps. Two of them, a block's part of the input and its states
 * should stay in L2. */
#define WEIRI_STRIP_BYTES ((uint64_t)64 << 10)
#define WEIRI_STRIP_SLACK 0.75 /* a third more than WEIRI_STRIP_BYTES is fine */
/* Least frames of an automatic tile length: shorter tiles spend their time on loading and storing state. Rows of
 * which these do not fit in half of L2 have half as many (messages of 300 x 4096 f32: 779 us, 653 so). */
#define WEIRI_TILE_LEAST 64

/* Of the second cache level, or what is assumed. */
uint64_t weiri_l2_bytes(void);
/* Zeroed memory that lives as long as the plan; NULL where the cache refuses. */
void *weiri_plan_get(weir_chain *chain, uint64_t count, size_t size);

/* start.c */
/* Makes chain->running, without its buffer, in the plan's memory. */
weir_err weiri_running_create(weir_chain *chain, weiri_plan *plan);
/* Allocates the one buffer and makes everything ready: memory, constants and threads; then the files.
 * WEIR_E_PLAN, WEIR_E_NOMEM; errors of source, sinks. */
weir_err weiri_chain_start(weir_chain *chain);
weir_err weiri_chain_start_units(weir_chain *chain);
weir_err weiri_chain_start_source(weir_chain *chain);
weir_err weiri_chain_start_sinks(weir_chain *chain);
/* Frees plan and buffer. */
void weiri_chain_unplan(weir_chain *chain);
static inline unsigned char *weiri_chain_memory(const weir_chain *chain, uint64_t at)
{
    return (unsigned char *)chain->running->buffer->memory + at;
}

/* blocks.c: one call of a group: consumes and produces what its counts allow. There is room for one frame. */
typedef struct weiri_call {
    const unsigned char *in[WEIRI_INPUTS_MAX];
    size_t have; /* frames that all inputs have */
    bool ended;  /* there are none, and no more will come in this segment */
    unsigned char *out;
    size_t room; /* frames */
    size_t consumed, produced; /* results */
} weiri_call;
void weiri_group_call(weir_chain *chain,
                      const weiri_group *group,
                      weiri_group_run *run,
                      weiri_call *call);
/* A step's place and states as before the first frame of a segment; `hold`: states stay. */
void weiri_step_reset(weir_chain *chain, int step, bool hold);
/* Adds what threads counted, each in a block of its own, to the step's first block: before counts are read. */
void weiri_step_gather_counts(const weir_chain *chain, int step);
#define WEIRI_GROUP_STEPS 32 /* of a group at most */

/* state.c */
uint64_t weiri_hash(uint64_t so_far, const void *data, size_t bytes);
uint64_t weiri_hash_text(uint64_t so_far, const char *text);
/* Most bytes of the state of a chain that is planned, between two tiles. */
uint64_t weiri_state_most(const weir_chain *chain, const weiri_plan *plan);

/* live.c */
weiri_node *weiri_chain_node(const weir_chain *chain, int number);
/* Plans a node with its spare settings and computes the spare constants; WEIR_E_CHAIN: refused. `name`: of the
 * setting, for the error. And then the exchange. */
weir_err weiri_live_try(weir_chain *chain, weiri_node *node, const char *name);
void weiri_live_exchange(weir_chain *chain, weiri_node *node);
/* Computes a step's constants by its present settings, at the start. */
void weiri_live_prepare(weir_chain *chain, const weiri_step *step, void *constants);
bool weiri_step_is_live(const weiri_step *step); /* has live settings */

/* engine.c: destination of output. Exactly one of the two. */
typedef struct weiri_delivery {
    weir_sink_fn sink; /* push, run */
    void *user;
    unsigned char *rows; /* pull: the caller's buffer */
    size_t capacity, got;
    weir_message first; /* time of the first row */
    bool outside;       /* in the caller's mode, since the sink was called (S6) */
} weiri_delivery;

/* Whether this message starts a new segment. */
bool weiri_chain_breaks(const weir_chain *chain, const weir_message *message);
/* Whether `frames` frames from `index` on can be counted; WEIR_E_USAGE if not. */
weir_err weiri_chain_check_count(int64_t index, size_t frames);
/* Ends the open segment, if any: outputs what is due, drops the rest, resets. If the caller's rows are full
 * before that, the segment is still open. */
weir_err weiri_chain_end_segment(weir_chain *chain, weiri_delivery *delivery);
/* Sets the time of a message; a segment that it interrupts was ended before. */
void weiri_chain_feed(weir_chain *chain, const weir_message *message);
/* Runs groups until nothing can run, or the caller's rows are full. */
weir_err weiri_chain_drain(weir_chain *chain, weiri_delivery *delivery);
weir_message weiri_chain_block(const weir_chain *chain,
                               const weiri_group *group,
                               const void *data,
                               size_t frames,
                               uint64_t index);
/* Calls the program's event function. */
void weiri_chain_tell(weir_chain *chain, weir_event event);
/* Drops all frames, and resets places and states. */
void weiri_chain_forget(weir_chain *chain, bool gap);

/* records.c: memory for the records of a group's steps, once its calls and blocks are known. */
void weiri_plan_records(weiri_plan *plan);
/* Passes the records of a group's last call to the program. On an error the rest is kept. */
weir_err weiri_chain_records_deliver(weir_chain *chain, int group, weiri_delivery *delivery);
void weiri_chain_records_drop(weir_chain *chain);

/* ends.c: whether a chain can call them: sizes, slots. WEIR_E_USAGE names what is wrong. */
weir_err weiri_source_check(weir_source *source);
weir_err weiri_sink_check(const weir_sink *sink);

/* push.c: one read of the source into the input tile, in the caller's mode; and that tile as input of the
 * groups. */
weir_err
weiri_chain_read(weir_chain *chain, size_t frames, weiri_mode mode, weir_message *ret_message);
void weiri_chain_take(weir_chain *chain, const weir_message *message);
weir_err weiri_chain_enter(weir_chain *chain, const char *call, bool with_source);
uint64_t weiri_chain_unfinished(const weir_chain *chain, int step);

#endif
