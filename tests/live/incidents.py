#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's log of this machine while it is recorded: what is found in it, when, and what is not.

Usage: incidents.py PERFTAPE
"""

import calendar
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
import recorders  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, perftape, times_of, wait_for  # noqa: E402

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
DEVKMSG = pathlib.Path("/proc/sys/kernel/printk_devkmsg")


def device():
    """Others may test on this machine at the same time, and the log is everybody's: the device of this test's process."""
    return f"{os.getpid() & 0xffff:04x}:00:1f.0"


def stall(queue):
    """What users can write too: a line that only counts when they are trusted."""
    return f"ena {device()} eth7: TX q {queue} is paused for too long (threshold 5000000). Time since last napi 6596000 usec. napi scheduled: 1"


def write_kmsg(*lines):
    # the kernel takes ten lines of each that opens it
    for line in lines:
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            kmsg.write(f"<3>{line}\n".encode())


def start(store, *words):
    recorder = recorders.start(store, *map(str, words))
    wait_for(lambda: list(store.glob("spool/*.spool")) or recorder.poll() is not None)
    return recorder


def stop(recorder, number=signal.SIGINT):
    recorder.send_signal(number)
    return recorder.communicate(timeout=WAIT)[1]


def incidents(store, *words):
    """All of them but the coverage; [] when there is no store yet."""
    done = perftape("incidents", "--store", store, "--json", "-q", *words)
    return [row for row in map(json.loads, done.stdout.splitlines()) if "coverage" not in row]


def seconds(text):
    whole, fraction = text.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + fraction)


def ours(store):
    """Those of our own lines."""
    return [row for row in incidents(store) if row["fields"].get("bdf") == device()]


def of_device(store):
    """Their queues, in order."""
    return [row["fields"]["qid"] for row in ours(store)]


def kill_for_memory():
    """A child in a cgroup of 16 MB takes 64 MB, and is killed. Its pid."""
    group = MEMORY / f"perftape-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(16 << 20))
        (group / "memory.swappiness").write_text("0")
        child = subprocess.Popen(["sh", "-c", f"echo $$ > '{group}/cgroup.procs'; exec {sys.executable} -c 'b = bytearray(64 << 20); b[::4096] = b[::4096]'"])
        child.wait(WAIT)
        return child.pid
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@live.test(alone=True)
def test_oom(folder):
    """A process that is killed for want of memory is listed within two seconds, keeps its number, and its window is shown."""
    store = folder / "oom"
    if not (MEMORY / "memory.limit_in_bytes").exists():
        return ["there is no memory controller of cgroup v1"]
    recorder = start(store, "--segment", "5s")
    time.sleep(1.5)
    pid = kill_for_memory()
    killed = time.time()
    mine = lambda: [row for row in incidents(store, "--kind", "oom.kill") if row["fields"].get("pid") == pid]  # noqa: E731
    wrongs = expect("not listed", wait_for(mine))
    took = time.time() - killed
    wrongs += expect(f"listed after {took:.1f} s", took < 2 + (1 if "build-dev" in PERFTAPE or "build-tsan" in PERFTAPE else 0))
    row = mine()[0] if mine() else {}
    wrongs += expect("not in the second in which it was killed", row and abs(seconds(row["time"]) - killed) < 1, row, killed)
    wrongs += expect("not covered, or no name", row and row["covered"] is True and row["fields"]["comm"].startswith("python"), row)
    stop(recorder)
    # the wall clock of its stamp is known a little better or worse then
    same = lambda rows: len(rows) == 1 and all(rows[0][key] == row[key] for key in ("id", "kind", "uptime", "boot_id", "fields", "line", "covered"))  # noqa: E731
    wrongs += expect("another one once it is sealed", same(mine()), mine(), row)
    done = perftape("verify", "--store", store, "--rebuild")
    wrongs += expect("another one in an index made anew", done.returncode == 0 and same(mine()), done.stderr, mine())
    shown = perftape("query", "--store", store, "--incident", row.get("id", 0), "-o", folder / "oom.stacks")
    samples = re.search(r"(\d+) samples", shown.stderr)
    wrongs += expect("no window", shown.returncode == 0 and samples and int(samples[1]) > 20, shown.stderr)
    table = perftape("incidents", "--store", store, "--kind", "oom_kill").stdout
    return wrongs + expect("not in the table", re.search(r"\boom\.\w+ .* yes$", table, re.MULTILINE), table)


@live.test()
def test_forged(folder):
    """What users write into the kernel's log is no incident, unless they are trusted."""
    store, trusting = folder / "forged", folder / "trusting"
    recorders = [start(store), start(trusting, "--trust-user-kmsg")]
    time.sleep(1.5)
    write_kmsg(stall(3))
    wrongs = expect("not found by who trusts", wait_for(lambda: of_device(trusting) == [3]))
    time.sleep(1)
    wrongs += expect("found by who does not", of_device(store) == [], of_device(store))
    for recorder in recorders:
        stop(recorder)
    return wrongs + expect("found once it is sealed", of_device(store) == [] and of_device(trusting) == [3])


@live.test()
def test_restarts(folder):
    """A recorder that is killed, and one that is stopped: no line comes twice, and none is missed, also while nobody recorded."""
    store = folder / "restarts"
    wrongs = []
    for number, how in ((1, signal.SIGKILL), (3, signal.SIGINT), (5, signal.SIGKILL)):
        recorder = start(store, "--trust-user-kmsg", "--segment", "5s")
        write_kmsg(stall(number))
        wrongs += expect(f"{number} is missing", wait_for(lambda number=number: number in of_device(store)), of_device(store))
        stop(recorder, how)
        write_kmsg(stall(number + 1))
    recorder = start(store, "--trust-user-kmsg")
    wrongs += expect("what came last is missing", wait_for(lambda: 6 in of_device(store)))
    stop(recorder)
    rows = ours(store)
    wrongs += expect("something is missing, or there twice", of_device(store) == [1, 2, 3, 4, 5, 6], of_device(store))
    numbers = [row["id"] for row in incidents(store)]
    # of those that were reserved, a kill may waste a few
    wrongs += expect("numbers", len(set(numbers)) == len(numbers) and min(numbers) >= 1 and max(numbers) <= len(numbers) + 24, numbers)
    times = [seconds(row["time"]) for row in rows]
    return wrongs + expect("times are not in order", times == sorted(times) and times[-1] - times[0] < 600, times)


@live.test(alone=True)
def test_overrun(folder):
    """Lines that were overwritten before they could be read are counted, and what comes behind is found."""
    store = folder / "overrun"
    recorder = start(store, "--trust-user-kmsg")
    with live.setting(DEVKMSG, "on\n"):
        wait_for(lambda: (store / "kernel-log").exists())
        recorder.send_signal(signal.SIGSTOP)
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            for number in range(12000):
                kmsg.write(b"<6>perftape test: a line that nobody needs, number %d\n" % number)
        recorder.send_signal(signal.SIGCONT)
        wrongs = expect("no overrun", wait_for(lambda: incidents(store, "--kind", "kmsg.overrun")))
        write_kmsg(stall(9))
        wrongs += expect("what came behind is missing", wait_for(lambda: of_device(store) == [9]), of_device(store))
    stop(recorder)
    rows = incidents(store, "--kind", "kmsg.overrun")
    return wrongs + expect("no overrun that counts", any(row["fields"]["n"] > 5000 for row in rows), rows)


SPINNER = """
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
kmsg = os.open("/dev/kmsg", os.O_WRONLY)
time.sleep(0.5)
os.write(kmsg, os.environb[b"LINE"])
end = time.monotonic() + 0.3
while time.monotonic() < end:
    pass
"""


def apart(store, queue):
    """By how many seconds the stamp of a line and the first sample of who wrote it differ."""
    # of a level that no console shows: that would take a millisecond with interrupts off
    environment = os.environ | {"LINE": f"<7>{stall(queue)}\n"}
    spinner = subprocess.Popen([sys.executable, "-c", SPINNER], env=environment)
    spinner.wait(WAIT)
    wait_for(lambda: queue in of_device(store))
    at = next(seconds(row["time"]) for row in ours(store) if row["fields"]["qid"] == queue)
    times = times_of(store, "--from", f"@{at - 0.4:.6f}", "--to", f"@{at + 0.5:.6f}", "--pid", str(spinner.pid))
    # the sample of a tick before: it has just woken
    if sum(sample < at - 0.001 for sample in times) > 1:
        return at - times[0]
    return min((abs(sample - at) for sample in times), default=9)


@live.test(alone=True)
def test_clock(folder):
    """A process writes a line and spins: its stamp and the first sample agree to a millisecond."""
    store = folder / "clock"
    recorder = start(store, "--trust-user-kmsg", "-F", "5000")
    # others may have the CPU at that moment
    found = []
    while len(found) < 8 and sum(difference < 0.001 for difference in found) < 2:
        found.append(apart(store, len(found)))
    stop(recorder)
    return expect("stamps and samples are apart", sorted(found)[1] < 0.001, found)


@live.test()
def test_snapshots(folder):
    """An incident's window is left in a folder, once; what that folder's disk does is nothing to the recording."""
    store, snapshots, moved = folder / "kept", folder / "snapshots", folder / "moved.tape"
    there = lambda: [path for row in ours(store)[:1] for path in snapshots.glob(f"*-{row['id']}.tape")]  # noqa: E731
    recorder = start(store, "--trust-user-kmsg", "--snapshot-dir", snapshots)
    time.sleep(1)
    write_kmsg(stall(4))
    wrongs = expect("no snapshot", wait_for(there))
    stop(recorder)
    for path in there():
        path.rename(moved)
    wrongs += expect("another incident than that of the store", [row["id"] for row in ours(moved)] == [row["id"] for row in ours(store)], ours(moved))
    done = perftape("query", "--store", moved, "--incident", ours(moved)[0]["id"], "-o", folder / "moved.stacks")
    wrongs += expect("no samples in it", done.returncode == 0, done.stderr)
    recorder = start(store, "--trust-user-kmsg", "--snapshot-dir", snapshots)
    time.sleep(3)
    stop(recorder)
    wrongs += expect("it was left there again", not there(), there())
    blocked = folder / "blocked"
    blocked.write_text("no folder")
    recorder = start(store, "--trust-user-kmsg", "--snapshot-dir", blocked / "x")
    write_kmsg(stall(5))
    wrongs += expect("not found beside a bad folder", wait_for(lambda: 5 in of_device(store)))
    said = stop(recorder)
    return wrongs + expect("a bad folder ended the recording, or was not said", recorder.returncode == 0 and "blocked" in said, said)


@live.test()
def test_scan(folder):
    """A log of this machine is placed by its stamps, and what it has beyond the store is added once."""
    store, log = folder / "scan", folder / "kern.log"
    recorder = start(store, "--trust-user-kmsg")
    time.sleep(1)
    write_kmsg(stall(6))
    wrongs = expect("not found", wait_for(lambda: of_device(store) == [6]))
    stop(recorder)
    recorded = ours(store)[-1]
    stamp = f"[{recorded['uptime']:.6f}]"
    # a logger that was ten minutes late
    late = time.strftime("%b %e %H:%M:%S", time.localtime(time.time() + 600))
    log.write_text(f"{late} host kernel: {stamp} {stall(6)}\n{late} host kernel: [{recorded['uptime'] + 0.25:.6f}] {stall(7)}\n")
    done = perftape("incidents", "scan", log, "--store", store, "--json", "--add")
    first, second = [json.loads(line) for line in done.stdout.splitlines()][:2]
    wrongs += expect("not the recorded one's time", first["time"] == recorded["time"] and first["time_error_s"] < 0.001, first, recorded)
    wrongs += expect("not placed by its stamp", abs(seconds(second["time"]) - seconds(recorded["time"]) - 0.25) < 0.001, second, recorded)
    wrongs += expect("not just the other one was added", of_device(store) == [6, 7], of_device(store), done.stderr)
    wrongs += expect("the source is not named", ours(store)[-1]["source"] == f"{log}:2", ours(store))
    perftape("incidents", "scan", log, "--store", store, "--add")
    return wrongs + expect("added twice", of_device(store) == [6, 7], of_device(store))


@live.test()
def test_pipe(folder):
    """What comes through a pipe is told of when it comes, and not at its end; a line that was cut is waited for no longer than a second."""
    environment = os.environ | {"PERFTAPE_STORE": str(folder / "none")}
    scan = subprocess.Popen([PERFTAPE, "incidents", "scan", "--json", "-"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in (f"[ 100.000000] {stall(6)}\n", "[ 101.000000] nothing\n[ 102.000000] ena 0000:00:05.0 eth0: Trigger reset is on\n", f"[ 103.000000] {stall(7)[:-20]}\n"):
        scan.stdin.write(line)
        scan.stdin.flush()
        told = select.select([scan.stdout], [], [], WAIT)[0] and scan.stdout.readline()
        if not told or json.loads(told)["line"] != line.strip().splitlines()[-1]:
            scan.kill()
            return expect("not told of", False, line, told)
    scan.stdin.close()
    return expect("no end", json.loads(scan.stdout.read())["coverage"]["incidents"] == 3 and scan.wait() == 0)


if __name__ == "__main__":
    sys.exit(live.main())
