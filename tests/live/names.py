#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Names of programs that are gone, or that have no names yet, when a recorder looks for them.

Usage: names.py PERFTAPE BRIEF LOAD
"""

import collections
import contextlib
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
import recorders  # noqa: E402
from recorders import (
    expect,
    is_spooled,
    long_segment,
    perftape,
    query,
    sealed,
    seconds_of,
    start,
    stop,
    times_of,
    wait_for,
)  # noqa: E402

BRIEF, LOAD = map(os.path.abspath, sys.argv[2:4])
BRIEF_MS = 50  # CPU time of a brief process
TOGETHER = 5  # brief processes in a row
LATE = 0.025  # seconds: a recorder that does not get a CPU for this time may miss a brief process
LOADED = r"^stripped;(?:.*;)?load_(?:alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett|rest)\b"


@contextlib.contextmanager
def recording(store, *words):
    """Yields a running recorder, and ends the recorder afterwards."""
    recorder = start(store, *words)
    try:
        if not wait_for(lambda: is_spooled(store)):
            raise TimeoutError("the recorder spools no samples")
        yield recorder
    finally:
        stop(recorder, signal.SIGINT)


def run_briefs():
    """(begin, end, exit code) of some brief processes."""
    begin = time.time()
    done = subprocess.run([BRIEF, str(TOGETHER), str(BRIEF_MS)], preexec_fn=recorders.take_time, check=False)
    return begin, time.time(), done.returncode


def pairs(items):
    items = list(items)
    return [list(pair) for pair in zip(items, items[1:])]


def name_briefs(folder, count, least, hogs):
    """Starts `count` brief processes beside hogs on each CPU. Returns what is wrong unless `least` of them have names.

    The recorder has precedence over the hogs. A process does not count if the recorder could not run meanwhile.
    """
    store, cpus, loads = folder / "brief", sorted(os.sched_getaffinity(0)), []
    try:
        loads = [load for _ in range(hogs) for load in beside_perf.start_load(LOAD, cpus)]
        recorders.outrun()
        with recording(store, "--segment", long_segment(), "-F", "499"):
            begin = time.time()
            runs = recorders.undisturbed(count // TOGETHER, LATE, run_briefs)
    finally:
        beside_perf.stop(loads)
    wrongs = expect(
        f"{count} processes during which the machine lets the recorder run",
        len(runs) * TOGETHER == count,
        len(runs) * TOGETHER,
    )
    wrongs += expect(
        "the processes can be started", all(code == 0 for _, _, code in runs), [code for _, _, code in runs]
    )
    samples = [
        sample for sample in query(store, "--from", f"@{begin:.6f}")[0] if re.fullmatch(r"brief\d\d", sample["comm"])
    ]
    samples = [
        sample for sample in samples if any(since <= seconds_of(sample["time"]) <= until for since, until, _ in runs)
    ]
    sampled = {sample["pid"] for sample in samples}
    named = {
        sample["pid"]
        for sample in samples
        if ["brief_burn", "main"] in pairs(frame["symbol"] for frame in sample["frames"])
    }
    print(f"# {len(named)} of {count} named, {len(sampled)} sampled")
    stacks = collections.Counter(
        ";".join(frame["symbol"] or "?" for frame in sample["frames"])
        for sample in samples
        if sample["pid"] not in named
    )
    return wrongs + expect(
        f"at least {least} of {count} processes have a sample in brief_burn, called by main",
        len(named) >= least,
        f"{len(named)}, {len(sampled)} have samples",
        *(stack for stack, _ in stacks.most_common(5)),
    )


@live.test(promise="with the names of what ran", broken_by="name-frame-wrongly", also=("build-tsan",))
def test_brief(folder):
    """Processes of 50 ms have names, though their files are deleted and were in mount namespaces of their own."""
    return name_briefs(folder, 10, 9, 0)


@live.test(alone=True, long=True)
def test_brief_beside_hogs(folder):
    """100 processes of 50 ms have names, beside two hogs on each CPU."""
    return name_briefs(folder, 100, 95, 2)


def strip(folder):
    """Returns (a program without names, its debug file, its build-id). Only this test runs a program with that id."""
    whole, program, names = folder / "whole", folder / "stripped", folder / "names"
    notes = subprocess.run(["readelf", "-n", LOAD], capture_output=True, text=True, check=True).stdout
    old = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    build_id = os.urandom(len(old) // 2).hex()
    whole.write_bytes(pathlib.Path(LOAD).read_bytes().replace(bytes.fromhex(old), bytes.fromhex(build_id)))
    subprocess.run(["objcopy", "--only-keep-debug", whole, names], check=True)
    subprocess.run(["strip", "-o", program, whole], check=True)
    program.chmod(0o755)
    return program, names, build_id


@live.test(promise="debug files came later: names again", broken_by="forget-reseal")
def test_resolve(folder):
    """Beside a recorder, resolve finds the names of a stripped program once its debug file exists."""
    store, debug, begin = folder / "later", folder / "debug", f"@{time.time():.6f}"
    program, names, build_id = strip(folder)
    place = debug / ".build-id" / build_id[:2]
    place.mkdir(parents=True)
    window = ("--from", begin, "--comm", "stripped")

    def folded():
        return perftape("query", "--store", store, *window, "--format", "folded").stdout

    with recording(store, "--segment", long_segment(), "-F", "499") as recorder:
        loads = beside_perf.start_load(program, [min(os.sched_getaffinity(0))])
        wrongs = expect("at least 50 samples of the program", wait_for(lambda: len(times_of(store, *window)) >= 50))
        beside_perf.stop(loads)
        recorder.send_signal(signal.SIGUSR2)  # end this segment
        wrongs += expect("the segment is sealed", wait_for(lambda: sealed(store)))
        wrongs += expect("no names without a debug file", not re.search(LOADED, folded(), re.MULTILINE), folded()[:500])
        names.rename(place / f"{build_id[2:]}.debug")
        done, again = (perftape("resolve", "--store", store, "--debug-dir", debug) for _ in range(2))
    gained = re.search(r"^\S+ +[1-9]\d* gained .*\.tape$", done.stdout, re.MULTILINE)
    wrongs += expect(
        "resolve ends with exit code 0 and says how many names a segment gained",
        done.returncode == 0 and gained,
        done.returncode,
        done.stdout,
        done.stderr,
    )
    wrongs += expect(
        "the store has names of the load's functions", re.search(LOADED, folded(), re.MULTILINE), folded()[:500]
    )
    wrongs += expect(
        "a second resolve gains nothing",
        not again.stdout and " 0 names gained" in again.stderr,
        again.stdout,
        again.stderr,
    )
    verified = perftape("verify", "--store", store)
    sound = verified.returncode == 0 and not verified.stdout and "index" not in verified.stderr
    return wrongs + expect("verify finds the store sound", sound, verified.returncode, verified.stdout, verified.stderr)


def obeyed(folder, what):
    """A copy of the load that makes the naming helper of a test build do `what`. The spare bytes of
    the copy's header contain `what`."""
    program, data = folder / what, bytearray(pathlib.Path(LOAD).read_bytes())
    data[9:16] = what.encode().ljust(7, b"\0")
    program.write_bytes(data)
    program.chmod(0o755)
    return program


@live.test()
def test_hostile(folder):
    """A file that crashes the naming helper, and one that hangs it, lose their own names and no others."""
    store, begin, loads = folder / "hostile", f"@{time.time():.6f}", []
    programs = {what: obeyed(folder, what) for what in ("crash", "hang", "calm")}
    environment = os.environ | {"PERFTAPE_OBEYS_FILES": "1"}
    recorder = start(store, "--segment", long_segment(), "-F", "499", env=environment)
    try:
        wrongs = expect("the recorder records", wait_for(lambda: is_spooled(store)))
        loads = [load for path in programs.values() for load in beside_perf.start_load(path, os.sched_getaffinity(0))]
        for what in programs:
            words = (store, "--from", begin, "--comm", what)
            wrongs += expect(f"20 samples of {what}", wait_for(lambda words=words: len(times_of(*words)) >= 20))
        beside_perf.stop(loads)
        recorder.send_signal(signal.SIGUSR2)  # end this segment
        wrongs += expect("the segment is sealed", wait_for(lambda: sealed(store)))
    finally:
        beside_perf.stop(loads)
        stop(recorder, signal.SIGINT)
    said = ""
    for what in programs:
        done = perftape("query", "-v", "--store", store, "--from", begin, "--comm", what, "--format", "folded")
        said += done.stderr
        named = re.search(LOADED.replace("stripped", what), done.stdout, re.MULTILINE)
        wrongs += expect(f"{what} is named only if it is calm", bool(named) == (what == "calm"), done.stdout[:500])
    for reason in ("of files that crash the naming helper", "of files that take too long to read"):
        wrongs += expect(f"an answer counts frames {reason}", reason in said, said)
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
