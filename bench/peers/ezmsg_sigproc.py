# SPDX-License-Identifier: MIT
"""Peer: the chain of examples/spike_band_power.yaml in ezmsg-sigproc, its units called one after the other.

usage: ezmsg_sigproc.py CHANNELS FRAMES RATE SECONDS [BIN]
Runs for SECONDS on messages of FRAMES float32 frames of white noise, after a warm-up, in one thread, and
prints one JSON line. BIN as "1 ms"; default 10 ms. What it leaves out in its own favour: ezmsg's graph, processes and queues.
"""

import json
import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import numpy as np
from ezmsg.sigproc import __version__ as version
from ezmsg.sigproc.affinetransform import CommonRereferenceSettings, CommonRereferenceTransformer
from ezmsg.sigproc.aggregate import AggregationFunction
from ezmsg.sigproc.binned_aggregate import BinnedAggregateSettings, BinnedAggregateTransformer
from ezmsg.sigproc.butterworthfilter import ButterworthFilterSettings, ButterworthFilterTransformer
from ezmsg.sigproc.math.log import LogSettings, LogTransformer
from ezmsg.sigproc.math.pow import PowSettings, PowTransformer
from ezmsg.sigproc.scaler import AdaptiveStandardScalerSettings, AdaptiveStandardScalerTransformer
from ezmsg.util.messages.axisarray import AxisArray

from pushes import measure

RING = 16  # messages of input, so that it does not lie in the innermost cache all the time


def main():
    channels, frames = int(sys.argv[1]), int(sys.argv[2])
    rate, seconds = float(sys.argv[3]), float(sys.argv[4])
    bin_s = float(sys.argv[5].split()[0]) / 1000 if len(sys.argv) > 5 else 0.01
    units = [
        CommonRereferenceTransformer(CommonRereferenceSettings(axis="ch")),
        ButterworthFilterTransformer(
            ButterworthFilterSettings(order=4, cuton=300.0, cutoff=6000.0, coef_type="sos")
        ),
        PowTransformer(PowSettings(exponent=2.0)),
        BinnedAggregateTransformer(
            BinnedAggregateSettings(bin_duration=bin_s, operation=AggregationFunction.MEAN)
        ),
        LogTransformer(LogSettings()),
        AdaptiveStandardScalerTransformer(AdaptiveStandardScalerSettings(time_constant=10.0)),
    ]
    noise = np.random.default_rng(1).standard_normal((RING, frames, channels)).astype(np.float32)
    done = 0

    def push():
        nonlocal done
        message = AxisArray(
            noise[(done // frames) % RING],
            dims=["time", "ch"],
            axes={"time": AxisArray.TimeAxis(fs=rate, offset=done / rate)},
            key="noise",
        )
        for unit in units:
            message = unit(message)
        done += frames

    took = measure(push, 0.3, seconds)
    print(
        json.dumps(
            {
                "name": "ezmsg-sigproc",
                "work": "chain",
                "x_real_time": took["pushes_per_s"] * frames / rate,
                "push_median_us": took["push_median_us"],
                "push_p99_us": took["push_p99_us"],
                "version": f"{version}, numpy {np.__version__}",
                "precision": "f32 stream",
            }
        )
    )


main()
