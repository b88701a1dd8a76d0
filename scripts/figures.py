#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes README's figures again, from real runs: the printed run and the table of the bench.

usage: scripts/figures.py BENCH.json      (from build/weir bench speed --json, on a quiet machine)
"""

import json
import os
import subprocess
import sys

RUN = "build/weir run examples/spike_band_power.yaml synthetic:channels=256,rate=30000,seconds=60,seed=1"
OUT = "-o out/spike_band_power.npy"


def put(text, start, end, new):
    at = text.index(start) + len(start)
    return text[:at] + new + text[text.index(end, at) :]


def spread(figure, brackets=False):
    inner = f"{figure['min']:.3g} to {figure['max']:.3g}"
    return f"{figure['median']:.3g} ({inner})" if brackets else inner


def rows(d, work):
    return [row for row in d["rows"] if row["work"] == work]


def us(figure):
    value = figure["median"] / 1000
    return f"{value:.0f} us" if value >= 100 else f"{value:.3g} us"


def pushes(d):
    """Single pushes, threads, shapes: sentences."""
    first, *others = rows(d, "latency")
    lines = [
        f"One push of {first['message_frames']} frames x {first['channels']} channels through that chain with "
        f"bins of 1 ms: median {us(first['push_median_ns'])},",
        f"99th percentile {us(first['push_p99_ns'])}"
        + "".join(
            f" ({o['name']}: {us(o['push_median_ns'])}, {us(o['push_p99_ns'])})"
            for o in others
            if "push_p99_ns" in o
        )
        + ".",
    ]
    for row in rows(d, "pushes"):
        if row["message_frames"] == 1:
            lines.append(f"One push of one sample through {row['name']}: {row['push_median_ns']['median']:.0f} ns.")
    threads = [row for row in rows(d, "threads") if row["threads"] > 1]
    if threads:
        lines.append(
            "Speedup with 1024 channels: "
            + ", ".join(f"{t['threads']} threads {t['over_one']['median']:.2f}" for t in threads)
            + "."
        )
    busy = [row for row in rows(d, "busy") if row["threads"] > 1]
    if busy:
        lines.append(
            f"The same beside {busy[0]['busy_programs']} programs that use all the time they get: "
            + ", ".join(f"{t['threads']} threads {t['over_one']['median']:.2f} times" for t in busy)
            + "."
        )
    steady = d["ns_per_sample_from_300_x_64"]
    lines.append(
        f"The chain takes {steady['min']:.2f} to {steady['max']:.2f} ns per sample, for messages of 300 to 9000 frames "
        "and 64 to 4096 channels."
    )
    return lines


def kernels(d):
    """The fraction of the machine's limits that each kernel of the chain achieves, as a table."""
    if "kernels" not in d:
        return ["The kernels were not compared with the limits of the machine."]
    limits = d["limits"]
    lines = [
        "Limits of the machine, measured in the same run: a multiply-add of a vector takes "
        f"{limits['multiply_add_ns']['median']:.3f} ns, L2 copies {limits['l2_copy_gb_s']['median']:.0f} GB/s,",
        f"memory {limits['ram_copy_gb_s']['median']:.0f} GB/s. Fraction of that limit each kernel achieves (run "
        "`weir bench speed --kernels` for the full table and",
        "method):",
        "",
        "| kernel | ns per sample | limit | achieved |",
        "|---|---|---|---|",
    ]
    for k in d["kernels"]:
        if k["name"].startswith(("sos, 4", "common", "pow, 2", "bins, mean", "log", "adaptive")):
            limit = max(k["fma_floor_ns"]["median"], k["memory_floor_ns"]["median"])
            lines.append(
                f"| {k['name']}, {k['dtype']} | {k['ns_per_sample']['low']:.3f} | {limit:.3f} | "
                f"{100 * k['share_quiet']:.0f} % |"
            )
    return lines


def bench(path):
    with open(path, encoding="utf-8") as file:
        d = json.load(file)
    machine, settings = d["machine"], d["settings"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['simd'].upper()}, Linux "
        f"{machine['system'].split('-')[0]}; one thread each;",
        f"{settings['channels']} channels of float32 noise at 30 kHz in memory, messages of "
        f"{settings['message_frames']} frames; {settings['rounds']} rounds,",
        f"alternating, of {settings['seconds']:g} s each. Speed as a multiple of real time: median, and minimum to maximum:",
        "",
        "| work | | data type | x real time | min to max | speed of weir / speed of this |",
        "|---|---|---|---|---|---|",
    ]
    for work, title in (("chain", "the chain above"), ("filter", "its filter alone")):
        for row in d["rows"]:
            if row["work"] != work:
                continue
            name = f"**{row['name']}**"
            if "weir_over_it" in row:
                version = row["version"].split(",")[0].split(" (")[0].split()[-1]
                name = f"{row['name']} ({version})"
            ratio = spread(row["weir_over_it"], True) if "weir_over_it" in row else ""
            x = row["x_real_time"]
            if row.get("weir_is_slower"):
                ratio += " SLOWER"
            stream = row["precision"]
            lines.append(f"| {title} | {name} | {stream} | {x['median']:.3g} | {spread(x)} | {ratio} |")
            title = ""
    lines += ["", *pushes(d), "", *kernels(d)]
    lines += ["", "| message lengths in frames | planned memory | peak allocated |", "|---|---|---|"]
    for row in d["memory"]:
        lines.append(f"| {row['lengths']} | {row['plan_bytes']:,} B | {row['held_peak_bytes']:,} B |")
    units = ", ".join(f"{u['name']} {max(u['ns_per_sample'], 0):.2f}" for u in d["units"])
    lines += [
        "",
        "Published memory use for the same job with an array library's cache: 6206 MiB without a cache limit, "
        "966 MiB at a",
        "limit of 512 MiB, 396 MiB at 0. Time per unit of weir's chain in ns per sample (one frame of one "
        "channel), accurate",
        "to about 0.1:",
        f"{units}.",
    ]
    for peer in d["skipped"]:
        lines += ["", f"Left out: {peer['name']}: {peer['reason']}."]
    return "\n".join(lines)


def main():
    os.makedirs("out", exist_ok=True)
    printed = subprocess.run(
        f"{RUN} {OUT} --force",
        shell=True,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ).stdout
    run = "\n".join(line.rstrip() for line in f"$ {RUN} \\\n      {OUT}\n{printed}".rstrip().split("\n"))
    with open("README.md", encoding="utf-8") as file:
        text = file.read()
    text = put(text, "this is what `make run` prints:\n\n```text\n", "\n```", run)
    text = put(text, "## Performance\n\n", "\n\n`make bench` repeats", bench(sys.argv[1]))
    with open("README.md", "w", encoding="utf-8") as file:
        file.write(text)


main()
