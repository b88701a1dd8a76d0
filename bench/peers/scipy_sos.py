# SPDX-License-Identifier: MIT
"""Peer: the band-pass of the chain alone, scipy.signal.sosfilt with carried state.

usage: scipy_sos.py CHANNELS FRAMES RATE SECONDS [f32|f64]
f32 is SciPy's own way with a float32 stream (its arithmetic is float32 then); f64 converts nothing.
"""

import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy import signal

RING = 16


def main():
    channels, frames = int(sys.argv[1]), int(sys.argv[2])
    rate, seconds = float(sys.argv[3]), float(sys.argv[4])
    precision = sys.argv[5] if len(sys.argv) > 5 else "f64"
    dtype = np.float32 if precision == "f32" else np.float64
    sections = signal.butter(4, [300.0, 6000.0], "bandpass", fs=rate, output="sos").astype(dtype)
    noise = np.random.default_rng(1).standard_normal((RING, frames, channels)).astype(dtype)
    state = np.zeros((len(sections), 2, channels), dtype=dtype)
    pushes = 0

    def push():
        nonlocal pushes, state
        _, state = signal.sosfilt(sections, noise[pushes % RING], axis=0, zi=state)
        pushes += 1

    start = time.perf_counter()
    while time.perf_counter() - start < 0.2:
        push()
    before, start = pushes, time.perf_counter()
    times, last = [], start
    while True:
        push()
        now = time.perf_counter()
        times.append(now - last)
        last, took = now, now - start
        if took >= seconds:
            break
    print(
        json.dumps(
            {
                "name": "SciPy sosfilt",
                "work": "filter",
                "x_real_time": (pushes - before) * frames / rate / took,
                "push_median_us": float(np.median(times)) * 1e6,
                "push_p99_us": float(np.percentile(times, 99)) * 1e6,
                "version": scipy.__version__,
                "precision": precision,
            }
        )
    )


main()
