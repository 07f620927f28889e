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
import signal
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import tap  # noqa: E402

PERFTAPE = os.path.abspath(sys.argv[1])
WAIT = 60  # how long anything may take before it counts as hanging
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
DEVKMSG = pathlib.Path("/proc/sys/kernel/printk_devkmsg")


# Others may test on this machine at the same time, and the log is everybody's.
DEVICE = f"{os.getpid() & 0xffff:04x}:00:1f.0"


def stall(queue):
    """What users can write too: a line that only counts when they are trusted."""
    return f"ena {DEVICE} eth7: TX q {queue} is paused for too long (threshold 5000000). Time since last napi 6596000 usec. napi scheduled: 1"


def write_kmsg(*lines):
    # the kernel takes ten lines of each that opens it
    for line in lines:
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            kmsg.write(f"<3>{line}\n".encode())


def perftape(*words):
    return subprocess.run([PERFTAPE, *map(str, words)], capture_output=True, text=True, timeout=WAIT)


def start(store, *words):
    recorder = subprocess.Popen([PERFTAPE, "record", "--store", store, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(store.glob("spool/*.spool")) or recorder.poll() is not None)
    return recorder


def stop(recorder, number=signal.SIGINT):
    recorder.send_signal(number)
    return recorder.communicate(timeout=WAIT)[1]


def wait_for(condition):
    end = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def expect(what, condition, *details):
    return [] if condition else [what, *(str(detail) for detail in details)]


def incidents(store, *words):
    """All of them but the coverage; [] when there is no store yet."""
    done = perftape("incidents", "--store", store, "--json", "-q", *words)
    return [row for row in map(json.loads, done.stdout.splitlines()) if "coverage" not in row]


def seconds(text):
    whole, fraction = text.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + fraction)


def ours(store):
    """Those of our own lines."""
    return [row for row in incidents(store) if row["fields"].get("bdf") == DEVICE]


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


def test_overrun(folder):
    """Lines that were overwritten before they could be read are counted, and what comes behind is found."""
    store = folder / "overrun"
    before = DEVKMSG.read_text()
    recorder = start(store, "--trust-user-kmsg")
    try:
        DEVKMSG.write_text("on\n")
        wait_for(lambda: (store / "kernel-log").exists())
        recorder.send_signal(signal.SIGSTOP)
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            for number in range(12000):
                kmsg.write(b"<6>perftape test: a line that nobody needs, number %d\n" % number)
        recorder.send_signal(signal.SIGCONT)
        time.sleep(1)
        write_kmsg(stall(9))
        wrongs = expect("what came behind is missing", wait_for(lambda: of_device(store) == [9]), of_device(store))
    finally:
        recorder.send_signal(signal.SIGCONT)
        stop(recorder)
        DEVKMSG.write_text(before)
    rows = incidents(store, "--kind", "kmsg.overrun")
    return wrongs + expect("no overrun, or none that counts", rows and rows[0]["fields"]["n"] > 5000, rows)


SPINNER = """
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
kmsg = os.open("/dev/kmsg", os.O_WRONLY)
time.sleep(2)
os.write(kmsg, os.environb[b"LINE"])
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
"""


def test_clock(folder):
    """A process writes a line and spins: its stamp and the first sample agree to a millisecond."""
    store, stacks = folder / "clock", folder / "clock.stacks"
    recorder = start(store, "--trust-user-kmsg", "-F", "5000")
    apart = []
    for queue in range(3):
        # of a level that no console shows: that would take a millisecond with interrupts off
        environment = os.environ | {"LINE": f"<7>{stall(queue)}\n"}
        spinner = subprocess.Popen([sys.executable, "-c", SPINNER], env=environment)
        spinner.wait(WAIT)
        wait_for(lambda queue=queue: queue in of_device(store))
        row = [row for row in ours(store) if row["fields"]["qid"] == queue][0]
        at = seconds(row["time"])
        done = perftape("query", "--store", store, "--from", f"@{at - 1:.6f}", "--to", f"@{at + 0.5:.6f}", "--pid", spinner.pid, "-o", stacks)
        heads = [beside_perf.HEAD.match(line) for line in (stacks.read_text().splitlines() if done.returncode == 0 else [])]
        times = sorted(float(head["time"]) for head in heads if head)
        # the sample of a tick before: it has just woken
        apart.append(min((abs(sample - at) for sample in times), default=9))
        if times and sum(sample < at - 0.001 for sample in times) > 1:
            apart[-1] = at - times[0]
    stop(recorder)
    return expect("stamps and samples are apart", sorted(apart)[1] < 0.001, apart)


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


TESTS_NEED_ROOT = [test_oom, test_forged, test_restarts, test_overrun, test_clock, test_snapshots, test_scan]


def main():
    if os.geteuid() != 0:
        print(f"1..{len(TESTS_NEED_ROOT)}")
        for number, test in enumerate(TESTS_NEED_ROOT, 1):
            print(f"ok {number} - {test.__doc__} # SKIP recording takes root")
        return 0
    with tempfile.TemporaryDirectory(prefix="perftape live ") as folder:
        return tap.run((test.__doc__, test(pathlib.Path(folder))) for test in TESTS_NEED_ROOT)


if __name__ == "__main__":
    sys.exit(main())
