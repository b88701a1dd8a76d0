/* SPDX-License-Identifier: MIT
 *
 * weir/chain.h: a chain of units: built by calls, planned for an input, run tile by tile inside its
 * bytes. Also what a source and a sink are.
 *
 * Threads. A chain is used by one thread at a time, which may be another one for each call; chains do not share
 * anything, so several may run at once. What a chain calls (sinks, sources, events, progress) it calls in the thread
 * of the call that is under way, never in its own threads, and that may not call the chain again. From any thread at
 * any time: all of cache.h on weir_chain_cache(chain), while the chain exists.
 */
#ifndef WEIR_CHAIN_H
#define WEIR_CHAIN_H

#include <weir/array.h>
#include <weir/cache.h>
#include <weir/unit.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_chain weir_chain;
typedef struct weir_source weir_source;
typedef struct weir_sink weir_sink;

/* ---- sources and sinks -------------------------------------------------------------------- */

typedef struct weir_segment {
    int64_t start_ns; /* from the recording's origin */
    uint64_t frames;
} weir_segment;

#define WEIR_FRAMES_UNKNOWN UINT64_MAX

/* An event that a recording states, on the clock of its segments. */
typedef struct weir_annotation {
    int64_t onset_ns;    /* from the recording's origin */
    int64_t duration_ns; /* -1 = not stated */
    const char *text;    /* UTF-8 */
} weir_annotation;

/* What a source says of itself. Lent by the source until it is closed. */
typedef struct weir_source_info {
    size_t info_size;             /* sizeof(weir_source_info) of who filled it */
    const char *format;           /* "npy", "edf" */
    weir_spec spec;               /* of what read() delivers */
    uint64_t frames;              /* in all, after selection; WEIR_FRAMES_UNKNOWN */
    const double *scales;         /* one a channel: physical value of one count; NULL = none */
    const weir_segment *segments; /* the first of them; lists are capped */
    size_t segment_count;         /* entries in segments */
    uint64_t segments_left_out;   /* further ones */
    const char *start_time;       /* ISO 8601, as the recording states it; "" = it does not */
    const char *const *notices;
    size_t notice_count;
    uint64_t notices_left_out;
    const weir_annotation *annotations; /* the first of them, as they stand in the recording */
    size_t annotation_count;
    uint64_t annotations_left_out;
    /* Which one of its format: "BDF+D", "NSx 3.0", a dataset; NULL = there is but one. */
    const char *variant;
} weir_source_info;

/* A source's functions: all required, called from the chain's thread only, without locks. */
typedef struct weir_source_ops {
    size_t ops_size; /* sizeof(weir_source_ops) of who filled it */
    const char *name;
    const weir_source_info *(*info)(weir_source *source);
    /* Bytes of buffer that it needs to fill tiles of that capacity. Pure. */
    weir_err (*plan)(weir_source *source, uint64_t tile_frames, uint64_t *ret_bytes);
    /* Lends those bytes (64-byte aligned) until close. Once, before the first read. */
    weir_err (*start)(weir_source *source, uint64_t tile_frames, void *memory);
    /* Fills rows[capacity x columns] with the next frames and says where they stand (frames,
     * segment, segment_start_ns, first_index of *ret). 0 frames = the end. Never spans two segments.
     * May block. WEIR_E_RECORDING, WEIR_E_IO; WEIR_E_INTERRUPTED when a signal ended a wait. */
    weir_err (*read)(weir_source *source, void *rows, size_t capacity, weir_message *ret);
    /* Ends it. */
    void (*close)(weir_source *source);
    /* Optional (NULL): `call` is called several times a second while a read waits for input; what it returns
     * other than WEIR_OK ends that read. */
    void (*idle)(weir_source *source, weir_err (*call)(void *user), void *user);
    /* Optional (NULL: runs from it have no checkpoints): what the input is, and how it is read, as one line of
     * text, the same in every process as long as the input has not changed. WEIR_E_USAGE: a pipe. */
    weir_err (*identity)(weir_source *source, char *text, size_t size);
    /* Optional (NULL: all is read again): after the start and before the first read, goes to frame number `frames`,
     * counted from 0 over all segments, or to an earlier one: says to which; what is between is read and dropped. */
    weir_err (*seek)(weir_source *source, uint64_t frames, uint64_t *ret_frames);
} weir_source_ops;

struct weir_source {
    const weir_source_ops *ops; /* every source starts so */
};

/* A checkpoint that is written or read: bytes in order. */
typedef struct weir_checkpoint weir_checkpoint;
/* WEIR_E_IO; get: WEIR_E_USAGE where fewer are left. */
WEIR_API WEIR_NODISCARD weir_err weir_checkpoint_put(weir_checkpoint *checkpoint,
                                                     const void *from,
                                                     size_t bytes);
WEIR_API WEIR_NODISCARD weir_err weir_checkpoint_get(weir_checkpoint *checkpoint,
                                                     void *to,
                                                     size_t bytes);

/* A sink's functions: required unless stated, called from the chain's thread only, without locks. */
typedef struct weir_sink_ops {
    size_t ops_size; /* sizeof(weir_sink_ops) of who filled it */
    const char *name;
    /* Bytes of buffer that it needs for such a stream; refuses what the format cannot hold
     * (WEIR_E_USAGE names the loss). Pure. */
    weir_err (*plan)(weir_sink *sink, const weir_spec *spec, uint64_t *ret_bytes);
    /* Lends those bytes until close; opens the output. `chain` is the chain as text. Once. */
    weir_err (*start)(weir_sink *sink, const weir_spec *spec, const weir_source_info *source,
                      const char *chain, void *memory);
    /* One block of output, borrowed for the call. WEIR_E_IO. */
    weir_err (*write)(weir_sink *sink, const weir_message *block);
    /* Makes what was written so far readable by others. Called each second. */
    weir_err (*flush)(weir_sink *sink);
    /* Completes the output and gives it its name. Once. Not called after an error, nor of a run that was
     * interrupted: flush is then the last call before close. */
    weir_err (*finish)(weir_sink *sink);
    /* Ends it; what was not finished stays as NAME.part. */
    void (*close)(weir_sink *sink);
    /* The next three are optional together (NULL: the output cannot be resumed); see weir_run_options.
     * Makes what was written so far durable, instead of flush, and puts into the checkpoint what resume needs.
     * Before the start too: nothing is written then. `last`: nothing follows but finish. WEIR_E_IO; WEIR_E_USAGE:
     * a pipe. */
    weir_err (*position)(weir_sink *sink, weir_checkpoint *checkpoint, bool last);
    /* The checkpoint with the last position is durable. */
    weir_err (*commit)(weir_sink *sink);
    /* Before the start: the output goes on from the position, all that follows it is removed. WEIR_E_USAGE names
     * what does not fit: another output, or one that has less than the position states. */
    weir_err (*resume)(weir_sink *sink, weir_checkpoint *checkpoint);
} weir_sink_ops;

struct weir_sink {
    const weir_sink_ops *ops; /* every sink starts so */
};

/* NULL is ignored. */
WEIR_API void weir_source_close(weir_source *source);
WEIR_API void weir_sink_close(weir_sink *sink);
/* Lent until close. */
WEIR_API const weir_source_info *weir_source_info_get(weir_source *source);

/* ---- building ----------------------------------------------------------------------------- */

#define WEIR_UNSET (UINT64_MAX - 1)  /* not stated: environment, then default, decides (M8) */
#define WEIR_TILE_AUTO 0u            /* from the size of the processor's L2 cache */
#define WEIR_THREADS_MAX 64u         /* of a chain */

typedef struct weir_chain_options {
    size_t options_size;      /* sizeof(weir_chain_options) */
    weir_heap *heap;          /* NULL = host; must be addressable by the host: no device runs chains yet */
    const char *policy;       /* of the chain's cache; NULL = fit */
    uint64_t memory_limit;    /* bytes; WEIR_NO_LIMIT = the plan itself is the limit */
    uint64_t cache_limit;     /* bytes */
    uint64_t tile_frames;     /* WEIR_TILE_AUTO or 1..2^24 */
    uint64_t threads;         /* 1; up to WEIR_THREADS_MAX */
    double gap_tolerance_s;   /* S4; NAN = not stated: 1 ms */
    const char *name;         /* of the chain's file, for messages; NULL = none */
    bool fuse;                /* true: neighbours go through a tile together; false: one by one. The
                                 same bits */
    bool checkpoints;         /* a run may write them: their memory is planned */
    uint64_t reserved[4];     /* 0 */
} weir_chain_options;

/* Everything unset. */
WEIR_API weir_chain_options weir_chain_options_default(void);

/* Makes an empty chain with a cache of its own. WEIR_E_USAGE: an option is out of range, options_size is not
 * set, or the heap is a device's. WEIR_E_PLAN: the chain itself is above the memory limit. WEIR_E_NOMEM. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_create(const weir_chain_options *options,
                                                   weir_chain **ret_chain);
/* NULL is ignored. */
WEIR_API void weir_chain_destroy(weir_chain *chain);

#define WEIR_CHAIN_INPUT (-1)

/* Adds a unit behind `parent` (WEIR_CHAIN_INPUT or a node) and says its node. Several units may
 * follow one parent: the stream is split. Values are copied; `mark` (or NULL) says where the unit's
 * name stands in its file. WEIR_E_CHAIN: unknown unit or setting, a value of wrong type, unit or
 * range; WEIR_E_USAGE: the chain is planned already. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_add(weir_chain *chain,
                                                int parent,
                                                const char *unit,
                                                const weir_value *settings,
                                                size_t setting_count,
                                                const weir_value *mark,
                                                int *ret_node);

/* The same for a unit with several inputs (flag WEIR_UNIT_JOINS): parents[parent_count], 2 to 8 of them,
 * each WEIR_CHAIN_INPUT or a node, in the order that the unit's page states. Inputs are aligned by time:
 * their rates must be equal and their first times differ by whole frames; what a branch is ahead of the
 * slowest one waits in a planned buffer. Group delays are not compensated. Errors as weir_chain_add. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_join(weir_chain *chain,
                                                 const int *parents,
                                                 size_t parent_count,
                                                 const char *unit,
                                                 const weir_value *settings,
                                                 size_t setting_count,
                                                 const weir_value *mark,
                                                 int *ret_node);

/* Names the output behind a node (WEIR_CHAIN_INPUT where the chain is empty). Without any such call
 * every node that nothing follows is an output, named after its unit. Outputs count from 0 in the
 * order of calls. WEIR_E_CHAIN: the name is there already. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_output(weir_chain *chain, int node, const char *name);

/* The chain as text, kept for side files. Copied. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_set_text(weir_chain *chain, const char *text);

/* The cache of the chain's own heap, lent. Any thread may read its statistics and change its limits, also while the
 * chain runs. A memory limit below what is in use is WEIR_E_LIMIT and changes nothing (M5); above that the chain
 * goes on as planned, since after the first push it allocates nothing. The start sets the limit of the options. */
WEIR_API weir_cache *weir_chain_cache(weir_chain *chain);
WEIR_API double weir_chain_gap_tolerance(const weir_chain *chain);

/* ---- planning ----------------------------------------------------------------------------- */

/* What never settles: counters, adaptive units. */
#define WEIR_SETTLES_NEVER UINT64_MAX

typedef struct weir_plan_part {
    size_t part_size;         /* set by the library: bytes from one part to the next */
    const char *name;         /* "2 butterworth" */
    const char *kind;         /* "unit" "edge" "spare" "scratch" "tile" "reader" "writer" "threads"
                                 "charges" "records" (of the cache) "record port" (of a unit: weir_chain_on_records)
                                 "checkpoint" */
    uint64_t bytes;
    uint64_t capacity_frames; /* of an edge or tile; else 0 */
    const weir_spec *spec;    /* what it holds or outputs; NULL = none */
    double input_rate_hz;     /* of a unit; else 0 */
    /* Of a unit, in frames of its input: */
    uint64_t lag_frames;      /* what must have come after the first frame before an output frame is out */
    double delay_frames;      /* group delay; NAN = differs by frequency */
    uint64_t settle_frames;   /* until earlier input matters by less than 1e-6 of its largest difference;
                                 WEIR_SETTLES_NEVER */
} weir_plan_part;

typedef struct weir_plan {
    size_t plan_size;            /* set by the library */
    const weir_plan_part *parts; /* by weir_plan_part_at; parts[i] while part_size is sizeof *parts */
    size_t part_count;
    uint64_t total_bytes;        /* of both heaps: */
    uint64_t host_bytes;         /* in host memory */
    uint64_t device_bytes;       /* on the chain's heap, where that is a device's; else 0 */
    uint64_t memory_limit_bytes; /* of each heap; WEIR_NO_LIMIT = none stated */
    bool fits;
    uint64_t tile_frames;
    uint64_t threads;
    /* Of the whole chain, the largest of its outputs, in frames of the chain's input. */
    uint64_t lag_frames;
    double delay_frames;    /* NAN = differs by frequency */
    uint64_t settle_frames; /* WEIR_SETTLES_NEVER */
} weir_plan;

/* Part number `number`, whatever the size of a part is in the library; NULL from part_count on. */
WEIR_API const weir_plan_part *weir_plan_part_at(const weir_plan *plan, size_t number);

/* Plans the chain for a stream that is pushed. Fixes the chain: nothing can be added afterwards; a
 * second plan replaces the first until the run has started. The plan is lent until then.
 * WEIR_E_CHAIN: a setting does not suit the input (cutoff above half the rate). A plan above the
 * memory limit is not an error here: see fits. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_plan(weir_chain *chain,
                                                 const weir_spec *input,
                                                 const weir_plan **ret_plan);

/* The same for a run from a source to sinks, one an output, NULL = none. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_plan_run(weir_chain *chain,
                                                     weir_source *source,
                                                     weir_sink *const *sinks,
                                                     size_t sink_count,
                                                     const weir_plan **ret_plan);

/* Bytes of a part of the plan that were written since the chain started, measured: before the first frame its
 * buffer is filled with a pattern, and what is no longer the pattern was used. Stacks, records, declared
 * charges and spare constants are not measured (their planned bytes are returned). Not fast. 0 before the start. */
WEIR_API uint64_t weir_chain_used_bytes(const weir_chain *chain, size_t part);

/* Output frames of an output, after `frames` input frames since the start of a segment. After planning. */
WEIR_API uint64_t weir_chain_due(const weir_chain *chain, size_t output, uint64_t frames);

/* Outputs, after planning. */
WEIR_API size_t weir_chain_output_count(const weir_chain *chain);
WEIR_API const char *weir_chain_output_name(const weir_chain *chain, size_t output);
WEIR_API const weir_spec *weir_chain_output_spec(const weir_chain *chain, size_t output);

/* ---- running ------------------------------------------------------------------------------ */

/* Takes one block of output, lent for the call. An error ends the push and is returned by it. */
typedef weir_err (*weir_sink_fn)(void *user, const weir_message *block);

/* Processes one message (borrowed for the call, S7); the sink is called for what comes out. Nothing waits for a
 * tile to be full: all frames of the message are processed before the call returns, and all output that they make
 * due is out; a tile is only the most that is processed at a time. The first push
 * allocates all buffers: WEIR_E_PLAN where the plan is above the limit; no later push allocates anything.
 * A message that starts a new segment ends the open one first (see weir_chain_finish).
 * WEIR_E_USAGE: not planned, planned for a source, another spec, called from the sink, or a first frame that is
 * not within 292 years of the origin (times are ns in 64 bits).
 * An error of the sink ends the call and is returned as it is: nothing is reset. weir_chain_consumed says how
 * many frames of the message were consumed; the refused block is kept and offered again by the next call,
 * which goes on with the frames that were not consumed. weir_chain_reset drops both. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_push(weir_chain *chain,
                                                 const weir_message *message,
                                                 weir_sink_fn sink,
                                                 void *user);

/* Frames of the last push's message that were consumed; all of them where it returned WEIR_OK. */
WEIR_API size_t weir_chain_consumed(const weir_chain *chain);

/* Ends the segment of a pushed stream: units that look ahead output what is due, partial windows and bins are
 * dropped and counted. The next push starts a new segment. Errors of the sink as in weir_chain_push. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_finish(weir_chain *chain, weir_sink_fn sink, void *user);

/* As weir_chain_push, for chains with one output: the output goes into rows[capacity x output columns], and
 * *ret_block says what came (0 frames: nothing yet). Where capacity is less than what is due (see
 * weir_chain_due), or a new segment begins behind the first frames that came out, part of the message is left:
 * weir_chain_consumed says how much was consumed; call again with the rest. Where rows were filled, more may be
 * due of frames consumed already: a message of 0 frames takes that too.
 * An error of a function of weir_chain_on_records is returned by the next call where frames have come already. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_push_into(weir_chain *chain,
                                                      const weir_message *message,
                                                      void *rows,
                                                      size_t capacity,
                                                      weir_message *ret_block);

/* Reads from the source of weir_chain_plan_run until rows[capacity x output columns] is full or the source has
 * ended, and says what came (0 frames = the end). A block never spans two segments. Chains with one output
 * only. WEIR_E_USAGE: no source, called from a sink. An error of the source is returned as it is; the next call
 * goes on. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_pull(weir_chain *chain,
                                                 void *rows,
                                                 size_t capacity,
                                                 weir_message *ret_block);

/* ---- events -------------------------------------------------------------------------------- */

typedef enum weir_event_kind {
    WEIR_EVENT_SEGMENT, /* a segment begins, with the first frame after a start or a gap */
    WEIR_EVENT_NOTICE   /* the source has found something while it was read */
} weir_event_kind;

typedef struct weir_event {
    size_t event_size; /* set by the library */
    weir_event_kind kind;
    uint64_t segment;  /* its number, as blocks of output state it */
    int64_t start_ns;  /* of its first frame, from the recording's origin */
    int64_t gap_ns;    /* from the end of the segment before; 0 of the first, negative where time went back */
    const char *text;  /* of a notice, else NULL */
} weir_event;

/* Called in the thread that pushes, pulls or runs: of a segment after all output of the one before it and before
 * its own. Must not call the chain. */
typedef void (*weir_event_fn)(void *user, const weir_event *event);

/* Sets who is told from now on; NULL: nobody. Notices from before the start: weir_chain_notices and the source's
 * info. */
WEIR_API void weir_chain_on_event(weir_chain *chain, weir_event_fn call, void *user);

/* ---- records ------------------------------------------------------------------------------- */

/* Events that a unit found, borrowed for the call. All of them are of one segment. The time of a record is
 * segment_start_ns + spec->dims[0].start + index / spec->rate_hz. */
typedef struct weir_record_batch {
    size_t batch_size; /* set by the library */
    const weir_record *records;
    size_t count;           /* 1 or more */
    const weir_spec *spec;  /* of the unit's input: rate, labels and physical units of its channels */
    int64_t segment_start_ns;
    int node;
} weir_record_batch;

typedef weir_err (*weir_records_fn)(void *user, const weir_record_batch *batch);

/* Calls fn with the records of a node whose unit has the flag WEIR_UNIT_RECORDS, during push, pull, finish and
 * run, in the caller's floating-point mode; NULL = nobody takes them. In one batch after the other the records
 * are ordered by (segment, index, column): the same sequence for any message boundaries, tiles, threads and
 * blocks. An error of fn ends the call like an error of a sink: that batch is offered again by the next call,
 * weir_chain_reset drops it. Calling the chain from fn is refused (WEIR_E_USAGE). May be called before and after
 * planning. WEIR_E_USAGE: no such node, its unit has no records, called from a sink. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_on_records(weir_chain *chain,
                                                       int node,
                                                       weir_records_fn fn,
                                                       void *user);

/* As before the first frame; buffers stay. */
WEIR_API void weir_chain_reset(weir_chain *chain);

/* ---- settings while running ---------------------------------------------------------------- */

/* Changes a live setting of a node's unit (its page says which are) from the next input frame of that unit
 * on; state is kept unless the unit's page says otherwise. WEIR_E_CHAIN: no such setting, not live, a value
 * of wrong type, unit or range, or one that would change shape, rate, counts or bytes: nothing has changed
 * then. WEIR_E_USAGE: no such node, not planned, called from a sink. */
WEIR_API WEIR_NODISCARD weir_err
weir_chain_set(weir_chain *chain, int node, const weir_value *setting);

/* ---- saved state --------------------------------------------------------------------------- */

/* Bytes of the chain's state as weir_chain_save writes it. After the start; 0 before. */
WEIR_API uint64_t weir_chain_state_bytes(const weir_chain *chain);

/* Writes the state into blob[size], between two pushes: places, the units' state in channel order, frames
 * that wait for other branches, live settings. It fits the same chain under any tile length, threads and
 * channel blocks, in any process of the same version and SIMD level. WEIR_E_USAGE: too small, not started,
 * frames are waiting (a refused block, a pull that is not at a block's end). */
WEIR_API WEIR_NODISCARD weir_err weir_chain_save(const weir_chain *chain, void *blob, size_t size);

/* Goes on from a saved state: the same bits as without interruption (S10). The chain is planned; where it has
 * not started it starts. WEIR_E_USAGE names what differs: damaged, another version, SIMD level, chain,
 * settings or input; the chain is then as after a reset. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_restore(weir_chain *chain, const void *blob, size_t size);

/* ---- runs ---------------------------------------------------------------------------------- */

typedef struct weir_progress {
    size_t progress_size;             /* set by the library */
    uint64_t frames_in, frames_total; /* frames_total may be WEIR_FRAMES_UNKNOWN */
    double seconds;                   /* since the start */
    double rate_hz;
    uint64_t plan_bytes, memory_limit_bytes;
    weir_cache *cache;                /* for its statistics */
    uint64_t resumed_frames;          /* of frames_in: of the runs before, see weir_run_options */
} weir_progress;

typedef struct weir_run_options {
    size_t options_size;
    uint64_t message_frames; /* cut of the input; 0 = by tiles */
    /* The length of the next message, 0 allowed; instead of message_frames. NULL = none. */
    weir_err (*next_message)(void *user, uint64_t *ret_frames);
    /* Called after each tile; may change live settings; false interrupts. NULL = none. */
    bool (*progress)(void *user, const weir_progress *progress);
    void *user;
    /* Path of a checkpoint, or NULL = none: written with each flush and when the run is interrupted, removed when
     * the run has finished. A file that is there already is an error, unless `resume` is set: then the run goes
     * on from it, and from the beginning where there is none. Needs weir_chain_options.checkpoints, and of the
     * sinks that they were made to be resumed (weir_output_options.resume). */
    const char *checkpoint;
    bool resume;
    uint64_t reserved[4]; /* 0 */
} weir_run_options;

/* By tiles, without progress. */
WEIR_API weir_run_options weir_run_options_default(void);

typedef struct weir_run_report {
    size_t report_size;         /* sizeof(weir_run_report), set by the caller */
    uint64_t frames_in;
    uint64_t frames_out;        /* of all outputs */
    double seconds;
    double x_real_time;
    uint64_t plan_bytes;
    uint64_t memory_limit_bytes;
    uint64_t rss_before_bytes;  /* peak before the run took its buffers */
    uint64_t rss_peak_bytes;    /* peak at its end */
    uint64_t segments;
    uint64_t messages;
    uint64_t missing_samples;   /* at the chain's input (S5) */
    uint64_t unfinished_frames; /* what did not fill a bin or window, over all units (S9) */
    bool resumed;               /* it went on from a checkpoint; counts are those of all its runs, but seconds
                                   and messages */
    uint64_t resumed_frames;    /* of frames_in: of the runs before */
} weir_run_report;

/* Runs a planned chain from source to sinks: start, read, push, flush each second, finish. After
 * WEIR_E_INTERRUPTED the outputs are flushed and stay NAME.part. *ret_report is written in every case but one:
 * WEIR_E_USAGE where its size is not set.
 * With a checkpoint, WEIR_E_USAGE names what differs: input, chain, settings, outputs, version or SIMD level. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_run(weir_chain *chain,
                                                const weir_run_options *options,
                                                weir_run_report *ret_report);

/* What a node's unit met so far. */
typedef struct weir_unit_report {
    size_t report_size;      /* sizeof(weir_unit_report), set by the caller */
    const char *name;
    const uint64_t *missing; /* samples that were not finite, one count a channel (S5); lent */
    uint64_t channels;
    uint64_t missing_total;
    uint64_t unfinished_frames; /* of the input, that did not fill a bin or window: dropped at gaps, and
                                   held now */
    uint64_t saturated;
} weir_unit_report;

WEIR_API size_t weir_chain_node_count(const weir_chain *chain);
/* WEIR_E_USAGE: no such node, or report_size is not set. */
WEIR_API weir_err weir_chain_node_report(const weir_chain *chain,
                                         size_t node,
                                         weir_unit_report *ret_report);

/* Notices of the chain (settings without effect, renamed channels), capped. Lent. */
WEIR_API const char *const *weir_chain_notices(const weir_chain *chain, size_t *ret_count);

/* What an array library would do with one message of `frames` frames, after `before` frames of the segment:
 * allocates a buffer in `cache` for the whole output of each step and frees it after the last step that reads
 * it. Computes nothing, and does not change the state of the chain. For traces and comparisons; after
 * planning. WEIR_E_USAGE: not planned; WEIR_E_LIMIT, WEIR_E_NOMEM: refused by the cache, in which nothing
 * stays in use. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_untiled(weir_chain *chain,
                                                    weir_cache *cache,
                                                    uint64_t before,
                                                    uint64_t frames);

/* Resident set of this process now and its peak, bytes; 0 where the system does not say. */
WEIR_API void weir_rss_read(uint64_t *ret_now, uint64_t *ret_peak);

#ifdef __cplusplus
}
#endif
#endif
