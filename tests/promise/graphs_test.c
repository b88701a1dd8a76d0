/* SPDX-License-Identifier: MIT
 *
 * graphs_test.c: random graphs of units with splits and joins. S1: the same bits for any message boundaries, tile,
 * threads, fusing, and however the output is taken; counts as weir_chain_due says; refused blocks offered again.
 * S10: the same from a saved state. M2, M3: inside the plan, without a heap call. WEIR_GRAPHS=N makes N graphs,
 * WEIR_SEED repeats a run, WEIR_GRAPH=SEED one graph.
 */
#include <signal.h>
#include <unistd.h>

#include "chain/chain.h"
#include "conform/stream.h"
#include "units_of_test.h"

#define GRAPHS  320
#define STUCK_S 60 /* a graph takes some 10 ms */

enum { MOST_NODES = 40, MOST_OUTPUTS = 6, MOST_SEGMENTS = 4, MOST_EVENTS = 4, MOST_ROWS = 6 };

/* ---- graphs -------------------------------------------------------------------------------------- */

typedef struct node {
    const char *unit;
    const char *names[MOST_ROWS];
    char texts[MOST_ROWS][32];
    int settings;
    int parents[WEIRI_INPUTS_MAX];
    int inputs;
    /* What is known of its output, so that joins mostly suit. */
    uint64_t over, under; /* frames a frame of the input, reduced */
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

static uint64_t below(graph *g, uint64_t n)
{
    return test_random_below(&g->random, n);
}

static bool chance(graph *g, uint64_t percent)
{
    return below(g, 100) < percent;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

/* A node behind another, whose output is like that one's. */
static node *follow(graph *g, int parent, const char *unit)
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

static void set(node *n, const char *name, const char *format, double value)
{
    n->names[n->settings] = name;
    snprintf(n->texts[n->settings++], sizeof n->texts[0], format, value);
}

static void set_text(node *n, const char *name, const char *text)
{
    n->names[n->settings] = name;
    snprintf(n->texts[n->settings++], sizeof n->texts[0], "%s", text);
}

static void live(node *n, const char *name, const char *format, double a, double b)
{
    n->live = name;
    snprintf(n->values[0], sizeof n->values[0], format, a);
    snprintf(n->values[1], sizeof n->values[1], format, b);
}

static double rate_of(const graph *g, const node *n)
{
    return g->spec.rate_hz * (double)n->over / (double)n->under;
}

static void scale_rate(node *n, uint64_t over, uint64_t under)
{
    n->over *= over;
    n->under *= under;
    uint64_t d = divisor(n->over, n->under);
    n->over /= d;
    n->under /= d;
}

/* One unit that keeps shape and rate. */
static int add_plain(graph *g, int parent)
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
        n->live = "mode";
        snprintf(n->values[0], sizeof n->values[0], "mean");
        snprintf(n->values[1], sizeof n->values[1], "median");
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

static int add_plains(graph *g, int parent, uint64_t most)
{
    for (uint64_t i = below(g, most + 1); i > 0 && g->count < MOST_NODES - 12; i--) {
        parent = add_plain(g, parent);
    }
    return parent;
}

/* `under` input frames to `over` output frames: the ways there are to do it differ in lag. Windows name the stream's
 * dimension, so what is joined goes through windows in all branches or in none. */
static int add_ratio(graph *g, int parent, uint64_t over, uint64_t under, bool windows)
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

static int join(graph *g, const int *parents, int inputs)
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

/* Splits a node into branches of equal rate and joins them. Branches are written down in turns, so that their
 * nodes' numbers interleave. */
static int add_diamond(graph *g, int parent, int depth)
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

/* A reference of one value a frame for all channels. */
static int add_reference(graph *g, int parent)
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

static int add_something(graph *g, int parent)
{
    static const uint64_t ratios[][2] = {{1, 2}, {1, 3}, {1, 5}, {2, 5}, {3, 7}, {2, 1}, {7, 2}};
    uint64_t kind = below(g, 100);
    const uint64_t *ratio = ratios[below(g, 7)];
    return kind < 45   ? add_diamond(g, parent, 2)
           : kind < 60 ? add_ratio(g, parent, ratio[0], ratio[1], ratio[0] == 1 && chance(g, 25))
           : kind < 68 ? add_reference(g, parent)
                       : add_plain(g, parent);
}

static void need(graph *g, int at)
{
    if (at >= 0 && !g->nodes[at].needed) {
        g->nodes[at].needed = true;
        for (int i = 0; i < g->nodes[at].inputs; i++) {
            need(g, g->nodes[at].parents[i]);
        }
    }
}

/* Leaves out what no output needs. */
static void prune(graph *g)
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

static void add_output(graph *g, int at)
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

static void make_stream(graph *g)
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

static void make_events(graph *g)
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

static void make_graph(graph *g, uint64_t seed)
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

static void print_graph(const graph *g)
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

/* ---- building ------------------------------------------------------------------------------------ */

typedef struct way {
    uint64_t tile, threads;
    bool fuse;
    size_t cut; /* messages of 0 to so many frames; 0 = whole segments */
} way;

static weir_chain *build(const graph *g, const way *w, weir_heap *heap)
{
    weir_chain_options options = weir_chain_options_default();
    options.heap = heap;
    options.tile_frames = w->tile;
    options.threads = w->threads;
    options.fuse = w->fuse;
    weir_chain *chain = NULL;
    test_ok(weir_chain_create(&options, &chain));
    for (int i = 0; i < g->count; i++) {
        const node *n = &g->nodes[i];
        weir_value settings[MOST_ROWS];
        int number = -1;
        for (int k = 0; k < n->settings; k++) {
            settings[k] = weir_text(n->names[k], n->texts[k]);
        }
        test_ok(weir_chain_join(chain, n->parents, (size_t)n->inputs, n->unit, settings,
                                (size_t)n->settings, NULL, &number));
        assert_int_equal(number, i);
    }
    for (int i = 0; i < g->output_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%d", i);
        test_ok(weir_chain_output(chain, g->outputs[i], name));
    }
    return chain;
}

/* NULL: the units do not suit one another. */
static weir_chain *plan(const graph *g, const way *w, weir_heap *heap, weir_source *source)
{
    weir_chain *chain = build(g, w, heap);
    const weir_plan *shown = NULL;
    weir_err err = source == NULL ? weir_chain_plan(chain, &g->spec, &shown)
                                  : weir_chain_plan_run(chain, source, NULL, 0, &shown);
    if (err != WEIR_OK) {
        assert_int_equal(err, WEIR_E_CHAIN);
        weir_chain_destroy(chain);
        return NULL;
    }
    return chain;
}

/* ---- collecting ---------------------------------------------------------------------------------- */

typedef struct outputs {
    test_output each[MOST_OUTPUTS];
    uint64_t of_segment[MOST_OUTPUTS][MOST_SEGMENTS]; /* frames */
    test_random *refuses; /* refuses blocks now and then; NULL = never */
    struct {
        bool is;
        int output;
        size_t frames;
        int64_t index;
    } refused; /* what is expected next */
    int refusals;
} outputs;

static weir_err collect(void *user, const weir_message *block)
{
    outputs *to = user;
    if (to->refused.is) {
        assert_int_equal(block->output, to->refused.output);
        assert_int_equal(block->frames, to->refused.frames);
        assert_int_equal(block->first_index, to->refused.index);
    }
    to->refused.is = false;
    if (to->refuses != NULL && test_random_below(to->refuses, 4) == 0) {
        to->refused.is = true;
        to->refused.output = block->output;
        to->refused.frames = block->frames;
        to->refused.index = block->first_index;
        to->refusals++;
        return WEIR_E_IO;
    }
    assert_true(block->segment < MOST_SEGMENTS);
    assert_int_equal(block->segment_start_ns, (int64_t)block->segment * 1000000000);
    to->of_segment[block->output][block->segment] += block->frames;
    return test_collect(&to->each[block->output], block);
}

static void free_outputs(outputs *o)
{
    for (int i = 0; i < MOST_OUTPUTS; i++) {
        test_output_free(&o->each[i]);
    }
}

static void same_outputs(const graph *g, const outputs *a, const outputs *b, const char *what)
{
    for (int i = 0; i < g->output_count; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s, output %d", what, i);
        for (size_t s = 0; s < g->segment_count; s++) {
            if (a->of_segment[i][s] != b->of_segment[i][s]) {
                print_error("%s: segment %zu has %llu frames, not %llu\n", text, s,
                            (unsigned long long)b->of_segment[i][s],
                            (unsigned long long)a->of_segment[i][s]);
                fail();
            }
        }
        test_same(&a->each[i], &b->each[i], text);
    }
}

/* ---- running ------------------------------------------------------------------------------------- */

typedef enum how { PUSH, PUSH_INTO, SAVE } how;

typedef struct drive {
    const graph *g;
    const test_signal *signal;
    const way *way;
    how how;
    weir_heap *heap;
    weir_chain *chain;
    test_random random;
    outputs out;
    unsigned char *lent, *rows;
    size_t capacity;
    int saves;
} drive;

/* Nothing is left behind but what waits for another branch. */
static void check_rest(const drive *d)
{
    const weiri_running *running = d->chain->running;
    assert_false(running->pending);
    assert_false(running->busy);
    for (int i = 0; i < d->chain->plan->group_count; i++) {
        const weiri_group *group = &d->chain->plan->groups[i];
        assert_int_equal(running->groups[i].undelivered, 0);
        assert_true(group->feeds_join || running->groups[i].edge.frames == 0);
        assert_true(group->in_place || running->groups[i].edge.frames <= group->capacity);
    }
}

static void check_due(const drive *d, size_t segment, size_t frames)
{
    for (int i = 0; i < d->g->output_count; i++) {
        uint64_t due = weir_chain_due(d->chain, (size_t)i, frames);
        if (d->out.of_segment[i][segment] != due) {
            print_error("output %d: %llu frames came of %zu, due are %llu\n", i,
                        (unsigned long long)d->out.of_segment[i][segment], frames,
                        (unsigned long long)due);
            fail();
        }
    }
}

/* At a segment's end what looks ahead gives all that its counts allow. */
static void check_ended(const drive *d, size_t segment)
{
    const weiri_plan *of = d->chain->plan;
    uint64_t frames[2 * MOST_NODES + MOST_OUTPUTS];
    assert_true(of->step_count <= (int)(sizeof frames / sizeof frames[0]));
    for (int i = 0; i < of->step_count; i++) {
        const weiri_step *step = &of->steps[i];
        uint64_t least = UINT64_MAX;
        for (int k = 0; k < step->inputs; k++) {
            int parent = step->parents[k];
            uint64_t some = parent < 0 ? d->g->segments[segment] : frames[parent];
            some = some < step->skip[k] ? 0 : some - step->skip[k];
            least = some < least ? some : least;
        }
        frames[i] = weiri_due_at(&step->unit.due, least, true);
    }
    for (int i = 0; i < d->g->output_count; i++) {
        assert_int_equal(d->out.of_segment[i][segment], frames[of->exits[i].step]);
    }
}

static weir_message message_of(const drive *d, size_t segment, size_t at, size_t frames)
{
    return (weir_message){
        .spec = &d->signal->spec,
        .data = d->lent,
        .frames = frames,
        .segment = segment,
        .segment_start_ns = (int64_t)segment * 1000000000,
        .first_index = (int64_t)at,
    };
}

/* Pushes frames of a segment, again and again while blocks are refused or rows are full. */
static void push_some(drive *d, size_t segment, size_t at, size_t before, size_t frames)
{
    size_t bytes = (size_t)weir_spec_frame_bytes(&d->signal->spec);
    bool again = true;
    while (again) {
        memcpy(d->lent, d->signal->data + (before + at) * bytes, frames * bytes);
        for (int i = 0; i < MOST_OUTPUTS; i++) {
            d->out.each[i].lent = d->lent;
            d->out.each[i].lent_end = d->lent + frames * bytes;
        }
        weir_message message = message_of(d, segment, at, frames);
        if (d->how == PUSH_INTO) {
            weir_message block;
            size_t room = 1 + (size_t)test_random_below(&d->random, d->capacity);
            test_ok(weir_chain_push_into(d->chain, &message, d->rows, room, &block));
            assert_true(block.frames <= room);
            if (block.frames > 0) {
                test_ok(collect(&d->out, &block));
            }
            again = block.frames == room || weir_chain_consumed(d->chain) < frames;
        } else {
            weir_err err = weir_chain_push(d->chain, &message, collect, &d->out);
            again = err != WEIR_OK;
            assert_true(err == WEIR_OK || (err == WEIR_E_IO && d->out.refused.is));
            assert_true(again || weir_chain_consumed(d->chain) == frames);
        }
        memset(d->lent, 0xA5, frames * bytes); /* S7 */
        at += weir_chain_consumed(d->chain);
        frames -= weir_chain_consumed(d->chain);
    }
}

static void finish(drive *d)
{
    weir_err err = WEIR_E_IO;
    while (err != WEIR_OK) {
        err = weir_chain_finish(d->chain, collect, &d->out);
        assert_true(err == WEIR_OK || (err == WEIR_E_IO && d->out.refused.is));
    }
    check_rest(d);
}

static way random_way(test_random *random)
{
    static const size_t cuts[] = {1, 2, 9, 40, 200, 0};
    static const uint64_t tiles[] = {1, 2, 3, 7, 16, 50, 64, 256, 300, 1024, 4096, WEIR_TILE_AUTO};
    return (way){.tile = tiles[test_random_below(random, 12)],
                 .threads = 1 + test_random_below(random, 4),
                 .fuse = test_random_below(random, 3) > 0,
                 .cut = cuts[test_random_below(random, 6)]};
}

/* Into another chain, of other tiles, threads, fusing; which may have run before. */
static void save_and_restore(drive *d)
{
    size_t size = (size_t)weir_chain_state_bytes(d->chain);
    unsigned char *blob = malloc(size);
    assert_non_null(blob);
    assert_true(size > 0);
    assert_int_equal(weir_chain_save(d->chain, blob, size - 1), WEIR_E_USAGE);
    test_ok(weir_chain_save(d->chain, blob, size));
    way other = random_way(&d->random);
    weir_chain *chain = plan(d->g, &other, d->heap, NULL);
    assert_non_null(chain);
    if (test_random_below(&d->random, 3) == 0) {
        weir_message message = {.spec = &d->signal->spec,
                                .data = d->signal->data,
                                .frames = 1 + d->signal->frames / 3,
                                .segment = 9};
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
    }
    test_ok(weir_chain_restore(chain, blob, size));
    assert_int_equal(weir_chain_state_bytes(chain), size);
    unsigned char *again = malloc(size);
    assert_non_null(again);
    test_ok(weir_chain_save(chain, again, size));
    assert_memory_equal(blob, again, size);
    free(again);
    free(blob);
    for (size_t i = 0; i < weir_chain_node_count(chain); i++) {
        weir_unit_report a = {.report_size = sizeof a}, b = {.report_size = sizeof b};
        test_ok(weir_chain_node_report(chain, i, &a));
        test_ok(weir_chain_node_report(d->chain, i, &b));
        assert_int_equal(a.unfinished_frames, b.unfinished_frames);
        assert_int_equal(a.missing_total, b.missing_total);
    }
    weir_chain_destroy(d->chain);
    d->chain = chain;
    d->saves++;
}

/* What is refused changes nothing. */
static void refuse_settings(drive *d)
{
    static const weir_value wrong[] = {{.key = "no_such", .type = WEIR_VALUE_NUMBER, .number = 1},
                                       {.key = "order", .type = WEIR_VALUE_NUMBER, .number = 7},
                                       {.key = "ahead", .type = WEIR_VALUE_NUMBER, .number = 7},
                                       {.key = "cutoff", .type = WEIR_VALUE_NUMBER, .number = 1e9},
                                       {.key = "exponent", .type = WEIR_VALUE_TEXT, .text = "x"}};
    int at = (int)test_random_below(&d->random, (uint64_t)d->g->count);
    const weir_value *value = &wrong[test_random_below(&d->random, 5)];
    assert_int_equal(weir_chain_set(d->chain, at, value), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), value->key));
    assert_non_null(strstr(weir_err_detail(), d->g->nodes[at].unit));
}

static void set_events(drive *d, size_t segment, size_t at)
{
    for (size_t i = 0; i < d->g->event_count; i++) {
        const event *e = &d->g->events[i];
        if (e->segment == segment && e->frame == at) {
            const node *n = &d->g->nodes[e->node];
            weir_value value = weir_text(n->live, n->values[e->value]);
            test_ok(weir_chain_set(d->chain, e->node, &value));
        }
    }
}

/* Frames until the next event, at most. */
static size_t until_event(const graph *g, size_t segment, size_t at, size_t frames)
{
    for (size_t i = 0; i < g->event_count; i++) {
        const event *e = &g->events[i];
        if (e->segment == segment && e->frame > at && e->frame - at < frames) {
            frames = e->frame - at;
        }
    }
    return frames;
}

static void run_segment(drive *d, size_t segment, size_t before)
{
    size_t all = d->g->segments[segment];
    for (size_t at = 0; at < all;) {
        size_t frames = all - at;
        if (d->way->cut > 0) {
            size_t some = (size_t)test_random_below(&d->random, d->way->cut + 1);
            frames = some < frames ? some : frames;
        }
        if (test_random_below(&d->random, 8) == 0) {
            refuse_settings(d);
        }
        set_events(d, segment, at);
        size_t until = until_event(d->g, segment, at, frames);
        push_some(d, segment, at, before, until);
        check_rest(d);
        at += until;
        if (at > 0 && until > 0) {
            check_due(d, segment, at);
        }
        if (d->how == SAVE && d->saves < 6 && test_random_below(&d->random, 4) == 0) {
            save_and_restore(d);
        }
        if (until == 0) { /* an event is set once */
            frames = 1;
            push_some(d, segment, at, before, frames);
            at += frames;
        }
    }
}

static void check_memory(const drive *d, uint64_t calls)
{
    const weir_plan *shown = &d->chain->plan->shown;
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(weir_chain_cache(d->chain), &stats);
    assert_true(stats.held_peak_bytes <= shown->total_bytes);
    if (d->how != SAVE && calls != UINT64_MAX) {
        assert_int_equal(weir_heap_counting_counts(d->heap).calls, calls);
    }
}

static outputs run(drive *d, test_random *refuses)
{
    d->out = (outputs){.refuses = refuses};
    d->chain = plan(d->g, d->way, d->heap, NULL);
    assert_non_null(d->chain);
    size_t bytes = (size_t)weir_spec_frame_bytes(&d->signal->spec), before = 0;
    d->lent = malloc(d->signal->frames * bytes + 1);
    d->capacity = 1 + (size_t)test_random_below(&d->random, 60);
    d->rows = malloc((d->capacity + 1) *
                     (size_t)weir_spec_frame_bytes(weir_chain_output_spec(d->chain, 0)));
    assert_non_null(d->lent);
    assert_non_null(d->rows);
    uint64_t calls = UINT64_MAX;
    for (size_t s = 0; s < d->g->segment_count; s++) {
        run_segment(d, s, before);
        before += d->g->segments[s];
        if (s == 0) {
            calls = weir_heap_counting_counts(d->heap).calls;
        }
        if (test_random_below(&d->random, 2) == 0 || s + 1 == d->g->segment_count) {
            finish(d);
        }
    }
    for (size_t s = 0; s < d->g->segment_count; s++) {
        check_ended(d, s);
    }
    check_memory(d, calls);
    weir_chain_destroy(d->chain);
    free(d->lent);
    free(d->rows);
    return d->out;
}

/* ---- pulling ------------------------------------------------------------------------------------- */

typedef struct gapped {
    test_source base;
    const graph *g;
    size_t segment, at, before;
} gapped;

static weir_err gapped_read(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    gapped *self = (gapped *)(void *)source;
    if (self->segment < self->g->segment_count && self->at == self->g->segments[self->segment]) {
        self->before += self->at;
        self->segment++;
        self->at = 0;
    }
    ret->frames = 0;
    if (self->segment == self->g->segment_count) {
        return WEIR_OK;
    }
    size_t frames = self->g->segments[self->segment] - self->at;
    size_t some = 1 + (size_t)test_random_below(&self->base.random, capacity);
    frames = frames < some ? frames : some;
    size_t bytes = (size_t)weir_spec_frame_bytes(&self->g->spec);
    memcpy(rows, self->base.signal->data + (self->before + self->at) * bytes, frames * bytes);
    ret->frames = frames;
    ret->segment = self->segment;
    ret->segment_start_ns = (int64_t)self->segment * 1000000000;
    ret->first_index = (int64_t)self->at;
    self->at += frames;
    return WEIR_OK;
}

static outputs pull(const graph *g, const test_signal *signal, uint64_t seed, weir_heap *heap)
{
    static weir_source_ops ops;
    gapped source = {.base = test_source_make(signal, 0, seed), .g = g};
    ops = *source.base.base.ops;
    ops.read = gapped_read;
    source.base.base.ops = &ops;
    test_random random = {seed};
    outputs out = {.refuses = NULL};
    way w = random_way(&random);
    weir_chain *chain = plan(g, &w, heap, &source.base.base);
    assert_non_null(chain);
    size_t most = 1 + (size_t)test_random_below(&random, 90);
    unsigned char *rows =
        malloc(most * (size_t)weir_spec_frame_bytes(weir_chain_output_spec(chain, 0)));
    assert_non_null(rows);
    for (;;) {
        size_t room = 1 + (size_t)test_random_below(&random, most);
        weir_message block;
        test_ok(weir_chain_pull(chain, rows, room, &block));
        assert_true(block.frames <= room);
        if (block.frames == 0) {
            break;
        }
        test_ok(collect(&out, &block));
    }
    free(rows);
    weir_chain_destroy(chain);
    return out;
}

/* ---- damaged and foreign states ------------------------------------------------------------------ */

static void
check_blobs(const graph *g, const test_signal *signal, const outputs *whole, uint64_t seed)
{
    test_random random = {seed};
    way w = random_way(&random);
    weir_chain *chain = plan(g, &w, NULL, NULL);
    weir_message message = {.spec = &g->spec,
                            .data = signal->data,
                            .frames = 1 + (size_t)test_random_below(&random, signal->frames)};
    unsigned char byte = 0;
    assert_int_equal(weir_chain_state_bytes(chain), 0);
    assert_int_equal(weir_chain_save(chain, &byte, 1), WEIR_E_USAGE);
    test_ok(weir_chain_push(chain, &message, NULL, NULL));
    size_t size = (size_t)weir_chain_state_bytes(chain);
    unsigned char *blob = malloc(size), *copy = malloc(size);
    assert_non_null(blob);
    assert_non_null(copy);
    test_ok(weir_chain_save(chain, blob, size));
    for (int i = 0; i < 12; i++) {
        size_t at = (size_t)test_random_below(&random, i < 4 ? 96 : size);
        memcpy(copy, blob, size);
        copy[at] ^= (unsigned char)(1u << test_random_below(&random, 8));
        weir_err err = weir_chain_restore(chain, copy, size);
        /* What follows the end of a text in the head means nothing. */
        assert_true(err == WEIR_E_USAGE || (err == WEIR_OK && at < 96));
        assert_int_equal(weir_chain_restore(chain, blob, (size_t)test_random_below(&random, size)),
                         WEIR_E_USAGE);
        assert_true(strlen(weir_err_detail()) > 20);
    }
    /* Another input. */
    graph other = *g;
    other.spec.dims[1].size += 3;
    weir_chain *wider = plan(&other, &w, NULL, NULL);
    if (wider != NULL) {
        assert_int_equal(weir_chain_restore(wider, blob, size), WEIR_E_USAGE);
        assert_non_null(strstr(weir_err_detail(), "input"));
        weir_chain_destroy(wider);
    }
    /* After all of that, as before the first frame. */
    if (g->event_count == 0 && g->segment_count == 1) {
        outputs out = {.refuses = NULL};
        weir_chain_reset(chain);
        chain->running->segments = 0; /* counted on over a reset */
        message.frames = signal->frames;
        test_ok(weir_chain_push(chain, &message, collect, &out));
        test_ok(weir_chain_finish(chain, collect, &out));
        same_outputs(g, whole, &out, "after refused states");
        free_outputs(&out);
    }
    free(blob);
    free(copy);
    weir_chain_destroy(chain);
}

/* ---- the test ------------------------------------------------------------------------------------ */

typedef struct tally {
    int graphs, joins, several, pulled, refusals, saves, events, damaged, refused_by_plan;
} tally;

static const graph *at_work; /* printed where a test fails */

static void one_graph(const graph *g, weir_heap *heap, tally *count)
{
    test_random random = {g->seed ^ 0x5eed};
    way plain = {WEIR_TILE_AUTO, 1, true, 0};
    weir_chain *chain = plan(g, &plain, heap, NULL);
    if (chain == NULL) {
        count->refused_by_plan++;
        return;
    }
    weir_chain_destroy(chain);
    at_work = g;
    alarm(STUCK_S);
    size_t frames = 0;
    for (size_t i = 0; i < g->segment_count; i++) {
        frames += g->segments[i];
    }
    test_signal signal = test_signal_make(g->spec, frames, g->seed);
    for (size_t i = 0; g->spec.dtype != WEIR_I16 && i < frames * signal.columns; i += 331) {
        test_signal_set(&signal, i, i % 2 == 0 ? (double)NAN : (double)INFINITY);
    }
    drive d = {
        .g = g, .signal = &signal, .way = &plain, .how = PUSH, .heap = heap, .random = random};
    outputs whole = run(&d, NULL);
    for (int i = 0; i < 5; i++) {
        way w = random_way(&random);
        d = (drive){.g = g, .signal = &signal, .way = &w, .heap = heap};
        d.random.state = test_random_next(&random);
        d.how = i == 2 && g->output_count == 1 ? PUSH_INTO : i >= 3 ? SAVE : PUSH;
        test_random refuses = {test_random_next(&random)};
        outputs other = run(&d, i == 1 ? &refuses : NULL);
        same_outputs(g, &whole, &other,
                     i == 1               ? "refused and offered again"
                     : d.how == PUSH_INTO ? "pushed into rows"
                     : d.how == SAVE      ? "saved and restored"
                                          : "cut");
        count->refusals += other.refusals;
        count->saves += d.saves;
        count->several += d.how == PUSH_INTO;
        free_outputs(&other);
    }
    if (g->output_count == 1 && g->event_count == 0) {
        outputs other = pull(g, &signal, test_random_next(&random), heap);
        same_outputs(g, &whole, &other, "pulled");
        free_outputs(&other);
        count->pulled++;
    }
    if (test_random_below(&random, 4) == 0) {
        check_blobs(g, &signal, &whole, test_random_next(&random));
        count->damaged++;
    }
    for (int i = 0; i < g->count; i++) {
        count->joins += g->nodes[i].inputs > 1;
    }
    count->events += (int)g->event_count;
    count->graphs++;
    free_outputs(&whole);
    free(signal.data);
    at_work = NULL;
}

/* A chain that never comes to an end. */
static void print_stuck(int signal)
{
    (void)signal;
    if (at_work != NULL) {
        print_graph(at_work);
    }
    print_error("no end after %d s\n", STUCK_S);
    abort();
}

static int print_failed(void **state)
{
    (void)state;
    if (at_work != NULL) {
        print_graph(at_work);
    }
    return 0;
}

static void random_graphs(void **state)
{
    (void)state;
    const char *many = getenv("WEIR_GRAPHS"), *one = getenv("WEIR_GRAPH");
    int graphs = many != NULL ? atoi(many) : GRAPHS;
    test_random random = {test_seed()};
    weir_heap *host = NULL, *heap = NULL;
    test_ok(weir_heap_find("host", &host));
    test_ok(weir_heap_counting_create(host, &heap));
    tally count = {0};
    static graph g;
    while (one == NULL && count.graphs < graphs) {
        make_graph(&g, test_random_next(&random));
        one_graph(&g, heap, &count);
        assert_true(count.refused_by_plan < 50 + 2 * count.graphs);
    }
    if (one != NULL) {
        make_graph(&g, strtoull(one, NULL, 10));
        print_graph(&g);
        one_graph(&g, heap, &count);
    }
    print_message(
        "%d graphs (%d others did not suit), %d joins, %d events, %d refusals, %d saves, %d "
        "pushed into rows, %d pulled, %d damaged\n",
        count.graphs, count.refused_by_plan, count.joins, count.events, count.refusals, count.saves,
        count.several, count.pulled, count.damaged);
    assert_int_equal(weir_heap_counting_counts(heap).bytes, 0);
    weir_heap_destroy(heap);
}

/* ---- whose state it is --------------------------------------------------------------------------- */

typedef struct foreign {
    const char *unit, *second;
    const char *names[3];
    const char *texts[3];
    int order[2]; /* of the last unit's inputs */
    double groups[4];
} foreign;

static weir_chain *make_foreign(const foreign *f, const weir_spec *spec)
{
    weir_chain *chain = NULL;
    const weir_plan *shown = NULL;
    weir_value settings[4], numbers[4], lists[2];
    size_t count = 0;
    int number = -1;
    test_ok(weir_chain_create(NULL, &chain));
    for (; count < 3 && f->names[count] != NULL; count++) {
        settings[count] = weir_text(f->names[count], f->texts[count]);
    }
    for (int i = 0; i < 4; i++) {
        numbers[i] = (weir_value){.type = WEIR_VALUE_NUMBER, .number = f->groups[i]};
    }
    for (int i = 0; i < 2; i++) {
        lists[i] = (weir_value){.type = WEIR_VALUE_LIST, .items = &numbers[2 * i], .count = 2};
    }
    if (f->groups[1] > 0) {
        settings[count++] = (weir_value){
            .key = "channel_groups", .type = WEIR_VALUE_LIST, .items = lists, .count = 2};
    }
    test_ok(weir_chain_add(chain, -1, f->unit, settings, count, NULL, &number));
    test_ok(weir_chain_add(chain, 0, f->second, NULL, 0, NULL, &number));
    test_ok(weir_chain_join(chain, f->order, 2, "difference", NULL, 0, NULL, &number));
    test_ok(weir_chain_plan(chain, spec, &shown));
    return chain;
}

/* A state fits the chain that it was saved of, in another object; no chain that would compute something else. */
static void foreign_states(void **state)
{
    (void)state;
    static const foreign chains[] = {
        {.unit = "ewma", .second = "abs", .order = {0, 1}},
        {.unit = "ewma", .second = "abs", .order = {1, 0}},
        {.unit = "ewma", .second = "pow", .order = {0, 1}},
        {.unit = "ewma", .second = "abs", .names = {"on_gap"}, .texts = {"reset"}, .order = {0, 1}},
        {.unit = "linear", .second = "abs", .names = {"scale"}, .texts = {"2"}, .order = {0, 1}},
        {.unit = "linear", .second = "abs", .names = {"scale"}, .texts = {"3"}, .order = {0, 1}},
        {.unit = "butterworth",
         .second = "abs",
         .names = {"order", "cutoff"},
         .texts = {"4", "300 Hz"},
         .order = {0, 1}},
        {.unit = "butterworth",
         .second = "abs",
         .names = {"order", "cutoff"},
         .texts = {"3", "300 Hz"},
         .order = {0, 1}},
        {.unit = "common_reference", .second = "abs", .order = {0, 1}, .groups = {0, 1, 2, 3}},
        {.unit = "common_reference", .second = "abs", .order = {0, 1}, .groups = {0, 2, 1, 3}},
    };
    enum { COUNT = sizeof chains / sizeof chains[0] };
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 4, NULL, NULL);
    test_signal signal = test_signal_make(spec, 50, 1);
    weir_message message = {.spec = &spec, .data = signal.data, .frames = 50};
    for (int i = 0; i < COUNT; i++) {
        weir_chain *chain = make_foreign(&chains[i], &spec);
        test_ok(weir_chain_push(chain, &message, NULL, NULL));
        size_t size = (size_t)weir_chain_state_bytes(chain);
        unsigned char *blob = malloc(size);
        assert_non_null(blob);
        test_ok(weir_chain_save(chain, blob, size));
        for (int k = 0; k < COUNT; k++) {
            weir_chain *other = make_foreign(&chains[k], &spec);
            weir_err err = weir_chain_restore(other, blob, size);
            if (err != (i == k ? WEIR_OK : WEIR_E_USAGE)) {
                fail_msg("the state of chain %d, restored in chain %d: %s", i, k,
                         weir_err_text(err));
            }
            assert_true(i == k || strstr(weir_err_detail(), "chain") != NULL);
            weir_chain_destroy(other);
        }
        /* Inputs that differ in one thing. */
        weir_spec others[4] = {spec, spec, spec, spec};
        static const char *const labels[] = {"a", "b", "c", "d"};
        others[0].dims[1].size = 5;
        others[1].rate_hz = 2000.0;
        others[2].dtype = WEIR_F32;
        others[3].dims[1].labels = labels;
        for (int k = 0; k < 4; k++) {
            weir_chain *other = make_foreign(&chains[i], &others[k]);
            assert_int_equal(weir_chain_restore(other, blob, size), WEIR_E_USAGE);
            assert_non_null(strstr(weir_err_detail(), "input"));
            weir_chain_destroy(other);
        }
        free(blob);
        weir_chain_destroy(chain);
    }
    free(signal.data);
}

int main(void)
{
    weiri_units_of_test = units_of_test;
    signal(SIGALRM, print_stuck);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_states),
        cmocka_unit_test_teardown(random_graphs, print_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
