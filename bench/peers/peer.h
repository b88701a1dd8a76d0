/* SPDX-License-Identifier: MIT
 *
 * peer.h: shared by the peers in C: arguments, noise, the clock, the line of JSON. A peer is a
 * separate program and links nothing of weir.
 */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PEER_RING 16 /* messages of input, so that they do not stay in the innermost cache */

typedef struct peer {
    unsigned channels, frames;
    double rate_hz, seconds;
} peer;

/* Reads CHANNELS FRAMES RATE SECONDS; ends the program if they are missing. */
static peer peer_arguments(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s CHANNELS FRAMES RATE SECONDS\n", argv[0]);
        exit(2);
    }
    peer p = {(unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]), atof(argv[3]), atof(argv[4])};
    if (p.channels == 0 || p.frames == 0 || !(p.rate_hz > 0) || !(p.seconds > 0)) {
        fprintf(stderr, "%s: arguments must be above 0\n", argv[0]);
        exit(2);
    }
    return p;
}

static double peer_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *peer_alloc(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

/* About normal, standard deviation 1: twelve uniform numbers minus their mean. */
static double peer_noise(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum - 6;
}

/* Times of single pushes, seconds; at most this many. */
#define PEER_TIMES 65536
typedef struct peer_times {
    double times[PEER_TIMES];
    size_t count;
    double last;
} peer_times;

static void peer_start(peer_times *t, double now)
{
    t->count = 0;
    t->last = now;
}

static void peer_pushed(peer_times *t, double now)
{
    t->times[t->count++ % PEER_TIMES] = now - t->last;
    t->last = now;
}

static int peer_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int
peer_print(const char *name, const char *version, const char *precision, double x, peer_times *t)
{
    size_t count = t->count < PEER_TIMES ? t->count : PEER_TIMES;
    qsort(t->times, count, sizeof(*t->times), peer_compare);
    printf(
        "{\"name\": \"%s\", \"work\": \"filter\", \"x_real_time\": %.6g, \"push_median_us\": %.6g, "
        "\"push_p99_us\": %.6g, \"version\": \"%s\", \"precision\": \"%s\"}\n",
        name, x, t->times[count / 2] * 1e6, t->times[count * 99 / 100] * 1e6, version, precision);
    return 0;
}

#endif
