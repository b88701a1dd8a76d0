/* SPDX-License-Identifier: MIT
 *
 * Peer: the band-pass of the chain alone in librtfilter, which filters many interleaved channels at
 * once. Its Butterworth is a high-pass or a low-pass with expanded polynomials, so the band-pass is
 * one after the other. usage: rtfilter CHANNELS FRAMES RATE SECONDS [f32|f64]
 */
#include "peer.h"

#include <rtf_common.h>
#include <string.h>

int main(int argc, char **argv)
{
    peer p = peer_arguments(argc, argv);
    int f32 = argc > 5 && strcmp(argv[5], "f32") == 0;
    int type = f32 ? RTF_FLOAT : RTF_DOUBLE;
    size_t values = (size_t)p.channels * p.frames;
    size_t bytes = values * (f32 ? sizeof(float) : sizeof(double));
    hfilter high = rtf_create_butterworth(p.channels, type, 300 / p.rate_hz, 4, 1);
    hfilter low = rtf_create_butterworth(p.channels, type, 6000 / p.rate_hz, 4, 0);
    if (high == NULL || low == NULL) {
        fprintf(stderr, "rtf_create_butterworth failed\n");
        return 1;
    }
    char *noise = peer_alloc(bytes * PEER_RING);
    char *between = peer_alloc(bytes);
    char *out = peer_alloc(bytes);
    uint64_t random = 1;
    for (size_t i = 0; i < values * PEER_RING; i++) {
        if (f32)
            ((float *)noise)[i] = (float)peer_noise(&random);
        else
            ((double *)noise)[i] = peer_noise(&random);
    }
    uint64_t pushes = 0, before = 0;
    double start = peer_now(), took = 0;
    static peer_times times;
    for (int measured = 0; measured < 2; measured++) { /* a warm-up, then the measurement */
        before = pushes;
        start = peer_now();
        peer_start(&times, start);
        do {
            rtf_filter(high, noise + bytes * (pushes % PEER_RING), between, p.frames);
            rtf_filter(low, between, out, p.frames);
            pushes++;
            peer_pushed(&times, peer_now());
            took = times.last - start;
        } while (took < (measured ? p.seconds : 0.1));
    }
    char version[128] = "";
    rtf_get_version(version, sizeof(version), 0);
    version[strcspn(version, "\"\\\n")] = 0;
    peer_print("librtfilter", version, f32 ? "f32" : "f64",
               (double)(pushes - before) * p.frames / p.rate_hz / took, &times);
    rtf_destroy_filter(high);
    rtf_destroy_filter(low);
    free(noise);
    free(between);
    free(out);
    return 0;
}
