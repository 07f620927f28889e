#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Where a recording goes: disks that fill up, a store that disappears, and the order of writes to
the disk.

Usage: storage.py PERFTAPE LOAD
"""

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
import live  # noqa: E402
import recorders  # noqa: E402
from recorders import (  # noqa: E402
    disk,
    expect,
    hear,
    is_spooled,
    long_segment,
    perftape,
    progress,
    query,
    sealed,
    segments,
    spools,
    start,
    stop,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])


def fill(store):
    """Takes all free space of the disk. The last page of a file may still grow."""
    with open(store / "ballast", "ab", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(b"x" * 4096)


def fill_up(recorder, store):
    """Fills the disk until the recorder reports that it waits. Returns the recorder's messages."""
    return hear(recorder, "again each second", lambda: fill(store))


def make_room(store):
    (store / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)


@live.test(
    promise="A full disk does not end a recording",
    broken_by="drop-unsealed",
    also=("build-tsan",),
)
def test_full_disk(folder):
    """On a full disk recording goes on in memory. Once there is room again, everything is there."""
    with disk(folder / "full", "256k") as store:
        recorder = start(store, "--segment", long_segment())
        wrongs = expect(
            "the recorder spools samples and tells its progress",
            wait_for(lambda: is_spooled(store) and progress(store)),
        )
        said = fill_up(recorder, store)
        taken = progress(store).get("samples", 0)
        recorder.send_signal(signal.SIGUSR2)  # end this segment

        def is_waiting():
            told = progress(store)
            return told and "/segments/" in told["error"] and told["samples"] > taken

        wrongs += expect(
            "a segment could not be sealed, and later samples are taken", wait_for(is_waiting), progress(store)
        )
        wrongs += expect("no segment is on the full disk", not sealed(store), segments(store))
        make_room(store)
        wait_for(lambda: sealed(store) or progress(store).get("unsaved"))
        wrongs += expect("the segment that waited is sealed once there is room", sealed(store), progress(store))
        said += hear(recorder, "can be written again")
        said += stop(recorder, signal.SIGINT)
        wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
        wrongs += expect(
            "record says that it waits, and that the store can be written again",
            "again each second" in said and "can be written again" in said,
            said,
        )
        rows = segments(store)
        wrongs += expect(
            "at least two segments, all sealed", len(rows) >= 2 and all(row["sealed"] for row in rows), rows
        )
        coverage = query(store, "--from", rows[0]["begin"], "--to", rows[-1]["end"])[1]
        return wrongs + expect(
            "all of that time is covered and no sample is unsaved",
            coverage["covered_ns"] == coverage["window_ns"] and not coverage["unsaved"],
            coverage,
        )


@live.test()
def test_full_to_the_end(folder):
    """Every answer reports the samples that were never stored, and why, before and after the next recorder."""
    begin = time.time()
    with disk(folder / "full to the end", "2m") as store:
        recorder = start(store, "--segment", long_segment(), "--keep-free", "0", "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        recorder.send_signal(signal.SIGUSR2)
        # the spool of a segment takes room until the segment is sealed
        wrongs += expect(
            "a segment is sealed, and its spool is gone",
            wait_for(lambda: sealed(store) and len(spools(store)) == 1),
            spools(store),
        )
        said = fill_up(recorder, store)
        said += stop(recorder)
        window = ("--from", f"@{begin:.6f}", "--to", f"@{time.time():.6f}")
        wrongs += expect("record ends with exit code 1", recorder.returncode == 1, recorder.returncode, said)
        found = re.search(r"(\d+) samples? could not be sealed", said)
        wrongs += expect("record says how many samples it could not seal", found, said)
        make_room(store)
        told, more = [], ""
        for _ in range(2):
            coverage = query(store, *window)[1]
            gaps = {gap["cause"]: gap["why"] for gap in coverage["gaps"]}
            expected = {
                "unsaved": "unsaved: the store could not be written",
                "stopped": "the recorder was stopped (SIGTERM)",
            }
            wrongs += expect(
                "a gap for unsaved samples, one for the end, each with its reason",
                expected.items() <= gaps.items(),
                gaps,
            )
            wrongs += expect(
                "no gap has another reason, and nothing is damaged",
                set(gaps) <= {*expected, "not-begun"} and not coverage["damaged"],
                coverage,
            )
            told.append(coverage["unsaved"])
            more = perftape("record", "--store", store, "--duration", "200ms").stderr  # recovers what was spooled
        unsealed = int(found[1]) if found else 0
        return wrongs + expect(
            "both answers tell the same number of samples, and at most as many as could not be sealed",
            unsealed >= told[0] == told[1] > 0,
            unsealed,
            told,
            said,
            more,
        )


@live.test()
def test_full_before_a_segment(folder):
    """If only the spool has samples at the end, record reports them, and the next recording recovers them."""
    with disk(folder / "full at once", "256k") as store:
        recorder = start(store, "--segment", long_segment(), "-F", "499")
        wrongs = expect("samples are in the spool", wait_for(lambda: any(row["samples"] for row in segments(store))))
        said = fill_up(recorder, store)
        said += stop(recorder)
        wrongs += expect("record ends with exit code 1", recorder.returncode == 1, recorder.returncode, said)
        wrongs += expect(
            "record says that the next recording recovers them, and does not call them nothing",
            "the next recording recovers" in said and "nothing was" not in said and not sealed(store),
            said,
        )
        make_room(store)
        more = perftape("record", "--store", store, "--duration", "200ms").stderr
        return wrongs + expect(
            "the next recording recovers samples", re.search(r"recovered .*: [1-9]\d* samples", more), more, said
        )


@live.test()
def test_disk_fills_up(folder):
    """When others fill the disk, the oldest segments make room for the newest."""
    with disk(folder / "filling", "4m") as store:
        recorder = start(store, "--segment", "1s", "-F", "499")
        wrongs = expect("eight segments are sealed", wait_for(lambda: sealed(store) >= 8), sealed(store))
        known = {path.name for path in store.glob("segments/*.tape")}
        fill(store)
        filled = time.time()
        wrongs += expect(
            "the oldest segment is removed",
            wait_for(lambda: not (store / "segments" / min(known)).exists()),
            segments(store),
        )
        wrongs += expect(
            "a newer segment is sealed",
            wait_for(lambda: {path.name for path in store.glob("segments/*.tape")} - known),
            segments(store),
        )
        said = stop(recorder, signal.SIGINT)
        wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
        coverage = perftape("query", "--store", store, "--from", f"@{filled:.6f}").stderr
        return wrongs + expect(
            "samples from the time after the disk was full", re.search(r"[1-9]\d* samples", coverage), coverage, said
        )


def synced_wrongly(calls, name):
    """Returns which calls a thread made in the wrong order when it sealed the segment. `calls` has lines of strace."""

    def last(pattern, until=len(calls)):
        return max((number for number, call in enumerate(calls[:until]) if re.match(pattern, call)), default=-1)

    def first(pattern):
        return next((number for number, call in enumerate(calls) if re.match(pattern, call)), len(calls))

    file, folder = rf"\d+<[^>]*/segments/\.{name}\.new>", r"\d+<[^>]*/segments>"
    renamed = first(rf'rename\w*\(.*"\.{name}\.new".*= 0')
    synced, behind = last(rf"f(data)?sync\({file}\) *= 0", renamed), [
        number for number, call in enumerate(calls) if number > renamed and re.match(rf"fsync\({folder}\) *= 0", call)
    ]
    unspooled = first(rf'unlink\w*\(.*{name.replace(".tape", ".spool")}"')
    wrongs = expect(
        f"{name} is synced after its last byte and before it is renamed",
        synced > last(rf"p?write\w*\({file}") >= 0,
        *calls,
    )
    wrongs += expect("the folder is synced after that", behind, *calls)
    return wrongs + expect("only then its spool is removed", behind and behind[0] < unspooled < len(calls), *calls)


@live.test(promise="it seals a segment, while sampling goes on", broken_by="skip-fsync")
def test_sealed_is_synced(folder):
    """Each segment is on the disk before its spool is removed: its bytes, then its name, then its folder."""
    store, trace = folder / "synced", folder / "trace"
    trace.mkdir()
    # -ff: a file for each thread; -D: the recorder stays our child; LeakSanitizer does not work under a tracer
    strace = [
        "strace",
        "-D",
        "-ff",
        "--seccomp-bpf",
        "-y",
        "-o",
        trace / "thread",
        "-e",
        "trace=write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat",
    ]
    environment = {**os.environ, "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"}
    recorder = start(store, "--segment", "1s", wrapper=strace, env=environment)
    wrongs = expect("two segments are sealed", wait_for(lambda: sealed(store) >= 2))
    said = stop(recorder)
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    wrongs += expect(
        "the trace of the recorder ends",
        wait_for(lambda: "+++ exited" in (trace / f"thread.{recorder.pid}").read_text()),
    )
    texts = [path.read_text(errors="replace") for path in trace.iterdir()]
    for path in sorted(store.glob("segments/*.tape")):
        calls = next(
            (text.splitlines() for text in texts if re.search(rf'^rename.*"\.{path.name}\.new"', text, re.MULTILINE)),
            [],
        )
        calls = [call for call in calls if path.stem in call or re.match(r"fsync\(\d+<[^>]*/segments>", call)]
        wrongs += synced_wrongly(calls, path.name)
    return wrongs


@live.test()
def test_store_goes(folder):
    """The store disappears under its recorder: record says so at the end, and offers no commands to read it."""
    above = folder / "above"
    store = above / "goes"
    recorder = start(store)
    wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
    recorders.pause(recorder)
    above.rename(folder / "gone")
    above.write_text("in its place")
    recorder.send_signal(signal.SIGCONT)
    said = stop(recorder)
    return wrongs + expect(
        "record ends with exit code 1 and says only that the store is not there any more",
        recorder.returncode == 1
        and f"{store} was removed, and its " in said
        and "recorded " not in said
        and "The first command" not in said,
        recorder.returncode,
        said,
    )


if __name__ == "__main__":
    sys.exit(live.main())
