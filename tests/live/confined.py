#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A recorder as the systemd unit confines it: its own user, few rights, a filter of system calls.

Usage: confined.py PERFTAPE LOAD
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import recorders  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, expect, folded, perftape, query, reached, stop, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
CPU = sorted(os.sched_getaffinity(0))[-1]
STRANGER = 12345
NOT_OF_THE_UNIT = {"cycles"}  # counters, which a virtual machine lacks


def stranger_runs(folder):
    """A program that only its owner can reach: without CAP_DAC_READ_SEARCH its functions have no names."""
    folder.mkdir(mode=0o700)
    program = folder / "load"
    shutil.copy(LOAD, program)
    for path in (folder, program):
        os.chown(path, STRANGER, STRANGER)
        path.chmod(0o700)
    return subprocess.Popen([program, str(CPU)], user=STRANGER, group=STRANGER, extra_groups=[])


def lacks_of(store):
    """The recorder's text about what it lacks, as a match; None before this text."""
    return re.search(r'"lacks":"(.*?)"', perftape("status", "--store", store, "--json").stdout)


def incidents(store):
    return perftape("incidents", "--store", store, "--json", "-q").stdout


def write_kmsg(line):
    with open("/dev/kmsg", "wb", buffering=0) as kmsg:
        kmsg.write(f"<3>{line}\n".encode())


@live.test(lacks=live.lacking(tap.has("systemd-analyze") and tap.has("gcc"), "systemd-analyze and gcc"))
def test_confined(folder):
    """the unit's user, rights and system calls suffice for samples, names, the kernel's log, tracefs and cgroups"""
    folder.chmod(0o755)
    store = folder / "store"
    store.mkdir()
    program = folder / "perftape"
    shutil.copy(PERFTAPE, program)
    confined = ["unshare", "-m", sys.executable, TESTS / "tools" / "confine.py", store]
    stranger = stranger_runs(folder / "private")
    recorder = subprocess.Popen(
        [*map(str, confined), program, "record", "--store", store, "--trust-user-kmsg"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begin = time.time()
    wait_for(lambda: reached(store) > begin + 2 or recorder.poll() is not None)
    mark = os.urandom(2).hex()
    write_kmsg(f"ena {mark}:00:05.0 eth7: Keep alive watchdog timeout.")
    wait_for(lambda: mark in incidents(store) or recorder.poll() is not None)
    wait_for(lambda: lacks_of(store) or recorder.poll() is not None)
    # on an idle machine, only this test's own commands enter the kernel
    for words, text in ((("--comm", "load"), "load_alpha"), (("--kernel",), "_")):
        wait_for(lambda words=words, text=text: text in folded(store, *words) or recorder.poll() is not None)
    lacks = lacks_of(store)
    listed = incidents(store)
    said, code = stop(recorder), recorder.returncode
    stacks = folded(store, "--comm", "load")
    kernel = folded(store, "--kernel")
    samples = query(store, "--from", "now-5m")[0]
    stranger.kill()
    stranger.wait()
    return (
        expect("the recorder ends with exit code 0, so no system call was forbidden", code == 0, code, said)
        + expect("it lacks nothing", lacks and set(filter(None, lacks[1].split(","))) <= NOT_OF_THE_UNIT, lacks)
        + expect("a program that only its user can read has names", "load_alpha" in stacks, stacks[:300])
        + expect("the kernel's functions have names", "_" in kernel and "[unknown]" not in kernel[:200], kernel[:300])
        + expect("the kernel's log has an incident", mark in listed, listed)
        + expect("samples have cgroups", any(row.get("cgroup") for row in samples), len(samples))
    )


if __name__ == "__main__":
    sys.exit(live.main())
