#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A CPU that does not leave the kernel, of a real recording: found without any incident, while it is recorded and afterwards.

Usage: spikes.py PERFTAPE
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import WAIT, expect, perftape, start, wait_for  # noqa: E402

SEGMENT = 5
LEAST = 2 * SEGMENT + 1  # seconds: over the ends of two segments
CPU = max(os.sched_getaffinity(0))
TICK = os.sysconf("SC_CLK_TCK")


def become_spinner():
    os.sched_setaffinity(0, {CPU})
    # whatever else this machine does gets a twentieth of that CPU
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@contextlib.contextmanager
def spinner():
    """One that is in the kernel all the time."""
    process = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL, preexec_fn=become_spinner)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def cpu_seconds(pid):
    """What the process has had of the CPU, by the kernel's account."""
    return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / TICK


def spikes_of(store, pid):
    """The spikes of the spinner. What else this machine does is left to itself."""
    text = perftape("spikes", "--store", store, "--json", "--all", "--kernel", "70%", "--cpu", CPU).stdout
    return [spike for spike in map(json.loads, text.splitlines()) if "cpu" in spike and spike["thread"] and spike["thread"]["pid"] == pid]


def row_of(picture, cpu):
    """The cells of a CPU, as they are drawn."""
    return next((line.strip()[len(str(cpu)) :].strip() for line in picture.splitlines() if line.split()[:1] == [str(cpu)]), "")


def compare_pictures(store, spike):
    """Who looks at the heat map of that time sees one solid line, and whose it is."""
    window = ("--per-cpu", "--from", spike["from"], "--to", spike["to"])
    picture = perftape("heatmap", "--store", store, *window, env=os.environ | {"COLUMNS": "200", "LINES": "60"}).stdout
    columns = [json.loads(line) for line in perftape("heatmap", "--store", store, "--json", *window).stdout.splitlines()]
    cells = [{cell["cpu"]: cell["kernel"] + cell["irq"] for cell in column["cells"]} for column in columns if "cells" in column]
    kernel = {cpu: sum(column.get(cpu, 0) for column in cells) / len(cells) for cpu in set().union(*cells)}
    row = row_of(picture, CPU)
    print(f"# in the kernel by CPU: {', '.join(f'{cpu}: {share:.2f}' for cpu, share in sorted(kernel.items()))}; {row}", flush=True)
    return [
        *expect("its cells are not the kernel's", kernel.get(CPU, 0) > 0.8, kernel),
        *expect("its line is not solid", row.count("K") > 0.8 * len(row) > 0, picture),
        # the others may be there too by chance: then it is not alone, and said not to be
        *expect("another CPU is as much in the kernel", spike["crowded"] > 0 or all(share < kernel[CPU] for cpu, share in kernel.items() if cpu != CPU), kernel),
    ]


def compare_list(store, spike):
    """Who asks for nothing in particular finds it, unless the others were in the kernel too."""
    plain = [json.loads(line) for line in perftape("spikes", "--store", store, "--json").stdout.splitlines()]
    # a longer one may have it, of which the rest was not the kernel's
    found = any(row.get("cpu") == CPU and row["from"] <= spike["from"] and row["to"] >= spike["to"] for row in plain)
    return expect("spikes alone does not list it", found or spike["crowded"] > 0, spike, plain)


def compare(store, spike, spent):
    """One spike against what the kernel's account says, and what the heat map shows."""
    owned = spike["seconds"] * spike["thread"]["share"]
    table = perftape("spikes", "--store", store, "--all", "--at", spike["from"]).stdout
    return [
        # whole seconds: up to one at each end is not among them
        *expect("its time is not that of the process", spent - 3 < owned < spent + 0.5, owned, spent, spike),
        *expect("it was not in the kernel", spike["kernel"] + spike["irq"] > 0.8, spike),
        *expect("it has no function", spike["function"] and "[" not in spike["function"]["symbol"], spike),
        *expect("the host's figures say something else", spike["gauges"] is None or spike["gauges"] > 0.85, spike),
        *expect("it is not in the table", f"dd {spike['thread']['pid']}/" in table, table),
        *compare_list(store, spike),
        *compare_pictures(store, spike),
    ]


def is_moved(pid):
    """Who takes a CPU offline moves what is bound to it."""
    return os.sched_getaffinity(pid) != {CPU}


def try_spinner(store):
    """What is wrong, and whether the spinner was left alone."""
    recorder = start(store, "--segment", f"{SEGMENT}s")
    wrongs = expect("it is not recording", wait_for(lambda: list(store.glob("spool/*"))))
    with spinner() as pid:
        begin = time.monotonic()
        found = wait_for(lambda: is_moved(pid) or any(spike["seconds"] >= LEAST for spike in spikes_of(store, pid)))
        took = time.monotonic() - begin
        wrongs += expect("it is not found while it is recorded", found, perftape("spikes", "--all", "--store", store).stdout)
        spent = cpu_seconds(pid)
        moved = is_moved(pid)
    time.sleep(1.5)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=WAIT)
    print(f"# found after {took:.1f} s, {spent:.1f} s of CPU time", flush=True)
    sealed = spikes_of(store, pid)
    wrongs += expect("it is not one", len(sealed) == 1, sealed)
    if wrongs or moved:
        return wrongs, not moved
    wrongs += compare(store, sealed[0], spent)
    (store / "index.sqlite").unlink()
    wrongs += expect("without an index it is another", spikes_of(store, pid) == sealed, spikes_of(store, pid))
    rebuilt = perftape("verify", "--rebuild", "--store", store)
    wrongs += expect("the index cannot be made anew", rebuilt.returncode == 0, rebuilt.stderr)
    return wrongs + expect("with a new index it is another", spikes_of(store, pid) == sealed, spikes_of(store, pid)), True


@live.test(alone=True)
def test_spinner(folder):
    """a CPU that spins in the kernel: while it is recorded, from sealed segments, without an index, and with one made anew"""
    for attempt in range(3):
        wrongs, left_alone = try_spinner(folder / f"store{attempt}")
        if left_alone:
            return wrongs
    return ["others take that CPU offline again and again", *wrongs]


if __name__ == "__main__":
    sys.exit(live.main())
