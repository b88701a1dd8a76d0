/* SPDX-License-Identifier: MIT
 *
 * graphs_test.c: random graphs of units with splits and joins. S1: the same bits for any message
 * boundaries, tile, threads, fusing, and any way to receive the output; counts as weir_chain_due
 * states; refused blocks offered again. S10: the same from a saved state. M2, M3: within the plan,
 * without a heap call. WEIR_GRAPHS=N makes N graphs, WEIR_SEED repeats a run, WEIR_GRAPH=SEED one
 * graph.
 */
#include <signal.h>
#include <unistd.h>

#include "promise/graph_run.h"
#include "units_of_test.h"

#define GRAPHS  320
#define STUCK_S 60 /* a graph takes about 10 ms */

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

/* ---- damaged states ----------- ------------------------------------------------------------------ */

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
        /* Bytes after the end of a text in the head have no meaning. */
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
    /* After all of that, a run from the first frame. */
    if (g->event_count == 0 && g->segment_count == 1) {
        outputs out = {.refuses = NULL};
        weir_chain_reset(chain);
        chain->running->segments = 0; /* continues to count after a reset */
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

static const graph *at_work; /* printed if a test fails */

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

/* For a chain that does not terminate. */
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

int main(void)
{
    weiri_units_of_test = units_of_test;
    signal(SIGALRM, print_stuck);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_graphs, print_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
