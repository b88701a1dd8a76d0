# SPDX-License-Identifier: MIT
"""Peer: the band-pass of the chain alone, scipy.signal.sosfilt with carried state.

usage: scipy_sos.py CHANNELS FRAMES RATE SECONDS [f32|f64]
f32 is SciPy's own way with a float32 stream (its arithmetic is float32 then); f64 converts nothing.
"""

import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy import signal

from pushes import measure

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

    took = measure(push, 0.2, seconds)
    print(
        json.dumps(
            {
                "name": "SciPy sosfilt",
                "work": "filter",
                "x_real_time": took["pushes_per_s"] * frames / rate,
                "push_median_us": took["push_median_us"],
                "push_p99_us": took["push_p99_us"],
                "version": scipy.__version__,
                "precision": precision,
            }
        )
    )


main()
