# SPDX-License-Identifier: MIT
"""Times a peer's pushes, for the peers in Python."""

import time

import numpy as np


def measure(push, warm_up_s, seconds):
    """Calls push() for warm_up_s, then times it for `seconds`."""
    start = time.perf_counter()
    while time.perf_counter() - start < warm_up_s:
        push()
    start = last = time.perf_counter()
    times = []
    while last - start < seconds:
        push()
        now = time.perf_counter()
        times.append(now - last)
        last = now
    return {
        "pushes_per_s": len(times) / (last - start),
        "push_median_us": float(np.median(times)) * 1e6,
        "push_p99_us": float(np.percentile(times, 99)) * 1e6,
    }
