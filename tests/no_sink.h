/* SPDX-License-Identifier: MIT
 *
 * no_sink.h: the functions of a sink that writes nothing.
 */
#ifndef WEIR_TEST_NO_SINK_H
#define WEIR_TEST_NO_SINK_H

#include <weir/chain.h>

static inline weir_err no_sink_plan(weir_sink *sink, const weir_spec *spec, uint64_t *ret_bytes)
{
    (void)sink;
    (void)spec;
    *ret_bytes = 0;
    return WEIR_OK;
}

static inline weir_err no_sink_start(weir_sink *sink,
                                     const weir_spec *spec,
                                     const weir_source_info *source,
                                     const char *chain,
                                     void *memory)
{
    (void)sink;
    (void)spec;
    (void)source;
    (void)chain;
    (void)memory;
    return WEIR_OK;
}

static inline weir_err no_sink_write(weir_sink *sink, const weir_message *block)
{
    (void)sink;
    (void)block;
    return WEIR_OK;
}

static inline weir_err no_sink_do(weir_sink *sink)
{
    (void)sink;
    return WEIR_OK;
}

static inline void no_sink_close(weir_sink *sink)
{
    (void)sink;
}

#endif
