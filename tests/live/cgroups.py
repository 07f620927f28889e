#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Samples get the right cgroup, pid and user: new cgroups, programs that move, namespaces.

Usage: cgroups.py PERFTAPE LOAD
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import cgroup_folders  # noqa: E402
import live  # noqa: E402
import recorders  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, is_spooled, query, seconds_of, start, stop, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


UNIFIED = cgroup_folders.find_unified()


def work(seconds):
    """Computes for a time. Time that the scheduler or the hypervisor gives to others does not
    count."""
    last = time.monotonic()
    while seconds > 0:
        now = time.monotonic()
        seconds -= now - last if now - last < 0.002 else 0
        last = now


def work_inside(cgroup):
    """Forks a process that moves into the cgroup, works there and ends. Returns (pid, when it arrived there)."""
    line, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        (cgroup / "cgroup.procs").write_text("0")
        os.write(theirs, str(time.time()).encode())
        work(0.12)
        os._exit(0)
    os.close(theirs)
    os.waitpid(pid, 0)
    with open(line, encoding="ascii") as file:
        return pid, float(file.read())


@live.test(
    promise="`--cgroup '*/kubelet.service'` keep some",
    broken_by="forget-cgroup",
    lacks=live.lacking(UNIFIED, "perf events in the unified hierarchy of cgroups"),
)
def test_new_cgroups(folder):
    """Processes that end at once, in cgroups that are removed with them: --cgroup finds exactly their samples."""
    store, name, there = folder / "cgroups", f"perftape-test-{os.getpid()}", {}
    old = UNIFIED / f"{name}-old"
    old.mkdir()
    begin = f"@{time.time():.6f}"
    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        for number in range(3):
            new = UNIFIED / f"{name}-{number}"
            new.mkdir()
            # on a busy machine a process lives for long, and a recorder that runs would find its cgroup in /proc
            recorders.pause(recorder)
            try:
                there[new.name] = work_inside(new)
            finally:
                new.rmdir()
                recorder.send_signal(signal.SIGCONT)
            ended = time.time()
            wrongs += expect("the recorder goes on", wait_for(lambda ended=ended: recorders.reached(store) > ended))
        there[old.name] = work_inside(old)
        said = stop(recorder)
    finally:
        old.rmdir()
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    samples = query(store, "--from", begin)[0]
    for cgroup, (pid, moved) in there.items():
        inside = [sample for sample in samples if sample["pid"] == pid and seconds_of(sample["time"]) > moved]
        wrongs += expect(
            f"all samples of process {pid} since it moved are of /{cgroup}",
            inside and {sample["cgroup"] for sample in inside} == {f"/{cgroup}"},
            [sample["cgroup"] for sample in inside],
        )
        kept = query(store, "--from", begin, "--cgroup", f"*/{cgroup}")[0]
        wrongs += expect(
            f"--cgroup '*/{cgroup}' keeps that process",
            len(kept) >= len(inside) and {sample["pid"] for sample in kept} <= {pid},
            len(inside),
            [sample["pid"] for sample in kept],
        )
    return wrongs


@live.test()
def test_moved_programs(folder):
    """Samples of a program that moves to another cgroup and executes itself there have the new cgroup."""
    recorders.outrun()
    group = (MEMORY if MEMORY.is_dir() else UNIFIED) / f"perftape-test-{os.getpid()}"
    group.mkdir()
    store, begin = folder / "moved", f"@{time.time():.6f}"
    burn = "import time\nwhile time.process_time() < 0.15: pass"

    def run_program():
        program = subprocess.Popen(
            ["sh", "-c", f"echo $$ > '{group}/cgroup.procs'; exec {sys.executable} -c '{burn}'"],
            preexec_fn=recorders.take_time,
        )
        program.wait()
        return program.pid

    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        # the recorder can read the cgroup only while the program runs, so it needs a CPU within these 150 ms
        programs = recorders.undisturbed(8, 0.1, run_program)
        said = stop(recorder)
    finally:
        group.rmdir()
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    wrongs += expect(
        "8 programs of 150 ms during which the machine wakes everybody in time", len(programs) == 8, len(programs)
    )
    # the shell starts in another cgroup, so its samples do not count
    found = [
        sample["cgroup"]
        for sample in query(store, "--from", begin)[0]
        if sample["pid"] in programs and sample["comm"] != "sh"
    ]
    return wrongs + expect(
        f"over nine in ten of at least 20 samples are of /{group.name}",
        found.count(f"/{group.name}") > 0.9 * len(found) > 20,
        found,
    )


@live.test()
def test_pid_namespace(folder):
    """record refuses to run inside a PID namespace, where every sample would seem to have pid 0."""
    done = subprocess.run(
        [
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            PERFTAPE,
            "record",
            "--store",
            folder / "inside",
            "--duration",
            "1s",
        ],
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    return expect(
        "record refuses in one line that names hostPID and --pid=host",
        done.returncode == 1
        and "hostPID" in done.stderr
        and "--pid=host" in done.stderr
        and done.stderr.count("\n") == 1,
        done.returncode,
        done.stderr,
    )


def may_make_users():
    return subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode == 0


@live.test(lacks=live.lacking(may_make_users(), "user namespaces"))
def test_user_namespace(folder):
    """If root of a user namespace cannot record, the message names the user namespace as the reason."""
    done = subprocess.run(
        ["unshare", "-Ur", PERFTAPE, "record", "--store", folder / "guest", "--duration", "1s"],
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    return expect(
        "record refuses in one line that names the user namespace and not seccomp",
        done.returncode == 1
        and "in a user namespace" in done.stderr
        and "seccomp" not in done.stderr
        and done.stderr.count("\n") == 1,
        done.returncode,
        done.stderr,
    )


if __name__ == "__main__":
    sys.exit(live.main())
