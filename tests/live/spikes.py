#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A CPU that does not leave the kernel, in a real recording: perftape finds it without an incident, also while it is recorded.

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
    # all others on this machine together get a twentieth of that CPU
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


class Spinner:
    """A process that is in the kernel all the time."""

    def __init__(self):
        self.process = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL, preexec_fn=become_spinner)
        self.pid = self.process.pid

    def end(self):
        """Ends it. Returns the CPU time that it had, by the kernel's account."""
        self.process.kill()
        usage = os.wait4(self.pid, 0)[2]
        self.process.returncode = 0
        return usage.ru_utime + usage.ru_stime


def spikes_of(store, pid):
    """The spikes of the spinner, however much the rest of this machine does."""
    text = perftape("spikes", "--store", store, "--json", "--all", "--kernel", "70%", "--cpu", CPU).stdout
    return [spike for spike in map(json.loads, text.splitlines()) if "cpu" in spike and spike["thread"] and spike["thread"]["pid"] == pid]


def kernel_seconds():
    """The time of each CPU that was not idle and not a program's own, by the kernel's account."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return {int(row[0][3:]): sum(int(row[at]) for at in (3, 6, 7, 8)) / noise.TICK for row in rows if re.fullmatch(r"cpu\d+", row[0])}


def row_of(picture, cpu):
    """The cells of a CPU, as they are drawn."""
    return next((line.strip()[len(str(cpu)) :].strip() for line in picture.splitlines() if line.split()[:1] == [str(cpu)]), "")


def compare_pictures(store, spike, account):
    """The heat map of that time shows one solid line, of the CPU that spun."""
    window = ("--per-cpu", "--from", spike["from"], "--to", spike["to"])
    picture = perftape("heatmap", "--store", store, *window, env=os.environ | {"COLUMNS": "200", "LINES": "60"}).stdout
    columns = [json.loads(line) for line in perftape("heatmap", "--store", store, "--json", *window).stdout.splitlines()]
    columns = [column for column in columns if "cells" in column]
    kernel = {}
    for column in columns:
        for cell in column["cells"]:
            kernel[cell["cpu"]] = kernel.get(cell["cpu"], 0) + (cell["kernel"] + cell["irq"]) * column["seconds"]
    seconds = sum(column["seconds"] for column in columns)
    row = row_of(picture, CPU)
    # both are of samples, but the list also knows what no sample shows; a tenth is for how they divide the time
    least = spike["kernel"] + spike["irq"] - spike["unseen"] - 0.1
    wrongs = expect(f"at least {100 * least:.0f} % of the cells of CPU {CPU} are the kernel's", kernel.get(CPU, 0) > least * seconds, kernel, seconds)
    wrongs += expect(f"at least {100 * least:.0f} % of the line of CPU {CPU} are K", row.count("K") > least * len(row) > 0, picture)
    for cpu, blamed in kernel.items():
        # a sample stands for 10 ms, and which of them hit the kernel is chance
        most = account[cpu] + 5 * math.sqrt((account[cpu] + 1) / FREQUENCY)
        wrongs += expect(f"CPU {cpu} is in the kernel for at most {most:.1f} s", blamed < most, f"{blamed:.1f} s")
    return wrongs


def compare_list(store):
    """Without --all the list has what is not crowded."""

    def rows(*words):
        text = perftape("spikes", "--store", store, "--json", *words).stdout
        return [row for row in map(json.loads, text.splitlines()) if row.get("cpu") == CPU]

    plain, single = rows(), [row for row in rows("--all") if row["crowded"] == 0]
    return expect("spikes without --all lists each spike that is not crowded", all(row in plain for row in single), plain, single)


def compare(store, spike, spent, stolen, account):
    """One spike against what the kernel's account says, and what the heat map shows."""
    owned = spike["seconds"] * spike["thread"]["share"]
    # the seconds at both ends are not whole ones, those of a recording's begin and end are up to 1.5 s long, and which samples hit it is chance
    least, most = spent - 3, spent + stolen + 0.5
    table = perftape("spikes", "--store", store, "--all", "--at", spike["from"]).stdout
    name = f"dd {spike['thread']['pid']}/"
    return [
        *expect(f"the process has from {least:.1f} to {most:.1f} s of the spike", least < owned < most, f"{owned:.1f} s", spike),
        *expect("the process is in the kernel nearly all the time", (spike["kernel"] + spike["irq"]) * spike["seconds"] > 0.9 * owned, f"{owned:.1f} s", spike),
        *expect("the spike has the name of a function", spike["function"] and "[" not in spike["function"]["symbol"], spike),
        *expect("the figures of the host say that the CPU is busy", spike["gauges"] is None or spike["gauges"] > 0.85, spike),
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
    """A CPU that spins in the kernel is found: while it is recorded, in sealed segments, without an index, and with a new one."""
    store = folder / "store"
    before = kernel_seconds()
    with recording(store) as wrongs, noise.Noise() as measured:
        spinner = Spinner()
        try:
            found = wait_for(lambda: any(spike["seconds"] >= LEAST for spike in spikes_of(store, spinner.pid)))
        finally:
            spent = spinner.end()
        wrongs += expect(f"a spike of {LEAST} s is found while it is recorded", found, perftape("spikes", "--all", "--store", store).stdout)
        # its last whole second is recorded
        segments = sealed(store)
        wrongs += expect("the recorder goes on", wait_for(lambda: sealed(store) > segments))
    after = kernel_seconds()
    found = spikes_of(store, spinner.pid)
    wrongs += expect("one spike of the spinner is in the sealed segments", len(found) == 1, found)
    if wrongs:
        return wrongs
    wrongs += compare(store, found[0], spent, measured.steal(CPU), {cpu: after[cpu] - before[cpu] for cpu in after})
    (store / "index.sqlite").unlink()
    wrongs += expect("the same spike is found without an index", spikes_of(store, spinner.pid) == found, spikes_of(store, spinner.pid), found)
    rebuilt = perftape("verify", "--rebuild", "--store", store)
    wrongs += expect("verify --rebuild ends with exit code 0", rebuilt.returncode == 0, rebuilt.stderr)
    return wrongs + expect("the same spike is found with a new index", spikes_of(store, spinner.pid) == found, spikes_of(store, spinner.pid), found)


if __name__ == "__main__":
    sys.exit(live.main())
