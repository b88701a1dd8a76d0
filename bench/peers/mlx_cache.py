# SPDX-License-Identifier: MIT
"""Peer: real MLX and its own buffer cache under the streams of `weir bench memory`.

usage: mlx_cache.py LIMIT_BYTES|-1 MESSAGES EVERY FRAMES LENGTHS CHANNELS
20 elementwise intermediates a message, all evaluated together; every EVERYth message is 2..LENGTHS times as
long as FRAMES, each length in turn. Prints one JSON line. -1 = no limit.
"""

import json
import resource
import sys
import time

import mlx.core as mx
from importlib.metadata import version

OPS = 20
WARM_UP = 50


def proc(path, name):
    with open(path) as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def main():
    limit, messages, every, frames, lengths, channels = (int(a) for a in sys.argv[1:7])
    mx.set_cache_limit(limit if limit >= 0 else 1 << 40)
    source = mx.random.normal((frames * lengths, channels))
    mx.eval(source)

    def step(count):
        x, made = source[:count], []
        for i in range(OPS):
            x = x * 1.0001 + 0.5 if i % 2 else mx.abs(x)
            made.append(x)
        mx.eval(*made)

    start_bytes = mx.get_active_memory() + mx.get_cache_memory()
    samples, steps, level, first, done, most, held = [], 0, 0, 0, 0, 0, 0
    start = time.perf_counter()
    for i in range(messages):
        count = frames
        if lengths > 1 and i % every == every - 1:
            count *= 2 + (i // every) * 17 % (lengths - 1)
        step(count)
        done += count
        idle = mx.get_cache_memory()
        held, most = mx.get_active_memory() + idle, max(most, idle)
        if i == 0:
            first = level = held
        if held > level + 4096 * channels:
            steps, level = steps + 1, held
        if i % (messages // 240 + 1) == 0:
            samples.append([done / 30000.0, held])
    took = time.perf_counter() - start
    print(
        json.dumps(
            {
                "version": version("mlx"),
                "device": str(mx.default_device()),
                "channels": channels,
                "messages": messages,
                "stream_s": done / 30000.0,
                "x_real_time": done / 30000.0 / took,
                "idle_bytes": mx.get_cache_memory(),
                "idle_most_bytes": most,
                "live_peak_bytes": mx.get_peak_memory(),
                "rss_bytes": proc("/proc/self/smaps_rollup", "Rss"),
                "pss_bytes": proc("/proc/self/smaps_rollup", "Pss"),
                "rss_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "first_bytes": first,
                "last_bytes": held,
                "growth_bytes": max(0, held - start_bytes),
                "steps": steps,
                "samples": samples,
            }
        )
    )


main()
