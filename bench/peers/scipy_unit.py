# SPDX-License-Identifier: MIT
"""Peer: one filter of SciPy, or a function of NumPy or SciPy, message by message.

usage: scipy_unit.py CHANNELS FRAMES RATE SECONDS WORK
WORK is an expression of np, signal and rate (Hz): "sos: SECTIONS" and "ba: NUMERATOR, DENOMINATOR" are filters with
carried state in the precision of the stream, which is float32; "call: EXPRESSION of x" has none.
"""

import sys

from timing import CHANNELS, RATE, measure, noise

import numpy as np
import scipy
from scipy import signal


def push_of(work):
    kind, expression = work.split(":", 1)
    names = {"np": np, "signal": signal, "scipy": scipy, "rate": RATE}
    if kind == "call":
        return eval(f"lambda x: {expression}", names)
    design = eval(expression, names)
    if kind == "sos":
        sections = np.asarray(design, dtype=np.float32)
        state = np.zeros((len(sections), 2, CHANNELS), dtype=np.float32)

        def push(x):
            nonlocal state
            _, state = signal.sosfilt(sections, x, axis=0, zi=state)

    else:
        b, a = (np.atleast_1d(np.asarray(c, dtype=np.float32)) for c in design)
        state = np.zeros((max(len(a), len(b)) - 1, CHANNELS), dtype=np.float32)

        def push(x):
            nonlocal state
            _, state = signal.lfilter(b, a, x, axis=0, zi=state)

    return push


measure(push_of(sys.argv[5]), noise(), f"SciPy {scipy.__version__}")
