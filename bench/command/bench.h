/* SPDX-License-Identifier: MIT
 *
 * bench.h: what the files of `weir bench` share: the work that is measured, the input, one run of weir and
 * one of a peer.
 */
#ifndef WEIR_CLI_BENCH_H
#define WEIR_CLI_BENCH_H

#include "cli.h"

/* The work of DESIGN 11, rows 1 and 4; the other rows change one thing or two. */
enum {
    BENCH_CHANNELS = 256,
    BENCH_FRAMES = 300,       /* of a message */
    BENCH_RING = 16,          /* messages of input that are pushed in turn; the peers do the same */
    BENCH_LONGEST = 40 * 300, /* of a stall; the input buffer is that long */
    BENCH_UNITS = 6
};
#define BENCH_RATE_HZ 30000.0

/* The units of examples/spike_band_power.yaml, a line each; a test compares the two. */
extern const char *const bench_units[BENCH_UNITS];

int bench_speed_command(int argc, char **argv);
int bench_memory_command(int argc, char **argv);
int bench_units_command(int argc, char **argv);

typedef struct bench_memory {
    uint64_t messages;
    uint64_t plan_bytes, held_peak_bytes, live_peak_bytes, refusals;
} bench_memory;

/* White noise, deviation 1, from a fixed seed: [BENCH_LONGEST x BENCH_CHANNELS] f32. */
void bench_noise(float *samples);

/* Input for jobs, as long as the longest so far. */
typedef struct bench_input {
    float *f32;
    double *f64;
    size_t values32, values64;
} bench_input;
/* Makes it that many values long: noise, repeated where that ends. */
void bench_input_reserve(bench_input *input, size_t values, bool f64);
void bench_input_free(bench_input *input);

/* Work of weir's own, or of a peer. */
typedef struct bench_job {
    const char *const *units;
    size_t first, last; /* of them */
    const char *bin;    /* instead of the chain's 10 ms; NULL = those */
    weir_dtype dtype;
    uint64_t channels, frames; /* of a message */
    uint64_t threads, tile;    /* 0 = weir's own choice */
    bool one_by_one;           /* neighbours are not fused */
    size_t walk;               /* values of input that are gone through; 0 = BENCH_RING messages */
    bool thread_time; /* of the processor, not the clock's: for pushes longer than a time slice */
} bench_job;

/* What a measurement said of a push, ns. */
typedef struct bench_taken {
    double mean, median, p99; /* p99 0 where each push was not timed */
    double quiet;             /* the tenth part that is fastest takes so much at most */
} bench_taken;

/* Pushes messages through the job's chain for so many seconds after a warm-up. The clock is read after each
 * push, or, where that would be seen, after some of them: `each` forces the former. */
weir_err bench_weir(
    bench_input *input, const bench_job *job, double seconds, bool each, bench_taken *ret_taken);

/* Pushes `messages` messages through the whole chain, every `every`th of them (0 = none) 2..40 times as
 * long as `frames`, and reads plan and peaks. */
weir_err bench_weir_memory(const float *samples,
                           uint64_t frames,
                           uint64_t every,
                           uint64_t messages,
                           bench_memory *ret_memory);

/* A chain of units first..last, planned for pushes; limits as in options, else memory_limit 64 MiB. */
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
    bool chain; /* it does the whole chain, not the filter alone */
} bench_peer;
extern const bench_peer bench_peers[]; /* ended by a NULL program */

/* The folder "bench" beside the running program, into path[size]. */
void bench_peers_folder(char *path, size_t size);

/* NULL: the peer can be run. Else why not, lent until the next call. */
const char *bench_peer_missing(const char *folder, const bench_peer *peer);

/* One measurement: 0, or the exit status after a line was said. The version goes to version[size]. */
int bench_peer_run(const char *folder,
                   const bench_peer *peer,
                   const bench_job *job,
                   double seconds,
                   bench_taken *ret_taken,
                   char *version,
                   size_t size);

/* Runs a program and reads the JSON that it prints: 0 and the caller's, or the exit status after a line was
 * said. `seconds`: that it takes, about. */
int bench_program_run(const char *path,
                      const char *const *arguments,
                      unsigned seconds,
                      json_t **ret_printed);

/* Processor, cores, SIMD, system. */
json_t *bench_machine_json(void);

/* ---- kernels.c ---- */

/* Kernels beside the machine's limits, `seconds` for each, those with the word in their name (NULL = all): 0
 * and the caller's, NULL where the program is not in the folder; or the exit status after a line was said. */
int bench_kernels_run(const char *folder, const char *word, double seconds, json_t **ret_kernels);
void bench_kernels_print(const json_t *kernels);
/* The limit of that kernel, ns a sample, in a quiet moment; 0 = it is not there. */
double bench_kernels_limit(const json_t *kernels, const char *name, const char *dtype);

/* ---- weir bench memory: one row, in a process of its own ----------------------------------------- */

enum {
    BENCH_BUFFERS = 20, /* intermediates of a message, all live at its end */
    BENCH_SAMPLES = 240 /* of held over time, at most about twice as many */
};

/* How the input is cut. */
typedef struct bench_stream {
    const char *name;
    uint64_t frames; /* of most messages */
    uint64_t shapes; /* lengths in all: now and then a message is 2..shapes times as long */
    uint64_t messages;
} bench_stream;

typedef enum bench_work {
    BENCH_INTERMEDIATES, /* what array libraries do: BENCH_BUFFERS a message from a cache */
    BENCH_TILED,         /* the chain of bench_units, as it runs by default */
    BENCH_UNTILED,       /* the buffers of its units' outputs, of whole messages */
    BENCH_MLX            /* real MLX */
} bench_work;

typedef struct bench_row {
    bench_work work;
    const char *policy;
    const bench_stream *stream;
    uint64_t limit; /* of idle bytes */
    double clear_s; /* the cache is cleared so often, in time of the stream; 0 = never */
} bench_row;

/* How much of it a row gets. Quick: an eighth of the channels, since most of the time goes into page faults;
 * stalls ten times as often; chains, which are no slower for it, keep theirs and get stalls oftener still. */
typedef struct bench_size {
    uint64_t channels, messages;
    uint64_t every; /* so often a message is longer */
} bench_size;
bench_size bench_size_of(const bench_row *row, bool quick);

/* Runs a row in this process and prints its figures as one line of JSON; exit status. */
int bench_row_run(const bench_row *row, bool quick);

/* ---- memory_table.c ---- */

extern const char *const bench_works[]; /* names of bench_work */
/* "128 MiB", "cleared each 6 s", "no limit", into text[size]; returns text. */
char *bench_limit(const bench_row *row, char *text, size_t size);
/* "mlx:metal, 128 MiB, 40 lengths": what --only looks at. The caller's. */
char *bench_title(const bench_row *row);

/* What was published for a row: MiB of the library's cache and of the process, times real time; -1 = not
 * said. */
typedef struct bench_published {
    const char *policy, *stream;
    double limit_mib, clear_s; /* limit -1 = none */
    double cache_mib, footprint_mib, x_real_time;
} bench_published;
const bench_published *bench_published_of(const bench_row *row); /* NULL = nothing */

/* Rows whose result is NULL are left out. */
void bench_memory_tables(const bench_row *rows, json_t *const *results, size_t count);

/* A picture of memory over time: rows with "samples", "title". Leaves errors to the file's indicator. */
void bench_memory_svg(const json_t *rows, FILE *file);

#endif
