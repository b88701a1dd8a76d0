# SPDX-License-Identifier: MIT
"""What the Python peers of `weir bench units` share: arguments, one core, noise, and the median pass over it."""

import json
import os
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
warnings.filterwarnings("ignore")

import numpy as np

RING = 16  # messages, so that they are not in the innermost cache all the time
CHANNELS, FRAMES = int(sys.argv[1]), int(sys.argv[2])
RATE, SECONDS = float(sys.argv[3]), float(sys.argv[4])


def noise():
    """Messages of float32 noise, [frames x channels] each."""
    return np.random.default_rng(1).standard_normal((RING, FRAMES, CHANNELS)).astype(np.float32)


def measure(push, ring, version):
    """Prints the median time of a pass: push(message) for each of the ring."""
    times, start = [], time.perf_counter()
    before = start
    while not times or before - start < SECONDS * 7 / 6:
        for message in ring:
            push(message)
        now = time.perf_counter()
        if before - start >= SECONDS / 6:  # else a warm-up
            times.append(now - before)
        before = now
    print(json.dumps({"pass_median_us": float(np.median(times)) * 1e6, "version": version}))


def leave_out(reason):
    print(json.dumps({"skipped": reason}))
