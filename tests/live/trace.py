#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The trace events of this machine.

They show who makes and removes cgroups, which cgroups the kernel cannot free, the processes that it kills for memory,
and the programs that start.

Usage: trace.py PERFTAPE
"""

import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import recorders  # noqa: E402
from recorders import WAIT, expect, perftape, seconds_of, start_sampling, stop, wait_for  # noqa: E402

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
v1 = live.lacking((MEMORY / "memory.limit_in_bytes").exists(), "memory cgroups of version 1")
CLONE_NEWNS = 0x20000
MS_PRIVATE_ALL = 1 << 18 | 1 << 14
MNT_DETACH = 2
LEAKED = 200
STARTS = 40
RUNS = 7
PARTS = [7, 5, 3]  # programs that start before each rotation, and before the end
LEAK = """
import os, sys
base, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
open("/proc/self/comm", "w").write("leaker")
for i in range(10, 10 + count):
    group = f"{base}/task{i}"
    os.mkdir(group)
    open(group + "/cgroup.procs", "w").write("0")
    open(f"{folder}/{i}", "wb").write(b"x" * 4096)
    open(base + "/cgroup.procs", "w").write("0")
    os.rmdir(group)
"""


LEAVE = """
import os, sys, time
base, group, file = sys.argv[1:]
open("/proc/self/comm", "w").write("leaver")
moments = [time.time()]
os.mkdir(group)
moments.append(time.time())
open(group + "/cgroup.procs", "w").write("0")
open(file, "wb").write(b"x" * 4096)
open(base + "/cgroup.procs", "w").write("0")
moments.append(time.time())
os.rmdir(group)
moments.append(time.time())
print(*moments)
"""


def mount_all(*mounts):
    """Mounts file systems that only this process and its children see."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_PRIVATE_ALL, None):
        raise OSError(ctypes.get_errno(), "unshare")
    for kind, where in mounts:
        while kind == b"tracefs" and libc.umount2(where, MNT_DETACH) == 0:
            pass  # the machine may have mounted it already, and refuses a second one in the same place
        if libc.mount(b"none", where, kind, 0, None):
            raise OSError(ctypes.get_errno(), "mount")


def mount_own(folder):
    """Mounts a tracefs in the place where the recorder looks for it, and a tmpfs."""
    folder.mkdir()
    mount_all((b"tracefs", b"/sys/kernel/tracing"), (b"tmpfs", bytes(folder)))


def events(store, *words):
    return [row for row in recorders.query(store, "--from", "now-1h", "--events", *words)[0] if "event" in row]


def clock_error(store):
    """The error of the store's times according to its coverage, plus a microsecond of rounding."""
    return recorders.query(store, "--from", "now-1h", "--events")[1]["clock_error_ns"] / 1e9 + 2e-6


def dying(store):
    """The text of `status` about cgroups that are not gone."""
    rows = perftape("status", "--store", store).stdout.splitlines()
    begin = next((number for number, row in enumerate(rows) if row.startswith("dying ")), len(rows))
    return "\n".join(
        [*rows[begin : begin + 1], *itertools.takewhile(lambda row: row.startswith(" "), rows[begin + 1 :])]
    )


def dying_fields(store, maker):
    """The dying cgroups in the JSON of `status`: the recorder's progress, and the row of the process `maker`."""
    progress = json.loads(perftape("status", "--store", store, "--json").stdout)["recording"]["progress"]
    return progress, next((row for row in progress["dying_cgroups"] if row["made_by_pid"] == maker), None)


def kill_for_memory(base):
    group = base / "oom"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("16M")
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"open('/proc/self/comm', 'w').write('greedy'); open('{group}/cgroup.procs', 'w').write('0'); bytearray(64 << 20)",
        ]
    )
    child.wait(WAIT)
    # files that the child read first are charged to the cgroup, and keep it for as long as they are cached
    with contextlib.suppress(OSError):
        (group / "memory.force_empty").write_text("0")
    group.rmdir()
    return child.pid


@live.test(
    promise="who made and removed which cgroup, and when it was really gone", broken_by="forget-release", lacks=v1
)
def test_released(folder):
    """Three events report a cgroup: its creation and its removal, each with the process, and its real end."""
    mount_own(folder / "files")
    base, store = MEMORY / f"perftape-released-{os.getpid()}", folder / "store"
    base.mkdir()
    recorder = start_sampling(store)
    leaver = subprocess.Popen(
        [sys.executable, "-S", "-c", LEAVE, str(base), str(base / "left"), str(folder / "files" / "kept")],
        stdout=subprocess.PIPE,
        text=True,
    )
    moments = [*map(float, leaver.communicate(timeout=WAIT)[0].split())]
    found = lambda event: [
        row
        for row in events(store, "--name", f"cgroup:cgroup_{event}")
        if row.get("fields", {}).get("path") == f"/{base.name}/left"
    ]  # noqa: E731
    wait_for(lambda: found("rmdir"))
    freed = time.time()
    (folder / "files" / "kept").unlink()
    wait_for(lambda: found("release"))
    now = time.time()
    stop(recorder)
    base.rmdir()
    wrongs, error = [], clock_error(store)
    for event, earliest, latest in (("mkdir", *moments[:2]), ("rmdir", *moments[2:]), ("release", freed, now)):
        rows = found(event)
        told = len(rows) == 1 and earliest - error <= seconds_of(rows[0]["time"]) <= latest + error
        wrongs += expect(
            f"one event cgroup_{event} between {earliest:.6f} and {latest:.6f}, within {error} s",
            told,
            *rows or ["none"],
        )
        if event != "release":
            wrongs += expect(
                f"leaver did it, with pid {leaver.pid}",
                all((row["comm"], row["pid"]) == ("leaver", leaver.pid) for row in rows),
                *rows,
            )
    return wrongs


@live.test(lacks=v1)
def test_events(folder):
    """`status`, events and gauges report dying cgroups until they are gone, a killed process, and programs."""
    mount_own(folder / "files")
    base, store = (
        MEMORY / f"perftape-leak\033-{os.getpid()}",
        folder / "store",
    )  # a terminal would obey the escape character
    base.mkdir()
    recorder = start_sampling(store, "--trace", "sched:sched_process_exit")
    leaker = subprocess.Popen([sys.executable, "-c", LEAK, str(base), str(folder / "files"), str(LEAKED)])
    leaker.wait(WAIT)
    for _ in range(RUNS):
        subprocess.run([str(folder / "true")], executable="/bin/true", check=True)
        subprocess.run(["/bin/true"], check=True)
    wanted = f"{LEAKED} under /perftape-leak?-*/task*, made by leaker"
    wait_for(lambda: wanted in dying(store))
    told, (progress, row) = dying(store), dying_fields(store, leaker.pid)
    victim = kill_for_memory(base)
    for file in (folder / "files").iterdir():
        file.unlink()
    # the kernel may keep memory of the killed process for longer
    leaked = "/perftape-leak?-*/task"
    wait_for(lambda: leaked not in dying(store))
    gone = dying(store)
    stop(recorder)
    base.rmdir()
    made = [row for row in events(store, "--name", "cgroup:cgroup_mkdir", "--pid", str(leaker.pid)) if "fields" in row]
    victims = {row["fields"]["pid"]: row["fields"]["comm"] for row in events(store, "--name", "oom:mark_victim")}
    programs = sum(row["of"].get("/bin/true", 0) for row in events(store, "--name", "*_exec"))
    ended = [row for row in events(store, "--name", "*_exit", "--pid", str(leaker.pid)) if "fields" in row]
    points = perftape(
        "gauges",
        "--store",
        store,
        "--from",
        "now-1h",
        "--csv",
        "-q",
        "--name",
        "dying-cgroups/perftape-leak?-[*]/task[*]",
    ).stdout
    values = [int(row.split(",")[2]) for row in points.splitlines()[1:]]
    wrongs = expect(
        f"status says '{wanted}', with process {leaker.pid}", wanted in told and f"(process {leaker.pid})" in told, told
    )
    wrongs += expect(
        f"status --json has {LEAKED} cgroups that leaker made and removed",
        row and [row["count"], row["made_by"], row["removed_by"]] == [LEAKED, "leaker", "leaker"],
        progress,
    )
    wrongs += expect(
        "the oldest was removed after the recorder began, and its age is that at the last report",
        row
        and progress["begin_ns"] < row["since_ns"]
        and row["since_ns"] + row["oldest_ns"] == progress["dying_ns"] <= progress["end_ns"],
        progress,
    )
    wrongs += expect("status says nothing about them when they are gone", leaked not in gone, gone)
    wrongs += expect(
        "the events name leaker as their maker",
        made and all(row["comm"] == "leaker" and f"/{base.name}/task" in row["fields"]["path"] for row in made),
        made[:3],
    )
    wrongs += expect(
        f"an event names the victim: greedy with pid {victim}", victims.get(str(victim)) == "greedy", victims
    )
    wrongs += expect(f"at least {2 * RUNS} starts of /bin/true are counted", programs >= 2 * RUNS, programs)
    wrongs += expect(
        "one event tells that leaker ended, as --trace asked for it",
        len(ended) == 1 and ended[0]["fields"]["comm"] == "leaker",
        ended,
    )
    return wrongs + expect(f"the gauge rises to {LEAKED} and ends at 0", LEAKED in values and values[-1] == 0, values)


@live.test(lacks=v1)
def test_loop(folder):
    """Each start of a unit counts, even if the unit ends before any scan sees it."""
    mount_own(folder / "files")
    base, store = MEMORY / f"perftape-loop-{os.getpid()}", folder / "store"
    unit = base / "loop.service"
    base.mkdir()
    recorder = start_sampling(store)
    for _ in range(STARTS):
        unit.mkdir()
        unit.rmdir()
    ended = lambda: sum(
        row["fields"]["path"] == f"/{base.name}/loop.service" for row in events(store, "--name", "cgroup:cgroup_rmdir")
    )  # noqa: E731
    wait_for(lambda: ended() == STARTS)
    stop(recorder)
    base.rmdir()
    points = perftape(
        "gauges", "--store", store, "--from", "now-1h", "--csv", "-q", "--name", f"unit/{base.name}/loop.service/made"
    ).stdout
    values = [int(row.split(",")[2]) for row in points.splitlines()[1:]]
    return expect(
        f"the gauge of starts rises from 0 to {STARTS}", values[:1] == [0] and values[-1:] == [STARTS], values
    )


@live.test()
def test_programs(folder):
    """Each start of a program counts once, also just before a rotation and before the recorder ends."""
    mount_own(folder / "files")
    store, program = folder / "store", folder / "files" / "only-here"
    shutil.copy("/bin/true", program)
    recorder = start_sampling(store)
    for count, part in enumerate(PARTS, 1):
        for _ in range(part):
            subprocess.run([str(program)], check=True)
        if count < len(PARTS):
            recorder.send_signal(signal.SIGUSR2)
            wait_for(lambda: recorders.sealed(store) == count)
    stop(recorder)
    rows = [row for row in events(store, "--name", "*_exec") if str(program) in row["of"]]
    counts = [row["of"][str(program)] for row in rows]
    wrongs = expect(f"{sum(PARTS)} starts are counted", sum(counts) == sum(PARTS), rows)
    # a rotation leaves the newest events to the next segment, which may be all events of a part
    return wrongs + expect(
        f"there is one count in each of {len(PARTS) - 1} or {len(PARTS)} segments",
        len(counts) in (len(PARTS) - 1, len(PARTS)),
        counts,
    )


@live.test()
def test_unknown(folder):
    """The recorder refuses an event that this kernel lacks, in one line."""
    mount_own(folder / "files")
    done = perftape("record", "--store", folder / "store", "--duration", "1s", "--trace", "sched:sched_nothing")
    return expect(
        "exit code 1, and one line that names sched:sched_nothing",
        done.returncode == 1 and "no trace event 'sched:sched_nothing'" in done.stderr and done.stderr.count("\n") == 1,
        done,
    )


@live.test(lacks=v1)
def test_not_mounted(folder):
    """If tracefs is not mounted, the recorder mounts it for itself, and other processes do not see this mount."""
    mount_all((b"tmpfs", b"/sys/kernel"))
    store, group = folder / "store", MEMORY / f"perftape-not-mounted-{os.getpid()}"
    recorder = start_sampling(store)
    status = perftape("status", "--store", store).stdout
    mounts = pathlib.Path(f"/proc/{recorder.pid}/mountinfo").read_text()
    group.mkdir()
    group.rmdir()
    paths = lambda: [row["fields"]["path"] for row in events(store, "--name", "cgroup:cgroup_rmdir")]  # noqa: E731
    wait_for(lambda: f"/{group.name}" in paths())
    stop(recorder)
    wrongs = expect(f"an event tells that /{group.name} was removed", f"/{group.name}" in paths(), paths(), status)
    # the machine's own tracefs may be there, below the tmpfs
    ours = pathlib.Path("/proc/self/mountinfo").read_text()
    same = mounts.count(" tracefs ") == ours.count(" tracefs ")
    return wrongs + expect("the recorder has no mount of tracefs that this test does not have", same, mounts, ours)


if __name__ == "__main__":
    sys.exit(live.main())
