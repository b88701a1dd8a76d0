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


def bench(path):
    with open(path, encoding="utf-8") as file:
        d = json.load(file)
    machine, settings = d["machine"], d["settings"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['simd'].upper()}, Linux "
        f"{machine['system'].split('-')[0]}; one thread each;",
        f"{settings['channels']} channels of float32 noise at 30 kHz in memory, messages of "
        f"{settings['message_frames']} frames; {settings['rounds']} rounds in turn",
        f"of {settings['seconds']:g} s each. Times faster than real time, medians, least to most:",
        "",
        "| work | | x real time | spread | weir is ... times as fast |",
        "|---|---|---|---|---|",
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
            lines.append(f"| {title} | {name} | {x['median']:.3g} | {spread(x)} | {ratio} |")
            title = ""
    lines += ["", "| what the chain holds, messages of | plan | held at its peak |", "|---|---|---|"]
    for row in d["memory"]:
        lines.append(f"| {row['lengths']} | {row['plan_bytes']:,} B | {row['held_peak_bytes']:,} B |")
    units = ", ".join(f"{u['name']} {max(u['ns_per_sample'], 0):.2f}" for u in d["units"])
    lines += [
        "",
        "Published for the same job with an array library's cache: 6206 MiB without a limit, 966 at a "
        "limit of 512 MiB,",
        "396 at 0. Where weir's time goes, ns a sample (a frame of a channel), to about 0.1:",
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
    text = put(text, "as `make run` prints it:\n\n```text\n", "\n```", run)
    text = put(text, "## How fast\n\n", "\n\n`make bench` takes", bench(sys.argv[1]))
    with open("README.md", "w", encoding="utf-8") as file:
        file.write(text)


main()
