/* SPDX-License-Identifier: MIT
 *
 * graph_run.h: pushes a signal through the chain of a random graph (graph.h), with any message boundaries, tile
 * and threads, and checks after each call what the chain promises: counts as weir_chain_due states them,
 * rejected blocks offered again, held <= plan, no heap call (M2, M3, M6).
 */
#ifndef WEIR_TEST_GRAPH_RUN_H
#define WEIR_TEST_GRAPH_RUN_H

#include "caches.h"
#include "promise/graph.h"

/* ---- building ------------------------------------------------------------------------------------ */

typedef struct way {
    uint64_t tile, threads;
    bool fuse;
    size_t cut; /* messages of 0 to this many frames; 0 = whole segments */
} way;

static inline weir_chain *build(const graph *g, const way *w, weir_heap *heap)
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

/* NULL: the units do not fit together. */
static inline weir_chain *plan(const graph *g, const way *w, weir_heap *heap, weir_source *source)
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
    test_random *refuses; /* refuses blocks from time to time; NULL = never */
    struct {
        bool is;
        int output;
        size_t frames;
        int64_t index;
    } refused; /* what is expected next */
    int refusals;
} outputs;

static inline weir_err collect(void *user, const weir_message *block)
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

static inline void free_outputs(outputs *o)
{
    for (int i = 0; i < MOST_OUTPUTS; i++) {
        test_output_free(&o->each[i]);
    }
}

static inline void
same_outputs(const graph *g, const outputs *a, const outputs *b, const char *what)
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

/* Nothing is left waiting except frames that wait for another branch. */
static inline void check_rest(const drive *d)
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

static inline void check_due(const drive *d, size_t segment, size_t frames)
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

/* At a segment's end look-ahead units output all that their counts allow. */
static inline void check_ended(const drive *d, size_t segment)
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

static inline weir_message message_of(const drive *d, size_t segment, size_t at, size_t frames)
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

/* Pushes frames of a segment, repeatedly while blocks are refused or rows are full. */
static inline void push_some(drive *d, size_t segment, size_t at, size_t before, size_t frames)
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

static inline void finish(drive *d)
{
    weir_err err = WEIR_E_IO;
    while (err != WEIR_OK) {
        err = weir_chain_finish(d->chain, collect, &d->out);
        assert_true(err == WEIR_OK || (err == WEIR_E_IO && d->out.refused.is));
    }
    check_rest(d);
}

static inline way random_way(test_random *random)
{
    static const size_t cuts[] = {1, 2, 9, 40, 200, 0};
    static const uint64_t tiles[] = {1, 2, 3, 7, 16, 50, 64, 256, 300, 1024, 4096, WEIR_TILE_AUTO};
    return (way){.tile = tiles[test_random_below(random, 12)],
                 .threads = 1 + test_random_below(random, 4),
                 .fuse = test_random_below(random, 3) > 0,
                 .cut = cuts[test_random_below(random, 6)]};
}

/* Into another chain, with other tiles, threads and fusing, which may have run before. */
static inline void save_and_restore(drive *d)
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

/* A refused setting changes nothing. */
static inline void refuse_settings(drive *d)
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

static inline void set_events(drive *d, size_t segment, size_t at)
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
static inline size_t until_event(const graph *g, size_t segment, size_t at, size_t frames)
{
    for (size_t i = 0; i < g->event_count; i++) {
        const event *e = &g->events[i];
        if (e->segment == segment && e->frame > at && e->frame - at < frames) {
            frames = e->frame - at;
        }
    }
    return frames;
}

static inline void run_segment(drive *d, size_t segment, size_t before)
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

static inline void check_memory(const drive *d, uint64_t calls)
{
    const weir_plan *shown = &d->chain->plan->shown;
    weir_cache_stats stats = stats_of(weir_chain_cache(d->chain));
    assert_true(stats.held_peak_bytes <= shown->total_bytes);
    if (d->how != SAVE && calls != UINT64_MAX) {
        assert_int_equal(weir_heap_counting_counts(d->heap).calls, calls);
    }
}

static inline outputs run(drive *d, test_random *refuses)
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

#endif
