#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Whole user stacks of programs without frame pointers, and what becomes of the copies of their stacks.

Usage: stacks.py PERFTAPE LOAD
"""

import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import end, expect, perftape, progress, start_sampling, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
PYTHON = os.path.realpath("/usr/bin/python3")
DEEP = """
def inner(n):
    return sum(range(n))
def outer(depth):
    return inner(2000) if depth == 0 else outer(depth - 1)
while True:
    outer(12)
"""
READY = 50  # whole stacks: then the files of the program have their tables
STACKS = 300  # enough that a broken walk, which loses a third of the stacks, shows
DUMPED = 16384
RINGS = "anon_inode:[perf_event]"


def stacks_of(store, comm, since="now-5m"):
    """{stack: samples} of a program."""
    text = perftape("query", "--store", store, "--from", since, "--format", "folded").stdout
    lines = [line for line in text.splitlines() if line.startswith(f"{comm};")]
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def start_python(folder):
    """Starts python3 under its own name, so that other python3 processes of this machine do not
    count."""
    program = folder / "pystack"
    program.symlink_to(PYTHON)
    return subprocess.Popen([program, "-c", DEEP])


def walked_of(stacks):
    """The stacks that perftape walked by tables, and their samples."""
    return {stack: count for stack, count in stacks.items() if ";[frame pointers];" not in stack}


def whole_of(stacks):
    """How many samples have a walked stack that begins at the program's start."""
    return sum(count for stack, count in walked_of(stacks).items() if stack.split(";")[1] == "_start")


@live.test(promise="User stacks are whole, also of programs without frame pointers", broken_by="no-tables")
def test_whole(folder):
    """Nearly all stacks of python3 begin at its start, and the deep call is in them."""
    store, stacks = folder / "store", {}
    recorder = start_sampling(store, "--event", "cpu-clock")
    program = start_python(folder)

    def are_enough():
        nonlocal stacks
        stacks = stacks_of(store, "pystack", since)
        return sum(stacks.values()) >= STACKS

    try:
        # the tables of its files come after a moment, and its start has other stacks; both depend on the machine
        ready = wait_for(lambda: whole_of(stacks_of(store, "pystack")) >= READY)
        wrongs = expect(f"{READY} stacks that begin at _start", ready, stacks_of(store, "pystack"))
        since = f"@{time.time():.6f}"
        wrongs += expect("samples of the program", wait_for(are_enough), stacks)
        whole, walked = whole_of(stacks), sum(walked_of(stacks).values())
        told = wait_for(lambda: progress(store).get("stacks_whole", 0) >= whole)
        wrongs += expect(f"status counts at least {whole} whole stacks", told, progress(store))
    finally:
        program.kill()
        program.wait()
    wrongs += end(recorder)[0]
    wrongs += expect("98 % of the walked stacks begin at _start", whole >= 0.98 * walked, stacks)
    return wrongs + expect("most stacks are walked", walked >= 0.8 * sum(stacks.values()), stacks)


@live.test()
def test_no_dumps(folder):
    """With --no-stack-dumps, no stack is read, and nothing says how a stack ends."""
    store = folder / "store"
    recorder = start_sampling(store, "--event", "cpu-clock", "--no-stack-dumps")
    program = start_python(folder)
    try:
        enough = wait_for(lambda: sum(stacks_of(store, "pystack").values()) >= 50)
        report = json.loads(perftape("status", "--store", store, "--json").stdout)["recording"]["progress"]
    finally:
        program.kill()
        program.wait()
    wrongs = expect("samples of the program", enough) + end(recorder)[0]
    wrongs += expect("no bytes of a stack are read", report.get("stack_bytes", 0) == 0, report)
    marked = [stack for stack in stacks_of(store, "pystack") if ";[frame pointers]" in stack]
    return wrongs + expect("no stack has a mark", not marked, marked)


def dumped_distance(pid, secret):
    """Bytes from the stack pointer of a program to the secret on its stack; None without a
    secret."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{pid}/status").read_text())
        pointer = int(pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[-2], 16)
        stack_end = next(row[1] for row in mappings_of(pid) if row[0] <= pointer < row[1])
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(pointer)
            at = memory.read(min(DUMPED, stack_end - pointer)).find(secret)
        return at if at >= 0 else None
    finally:
        os.kill(pid, signal.SIGCONT)


def mappings_of(pid):
    """(start, end, path, flags) of each mapping."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)$", line)
        if head:
            found.append([int(head[1], 16), int(head[2], 16), head[4], set()])
        elif line.startswith("VmFlags:"):
            found[-1][3] = set(line.split()[1:])
    return found


def memory_with(pid, secret):
    """The mappings of a process that contain the secret and that a core dump includes."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, finish, path, flags in mappings_of(pid):
            if "dd" in flags or "io" in flags or "rd" not in flags:
                continue
            try:
                memory.seek(begin)
                if secret in memory.read(finish - begin):
                    found.append(path or hex(begin))
            except (OSError, ValueError, OverflowError):
                pass  # not a mapping that can be read
    return found


def files_with(folder, secret):
    return [str(path) for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


@live.test()
def test_secret(folder):
    """A secret on the stack of a program is in no file of the store, and in no memory that a core dump has."""
    store, secret = folder / "store", secrets.token_hex(32).encode()
    recorder = start_sampling(store, "--event", "cpu-clock")
    # the environment of a program lies on its stack
    program = subprocess.Popen([LOAD], env={"KEY": secret.decode()}, stdout=subprocess.DEVNULL)
    name = os.path.basename(LOAD)
    try:
        wrongs = expect("samples", wait_for(lambda: sum(stacks_of(store, name).values()) >= STACKS))
        wrongs += expect("the secret lies in the copied part", dumped_distance(program.pid, secret) is not None)
        rings = [row for row in mappings_of(recorder.pid) if row[2] == RINGS]
        wrongs += expect("rings are in no core dump and in no child", rings and all(
            {"dd", "dc"} <= row[3] for row in rings), rings)
        wrongs += expect("no memory of a core dump has it", not memory_with(recorder.pid, secret),
                         memory_with(recorder.pid, secret))
        wrongs += expect("no file has it while recording", not files_with(folder, secret), files_with(folder, secret))
    finally:
        program.kill()
        program.wait()
    wrongs += end(recorder)[0]
    return wrongs + expect("no file of the store has it", not files_with(folder, secret), files_with(folder, secret))


if __name__ == "__main__":
    sys.exit(live.main())
