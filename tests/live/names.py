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
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402

PERFTAPE, BRIEF, LOAD = map(os.path.abspath, sys.argv[1:4])
COUNT, HOGS, NAMED = map(int, sys.argv[4:7]) if len(sys.argv) > 6 else (20, 0, 15)
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


@live.test(alone=True)
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


@live.test(alone=True)
def test_resolve(folder):
    """names that come later: debug files of a stripped program, found beside a recorder"""
    store, program, debug = folder / "later", folder / "stripped", folder / "debug"
    notes = subprocess.run(["readelf", "-n", LOAD], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    if not found:
        return ["the load has no build-id", notes]
    # one of its own: where it runs whole beside us, its names are known by the build-id
    build_id = os.urandom(len(found[1]) // 2).hex()
    whole = folder / "whole"
    whole.write_bytes(pathlib.Path(LOAD).read_bytes().replace(bytes.fromhex(found[1]), bytes.fromhex(build_id)))
    subprocess.run(["objcopy", "--only-keep-debug", whole, folder / "names"], check=True)
    subprocess.run(["strip", "-o", program, whole], check=True)
    program.chmod(0o755)
    place = debug / ".build-id" / build_id[:2]
    place.mkdir(parents=True)

    def burn():
        loads = beside_perf.start_load(program, [min(os.sched_getaffinity(0))])
        time.sleep(2)
        beside_perf.stop(loads)

    def folded():
        return perftape("query", "--store", store, "--from", "now-5m", "--format", "folded", "--comm", "stripped").stdout

    record_while(store, burn)
    wrongs = ["names without a debug file"] if "load_alpha" in folded() else []
    (folder / "names").rename(place / f"{build_id[2:]}.debug")
    done = record_while(store, lambda: perftape("resolve", "--store", store, "--debug-dir", debug))
    if done.returncode != 0 or not re.search(r"^\S+ +[1-9]\d* gained .*\.tape$", done.stdout, re.MULTILINE):
        wrongs += ["no names gained", done.stdout, done.stderr]
    if not re.search(r"^stripped;(?:.*;)?load_alpha\b", folded(), re.MULTILINE):
        wrongs += ["load_alpha has no name", folded()[:1000]]
    again = perftape("resolve", "--store", store, "--debug-dir", debug)
    if again.stdout or " 0 names gained" not in again.stderr:
        wrongs += ["gained again", again.stdout, again.stderr]
    verified = perftape("verify", "--store", store)
    if verified.returncode != 0 or verified.stdout or "index" in verified.stderr:
        wrongs += ["the store is not sound", verified.stdout, verified.stderr]
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
