#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Records the same seconds of the same load with perf and with perftape, and says how they differ.

Usage: beside_perf.py PERFTAPE LOAD SECONDS

As a module: record(perftape, load, seconds, folder) gives a Comparison. Both sample at 97 Hz with
cpu-clock while LOAD runs pinned to each CPU. The comparison uses only the time in which both
record.

A hypervisor that steals time from both makes both miss samples. The two timers fire at different moments, so each
misses a few more or fewer than the other by chance. Comparison.apart() therefore counts in standard deviations of that
chance.
"""

import collections
import contextlib
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HEAD = re.compile(
    r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>\d+\.\d+):\s+(?P<period>\d+)"
)
FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<name>.+?)(?:\+0x[0-9a-f]+)? \((?P<dso>.*?)\)$")

FREQUENCY = 97
START = 60  # seconds within which a started program must run


class Profile:
    """The samples of a recorder. `ahead` turns its times into those of the wall clock."""

    def __init__(self, text, load, ahead=0.0):
        self.samples = []
        head = leaf = None
        for line in text.splitlines() + [""]:
            if line.startswith("#"):
                continue
            if not line.strip():
                if head and int(head["period"]):
                    # perf script may not find the names of other processes, which may have ended
                    symbol = (leaf or "[unknown]") if head["comm"].strip() == load else None
                    self.samples.append((int(head["cpu"]), float(head["time"]) + ahead, symbol))
                head = leaf = None
            elif head is None:
                head = HEAD.match(line)
            elif leaf is None:
                frame = FRAME.match(line)
                leaf = frame["name"] if frame else None

    def keep(self, spans):
        """Keeps the samples within each CPU's span: their times by CPU, and the load's samples by function."""
        self.times = {cpu: [] for cpu in spans}
        self.leaves = collections.Counter()
        for cpu, at, symbol in self.samples:
            if cpu in spans and spans[cpu][0] <= at <= spans[cpu][1]:
                self.times[cpu].append(at)
                self.leaves.update([symbol] if symbol else [])
        self.total = self.leaves.total()

    def span(self, cpus=None):
        """The times of the first and the last sample, of some CPUs or of all."""
        times = [at for cpu, at, _ in self.samples if cpus is None or cpu in cpus]
        return min(times), max(times)

    def rate(self, cpu):
        """Samples per second on a CPU, between its first and its last sample."""
        times = sorted(self.times[cpu])
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

    def share(self, name):
        return self.leaves[name] / self.total if self.total else 0.0


class Comparison:
    def __init__(self, perf, ours):
        self.perf, self.ours = perf, ours
        self.cpus = sorted({cpu for cpu, _, _ in perf.samples})
        # perf enables its events CPU by CPU, and may have to wait for its own CPU meanwhile
        theirs = {cpu: perf.span({cpu}) for cpu in self.cpus}
        begin, end = ours.span()
        self.spans = {cpu: (max(span[0], begin), min(span[1], end)) for cpu, span in theirs.items()}
        for profile in (perf, ours):
            profile.keep(self.spans)
        self.top = [name for name, _ in perf.leaves.most_common(10)]

    def count_difference(self, cpu):
        """The difference between perftape's and perf's rates of samples, as a fraction of perf's
        rate."""
        return abs(self.ours.rate(cpu) - self.perf.rate(cpu)) / self.perf.rate(cpu)

    def counts(self, cpu, windows=()):
        """The numbers of perf's samples, of perftape's samples and of due samples on a CPU, in the
        whole span or in windows."""
        windows = windows or [self.spans[cpu]]

        def count(profile):
            return sum(begin <= at <= end for begin, end in windows for at in profile.times[cpu])

        return count(self.perf), count(self.ours), FREQUENCY * sum(end - begin for begin, end in windows)

    def apart(self, cpu, windows=()):
        """By how many standard deviations of chance the numbers of samples on a CPU differ.

        The samples that a recorder misses have independent causes, so the variance of their number is about its mean.
        At each edge of a window one sample may lie on this side or on that.
        """
        perf, ours, due = self.counts(cpu, windows)
        missed = max(due - perf, 0) + max(due - ours, 0)
        edges = max(len(windows), 1)
        return max(abs(ours - perf) - edges, 0) / math.sqrt(missed + 1)

    def sigma(self, name):
        """By how many standard deviations of chance the shares of a function differ."""
        n, m = self.perf.total, self.ours.total
        p = (self.perf.leaves[name] + self.ours.leaves[name]) / (n + m)
        chance = math.sqrt(p * (1 - p) * (1 / n + 1 / m))
        return abs(self.perf.share(name) - self.ours.share(name)) / chance if chance else 0.0

    def our_top(self):
        return [name for name, _ in self.ours.leaves.most_common(10)]


def start_load(load, cpus):
    return [subprocess.Popen([load, str(cpu)]) for cpu in cpus]


def start_yielding(load, cpus):
    """Starts a load on each of the CPUs. The load keeps its CPU busy and yields to every other process.

    A niceness counts only within a session, so each load has its own session, and the session is nice, too.
    """
    loads = []
    for cpu in cpus:
        command = ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "19", load, str(cpu)]
        loads.append(subprocess.Popen(command, start_new_session=True))
        # a kernel without sessions of the scheduler has no such file
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{loads[-1].pid}/autogroup").write_text("19")
    return loads


@contextlib.contextmanager
def busy(load, cpus):
    """Keeps CPUs busy for a while with loads that yield to every other process."""
    loads = start_yielding(load, cpus)
    try:
        yield
    finally:
        stop(loads)


def cpu_seconds(pid):
    """The CPU time of a process, by the kernel's account."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def stop(processes):
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def loads_on(cpus, load, start=start_load):
    """Keeps CPUs busy for a while."""
    loads = start(load, cpus)
    try:
        yield loads
    finally:
        stop(loads)


def wait_until(condition, what):
    end = time.monotonic() + START
    while not condition():
        assert time.monotonic() < end, f"{what} within {START} s"
        time.sleep(0.05)


def record_both(perftape, load, seconds, folder, words):
    """Records with both. Returns the offset from perf's times to the wall clock."""
    store = folder / "store"
    theirs = ["perf", "record", "-q", "-B", "-F", str(FREQUENCY), "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-ga"]
    with loads_on(sorted(os.sched_getaffinity(0)), load) as loads:
        ours = subprocess.Popen([perftape, "record", "-q", "--store", store, *words])
        try:
            wait_until(lambda: all(cpu_seconds(process.pid) > 0 for process in loads), "each load runs")
            wait_until(lambda: ours.poll() is not None or list(store.glob("spool/*.spool")), "perftape records")
            ahead = time.time() - time.monotonic()
            subprocess.run([*theirs, "-o", folder / "perf.data", "--", "sleep", str(seconds)], check=True)
        finally:
            ours.send_signal(signal.SIGINT)
            ended = ours.wait()
    assert ended == 0, f"perftape record ends with exit code {ended}"
    return ahead


def text_of(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def record(perftape, load, seconds, folder, words=()):
    """Records the same seconds with both, and compares. Leaves our store in the folder."""
    ahead = record_both(perftape, load, seconds, folder, words)
    fields = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"
    perf_text = text_of("perf", "script", "--no-inline", "-i", folder / "perf.data", "-F", fields)
    since = f"now-{seconds + 2 * START}s"
    our_text = text_of(perftape, "query", "-q", "--store", folder / "store", "--from", since)
    name = pathlib.Path(load).name
    return Comparison(Profile(perf_text, name, ahead), Profile(our_text, name))


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="perftape beside ") as folder:
        result = record(sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(folder))
    print("| CPU | perf, samples/s | perftape, samples/s | difference |\n| --- | --- | --- | --- |")
    for cpu in result.cpus:
        rates = f"{result.perf.rate(cpu):.2f} | {result.ours.rate(cpu):.2f}"
        print(f"| {cpu} | {rates} | {100 * result.count_difference(cpu):.2f} % |")
    print("\n| symbol | perf | perftape | standard deviations apart |\n| --- | --- | --- | --- |")
    for name in result.top:
        shares = f"{100 * result.perf.share(name):.2f} % | {100 * result.ours.share(name):.2f} %"
        print(f"| `{name}` | {shares} | {result.sigma(name):.1f} |")
    print(f"\nThe same ten symbols: {'yes' if set(result.top) == set(result.our_top()) else 'no'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
