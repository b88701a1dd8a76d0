/* SPDX-License-Identifier: MIT
 *
 * weir/weir.h: all of weir. A short tour; its example is compiled and run as tests/tour_test.c.
 *
 * A *message* is a run of frames, a *frame* one value a channel. A *chain* is a row of *units*:
 * filters, powers, bins. Messages of any length go in; the chain cuts them into tiles of one
 * capacity, so that it holds the same bytes whatever comes. It says which bytes before the first
 * sample, unit by unit: the *plan*. Where they are above the limit nothing is started.
 *
 * Every call that can fail returns weir_err, 0 = WEIR_OK; results go to trailing ret_ parameters,
 * written only on success; weir_err_detail() has one line on what was found and what is allowed.
 * Samples are borrowed for the call they are given to. create goes with destroy, open with close;
 * both take NULL.
 *
 * The layers, lowest first, each a header of its own: base.h (errors, quantities, settings),
 * heap.h (where bytes come from), cache.h (what freed bytes become, the limits), array.h (dtypes,
 * axes, messages), unit.h (which units there are), chain.h (building, planning, running),
 * recording.h (files as sources and sinks), config.h (a chain from YAML). A program that makes
 * its chain by calls and pushes its own messages needs nothing above chain.h: examples/embed.c.
 *
 * Here a chain comes from text, reads a recording (a path would stand in the same place) and is
 * pulled from, into memory of the caller's:
 *
 *     static weir_err tour(double *ret_mean)
 *     {
 *         const char *text = "memory_limit: 1 MiB\n"
 *                            "chain:\n"
 *                            "  - butterworth: {order: 4, cuton: 300 Hz, cutoff: 6 kHz}\n"
 *                            "  - pow: {exponent: 2}\n"
 *                            "  - binned_aggregate: {bin_duration: 10 ms, operation: mean}\n";
 *         const char *path = "synthetic:channels=4,rate=30000,seconds=1,seed=1";
 *         weir_chain_options flags = weir_chain_options_default();
 *         weir_chain *chain = NULL;
 *         weir_source *source = NULL;
 *         const weir_plan *plan = NULL;
 *         double sum = 0;
 *         uint64_t count = 0;
 *
 *         weir_err err = weir_config_parse(text, strlen(text), "tour", &flags, &chain);
 *         if (err == WEIR_OK) {
 *             weir_recording_options how = weir_recording_options_default();
 *             how.cache = weir_chain_cache(chain); // what it holds counts too
 *             err = weir_recording_open(path, &how, &source);
 *         }
 *         if (err == WEIR_OK)
 *             err = weir_chain_plan_run(chain, source, NULL, 0, &plan);
 *         if (err == WEIR_OK && !plan->fits) // nothing was read yet
 *             err = WEIR_E_PLAN;
 *         while (err == WEIR_OK) {
 *             float rows[32][4]; // [frames x channels], the caller's own
 *             weir_message block;
 *             err = weir_chain_pull(chain, rows, 32, &block);
 *             if (err != WEIR_OK || block.frames == 0)
 *                 break;
 *             for (size_t i = 0; i < block.frames; i++, count++)
 *                 sum += rows[i][0];
 *         }
 *         if (err == WEIR_OK)
 *             *ret_mean = sum / (double)count;
 *         weir_source_close(source);
 *         weir_chain_destroy(chain);
 *         return err; // weir_err_detail() says more
 *     }
 */
#ifndef WEIR_H
#define WEIR_H

#include <weir/array.h>
#include <weir/base.h>
#include <weir/cache.h>
#include <weir/chain.h>
#include <weir/config.h>
#include <weir/heap.h>
#include <weir/recording.h>
#include <weir/unit.h>

#endif
