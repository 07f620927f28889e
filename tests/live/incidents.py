#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's log of this machine while perftape records: which incidents it finds, and when they happened.

Usage: incidents.py PERFTAPE
"""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import noise  # noqa: E402
import recorders  # noqa: E402
from kernel_log import device, stall, write_kmsg  # noqa: E402
from recorders import (
    PERFTAPE,
    WAIT,
    expect,
    perftape,
    reached,
    samples_of,
    seconds_of,
    start_sampling,
    stop,
    times_of,
    wait_for,
)  # noqa: E402

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
DEVKMSG = pathlib.Path("/proc/sys/kernel/printk_devkmsg")
v1 = live.lacking((MEMORY / "memory.limit_in_bytes").exists(), "memory cgroups of version 1")
# The kernel's log and the JSON rows have times in microseconds.
ROUNDING = 2e-6
# The store has an incident once it reaches this much beyond the incident's line.
LISTED_AFTER = 2


def incidents(store, *words):
    """The rows of all incidents; [] when the store does not exist yet."""
    return recorders.parse_json(perftape("incidents", "--store", store, "--json", "-q", *words).stdout)[0]


def ours(store):
    """The incidents of this test's device."""
    return [row for row in incidents(store) if row["fields"].get("bdf") == device()]


def queues(store):
    """The queues that the incidents of this test's device name, in order."""
    return [row["fields"]["qid"] for row in ours(store)]


def lies_between(row, before, after, key="time"):
    """Whether a time lies between two readings of the wall clock, within the error that the row states."""
    error = row["time_error_s"] + ROUNDING
    return before - error <= seconds_of(row[key]) <= after + error


VICTIM = """
import os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write("0")
while time.process_time() < 0.3:
    pass
block = bytearray(64 << 20)
block[::4096] = block[::4096]
"""


def kill_for_memory():
    """Runs a process that takes 64 MB in a cgroup of 16 MB: the kernel kills it. Returns (before, pid, after)."""
    group = MEMORY / f"perftape-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(16 << 20))
        (group / "memory.swappiness").write_text("0")
        before = time.time()
        victim = subprocess.Popen([sys.executable, "-S", "-c", VICTIM, group])
        victim.wait(WAIT)
        return before, victim.pid, time.time()
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@live.test(lacks=v1)
def test_oom(folder):
    """A process that the kernel kills for memory is listed, keeps its number, and is in the incident's window."""
    store = folder / "oom"
    with noise.Noise() as measured:
        recorder = start_sampling(store, "--segment", "5s")
        before, pid, after = kill_for_memory()
        reaches = [0.0]

        def find():
            return [row for row in incidents(store, "--kind", "oom.kill") if row["fields"].get("pid") == pid]

        def is_decided():
            # read before the list, so the store reaches at least this moment when the list is read
            reaches.append(reached(store))
            return find() or reaches[-1] > after + LISTED_AFTER + measured.late()

        wait_for(is_decided)
        in_time = find()
        # the store may have the newest line earlier than the samples of the same moment
        wait_for(lambda: reached(store) > after)
        row = next(iter(find()), None)
    wrongs = expect(
        f"the kill is listed once the store reaches {LISTED_AFTER} s beyond it",
        in_time,
        f"the store reaches {reaches[-1] - after:.1f} s beyond it",
    )
    if wrongs:
        return wrongs
    wrongs += expect(f"the kill happened between {before} and {after}", lies_between(row, before, after), row)
    wrongs += expect(
        "the moment of the kill is covered, and the victim has its name",
        row["covered"] is True and row["fields"]["comm"].startswith("python"),
        row,
    )
    stop(recorder)
    # sealing may correct the wall clock of a stamp a little, so the times are not compared
    keys = ("id", "kind", "uptime", "boot_id", "fields", "line", "covered")
    same = lambda rows: [{key: row[key] for key in keys} for row in rows] == [
        {key: row[key] for key in keys}
    ]  # noqa: E731
    wrongs += expect("the sealed incident is the one that was listed before", same(find()), find(), row)
    done = perftape("verify", "--store", store, "--rebuild")
    wrongs += expect(
        "a rebuilt index has the same incident", done.returncode == 0 and same(find()), done.stderr, find()
    )
    shown = samples_of(store, "--incident", row["id"], "--pid", pid)
    wrongs += expect("the incident's window has samples of the victim", shown, "none")
    table = perftape("incidents", "--store", store, "--kind", "oom_kill").stdout
    return wrongs + expect(
        "the table has a kill that is covered", re.search(r"\boom\.\w+ .* yes$", table, re.MULTILINE), table
    )


@live.test()
def test_forged(folder):
    """A line that a user writes into the kernel's log is not an incident, unless the recorder trusts users."""
    store, trusting = folder / "forged", folder / "trusting"
    recorders_ = [start_sampling(store), start_sampling(trusting, "--trust-user-kmsg")]
    _, after = write_kmsg(stall(3))
    wrongs = expect(
        "the recorder that trusts users lists queue 3", wait_for(lambda: queues(trusting) == [3]), queues(trusting)
    )
    wrongs += expect("the other recorder goes on", wait_for(lambda: reached(store) > after), reached(store), after)
    wrongs += expect("the other recorder lists nothing", queues(store) == [], queues(store))
    for recorder in recorders_:
        stop(recorder)
    return wrongs + expect(
        "sealed segments have the same incidents: none, and queue 3",
        (queues(store), queues(trusting)) == ([], [3]),
        queues(store),
        queues(trusting),
    )


@live.test(
    promise="`record` reads the kernel's log while it samples", broken_by="forget-log-position", also=("build-tsan",)
)
def test_restarts(folder):
    """Each line of the kernel's log is found once, whether a recorder was running, was stopped or was killed."""
    store = folder / "restarts"
    written, wrongs = {}, []
    for number, how in ((1, signal.SIGKILL), (3, signal.SIGINT), (5, signal.SIGKILL)):
        recorder = start_sampling(store, "--trust-user-kmsg", "--segment", "5s")
        written[number] = write_kmsg(stall(number))
        wrongs += expect(
            f"the recorder lists queue {number}", wait_for(lambda number=number: number in queues(store)), queues(store)
        )
        stop(recorder, how)
        written[number + 1] = write_kmsg(stall(number + 1))
    recorder = recorders.start(store, "--trust-user-kmsg")
    wrongs += expect("the last recorder lists queue 6", wait_for(lambda: 6 in queues(store)), queues(store))
    stop(recorder)
    wrongs += expect(
        "each of the queues 1 to 6 is listed once, in order", queues(store) == [1, 2, 3, 4, 5, 6], queues(store)
    )
    numbers = [row["id"] for row in incidents(store)]
    # each recorder reserves eight numbers, then twice as many as before; a kill wastes the rest
    most = 2 * len(numbers) + 8 * len(written)
    wrongs += expect(
        f"each incident has a number of its own, up to {most}",
        len(set(numbers)) == len(numbers) and min(numbers) >= 1 and max(numbers) <= most,
        numbers,
    )
    apart = [
        (row, written[row["fields"]["qid"]])
        for row in ours(store)
        if not lies_between(row, *written[row["fields"]["qid"]])
    ]
    return wrongs + expect("each incident happened when its line was written", not apart, *apart)


def is_stopped(pid):
    """Whether all threads of a process are stopped."""
    states = [
        task.joinpath("stat").read_text().rpartition(")")[2].split()[0]
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
    ]
    return all(state in "Tt" for state in states)


def useless(number):
    # a level that consoles do not show
    return f"<7>perftape test {device()}: a line that nobody needs, number {number}\n"


def overwritten():
    """How many useless lines the kernel's log has lost. 0 while the log still has older lines."""
    with open("/dev/kmsg", "rb", buffering=0) as kmsg:
        oldest = kmsg.read(8192).decode(errors="replace")
    return int(oldest.partition(useless("")[3:-1])[2].partition("\n")[0] or 0)


@live.test(alone=True)
def test_overrun(folder):
    """Lines that the kernel overwrote before the recorder read them are counted, and later lines are found."""
    store = folder / "overrun"
    recorder = start_sampling(store, "--trust-user-kmsg")
    with live.setting(DEVKMSG, "on\n"):
        wait_for(lambda: (store / "kernel-log").exists())
        recorder.send_signal(signal.SIGSTOP)
        wait_for(lambda: is_stopped(recorder.pid))
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            for number in range(1 << 20):
                kmsg.write(useless(number).encode())
                if number % 1000 == 999 and overwritten():
                    break
        lost = overwritten()
        recorder.send_signal(signal.SIGCONT)
        wrongs = expect(
            "the overrun is an incident", wait_for(lambda: incidents(store, "--kind", "kmsg.overrun")), incidents(store)
        )
        write_kmsg(stall(9))
        wrongs += expect("a line behind the overrun is found", wait_for(lambda: queues(store) == [9]), queues(store))
    stop(recorder)
    counted = sum(row["fields"]["n"] for row in incidents(store, "--kind", "kmsg.overrun"))
    return wrongs + expect(f"at least {lost} lines are counted as overwritten", lost and counted >= lost, counted)


STALLED = """
import sys, time
stall, first, line = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
earliest, started, latest = time.time(), time.monotonic(), time.time()
while time.monotonic() < started + stall:
    pass
for queue in range(first, first + 5):
    with open("/dev/kmsg", "wb", buffering=0) as kmsg:
        before, stalled = time.time(), time.monotonic() - started
        kmsg.write(line.replace("QUEUE", str(queue)).replace("USEC", str(round(1e6 * stalled))).encode())
        after = time.time()
        print(queue, before, after, earliest, latest + after - before)
"""
STALL = 0.7


def stall_now(first):
    """Runs a process that spins, and then writes five lines that state how long it spun.

    Returns for each queue the moments around the begin of the spinning and around the write of the
    line; the pid; the moments around the life of the process.
    """
    # a level that consoles do not show, because showing a line takes a millisecond
    line = f"<7>{stall('QUEUE', 'USEC')}\n"
    before = time.time()
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", STALLED, str(STALL), str(first), line], stdout=subprocess.PIPE, text=True
    )
    said = process.communicate(timeout=WAIT)[0]
    life = before, time.time()
    rows = [row.split() for row in said.splitlines()]
    return {int(row[0]): tuple(map(float, row[1:])) for row in rows}, process.pid, life


def clock_error(store, incident):
    """The largest error of an incident's window: the one that its coverage states, and the slewing of the clock."""
    return (
        recorders.query(store, "--incident", incident, "--pid", os.getpid())[1]["clock_error_ns"] / 1e9
        + ROUNDING
        + STALL / 2000
    )


def judge_stall(row, error, before, after, earliest, latest):
    """Whether the times of an incident agree with those of its line and of the stall before the line."""
    what = f"the stall of queue {row['fields']['qid']}"
    wrongs = expect(
        f"{what}: its line is of between {before:.6f} and {after:.6f}", lies_between(row, before, after), row
    )
    begin = seconds_of(row["stall_start"])
    wrongs += expect(
        f"{what}: it began between {earliest:.6f} and {latest:.6f}, within {error} s",
        earliest - error <= begin <= latest + error,
        row,
    )
    return wrongs + expect(f"{what}: it is covered from its begin on", row["covered"] is True, row)


@live.test(
    promise="The window of an incident begins before its stall, so that a stall of 6.5 s is in it.",
    broken_by="shift-clock",
)
def test_clock(folder):
    """An incident's window begins before the stall and has all its samples, with times right to a millisecond."""
    store, wrongs, width, written = folder / "clock", [], 1, {}
    recorder = start_sampling(store, "--trust-user-kmsg", "-F", "1000")
    # if another process delayed the reading of the clocks, the error is large: try again
    while not wrongs and width >= 0.001 and len(written) < 100:
        moments, pid, life = stall_now(len(written))
        written |= moments
        wrongs += expect(
            f"{len(written)} stalls are listed", wait_for(lambda: queues(store) == list(written)), queues(store)
        )
        # the store may have the newest line earlier than the samples of the same moment
        wait_for(lambda: reached(store) > life[1])
        rows = [row for row in ours(store) if row["fields"]["qid"] in moments]
        error = clock_error(store, rows[0]["id"]) if rows else 0
        for row in rows:
            before, after, *_ = moments[row["fields"]["qid"]]
            width = min(width, after - before + 2 * row["time_error_s"])
            wrongs += judge_stall(row, error, *moments[row["fields"]["qid"]])
    stop(recorder)
    print(f"# of {len(written)} lines, the time of one is known to {1e6 * width:.0f} us", flush=True)
    wrongs += expect("the time of one of the lines is known to a millisecond", width < 0.001, width)
    if wrongs:
        return wrongs
    inside = times_of(store, "--incident", rows[0]["id"], "--pid", pid)
    whole = times_of(store, "--from", f"@{life[0] - 60:.6f}", "--pid", pid)
    error = clock_error(store, rows[0]["id"])
    wrongs += expect(
        "the window has all samples of the process that stalled",
        inside and inside == whole,
        f"{len(inside)} of {len(whole)}",
    )
    return wrongs + expect(
        f"they are of its life, {life[0]:.6f} to {life[1]:.6f}, within {error} s",
        life[0] - error <= whole[0] and whole[-1] <= life[1] + error,
        whole[0],
        whole[-1],
    )


@live.test(
    promise="With `--snapshot-dir DIR` the recorder leaves each incident's window in a file",
    broken_by="cut-snapshots-short",
    also=("build-tsan",),
)
def test_snapshots(folder):
    """Each incident's window is saved in a file once. The recording goes on if the folder cannot be written."""
    store, snapshots, moved = folder / "kept", folder / "snapshots", folder / "moved.tape"
    number = lambda: ours(store)[0]["id"]  # noqa: E731
    there = lambda: list(snapshots.glob(f"*-{number()}.tape"))  # noqa: E731
    recorder = start_sampling(store, "--trust-user-kmsg", "--snapshot-dir", snapshots)
    write_kmsg(stall(4))
    wrongs = expect("queue 4 is listed", wait_for(lambda: queues(store) == [4]), queues(store))
    # a recorder that ends does not wait for the end of the window: it writes the snapshot at once
    if not wrongs and os.environ.get("PERFTAPE_TIER") != "quick":
        wrongs += expect("the snapshot is left while the recorder runs", wait_for(there), list(snapshots.iterdir()))
    said = stop(recorder)
    wrongs += expect("the recorder says that it created the folder", f"created the folder {snapshots}" in said, said)
    if wrongs or not there():
        return wrongs or expect(f"a snapshot of incident {number()} is left", False, list(snapshots.iterdir()))
    there()[0].rename(moved)
    wrongs += expect(
        "the snapshot has the store's incident", [row["id"] for row in ours(moved)] == [number()], ours(moved)
    )
    theirs, mine = (
        [(head["cpu"], head["tid"]) for head in samples_of(where, "--incident", number(), "--after", "0s")]
        for where in (moved, store)
    )
    wrongs += expect(
        f"the snapshot has the {len(mine)} samples that the store has of the incident's window up to its line",
        mine and theirs == mine,
        len(theirs),
    )
    stop(start_sampling(store, "--trust-user-kmsg", "--snapshot-dir", snapshots))
    wrongs += expect("the next recorder does not leave it again", not there(), there())
    blocked = folder / "blocked"
    blocked.write_text("a file, not a folder")
    recorder = start_sampling(store, "--trust-user-kmsg", "--snapshot-dir", blocked / "x")
    write_kmsg(stall(5))
    wrongs += expect(
        "queue 5 is listed where snapshots cannot be written", wait_for(lambda: 5 in queues(store)), queues(store)
    )
    said = stop(recorder)
    return wrongs + expect(
        "the recorder names the folder, and ends with exit code 0",
        recorder.returncode == 0 and "blocked" in said,
        recorder.returncode,
        said,
    )


@live.test(promise="`--add` adds to the store what the store does not know yet", broken_by="add-what-is-known")
def test_scan(folder):
    """perftape places a log of this machine by its stamps, and adds each incident that the store lacks once."""
    store, log = folder / "scan", folder / "kern.log"
    recorder = start_sampling(store, "--trust-user-kmsg")
    before, after = write_kmsg(stall(6))
    wrongs = expect("queue 6 is listed", wait_for(lambda: queues(store) == [6]), queues(store))
    wrongs += expect(
        "the recording goes on for a second", wait_for(lambda: reached(store) > after + 1), reached(store), after
    )
    stop(recorder)
    recorded = ours(store)[-1]
    wrongs += expect(f"the line is of between {before} and {after}", lies_between(recorded, before, after), recorded)
    # the stamp of a logger that wrote ten minutes late
    late = time.strftime("%b %e %H:%M:%S", time.localtime(time.time() + 600))
    log.write_text(
        "".join(
            f"{late} host kernel: [{recorded['uptime'] + more:.6f}] {stall(queue)}\n"
            for queue, more in ((6, 0), (7, 1))
        )
    )
    done = perftape("incidents", "scan", log, "--store", store, "--json", "--add")
    first, second = [json.loads(line) for line in done.stdout.splitlines()][:2]
    wrongs += expect(
        "the line that was recorded has the time of the recorded incident",
        first["time"] == recorded["time"],
        first,
        recorded,
    )
    error = first["time_error_s"] + second["time_error_s"] + ROUNDING
    wrongs += expect(
        f"the other line is a second later, within {error} s",
        error < 1 and abs(seconds_of(second["time"]) - seconds_of(first["time"]) - 1) <= error,
        first,
        second,
    )
    wrongs += expect("the log adds queue 7 alone", queues(store) == [6, 7], queues(store), done.stderr)
    wrongs += expect(f"the source of queue 7 is {log}:2", ours(store)[-1]["source"] == f"{log}:2", ours(store))
    perftape("incidents", "scan", log, "--store", store, "--add")
    return wrongs + expect("the same log adds nothing again", queues(store) == [6, 7], queues(store))


@live.test()
def test_pipe(folder):
    """An incident in a pipe is shown when its line comes, even without a newline, and not only at the pipe's end."""
    environment = os.environ | {"PERFTAPE_STORE": str(folder / "none")}
    scan = subprocess.Popen(
        [PERFTAPE, "incidents", "scan", "--json", "-"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for text in (
        f"[ 100.000000] {stall(6)}\n",
        "[ 101.000000] nothing\n[ 102.000000] ena 0000:00:05.0 eth0: Trigger reset is on\n",
        f"[ 103.000000] {stall(7)[:-20]}\n",
    ):
        scan.stdin.write(text)
        scan.stdin.flush()
        shown = select.select([scan.stdout], [], [], WAIT)[0] and scan.stdout.readline()
        line = text.splitlines()[-1]
        if not shown or json.loads(shown)["line"] != line:
            scan.kill()
            return expect(f"the scan shows '{line}'", False, shown or "nothing")
    scan.stdin.close()
    coverage = json.loads(scan.stdout.read())["coverage"]
    return expect(
        "the scan ends with exit code 0 after 3 incidents",
        scan.wait(WAIT) == 0 and coverage["incidents"] == 3,
        scan.returncode,
        coverage,
    )


if __name__ == "__main__":
    sys.exit(live.main())
