#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Names of what is gone when it is named.

Usage: names.py PERFTAPE BRIEF LOAD [COUNT HOGS NAMED]

COUNT processes of 50 ms of CPU time each, from files that are deleted as soon as they run, on a machine with so many hogs a CPU. At
least NAMED of them must have the name of their function.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import tap  # noqa: E402

PERFTAPE, BRIEF, LOAD = map(os.path.abspath, sys.argv[1:4])
COUNT, HOGS, NAMED = map(int, sys.argv[4:7]) if len(sys.argv) > 4 else (20, 0, 18)
WAIT = 120


def perftape(*words):
    return subprocess.run([PERFTAPE, *map(str, words)], capture_output=True, text=True, timeout=WAIT)


def record_while(store, action):
    recorder = subprocess.Popen([PERFTAPE, "record", "--store", store], stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + WAIT
        while not list(store.glob("spool/*")) and time.monotonic() < end:
            time.sleep(0.05)
        return action()
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=WAIT)


def test_brief(folder):
    """processes of a moment, from files that are deleted, in mount namespaces of their own"""
    store = folder / "brief"
    cpus = sorted(os.sched_getaffinity(0))
    hogs = [hog for _ in range(HOGS) for hog in beside_perf.start_load(LOAD, cpus)]
    try:
        done = record_while(store, lambda: subprocess.run([BRIEF, str(COUNT), "50"], timeout=WAIT))
    finally:
        beside_perf.stop(hogs)
    folded = perftape("query", "--store", store, "--from", "now-5m", "--format", "folded").stdout
    seen = set(re.findall(r"^(brief\d\d);", folded, re.MULTILINE))
    named = set(re.findall(r"^(brief\d\d);(?:.*;)?brief_burn\b", folded, re.MULTILINE))
    print(f"# {len(named)} of {COUNT} named, {len(seen)} sampled")
    if done.returncode != 0:
        return ["the processes could not be started"]
    if len(named) < NAMED:
        return [f"{len(named)} of {COUNT} are named, {len(seen)} were sampled", *folded.splitlines()[:20]]
    return []


TESTS_NEED_ROOT = [test_brief]


def main():
    if os.geteuid() != 0:
        print(f"1..{len(TESTS_NEED_ROOT)}")
        for number, test in enumerate(TESTS_NEED_ROOT, 1):
            print(f"ok {number} - {test.__doc__} # SKIP recording takes root")
        return 0
    with tempfile.TemporaryDirectory(prefix="perftape names ") as folder:
        return tap.run((test.__doc__, test(pathlib.Path(folder))) for test in TESTS_NEED_ROOT)


if __name__ == "__main__":
    sys.exit(main())
