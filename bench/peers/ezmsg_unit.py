# SPDX-License-Identifier: MIT
"""Peer: one class of ezmsg-sigproc, called message by message.

usage: ezmsg_unit.py CHANNELS FRAMES RATE SECONDS ENTRIES CLASSES
ENTRIES are those of a chain file; the last is measured, the ones before it make its input. CLASSES is JSON: names of
units -> "module.Class". What it leaves out in its own favour: ezmsg's graph, processes and queues, and the message
around each array.
"""

import dataclasses
import enum
import importlib
import json
import re
import sys

from timing import CHANNELS, RATE, leave_out, measure, noise

import numpy as np
import yaml
from ezmsg.sigproc import __version__ as version
from ezmsg.util.messages.axisarray import AxisArray

UNITS = {"Hz": 1, "kHz": 1e3, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}


def value_of(value, default):
    """A setting of a chain file as the class has it: SI numbers, members of enumerations."""
    if not isinstance(value, str):
        return value
    if isinstance(default, enum.Enum):
        return next(m for m in type(default) if value.lower() in (m.name.lower(), str(m.value).lower()))
    quantity = re.fullmatch(r"([-+.\deE]+) *(%s)" % "|".join(UNITS), value)
    return float(quantity[1]) * UNITS[quantity[2]] if quantity else value


def settings_of(made_by, given):
    defaults = {field.name: field.default for field in dataclasses.fields(made_by)}
    return made_by(**{k: value_of(v, defaults[k]) for k, v in given.items() if k in defaults})


def settings_class(made, module):
    if hasattr(made, "get_settings_type"):
        return made.get_settings_type()
    return getattr(module, made.__name__.replace("Processor", "Settings"), None)


def processor(entry, classes):
    """An object that is called with a message."""
    (name, given), = entry.items()
    path, _, class_name = classes[name].rpartition(".")
    module = importlib.import_module("ezmsg.sigproc." + path)
    made = getattr(module, class_name)
    settings = settings_class(made, module)
    unit = made(settings_of(settings, given or {})) if settings else made()
    if not hasattr(unit, "push_b"):
        return unit

    def both(message):  # two inputs, the same
        if not hasattr(unit, "push_a"):
            return unit(message), unit.push_b(message)
        unit.push_a(message)
        unit.push_b(message)
        try:
            unit.__acall__().send(None)  # as within its event loop: both are there, so it does not wait
        except StopIteration as done:
            return done.value

    return both


def main():
    classes = json.loads(sys.argv[6])
    entries = yaml.safe_load(sys.argv[5])
    entries = [{entry: None} if isinstance(entry, str) else entry for entry in entries]
    entries = [entry for entry in entries if "split" not in entry]
    frames, labels = 0, np.array([str(i) for i in range(CHANNELS)])
    ring = []
    for data in noise():
        axes = {
            "time": AxisArray.TimeAxis(fs=RATE, offset=frames / RATE),
            "ch": AxisArray.CoordinateAxis(data=labels, dims=["ch"]),
        }
        ring.append(AxisArray(data, dims=["time", "ch"], axes=axes, key="noise"))
        frames += len(data)
    for entry in entries[:-1]:
        before = processor(entry, classes)
        ring = [before(message) for message in ring]
    unit = processor(entries[-1], classes)
    unit(ring[0])
    return unit, ring


try:
    unit, ring = main()
except Exception as reason:  # a class that does not take these settings or this stream
    leave_out(f"{type(reason).__name__}: {reason}")
else:
    measure(unit, ring, f"ezmsg-sigproc {version}")
