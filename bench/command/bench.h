/* SPDX-License-Identifier: MIT
 *
 * bench.h: shared by the files of `weir bench`: the work that is measured, the input, one run of
 * weir and one of a peer.
 */
#ifndef WEIR_CLI_BENCH_H
#define WEIR_CLI_BENCH_H

#include "cli.h"

/* The work of DESIGN 11, rows 1 and 4; the other rows change one or two things. */
enum {
    BENCH_CHANNELS = 256,
    BENCH_FRAMES = 300, /* per message */
    /* messages of input that are pushed repeatedly; the peers do the same */
    BENCH_RING = 16,
    BENCH_LONGEST = 40 * 300, /* of a stall, and of the input buffer */
    BENCH_UNITS = 6
};
#define BENCH_RATE_HZ 30000.0

/* The units of examples/spike_band_power.yaml, one per line; a test compares the two. */
extern const char *const bench_units[BENCH_UNITS];

int bench_speed_command(int argc, char **argv);
int bench_memory_command(int argc, char **argv);
int bench_units_command(int argc, char **argv);

typedef struct bench_memory {
    uint64_t messages;
    uint64_t plan_bytes, held_peak_bytes, live_peak_bytes, refusals;
} bench_memory;

/* White noise, standard deviation 1, from a fixed seed: [BENCH_LONGEST x BENCH_CHANNELS] f32. */
void bench_noise(float *samples);

/* Input for jobs, with the length of the longest so far. */
typedef struct bench_input {
    float *f32;
    double *f64;
    size_t values32, values64;
} bench_input;
/* Makes it that many values long: noise, repeated where that ends. */
void bench_input_reserve(bench_input *input, size_t values, bool f64);
void bench_input_free(bench_input *input);

/* Work of weir, or of a peer. */
typedef struct bench_job {
    const char *const *units;
    size_t first, last; /* of them */
    const char *bin;    /* instead of the chain's 10 ms; NULL = 10 ms */
    weir_dtype dtype;
    uint64_t channels, frames; /* per message */
    uint64_t threads, tile;    /* 0 = weir's own choice */
    bool one_by_one;           /* neighbours are not fused */
    int busy;                  /* other programs that compute meanwhile */
    /* number of input values that are cycled through; 0 = BENCH_RING messages */
    size_t walk;
    bool thread_time; /* processor time, not clock time: for pushes longer than a time slice */
} bench_job;

/* Figures of a push, ns. */
typedef struct bench_taken {
    double mean, median, p99; /* p99 0 if pushes were not timed one by one */
    double quiet;             /* the fastest tenth takes at most this */
} bench_taken;

/* Pushes messages through the job's chain for that many seconds after a warm-up. The clock is
 * read after each push, or after several if reading it would affect the result: `each` forces
 * the former. */
weir_err bench_weir(
    bench_input *input, const bench_job *job, double seconds, bool each, bench_taken *ret_taken);

/* Pushes `messages` messages through the whole chain, every `every`th of them (0 = none) 2..40
 * times as long as `frames`, and reads plan and peaks. */
weir_err bench_weir_memory(const float *samples,
                           uint64_t frames,
                           uint64_t every,
                           uint64_t messages,
                           bench_memory *ret_memory);

/* A chain of units first..last, planned for pushes; limits as in options, else memory_limit 64
 * MiB. */
weir_err bench_chain(size_t first,
                     size_t last,
                     const weir_chain_options *options,
                     weir_spec *spec,
                     weir_chain **ret_chain,
                     const weir_plan **ret_plan);

/* A peer: a program in the peers' folder that prints one line of JSON. */
typedef struct bench_peer {
    const char *program;
    const char *precision; /* its last argument; NULL = the job's bin, or none */
    const char *title;
    bool chain; /* it computes the whole chain, not the filter only */
} bench_peer;
extern const bench_peer bench_peers[]; /* ended by a NULL program */

/* The folder "bench" next to the running program, into path[size]. */
void bench_peers_folder(char *path, size_t size);

/* NULL: the peer can be run. Else the reason, valid until the next call. */
const char *bench_peer_missing(const char *folder, const bench_peer *peer);

/* One measurement: 0, or the exit status after a line was printed. The version goes to
 * version[size]. */
int bench_peer_run(const char *folder,
                   const bench_peer *peer,
                   const bench_job *job,
                   double seconds,
                   bench_taken *ret_taken,
                   char *version,
                   size_t size);

/* Runs a program and reads the JSON that it prints: 0 and the JSON, which the caller frees, or
 * the exit status after a line was printed. `seconds`: its approximate run time. */
int bench_program_run(const char *path,
                      const char *const *arguments,
                      unsigned seconds,
                      json_t **ret_printed);

/* Processor, cores, SIMD, system. */
json_t *bench_machine_json(void);

/* ---- kernels.c ---- */

/* Kernels compared with the machine's limits, `seconds` for each, those with the word in their
 * name (NULL = all): 0 and the JSON, which the caller frees, NULL if the program is not in the
 * folder; or the exit status after a line was printed. */
int bench_kernels_run(const char *folder, const char *word, double seconds, json_t **ret_kernels);
void bench_kernels_print(const json_t *kernels);
/* The limit of that kernel, ns per sample, with the machine idle; 0 = unknown. */
double bench_kernels_limit(const json_t *kernels, const char *name, const char *dtype);

/* ---- weir bench memory: one row, in a process of its own ----------------------------------------- */

enum {
    BENCH_BUFFERS = 20, /* intermediates of a message, all in use at its end */
    BENCH_SAMPLES = 240 /* of allocated memory over time, at most about twice as many */
};

/* How the input is split into messages. */
typedef struct bench_stream {
    const char *name;
    uint64_t frames; /* of most messages */
    uint64_t shapes; /* number of lengths: every so often a message is 2..shapes times as long */
    uint64_t messages;
} bench_stream;

typedef enum bench_work {
    BENCH_INTERMEDIATES, /* as array libraries do it: BENCH_BUFFERS per message from a cache */
    BENCH_TILED,         /* the chain of bench_units, as it runs by default */
    BENCH_UNTILED,       /* the output buffers of its units, for whole messages */
    BENCH_MLX            /* real MLX */
} bench_work;

typedef struct bench_row {
    bench_work work;
    const char *policy;
    const bench_stream *stream;
    uint64_t limit; /* of cached bytes */
    double clear_s; /* interval at which the cache is cleared, in stream time; 0 = never */
} bench_row;

/* Amount of work per row. Quick: an eighth of the channels, since page faults take most of the
 * time, and stalls ten times as often; chains, which are not slower with them, keep their
 * channels and get even more stalls. */
typedef struct bench_size {
    uint64_t channels, messages;
    uint64_t every; /* interval of longer messages */
} bench_size;
bench_size bench_size_of(const bench_row *row, bool quick);

/* Runs a row in this process and prints its figures as one line of JSON; exit status. */
int bench_row_run(const bench_row *row, bool quick);

/* ---- memory_table.c ---- */

extern const char *const bench_works[]; /* names of bench_work */
/* "128 MiB", "cleared each 6 s", "no limit", into text[size]; returns text. */
char *bench_limit(const bench_row *row, char *text, size_t size);
/* "mlx:metal, 128 MiB, 40 lengths", which --only searches. The caller frees it. */
char *bench_title(const bench_row *row);

/* Published figures of a row: MiB of the library's cache and of the process, times real time; -1
 * = not published. */
typedef struct bench_published {
    const char *policy, *stream;
    double limit_mib, clear_s; /* limit -1 = none */
    double cache_mib, footprint_mib, x_real_time;
} bench_published;
const bench_published *bench_published_of(const bench_row *row); /* NULL = nothing */

/* Rows without a result are left out. */
void bench_memory_tables(const bench_row *rows, json_t *const *results, size_t count);

/* A plot of memory over time: rows with "samples", "title". Leaves errors to the file's
 * indicator. */
void bench_memory_svg(const json_t *rows, FILE *file);

#endif
