#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Records the same seconds of the same load with perf and with perftape, and says how they differ.

Usage: beside_perf.py PERFTAPE LOAD SECONDS

As a module: record(perftape, load, seconds) gives a Comparison. Both sample at 97 Hz with cpu-clock while LOAD runs pinned
to each CPU; compared is the part of the recordings in which both were running.
"""

import collections
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HEAD = re.compile(r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>\d+\.\d+):\s+(?P<period>\d+)")
FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<name>.+?)(?:\+0x[0-9a-f]+)? \((?P<dso>.*?)\)$")

FREQUENCY = 97
ELSE = "(what else runs)"


class Profile:
    """Samples by CPU and leaf symbol, over the time in which a recorder ran. Its times are on the wall clock once `ahead` is added."""

    def __init__(self, text, load, ahead=0.0):
        self.samples = []
        head = leaf = None
        for line in text.splitlines() + [""]:
            if line.startswith("#"):
                continue
            if not line.strip():
                if head and int(head["period"]):
                    # who else is here may be gone, or built anew, when perf script looks for its names
                    symbol = (leaf or "[unknown]") if head["comm"].strip() == load else ELSE
                    self.samples.append((int(head["cpu"]), float(head["time"]) + ahead, symbol))
                head = leaf = None
            elif head is None:
                head = HEAD.match(line)
            elif leaf is None:
                frame = FRAME.match(line)
                leaf = frame["name"] if frame else None

    def keep(self, begin, end):
        """Keeps what lies between."""
        self.times = collections.defaultdict(list)
        kept = [sample for sample in self.samples if begin <= sample[1] <= end]
        for cpu, at, _ in kept:
            self.times[cpu].append(at)
        self.leaves = collections.Counter(symbol for _, _, symbol in kept)
        self.total = len(kept)

    def span(self):
        times = [at for _, at, _ in self.samples]
        return min(times), max(times)

    def rate(self, cpu):
        """Samples a second on a CPU, between its first and its last."""
        times = sorted(self.times[cpu])
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

    def share(self, name):
        return self.leaves[name] / self.total if self.total else 0.0


class Comparison:
    def __init__(self, perf, ours):
        self.perf, self.ours = perf, ours
        begins, ends = zip(perf.span(), ours.span())
        for profile in (perf, ours):
            profile.keep(max(begins), min(ends))
        self.cpus = sorted(perf.times)
        self.top = [name for name, _ in perf.leaves.most_common(10)]

    def count_difference(self, cpu):
        """How far the number of samples a second is from perf's, as a part of it."""
        return abs(self.ours.rate(cpu) - self.perf.rate(cpu)) / self.perf.rate(cpu)

    def sigma(self, name):
        """By how many standard deviations of chance the shares of a symbol differ."""
        n, m = self.perf.total, self.ours.total
        p = (self.perf.leaves[name] + self.ours.leaves[name]) / (n + m)
        chance = math.sqrt(p * (1 - p) * (1 / n + 1 / m))
        return abs(self.perf.share(name) - self.ours.share(name)) / chance if chance else 0.0

    def our_top(self):
        return [name for name, _ in self.ours.leaves.most_common(10)]


def start_load(load, cpus):
    return [subprocess.Popen([load, str(cpu)]) for cpu in cpus]


def stop(processes):
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.wait()


def record(perftape, load, seconds):
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="perftape beside ") as folder:
        folder = pathlib.Path(folder)
        loads = start_load(load, cpus)
        try:
            time.sleep(0.5)
            ahead = time.time() - time.monotonic()
            theirs = subprocess.Popen(
                ["perf", "record", "-q", "-B", "-F", str(FREQUENCY), "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-g", "-a", "-o", folder / "perf.data", "--", "sleep", str(seconds)]
            )
            ours = subprocess.run(
                [perftape, "record", "-q", "--store", folder / "store", "--duration", f"{seconds}s"], check=True
            )
            assert theirs.wait() == 0 and ours.returncode == 0
        finally:
            stop(loads)
        perf_text = subprocess.run(
            ["perf", "script", "--no-inline", "-i", folder / "perf.data", "-F", "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"],
            check=True,
            capture_output=True,
        ).stdout.decode("utf-8", "replace")
        our_text = subprocess.run(
            [perftape, "query", "-q", "--store", folder / "store", "--from", f"now-{seconds + 60}s"], check=True, capture_output=True
        ).stdout.decode("utf-8", "replace")
    name = pathlib.Path(load).name
    return Comparison(Profile(perf_text, name, ahead), Profile(our_text, name))


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    result = record(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print("| CPU | perf, samples/s | perftape, samples/s | difference |\n| --- | --- | --- | --- |")
    for cpu in result.cpus:
        print(f"| {cpu} | {result.perf.rate(cpu):.2f} | {result.ours.rate(cpu):.2f} | {100 * result.count_difference(cpu):.2f} % |")
    print("\n| symbol | perf | perftape | standard deviations apart |\n| --- | --- | --- | --- |")
    for name in result.top:
        print(f"| `{name}` | {100 * result.perf.share(name):.2f} % | {100 * result.ours.share(name):.2f} % | {result.sigma(name):.1f} |")
    print(f"\nThe same ten symbols: {'yes' if set(result.top) == set(result.our_top()) else 'no'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
