/* SPDX-License-Identifier: MIT
 *
 * weir/weir.h: includes all public headers. A short tour; its example is compiled and run as
 * tests/tour_test.c.
 *
 * A *frame* has one value per channel; a *message* is several consecutive frames. A *chain* is a sequence
 * of processing *units*: filters, powers, bins. Messages may have any length; the chain splits them into
 * tiles of one capacity, so its memory does not depend on them. The *plan* states the bytes of each unit
 * before the first sample. If the total is above the limit, the chain does not start.
 *
 * Every call that can fail returns weir_err, 0 = WEIR_OK. Results are written to trailing ret_ parameters,
 * only on success. weir_err_detail() returns one line on what was found and what is allowed. Samples are
 * borrowed during the call to which they are passed. _destroy frees what _create returned, and _close what _open
 * returned; both ignore NULL.
 *
 * The layers, lowest first, each with a header of its own: base.h (errors, quantities, settings),
 * heap.h (memory sources), cache.h (buffer reuse, limits), array.h (dtypes, axes, messages), unit.h
 * (list of processing units and their settings), chain.h (building, planning, running),
 * recording.h (files as sources and sinks), config.h (a chain from YAML). A program that builds
 * its chain by calls and pushes its own messages needs nothing above chain.h: see examples/embed.c.
 *
 * This example parses a chain from text, reads a synthetic recording (a path works the same way) and
 * pulls the output into the caller's memory:
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
 *             how.cache = weir_chain_cache(chain); // its memory counts too
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
