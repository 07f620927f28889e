#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copies of stacks that do not come: no sample is ever lost for that, and each lost copy counts.

Usage: stack-losses.py PERFTAPE LOAD
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import signal
import struct
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import noise  # noqa: E402
from recorders import coverage_of, cpu_seconds, end, expect, folded, pause, progress, start, start_sampling, stop, \
    wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
NAME = os.path.basename(LOAD)
CPUS = sorted(os.sched_getaffinity(0))
TIMER = ("--event", "cpu-clock")
HERTZ = 97
DUMPED = 16384
HOGS = 24
PERF_FLAG_FD_CLOEXEC = 8
PERF_EVENT_IOC_ENABLE = 0x2400
PERF_EVENT_IOC_DISABLE = 0x2401
# struct perf_event_attr: type, size, config; then flags at byte 40. It counts PERF_COUNT_SW_CPU_CLOCK, and is disabled.
EVENT = struct.pack("IIQ24xQ", 1, 128, 0, 1)
# Each level has frames of the interpreter and of builtin functions on the stack, nearly a KB.
DEEP = """
def deeper(depth):
    return [sum(range(3000))] if not depth else list(map(deeper, [depth - 1]))
while True:
    deeper(50)
"""


def counts(store):
    """{end: samples} of the load's stacks. Does not ask for those of other programs, whose names may take a minute."""
    found = {"[cut]": 0, "[frame pointers]": 0, "whole": 0}
    for line in folded(store, "--comm", NAME).splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = stack.split(";")
        if frames[0] == NAME and len(frames) > 2:
            found[frames[1] if frames[1] in found else "whole"] += int(count)
    return found


def taken(told):
    """The samples with a user stack."""
    return sum(told.get(name, 0) for name in ("stacks_whole", "stacks_cut", "stacks_frame_pointers"))


@contextlib.contextmanager
def loads(count, cpus=CPUS):
    """Loads on each CPU that run for ever."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(beside_perf.loads_on(cpus, LOAD)) for _ in range(count)]


@contextlib.contextmanager
def deep_programs():
    """Programs with deep stacks. Each has a session of its own, so that they have much of the CPUs on a busy machine,
    too."""
    command = [sys.executable, "-c", DEEP]
    programs = [subprocess.Popen(command, start_new_session=True) for _ in range(4 * len(CPUS))]
    try:
        yield programs
    finally:
        beside_perf.stop(programs)


@live.test()
def test_stopped(folder):
    """A recorder that is stopped until its rings for stacks are full loses no sample, and counts the lost copies."""
    store = folder / "store"
    recorder = start_sampling(store, *TIMER)
    with loads(1):
        wrongs = expect("stacks are walked", wait_for(lambda: progress(store).get("stacks_whole", 0) > 100))
        told = progress(store)
        # copies of a CPU that is busy for this time do not fit
        held = 3 * told["stack_ring_bytes"] / told["stack_bytes"] / HERTZ
        pause(recorder)
        wrongs += wait_busy(held)
        recorder.send_signal(signal.SIGCONT)
        wrongs += expect("the lost copies are counted", wait_for(lambda: progress(store).get("stacks_lost", 0) > 0),
                         progress(store))
        before = progress(store).get("stacks_whole", 0)
        wrongs += expect("and it walks again", wait_for(lambda: progress(store)["stacks_whole"] > before + 100))
    wrongs += end(recorder)[0]
    coverage = coverage_of(store)
    wrongs += expect("no sample is lost", coverage["lost"] == 0, coverage)
    marked = counts(store)
    return wrongs + expect("stacks without a copy have a mark", marked["[frame pointers]"] > 0, marked)


def ticks(cpu):
    """Seconds for which a CPU was busy, by the kernel's account."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return sum(int(row[at]) for row in rows if row[0] == f"cpu{cpu}" for at in (1, 2, 3, 6, 7)) / noise.TICK


def wait_busy(seconds):
    """Waits until each CPU was busy for some seconds."""
    before = {cpu: ticks(cpu) for cpu in CPUS}
    return expect(f"CPUs that are busy for {seconds:.1f} s",
                  wait_for(lambda: all(ticks(cpu) > before[cpu] + seconds for cpu in CPUS)))


@live.test(long=True, alone=True)
def test_hogs(folder):
    """Beside 24 hogs on each CPU, at most 1 % of the copies are lost.

    A ring holds the copies of half a second. The recorder leads a session, so it has precedence over the hogs and over
    what else this machine runs, but not over the hypervisor. A run in which the recorder woke later than the ring
    allows does not count.
    """
    for turn in range(8):
        store = folder / f"store{turn}"
        recorder = start_sampling(store, *TIMER, start_new_session=True)
        with loads(HOGS):
            enough = wait_for(lambda store=store: taken(progress(store)) > 20 * HERTZ * len(CPUS))
            told = progress(store)
        wrongs = expect("samples with user stacks", enough, told) + end(recorder)[0]
        coverage = coverage_of(store)
        wrongs += expect("no sample is lost", coverage["lost"] == 0, coverage)
        # a drain that is late by more than half of the ring's time may lose copies
        if wrongs or told["late_peak_ns"] < 200e6:
            break
    lost = told["stacks_lost"]
    print(f"# {lost} copies lost of {taken(told) + lost}")
    return wrongs + expect("at most 1 % of the copies are lost", lost <= 0.01 * (taken(told) + lost), told)


@live.test(long=True)
def test_long_stop(folder):
    """A recorder that is stopped for 20 seconds loses no sample."""
    store = folder / "store"
    recorder = start_sampling(store, *TIMER)
    with loads(1):
        wrongs = expect("stacks are walked", wait_for(lambda: progress(store).get("stacks_whole", 0) > 100))
        pause(recorder)
        wrongs += wait_busy(20)
        recorder.send_signal(signal.SIGCONT)
        wrongs += expect("the lost copies are counted", wait_for(lambda: progress(store).get("stacks_lost", 0) > 0))
    wrongs += end(recorder)[0]
    coverage = coverage_of(store)
    return wrongs + expect("no sample is lost", coverage["lost"] == 0, coverage)


@live.test()
def test_killed(folder):
    """After kill -9, the spooled samples have their whole stacks."""
    store = folder / "store"
    recorder = start_sampling(store, *TIMER)
    with loads(1, CPUS[:1]):
        wrongs = expect("whole stacks are in the spool", wait_for(lambda: counts(store)["whole"] > 100), counts(store))
        before = counts(store)["whole"]
        stop(recorder, signal.SIGKILL)
    after = counts(store)["whole"]
    return wrongs + expect(f"at least {before} whole stacks", after >= before, after)


@contextlib.contextmanager
def other_events():
    """An event of somebody else on each CPU, switched off."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    with contextlib.ExitStack() as stack:
        events = []
        for cpu in CPUS:
            attributes = ctypes.create_string_buffer(EVENT, 128)
            fd = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)
            if fd < 0:
                raise OSError(ctypes.get_errno(), "perf_event_open")
            stack.callback(os.close, fd)
            events.append(fd)
        yield events


def switch(events, times):
    """Switches events on and off. Each time, the kernel starts the timers of the CPU's other events anew, one after the
    other, and some dozen times move them apart."""
    for _ in range(times):
        for fd in events:
            fcntl.ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)
            fcntl.ioctl(fd, PERF_EVENT_IOC_DISABLE, 0)


@live.test(long=True, alone=True)
def test_drift(folder):
    """Other listeners make the timers of sample and copy drift apart; the recorder aligns the timers again."""
    store = folder / "store"
    recorder = start_sampling(store, *TIMER)

    def aligned():
        switch(events, 1000)
        return progress(store).get("stacks_aligned", 0) > 0

    with loads(1), other_events() as events:
        wrongs = expect("stacks are walked", wait_for(lambda: progress(store).get("stacks_whole", 0) > 100))
        told = progress(store)
        apart = "stack-dumps-together" in told.get("lacks", "")
        wrongs += expect("the timers are aligned again", apart or wait_for(aligned), told)
        before = counts(store)["whole"]
        wrongs += expect("stacks are whole afterwards", wait_for(lambda: counts(store)["whole"] > before + 100))
    wrongs += end(recorder)[0]
    return wrongs + expect("no sample is lost", coverage_of(store)["lost"] == 0, coverage_of(store))


@live.test()
def test_deep(folder):
    """The copies become larger if more than a twentieth of the stacks of a segment do not fit into them."""
    store = folder / "store"
    recorder = start(store, *TIMER, "--segment", "5s")
    with deep_programs():
        grows = wait_for(lambda: progress(store).get("stack_bytes", 0) > DUMPED)
        wrongs = expect("larger copies", grows, progress(store))
        before = progress(store).get("stacks_whole", 0)
        more = wait_for(lambda: progress(store).get("stacks_whole", 0) > before + 50)
        wrongs += expect("whole stacks", more, progress(store))
    wrongs += end(recorder)[0]
    return wrongs + expect("no sample is lost", coverage_of(store)["lost"] == 0, coverage_of(store))


@live.test()
def test_fixed(folder):
    """--stack-bytes keeps the size."""
    store = folder / "store"
    recorder = start(store, *TIMER, "--segment", "5s", "--stack-bytes", "8K")
    with deep_programs() as programs:
        small = wait_for(lambda: progress(store).get("stacks_small", 0) > 300)
        wrongs = expect("stacks that do not fit", small, progress(store))
        used = sum(cpu_seconds(program.pid) for program in programs)
        over = wait_for(lambda: sum(cpu_seconds(program.pid) for program in programs) > used + 6 * len(CPUS))
        wrongs += expect("the next segment begins", over, progress(store))
        told = progress(store)
    return wrongs + end(recorder)[0] + expect("the size stays", 0 < told["stack_bytes"] <= 8192, told)


if __name__ == "__main__":
    sys.exit(live.main())
