/* SPDX-License-Identifier: MIT
 *
 * weir/trace.h: allocations and frees of a cache, recorded in a file and replayed under any policy and limit;
 * the smallest cache_limit that reaches a given hit rate. Part of the layer of cache.h.
 *
 * The file: one line of text, then events, each a varint (LEB128: seven bits per byte, lowest first) whose two
 * lowest bits are its kind; 1 to 3 bytes per event.
 *
 *     "weir-trace 1 POLICY HEAP CACHE_LIMIT\n"         limit in bytes, or none
 *     0 take   v >> 2: size requested minus that of the previous take (the first: minus 0), zigzag
 *     1 give   v >> 2: number of takes since the buffer was taken; 0 = it was the last
 *     2 mark   v >> 2: 0 end (a varint follows: events before it), 1 cache_limit, 2 memory_limit (limit + 1
 *              follows, 0 = none), 3 clear, 4 charge, 5 uncharge (bytes follow)
 *
 * take: an allocation; give: a free. Buffers in use at the start come first, as takes. Refused allocations are
 * not recorded: they change nothing. weir also reads recorded runs of MLX, as CSV (step,op,slot,bytes,active,cached);
 * their rows state the expected live and idle bytes after each step.
 */
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include <weir/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording ---------------------------------------------------------------------------- */

/* Starts recording into a file, which is created or emptied. Allocates 4 KiB from the cache's heap, counted as
 * metadata; writes under the cache's lock, every 4 KiB, so allocations are slower while it records.
 * WEIR_E_USAGE: it records already. WEIR_E_IO, WEIR_E_LIMIT, WEIR_E_NOMEM. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_start(weir_cache *cache, const char *path);

/* Stops recording and completes the file. WEIR_E_IO: some of it could not be written. No error if nothing is
 * recorded. Destroying the cache stops it too. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_stop(weir_cache *cache);

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct weir_trace weir_trace;

typedef enum weir_trace_op {
    WEIR_TRACE_END = 0,
    WEIR_TRACE_TAKE = 'a',
    WEIR_TRACE_GIVE = 'f',
    WEIR_TRACE_LIMIT = 'l', /* cache_limit becomes bytes */
    WEIR_TRACE_CLEAR = 'c',
    WEIR_TRACE_MEMORY = 'm', /* memory_limit became bytes; not replayed */
    WEIR_TRACE_CHARGE = 'h',
    WEIR_TRACE_UNCHARGE = 'u'
} weir_trace_op;

typedef struct weir_trace_step {
    uint64_t step; /* as the file numbers it; else from 0 */
    weir_trace_op op;
    /* of a TAKE or GIVE: a small number that identifies the buffer while it is in use */
    uint64_t slot;
    uint64_t bytes; /* requested, or the new limit */
    bool recorded;  /* the file states the expected counters after it: */
    uint64_t live, idle;
} weir_trace_step;

typedef struct weir_trace_info {
    size_t info_size;     /* set by the library */
    const char *form;     /* "weir", "csv" */
    const char *policy;   /* during the recording */
    uint64_t cache_limit; /* at its start; WEIR_LIMIT_OWN = the policy's own */
    bool cut; /* read to the end of the file, and the end mark is missing: the file is truncated */
} weir_trace_info;

/* WEIR_E_IO: cannot be read. WEIR_E_RECORDING: not a trace. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_open(const char *path, weir_trace **ret_trace);
/* Reads the next step; at the end WEIR_TRACE_END, however often it is called. WEIR_E_RECORDING: malformed; the
 * detail states where. A truncated file ends with its last complete step. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_next(weir_trace *trace, weir_trace_step *ret_step);
/* Goes back to the first step. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_rewind(weir_trace *trace);
WEIR_API const weir_trace_info *
weir_trace_info_get(const weir_trace *trace);      /* valid until close */
WEIR_API void weir_trace_close(weir_trace *trace); /* NULL is ignored */

/* ---- replaying ---------------------------------------------------------------------------- */

typedef struct weir_replay_options {
    size_t options_size;   /* sizeof(weir_replay_options) */
    weir_heap *heap;       /* NULL = address space only: "nominal" for mlx, else "nominal:host" */
    const char *policy;    /* NULL = the trace's */
    uint64_t cache_limit;  /* at the start; WEIR_LIMIT_TRACE = the trace's */
    uint64_t memory_limit; /* throughout */
    bool fixed;            /* ignore the trace's own changes of cache_limit */
    /* Called after each step. NULL = none. An error ends the replay and is returned. */
    weir_err (*step)(void *user, const weir_trace_step *step, const weir_cache_stats *after);
    void *user;
    uint64_t reserved[4]; /* 0 */
} weir_replay_options;

#define WEIR_LIMIT_TRACE (UINT64_MAX - 4)

typedef struct weir_replay_report {
    size_t report_size;             /* sizeof(weir_replay_report), set by the caller */
    uint64_t steps, takes, refused; /* allocations refused by a limit */
    uint64_t rows, rows_failed; /* steps with expected counters, and those of them that differed */
    weir_trace_step first_failed;
    uint64_t found_live, found_idle; /* after it */
    weir_cache_stats stats;          /* after the last step */
} weir_replay_report;

/* Everything unset: the trace's policy and limit. */
WEIR_API weir_replay_options weir_replay_options_default(void);

/* Replays a trace from its first step through a new cache; nothing is written into buffers. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_replay(weir_trace *trace,
                                                   const weir_replay_options *options,
                                                   weir_replay_report *ret_report);

/* ---- tuning ------------------------------------------------------------------------------- */

#define WEIR_TUNE_POINTS 24

typedef struct weir_tune_point {
    uint64_t limit;
    double distance_rate; /* hits by stack distance / takes */
    double replay_rate;   /* hits of a replay / takes */
} weir_tune_point;

typedef struct weir_tune_report {
    size_t report_size; /* sizeof(weir_tune_report), set by the caller */
    const char *policy;
    uint64_t takes;
    double wanted_rate;
    bool reachable;          /* the wanted rate is reached without a limit */
    double best_rate;        /* without a limit */
    uint64_t distance_limit; /* the smallest limit by stack distance alone; WEIR_NO_LIMIT = none */
    uint64_t limit;          /* the smallest limit, by replays */
    double limit_rate;       /* replayed there */
    double below_rate;       /* replayed one byte below */
    uint64_t replays;        /* total number of replays */
    size_t point_count;
    weir_tune_point points[WEIR_TUNE_POINTS];
} weir_tune_report;

/* Computes the hit rate for each cache_limit, and the smallest limit that reaches `hit_rate` of all allocations
 * or, if none does, that share of the highest possible rate. "Smallest": a replay at this limit reaches it, one
 * a byte below does not. `policy` NULL = the trace's. For details see src/trace/distance.h and tune.c. */
WEIR_API WEIR_NODISCARD weir_err weir_trace_tune(weir_trace *trace,
                                                 const char *policy,
                                                 double hit_rate,
                                                 weir_tune_report *ret_report);

#ifdef __cplusplus
}
#endif
#endif
