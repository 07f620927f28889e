#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads segments by docs/FORMAT.md, and prints everything in them as the text that tests/dumped-tape.h describes.

It was written from that document alone, to find out whether the document says all that a reader needs. So it shares
nothing with the reader in tape/. It has the order and the words of the document; sections.py has everything down to
columns. Beyond Python it needs the program zstd.

Usage: read_tape.py FILE.tape
"""

import collections
import functools
import sys
from typing import NamedTuple

from sections import Bytes, Damaged, Refused, as_signed, check, read_header, read_planes, read_sections, unzigzag, wrap

MOST_MICROSECONDS = 1 << 40
RECENT_THREADS = 254
LOSSES_OF_SAMPLES = (1, 4, 5)
# The sections of a segment with samples; without `modules` if no frame is in a module.
OF_SAMPLES = ("function", "trie", "blocks", "samples")


class References:
    """Reads references to strings. References in several columns share one count. Returns the strings."""

    def __init__(self, strings):
        self.strings, self.last = strings, 0

    def read(self, column):
        code = column.varint()
        if code == 0:
            return b""
        self.last += 1 + unzigzag(code - 1)
        check(0 < self.last < len(self.strings), f"{column.name} refers to a string that is not there")
        return self.strings[self.last]


# Sections of rows


class Anchor(NamedTuple):
    perf: int
    realtime: int
    monotonic: int
    boottime: int
    error: int


class Thread(NamedTuple):
    pid: int
    tid: int
    comm: bytes
    cgroup: bytes


class Loss(NamedTuple):
    kind: int
    cpu: int  # -1: all
    begin: int
    end: int
    count: int


class Event(NamedTuple):
    time: int
    cpu: int
    thread: Thread
    name: bytes
    fields: list


class Line(NamedTuple):
    time: int
    sequence: int
    priority: int
    text: bytes


class Incident(NamedTuple):
    time: int
    stall: int
    severity: int
    kind: bytes
    text: bytes
    source: bytes
    fields: list


class Gauge(NamedTuple):
    name: bytes
    points: list  # (time, value)


def read_strings(column):
    texts = column.take(len(column.data)).split(b"\0")
    check(texts.pop() == b"", "the last string has no end")
    check(b"" not in texts, "an empty string")
    check(len(set(texts)) == len(texts), "a string that comes twice")
    return [b""] + texts


def read_facts(column, strings):
    texts = References(strings)
    while column.more():
        yield texts.read(column), texts.read(column)


def read_anchors(column):
    last = Anchor(0, 0, 0, 0, 0)
    first = True
    while column.more():
        step = column.varint()
        check(first or step > 0, "an anchor that is not behind the one before")
        check(last.perf + step < 1 << 64, "perf times of anchors do not grow")
        others = [wrap(clock + step + column.signed()) for clock in last[1:4]]
        last, first = Anchor(last.perf + step, *others, column.varint()), False
        yield last


def read_threads(column, strings):
    comms, cgroups = References(strings), References(strings)
    pid = 0
    while column.more():
        pid = wrap(pid + column.s32(), 32)
        tid = wrap(pid + column.s32(), 32)
        yield Thread(as_signed(pid, 32), as_signed(tid, 32), comms.read(column), cgroups.read(column))


def read_losses(column, begin):
    time = begin
    while column.more():
        kind, cpu = column.u32(), column.varint() - 1
        check(cpu < (1 << 32) - 1, "a loss of a CPU that cannot be")
        time = wrap(time + column.signed())
        yield Loss(kind, cpu, time, wrap(time + column.signed()), column.varint())


def read_fields(column, texts):
    return [(texts.read(column), texts.read(column)) for _ in range(column.varint())]


def read_events(column, strings, begin, threads):
    texts = References(strings)
    time, last = begin, 0
    while column.more():
        time = wrap(time + column.signed())
        check(time >= last, "events are not in time order")
        last = time
        cpu, thread = column.u32(), column.varint()
        check(thread < len(threads), "an event of a thread that is not there")
        yield Event(time, cpu, threads[thread], texts.read(column), read_fields(column, texts))


def read_lines(column, strings, begin):
    texts = References(strings)
    time, sequence = begin, 0
    while column.more():
        time = wrap(time + column.signed())
        sequence = wrap(sequence + column.signed())
        yield Line(time, sequence, column.u32(), texts.read(column))


def read_incidents(column, strings, begin):
    texts = References(strings)
    time = begin
    while column.more():
        time = wrap(time + column.signed())
        stall = wrap(time - column.signed())
        severity = column.u32()
        kind, text, source = (texts.read(column) for _ in range(3))
        yield Incident(time, stall, severity, kind, text, source, read_fields(column, texts))


def read_gauges(column, strings, begin):
    texts = References(strings)
    while column.more():
        name = texts.read(column)
        count = column.varint()
        times, time = [], begin
        for difference in column.varints(count):
            time = wrap(time + unzigzag(difference))
            check(not times or time >= times[-1], "points of a gauge are not in order")
            times.append(time)
        values, value = [], 0
        for difference in column.varints(count):
            value = wrap(value + unzigzag(difference))
            values.append(as_signed(value))
        yield Gauge(name, list(zip(times, values)))


class Usual(NamedTuple):
    kind: int
    name: bytes
    values: list


def read_usual(column, strings):
    names = References(strings)
    while column.more():
        yield Usual(column.u32(), names.read(column), column.varints(column.varint()))


# Modules, functions, frames


class Module(NamedTuple):
    path: bytes
    kind: int
    build_id: bytes
    device: int
    inode: int


class Function:
    def __init__(self, module, start, symbol):
        self.module, self.start, self.symbol = module, start, symbol
        self.sites, self.leaves = [], []  # offsets


class Frame(NamedTuple):
    module: int
    address: int
    symbol: bytes
    offset: int


def read_modules(column, strings):
    texts = References(strings)
    yield Module(b"", 0, b"", 0, 0)
    while column.more():
        path, kind, size = texts.read(column), column.u8(), column.u8()
        check(kind <= 4 and size <= 20, "a module's kind or build-id")
        yield Module(path, kind, column.take(size), column.varint(), column.varint())


def read_functions(columns, strings, modules):
    """Returns the functions, and the functions' numbers in the order of their ranks."""
    counts, starts, symbols, site_counts, leaf_counts, weights, sites, leaves = columns
    unknown = Function(0, 0, b"")
    unknown.sites, unknown.leaves = [0], [0]
    functions = [unknown]
    texts = References(strings)
    for module in range(1, modules):
        start = 0
        for _ in range(counts.varint()):
            start = wrap(start + starts.varint())
            functions.append(Function(module, start, texts.read(symbols)))
    for function in functions[1:]:
        function.sites = sites.varints(site_counts.varint())
        function.leaves = leaves.varints(leaf_counts.varint())
    weight = weights.take(len(functions))
    for column in columns:
        column.end()
    return functions, sorted(range(len(functions)), key=lambda number: (-weight[number], number))


def frame_of(function, offset):
    return Frame(function.module, wrap(function.start + offset), function.symbol, offset if function.symbol else 0)


# Stacks


class LeafNode(NamedTuple):
    comm: bytes
    callers: tuple  # frames, from the outermost
    function: int
    count: int


def read_trie(columns, strings, functions, by_rank):
    """Returns the names of the comms, and for each comm its leaf nodes in order."""
    names, node_counts, pops_of_all, *planes, sites, counts = columns
    texts = References(strings)
    comms = []
    while names.more():
        comms.append((texts.read(names), node_counts.varint()))
    total = sum(nodes for _, nodes in comms)
    all_pops = iter(pops_of_all.varints(total))
    ranks = iter(read_planes(planes, total))
    forests = []
    for comm, nodes in comms:
        path, leaf_nodes = [], []
        pops = [next(all_pops) for _ in range(nodes)]
        check(not pops or pops[0] == 0, "a first node that drops callers")
        for i in range(nodes):
            if pops[i] > 0:
                check(pops[i] - 1 <= len(path), "a node that drops more callers than there are")
                del path[len(path) - (pops[i] - 1) :]
            rank = next(ranks)
            check(rank < len(functions), "a node of a function that is not there")
            function = functions[by_rank[rank]]
            if i == nodes - 1 or pops[i + 1] > 0:
                check(function.leaves, "a leaf node of a function without leaves")
                leaf_nodes.append(LeafNode(comm, tuple(path), by_rank[rank], counts.varint() + 1))
            else:
                site = sites.varint()
                check(site < len(function.sites), "a site that is not there")
                path.append(frame_of(function, function.sites[site]))
        forests.append(leaf_nodes)
    for column in columns:
        column.end()
    return [comm for comm, _ in comms], forests


# Samples


class Sample(NamedTuple):
    time: int
    cpu: int
    thread: Thread
    period: int
    node: LeafNode
    leaf: Frame


class Run(NamedTuple):
    cpu: int
    samples: int
    phase: int


class Block(NamedTuple):
    begin: int  # as the segment's begin, in ns
    length: int  # in µs
    samples: int


def read_blocks(column, begin):
    last = begin
    while column.more():
        start, length, samples = last + 1000 * column.varint(), column.varint(), column.varint()
        check(length < MOST_MICROSECONDS, "a block that is too long")
        last = start + 1000 * length
        yield Block(start, length, samples)


def read_head(column):
    """Grid period, period of all samples, number of the first new thread, and the runs."""
    grid, period, new = (column.varint() for _ in range(3))
    check(grid <= MOST_MICROSECONDS, "grid period")
    runs, cpu = [], -1
    for _ in range(column.varint()):
        cpu += 1 + column.varint()
        run = Run(cpu, column.varint(), column.signed())
        check(cpu < (1 << 32) and run.samples > 0 and abs(run.phase) <= MOST_MICROSECONDS, "a run that cannot be")
        runs.append(run)
    column.end()
    return grid, period, new, runs


def read_times(codes, escapes, grid, runs):
    """The times of all samples in microseconds from the block's begin."""
    times = []
    for run in runs:
        slot = last = 0
        for _ in range(run.samples):
            code = codes.u8() if grid else 255
            if code != 255:
                time = run.phase + slot // 1000 + code - 100
                slot += grid
            else:
                time = last + escapes.varint()
                past = max(time - run.phase, 0) * 1000
                slot = ((past + grid // 2) // grid + 1) * grid if grid else 0
            check(time >= last, "samples of a run are not in time order")
            times.append(time)
            last = time
    return times


def read_thread_numbers(codes, others, new, runs):
    numbers = []
    for run in runs:
        recent = []
        for _ in range(run.samples):
            code = codes.u8()
            if code < RECENT_THREADS:
                check(code < len(recent), "a recent thread that is not there")
                thread = recent[code]
            elif code == 254:
                thread = new
                new += 1
            else:
                thread = others.varint()
            if thread in recent:
                recent.remove(thread)
            recent.insert(0, thread)
            del recent[RECENT_THREADS:]
            numbers.append(thread)
    return numbers


def grouped(planes, groups):
    """Returns a number for each sample. The planes have the numbers in the order of the samples' groups."""
    order = sorted(range(len(groups)), key=groups.__getitem__)
    numbers = [0] * len(groups)
    for place, number in zip(order, read_planes(planes, len(groups))):
        numbers[place] = number
    return numbers


def read_samples(columns, block, threads, functions, comms, ranked):
    """The samples of one block, in their order."""
    head, codes, escapes, thread_codes, other_threads, periods = columns[:6]
    grid, period, new, runs = read_head(head)
    check(sum(run.samples for run in runs) == block.samples, "a block has not as many samples as it should have")
    times = read_times(codes, escapes, grid, runs)
    check(min(times) == 0 and max(times) == block.length, "samples are not where their block is")
    numbers = read_thread_numbers(thread_codes, other_threads, new, runs)
    check(max(numbers) < len(threads), "a sample of a thread that is not there")
    sampled = [threads[number] for number in numbers]
    all_periods = [period] * len(times) if period else periods.varints(len(times))

    number_of = {comm: number for number, comm in enumerate(comms)}
    check(all(thread.comm in number_of for thread in sampled), "a sample of a comm that has no stacks")
    groups = [number_of[thread.comm] for thread in sampled]
    nodes = []
    for group, rank in zip(groups, grouped(columns[6:10], groups)):
        check(rank < len(ranked[group]), "a sample of a leaf node that is not there")
        nodes.append(ranked[group][rank])
    leaves = []
    for node, leaf in zip(nodes, grouped(columns[10:], [node.function for node in nodes])):
        function = functions[node.function]
        check(leaf < len(function.leaves), "a sample of a leaf that is not there")
        leaves.append(frame_of(function, function.leaves[leaf]))
    for column in columns:
        column.end()
    cpus = [run.cpu for run in runs for _ in range(run.samples)]
    return [
        Sample(block.begin + 1000 * time, *rest)
        for time, *rest in zip(times, cpus, sampled, all_periods, nodes, leaves)
    ]


# Busy CPUs


class Slot(NamedTuple):
    begin: int
    length: int
    wall_begin: int
    machine: int


class Cell(NamedTuple):
    cpu: int
    slot: int
    busy: int
    kernel: int
    interrupts: int
    unseen: int
    by_gauges: int
    thread: tuple  # pid, tid, comm
    of_thread: int
    function: bytes
    of_function: int


class Busy(NamedTuple):
    known: int
    cpus: int
    slots: list
    cells: list


def read_slots(column):
    begin = length = offset = 0
    while column.more():
        begin += length + column.varint()
        length = column.varint()
        offset += column.signed()
        check(length and begin + length < 1 << 64, "a slot's length")
        yield Slot(begin, length, wrap(begin + offset), column.u32())


def read_names(column):
    """Numbered from 1. Number 0 means: no name."""
    names = [b""]
    data = column.take(len(column.data))
    check(not data or data[-1] == 0, "a name without its end")
    for name in data.split(b"\0")[:-1]:
        check(name not in names, "a name that is empty, or comes twice")
        names.append(name)
    return names


def read_busy_threads(column, names):
    threads = [(0, 0, b"")]
    while column.more():
        pid = wrap(threads[-1][0] + column.signed(), 32)
        tid = wrap(pid + column.signed(), 32)
        threads.append((as_signed(pid, 32), as_signed(tid, 32), at(names, column.varint(), "a name")))
    return threads


def read_places(column, slots):
    """CPU and slot of each cell."""
    cpu = slot = 0
    while column.more():
        on, skipped = column.u32(), column.varint()
        slot = (0 if on else slot) + skipped
        cpu += on
        count = column.varint() + 1
        check(cpu < 1 << 32 and slot + count <= slots, "a run of cells")
        yield from ((cpu, slot + i) for i in range(count))
        slot += count


def at(rows, number, what):
    check(number < len(rows), f"{what} that is not there")
    return rows[number]


def read_busy(columns):
    head, slots, names, threads, runs, *shares = columns
    known, cpus = head.varint(), head.varint()
    slots, names = list(read_slots(slots)), read_names(names)
    threads = read_busy_threads(threads, names)
    cells = []
    for place in read_places(runs, len(slots)):
        busy, kernel, interrupts, unseen, by_gauges = (column.u8() for column in shares[:5])
        thread, of_thread = at(threads, shares[5].varint(), "a thread"), shares[6].u8()
        function, of_function = at(names, shares[7].varint(), "a name"), shares[8].u8()
        cells.append(
            Cell(*place, busy, kernel, interrupts, unseen, by_gauges, thread, of_thread, function, of_function)
        )
    for column in columns:
        column.end()
    check(known or not cells, "cells of samples of which nothing tells what time they stand for")
    return Busy(known, cpus, slots, cells)


# All of it


class Tape:
    """A segment. With header.samples == 0 it has no modules, no sums and no samples."""

    def __init__(self, data):
        self.header = read_header(data)
        sections = read_sections(data[: self.header.size], self.header)
        of_one = dict(sections)
        begin = self.header.begin

        def column(name):
            """The bytes of a section of rows: without rows if the section does not exist."""
            return of_one[name][0] if name in of_one else Bytes(b"", name)

        strings = read_strings(column("strings"))
        self.facts = list(read_facts(column("facts"), strings))
        self.anchors = list(read_anchors(column("anchors")))
        self.threads = list(read_threads(column("threads"), strings))
        self.losses = list(read_losses(column("losses"), begin))
        self.events = list(read_events(column("events"), strings, begin, self.threads))
        self.lines = list(read_lines(column("lines"), strings, begin))
        self.incidents = list(read_incidents(column("incident"), strings, begin))
        self.gauges = list(read_gauges(column("gauges"), strings, begin))
        self.usual = list(read_usual(column("usual"), strings))
        self.modules = list(read_modules(column("modules"), strings))
        self.sums, self.samples = [], []
        self.busy = read_busy(of_one["busy"]) if "busy" in of_one else None
        check(self.header.incidents == len(self.incidents), "number of incidents")
        check(
            self.header.lost == wrap(sum(loss.count for loss in self.losses if loss.kind in LOSSES_OF_SAMPLES)),
            "number of lost samples",
        )
        if self.header.samples == 0:
            check(
                not any(name in of_one for name in ("modules", *OF_SAMPLES)),
                "a section of samples where there are none",
            )
            return
        check(all(name in of_one for name in OF_SAMPLES), "a section of the samples is not there")
        self.functions, by_rank = read_functions(of_one["function"], strings, len(self.modules))
        comms, forests = read_trie(of_one["trie"], strings, self.functions, by_rank)
        self.sums = [node for forest in forests for node in forest]
        check(sum(node.count for node in self.sums) == self.header.samples, "number of samples of all leaf nodes")

        ranked = [sorted(forest, key=lambda node: -node.count) for forest in forests]
        blocks = list(read_blocks(of_one["blocks"][0], begin))
        of_blocks = [columns for name, columns in sections if name == "samples"]
        check(len(blocks) == len(of_blocks), "number of blocks")
        check(sum(block.samples for block in blocks) == self.header.samples, "number of samples of all blocks")
        for block, columns in zip(blocks, of_blocks):
            self.samples += read_samples(columns, block, self.threads, self.functions, comms, ranked)
        self.samples.sort(key=lambda sample: (sample.time, sample.cpu))
        check(self.samples[-1].time < self.header.end, "samples behind the end")
        sampled = collections.Counter(id(sample.node) for sample in self.samples)
        check(all(sampled[id(node)] == node.count for node in self.sums), "number of samples of a leaf node")


def read_tapes(data):
    while data:
        tape = Tape(data)
        yield tape
        data = data[tape.header.size :]


# As text


@functools.lru_cache(maxsize=None)
def quoted(text):
    return (
        '"'
        + "".join(chr(byte) if 0x20 <= byte <= 0x7E and byte not in b'"\\' else f"\\x{byte:02x}" for byte in text)
        + '"'
    )


def words_of(*words):
    """Numbers as they are, strings in quotes, lists of pairs of strings one after the other."""
    for word in words:
        if isinstance(word, list):
            yield from (quoted(text) for pair in word for text in pair)
        else:
            yield quoted(word) if isinstance(word, bytes) else str(word)


def line_of(*words):
    return words[0] + "".join(" " + word for word in words_of(*words[1:]))


class Frames:
    """Frames as text, and the lines of new modules."""

    def __init__(self, tape):
        self.tape = tape
        self.numbers = {}
        self.callers = {}  # the text of the callers of leaf nodes

    def module(self, number):
        if number not in self.numbers:
            self.numbers[number] = len(self.numbers)
            module = self.tape.modules[number]
            build_id = module.build_id.hex() or "-"
            yield f"module {self.numbers[number]} {module.kind} {quoted(module.path)} {build_id} {module.device} {module.inode}"

    def text(self, frame):
        return f"{self.numbers[frame.module]}:{frame.address:x}:{quoted(frame.symbol)}+{frame.offset:x}"

    def lines(self, words, leaf, node):
        """The text before the frames of a sample or sum."""
        yield from self.module(leaf.module)
        if node not in self.callers:
            for frame in reversed(node.callers):
                yield from self.module(frame.module)
            self.callers[node] = "".join(" " + self.text(frame) for frame in reversed(node.callers))
        yield f"{words} {self.text(leaf)}{self.callers[node]}"


def lines_of(tape):
    yield line_of("segment", tape.header.sequence, tape.header.begin, tape.header.end)
    for name, rows in ("fact", tape.facts), ("anchor", tape.anchors), ("loss", tape.losses):
        for row in rows:
            yield line_of(name, *row)
    for event in tape.events:
        yield line_of("event", event.time, event.cpu, *event.thread, event.name, event.fields)
    for name, rows in ("line", tape.lines), ("incident", tape.incidents):
        for row in rows:
            yield line_of(name, *row)
    for gauge in tape.gauges:
        yield line_of("gauge", gauge.name)
        for point in gauge.points:
            yield line_of("point", *point)
    for row in tape.usual:
        yield line_of("usual", row.kind, row.name, *row.values)
    frames = Frames(tape)
    for node in tape.sums:
        function = tape.functions[node.function]
        leaf = frame_of(function, function.leaves[0])
        yield from frames.lines(line_of("sum", node.count, node.comm), leaf, node)
    for sample in tape.samples:
        yield from frames.lines(
            line_of("sample", sample.time, sample.cpu, *sample.thread, sample.period), sample.leaf, sample.node
        )
    if tape.busy:
        yield line_of("busy", tape.busy.known, tape.busy.cpus)
        for slot in tape.busy.slots:
            yield line_of("slot", *slot)
        for cell in tape.busy.cells:
            yield line_of("cell", *cell[:7], *cell.thread, *cell[8:])


def main():
    try:
        with open(sys.argv[1], "rb") as file:
            data = file.read()
        for tape in read_tapes(data):
            sys.stdout.writelines(line + "\n" for line in lines_of(tape))
    except (Damaged, Refused) as error:
        print(f"{sys.argv[1]}: {type(error).__name__.lower()}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
