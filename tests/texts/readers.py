# SPDX-License-Identifier: GPL-2.0-only
"""How other tools read the text for Flamescope: the rules of each one's parser, and what it makes of a name.

Each reader takes a text and returns its samples. It drops what the tool drops. flamescope_of() and the others
say how the tool shows a name, so that a name that was cut or merged by mistake is found.
"""

import collections
import re

Sample = collections.namedtuple("Sample", "comm ids time frames")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")
# JavaScript's white space: Python's, and the mark of a byte order.
JS_SPACE = r"[\s\ufeff]"
JS_WORD = r"[A-Za-z0-9_]"


def without_offset(name):
    return OFFSET.sub("", name)


def ours(text):
    """Reads the text as perftape means it: ids before a bracket, a module without blanks at the end of a line."""
    samples = []
    for line in text.split("\n"):
        if line.startswith("\t"):
            symbol, module = line[1:-1].rsplit(" (", 1)
            symbol = symbol.lstrip(" ").split(" ", 1)[1]
            samples[-1].frames.append((without_offset(symbol), module))
        elif line and not line.startswith("#"):
            head, rest = line.rsplit(" [", 1)
            comm, ids = head.rstrip(" ").rsplit(" ", 1)
            time = float(rest.split("] ", 1)[1].split(":", 1)[0])
            samples.append(Sample(comm.rstrip(" "), ids, time, []))
    return samples


def blocks(text):
    return [block for block in text.split("\n\n") if block.strip("\n")]


def flamescope(text):
    """Finds an event anywhere in a line. Any other line may be a frame of the event before it."""
    samples = []
    for line in text.split("\n"):
        if line.startswith("#"):
            continue
        event = re.search(r" +([0-9.]+): .+?:", line)
        frame = re.search(r"^[\t ]*[0-9a-fA-F]+ (.+) \((.*?)\)$", line)
        if event:
            comm = re.search(r"^ *([^0-9]+)", line)
            samples.append(Sample(comm[1].rstrip() if comm else "<unknown>", None, float(event[1]), []))
        elif frame:
            samples[-1].frames.append((flamescope_name(frame[1]), frame[2]))
    return samples


def flamescope_name(name):
    at = name.find("+")
    return name[:at] if at > 0 else name


def flamescope_of(sample):
    comm = re.match(r"[^0-9]+", f"{sample.comm}  1")
    return Sample(comm[0].rstrip(), None, sample.time, [(flamescope_name(name), file) for name, file in sample.frames])


def stackcollapse(text):
    samples, sample = [], None
    for line in text.split("\n"):
        if line.startswith("#"):
            continue
        if not line:
            samples += [sample] if sample else []
            sample = None
            continue
        event = re.match(r"(\S.+?)\s+(\d+)/*(\d+)?\s+", line, re.ASCII)
        frame = re.match(r"\s*(\w+)\s*(.+) \((.*)\)", line, re.ASCII)
        if event:
            # a semicolon would divide the comm into frames
            comm = event[1].replace(" ", "_").split(";")[0]
            sample = Sample(comm, f"{event[2]}/{event[3]}", None, [])
        elif frame and sample and not without_offset(frame[2]).startswith("("):
            names = [collapsed(name, frame[3]) for name in without_offset(frame[2]).split("->")]
            sample.frames.extend((name, None) for name in names)
    return samples


def collapsed(name, module):
    if name == "[unknown]":
        name = f"[{'unknown' if module == '[unknown]' else module.rsplit('/', 1)[-1]}]"
    name = name.replace(";", ":")
    if not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*", "", name)
    return name.replace('"', "").replace("'", "")


def stackcollapse_of(sample):
    frames = [(collapsed(name, module), None) for name, module in sample.frames]
    return Sample(sample.comm.replace(" ", "_"), sample.ids, None, frames)


def speedscope(text):
    samples = []
    for block in blocks(text):
        lines = [line for line in block.split("\n") if not re.match(rf"{JS_SPACE}*#", line)]
        event = lines and re.match(rf"([^\s\ufeff].+?){JS_SPACE}+(\d+)(?:/?(\d+))?{JS_SPACE}+", lines[0])
        time = event and re.search(rf"{JS_SPACE}+(\d+\.\d+):{JS_SPACE}+", lines[0])
        if not time:
            continue
        frames = [
            re.match(rf"{JS_SPACE}*({JS_WORD}+){JS_SPACE}*(.+) \(([^\s\ufeff]*)\)", line) for line in lines[1:]
        ]
        frames = [(without_offset(frame[2]), frame[3]) for frame in frames if frame]
        samples.append(Sample(event[1], f"{event[2]}/{event[3]}", float(time[1]), frames))
    return samples


def firefox(text):
    samples, lines = [], iter(text.split("\n"))
    for line in lines:
        if not line or line.startswith("#"):
            continue
        event = re.match(rf"(.*){JS_SPACE}+([\d.]+):", line)
        ids = event and re.match(rf"(.*){JS_SPACE}+(?:(\d+)/)?(\d+)\b", event[1])
        if not ids:
            continue
        frames = []
        for frame in lines:
            if not frame.strip():
                break
            match = re.match(rf"{JS_SPACE}*({JS_WORD}+){JS_SPACE}*(.+) \(([^)]*)\)", frame)
            if match and not without_offset(match[2]).startswith("("):
                frames.append((without_offset(match[2]), match[3]))
        if frames:
            samples.append(Sample(ids[1].strip(), f"{ids[2]}/{ids[3]}", float(event[2]), frames))
    return samples


def perfetto(text):
    """Reads a file only if its first line is an event and all other lines are events or frames."""
    samples = []
    for block in blocks(text):
        lines = block.split("\n")
        event = re.match(r"(.*?) (\d+/\d+) +\[\d+\] (\d+\.\d{6}):", lines[0])
        if not event:
            raise ValueError(f"Perfetto gives the file up at {lines[0]!r}")
        frames = []
        for line in (line.strip() for line in lines[1:]):
            at, module = line.index(" "), line.rindex("(")
            name = line[at:module].strip()
            frames.append((name.rpartition("+")[0] or name, line[module + 1 : -1]))
        if frames:
            samples.append(Sample(" ".join(event[1].split()), event[2], float(event[3]), frames))
    return samples


def perfetto_of(sample):
    return sample._replace(comm=" ".join(sample.comm.split()))


def same(sample):
    return sample


READERS = {
    "Flamescope": (flamescope, flamescope_of),
    "stackcollapse-perf.pl": (stackcollapse, stackcollapse_of),
    "speedscope": (speedscope, same),
    "Firefox Profiler": (firefox, same),
}


def lost_by(name, text):
    """The samples and frames that a reader shows wrongly."""
    read, shown = READERS[name] if name in READERS else (perfetto, perfetto_of)
    expected, seen = [shown(sample) for sample in ours(text)], read(text)
    if len(seen) != len(expected):
        yield f"{name} has {len(seen)} of {len(expected)} samples"
    for wanted, sample in zip(expected, seen):
        if len(wanted.frames) != len(sample.frames):
            yield f"{name} has {len(sample.frames)} of {len(wanted.frames)} frames of {wanted}"
        elif wanted != sample:
            yield f"{name} shows {sample} for {wanted}"
        yield from (f"{name} shows an empty name in {wanted}" for frame, _ in sample.frames if not frame)
