/* SPDX-License-Identifier: MIT
 *
 * bench.h: what the files of `weir bench speed` share: the work that is measured, the input, one run of
 * weir and one of a peer.
 */
#ifndef WEIR_CLI_BENCH_H
#define WEIR_CLI_BENCH_H

#include "cli.h"

/* The work of DESIGN 11, rows 1 and 4. */
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

typedef struct bench_memory {
    uint64_t messages;
    uint64_t plan_bytes, held_peak_bytes, live_peak_bytes, refusals;
} bench_memory;

/* White noise, deviation 1, from a fixed seed: [BENCH_LONGEST x BENCH_CHANNELS] f32. */
void bench_noise(float *samples);

/* Pushes messages of BENCH_FRAMES through units first..last for so many seconds after a warm-up, and says how
 * many times faster than real time that was. */
weir_err bench_weir(
    const float *samples, size_t first, size_t last, double seconds, double *ret_x_real_time);

/* Pushes `messages` messages through the whole chain, every `every`th of them (0 = none) 2..40 times as
 * long as `frames`, and reads plan and peaks. */
weir_err bench_weir_memory(const float *samples,
                           uint64_t frames,
                           uint64_t every,
                           uint64_t messages,
                           bench_memory *ret_memory);

/* A peer: a program in the peers' folder that prints one line of JSON. */
typedef struct bench_peer {
    const char *program;
    const char *precision; /* its last argument; NULL = none */
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
                   double seconds,
                   double *ret_x_real_time,
                   char *version,
                   size_t size);

#endif
