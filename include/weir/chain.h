/* SPDX-License-Identifier: MIT
 *
 * weir/chain.h: a chain of processing units: built by calls, planned for an input, run tile by tile within
 * its planned memory. Also the functions of sources and sinks.
 *
 * Threads. A chain is used by one thread at a time, which may differ from call to call. Chains share nothing, so
 * several may run at once. Callbacks (sinks, sources, events, progress) run in the thread of the current call, never
 * in the chain's own threads, and must not call the chain. All functions of cache.h on weir_chain_cache(chain) may be
 * called from any thread at any time while the chain exists.
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

/* An annotation of a recording, in the time of its segments. */
typedef struct weir_annotation {
    int64_t onset_ns;    /* from the recording's origin */
    int64_t duration_ns; /* -1 = not stated */
    const char *text;    /* UTF-8 */
} weir_annotation;

/* Description of a source. Borrowed pointers, valid until the source is closed. */
typedef struct weir_source_info {
    size_t info_size;             /* sizeof(weir_source_info), set by the source */
    const char *format;           /* "npy", "edf" */
    weir_spec spec;               /* of the rows that read() fills */
    uint64_t frames;              /* total, after selection; WEIR_FRAMES_UNKNOWN */
    const double *scales;         /* one per channel: physical value of one count; NULL = none */
    const weir_segment *segments; /* the first of them; lists are capped */
    size_t segment_count;         /* entries in segments */
    uint64_t segments_left_out;   /* number of further ones */
    const char *start_time;       /* ISO 8601, from the recording; "" = not stated */
    const char *const *notices;
    size_t notice_count;
    uint64_t notices_left_out;
    const weir_annotation *annotations; /* the first of them, in the recording's order */
    size_t annotation_count;
    uint64_t annotations_left_out;
    /* Variant of the format: "BDF+D", "NSx 3.0", a dataset; NULL = the format has only one. */
    const char *variant;
} weir_source_info;

/* Functions of a source. Each is required unless it is marked optional, and is called without locks, in the thread
 * that calls the chain. */
typedef struct weir_source_ops {
    size_t ops_size; /* sizeof(weir_source_ops), set by the source */
    const char *name;
    const weir_source_info *(*info)(weir_source *source);
    /* Buffer bytes needed to fill tiles of that capacity. Pure. */
    weir_err (*plan)(weir_source *source, uint64_t tile_frames, uint64_t *ret_bytes);
    /* `memory`: those bytes, 64-byte aligned, valid until close. Called once, before the first read. */
    weir_err (*start)(weir_source *source, uint64_t tile_frames, void *memory);
    /* Fills rows[capacity x columns] with the next frames and states their number and time (frames,
     * segment, segment_start_ns, first_index of *ret). 0 frames = the end. Never spans two segments.
     * May block. WEIR_E_RECORDING, WEIR_E_IO; WEIR_E_INTERRUPTED if a signal ended a wait. */
    weir_err (*read)(weir_source *source, void *rows, size_t capacity, weir_message *ret);
    /* Closes the source and frees it. */
    void (*close)(weir_source *source);
    /* Optional (NULL): `call` is called several times a second while a read waits for input; if it returns
     * an error, the read ends with it. */
    void (*idle)(weir_source *source, weir_err (*call)(void *user), void *user);
    /* Optional (NULL: runs from it cannot have checkpoints): identifies the input and its options in one line
     * of text, equal in every process as long as the input has not changed. WEIR_E_USAGE: a pipe. */
    weir_err (*identity)(weir_source *source, char *text, size_t size);
    /* Optional (NULL: all is read again): after the start and before the first read, seeks to frame number `frames`,
     * counted from 0 over all segments, or to an earlier one, and states which; frames between are read and dropped. */
    weir_err (*seek)(weir_source *source, uint64_t frames, uint64_t *ret_frames);
} weir_source_ops;

struct weir_source {
    const weir_source_ops *ops; /* first member of every source */
};

/* A checkpoint being written or read: a sequence of bytes. */
typedef struct weir_checkpoint weir_checkpoint;
/* WEIR_E_IO; get: WEIR_E_USAGE if fewer bytes are left. */
WEIR_API WEIR_NODISCARD weir_err weir_checkpoint_put(weir_checkpoint *checkpoint,
                                                     const void *from,
                                                     size_t bytes);
WEIR_API WEIR_NODISCARD weir_err weir_checkpoint_get(weir_checkpoint *checkpoint,
                                                     void *to,
                                                     size_t bytes);

/* Functions of a sink. Each is required unless it is marked optional, and is called without locks, in the thread
 * that calls the chain. */
typedef struct weir_sink_ops {
    size_t ops_size; /* sizeof(weir_sink_ops), set by the sink */
    const char *name;
    /* Buffer bytes needed for such a stream. WEIR_E_USAGE: the format cannot represent it; the detail states
     * what would be lost. Pure. */
    weir_err (*plan)(weir_sink *sink, const weir_spec *spec, uint64_t *ret_bytes);
    /* Opens the output. `memory`: those bytes, valid until close. `chain` is the chain as text. Called once. */
    weir_err (*start)(weir_sink *sink,
                      const weir_spec *spec,
                      const weir_source_info *source,
                      const char *chain,
                      void *memory);
    /* Writes one block of output, which is valid only during the call. WEIR_E_IO. */
    weir_err (*write)(weir_sink *sink, const weir_message *block);
    /* Makes everything written so far readable by other programs. Called every second. */
    weir_err (*flush)(weir_sink *sink);
    /* Completes the output and renames it to its final name. Called once, but not after an error or an
     * interruption: flush is then the last call before close. */
    weir_err (*finish)(weir_sink *sink);
    /* Closes the sink and frees it; an unfinished output stays as NAME.part. */
    void (*close)(weir_sink *sink);
    /* The next three are optional together (NULL: the output cannot be resumed); see weir_run_options.
     * position replaces flush: it syncs everything written so far to the disk and writes into the checkpoint what
     * resume needs. Also called before the start, when nothing is written yet. `last`: only finish follows.
     * WEIR_E_IO; WEIR_E_USAGE: a pipe. */
    weir_err (*position)(weir_sink *sink, weir_checkpoint *checkpoint, bool last);
    /* The checkpoint with the last position is on the disk. */
    weir_err (*commit)(weir_sink *sink);
    /* Called before the start: the output continues from the position, everything after it is removed.
     * WEIR_E_USAGE: another output, or one shorter than the position. */
    weir_err (*resume)(weir_sink *sink, weir_checkpoint *checkpoint);
} weir_sink_ops;

struct weir_sink {
    const weir_sink_ops *ops; /* first member of every sink */
};

/* NULL is ignored. */
WEIR_API void weir_source_close(weir_source *source);
WEIR_API void weir_sink_close(weir_sink *sink);
/* Borrowed pointer, valid until close. */
WEIR_API const weir_source_info *weir_source_info_get(weir_source *source);

/* ---- building ----------------------------------------------------------------------------- */

#define WEIR_UNSET                                                                                 \
    (UINT64_MAX - 1)         /* not stated: taken from the environment, else the default (M8) */
#define WEIR_TILE_AUTO   0u  /* from the size of the processor's L2 cache */
#define WEIR_THREADS_MAX 64u /* per chain */

typedef struct weir_chain_options {
    size_t options_size; /* sizeof(weir_chain_options) */
    /* NULL = host; must be addressable by the host: chains do not run on devices yet */
    weir_heap *heap;
    const char *policy;     /* of the chain's cache; NULL = fit */
    uint64_t memory_limit;  /* bytes; WEIR_NO_LIMIT = the plan itself is the limit */
    uint64_t cache_limit;   /* bytes */
    uint64_t tile_frames;   /* WEIR_TILE_AUTO or 1..2^24 */
    uint64_t threads;       /* 1; up to WEIR_THREADS_MAX */
    double gap_tolerance_s; /* S4; NAN = not stated: 1 ms */
    const char *name;       /* name of the chain's file, for messages; NULL = none */
    bool fuse;              /* true: neighbouring units process a tile together; false: one by one.
                                 The bits are the same */
    bool checkpoints;       /* plan the memory for checkpoints */
    uint64_t reserved[4];   /* 0 */
} weir_chain_options;

/* All options unset. */
WEIR_API weir_chain_options weir_chain_options_default(void);

/* Creates an empty chain with its own cache. WEIR_E_USAGE: an option is out of range, options_size is not
 * set, or the heap is a device heap. WEIR_E_PLAN: the chain itself is above the memory limit. WEIR_E_NOMEM. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_create(const weir_chain_options *options,
                                                   weir_chain **ret_chain);
/* NULL is ignored. */
WEIR_API void weir_chain_destroy(weir_chain *chain);

#define WEIR_CHAIN_INPUT (-1)

/* Adds a processing unit after `parent` (WEIR_CHAIN_INPUT or a node) and returns its node. Several units may
 * follow one parent: the stream is split. Values are copied; `mark` (or NULL) is the place of the unit's
 * name in its file. A composite unit (bandpower) adds one node per part, named "bandpower.window" in plans and errors;
 * the node returned is the last. WEIR_E_CHAIN: unknown unit or setting, a value of wrong type, physical unit or range.
 * WEIR_E_USAGE: the chain is already planned. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_add(weir_chain *chain,
                                                int parent,
                                                const char *unit,
                                                const weir_value *settings,
                                                size_t setting_count,
                                                const weir_value *mark,
                                                int *ret_node);

/* The same for a unit with several inputs (flag WEIR_UNIT_JOINS): parents[parent_count], 2 to 8 of them,
 * each WEIR_CHAIN_INPUT or a node, in the order stated on the unit's page. Inputs are aligned by time: their
 * rates must be equal and their first times must differ by whole frames. Frames of a branch that is ahead of the
 * slowest one wait in a planned buffer. Group delays are not compensated. Errors as weir_chain_add. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_join(weir_chain *chain,
                                                 const int *parents,
                                                 size_t parent_count,
                                                 const char *unit,
                                                 const weir_value *settings,
                                                 size_t setting_count,
                                                 const weir_value *mark,
                                                 int *ret_node);

/* Makes the output of a node an output of the chain, with a name (WEIR_CHAIN_INPUT if the chain is empty).
 * Without any such call every node without followers is an output, named after its unit. Outputs are counted
 * from 0 in the order of calls. WEIR_E_CHAIN: the name already exists. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_output(weir_chain *chain, int node, const char *name);

/* Sets the chain's text, for side files. Copied. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_set_text(weir_chain *chain, const char *text);

/* The chain's cache. Borrowed pointer, valid until the chain is destroyed. Any thread may read its statistics and
 * change its limits, also while the chain runs. A memory limit below the bytes in use is WEIR_E_LIMIT and changes
 * nothing (M5); any other does not affect the chain, which allocates nothing after the first push. The start sets
 * the limit of the options. */
WEIR_API weir_cache *weir_chain_cache(weir_chain *chain);
WEIR_API double weir_chain_gap_tolerance(const weir_chain *chain);

/* ---- planning ----------------------------------------------------------------------------- */

typedef struct weir_plan_part {
    size_t part_size; /* set by the library: distance of two parts in bytes */
    const char *name; /* "2 butterworth" */
    const char *kind; /* "unit" "edge" "spare" "scratch" "tile" "reader" "writer" "threads"
                                 "charges" "records" (the cache's own metadata) "record port" (for
                                 weir_chain_on_records) "checkpoint" */
    uint64_t bytes;
    uint64_t capacity_frames; /* of an edge (buffer between units) or tile; else 0 */
    const weir_spec *spec;    /* of the frames that it contains or outputs; NULL = none */
    double input_rate_hz;     /* of a processing unit; else 0 */
    /* Of a processing unit, in frames of its input: */
    uint64_t lag_frames; /* frames needed after the first one before the first output frame */
    double delay_frames; /* group delay; NAN = differs by frequency */
    /* until the effect of earlier input is below 1e-6 of its largest difference;
     * WEIR_SETTLES_NEVER */
    uint64_t settle_frames;
} weir_plan_part;

typedef struct weir_plan {
    size_t plan_size; /* set by the library */
    /* use weir_plan_part_at; parts[i] only if part_size is sizeof *parts */
    const weir_plan_part *parts;
    size_t part_count;
    uint64_t total_bytes;        /* of both heaps: */
    uint64_t host_bytes;         /* in host memory */
    uint64_t device_bytes;       /* on the chain's heap, if that is a device heap; else 0 */
    uint64_t memory_limit_bytes; /* of each heap; WEIR_NO_LIMIT = none stated */
    bool fits;
    uint64_t tile_frames;
    uint64_t threads;
    /* Of the whole chain, in frames of its input: the largest value of all outputs. */
    uint64_t lag_frames;
    double delay_frames;    /* NAN = differs by frequency */
    uint64_t settle_frames; /* WEIR_SETTLES_NEVER */
} weir_plan;

/* Part number `number`, for any size of a part in the library; NULL from part_count on. */
WEIR_API const weir_plan_part *weir_plan_part_at(const weir_plan *plan, size_t number);

/* Plans the chain for a stream that is pushed. Nothing can be added to the chain afterwards. Before
 * the start the chain can be planned again: the new plan replaces the old one. Borrowed pointer, valid until the
 * chain is planned again or destroyed. WEIR_E_CHAIN: a setting does not suit the input (cutoff above the Nyquist
 * frequency). A plan above the memory limit is not an error here: see fits. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_plan(weir_chain *chain,
                                                 const weir_spec *input,
                                                 const weir_plan **ret_plan);

/* The same for a run from a source to sinks, one per output, NULL = none. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_plan_run(weir_chain *chain,
                                                     weir_source *source,
                                                     weir_sink *const *sinks,
                                                     size_t sink_count,
                                                     const weir_plan **ret_plan);

/* Bytes of a part of the plan that were written since the chain started. They are measured: the buffer is filled
 * with a pattern before the first frame, and bytes that differ from it were used. Stacks, records, declared charges
 * and spare constants are not measured (their planned bytes are returned). Slow. 0 before the start. */
WEIR_API uint64_t weir_chain_used_bytes(const weir_chain *chain, size_t part);

/* Number of frames that an output has delivered after `frames` input frames of a segment. After planning. */
WEIR_API uint64_t weir_chain_due(const weir_chain *chain, size_t output, uint64_t frames);

/* Outputs of the chain, after planning. */
WEIR_API size_t weir_chain_output_count(const weir_chain *chain);
WEIR_API const char *weir_chain_output_name(const weir_chain *chain, size_t output);
WEIR_API const weir_spec *weir_chain_output_spec(const weir_chain *chain, size_t output);

/* ---- running ------------------------------------------------------------------------------ */

/* Receives one block of output, valid only during the call. An error ends the push and is returned by it. */
typedef weir_err (*weir_sink_fn)(void *user, const weir_message *block);

/* Processes one message (borrowed for the call, S7); the sink is called for each block of output. All
 * frames of the message are processed before the call returns, and all output due is delivered, whether a tile is
 * full or not; a tile is only the largest number of frames processed at a time. The first push allocates all buffers
 * (WEIR_E_PLAN if the plan is above the limit); later ones allocate nothing.
 * A message that starts a new segment first ends the current one (see weir_chain_finish).
 * WEIR_E_USAGE: not planned, planned for a source, another spec, called from the sink, or a first frame that is not
 * within 292 years of the origin (times are ns in 64 bits).
 * An error of the sink ends the call and is returned unchanged; nothing is reset. weir_chain_consumed returns the
 * number of frames of the message that were consumed. The refused block is kept and offered again by the next call,
 * which must continue with the frames not consumed. weir_chain_reset drops both. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_push(weir_chain *chain,
                                                 const weir_message *message,
                                                 weir_sink_fn sink,
                                                 void *user);

/* Frames of the last push's message that were consumed; all of them if it returned WEIR_OK. */
WEIR_API size_t weir_chain_consumed(const weir_chain *chain);

/* Ends the segment of a pushed stream: units that look ahead output what is due, partial windows and bins are
 * dropped and counted. The next push starts a new segment. Errors of the sink as in weir_chain_push. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_finish(weir_chain *chain,
                                                   weir_sink_fn sink,
                                                   void *user);

/* As weir_chain_push, for chains with one output: the output is written into rows[capacity x output columns],
 * and *ret_block describes it (0 frames: nothing yet). If capacity is less than the frames due (see weir_chain_due),
 * or a new segment begins after the first output frames, part of the message is left: weir_chain_consumed returns
 * the frames consumed; call again with the rest. If rows is full, more output may be due from frames already
 * consumed: push a message of 0 frames to get it.
 * An error of a function of weir_chain_on_records is returned by the next call if this one has output frames. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_push_into(weir_chain *chain,
                                                      const weir_message *message,
                                                      void *rows,
                                                      size_t capacity,
                                                      weir_message *ret_block);

/* Reads from the source of weir_chain_plan_run until rows[capacity x output columns] is full or the source has
 * ended; *ret_block describes the output (0 frames = the end). A block never spans two segments. Chains with one output
 * only. WEIR_E_USAGE: no source, called from a sink. An error of the source is returned unchanged; the next call
 * continues. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_pull(weir_chain *chain,
                                                 void *rows,
                                                 size_t capacity,
                                                 weir_message *ret_block);

/* ---- events -------------------------------------------------------------------------------- */

typedef enum weir_event_kind {
    WEIR_EVENT_SEGMENT, /* a segment begins: the first frame after a start or a gap */
    WEIR_EVENT_NOTICE   /* a notice of the source while it is read */
} weir_event_kind;

typedef struct weir_event {
    size_t event_size; /* set by the library */
    weir_event_kind kind;
    uint64_t segment; /* its number, as in blocks of output */
    int64_t start_ns; /* of its first frame, from the recording's origin */
    /* since the end of the previous segment; 0 for the first, negative if time went back */
    int64_t gap_ns;
    const char *text; /* of a notice, else NULL */
} weir_event;

/* Called in the thread that pushes, pulls or runs. A segment is reported after all output of the previous one and
 * before its own. Must not call the chain. */
typedef void (*weir_event_fn)(void *user, const weir_event *event);

/* Sets the function called for events; NULL: none. For notices from before the start see weir_chain_notices and the
 * source's info. */
WEIR_API void weir_chain_on_event(weir_chain *chain, weir_event_fn call, void *user);

/* ---- records ------------------------------------------------------------------------------- */

/* Events that a processing unit detected, valid only during the call. All belong to one segment. The time of a record is
 * segment_start_ns + spec->dims[0].start + index / spec->rate_hz. */
typedef struct weir_record_batch {
    size_t batch_size; /* set by the library */
    const weir_record *records;
    size_t count; /* 1 or more */
    /* of the unit's input: rate, labels and physical units of its channels */
    const weir_spec *spec;
    int64_t segment_start_ns;
    int node;
} weir_record_batch;

typedef weir_err (*weir_records_fn)(void *user, const weir_record_batch *batch);

/* Calls fn with the records of a node whose unit has the flag WEIR_UNIT_RECORDS, during push, pull, finish and
 * run, in the caller's floating-point mode; NULL = none. Over all batches the records
 * are ordered by (segment, index, column): the same sequence for any message boundaries, tiles, threads and
 * blocks. An error of fn ends the call like an error of a sink: the next call offers that batch again,
 * weir_chain_reset drops it. fn must not call the chain (WEIR_E_USAGE). May be called before and after
 * planning. WEIR_E_USAGE: no such node, its unit has no records, called from a sink. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_on_records(weir_chain *chain,
                                                       int node,
                                                       weir_records_fn fn,
                                                       void *user);

/* Resets the chain to the state before the first frame; buffers stay allocated. */
WEIR_API void weir_chain_reset(weir_chain *chain);

/* ---- settings while running ---------------------------------------------------------------- */

/* Changes a live setting of a node's processing unit (see the unit's page) from its next input frame on. State is
 * kept unless the page says otherwise. In a composite unit (square_law_bandpower) the key is "part.setting":
 * "lowpass.cutoff". WEIR_E_CHAIN: no such setting, not live, a value of wrong type, physical unit or range, or one that
 * would change shape, rate, frame counts or bytes; nothing is changed then. WEIR_E_USAGE: no such node, not planned,
 * called from a sink. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_set(weir_chain *chain,
                                                int node,
                                                const weir_value *setting);

/* ---- saved state --------------------------------------------------------------------------- */

/* Size of the state that weir_chain_save writes. 0 before the start. */
WEIR_API uint64_t weir_chain_state_bytes(const weir_chain *chain);

/* Writes the state into blob[size], between two pushes: frame counts, the units' state in channel order, frames
 * that wait for other branches, live settings. It can be restored into the same chain with any tile length, threads
 * and channel blocks, in any process of the same version and SIMD level. WEIR_E_USAGE: too small, not started,
 * output is waiting (a refused block, a pull that is not at a block's end). */
WEIR_API WEIR_NODISCARD weir_err weir_chain_save(const weir_chain *chain, void *blob, size_t size);

/* Continues from a saved state with the same bits as without interruption (S10). The chain must be planned; it is
 * started if necessary. WEIR_E_USAGE: damaged, or another version, SIMD level, chain, settings or input, as the
 * detail states; the chain is then as after a reset. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_restore(weir_chain *chain,
                                                    const void *blob,
                                                    size_t size);

/* ---- runs ---------------------------------------------------------------------------------- */

typedef struct weir_progress {
    size_t progress_size;             /* set by the library */
    uint64_t frames_in, frames_total; /* frames_total may be WEIR_FRAMES_UNKNOWN */
    double seconds;                   /* since the start */
    double rate_hz;
    uint64_t plan_bytes, memory_limit_bytes;
    weir_cache *cache;       /* for its statistics */
    uint64_t resumed_frames; /* of frames_in: processed by earlier runs, see weir_run_options */
} weir_progress;

typedef struct weir_run_options {
    size_t options_size;
    uint64_t message_frames; /* message length; 0 = that of a tile */
    /* Returns the length of the next message, 0 allowed; overrides message_frames. NULL = none. */
    weir_err (*next_message)(void *user, uint64_t *ret_frames);
    /* Called after each tile; may change live settings; returning false interrupts the run. NULL = none. */
    bool (*progress)(void *user, const weir_progress *progress);
    void *user;
    /* Path of a checkpoint, or NULL = none: written with each flush and when the run is interrupted, removed when
     * the run has finished. An existing file is an error, unless `resume` is set: then the run continues from it, or
     * starts from the beginning if there is none. Needs weir_chain_options.checkpoints, and sinks that were created
     * with weir_output_options.resume. */
    const char *checkpoint;
    bool resume;
    uint64_t reserved[4]; /* 0 */
} weir_run_options;

/* Messages of a tile's length, without progress. */
WEIR_API weir_run_options weir_run_options_default(void);

typedef struct weir_run_report {
    size_t report_size; /* sizeof(weir_run_report), set by the caller */
    uint64_t frames_in;
    uint64_t frames_out; /* of all outputs */
    double seconds;
    double x_real_time;
    uint64_t plan_bytes;
    uint64_t memory_limit_bytes;
    uint64_t rss_before_bytes; /* peak before the run allocated its buffers */
    uint64_t rss_peak_bytes;   /* peak at its end */
    uint64_t segments;
    uint64_t messages;
    uint64_t missing_samples; /* at the chain's input (S5) */
    /* input frames that did not fill a bin or window, of all units (S9) */
    uint64_t unfinished_frames;
    bool resumed; /* it continued from a checkpoint; counts include earlier runs, except seconds
                                   and messages */
    uint64_t resumed_frames; /* of frames_in: processed by earlier runs */
} weir_run_report;

/* Runs a planned chain from source to sinks: start, read, push, flush each second, finish. After
 * WEIR_E_INTERRUPTED the outputs are flushed and stay NAME.part. *ret_report is written also on error, except
 * WEIR_E_USAGE because its size is not set.
 * With a checkpoint, WEIR_E_USAGE states what differs: input, chain, settings, outputs, version or SIMD level. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_run(weir_chain *chain,
                                                const weir_run_options *options,
                                                weir_run_report *ret_report);

/* Counts of a node's processing unit so far. */
typedef struct weir_unit_report {
    size_t report_size; /* sizeof(weir_unit_report), set by the caller */
    const char *name;
    const uint64_t *missing; /* samples that were not finite, one count per channel (S5); borrowed
                                pointer, valid until the chain is destroyed */
    uint64_t channels;
    uint64_t missing_total;
    /* input frames that did not fill a bin or window: dropped at gaps, or still waiting */
    uint64_t unfinished_frames;
    uint64_t saturated;
} weir_unit_report;

WEIR_API size_t weir_chain_node_count(const weir_chain *chain);
/* WEIR_E_USAGE: no such node, or report_size is not set. */
WEIR_API weir_err weir_chain_node_report(const weir_chain *chain,
                                         size_t node,
                                         weir_unit_report *ret_report);

/* Notices of the chain (settings without effect, renamed channels); their number is limited. Borrowed pointer, valid
 * until the chain is used or destroyed. */
WEIR_API const char *const *weir_chain_notices(const weir_chain *chain, size_t *ret_count);

/* Imitates an array library that processes a message of `frames` frames, after `before` frames of the segment:
 * allocates a buffer in `cache` for the whole output of each step and frees it after the last step that reads
 * it. Computes nothing, and does not change the state of the chain. For traces and comparisons; after
 * planning. WEIR_E_USAGE: not planned; WEIR_E_LIMIT, WEIR_E_NOMEM: refused by the cache, in which no buffer
 * stays in use. */
WEIR_API WEIR_NODISCARD weir_err weir_chain_untiled(weir_chain *chain,
                                                    weir_cache *cache,
                                                    uint64_t before,
                                                    uint64_t frames);

/* Resident set of this process now and its peak, bytes; 0 if the system does not report it. */
WEIR_API void weir_rss_read(uint64_t *ret_now, uint64_t *ret_peak);

#ifdef __cplusplus
}
#endif
#endif
