/* SPDX-License-Identifier: MIT
 *
 * lattice.c: a notch whose frequency follows the strongest sinusoid, over time, for a block of
 * WEIRI_BLOCK columns at once. src/scan handles missing samples.
 *
 *     s = x - k (1 + gamma) s1 - gamma s2;  y = s + 2 k s1 + s2;
 *     p = eta p + (1 - eta) s1 (s + s2);  q = eta q + 2 (1 - eta) s1^2;
 *     k = mu k + (1 - mu) clip(-p / (q + 1e-8), -1, 1)
 *
 * k is stored as its difference from the initial value, so that the state starts with zeros.
 */
#include "kernel/vector.h"

typedef weiri_vd vd;

enum { LANES = WEIRI_VECTOR_DOUBLES, VECTORS = 2, WORDS = 5, S1 = 0, S2, P, Q, K };

/* Constants in registers. */
typedef struct factors {
    vd initial, gamma, gamma1, eta, mu, more, less; /* more = 1 - eta, less = 1 - mu */
} factors;

WEIRI_INLINE vd clip(vd x)
{
    vd one = weiri_vd_all(1.0);
    x = (vd)weiri_blend((weiri_bits)(x > one), (weiri_bits)one, (weiri_bits)x);
    return (vd)weiri_blend((weiri_bits)(x < -one), (weiri_bits)-one, (weiri_bits)x);
}

/* One sample of one vector of columns. */
WEIRI_INLINE vd step(vd x, vd *w, const factors *f, bool reflection)
{
    vd two = weiri_vd_all(2.0), k = f->initial + w[K], s1 = w[S1], s2 = w[S2];
    vd s = x - weiri_vd_fma(k * f->gamma1, s1, f->gamma * s2);
    vd y = weiri_vd_fma(two * k, s1, s + s2);
    w[P] = weiri_vd_fma(f->eta, w[P], f->more * (s1 * (s + s2)));
    w[Q] = weiri_vd_fma(f->eta, w[Q], f->more * (two * (s1 * s1)));
    vd now = clip(-w[P] / (w[Q] + weiri_vd_all(1e-8)));
    w[K] = weiri_vd_fma(f->mu, w[K], f->less * (now - f->initial));
    w[S2] = s1;
    w[S1] = s;
    return reflection ? f->initial + w[K] : y;
}

/* f32 and reflection are constants at each call. */
WEIRI_INLINE void run(const weiri_lattice_params *params,
                      double *state,
                      const void *in,
                      ptrdiff_t in_stride,
                      void *out,
                      ptrdiff_t out_stride,
                      size_t frames,
                      bool f32,
                      bool reflection)
{
    factors f = {.initial = weiri_vd_all(params->initial),
                 .gamma = weiri_vd_all(params->gamma),
                 .gamma1 = weiri_vd_all(1.0 + params->gamma),
                 .eta = weiri_vd_all(params->eta),
                 .mu = weiri_vd_all(params->mu),
                 .more = weiri_vd_all(1.0 - params->eta),
                 .less = weiri_vd_all(1.0 - params->mu)};
    for (size_t first = 0; first < WEIRI_BLOCK; first += VECTORS * LANES) {
        vd words[VECTORS][WORDS];
        for (int v = 0; v < VECTORS; v++) {
            for (int w = 0; w < WORDS; w++) {
                words[v][w] =
                    weiri_vd_load_f64(state + w * WEIRI_BLOCK + first + (size_t)(v * LANES));
            }
        }
        for (size_t frame = 0; frame < frames; frame++) {
            for (int v = 0; v < VECTORS; v++) {
                ptrdiff_t from = (ptrdiff_t)frame * in_stride + (ptrdiff_t)first + v * LANES;
                ptrdiff_t to = (ptrdiff_t)frame * out_stride + (ptrdiff_t)first + v * LANES;
                vd x = f32 ? weiri_vd_load_f32((const float *)in + from)
                           : weiri_vd_load_f64((const double *)in + from);
                vd y = step(x, words[v], &f, reflection);
                if (f32) {
                    weiri_vd_store_f32((float *)out + to, y);
                } else {
                    weiri_vd_store_f64((double *)out + to, y);
                }
            }
        }
        for (int v = 0; v < VECTORS; v++) {
            for (int w = 0; w < WORDS; w++) {
                weiri_vd_store_f64(state + w * WEIRI_BLOCK + first + (size_t)(v * LANES),
                                   words[v][w]);
            }
        }
    }
}

#define RUN(name, f32, reflection)                                                                 \
    void WEIRI_K(name)(WEIRI_RECURRENCE)                                                           \
    {                                                                                              \
        (void)ahead; /* the divisions wait for each other, not for memory */                       \
        run(params, state, in, in_stride, out, out_stride, frames, f32, reflection);               \
    }

RUN(lattice_f32, true, false)
RUN(lattice_f64, false, false)
RUN(lattice_reflection_f32, true, true)
RUN(lattice_reflection_f64, false, true)
