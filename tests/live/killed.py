#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A recorder that is killed, and what the next one recovers.

Usage: killed.py PERFTAPE LOAD
"""

import os
import pathlib
import signal
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import noise  # noqa: E402
import recorders  # noqa: E402
from recorders import (  # noqa: E402
    LOOK,
    TURN,
    WAIT,
    disk,
    expect,
    is_spooled,
    long_segment,
    perftape,
    query,
    sealed,
    seconds_of,
    segments,
    spools,
    start,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])


def kill(recorder):
    """Kills the recorder with SIGKILL. Returns a moment before the kill and a moment after it."""
    before = time.time()
    recorder.kill()
    recorder.communicate()
    return before, time.time()


def unsealed(store):
    """The rows of `segments` for spools whose segment does not exist."""
    return [
        row
        for row in segments(store)
        if not row["sealed"] and not (store / "segments" / row["name"].replace(".spool", ".tape")).exists()
    ]


def recover(store):
    """Starts the next recorder, which must say what it recovers: all samples of all spools."""
    rows = unsealed(store)
    samples = sum(row["samples"] for row in rows)
    said = perftape("record", "--store", store, "--duration", "200ms").stderr
    expected = (
        f"an interrupted recording: {samples} sample"
        if samples
        else "an interrupted recording left no samples to recover"
    )
    wrongs = (
        expect(f'the next recorder says "{expected}"', expected in said, said)
        if rows
        else expect("the next recorder speaks of no interrupted recording", "interrupted" not in said, said)
    )
    return wrongs + expect("the next recorder leaves no spool", not spools(store), spools(store))


@live.test(
    promise="Every gap says why it is there: `the recorder was killed`",
    broken_by="forget-killed",
    also=("build",),
)
def test_killed(folder):
    """A killed recorder loses at most its last second, and answers say why this second is missing."""
    with disk(folder / "disk", "64m") as store, noise.Noise() as measured:
        begin = time.time()
        recorder = start(store, "--segment", long_segment())
        wrongs = expect("samples are in the spool", wait_for(lambda: any(row["samples"] for row in segments(store))))
        ran, late = recorders.cpu_seconds(recorder.pid, waits=True), []
        for _ in range(3):
            before = spools(store)  # read first, because a block may come during the query
            reached = recorders.reached(store)
            wrongs += expect("the spool grows", wait_for(lambda: spools(store) != before))
            # the time that a kill just before the block would lose
            late.append(time.time() - reached)
        ran = recorders.cpu_seconds(recorder.pid, waits=True) - ran
        killed, gone = kill(recorder)
        reached = recorders.reached(store)
        # this disk costs no time, but the recorder's threads may run, or wait for a CPU or a timer
        allowed = TURN + LOOK + ran + measured.late() + measured.steal()
        wrongs += expect(
            f"each block comes before more than {allowed:.2f} s could be lost",
            max(late) <= allowed,
            late,
            measured.describe(),
        )
        wrongs += expect(
            f"at most the last {allowed:.2f} s are lost",
            killed - reached <= allowed,
            f"{killed - reached:.2f} s",
            measured.describe(),
        )
        wrongs += recover(store)
        coverage = query(store, "--from", f"@{begin:.6f}", "--to", f"@{gone:.6f}")[1]
    gaps = [gap for gap in coverage["gaps"] if gap["cause"] != "not-begun"]
    wrongs += expect(
        "one gap: the recorder was killed", [gap["why"] for gap in gaps] == ["the recorder was killed"], gaps
    )
    return wrongs + expect(
        "the gap begins where the spool ended",
        all(abs(seconds_of(gap["from"]) - reached) < 1e-3 for gap in gaps),
        gaps,
        reached,
    )


def read_samples(store, window):
    """The samples of a window, sorted by CPU and time, and the possible error of their times in seconds."""
    rows, coverage = query(store, *window)
    return (
        sorted(((row["cpu"], seconds_of(row["time"]), row["tid"]) for row in rows if row["period"])),
        coverage["clock_error_ns"] / 1e9,
    )


def check_recovery(store, killed):
    """Returns what is wrong. The next recorder must keep each sample that could be read before, exactly once."""
    window = ("--from", f"@{killed - WAIT:.6f}", "--to", f"@{killed:.6f}")
    before, error = read_samples(store, window)
    wrongs = recover(store)
    after, more = read_samples(store, window)
    wrongs += expect(
        f"the {len(before)} samples that were there before it was recovered",
        len(after) == len(before) > 0,
        f"{len(after)} samples",
    )
    wrongs += expect("no sample is there twice", len(set(after)) == len(after), len(after) - len(set(after)))
    # a segment keeps enough clock readings for an error of at most 20 us
    error += more + 2 * 20e-6
    other = [
        pair
        for pair in zip(before, after)
        if pair[0][0] != pair[1][0] or pair[0][2] != pair[1][2] or abs(pair[0][1] - pair[1][1]) > error
    ]
    return wrongs + expect(f"each with its CPU, its thread and its time, to {error * 1e6:.0f} us", not other, other[:3])


@live.test(
    promise="keeps the samples on disk",
    broken_by="forget-spool-block",
    also=("build",),
)
def test_recovered(folder):
    """After kill -9 at any moment, the next recorder keeps every sample that was on the disk exactly once."""
    moments = {
        "a segment was sealed": sealed,
        "the next one has begun": lambda store: any(
            size for name, size in spools(store).items() if "-0000000000." not in name
        ),
        "the spool of a later one has samples": lambda store: any(
            row["samples"] and row["sequence"] and not row["sealed"] for row in segments(store)
        ),
    }
    stores = {name: folder / name for name in moments}
    started = {name: start(store, "--segment", "1s") for name, store in stores.items()}
    wrongs, killed = [], {}
    for name, is_there in moments.items():
        wrongs += expect(name, wait_for(lambda: is_there(stores[name])), segments(stores[name]))
        killed[name] = kill(started[name])[1]
    return wrongs + [wrong for name, at in killed.items() for wrong in check_recovery(stores[name], at)]


@live.test()
def test_killed_before_a_sample(folder):
    """A recorder that is killed before the first sample of a tape leaves nothing that the next one must recover."""
    store = folder

    def is_killed_early():
        """Kills the recorder before its first block, which comes after a second. False if the kill came too late."""
        nonlocal store
        store = folder / f"early {time.monotonic()}"
        recorder = start(store)
        wait_for((store / "lock").exists)
        kill(recorder)
        return not is_spooled(store)

    def is_killed_between():
        """Kills the recorder after it began the next tape and before its next drain. False if the kill was late."""
        nonlocal store
        store = folder / f"between {time.monotonic()}"
        recorder = start(store, "--segment", long_segment())
        wait_for(lambda: is_spooled(store))
        recorder.send_signal(signal.SIGUSR2)
        wait_for(lambda: sealed(store) and is_spooled(store))
        kill(recorder)
        return [row["samples"] for row in unsealed(store)] == [0]

    wrongs = expect("a recorder that is killed before its first block", wait_for(is_killed_early), spools(store))
    wrongs += recover(store)
    wrongs += expect(
        "a recorder that is killed between a segment and its next sample", wait_for(is_killed_between), segments(store)
    )
    return wrongs + recover(store)


if __name__ == "__main__":
    sys.exit(live.main())
