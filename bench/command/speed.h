/* SPDX-License-Identifier: MIT
 *
 * speed.h: what the files of `weir bench speed` share: what is run in turns, and what came out.
 */
#ifndef WEIR_CLI_BENCH_SPEED_H
#define WEIR_CLI_BENCH_SPEED_H

#include <limits.h>

#include "bench.h"

enum { MOST_RUNS = 64, MOST_ROUNDS = 101, CUTS = 3 };

/* One line: what is run in each round. */
typedef struct entry {
    const char *work; /* "chain" "filter" "units" "latency" "threads" "shapes" "pushes" */
    char title[80];
    const char *precision;  /* of stream and, where it differs, arithmetic */
    const bench_peer *peer; /* NULL = weir */
    bench_job job;
    double seconds;
    bench_taken taken[MOST_ROUNDS];
    char version[80];
} entry;

/* DESIGN 11, row 4: how the stream is cut, and what must not depend on it. */
typedef struct bench_cut {
    const char *title;
    uint64_t frames, every, messages, least; /* fewer messages when measurements are short */
} bench_cut;
extern const bench_cut bench_cuts[CUTS];

typedef struct bench {
    uint64_t rounds, threads; /* most threads that are tried */
    double seconds;
    const char *peers; /* folder */
    bool json, only_kernels;
    const char *word; /* of the kernels wanted; NULL = all */
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

/* What an entry's runs say, by name. */
typedef enum figure {
    X_REAL_TIME,   /* of the median push: others' work on the machine is not weir's or a peer's */
    NS_PER_PUSH,   /* mean */
    NS_MEDIAN,     /* of pushes */
    NS_99,         /* that 99 % of pushes took at most */
    NS_PER_SAMPLE, /* of the tenth part of pushes that is fastest */
    FIGURES
} figure;

double bench_figure(const entry *e, size_t round, figure what);
spread bench_spread(const bench *b, const entry *e, figure what);
/* How many times a is as fast as b, round by round, so that a slower moment of the machine meets both. */
spread bench_ratio(const bench *b, const entry *a, const entry *e, figure what);
/* weir's own entry that this one is to be held against: the same work and precision; NULL = none. */
const entry *bench_own(const bench *b, const entry *e);
/* Nanoseconds a sample (frame x channel) of the unit at entry i alone: its prefix less the one before, of
 * each the fastest run, since a difference of medians drowns in a busy machine's noise. */
double bench_unit_ns(const bench *b, size_t i);
/* A peer that is faster than weir at the same work and precision. */
bool bench_is_slower(const bench *b, const entry *e);
/* Of weir's filter, pushes and all: which share of the limit of its kernel it reaches, of each the quiet
 * moments; 0 = the kernels were not measured. */
double bench_filter_share(const bench *b, const entry *e, double *ret_limit_ns);
/* Row 5: whether this shape is one whose cost is to be the same. */
bool bench_is_steady(const entry *e);
/* Least and most ns a sample of those, of each its fastest round. */
spread bench_steady(const bench *b);
bool bench_same_plans(const bench *b);

/* speed_table.c, speed_json.c */
void bench_speed_print(const bench *b);
json_t *bench_speed_json(const bench *b);
void bench_processor(char *text, size_t size);
const char *bench_vectors(void);

#endif
