/* SPDX-License-Identifier: MIT
 *
 * fixture.h: a chain of one unit, with the examples of its settings table, and one kind of input
 * stream.
 */
#ifndef WEIR_TEST_FIXTURE_H
#define WEIR_TEST_FIXTURE_H

#include "chain/chain.h"
#include "conform/kinds.h"

#define CHANNELS TEST_CHANNELS
#define FRAMES   2600

typedef struct fixture {
    const weir_unit_info *info;
    weir_spec spec;
    weir_heap *heap;
    uint64_t seed;
} fixture;

/* NULL: the unit does not accept such a stream. */
static weir_chain *
make_chain_of(const fixture *at, uint64_t tile, uint64_t threads, weir_source *source)
{
    weir_value settings[TEST_SETTINGS];
    size_t count = test_examples(at->info, settings);
    weir_chain_options options = weir_chain_options_default();
    options.heap = at->heap;
    options.tile_frames = tile;
    options.threads = threads;
    weir_chain *chain = NULL;
    int node = 0;
    const weir_plan *plan = NULL;
    test_ok(weir_chain_create(&options, &chain));
    if (at->info->flags & WEIR_UNIT_JOINS) {
        int parents[2] = {WEIR_CHAIN_INPUT, 0};
        test_ok(test_add_second(chain, &at->spec, &parents[1]));
        test_ok(weir_chain_join(chain, parents, 2, at->info->name, settings, count, NULL, &node));
    } else {
        test_ok(
            weir_chain_add(chain, WEIR_CHAIN_INPUT, at->info->name, settings, count, NULL, &node));
    }
    weir_err err = source == NULL ? weir_chain_plan(chain, &at->spec, &plan)
                                  : weir_chain_plan_run(chain, source, NULL, 0, &plan);
    if (err != WEIR_OK) {
        assert_int_equal(err, WEIR_E_CHAIN);
        assert_true(strlen(weir_err_detail()) > 10);
        weir_chain_destroy(chain);
        return NULL;
    }
    return chain;
}

static weir_chain *make_chain(const fixture *at, uint64_t tile, weir_source *source)
{
    return make_chain_of(at, tile, 1, source);
}

/* Frames [from, to) as a segment of its own, to its end, so that look-ahead is output too. */
static void push_segment(weir_chain *chain,
                         const test_signal *signal,
                         size_t from,
                         size_t to,
                         size_t most,
                         test_random *random,
                         test_output *output)
{
    test_push(chain, signal, from, to, most, 0, 0, random, output);
    test_ok(weir_chain_finish(chain, test_collect, output));
}

/* The whole signal in one push, with the given tile. */
static test_output run_whole(const fixture *at, const test_signal *signal, uint64_t tile)
{
    test_output output = {0};
    test_random random = {1};
    weir_chain *chain = make_chain(at, tile, NULL);
    assert_non_null(chain);
    push_segment(chain, signal, 0, signal->frames, 0, &random, &output);
    weir_chain_destroy(chain);
    return output;
}

/* One part of a value: a complex one has two. */
static double output_get(const test_output *output, weir_dtype dtype, size_t part)
{
    return weir_dtype_part(dtype) == WEIR_F32   ? ((const float *)(const void *)output->data)[part]
           : weir_dtype_part(dtype) == WEIR_F64 ? ((const double *)(const void *)output->data)[part]
                                                : 0;
}

#endif
