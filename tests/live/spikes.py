#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A CPU that does not leave the kernel, in a real recording: perftape finds it without an incident.

Usage: spikes.py PERFTAPE
"""

import contextlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import noise  # noqa: E402
from recorders import WAIT, expect, perftape, sealed, start, wait_for  # noqa: E402

SEGMENT = 2
LEAST = 2 * SEGMENT + 1  # seconds: beyond the ends of two segments
CPU = max(os.sched_getaffinity(0))
FREQUENCY = 97


def become_spinner():
    os.sched_setaffinity(0, {CPU})
    # all other processes together, even real-time ones, get a twentieth of that CPU
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


class Spinner:
    """A process that is in the kernel all the time."""

    def __init__(self):
        command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=become_spinner)
        self.pid = self.process.pid

    def end(self):
        """Ends the spinner. Returns its CPU time by the kernel's account."""
        self.process.kill()
        usage = os.wait4(self.pid, 0)[2]
        self.process.returncode = 0
        return usage.ru_utime + usage.ru_stime


def rows_of(store, *words):
    text = perftape("spikes", "--store", store, "--json", *words).stdout
    return [row for row in map(json.loads, text.splitlines()) if "cpu" in row]


def spikes_of(store, pid):
    """The spikes of the spinner, however much the rest of this machine does."""
    found = rows_of(store, "--all", "--kernel", "70%", "--cpu", CPU)
    return [spike for spike in found if spike["thread"] and spike["thread"]["pid"] == pid]


def kernel_seconds():
    """The seconds that each CPU spent in the kernel, with interrupts and steal, by the kernel's account."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    cpus = {int(row[0][3:]): row for row in rows if re.fullmatch(r"cpu\d+", row[0])}
    return {cpu: sum(int(row[at]) for at in (3, 6, 7, 8)) / noise.TICK for cpu, row in cpus.items()}


def row_of(picture, cpu):
    """The drawn cells of a CPU."""
    lines = [line.strip() for line in picture.splitlines() if line.split()[:1] == [str(cpu)]]
    return lines[0][len(str(cpu)) :].strip() if lines else ""


def kernel_by_map(store, window):
    """The seconds of each CPU in the kernel by the cells of a heat map, and the seconds of the
    map."""
    text = perftape("heatmap", "--store", store, "--json", *window).stdout
    columns = [column for column in map(json.loads, text.splitlines()) if "cells" in column]
    kernel = {}
    for column in columns:
        for cell in column["cells"]:
            kernel[cell["cpu"]] = kernel.get(cell["cpu"], 0) + (cell["kernel"] + cell["irq"]) * column["seconds"]
    return kernel, sum(column["seconds"] for column in columns)


def compare_pictures(store, spike, account):
    """Checks that the heat map of a time shows one solid line, the line of the CPU that spun."""
    window = ("--per-cpu", "--from", spike["from"], "--to", spike["to"])
    screen = os.environ | {"COLUMNS": "200", "LINES": "60"}
    picture = perftape("heatmap", "--store", store, *window, env=screen).stdout
    kernel, seconds = kernel_by_map(store, window)
    row = row_of(picture, CPU)
    # the list also counts time without samples; a tenth allows for the different ways to divide the time
    least = spike["kernel"] + spike["irq"] - spike["unseen"] - 0.1
    expected = f"at least {100 * least:.0f} % of CPU {CPU}"
    wrongs = expect(f"{expected} are the kernel's", kernel.get(CPU, 0) > least * seconds, kernel, seconds)
    wrongs += expect(f"{expected} are drawn as K", row.count("K") > least * len(row) > 0, picture)
    for cpu, blamed in kernel.items():
        # a sample stands for 10 ms, and it is chance which samples hit the kernel
        most = account[cpu] + 5 * math.sqrt((account[cpu] + 1) / FREQUENCY)
        wrongs += expect(f"CPU {cpu} is in the kernel for at most {most:.1f} s", blamed < most, f"{blamed:.1f} s")
    return wrongs


def compare_list(store):
    """Checks that the list without --all has each spike that is not crowded."""
    plain = rows_of(store)
    single = [row for row in rows_of(store, "--all") if row["cpu"] == CPU and row["crowded"] == 0]
    are_listed = all(row in plain for row in single)
    return expect("spikes without --all lists each spike that is not crowded", are_listed, plain, single)


def compare(store, spike, spent, stolen, account):
    """Compares one spike with the kernel's account and with the heat map."""
    owned = spike["seconds"] * spike["thread"]["share"]
    kernel = spike["seconds"] * (spike["kernel"] + spike["irq"])
    # up to 1.5 s at each end are outside of whole seconds, and it is chance which samples hit the process
    least, most = spent - 3, spent + stolen + 0.5
    table = perftape("spikes", "--store", store, "--all", "--at", spike["from"]).stdout
    name = f"dd {spike['thread']['pid']}/"
    is_named = spike["function"] and "[" not in spike["function"]["symbol"]
    # the kernel may withhold a twentieth from real-time processes; a hypervisor may take more
    busy = 0.85 - stolen / spike["seconds"]
    is_busy = spike["gauges"] is None or spike["gauges"] > busy
    return [
        *expect(f"the process has {least:.1f} to {most:.1f} s of it", least < owned < most, f"{owned:.1f} s", spike),
        *expect(f"the kernel has nearly all of these {owned:.1f} s", kernel > 0.9 * owned, f"{kernel:.1f} s", spike),
        *expect("the spike has the name of a function", is_named, spike),
        *expect(f"by the figures of the host, the CPU is busy for {100 * busy:.0f} % or more", is_busy, spike),
        *expect(f"the table has {name}", name in table, table),
        *compare_list(store),
        *compare_pictures(store, spike, account),
    ]


@contextlib.contextmanager
def recording(store):
    recorder = start(store, "--segment", f"{SEGMENT}s")
    yield expect("the recorder records", wait_for(lambda: list(store.glob("spool/*"))))
    recorder.terminate()
    recorder.communicate(timeout=WAIT)


@live.test(promise="It needs no incident", broken_by="quarter-share", alone=True)
def test_spinner(folder):
    """A CPU that spins in the kernel is found in the spool, in a sealed segment, and without the index."""
    store = folder / "store"
    before = kernel_seconds()
    with recording(store) as wrongs, noise.Noise() as measured:
        spinner = Spinner()
        try:
            pid = spinner.pid
            found = wait_for(lambda: any(spike["seconds"] >= LEAST for spike in spikes_of(store, pid)))
        finally:
            spent = spinner.end()
        wrongs += expect(f"a spike of {LEAST} s is found while it is recorded", found, rows_of(store, "--all"))
        # the last whole second of the spinner is recorded
        segments = sealed(store)
        wrongs += expect("the recorder goes on", wait_for(lambda: sealed(store) > segments))
    after = kernel_seconds()
    found = spikes_of(store, pid)
    wrongs += expect("one spike of the spinner is in the sealed segments", len(found) == 1, found)
    if wrongs:
        return wrongs
    account = {cpu: after[cpu] - before[cpu] for cpu in after}
    wrongs += compare(store, found[0], spent, measured.steal(CPU), account)
    (store / "index.sqlite").unlink()
    again = spikes_of(store, pid)
    wrongs += expect("the same spike is found without an index", again == found, again, found)
    rebuilt = perftape("verify", "--rebuild", "--store", store)
    wrongs += expect("verify --rebuild ends with exit code 0", rebuilt.returncode == 0, rebuilt.stderr)
    again = spikes_of(store, pid)
    return wrongs + expect("the same spike is found with a new index", again == found, again, found)


if __name__ == "__main__":
    sys.exit(live.main())
