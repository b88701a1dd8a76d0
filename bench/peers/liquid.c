/* SPDX-License-Identifier: MIT
 *
 * Peer: the band-pass of the chain alone in liquid-dsp: one float32 object per channel, four
 * sections each. Its objects process one channel, so rows are split into channels and joined again,
 * as any user of interleaved data must do. usage: liquid CHANNELS FRAMES RATE SECONDS
 */
#include "peer.h"

#include <liquid/liquid.h>

int main(int argc, char **argv)
{
    peer p = peer_arguments(argc, argv);
    size_t values = (size_t)p.channels * p.frames;
    float *noise = peer_alloc(values * PEER_RING * sizeof(float));
    float *out = peer_alloc(values * sizeof(float));
    float *in1 = peer_alloc(p.frames * sizeof(float));
    float *out1 = peer_alloc(p.frames * sizeof(float));
    iirfilt_rrrf *filters = peer_alloc(p.channels * sizeof(*filters));
    float low = (float)(300 / p.rate_hz), high = (float)(6000 / p.rate_hz);
    for (unsigned c = 0; c < p.channels; c++) {
        filters[c] =
            iirfilt_rrrf_create_prototype(LIQUID_IIRDES_BUTTER, LIQUID_IIRDES_BANDPASS,
                                          LIQUID_IIRDES_SOS, 4, low, (low + high) / 2, 1, 1);
    }
    uint64_t random = 1;
    for (size_t i = 0; i < values * PEER_RING; i++)
        noise[i] = (float)peer_noise(&random);

    uint64_t pushes = 0, before = 0;
    double start = peer_now(), took = 0;
    static peer_times times;
    for (int measured = 0; measured < 2; measured++) {
        before = pushes;
        start = peer_now();
        peer_start(&times, start);
        do {
            const float *in = noise + values * (pushes % PEER_RING);
            for (unsigned c = 0; c < p.channels; c++) {
                for (unsigned i = 0; i < p.frames; i++)
                    in1[i] = in[(size_t)i * p.channels + c];
                iirfilt_rrrf_execute_block(filters[c], in1, p.frames, out1);
                for (unsigned i = 0; i < p.frames; i++)
                    out[(size_t)i * p.channels + c] = out1[i];
            }
            pushes++;
            peer_pushed(&times, peer_now());
            took = times.last - start;
        } while (took < (measured ? p.seconds : 0.1));
    }
    peer_print("liquid-dsp", LIQUID_VERSION, "f32",
               (double)(pushes - before) * p.frames / p.rate_hz / took, &times);
    for (unsigned c = 0; c < p.channels; c++)
        iirfilt_rrrf_destroy(filters[c]);
    free(filters);
    free(noise);
    free(out);
    free(in1);
    free(out1);
    return 0;
}
