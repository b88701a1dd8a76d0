/* SPDX-License-Identifier: MIT
 *
 * graph.h: random graphs of processing units with splits and joins, for tests: the same seed gives the same graph.
 */
#ifndef WEIR_TEST_GRAPH_H
#define WEIR_TEST_GRAPH_H

#include "chain/chain.h"
#include "conform/stream.h"

enum { MOST_NODES = 40, MOST_OUTPUTS = 6, MOST_SEGMENTS = 4, MOST_EVENTS = 4, MOST_ROWS = 6 };

typedef struct node {
    const char *unit;
    const char *names[MOST_ROWS];
    char texts[MOST_ROWS][32];
    int settings;
    int parents[WEIRI_INPUTS_MAX];
    int inputs;
    /* Properties of its output, so that most joins are possible. */
    uint64_t over, under; /* output frames per input frame, reduced */
    uint64_t channels;    /* 0: no such dimension */
    uint64_t window;      /* of an inner dimension "time"; 0: none */
    bool integer;
    bool needed;
    const char *live; /* a live setting and two values of it */
    char values[2][32];
} node;

/* A live setting changes before that input frame. */
typedef struct event {
    size_t segment, frame;
    int node;
    int value;
} event;

typedef struct graph {
    uint64_t seed;
    node nodes[MOST_NODES];
    int count;
    int outputs[MOST_OUTPUTS]; /* nodes, or WEIR_CHAIN_INPUT */
    int output_count;
    weir_spec spec;
    size_t segments[MOST_SEGMENTS]; /* frames of each */
    size_t segment_count;
    event events[MOST_EVENTS];
    size_t event_count;
    test_random random;
} graph;

static inline uint64_t below(graph *g, uint64_t n)
{
    return test_random_below(&g->random, n);
}

static inline bool chance(graph *g, uint64_t percent)
{
    return below(g, 100) < percent;
}

static inline uint64_t divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

/* A node after another, with the same properties of its output. */
static inline node *follow(graph *g, int parent, const char *unit)
{
    node *n = &g->nodes[g->count++];
    assert_true(g->count <= MOST_NODES);
    if (parent < 0) {
        *n = (node){.over = 1, .under = 1, .integer = g->spec.dtype == WEIR_I16};
        n->channels = g->spec.dims[1].size;
    } else {
        const node *before = &g->nodes[parent];
        *n = (node){.over = before->over,
                    .under = before->under,
                    .channels = before->channels,
                    .window = before->window,
                    .integer = before->integer};
    }
    n->unit = unit;
    n->parents[0] = parent;
    n->inputs = 1;
    return n;
}

static inline void set(node *n, const char *name, const char *format, double value)
{
    n->names[n->settings] = name;
    snprintf(n->texts[n->settings++], sizeof n->texts[0], format, value);
}

static inline void set_text(node *n, const char *name, const char *text)
{
    n->names[n->settings] = name;
    snprintf(n->texts[n->settings++], sizeof n->texts[0], "%s", text);
}

static inline void live(node *n, const char *name, const char *format, double a, double b)
{
    n->live = name;
    snprintf(n->values[0], sizeof n->values[0], format, a);
    snprintf(n->values[1], sizeof n->values[1], format, b);
}

static inline double rate_of(const graph *g, const node *n)
{
    return g->spec.rate_hz * (double)n->over / (double)n->under;
}

static inline void scale_rate(node *n, uint64_t over, uint64_t under)
{
    n->over *= over;
    n->under *= under;
    uint64_t d = divisor(n->over, n->under);
    n->over /= d;
    n->under /= d;
}

/* One unit that keeps shape and rate. */
static inline int add_plain(graph *g, int parent)
{
    static const char *const units[] = {
        "common_reference", "butterworth", "pow",   "abs",  "log",
        "linear",           "clip",        "scale", "ewma", "adaptive_standard_scaler",
        "t_ahead",          "t_count",     "t_tail"};
    node *n = follow(g, parent, units[below(g, sizeof units / sizeof units[0])]);
    const char *unit = n->unit;
    double rate = rate_of(g, n);
    n->integer = false;
    if (strcmp(unit, "common_reference") == 0) {
        set_text(n, "mode", chance(g, 50) ? "mean" : "median");
        n->live = "include_current";
        snprintf(n->values[0], sizeof n->values[0], "false");
        snprintf(n->values[1], sizeof n->values[1], "true");
    } else if (strcmp(unit, "butterworth") == 0) {
        set(n, "order", "%.0f", (double)(1 + below(g, 5)));
        set(n, "cutoff", "%.9g Hz", rate * 0.2);
        live(n, "cutoff", "%.9g Hz", rate * 0.11, rate * 0.31);
    } else if (strcmp(unit, "pow") == 0) {
        set(n, "exponent", "%.0f", 2);
        live(n, "exponent", "%g", 3, 1);
    } else if (strcmp(unit, "linear") == 0) {
        set(n, "scale", "%g", 0.75);
        set(n, "offset", "%g", -3);
    } else if (strcmp(unit, "clip") == 0) {
        set(n, "min", "%g", -60);
        set(n, "max", "%g", 60);
        live(n, "max", "%g", 20, 35);
    } else if (strcmp(unit, "scale") == 0) {
        set(n, "scale", "%g", 0.5);
        live(n, "scale", "%g", 1.5, -2);
    } else if (strcmp(unit, "ewma") == 0) {
        set(n, "time_constant", "%.9g s", 17 / rate);
        live(n, "time_constant", "%.9g s", 5 / rate, 90 / rate);
        if (chance(g, 30)) {
            set_text(n, "on_gap", "hold");
        }
    } else if (strcmp(unit, "adaptive_standard_scaler") == 0) {
        set(n, "time_constant", "%.9g s", 40 / rate);
    } else if (strcmp(unit, "t_ahead") == 0) {
        static const double lanes[] = {0, 1, 4, 16};
        set(n, "ahead", "%.0f", (double)below(g, 30));
        set(n, "grain", "%.0f", (double)(chance(g, 50) ? 1 : 1 + below(g, 40)));
        set(n, "lanes", "%.0f", lanes[below(g, 4)]);
    } else if (strcmp(unit, "t_count") == 0) {
        live(n, "gain", "%g", 2, -0.5);
    } else if (strcmp(unit, "t_tail") == 0) {
        set(n, "from", "%.0f", (double)below(g, 20));
    }
    return g->count - 1;
}

static inline int add_plains(graph *g, int parent, uint64_t most)
{
    for (uint64_t i = below(g, most + 1); i > 0 && g->count < MOST_NODES - 12; i--) {
        parent = add_plain(g, parent);
    }
    return parent;
}

/* `under` input frames to `over` output frames: the possible ways differ in lag. Windows rename
 * the stream's dimension, so all branches of a join use windows or none does. */
static inline int add_ratio(graph *g, int parent, uint64_t over, uint64_t under, bool windows)
{
    node *n;
    double rate = parent < 0 ? g->spec.rate_hz : rate_of(g, &g->nodes[parent]);
    static const uint64_t ways[] = {0, 1, 3};
    uint64_t way = windows        ? 2
                   : over == 1    ? ways[below(g, 3)]
                   : under > over ? 1 + 2 * below(g, 2)
                                  : 3;
    if (way == 0) {
        n = follow(g, parent, "downsample");
        set(n, "factor", "%.0f", (double)under);
    } else if (way == 1) {
        n = follow(g, parent, "binned_aggregate");
        n->integer = false;
        set(n, "bin_duration", "%.17g s", (double)under / (double)over / rate);
        set_text(n, "operation", chance(g, 50) ? "max" : chance(g, 50) ? "mean" : "median");
    } else if (way == 2) {
        uint64_t window = chance(g, 60) ? under * (1 + below(g, 6)) : 1 + below(g, 60);
        static const char *const anchors[] = {"beginning", "beginning", "beginning", "end"};
        n = follow(g, parent, "window");
        n->integer = false;
        set(n, "window_dur", "%.17g s", (double)window / rate);
        set(n, "window_shift", "%.17g s", (double)under / rate);
        set_text(n, "zero_pad_until", chance(g, 30) ? "shift" : "none");
        set_text(n, "anchor", anchors[below(g, 4)]);
        n->window = window;
        scale_rate(n, over, under);
        if (chance(g, 30)) {
            follow(g, g->count - 1, "abs");
        }
        n = follow(g, g->count - 1, "aggregate");
        set_text(n, "axis", "time");
        set_text(n, "operation", chance(g, 50) ? "mean" : "std");
        n->window = 0;
        return g->count - 1;
    } else {
        n = follow(g, parent, "t_resample");
        n->integer = false;
        set(n, "p", "%.0f", (double)under);
        set(n, "q", "%.0f", (double)over);
        set(n, "half", "%.0f", (double)below(g, 12));
    }
    scale_rate(n, over, under);
    return g->count - 1;
}

static inline int join(graph *g, const int *parents, int inputs)
{
    static const char *const units[] = {"add", "difference", "merge", "t_weave"};
    int which = (int)below(g, inputs > 2 ? 3 : 4);
    which = which == 1 && inputs > 2 ? 0 : which;
    node *n = follow(g, parents[0], units[which]);
    n->inputs = inputs;
    bool integer = n->integer;
    uint64_t channels = 0;
    for (int i = 0; i < inputs; i++) {
        n->parents[i] = parents[i];
        channels += parents[i] < 0 ? g->spec.dims[1].size : g->nodes[parents[i]].channels;
    }
    n->integer = integer && which == 2;
    if (which == 2) {
        n->channels = channels;
    }
    return g->count - 1;
}

/* Splits a node into branches of equal rate and joins them. Branches are added alternately, so
 * that their nodes' numbers interleave. */
static inline int add_diamond(graph *g, int parent, int depth)
{
    static const uint64_t ratios[][2] = {{1, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 3},
                                         {1, 7}, {2, 5}, {3, 7}, {3, 1}, {4, 3}};
    const uint64_t *ratio = ratios[below(g, sizeof ratios / sizeof ratios[0])];
    int inputs = chance(g, 75) ? 2 : 3;
    int ends[3] = {parent, parent, parent};
    bool direct = ratio[0] == ratio[1] && chance(g, 40); /* one branch has no unit */
    bool windows = ratio[0] == 1 && ratio[1] > 1 && chance(g, 35);
    for (int i = direct ? 1 : 0; i < inputs; i++) {
        ends[i] = add_plains(g, ends[i], 1);
    }
    for (int i = 0; i < inputs && ratio[0] != ratio[1]; i++) {
        ends[i] = add_ratio(g, ends[i], ratio[0], ratio[1], windows);
    }
    for (int i = direct ? 1 : 0; i < inputs; i++) {
        if (depth > 0 && chance(g, 25) && g->count < MOST_NODES - 22) {
            ends[i] = add_diamond(g, ends[i], depth - 1);
        }
        ends[i] = add_plains(g, ends[i], 2);
    }
    if (ratio[0] == ratio[1] && ends[0] == ends[1]) {
        ends[1] = add_plain(g, ends[1]);
    }
    return join(g, ends, inputs);
}

/* A reference of one value per frame for all channels. */
static inline int add_reference(graph *g, int parent)
{
    int side = add_plains(g, parent, 2);
    node *n = follow(g, side, chance(g, 50) ? "slicer" : "aggregate");
    if (strcmp(n->unit, "slicer") == 0) {
        set_text(n, "selection", "0:1");
        n->channels = 1;
    } else {
        set_text(n, "axis", "ch");
        set_text(n, "operation", "mean");
        n->channels = 0;
        n->integer = false;
    }
    side = g->count - 1;
    if (chance(g, 40)) { /* state without channels */
        n = follow(g, side, "ewma");
        set(n, "time_constant", "%.9g s", 9 / rate_of(g, n));
        side = g->count - 1;
    }
    int parents[2] = {add_plains(g, parent, 1), side};
    n = follow(g, parents[0], "difference");
    n->integer = false;
    n->inputs = 2;
    n->parents[1] = side;
    return g->count - 1;
}

static inline int add_something(graph *g, int parent)
{
    static const uint64_t ratios[][2] = {{1, 2}, {1, 3}, {1, 5}, {2, 5}, {3, 7}, {2, 1}, {7, 2}};
    uint64_t kind = below(g, 100);
    const uint64_t *ratio = ratios[below(g, 7)];
    return kind < 45   ? add_diamond(g, parent, 2)
           : kind < 60 ? add_ratio(g, parent, ratio[0], ratio[1], ratio[0] == 1 && chance(g, 25))
           : kind < 68 ? add_reference(g, parent)
                       : add_plain(g, parent);
}

static inline void need(graph *g, int at)
{
    if (at >= 0 && !g->nodes[at].needed) {
        g->nodes[at].needed = true;
        for (int i = 0; i < g->nodes[at].inputs; i++) {
            need(g, g->nodes[at].parents[i]);
        }
    }
}

/* Removes nodes that no output needs. */
static inline void prune(graph *g)
{
    int numbers[MOST_NODES], kept = 0;
    for (int i = 0; i < g->output_count; i++) {
        need(g, g->outputs[i]);
    }
    for (int i = 0; i < g->count; i++) {
        numbers[i] = kept;
        if (g->nodes[i].needed) {
            g->nodes[kept] = g->nodes[i];
            for (int k = 0; k < g->nodes[kept].inputs; k++) {
                int parent = g->nodes[kept].parents[k];
                g->nodes[kept].parents[k] = parent < 0 ? parent : numbers[parent];
            }
            kept++;
        }
    }
    for (int i = 0; i < g->output_count; i++) {
        g->outputs[i] = g->outputs[i] < 0 ? -1 : numbers[g->outputs[i]];
    }
    g->count = kept;
}

static inline void add_output(graph *g, int at)
{
    for (int i = 0; i < g->output_count; i++) {
        if (g->outputs[i] == at) {
            return;
        }
    }
    if (g->output_count < MOST_OUTPUTS) {
        g->outputs[g->output_count++] = at;
    }
}

static inline void make_stream(graph *g)
{
    static const weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_F64, WEIR_I16};
    static const uint64_t channels[] = {1, 2, 5, 17, 20, 37, 70, 130};
    static const double rates[] = {1000.0, 30000.0, 24414.0625};
    uint64_t c = channels[below(g, 8)];
    g->spec = weir_spec_make(dtypes[below(g, 4)], rates[below(g, 3)], c, NULL, NULL);
    size_t all = 300 + (size_t)below(g, c > 40 ? 500 : 1500);
    g->segment_count = chance(g, 60) ? 1 : 2 + (size_t)below(g, MOST_SEGMENTS - 1);
    for (size_t i = 0; i < g->segment_count; i++) {
        bool last = i + 1 == g->segment_count;
        g->segments[i] = last            ? all
                         : chance(g, 20) ? 1 + (size_t)below(g, 5)
                                         : 1 + (size_t)below(g, all / 2);
        all -= g->segments[i] < all ? g->segments[i] : all - 1;
    }
}

static inline void make_events(graph *g)
{
    for (int i = 0; i < MOST_EVENTS && chance(g, 60); i++) {
        int at = (int)below(g, (uint64_t)g->count);
        if (g->nodes[at].live != NULL) {
            size_t segment = (size_t)below(g, g->segment_count);
            /* Not between two segments: a gap, unlike weir_chain_finish, ends the one before after that. */
            size_t frame = (size_t)below(g, g->segments[segment]);
            if (frame > 0 || segment == 0) {
                g->events[g->event_count++] = (event){segment, frame, at, (int)below(g, 2)};
            }
        }
    }
}

static inline void make_graph(graph *g, uint64_t seed)
{
    *g = (graph){.seed = seed, .random = {seed}};
    make_stream(g);
    int length = 1 + (int)below(g, 5), at = WEIR_CHAIN_INPUT;
    for (int i = 0; i < length && g->count < MOST_NODES - 22; i++) {
        bool aside = g->count > 0 && chance(g, 15);
        at = add_something(g, aside ? (int)below(g, (uint64_t)g->count) : at);
    }
    add_output(g, at);
    if (chance(g, 50)) {
        for (int i = 0; i < 4; i++) {
            add_output(g, (int)below(g, (uint64_t)g->count + 1) - 1);
        }
    }
    prune(g);
    make_events(g);
}

static inline void print_graph(const graph *g)
{
    print_error("graph %llu (WEIR_GRAPH repeats it): %s, %llu channels, %g Hz, segments",
                (unsigned long long)g->seed, weir_dtype_name(g->spec.dtype),
                (unsigned long long)g->spec.dims[1].size, g->spec.rate_hz);
    for (size_t i = 0; i < g->segment_count; i++) {
        print_error(" %zu", g->segments[i]);
    }
    print_error("\n");
    for (int i = 0; i < g->count; i++) {
        const node *n = &g->nodes[i];
        print_error("  %d %s(", i, n->unit);
        for (int k = 0; k < n->inputs; k++) {
            print_error(k == 0 ? "%d" : ", %d", n->parents[k]);
        }
        print_error(")");
        for (int k = 0; k < n->settings; k++) {
            print_error(" %s=%s", n->names[k], n->texts[k]);
        }
        for (int k = 0; k < g->output_count; k++) {
            if (g->outputs[k] == i) {
                print_error(" -> output %d", k);
            }
        }
        print_error("\n");
    }
    for (size_t i = 0; i < g->event_count; i++) {
        const event *e = &g->events[i];
        print_error("  segment %zu frame %zu: %d %s = %s\n", e->segment, e->frame, e->node,
                    g->nodes[e->node].live, g->nodes[e->node].values[e->value]);
    }
}

#endif
