/* SPDX-License-Identifier: MIT
 *
 * elementwise.c: see elementwise.h.
 */
#include "unit/elementwise.h"

#include <math.h>

#include "kernel/kernel.h"

/* Values computed at once: 8 or 16 KiB, so that they are still in L1 after the search for missing ones. */
enum { PIECE = 2048 };

static bool is_finite(const weiri_block *block, const void *values, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    return block->in->dtype == WEIR_F32 ? kernels->finite_f32(values, count)
                                        : kernels->finite_f64(values, count);
}

/* S5: NaN for what is missing, all else as in a clean piece. Which are missing is noted first, since out may
 * be in. */
static void compute_dirty(weiri_block *block,
                          const void *in,
                          void *out,
                          size_t first,
                          size_t count,
                          weiri_compute_fn *compute)
{
    bool missing[PIECE];
    size_t columns = (size_t)block->columns;
    weiri_split split = weiri_spec_channels(block->in);
    bool f32 = block->in->dtype == WEIR_F32;
    for (size_t i = 0; i < count; i++) {
        missing[i] = f32 ? !isfinite(((const float *)in)[i]) : !isfinite(((const double *)in)[i]);
        if (missing[i]) {
            block->missing[(first + i) % columns / split.inner % block->channels]++;
        }
    }
    compute(block, in, out, first, count);
    for (size_t i = 0; i < count; i++) {
        if (missing[i] && f32) {
            ((float *)out)[i] = NAN;
        } else if (missing[i]) {
            ((double *)out)[i] = (double)NAN;
        }
    }
}

static void copy(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->copy_f32(in, out, count);
    } else {
        weiri_kernels_get()->copy_f64(in, out, count);
    }
}

static inline __attribute__((always_inline)) void
run(weiri_block *block, const weiri_work *work, weiri_compute_fn *compute)
{
    size_t count = work->consume * (size_t)block->columns;
    size_t bytes = block->in->dtype == WEIR_F32 ? sizeof(float) : sizeof(double);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        const void *from = (const unsigned char *)work->in[0] + first * bytes;
        void *to = (unsigned char *)work->out + first * bytes;
        if (is_finite(block, from, some)) {
            compute(block, from, to, first, some);
        } else {
            compute_dirty(block, from, to, first, some, compute);
        }
    }
}

/* Frames that are not adjacent: each is a call of its own. */
static void run_apart(weiri_block *block,
                      const weiri_work *work,
                      void (*each)(weiri_block *block, const weiri_work *work))
{
    size_t value = block->in->dtype == WEIR_F32 ? sizeof(float) : sizeof(double);
    size_t columns = (size_t)block->columns;
    size_t in_stride = work->in_stride > 0 ? work->in_stride : columns;
    size_t out_stride = work->out_stride > 0 ? work->out_stride : columns;
    const unsigned char *in = work->in[0];
    unsigned char *out = work->out;
    weiri_work one = {.consume = 1, .produce = 1};
    for (size_t frame = 0; frame < work->consume; frame++) {
        one.in[0] = in + frame * in_stride * value;
        one.out = out + frame * out_stride * value;
        each(block, &one);
    }
}

void weiri_elementwise_run(weiri_block *block, const weiri_work *work)
{
    if (work->in_stride > 0 || work->out_stride > 0) {
        run_apart(block, work, weiri_elementwise_run);
        return;
    }
    run(block, work, block->ops->compute);
}

void weiri_elementwise_pass(weiri_block *block, const weiri_work *work)
{
    if (work->in_stride > 0 || work->out_stride > 0) {
        run_apart(block, work, weiri_elementwise_pass);
        return;
    }
    run(block, work, copy);
}
