/* SPDX-License-Identifier: MIT
 *
 * kernels.c: compares each kernel with the limits of the machine, alternating every few hundred
 * microseconds, so that slower moments affect both: the time per sample, and the time that its
 * least arithmetic and its bytes would take. A separate program, since it uses internals that
 * include/weir does not export; `weir bench speed` starts it. Prints one line of JSON.
 *
 *   kernels [--seconds S] [--only WORD] [--channels N] [--frames N]      WEIR_SIMD chooses the level
 *
 * A tile has the size that chains choose on this machine: input and output together 9/16 of L2.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "kernel/kernel.h"
#include "limits.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { MOST_TURNS = 2001, LEAST_TURNS = 5 };
#define BURST_S   0.0003
#define RAM_BYTES ((size_t)96 << 20)

extern const bench_limits bench_limits_baseline;
#if defined(__x86_64__)
extern const bench_limits bench_limits_avx2, bench_limits_avx512;
#endif

const bench_limits *bench_limits_of(const char *level)
{
    const bench_limits *all[] = {
        &bench_limits_baseline,
#if defined(__x86_64__)
        &bench_limits_avx2,
        &bench_limits_avx512,
#endif
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(level, all[i]->level) == 0) {
            return all[i];
        }
    }
    return NULL;
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- what is timed ------------------------------------------------------------------------------ */

typedef struct machine {
    const bench_limits *limits;
    unsigned char *from, *to; /* of RAM_BYTES */
    size_t small;             /* bytes of input and of output that fit in L2 together */
    volatile double sink;
} machine;

typedef struct timing {
    double ns[MOST_TURNS]; /* a unit of work: a vector operation, a byte, a sample */
    size_t repeats;        /* in a burst */
} timing;

typedef enum subject { MULTIPLY_ADD, SECTION, L2_COPY, L2_READ, RAM_COPY, RAM_READ, CASE } subject;

static void work(machine *m, subject what, size_t repeats, const bench_case *one, bench_tile *tile)
{
    if (what == MULTIPLY_ADD || what == SECTION) {
        (what == SECTION ? m->limits->sections : m->limits->multiply_adds)(repeats);
        return;
    }
    for (size_t i = 0; i < repeats; i++) {
        switch (what) {
        case CASE:
            one->run(tile);
            break;
        case L2_COPY:
            m->limits->copy(m->to, m->from, m->small);
            break;
        case L2_READ:
            m->sink = m->limits->read(m->from, 2 * m->small);
            break;
        case RAM_COPY:
            m->limits->copy(m->to, m->from, RAM_BYTES);
            break;
        default:
            m->sink = m->limits->read(m->from, RAM_BYTES);
        }
    }
}

/* Units of work in one repeat. */
static double amount(const machine *m, subject what, const bench_tile *tile)
{
    switch (what) {
    case MULTIPLY_ADD:
        return (double)m->limits->multiply_adds_a_round;
    case SECTION:
        return (double)m->limits->sections_a_round;
    case CASE:
        return (double)(tile->channels * tile->frames);
    case RAM_COPY:
        return 2.0 * (double)RAM_BYTES;
    case RAM_READ:
        return (double)RAM_BYTES;
    default:
        return 2.0 * (double)m->small;
    }
}

static double
burst(machine *m, subject what, size_t repeats, const bench_case *one, bench_tile *tile)
{
    double start = now_s();
    work(m, what, repeats, one, tile);
    return now_s() - start;
}

/* Number of repeats for a burst of BURST_S; warms up as well. */
static void
calibrate(machine *m, subject what, const bench_case *one, bench_tile *tile, timing *ret)
{
    size_t repeats = 1;
    burst(m, what, 1, one, tile);
    while (repeats < (size_t)1 << 30 && burst(m, what, repeats, one, tile) < BURST_S) {
        repeats *= 2;
    }
    ret->repeats = repeats;
}

static void
turn(machine *m, subject what, const bench_case *one, bench_tile *tile, timing *timed, size_t at)
{
    double took = burst(m, what, timed->repeats, one, tile);
    timed->ns[at] = took * 1e9 / (double)timed->repeats / amount(m, what, tile);
}

/* ---- medians -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_spread(const char *name, const double *numbers, size_t count, const char *end)
{
    static double sorted[MOST_TURNS];
    memcpy(sorted, numbers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    printf("\"%s\": {\"median\": %.6g, \"low\": %.6g, \"high\": %.6g, \"min\": %.6g, \"max\": "
           "%.6g}%s",
           name, sorted[count / 2], sorted[count / 10], sorted[count - 1 - count / 10], sorted[0],
           sorted[count - 1], end);
}

/* The tenth of them from below: a moment in which nothing else runs. */
static double quiet(const double *numbers, size_t count)
{
    static double sorted[MOST_TURNS];
    memcpy(sorted, numbers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[count / 10];
}

/* ---- one kernel ------------------------------------------------------------------------------------- */

static void measure(machine *m, const bench_case *one, bench_tile *tile, double seconds)
{
    static timing fma, section, bytes, kernel;
    static double floors[3][MOST_TURNS], share[MOST_TURNS], arithmetic[MOST_TURNS];
    subject memory = one->bytes_written > 0 ? L2_COPY : L2_READ;
    double lanes = (double)m->limits->vector_bytes / one->value_bytes;
    /* Without the instruction a multiply-add is two operations, and a single operation one of
     * them. */
    double operations =
        m->limits->fused ? one->multiply_adds + one->others : one->multiply_adds + one->others / 2;
    bench_tile_clear(tile);
    calibrate(m, MULTIPLY_ADD, NULL, tile, &fma);
    calibrate(m, SECTION, NULL, tile, &section);
    calibrate(m, memory, NULL, tile, &bytes);
    calibrate(m, CASE, one, tile, &kernel);
    double start = now_s();
    size_t turns = 0;
    while (turns < MOST_TURNS && (turns < LEAST_TURNS || now_s() - start < seconds)) {
        turn(m, MULTIPLY_ADD, NULL, tile, &fma, turns);
        if (one->sections > 0) {
            turn(m, SECTION, NULL, tile, &section, turns);
        }
        turn(m, memory, NULL, tile, &bytes, turns);
        burst(m, CASE, 1, one, tile); /* reads its tile into L2 again */
        turn(m, CASE, one, tile, &kernel, turns);
        double gain = fma.ns[turns] / (m->limits->fused ? 1 : 2);
        floors[0][turns] = operations * fma.ns[turns] / lanes;
        floors[1][turns] = (one->bytes_read + one->bytes_written) * bytes.ns[turns];
        floors[2][turns] = (one->sections * section.ns[turns] + gain) / lanes;
        share[turns] = fmax(floors[0][turns], floors[1][turns]) / kernel.ns[turns];
        arithmetic[turns] = floors[2][turns] / kernel.ns[turns];
        turns++;
    }
    printf("{\"name\": \"%s\", \"dtype\": \"%s\", ", one->name, one->dtype);
    print_spread("ns_per_sample", kernel.ns, turns, ", ");
    print_spread("fma_floor_ns", floors[0], turns, ", ");
    print_spread("memory_floor_ns", floors[1], turns, ", ");
    print_spread("share_of_limit", share, turns, ", ");
    double least = quiet(kernel.ns, turns);
    printf("\"share_quiet\": %.6g, ",
           fmax(quiet(floors[0], turns), quiet(floors[1], turns)) / least);
    if (one->sections > 0) {
        print_spread("mix_floor_ns", floors[2], turns, ", ");
        print_spread("share_of_mix", arithmetic, turns, ", ");
        printf("\"share_of_mix_quiet\": %.6g, ", quiet(floors[2], turns) / least);
    }
    printf("\"multiply_adds\": %g, \"other_operations\": %g, \"arithmetic\": \"f%d\", \"bytes\": "
           "%g, \"counted\": \"%s\", \"turns\": %zu}",
           one->multiply_adds, one->others, 8 * one->value_bytes,
           one->bytes_read + one->bytes_written, one->counted, turns);
}

/* ---- the machine ------------------------------------------------------------------------------------ */

static void measure_limits(machine *m, double seconds)
{
    static const struct {
        subject what;
        const char *name;
        bool is_bytes;
    } all[] = {{MULTIPLY_ADD, "multiply_add_ns", false}, {SECTION, "section_ns", false},
               {L2_COPY, "l2_copy_gb_s", true},          {L2_READ, "l2_read_gb_s", true},
               {RAM_COPY, "ram_copy_gb_s", true},        {RAM_READ, "ram_read_gb_s", true}};
    enum { LIMITS = sizeof all / sizeof all[0] };
    static timing timed[LIMITS];
    for (size_t i = 0; i < LIMITS; i++) {
        calibrate(m, all[i].what, NULL, NULL, &timed[i]);
    }
    double start = now_s();
    size_t turns = 0;
    while (turns < MOST_TURNS && (turns < LEAST_TURNS || now_s() - start < seconds)) {
        for (size_t i = 0; i < LIMITS; i++) {
            turn(m, all[i].what, NULL, NULL, &timed[i], turns);
        }
        turns++;
    }
    printf("\"limits\": {");
    for (size_t i = 0; i < LIMITS; i++) {
        for (size_t t = 0; t < turns; t++) { /* bytes per ns are GB/s */
            timed[i].ns[t] = all[i].is_bytes ? 1 / timed[i].ns[t] : timed[i].ns[t];
        }
        print_spread(all[i].name, timed[i].ns, turns, i + 1 < LIMITS ? ", " : "}, ");
    }
}

static size_t number(int argc, char **argv, const char *option, size_t preset)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], option) == 0) {
            return (size_t)strtoul(argv[i + 1], NULL, 10);
        }
    }
    return preset;
}

int main(int argc, char **argv)
{
    const char *only = "";
    double seconds = 0.2;
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    /* bytes of input, and as many of output */
    size_t half = (l2 > 0 ? (size_t)l2 : (size_t)512 << 10) / 4;
    for (int i = 1; i + 1 < argc; i++) {
        only = strcmp(argv[i], "--only") == 0 ? argv[i + 1] : only;
        seconds = strcmp(argv[i], "--seconds") == 0 ? strtod(argv[i + 1], NULL) : seconds;
    }
    size_t channels = number(argc, argv, "--channels", 256) / WEIRI_BLOCK * WEIRI_BLOCK;
    size_t frames = half * 9 / 8 / ((channels > 0 ? channels : 1) * sizeof(float)) / 16 * 16;
    frames = number(argc, argv, "--frames", frames < 300 ? frames : 300);
    machine m = {.limits = bench_limits_of(weiri_kernels_get()->level),
                 .small = half / 1024 * 1024};
    m.from = aligned_alloc(4096, RAM_BYTES);
    m.to = aligned_alloc(4096, RAM_BYTES);
    bench_tile tile;
    if (m.limits == NULL || m.from == NULL || m.to == NULL || channels == 0 ||
        !bench_tile_init(&tile, channels, frames)) {
        fprintf(stderr, "kernels: no memory, or a tile of %zu x %zu\n", frames, channels);
        return 1;
    }
    memset(m.from, 0, RAM_BYTES);
    memset(m.to, 0, RAM_BYTES);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* S6, as in chains */
#endif
    printf("{\"level\": \"%s\", \"vector_bytes\": %zu, \"channels\": %zu, \"frames\": %zu, "
           "\"compiler\": \"%s\", ",
           m.limits->level, m.limits->vector_bytes, channels, frames, __VERSION__);
    measure_limits(&m, seconds);
    printf("\"kernels\": [");
    bool first = true;
    for (const bench_case *one = bench_cases; one->name != NULL; one++) {
        if (strstr(one->name, only) == NULL) {
            continue;
        }
        printf("%s", first ? "" : ", ");
        measure(&m, one, &tile, seconds);
        fflush(stdout);
        first = false;
    }
    printf("]}\n");
    bench_tile_fini(&tile);
    free(m.from);
    free(m.to);
    return ferror(stdout) != 0 || fflush(stdout) != 0;
}
