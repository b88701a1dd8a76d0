/* SPDX-License-Identifier: MIT
 *
 * chain.h: what the files of this room share. A chain has *nodes*: units as the user added them, a tree.
 * Once planned it has *steps*, one for each unit that runs (the nodes, and conversions put in between), and
 * *stages*: steps in a row that go through a tile together, band by band of channels, where each of them
 * treats columns by themselves; else one step. Behind a stage is an edge: the buffer in which its output
 * lies until all stages after it have taken it. Between two steps of a stage there are only strips, two
 * for each thread, that are used again and again.
 *
 *   chain.c    building: nodes, settings, outputs, limits
 *   steps.c    from nodes to steps: specs, ratios, outputs
 *   stages.c   from steps to stages: what runs together, bands, order
 *   plan.c     tile length, capacities, bytes; one buffer for everything
 *   bands.c    one tile through one stage
 *   engine.c   tiles through stages; push, pull
 *   messages.c instead of tiles, whole messages whose edges come from the cache
 *   run.c      source -> chain -> sinks, progress, report
 */
#ifndef WEIRI_CHAIN_H
#define WEIRI_CHAIN_H

#include <weir/chain.h>

#include "cache/arena.h"
#include "chain/pool.h"
#include "unit/unit.h"

typedef struct weiri_node {
    const weiri_unit_ops *ops;
    void *settings;
    weir_value *marks; /* where each setting stands, as many as rows in ops->info.settings */
    weir_value mark;   /* where the unit's name stands */
    int parent;        /* node, or WEIR_CHAIN_INPUT */
    bool holds;        /* over a gap (S4) */
    int step;          /* planned */
    struct weiri_node *next;
} weiri_node;

typedef struct weiri_output {
    int node; /* or WEIR_CHAIN_INPUT */
    const char *name;
    struct weiri_output *next;
} weiri_output;

typedef struct weiri_edge {
    unsigned char *data;
    size_t capacity;   /* frames */
    size_t frames;     /* there now */
    size_t frames_max; /* most so far (M6) */
    int64_t index;     /* of its first frame, within the segment */
    size_t frame_bytes;
    bool in_place; /* lies on the edge before it, and has no bytes of its own */
    /* Message-wise: */
    weir_buffer *buffer; /* of the message on its way; NULL = none */
    uint64_t most_bytes; /* of the longest message's, as the cache may charge it */
} weiri_edge;

/* One unit as it runs. */
typedef struct weiri_step {
    const weiri_node *node; /* NULL: put in by the plan */
    const weiri_unit_ops *ops;
    int parent; /* step, or -1 = the chain's input */
    int stage;
    struct weiri_step *next; /* of its stage */
    int output;              /* number of the output behind it, or -1 */
    int children;
    const weir_spec *in; /* all channels */
    weir_spec spec;      /* of its output, all channels */
    double frames_per_output;
    bool columnwise;
    uint64_t shared_bytes; /* of a frame, if it runs in two halves; else 0 */
    uint64_t channels;     /* of its input: entries of missing */
    size_t frame_bytes;    /* of its output, all channels */
    uint64_t unfinished;   /* input frames dropped at gaps (S4) */
    /* By band: all but the last band have as many channels, so there are two shapes at most. */
    weir_spec band_in[2], band_out[2];
    uint64_t band_state_bytes[2];
    bool by_frame; /* no bands, but frames divided among threads */
    int instances;
    int strip;         /* its output lies in: 0, 1, or WEIRI_STRIP_NONE = the edge */
    weiri_unit *units; /* one a band, or one a thread */
    uint64_t state_offset, missing_offset; /* in the chain's buffer */
} weiri_step;

typedef struct weiri_stage {
    weiri_step
        *head; /* couples channels: prepared over whole frames, applied band by band; or NULL */
    weiri_step *first, *last;
    int parent;             /* stage, or -1 = the chain's input */
    uint64_t band_channels; /* of all bands but the last */
    int bands;
    size_t piece_frames; /* that go through all steps of a band together */
    weiri_edge edge;
    size_t consumed;    /* frames of the parent's edge taken so far */
    bool more;          /* stopped because its edge was full: ask again */
    int64_t next_index; /* of the next frame that it puts out */
    int output;         /* number of the output behind it, or -1 */
    int children;
    uint64_t edge_offset, shared_offset; /* in the chain's buffer */
    weir_plan_part *edge_part;
} weiri_stage;

/* An output as planned: behind which step. */
typedef struct weiri_exit {
    const char *name;
    int step;
} weiri_exit;

struct weir_chain {
    weir_chain_options options; /* limits resolved (M8) */
    weir_cache *cache;
    weiri_arena arena; /* nodes, settings, names */
    const char *text;
    weiri_node *nodes, **last_node;
    int node_count;
    weiri_output *outputs, **last_output;
    int output_count;
    bool named_outputs; /* by the user */
    weiri_notices notices;

    /* planned: everything below lives in plan_arena */
    bool planned;
    weiri_arena plan_arena;
    weir_spec input;
    weiri_step *steps;
    int step_count;
    weiri_stage *stages;
    int stage_count;
    int *order; /* stages in post-order: after all that follow them, branches in file order */
    weiri_exit *exits; /* by number of the output */
    int exit_count;
    int input_children; /* stages that follow the input directly */
    weir_plan plan;
    weir_plan_part *parts;
    uint64_t buffer_bytes; /* of the one buffer that a run takes */
    weir_source *source;   /* NULL: pushed. With a source there is an input tile that it fills */
    weir_sink **sinks;     /* one an exit, or NULL */
    uint64_t tile_offset, reader_offset, *writer_offsets;
    weir_plan_part *tile_part;
    uint64_t strip_bytes, strips_bytes,
        strip_offset; /* of the first strip; of both; one pair a thread */
    uint64_t pool_offset;
    weir_plan_part *strip_part;
    uint64_t edges_most;  /* message-wise: most of them at once, and idle ones, that have records */
    uint64_t edges_bytes; /* message-wise: of edges that are there now, as charged */
    weir_plan_part *edges_part; /* and of those at the fullest moment */
    weir_plan_part *idle_part;  /* kept for reuse; NULL = only where the plan has room */

    /* running */
    weir_buffer *buffer; /* NULL = not started */
    weiri_pool *pool;    /* NULL = one thread */
    weiri_edge input_edge;
    weiri_ahead ahead; /* the message's next tile, or a part of it */
    size_t ahead_most; /* bytes of it: half of L2 */
    weir_message held; /* pull: read, and waiting for the block before it to be taken */
    bool holding;
    bool ended;
    bool in_segment;     /* a frame has come */
    uint64_t segment_in; /* number that the input gave */
    int64_t index_in;    /* expected next */
    uint64_t segment;    /* number counted here */
    int64_t segment_start_ns;
    uint64_t segments, frames_in, frames_out;
};

/* chain.c: puts file, line, column and unit before the detail of an error that a node's unit gave. */
weir_err weiri_chain_fail_node(const weir_chain *chain, const weiri_node *node, weir_err err);

/* steps.c: each unit's plan, conversions, outputs. */
weir_err weiri_chain_steps(weir_chain *chain);
const weir_spec *weiri_chain_exit_spec(const weir_chain *chain, int exit);

/* stages.c */
weir_err weiri_chain_stages(weir_chain *chain);
/* Cuts the stages' channels into bands; needs tile and capacities. */
weir_err weiri_chain_bands(weir_chain *chain);
/* Most frames that the stage is given at once. */
uint64_t weiri_stage_room(const weir_chain *chain, const weiri_stage *stage);
/* Bytes of the two strips that the stage needs, after weiri_chain_bands; 0 = none. */
void weiri_stage_strips(const weiri_stage *stage, uint64_t ret_bytes[2]);
/* Most frames that come out of n in one call: of a unit, of a stage. */
uint64_t weiri_frames_out(uint64_t frames, double frames_per_output);
uint64_t weiri_stage_out(const weiri_stage *stage, uint64_t frames);

#define WEIRI_STRIP_NONE (-1)

/* Of a strip, as chosen. Two of them, a band's part of the input and its states are to stay in L2. */
#define WEIRI_STRIP_BYTES ((uint64_t)64 << 10)

#define WEIRI_BAND_SLACK 0.75 /* a third more than WEIRI_STRIP_BYTES is fine */

/* Of a tile that is chosen: shorter ones spend their time on handing states over. */
#define WEIRI_TILE_LEAST 64

/* Whether a unit's output may lie where its input lies. */
bool weiri_step_in_place(const weiri_step *step);
/* One step, one band: nothing but that unit's process. */
bool weiri_stage_is_plain(const weiri_stage *stage);
/* Whether its steps get their input in a strip. */
static inline bool weiri_stage_gathers(const weiri_stage *stage)
{
    return stage->bands > 1 || stage->head != NULL;
}

/* bands.c: takes frames from `in` and puts what comes of them into `out`, both all channels wide. */
void weiri_stage_process(weir_chain *chain,
                         weiri_stage *stage,
                         const weiri_tile *in,
                         size_t *ret_consumed,
                         weiri_tile *out,
                         size_t *ret_produced);

/* messages.c: what edges take at once when the longest message passes, and the records for them. */
void weiri_messages_plan(weir_chain *chain, uint64_t *ret_edges, uint64_t *ret_records);
/* What may be kept for reuse beside a plan of so much. */
uint64_t weiri_messages_idle(weir_chain *chain, uint64_t total, uint64_t *ret_records);
/* Takes what the stage makes of so many frames from the cache; room in frames. WEIR_E_LIMIT, WEIR_E_NOMEM. */
weir_err weiri_edge_open(weir_chain *chain, weiri_stage *stage, size_t frames_in, size_t *ret_room);
/* Gives it back. Tiled: nothing. */
void weiri_edge_close(weir_chain *chain, weiri_edge *edge);

static inline bool weiri_chain_is_whole(const weir_chain *chain)
{
    return chain->options.tile_frames == WEIR_TILE_NONE;
}

/* plan.c */
/* Of the second cache level, or what is assumed. */
uint64_t weiri_l2_bytes(void);
/* Takes the one buffer and makes everything ready. WEIR_E_PLAN, WEIR_E_NOMEM, errors of source, sinks. */
weir_err weiri_chain_start(weir_chain *chain);
/* Gives back plan and buffer. */
void weiri_chain_unplan(weir_chain *chain);

/* mode.c: the processor's mode for subnormal numbers (S6). */
typedef uint64_t weiri_mode;
weiri_mode weiri_mode_enter(void);
void weiri_mode_leave(weiri_mode mode);

/* engine.c: where output goes. Exactly one of the two. */
typedef struct weiri_delivery {
    weir_sink_fn sink; /* push, run */
    void *user;
    unsigned char *rows; /* pull: the caller's buffer */
    size_t capacity, got;
    weir_message first; /* where the first row stands */
    bool outside;       /* in the caller's mode, since the sink was called (S6) */
} weiri_delivery;
/* Takes the place of a message in time: starts a new segment where S4 says so. */
void weiri_chain_feed(weir_chain *chain, const weir_message *message);
/* Runs stages until nothing is pending, or the caller's rows are full. */
weir_err weiri_chain_drain(weir_chain *chain, weiri_delivery *delivery);
/* Whether this message would start a new segment. */
bool weiri_chain_breaks(const weir_chain *chain, const weir_message *message);
uint64_t weiri_chain_unfinished(const weir_chain *chain, const weiri_step *step);

/* One read of the source into the input tile, in the caller's mode; and that tile put before the stages. */
weir_err
weiri_chain_read(weir_chain *chain, size_t frames, weiri_mode mode, weir_message *ret_message);
void weiri_chain_take(weir_chain *chain, const weir_message *message);

#endif
