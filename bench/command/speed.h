/* SPDX-License-Identifier: MIT
 *
 * speed.h: shared by the files of `weir bench speed`: what is run, and the results.
 */
#ifndef WEIR_CLI_BENCH_SPEED_H
#define WEIR_CLI_BENCH_SPEED_H

#include <limits.h>

#include "bench.h"

enum { MOST_RUNS = 64, MOST_ROUNDS = 101, CUTS = 3 };

/* One line: what is run in each round. */
typedef struct entry {
    const char *work; /* "chain" "filter" "units" "latency" "threads" "busy" "shapes" "pushes" */
    char title[80];
    const char *precision;  /* of the stream and, if different, of the arithmetic */
    const bench_peer *peer; /* NULL = weir */
    bench_job job;
    double seconds;
    bench_taken taken[MOST_ROUNDS];
    char version[80];
} entry;

/* DESIGN 11, row 4: how the stream is split into messages, and what must not depend on it. */
typedef struct bench_cut {
    const char *title;
    uint64_t frames, every, messages, least; /* fewer messages when measurements are short */
} bench_cut;
extern const bench_cut bench_cuts[CUTS];

typedef struct bench {
    uint64_t rounds, threads; /* maximum number of threads measured */
    double seconds;
    const char *peers; /* folder */
    bool json, only_kernels;
    const char *word; /* of the requested kernels; NULL = all */
    json_t *kernels;  /* NULL = the program is not there */
    char folder[PATH_MAX];
    bench_input input;
    size_t count;
    entry entries[MOST_RUNS];
    const bench_peer *skipped[MOST_RUNS];
    char *reasons[MOST_RUNS];
    size_t skipped_count;
    bench_memory memory[CUTS];
} bench;

typedef struct spread {
    double median, min, max;
} spread;

/* Figures of an entry's runs, by name. */
typedef enum figure {
    X_REAL_TIME,   /* of the median push: not affected by other programs */
    NS_PER_PUSH,   /* mean */
    NS_MEDIAN,     /* of pushes */
    NS_99,         /* 99 % of pushes took at most this */
    NS_PER_SAMPLE, /* of the fastest tenth of the pushes */
    FIGURES
} figure;

double bench_figure(const entry *e, size_t round, figure what);
spread bench_spread(const bench *b, const entry *e, figure what);
/* How many times as fast as b a is, round by round, so that slower moments of the machine affect
 * both. */
spread bench_ratio(const bench *b, const entry *a, const entry *e, figure what);
/* weir's own entry to compare this one with: the same work and precision; NULL = none. */
const entry *bench_own(const bench *b, const entry *e);
/* Nanoseconds per sample (frame x channel) of the unit at entry i alone: its prefix minus the
 * one before, using the fastest run of each, since a difference of medians is hidden by the
 * noise of a busy machine. */
double bench_unit_ns(const bench *b, size_t i);
/* The entry with one thread of the same work, where the entry is one of those with threads; else NULL. And how many
 * times as fast it is: by median pushes; beside busy programs by all of them, since a push that waits for a thread
 * without a core is what the row is about. */
const entry *bench_one_thread(const bench *b, const entry *e);
spread bench_over_one(const bench *b, const entry *e);
/* A peer that is faster than weir at the same work and precision. */
bool bench_is_slower(const bench *b, const entry *e);
/* For weir's filter, pushes included: the fraction of its kernel's limit that it reaches, in the
 * fastest moments of each; 0 = kernels were not measured. */
double bench_filter_share(const bench *b, const entry *e, double *ret_limit_ns);
/* Row 5: whether this shape should cost the same as others. */
bool bench_is_steady(const entry *e);
/* Least and most ns per sample of those, from the fastest round of each. */
spread bench_steady(const bench *b);
bool bench_same_plans(const bench *b);

/* speed_table.c, speed_json.c */
void bench_speed_print(const bench *b);
json_t *bench_speed_json(const bench *b);
void bench_processor(char *text, size_t size);
const char *bench_vectors(void);

#endif
