# SPDX-License-Identifier: MIT
#
# graphs.py: random graphs as chain files, run by the command, compared with NumPy on whole arrays. Each unit is
# implemented here again, from its page in doc/units, without frames, state or tiles. GRAPHS=N makes N graphs,
# SEED=N repeats a run; a graph that differs stays in the folder. Called by graphs.sh.
#
# Tolerances, of the largest value of an output: f64 1e-9 (order of sums, SciPy's other sections), f32 2e-5 (each unit
# rounds once to 6e-8; graphs have up to about 20 of them).
import glob
import os
import random
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
from scipy import signal

TOLERANCE = {"f32": 2e-5, "f64": 1e-9}


class Stream:
    """Frames [frames x ...] and where they stand in time."""

    def __init__(self, data, rate, start=Fraction(0), name="time", f32=False):
        self.data, self.rate, self.start, self.name, self.f32 = data, rate, start, name, f32
        if f32:
            self.data = data.astype(np.float32).astype(np.float64)

    def like(self, data, rate=None, start=None, name=None):
        return Stream(data, self.rate if rate is None else rate, self.start if start is None else start,
                      self.name if name is None else name, self.f32)


# ---- units, from their pages ----------------------------------------------------------------------


def common_reference(s, mode="mean", include_current=True):
    x = s.data
    channels = x.shape[-1]
    if include_current:
        reference = getattr(np, mode)(x, axis=-1, keepdims=True)
    elif mode == "mean":
        reference = (x.sum(axis=-1, keepdims=True) - x) / (channels - 1)
    else:
        reference = np.stack([np.median(np.delete(x, c, axis=-1), axis=-1) for c in range(channels)], axis=-1)
    return s.like(x - reference)


def butterworth(s, order, cuton=None, cutoff=None):
    edges, kind = cutoff, "lowpass"
    if cuton is not None:
        edges, kind = cuton, "highpass"
        if cutoff is not None:
            edges, kind = sorted([cuton, cutoff]), "bandpass" if cuton < cutoff else "bandstop"
    sos = signal.butter(order, edges, kind, fs=float(s.rate), output="sos")
    state = signal.sosfilt_zi(sos)[:, :, None] * s.data[:1].reshape(1, 1, -1)  # steady for the first sample
    y, _ = signal.sosfilt(sos, s.data.reshape(len(s.data), -1), axis=0, zi=state)
    return s.like(y.reshape(s.data.shape))


def power(s, exponent):
    return s.like(s.data ** exponent)


def magnitude(s):
    return s.like(np.abs(s.data))


def logarithm(s, base):
    return s.like(np.log(s.data) / np.log(base))


def scale(s, scale):
    return s.like(s.data * scale)


def linear(s, scale, offset):
    return s.like(s.data * scale + offset)


def clip(s, min, max):
    return s.like(np.clip(s.data, min, max))


def weights(s, time_constant):
    """The weight of each frame in the average at its own time: alpha over the sum of all weights so far."""
    alpha = -np.expm1(-1 / (time_constant * float(s.rate)))
    return alpha / -np.expm1(np.arange(1, len(s.data) + 1) * np.log1p(-alpha))


def ewma(s, time_constant):
    mean, out = np.zeros(s.data.shape[1:]), np.empty_like(s.data)
    for i, a in enumerate(weights(s, time_constant)):
        mean = mean + a * (s.data[i] - mean)
        out[i] = mean
    return s.like(out)


def adaptive_standard_scaler(s, time_constant):
    x, mean, variance, out = s.data, 0, 0, np.zeros_like(s.data)
    for i, a in enumerate(weights(s, time_constant)):
        variance = (1 - a) * (variance + a * (x[i] - mean) ** 2)
        mean = mean + a * (x[i] - mean)
        np.divide(x[i] - mean, np.sqrt(np.maximum(variance, 0)), out=out[i], where=variance > 0)
    return s.like(out)


def reduced(x, operation, axis):
    if operation == "trapezoid":
        raise ValueError(operation)
    return getattr(np, operation)(x, axis=axis)


def binned_aggregate(s, length, operation):
    edges = [0]
    while (k := len(edges)) and (edge := (k * length).__floor__()) <= len(s.data):
        edges.append(edge)
    bins = [reduced(s.data[a:b], operation, 0) for a, b in zip(edges, edges[1:])]
    return s.like(np.array(bins).reshape((len(bins),) + s.data.shape[1:]), rate=s.rate / length)


def window(s, frames, shift, zero_pad_until, anchor):
    zeros = max(0, frames - shift) if zero_pad_until == "shift" else 0
    x = np.concatenate([np.zeros((zeros,) + s.data.shape[1:]), s.data])
    starts = range(0, len(x) - frames + 1, shift)
    out = np.array([x[k:k + frames] for k in starts]).reshape((len(starts), frames) + s.data.shape[1:])
    start = s.start + (Fraction(frames if anchor == "end" else 0) - zeros) / s.rate
    return s.like(out, rate=s.rate / shift, start=start, name="win" if s.name == "time" else s.name + "_win")


def aggregate(s, axis, operation):
    return s.like(reduced(s.data, operation, s.data.ndim - 1 if axis == "ch" else 1))


def downsample(s, factor):
    return s.like(s.data[::factor], rate=s.rate / factor)


def slicer(s, first, last, step):
    return s.like(s.data[..., first:last:step])


def aligned(streams):
    latest = max(s.start for s in streams)
    parts = []
    for s in streams:
        skip = (latest - s.start) * s.rate
        assert skip.denominator == 1 and s.rate == streams[0].rate
        parts.append(s.data[int(skip):])
    frames = min(len(p) for p in parts)
    return latest, [p[:frames] for p in parts]


def fitted(part, like):
    """One value a frame goes with all channels."""
    return part if part.ndim == like.ndim else part[..., None]


def add(streams):
    start, parts = aligned(streams)
    return streams[0].like(sum(fitted(p, parts[0]) for p in parts), start=start)


def difference(streams):
    start, (a, b) = aligned(streams)
    return streams[0].like(a - fitted(b, a), start=start)


def merge(streams):
    start, parts = aligned(streams)
    return streams[0].like(np.concatenate(parts, axis=-1), start=start)


# ---- random graphs --------------------------------------------------------------------------------


class Graph:
    """Makes the text and the expected outputs side by side."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(["f32", "f64", "f64", "i16"])
        self.f32 = self.dtype != "f64"
        self.rate = self.random.choice([1000, 2000, 30000])
        self.channels = self.random.choice([1, 2, 3, 8, 17, 40])
        self.sides, self.joins, self.units = {}, 0, 0
        numbers = np.random.default_rng(seed)
        frames = self.random.choice([1, 7, 100, 400, 900])
        waves = 40 * np.sin(np.arange(frames)[:, None] * 0.07 * (1 + np.arange(self.channels)))
        data = waves + 20 * numbers.standard_normal((frames, self.channels)) + 5
        dtype = {"f32": np.float32, "f64": np.float64, "i16": np.int16}[self.dtype]
        self.input = data.astype(dtype)
        stream = Stream(self.input.astype(np.float64), Fraction(self.rate), f32=self.f32)
        self.text, self.output = self.chain(stream, depth=2, length=self.random.randint(1, 4))
        if self.dtype == "i16":  # joined dtypes are equal
            self.text.insert(0, ("scale", {"scale": 1}))

    def seconds(self, frames, rate):
        """As decimals that stand for exactly so many frames."""
        return repr(float(Fraction(frames) / rate)) + " s"

    def one(self, s):
        r, rate, inner = self.random, float(s.rate), s.data.ndim > 2
        kinds = ["reference", "pow", "abs", "scale", "linear", "clip", "ewma", "butterworth", "slicer"]
        kinds += [] if self.f32 else ["scaler", "log"]
        kind = r.choice(kinds)
        if kind in ("reference", "slicer") and s.data.shape[-1] < 2 or kind in ("butterworth", "ewma", "scaler") and (
                inner or len(s.data) == 0):
            kind = "abs"
        if kind == "scaler" and np.abs(s.data[1:2] - s.data[:1]).min(initial=np.inf) < 1e-3 * np.abs(s.data[:2]).max():
            kind = "ewma"  # of a second value that is nearly the first no digits are left
        if kind == "reference":
            mode, current = r.choice(["mean", "median"]), r.random() < 0.6
            return ([("common_reference", {"mode": mode, "include_current": current})],
                    common_reference(s, mode, current))
        if kind == "butterworth":
            low, high = 0.06 * rate, 0.3 * rate
            band = r.choice([{"cutoff": high}, {"cuton": low}, {"cuton": low, "cutoff": high},
                             {"cuton": high, "cutoff": low}])
            order = r.randint(1, 5)
            words = {name: repr(edge) + " Hz" for name, edge in band.items()}
            return [("butterworth", {"order": order, **words})], butterworth(s, order, **band)
        if kind == "pow":  # kept in range for what comes after
            return ([("scale", {"scale": 0.01}), ("pow", {"exponent": 2})], power(scale(s, 0.01), 2))
        if kind == "log":
            return ([("abs", {}), ("linear", {"scale": 1, "offset": 2}), ("log", {"base": 10})],
                    logarithm(linear(magnitude(s), 1, 2), 10))
        if kind == "scale":
            factor = r.choice([0.5, -1.25, 2])
            return [("scale", {"scale": factor})], scale(s, factor)
        if kind == "linear":
            factor, offset = r.choice([0.75, -1]), r.choice([-3, 0.5])
            return [("linear", {"scale": factor, "offset": offset})], linear(s, factor, offset)
        if kind == "clip":
            return [("clip", {"min": -35, "max": 28})], clip(s, -35, 28)
        if kind in ("ewma", "scaler"):
            name, unit = ("ewma", ewma) if kind == "ewma" else ("adaptive_standard_scaler", adaptive_standard_scaler)
            constant = r.choice([3, 40]) / rate
            return [(name, {"time_constant": repr(constant) + " s"})], unit(s, constant)
        if kind == "slicer":
            channels = s.data.shape[-1]
            first = r.randrange(channels)
            step = r.choice([1, 2])
            return ([("slicer", {"selection": '"%d:%d:%d"' % (first, channels, step)})],
                    slicer(s, first, channels, step))
        return [("abs", {})], magnitude(s)

    def ones(self, s, most):
        text = []
        for _ in range(self.random.randint(0, most)):
            more, s = self.one(s)
            text += more
        return text, s

    def shaped(self, s, most):
        """The same, with as many channels as before."""
        while True:
            text, after = self.ones(s, most)
            if after.data.shape == s.data.shape:
                return text, after

    def slower(self, s, length, windows):
        r = self.random
        if windows:
            frames = int(length) * r.randint(1, 5)
            pad, anchor = r.choice(["none", "shift"]), r.choice(["beginning", "beginning", "end"])
            made = window(s, frames, int(length), pad, anchor)
            operation = r.choice(["mean", "std", "median"])
            text = [("window", {"window_dur": self.seconds(frames, s.rate),
                                "window_shift": self.seconds(length, s.rate),
                                "zero_pad_until": pad, "anchor": anchor}),
                    ("aggregate", {"axis": s.name, "operation": operation})]
            return text, aggregate(made, s.name, operation)
        if length.denominator == 1 and r.random() < 0.5:
            return [("downsample", {"factor": int(length)})], downsample(s, int(length))
        operation = r.choice(["mean", "max", "min", "median", "std", "sum"])
        return ([("binned_aggregate", {"bin_duration": self.seconds(length, s.rate), "operation": operation})],
                binned_aggregate(s, length, operation))

    def split(self, s, depth):
        """Branches of equal rate, joined again; perhaps one more that is an output."""
        r = self.random
        length = r.choice([None, None, Fraction(2), Fraction(3), Fraction(7), Fraction(5, 2), Fraction(7, 3)])
        windows = length is not None and length.denominator == 1 and r.random() < 0.4
        unit = r.choice(["add", "difference", "merge", "reference"])
        inputs = r.choice([2, 2, 3]) if unit in ("add", "merge") else 2
        names, branches, streams = ["a", "b", "c"][:inputs], {}, []
        for i, name in enumerate(names):
            text, made = ([], s) if r.random() < 0.3 else self.shaped(s, 1)
            if length is not None:
                more, made = self.slower(made, length, windows)
                text = text + more
            if depth > 0 and r.random() < 0.25 and len(made.data) > 0:
                sides = dict(self.sides)
                more, nested = self.split(made, depth - 1)
                if nested.data.shape[1:] == made.data.shape[1:] and nested.rate == made.rate:
                    text, made = text + more, nested
                else:
                    self.sides = sides
            more, made = self.shaped(made, 2)
            text = text + more
            if unit == "reference" and i == 1:
                text, made = text + [("aggregate", {"axis": "ch", "operation": "mean"})], aggregate(made, "ch", "mean")
            branches[name] = text
            streams.append(made)
        if r.random() < 0.2:
            name = "s%d" % len(self.sides)
            self.sides[name] = None
            branches[name], self.sides[name] = self.ones(s, 3)
        order = list(range(inputs))
        if unit != "reference":
            r.shuffle(order)
        joined = {"add": add, "merge": merge}.get(unit, difference)([streams[i] for i in order])
        self.joins += 1
        return ([("split", branches),
                 ("difference" if unit == "reference" else unit, {"inputs": [names[i] for i in order]})], joined)

    def chain(self, s, depth, length):
        text = []
        for _ in range(length):
            if self.random.random() < 0.5:
                more, s = self.split(s, depth)
            elif self.random.random() < 0.4:
                length = self.random.choice([Fraction(2), Fraction(5), Fraction(5, 2)])
                more, s = self.slower(s, length, length.denominator == 1 and self.random.random() < 0.3)
            else:
                more, s = self.one(s)
            text += more
        return text, s


def yaml(text, indent=0):
    lines = []
    for name, settings in text:
        if name == "split":
            lines.append("%s- split:" % (" " * indent))
            for branch, inner in settings.items():
                lines.append("%s%s:%s" % (" " * (indent + 4), branch, "" if inner else " []"))
                lines += yaml(inner, indent + 6)
        else:
            words = ", ".join("%s: %s" % (k, word(v)) for k, v in settings.items())
            lines.append("%s- %s: {%s}" % (" " * indent, name, words))
    return lines


def word(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "[%s]" % ", ".join(value) if isinstance(value, list) else str(value)


# ---- the test -------------------------------------------------------------------------------------


def compare(what, expected, path, f32):
    found = np.load(path)
    if found.shape != expected.data.shape:
        return "%s: shape %s, expected %s" % (what, found.shape, expected.data.shape)
    if found.size == 0:
        return None
    tolerance = TOLERANCE["f32" if f32 else "f64"] * max(1.0, float(np.abs(expected.data).max()))
    worst = np.abs(found - expected.data)
    if not worst.max() <= tolerance:
        at = np.unravel_index(np.argmax(worst), worst.shape)
        return "%s: %r at %s, expected %r" % (what, float(found[at]), at, float(expected.data[at]))
    return None


def one_graph(weir, seed):
    graph = Graph(seed)
    for path in glob.glob("out*"):
        os.remove(path)
    np.save("in.npy", graph.input)
    with open("chain.yaml", "w") as file:
        file.write("\n".join(yaml(graph.text)) + "\n")
    r = graph.random
    how = ["--tile", r.choice(["1", "7", "64", "4096", "auto"]), "--threads", str(r.randint(1, 4)),
           "--fuse", r.choice(["on", "off"]), "--message-frames", r.choice(["1", "10", "333"])]
    command = [weir, "run", "chain.yaml", "in.npy", "--rate", str(graph.rate), "-o", "out.npy", "-q"] + how
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 3 and re.search("different (physical )?units", done.stderr):
        return None, None  # the channels of a merge that came through log and not
    if done.returncode != 0:
        return "%s: %d %s" % (" ".join(command), done.returncode, done.stderr), graph
    found = {}
    for path in glob.glob("out*.npy"):
        side = re.search(r"(?:^|\.)(s\d+)\.npy$", path)
        found[side.group(1) if side else ""] = path
    if set(found) != set(graph.sides) | {""}:
        return "outputs %s, expected %s" % (sorted(found), sorted(graph.sides)), graph
    for name, path in found.items():
        wrong = compare(name or "the output", graph.sides.get(name, graph.output), path, graph.f32)
        if wrong:
            return "%s\n%s" % (wrong, " ".join(command)), graph
    return None, graph


def main():
    weir, count, seed = sys.argv[1], int(os.environ.get("GRAPHS", "1000")), int(os.environ.get("SEED", "20260201"))
    joins = outputs = refused = 0
    for number in range(count):
        wrong, graph = one_graph(weir, seed + number)
        if graph is None:
            refused += 1
            continue
        joins += graph.joins
        outputs += 1 + len(graph.sides)
        if wrong:
            print(open("chain.yaml").read())
            print("graph with SEED=%d, in %s: %s" % (seed + number, os.getcwd(), wrong))
            return 1
    print("%d graphs (%d others mix physical units), %d joins, %d outputs, seeds from %d"
          % (count - refused, refused, joins, outputs, seed))
    return 0 if refused <= count // 20 else 1


if __name__ == "__main__":
    sys.exit(main())
