/* SPDX-License-Identifier: MIT
 *
 * permute.c: see permute.h.
 */
#include "unit/permute.h"

#include <math.h>
#include <string.h>

weir_err weiri_permute_find(const weir_spec *in,
                            const char *setting,
                            const weir_value *value,
                            uint32_t *ret_dim)
{
    int dim = -1;
    if (value->type == WEIR_VALUE_TEXT) {
        dim = weir_spec_dim(in, value->text);
    } else if (value->type == WEIR_VALUE_NUMBER && value->number == floor(value->number)) {
        double number = value->number < 0 ? value->number + in->dim_count : value->number;
        dim = number >= 0 && number < in->dim_count ? (int)number : -1;
    }
    if (dim < 0) {
        const char *d[WEIR_MAX_DIMS];
        for (size_t i = 0; i < WEIR_MAX_DIMS; i++) {
            d[i] = i < in->dim_count ? in->dims[i].name : "";
        }
        return weiri_fail(WEIR_E_CHAIN, "%s: '%s' is not a dimension; there are: %s %s %s %s",
                          setting, value->text != NULL ? value->text : "?", d[0], d[1], d[2], d[3]);
    }
    *ret_dim = (uint32_t)dim;
    return WEIR_OK;
}

void weiri_permute_complete(weiri_permute *permute, const weir_spec *in)
{
    for (uint32_t dim = 0; dim < in->dim_count; dim++) {
        bool there = false;
        for (uint32_t i = 0; i < permute->count; i++) {
            there = there || permute->from[i] == dim;
        }
        if (!there) {
            permute->from[permute->count++] = dim;
        }
    }
}

/* With the size a constant, a copy is one move. */
#define GATHER(size)                                                                               \
    case size:                                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            memcpy(to + i * (size), from + i * step * (size), size);                               \
        }                                                                                          \
        break;

static void
gather(unsigned char *to, const unsigned char *from, size_t step, size_t count, size_t bytes)
{
    if (step == 1) {
        memcpy(to, from, count * bytes);
        return;
    }
    switch (bytes) {
        GATHER(1)
        GATHER(2)
        GATHER(4)
        GATHER(8)
        GATHER(16)
    default:
        break;
    }
}

void weiri_permute_run(weiri_block *block, const weiri_work *work)
{
    const weiri_permute *permute = block->constants;
    const weir_spec *in = block->in;
    size_t value = weir_dtype_bytes(in->dtype), frame = (size_t)block->columns * value;
    size_t steps[WEIR_MAX_DIMS] = {0}, size[WEIR_MAX_DIMS] = {1, 1, 1, 1};
    size_t step[WEIR_MAX_DIMS] = {
        0}; /* of the output's dimensions in the input; the last ones fill up */
    bool same = true;
    for (size_t dim = in->dim_count, all = 1; dim-- > 1;) {
        steps[dim] = all;
        all *= (size_t)in->dims[dim].size;
    }
    size_t first = WEIR_MAX_DIMS - permute->count;
    for (size_t i = 1; i < permute->count; i++) {
        size[first + i] = (size_t)in->dims[permute->from[i]].size;
        step[first + i] = steps[permute->from[i]];
        same = same && permute->from[i] == i;
    }
    const unsigned char *from = work->in[0];
    unsigned char *to = work->out;
    if (same) {
        memcpy(to, from, work->consume * frame);
    }
    for (size_t n = 0; !same && n < work->consume; n++, from += frame) {
        for (size_t a = 0; a < size[1]; a++) {
            for (size_t b = 0; b < size[2]; b++) {
                gather(to, from + (a * step[1] + b * step[2]) * value, step[3], size[3], value);
                to += size[3] * value;
            }
        }
    }
    weiri_look_for_missing(block, work->in[0], work->consume);
}
