#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trace events of this machine: who makes cgroups, which are dying, who is killed for memory, which programs start.

Usage: trace.py PERFTAPE
"""

import ctypes
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import recorders  # noqa: E402
from recorders import WAIT, expect, perftape, wait_for  # noqa: E402

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
v1 = live.lacking((MEMORY / "memory.limit_in_bytes").exists(), "memory cgroups of version 1")
CLONE_NEWNS = 0x20000
MS_PRIVATE_ALL = 1 << 18 | 1 << 14
LEAKED = 1000
STARTS = 40
PARTS = [7, 5, 3]  # programs started before each rotation, and before the end
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


def mount_all(*mounts):
    """For this process and its children alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_PRIVATE_ALL, None):
        raise OSError(ctypes.get_errno(), "unshare")
    for kind, where in mounts:
        if libc.mount(b"none", where, kind, 0, None):
            raise OSError(ctypes.get_errno(), "mount")


def mount_own(folder):
    """tracefs where the recorder looks for it, and a tmpfs."""
    folder.mkdir()
    mount_all((b"tracefs", b"/sys/kernel/tracing"), (b"tmpfs", bytes(folder)))


def start(store, *words):
    recorder = recorders.start(store, *map(str, words))
    wait_for(lambda: list(store.glob("spool/*.spool")) or recorder.poll() is not None)
    return recorder


def events(store, *words):
    done = perftape("query", "--store", store, "--from", "now-1h", "--events", "--json", "-q", *words)
    return [row for row in map(json.loads, done.stdout.splitlines()) if "event" in row]


def dying(store):
    """What `status` says of them."""
    rows = perftape("status", "--store", store).stdout.splitlines()
    begin = next((number for number, row in enumerate(rows) if row.startswith("dying ")), len(rows))
    return "\n".join([*rows[begin : begin + 1], *itertools.takewhile(lambda row: row.startswith(" "), rows[begin + 1 :])])


def dying_fields(store, maker):
    """The same for programs: of what was made by a process."""
    told = json.loads(perftape("status", "--store", store, "--json").stdout)["recording"]["progress"]
    return told, next((row for row in told["dying_cgroups"] if row["made_by_pid"] == maker), None)


def kill_for_memory(base):
    group = base / "oom"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("16M")
    child = subprocess.Popen([sys.executable, "-c", f"open('/proc/self/comm', 'w').write('greedy'); open('{group}/cgroup.procs', 'w').write('0'); bytearray(64 << 20)"])
    child.wait(WAIT)
    group.rmdir()
    return child.pid


@live.test(alone=True, lacks=v1)
def test_events(folder):
    """cgroups that leak are counted and their maker named, until they are gone; victims and programs are told"""
    mount_own(folder / "files")
    base, store = MEMORY / f"perftape-leak\033-{os.getpid()}", folder / "store"  # what terminals would obey
    base.mkdir()
    recorder = start(store, "--trace", "sched:sched_process_exit")
    leaker = subprocess.Popen([sys.executable, "-c", LEAK, str(base), str(folder / "files"), str(LEAKED)])
    leaker.wait(WAIT)
    for _ in range(7):
        subprocess.run([str(folder / "true")], executable="/bin/true", check=True)
        subprocess.run(["/bin/true"], check=True)
    wanted = f"{LEAKED} under /perftape-leak?-*/task*, made by leaker"
    wait_for(lambda: wanted in dying(store))
    told, (progress, row) = dying(store), dying_fields(store, leaker.pid)
    victim = kill_for_memory(base)
    for file in (folder / "files").iterdir():
        file.unlink()
    wait_for(lambda: "/perftape-leak" not in dying(store))
    gone = dying(store)
    recorder.terminate()
    recorder.communicate(timeout=WAIT)
    base.rmdir()
    made = [row for row in events(store, "--name", "cgroup:cgroup_mkdir", "--pid", str(leaker.pid)) if "fields" in row]
    victims = {row["fields"]["pid"]: row["fields"]["comm"] for row in events(store, "--name", "oom:mark_victim")}
    programs = sum(row["of"].get("/bin/true", 0) for row in events(store, "--name", "*_exec"))
    ended = [row for row in events(store, "--name", "*_exit", "--pid", str(leaker.pid)) if "fields" in row]
    points = perftape("gauges", "--store", store, "--from", "now-1h", "--csv", "-q", "--name", "dying-cgroups/perftape-leak?-[*]/task[*]").stdout
    values = [int(row.split(",")[2]) for row in points.splitlines()[1:]]
    wrongs = expect("said", wanted in told and f"(process {leaker.pid})" in told, told)
    wrongs += expect("the fields", row and [row["count"], row["made_by"], row["removed_by"]] == [LEAKED, "leaker", "leaker"], progress)
    wrongs += expect("since when", row and progress["begin_ns"] < row["since_ns"] and row["since_ns"] + row["oldest_ns"] == progress["dying_ns"] <= progress["end_ns"], progress)
    wrongs += expect("gone", "/perftape-leak" not in gone, gone)
    wrongs += expect("the maker", made and all(row["comm"] == "leaker" and f"/{base.name}/task" in row["fields"]["path"] for row in made), made[:3])
    wrongs += expect("the victim", victims.get(str(victim)) == "greedy", victims)
    wrongs += expect("programs", programs >= 14, programs)
    wrongs += expect("the end", len(ended) == 1 and ended[0]["fields"]["comm"] == "leaker", ended)
    return wrongs + expect("gauges", LEAKED in values and values[-1] == 0, values)


@live.test(lacks=v1)
def test_loop(folder):
    """a unit that starts and ends faster than anybody looks: each start counts"""
    mount_own(folder / "files")
    base, store = MEMORY / f"perftape-loop-{os.getpid()}", folder / "store"
    unit = base / "loop.service"
    base.mkdir()
    recorder = start(store)
    for _ in range(STARTS):
        unit.mkdir()
        unit.rmdir()
    ended = lambda: sum(row["fields"]["path"] == f"/{base.name}/loop.service" for row in events(store, "--name", "cgroup:cgroup_rmdir"))
    wait_for(lambda: ended() == STARTS)
    recorder.terminate()
    recorder.communicate(timeout=WAIT)
    base.rmdir()
    points = perftape("gauges", "--store", store, "--from", "now-1h", "--csv", "-q", "--name", f"unit/{base.name}/loop.service/made").stdout
    values = [int(row.split(",")[2]) for row in points.splitlines()[1:]]
    return expect("starts", values[:1] == [0] and values[-1:] == [STARTS], values)


@live.test()
def test_programs(folder):
    """programs that started count once each, also those of the last part of a minute: at a rotation, and when the recorder is told to end"""
    mount_own(folder / "files")
    store, program = folder / "store", folder / "files" / "only-here"
    shutil.copy("/bin/true", program)
    recorder = start(store)
    for count, part in enumerate(PARTS, 1):
        for _ in range(part):
            subprocess.run([str(program)], check=True)
        if count < len(PARTS):
            recorder.send_signal(signal.SIGUSR2)
            wait_for(lambda: recorders.sealed(store) == count)
    recorder.terminate()
    recorder.communicate(timeout=WAIT)
    rows = [row for row in events(store, "--name", "*_exec") if str(program) in row["of"]]
    counts = [row["of"][str(program)] for row in rows]
    return expect("all of them", sum(counts) == sum(PARTS), rows) + expect("one each part", len(counts) in (len(PARTS) - 1, len(PARTS)), counts)


@live.test()
def test_unknown(folder):
    """an event that this kernel does not have is one clear line"""
    mount_own(folder / "files")
    done = perftape("record", "--store", folder / "store", "--duration", "1s", "--trace", "sched:sched_nothing")
    return expect("refused", done.returncode == 1 and "no trace event 'sched:sched_nothing'" in done.stderr and done.stderr.count("\n") == 1, done)


@live.test(lacks=v1)
def test_not_mounted(folder):
    """where tracefs is not mounted, the recorder has events all the same, and mounts none that others see"""
    mount_all((b"tmpfs", b"/sys/kernel"))
    store, group = folder / "store", MEMORY / f"perftape-not-mounted-{os.getpid()}"
    recorder = start(store)
    status = perftape("status", "--store", store).stdout
    mounts = pathlib.Path(f"/proc/{recorder.pid}/mountinfo").read_text()
    group.mkdir()
    group.rmdir()
    paths = lambda: [row["fields"]["path"] for row in events(store, "--name", "cgroup:cgroup_rmdir")]
    wait_for(lambda: f"/{group.name}" in paths())
    recorder.terminate()
    recorder.communicate(timeout=WAIT)
    wrongs = expect("the event", f"/{group.name}" in paths(), paths(), status)
    return wrongs + expect("nothing is mounted", " tracefs " not in mounts, mounts)


if __name__ == "__main__":
    sys.exit(live.main())
