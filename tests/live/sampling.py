#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which samples a recording of this machine has, beside perf and by the clock, and what it says of those that it lacks.

Usage: sampling.py PERFTAPE LOAD
"""

import collections
import contextlib
import datetime
import json
import math
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
import live  # noqa: E402
import noise  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, perftape, samples_of, sealed, start, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
FREQUENCY = 97
# Beside perf: enough to see that an eighth of the samples is missing.
SECONDS = 4 if os.environ.get("PERFTAPE_TIER") == "quick" else 8
# A difference of more standard deviations is no chance: one false alarm in a million.
CHANCE = 5
# How far apart the clocks of a test and of a recording may be, and how long a switch may take to be known to both.
MARGIN = 0.05


@contextlib.contextmanager
def loads_on(cpus, nice=0):
    """Keeps CPUs busy."""
    loads = beside_perf.start_load(LOAD, cpus, nice)
    try:
        yield loads
    finally:
        beside_perf.stop(loads)


def end(recorder):
    """Ends a recording: what is wrong with that, and what it said."""
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    return expect("record ends with exit code 0", recorder.returncode == 0, f"exit code {recorder.returncode}", said), said


def is_recording(store):
    return bool(list(store.glob("spool/*.spool")))


def folded(store, *words):
    return perftape("query", "--store", store, "--from", "now-5m", "--format", "folded", *words).stdout


def coverage(store, *words):
    """What the answer to a query says about its window."""
    lines = perftape("query", "--store", store, "--json", *(words or ("--from", "now-5m"))).stdout.splitlines()
    return json.loads(lines[-1])["coverage"]


def check_stacks(path):
    done = subprocess.run([TESTS / "tools" / "check-stacks", path], capture_output=True, text=True)
    return expect(f"{path.name} keeps the contract of docs/FLAMESCOPE.md", done.returncode == 0, done.stdout)


@live.test(promise="The file keeps what Flamescope's parser needs", broken_by="glue-samples")
def test_idle_and_busy(folder):
    """Flamescope can read the file of an idle machine, and that of a busy one."""
    wrongs = []
    for name, cpus in (("idle", []), ("busy", CPUS)):
        store, stacks = folder / name, folder / f"{name}.stacks"
        recorder = start(store)
        with loads_on(cpus):
            wrongs += expect(f"{name}: samples of each CPU", wait_for(lambda: {int(head["cpu"]) for head in samples_of(store, "--from", "now-1m")} >= set(cpus or CPUS[:1])))
            if cpus:
                found = wait_for(lambda: re.search(r"^load;.*load_alpha \d+$", folded(store), re.MULTILINE))
                wrongs += expect("the folded stacks have the function load_alpha of the load", found, folded(store)[:2000])
        wrongs += end(recorder)[0]
        done = perftape("query", "--store", store, "--from", "now-1m", "-o", stacks)
        wrongs += expect(f"{name}: query ends with exit code 0", done.returncode == 0, done.stderr)
        wrongs += check_stacks(stacks)
    return wrongs


@live.test()
def test_commands_to_look(folder):
    """The two commands that record prints at its end work as they stand."""
    done = perftape("record", "--store", folder / "a store", "--duration", "1s")
    commands = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
    wrongs = expect("record prints two commands", len(commands) == 2, done.stderr)
    for command in commands:
        ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=WAIT)
        wrongs += expect(f"exit code 0 of: {command}", ran.returncode == 0, f"exit code {ran.returncode}", ran.stderr)
    return wrongs + check_stacks(folder / "perftape.stacks")


def compare_counts(result, what="", windows=()):
    """As many samples of each CPU as perf has, which has to do with the same steal."""
    wrongs = []
    for cpu in result.cpus:
        perf, ours, due = result.counts(cpu, windows)
        seen = f"{ours} samples, perf has {perf}, {due:.0f} were due: {result.apart(cpu, windows):.1f} standard deviations"
        wrongs += expect(f"as many samples of CPU {cpu} as perf has{what}, within {CHANCE} standard deviations of chance", result.apart(cpu, windows) < CHANCE, seen)
    return wrongs


@live.test(promise="97 times a second on each CPU", broken_by="drop-sample", alone=True)
def test_beside_perf(folder):
    """perf and perftape take as many samples of the same seconds under load, and see the same functions in them."""
    result = beside_perf.record(PERFTAPE, LOAD, SECONDS, folder)
    wrongs = expect("perf has samples of all CPUs", result.cpus == CPUS, result.cpus) + compare_counts(result)
    loads = [name for name in result.perf.leaves if name.startswith("load_")]
    wrongs += expect("perf sees at least 8 functions of the load", len(loads) >= 8, result.perf.leaves)
    # both lists, as perf may lack a function that we have on top
    for name in dict.fromkeys(result.top + result.our_top()):
        shares = f"perf {100 * result.perf.share(name):.2f} %, perftape {100 * result.ours.share(name):.2f} %: {result.sigma(name):.1f} standard deviations"
        wrongs += expect(f"the share of {name} that perf sees, within {CHANCE} standard deviations of chance", result.sigma(name) < CHANCE, shares)
    return wrongs


@live.test()
def test_beside_harm(folder):
    """A recorder that starts does no harm to a perf record that runs: perf can read what it wrote."""
    data, began, over = folder / "beside.data", folder / "began", folder / "over"
    workload = ["sh", "-c", 'touch "$1"; until [ -e "$2" ]; do sleep 0.02; done', "sh", began, over]
    theirs = subprocess.Popen(["perf", "record", "-q", "-B", "-F", "97", "-e", "cpu-clock", "-g", "-a", "-o", data, "--", *workload])
    wrongs = expect("perf starts its workload", wait_for(began.exists))
    done = perftape("record", "-q", "--store", folder / "harm", "--duration", "1s")
    over.touch()
    wrongs += expect("record ends with exit code 0", done.returncode == 0, done.stderr)
    wrongs += expect("perf record ends with exit code 0", theirs.wait(WAIT) == 0, theirs.returncode)
    read = subprocess.run(["perf", "script", "--no-inline", "-i", data], capture_output=True)
    return wrongs + expect("perf script ends with exit code 0", read.returncode == 0, read.returncode, read.stderr[-300:])


def segments_of(store):
    """The segments, with their begin and end as seconds of the epoch."""
    rows = [json.loads(line) for line in perftape("segments", "--json", "--store", store).stdout.splitlines()]
    segments = [row for row in rows if "sequence" in row]
    for segment in segments:
        for key in ("begin", "end"):
            segment[key] = datetime.datetime.fromisoformat(segment[key]).timestamp()
    return segments


@live.test(promise="Every two minutes of the wall clock it seals a segment, while sampling goes on.", broken_by="rotation-drops-samples", also=("build-tsan",), alone=True)
def test_rotation(folder):
    """A segment of each second, and where two meet no sample is missing or taken twice, in comparison with perf."""
    store = folder / "store"
    result = beside_perf.record(PERFTAPE, LOAD, SECONDS, folder, ["--segment", "1s"])
    segments = segments_of(store)
    ends = [segment["end"] for segment in segments[:-1]]
    told = coverage(store, "--from", f"@{segments[0]['begin']}", "--to", f"@{segments[-1]['end']}")
    clock = told["clock_error_ns"] / 1e9 + 0.001
    wrongs = expect("all segments are sealed", all(segment["sealed"] for segment in segments), segments)
    wrongs += expect("each segment but the last ends with a second of the wall clock", all(abs(at - round(at)) < 2 * clock for at in ends), ends)
    wrongs += expect("a segment ends in each second", [round(at) for at in ends] == list(range(round(ends[0]), round(ends[0]) + len(ends))), ends)
    wrongs += expect("nothing is missing between the segments", told["whole"] or not told["gaps"], told)
    for cpu in result.cpus:
        times = times_of(store, "--from", "now-5m", "--cpu", cpu)
        wrongs += expect(f"no two samples of CPU {cpu} have the same time", len(set(times)) == len(times), [at for at, count in collections.Counter(times).items() if count > 1])
    begin, last = max(span[0] for span in result.spans.values()), min(span[1] for span in result.spans.values())
    where_they_meet = [(at - 0.15, at + 0.15) for at in ends if begin + 0.15 < at < last - 0.15]
    wrongs += expect("segments end while perf records", len(where_they_meet) >= SECONDS - 2, ends, (begin, last))
    return wrongs + compare_counts(result) + compare_counts(result, " where segments meet", where_they_meet)


class Slots:
    """The slots of the timer on one CPU, by the samples of a recording."""

    def __init__(self, store, cpu):
        self.times = times_of(store, "--from", "now-5m", "--cpu", cpu)
        self.steps = [later - earlier for earlier, later in zip(self.times, self.times[1:])]

    def empty(self, begin, end):
        """How many have no sample, between two samples of a time."""
        times = [at for at in self.times if begin <= at <= end]
        return round(FREQUENCY * (times[-1] - times[0])) - len(times) + 1 if times else 0

    def irregular(self):
        """How many samples did not come in step, as something held up the timer."""
        return sum(abs(FREQUENCY * step - 1) > 1 / 8 for step in self.steps)


def idle_slots(before, after):
    """How many slots have room in the time that each CPU idled."""
    return [FREQUENCY * (after[cpu] - before[cpu]) for cpu in CPUS]


def idle_by_cpu():
    """Seconds that each CPU idled since the boot."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return {int(row[0][3:]): (int(row[4]) + int(row[5])) / noise.TICK for row in rows if re.fullmatch(r"cpu\d+", row[0])}


def left_to_chance(idle, all_slots):
    """How many empty slots of a CPU chance explains, so that the recorder does not report them (recorder/slots.c)."""
    idle = min(idle + 1, all_slots)
    return 2 * idle + math.isqrt(int(25 * (idle * (all_slots - idle) / all_slots + 1)))


def check_due(store, said, busy, idle, late):
    """The samples that were due against the slots that have no sample."""
    match = re.search(r"(\d+) samples of busy CPUs skipped", said)
    told = int(match[1]) if match else 0
    segments = segments_of(store)
    begin, last = segments[0]["begin"], segments[-1]["end"]
    slots = [Slots(store, cpu) for cpu in CPUS]
    # a grid that steal disturbs again and again is known to some per cent
    most = sum(FREQUENCY * (last - begin) - len(one.times) + 2 + one.irregular() / 20 for one in slots)
    wrongs = expect(f"{store.name}: no more samples are said to be missing than slots are empty", told <= most, f"{told} samples, {most:.0f} slots")
    if not busy:
        return wrongs
    # idle time is known from the first turn on, after a second; the last sample may be late, and only the next one would tell why
    empty = sum(one.empty(begin + 1.2 + late, one.times[-2]) for one in slots)
    chance = sum(left_to_chance(one, FREQUENCY * (last - begin)) for one in idle)
    return wrongs + expect(f"{store.name}: as many samples are said to be missing as slots are empty, but for {chance} by chance", told >= empty - chance, f"{told} samples, {empty} slots", said)


@live.test(alone=True)
def test_due(folder):
    """The recorder reports samples that were due and did not come: those of a busy CPU, and none of an idle one.

    The mutation hold-timers plays a hypervisor that stops all CPUs for 0.3 s of each second.
    """
    wrongs = []
    for name, cpus, fault in (("idle", [], ""), ("busy", CPUS, ""), ("held up", CPUS, "hold-timers")):
        with noise.Noise() as measured, loads_on(cpus) as loads:
            wait_for(lambda: all(beside_perf.cpu_seconds(load.pid) > 0 for load in loads))
            before = idle_by_cpu()
            done = perftape("record", "--store", folder / name, "--duration", "6s", env=os.environ | {"PERFTAPE_MUTATION": fault})
            idle = idle_slots(before, idle_by_cpu())
        wrongs += expect(f"{name}: record ends with exit code 0", done.returncode == 0, done.stderr)
        wrongs += check_due(folder / name, done.stderr, bool(cpus), idle, measured.late())
    return wrongs


class Stop:
    """A recorder of one CPU that a signal stops, for as long as it takes to fill its ring several times."""

    FREQUENCY = 4000
    BUSY = 1.5  # seconds of the CPU
    CPU = CPUS[-1]
    # No sample takes less than 64 bytes of the ring: it is full after this part of the stop, and then all samples are lost.
    FULL = (64 << 10) / 64 / FREQUENCY / BUSY

    def __init__(self, recorder, by_itself=False):
        if not by_itself:
            recorder.send_signal(signal.SIGSTOP)
        wait_for(lambda: pathlib.Path(f"/proc/{recorder.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        self.begin = time.time()
        before = self.busy()
        self.over = wait_for(lambda: self.busy() > before + self.BUSY)
        self.ticks = self.FREQUENCY * (self.busy() - before)
        self.end = time.time()
        recorder.send_signal(signal.SIGCONT)

    def busy(self):
        """The time for which something ran on the CPU. A stolen tick of the timer is none of it."""
        rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
        return sum(int(row[at]) for row in rows if row[0] == f"cpu{self.CPU}" for at in (1, 2, 3, 6, 7)) / noise.TICK

    def third(self):
        """A third of the last part of the stop, in which the ring was full."""
        return (self.end - self.begin) * (1 - self.FULL) / 2 / 3

    def thirds(self):
        return [(self.end - (part + 1) * self.third(), self.end - part * self.third()) for part in range(3)]


def try_stop(folder, environment, by_itself=False):
    """A recording with such a stop knows when the kernel dropped samples, and how many."""
    store = folder / "stopped"
    began = time.time()
    with loads_on([Stop.CPU], nice=19):
        recorder = start(store, "-F", str(Stop.FREQUENCY), "--segment", "1s", "--cpus", str(Stop.CPU), "--ring", "64K", env=environment)
        wrongs = expect("a segment is sealed", by_itself or wait_for(lambda: sealed(store) >= 1))
        stop = Stop(recorder, by_itself)
        before = sealed(store)
        wrongs += expect("the CPU is busy", stop.over) + expect("the recorder goes on", wait_for(lambda: sealed(store) > before + 1))
        more, said = end(recorder)
    wrongs += more
    total = int((re.search(r"(\d+) lost", said) or [0, 0])[1])
    wrongs += expect(f"at least half of the {stop.ticks:.0f} samples of that time are lost", total > stop.ticks / 2, said)
    lost = []
    for begin, last in (*stop.thirds(), (began, time.time())):
        done = perftape("query", "--store", store, "--from", f"@{begin:.6f}", "--to", f"@{last:.6f}", "-o", folder / "lost.stacks")
        lost.append(int((re.search(r"(\d+) samples lost", done.stderr) or [0, 0])[1]))
    least = stop.ticks * stop.third() / (stop.end - stop.begin) / 2
    wrongs += expect(f"each window of the stop knows at least {least:.0f} lost samples, half of its share", min(lost) > least, lost)
    return wrongs + expect(f"the whole window knows of all {total} lost samples", lost[-1] == total, lost[-1])


@live.test(promise="perftape counts what the kernel had to drop, and keeps that count with the samples", broken_by="forget-loss")
def test_stopped(folder):
    """A recorder that is stopped until its ring is full says when the kernel dropped samples, and how many."""
    return try_stop(folder, os.environ)


@live.test()
def test_stopped_in_a_turn(folder):
    """So does one that is stopped between two looks at its rings. The mutation stop-in-turn stops it there."""
    return try_stop(folder, os.environ | {"PERFTAPE_MUTATION": "stop-in-turn"}, by_itself=True)


def stolen_seconds():
    return sum(noise.steal_by_cpu().values())


def seconds_for(pid):
    """For how long the threads of a process ran or waited for a CPU."""
    threads = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(number) for thread in threads for number in thread.read_text().split()[:2]) / 1e9


@live.test(promise="you can ask for a sample a second after it was taken", broken_by="spool-late")
def test_asked_while_recorded(_):
    """A query finds a sample while it is recorded: a second later, and what the recorder lacked of the CPU."""
    turn = 1.1  # seconds: from one look at the rings to the next, and what such a look leaves to the next
    wrongs = []
    # in memory, as a disk that others keep busy is not what is looked at here
    with tempfile.TemporaryDirectory(prefix="perftape live ", dir="/dev/shm") as folder, loads_on(CPUS[:1], nice=19):
        store = pathlib.Path(folder) / "asked"
        recorder = start(store)
        wrongs += expect("the recorder records", wait_for(lambda: is_recording(store)))
        for _ in range(3):
            taken, lacked = time.time(), -seconds_for(recorder.pid) - stolen_seconds()
            while True:
                late, machine = time.time() - taken, lacked + seconds_for(recorder.pid) + stolen_seconds()
                found = times_of(store, "--from", f"@{taken:.6f}")
                if found or late > turn + machine:
                    break
            print(f"# found after {late:.2f} s, of {turn + machine:.2f} s", flush=True)
            wrongs += expect(f"samples can be asked for after {turn} s, and {machine:.2f} s that the recorder ran or waited for a CPU", found, f"none after {late:.2f} s")
        return wrongs + end(recorder)[0]


SWITCH = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
CPU_1 = live.lacking(SWITCH.exists(), "a CPU 1 that can be switched off")


def check_return(store, came):
    """CPU 1, which is kept busy from then on, is sampled without a hole, and the name of what runs there is known."""
    with noise.Noise() as measured, loads_on([1]) as loads:

        def names():
            return [head["comm"].strip() for head in samples_of(store, "--from", f"@{came:.6f}", "--cpu", "1", "--pid", loads[0].pid)]

        wrongs = expect("CPU 1 is sampled again", wait_for(lambda: len(times_of(store, "--from", f"@{came:.6f}", "--cpu", "1")) > FREQUENCY))
        named = wait_for(lambda: len(names()) >= 20 and names().count("load") > 0.9 * len(names()))
        wrongs += expect("what runs on CPU 1 is called load", named, collections.Counter(names()))
        times = times_of(store, "--from", f"@{came:.6f}", "--cpu", "1")
    span = times[-1] - times[0] if times else 0
    least = 0.8 * FREQUENCY * span - measured.stolen_ticks(1, FREQUENCY)
    return wrongs + expect(f"at least {least:.0f} samples of CPU 1 in {span:.1f} s", len(times) > least, len(times))


def come_and_go(store, away):
    """A recording in which CPU 1 is away for a moment: (what is wrong so far, what away() returns, the last sample of the CPU)."""
    recorder = start(store)
    with loads_on([1], nice=19):
        wrongs = expect("CPU 1 is sampled", wait_for(lambda: len(times_of(store, "--from", "now-5s", "--cpu", "1")) >= 20))
    times = away(recorder)
    wrongs += check_return(store, times[-1])
    wrongs += end(recorder)[0]
    return wrongs, times, max(times_of(store, "--from", "now-5m", "--cpu", "1"), default=0.0)


@contextlib.contextmanager
def cpu_1_offline():
    """CPU 1 is offline between the two times of the list."""
    times = []
    with live.setting(SWITCH, "0"):
        times.append(time.time())
        yield times
        times.append(time.time())


@live.test(promise="`--strict` exits with 4 when the window is not fully covered.", broken_by="forget-offline", alone=True, lacks=CPU_1)
def test_cpu_offline(folder):
    """A CPU that goes offline and comes back is sampled again, and the time between is said to be missing."""
    store = folder / "offline"
    told = "offline    1 time a CPU was offline; 1 now"

    def away(_):
        nonlocal wrongs
        with cpu_1_offline() as times:
            known = wait_for(lambda: told in perftape("status", "--store", store).stdout and time.time() > times[0] + 1)
            wrongs += expect(f"status says: {told}", known, perftape("status", "--store", store).stdout)
        return (*times, time.time())

    wrongs = []
    more, (went, comes, _), last = come_and_go(store, away)
    wrongs += more
    times = times_of(store, "--from", "now-5m", "--cpu", "1")
    there = [at for at in times if at <= went]
    wrongs += expect("no sample of CPU 1 while it is offline", not [at for at in times if went < at < comes], times)
    told = coverage(store, "--from", f"@{max(there[-1] - 0.3, there[0]):.6f}", "--to", f"@{there[-1] - 0.001:.6f}", "--cpu", "1")
    wrongs += expect("CPU 1 is there until its last sample", told["whole"] and not told["offline"], told)
    return wrongs + check_absence(store, went, comes, last, folder / "x")


def check_absence(store, went, comes, last, output):
    """What queries say about CPU 1 in the time in which it is offline, and from then until its last sample."""
    wrongs = []
    absent = (went + MARGIN, comes - MARGIN)
    for what, (begin, to), cpus, code in (
        ("CPU 1 while it is offline and afterwards", (absent[0], last), ("--cpu", "1"), 4),
        ("CPU 1 while it is offline", absent, ("--cpu", "1"), 3),
        # that CPU had nothing to record; whether all of the others is there is not what is looked at here
        ("all CPUs while it is offline", absent, (), None),
    ):
        done = perftape("query", "--store", store, "--from", f"@{begin:.6f}", "--to", f"@{to:.6f}", "-o", output, "--strict", *cpus)
        if code:
            wrongs += expect(f"{what}: query --strict ends with exit code {code}", done.returncode == code, f"exit code {done.returncode}", done.stderr)
            wrongs += expect(f"{what}: query does not say that all is covered", "covered 100 %" not in done.stderr, done.stderr)
        wrongs += expect(f"{what}: query says that CPU 1 was offline", "CPU 1 was offline" in done.stderr, done.stderr)
    return wrongs


@live.test(alone=True, lacks=CPU_1)
def test_cpu_absent(folder):
    """A CPU that is offline when a recording begins is said to be so from its begin."""
    store = folder / "absent"
    with cpu_1_offline() as times, loads_on(CPUS[:1], nice=19):
        recorder = start(store)
        wrongs = expect("a second of CPU 0 is sampled", wait_for(lambda: (sampled := times_of(store, "--from", "now-1m")) and sampled[-1] - sampled[0] > 1))
    wrongs += check_return(store, time.time()) + end(recorder)[0]
    last = max(times_of(store, "--from", "now-5m", "--cpu", "1"), default=0.0)
    return wrongs + check_absence(store, segments_of(store)[0]["begin"], times[1], last, folder / "x")


@live.test(alone=True, lacks=CPU_1)
def test_cpu_blinks(folder):
    """A CPU that goes offline and comes back between two looks is sampled again, though only its silence shows it."""
    store = folder / "blink"

    def away(recorder):
        recorder.send_signal(signal.SIGSTOP)
        with cpu_1_offline() as times:
            pass
        recorder.send_signal(signal.SIGCONT)
        return (*times, time.time())

    wrongs, (went, _, came), _ = come_and_go(store, away)
    done = perftape("query", "--store", store, "--from", f"@{went:.6f}", "--to", f"@{came + 0.5:.6f}", "-o", folder / "x")
    return wrongs + expect("query says that a CPU was offline", "offline" in done.stderr, done.stderr)


RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
LIMIT = "lowered    the kernel allows 500 samples a second"


def second_from(store, begin):
    """Waits until a second from that moment on is recorded: whether it is, and its window."""
    is_there = wait_for(lambda: times_of(store, "--from", f"@{begin:.6f}")[-1:] > [begin + 1])
    return expect("the recording goes on for a second", is_there), ("--from", f"@{begin:.6f}", "--to", f"@{begin + 1:.6f}")


@live.test(alone=True)
def test_lowered_rate(folder):
    """A kernel that allows fewer samples while we record: said, with the limit and how often it throttled; and afterwards it is over."""
    store = folder / "lowered"

    def status():
        return perftape("status", "--store", store).stdout

    with loads_on(CPUS, nice=19), live.setting(RATE, "100000"):
        recorder = start(store, "-F", "4000")
        wrongs = expect("the recorder takes samples", wait_for(lambda: times_of(store, "--from", "now-5s")))
        with live.setting(RATE, "500"):
            wrongs += expect(f"status says: {LIMIT}", wait_for(lambda: LIMIT in status()), status())
            more, low = second_from(store, time.time())
            progress = json.loads(perftape("status", "--json", "--store", store).stdout)["recording"]["progress"]
            refused = perftape("record", "--store", folder / "refused", "-F", "501")
        wrongs += more + expect("status does not tell the limit any more", wait_for(lambda: LIMIT not in status()), status())
        more, high = second_from(store, time.time())
        wrongs += more
        more, said = end(recorder)
    wrongs += more
    wrongs += expect("a throttled timer takes no samples", progress["recent_samples"] <= progress["samples"], progress)
    wrongs += expect("record -F 501 says in one line to take -F 500", refused.returncode == 1 and "take -F 500, or" in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr)
    wrongs += expect("record says how often it was throttled", re.search(r"throttled .* [1-9]\d* times", said), said)
    for name, window, is_lowered in (("lowered", low, True), ("raised again", high, False)):
        done = perftape("query", "--store", store, *window, "-o", folder / "x")
        no = "" if is_lowered else "not "
        wrongs += expect(f"{name}: query does {no}tell the limit", ("at most 500 samples a second allowed" in done.stderr) == is_lowered, done.stderr)
        wrongs += expect(f"{name}: query does {no}say that it was throttled", bool(re.search(r"[1-9]\d* times throttled", done.stderr)) == is_lowered, done.stderr)
    came, told, segments = len(times_of(store, "--from", "now-5m")), coverage(store), segments_of(store)
    due = 4000 * len(CPUS) * (segments[-1]["end"] - segments[0]["begin"])
    there = came + told["skipped"] + told["lost"]
    return wrongs + expect(f"the {due:.0f} samples that were due came, or are said to be skipped or lost", 0.9 * due < there < 1.1 * due, f"{came} came", told)


@live.test()
def test_what_is_sampled(folder):
    """The CPUs, the event and the part of the stacks that were asked for, and the names of what comes from other CPUs."""
    store = folder / "asked"
    first = CPUS[0]
    recorder = start(store, "--cpus", str(first), "--no-user-stacks", "--event", "cpu-clock", "--ring", "64K")
    with loads_on(CPUS):
        wrongs = expect("the load is sampled", wait_for(lambda: re.search(r"^load;.*load_alpha \d+$", folded(store), re.MULTILINE)), folded(store)[:1000])
        more, said = end(recorder)
    wrongs += more + expect("record says: of 1 CPU at cpu-clock", "of 1 CPU at cpu-clock" in said, said)
    cpus = {int(head["cpu"]) for head in samples_of(store, "--from", "now-1m")}
    wrongs += expect(f"only CPU {first} is sampled", cpus == {first}, cpus)
    done = perftape("query", "--store", store, "--from", "now-1m", "--cpu", "1000")
    message = f"CPU 1000 was not recorded in that window, only CPU {first}\n"
    wrongs += expect(f"query ends with exit code 3 and says: {message}", done.returncode == 3 and message in done.stderr, f"exit code {done.returncode}", done.stderr)
    wrongs += expect("the stacks of the load have no callers", not re.search(r"^load;.*;load_alpha \d+$", folded(store), re.MULTILINE), folded(store)[:1000])
    done = perftape("record", "--store", store, "--cpus", "4095")
    message = "CPU 4095 is not online"
    return wrongs + expect(f"record ends with exit code 1 and says: {message}", done.returncode == 1 and message in done.stderr, f"exit code {done.returncode}", done.stderr)


@live.test(lacks=live.lacking(len(CPUS) > 1, "two CPUs"))
def test_name_of_another_cpu(folder):
    """A program that starts on a CPU that is not sampled, and moves to the one that is, has its name."""
    store = folder / "beyond"
    sampled, other = str(CPUS[0]), str(CPUS[1])
    recorder = start(store, "--cpus", sampled, wrapper=["taskset", "-c", other])
    wrongs = expect("the recorder records", wait_for(lambda: is_recording(store)))
    moved = subprocess.Popen(["taskset", "-c", other, "sh", "-c", f"exec taskset -c {sampled} md5sum /dev/zero"])
    try:
        wrongs += expect("md5sum is sampled under its name", wait_for(lambda: re.search(r"^md5sum;.* \d+$", folded(store), re.MULTILINE)), folded(store)[:1000])
    finally:
        beside_perf.stop([moved])
    return wrongs + end(recorder)[0]


@live.test()
def test_start_in_a_storm(folder):
    """A recorder starts also while so many processes start that the rings of names run over."""
    storms = [subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) for _ in range(2 * len(CPUS))]
    wrongs, lost = [], 0
    try:
        for number in range(2):
            store = folder / f"storm {number}"
            done = perftape("record", "--store", store, "--duration", "0.5s", "--ring", "64K")
            wrongs += expect("record ends with exit code 0", done.returncode == 0, done.stderr)
            lost += coverage(store)["lost_names"]
    finally:
        beside_perf.stop(storms)
    return wrongs + expect("names are lost, as the storm is heavy enough", lost > 0, lost)


RENAMED = """
import ctypes, signal
heard = False
def hear(*_):
    global heard
    heard = True
signal.signal(signal.SIGUSR1, hear)
for name in (b"first-name", b"second-name"):
    ctypes.CDLL(None).prctl(15, name)
    heard = False
    while not heard:
        pass
"""


@live.test()
def test_renamed_thread(folder):
    """A process that renames itself appears under both names, each in its time."""
    store = folder / "renamed"
    recorder = start(store)
    wrongs = expect("the recorder records", wait_for(lambda: is_recording(store)))
    renamed = subprocess.Popen([sys.executable, "-c", RENAMED])

    def times(name):
        return [float(head["time"]) for head in samples_of(store, "--from", "now-5m", "--pid", renamed.pid) if head["comm"] == name]

    try:
        for name in ("first-name", "second-name"):
            wrongs += expect(f"10 samples of {name}", wait_for(lambda: len(times(name)) >= 10), len(times(name)))
            renamed.send_signal(signal.SIGUSR1)
        wrongs += expect("the process ends", renamed.wait(WAIT) == 0, renamed.returncode)
    finally:
        beside_perf.stop([renamed])
    wrongs += end(recorder)[0]
    first, second = times("first-name"), times("second-name")
    return wrongs or expect("the second name begins after the first one ends", max(first) < min(second), max(first), min(second))


FAULTS = """
import mmap
while True:
    with mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        for at in range(0, len(room), 4096):
            room[at] = 1
"""


@live.test()
def test_page_faults(folder):
    """Page faults that go on are sampled all the while. The kernel's first guess of a period would take minutes."""
    store = folder / "faults"

    def samples():
        return perftape("query", "--store", store, "--from", "now-5m", "--pid", faults.pid, "--format", "json").stdout.splitlines()

    def seconds():
        return collections.Counter(json.loads(line)["time"][:19] for line in samples()[:-1])

    recorder = start(store, "--event", "page-faults")
    faults = subprocess.Popen([sys.executable, "-c", FAULTS])
    try:
        often = wait_for(lambda: sum(count >= 10 for count in seconds().values()) >= 3)
    finally:
        beside_perf.stop([faults])
    wrongs = expect("at least 10 samples in each of three seconds", often, seconds()) + end(recorder)[0]
    told = json.loads(samples()[-1])["coverage"]
    return wrongs + expect("no sample is said to be skipped, as no timer takes them", told["skipped"] == 0, told)


if __name__ == "__main__":
    sys.exit(live.main())
