# SPDX-License-Identifier: GPL-2.0-only
"""How noisy this machine is while a test runs.

A test cannot ask for a quiet machine, so it measures the noise of its own run and derives its bounds from
that. Three figures count:

- steal: CPU time that the hypervisor gave to others, by CPU (/proc/stat). A timer tick that falls into it
comes late or never.
- lateness: how much later than asked a thread on each CPU wakes up. A process that wants to run waits as long.
- pressure: the share of the time in which some task waited for a CPU (/proc/pressure/cpu).

    with Noise() as noise:
        record_something()
    allowed = 2 + noise.stolen_ticks(cpu, 97)
"""

import os
import pathlib
import re
import threading
import time

STEP = 0.01  # seconds between two wake-ups of a watcher
TICK = os.sysconf("SC_CLK_TCK")


def steal_by_cpu():
    """Seconds that each CPU was stolen, since the boot."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return {int(row[0][3:]): int(row[8]) / TICK for row in rows if re.fullmatch(r"cpu\d+", row[0])}


def pressure_seconds():
    """Seconds in which some task waited for a CPU, since the boot. None where the kernel does not count them."""
    try:
        text = pathlib.Path("/proc/pressure/cpu").read_text()
    except OSError:
        return None
    return int(re.search(r"some .*total=(\d+)", text)[1]) / 1e6


class Noise:
    """Measures from the begin to the end of a `with` block; its figures can be asked during the block, too."""

    def __enter__(self):
        self.begin = time.monotonic()
        self.end = None
        self.steal_before = steal_by_cpu()
        self.pressure_before = pressure_seconds()
        self.lates = {cpu: [] for cpu in os.sched_getaffinity(0)}
        self.over = threading.Event()
        self.watchers = [threading.Thread(target=self.watch, args=(cpu,), daemon=True) for cpu in self.lates]
        for watcher in self.watchers:
            watcher.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for watcher in self.watchers:
            watcher.join()
        self.end = time.monotonic()

    def watch(self, cpu):
        try:
            os.sched_setaffinity(0, {cpu})
        except OSError:
            return  # offline at the moment
        lates = self.lates[cpu]
        while not self.over.is_set():
            asked = time.monotonic()
            time.sleep(STEP)
            lates.append(time.monotonic() - asked - STEP)

    def seconds(self):
        return (self.end or time.monotonic()) - self.begin

    def steal(self, cpu=None):
        """Stolen seconds of a CPU, or of all of them."""
        now = steal_by_cpu()
        cpus = now if cpu is None else [cpu]
        return sum(max(now.get(one, 0) - self.steal_before.get(one, 0), 0) for one in cpus)

    def late(self, cpu=None):
        """The worst lateness on a CPU, or on any of them, in seconds."""
        return max(
            (late for one in ([cpu] if cpu is not None else self.lates) for late in self.lates.get(one, [])),
            default=0.0,
        )

    def late_seconds(self, cpu, least=STEP):
        """The sum of the latenesses on a CPU, without those shorter than `least`."""
        return sum(late for late in self.lates.get(cpu, []) if late >= least)

    def stolen_ticks(self, cpu, frequency):
        """An upper bound of the timer ticks that a CPU can have missed, as neither steal nor lateness ends on
        a tick."""
        away = max(self.steal(cpu), self.late_seconds(cpu))
        stops = sum(late >= STEP for late in self.lates.get(cpu, []))
        return int(frequency * away) + stops + 1

    def describe(self):
        seconds = max(self.seconds(), 0.001)
        steal = ", ".join(f"{100 * self.steal(cpu) / seconds:.1f} %" for cpu in sorted(self.lates))
        late = 1000 * self.late()
        often = sum(late >= STEP for lates in self.lates.values() for late in lates)
        waited = pressure_seconds()
        pressure = (
            ""
            if waited is None
            else f"; some task waited for a CPU {100 * (waited - self.pressure_before) / seconds:.0f} % of the time"
        )
        return f"in {seconds:.1f} s, steal {steal} by CPU; threads woke at most {late:.0f} ms late, {often} times over 10 ms{pressure}"
