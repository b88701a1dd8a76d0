/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: see elementwise.h.
 */
#include "unit/elementwise.h"

#include <math.h>

#include "kernel/kernel.h"

/* Values a block: 8 or 16 KiB, so that the second look at it comes from L1. */
enum { BLOCK = 2048 };

static bool is_finite(const weiri_unit *unit, const void *values, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    return unit->in->dtype == WEIR_F32 ? kernels->finite_f32(values, count)
                                       : kernels->finite_f64(values, count);
}

/* S5: NaN for what is missing, all else as in a clean block. The marks are made first, since out
 * may be in. */
static void compute_dirty(weiri_unit *unit,
                          const void *in,
                          void *out,
                          size_t first,
                          size_t count,
                          weiri_compute_fn *compute)
{
    bool missing[BLOCK];
    size_t columns = (size_t)weir_spec_columns(unit->in);
    int dim = weir_spec_dim(unit->in, "ch");
    weiri_split split = dim > 0 ? weiri_spec_split(unit->in, dim) : (weiri_split){1, 1, columns};
    bool f32 = unit->in->dtype == WEIR_F32;
    for (size_t i = 0; i < count; i++) {
        missing[i] = f32 ? !isfinite(((const float *)in)[i]) : !isfinite(((const double *)in)[i]);
        if (missing[i]) {
            unit->missing[(first + i) % columns / split.inner % split.size]++;
        }
    }
    compute(unit, in, out, first, count);
    for (size_t i = 0; i < count; i++) {
        if (missing[i] && f32) {
            ((float *)out)[i] = NAN;
        } else if (missing[i]) {
            ((double *)out)[i] = (double)NAN;
        }
    }
}

static void copy(const weiri_unit *unit, const void *in, void *out, size_t first, size_t count)
{
    (void)first;
    if (unit->in->dtype == WEIR_F32) {
        weiri_kernels_get()->copy_f32(in, out, count);
    } else {
        weiri_kernels_get()->copy_f64(in, out, count);
    }
}

static size_t
compute_tile(weiri_unit *unit, const weiri_tile *in, weiri_tile *out, weiri_compute_fn *compute)
{
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    size_t count = frames * (size_t)weir_spec_columns(unit->in);
    size_t bytes = weir_dtype_bytes(unit->in->dtype);
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t some = count - first < BLOCK ? count - first : BLOCK;
        const void *from = (const unsigned char *)in->data + first * bytes;
        void *to = (unsigned char *)out->data + first * bytes;
        if (is_finite(unit, from, some)) {
            compute(unit, from, to, first, some);
        } else {
            compute_dirty(unit, from, to, first, some, compute);
        }
    }
    return frames;
}

void weiri_elementwise_process(weiri_unit *unit,
                               const weiri_tile *in,
                               size_t *ret_consumed,
                               weiri_tile *out,
                               size_t *ret_produced)
{
    *ret_consumed = *ret_produced = compute_tile(unit, in, out, unit->ops->compute);
}

void weiri_elementwise_hand_on(weiri_unit *unit,
                               const weiri_tile *in,
                               size_t *ret_consumed,
                               weiri_tile *out,
                               size_t *ret_produced)
{
    *ret_consumed = *ret_produced = compute_tile(unit, in, out, copy);
}
