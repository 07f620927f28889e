#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Samples that a recording of this machine lacks, and what the recording says about them: skipped,
lost, or of an offline CPU.

Usage: losses.py PERFTAPE LOAD
"""

import collections
import contextlib
import math
import os
import pathlib
import re
import signal
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import noise  # noqa: E402
import recorders  # noqa: E402
from beside_perf import FREQUENCY, loads_on, start_yielding  # noqa: E402
from recorders import end, expect, perftape, samples_of, sealed, start, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
# Seconds by which the clocks of a test and of a recording may differ.
MARGIN = 0.05


def window(begin, last):
    return "--from", f"@{begin:.6f}", "--to", f"@{last:.6f}"


def span_of(store):
    """The begin and the end of a recording."""
    segments = recorders.segments(store)
    return recorders.seconds_of(segments[0]["begin"]), recorders.seconds_of(segments[-1]["end"])


class Slots:
    """The slots of the timer on one CPU, by the samples of a recording."""

    def __init__(self, store, cpu):
        self.times = times_of(store, "--from", "now-5m", "--cpu", cpu)

    def empty(self, begin, last):
        """How many slots between two moments have no sample."""
        times = [at for at in self.times if begin <= at <= last]
        return round(FREQUENCY * (times[-1] - times[0])) - len(times) + 1 if times else 0

    def irregular(self):
        """How many samples came early or late, because something delayed the timer."""
        steps = (later - earlier for earlier, later in zip(self.times, self.times[1:]))
        return sum(abs(FREQUENCY * step - 1) > 1 / 8 for step in steps)


def ticks_of(cpu, *columns):
    """Seconds of a CPU by the kernel's account, in columns of /proc/stat."""
    rows = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return sum(int(row[at]) for row in rows if row[0] == f"cpu{cpu}" for at in columns) / noise.TICK


def idle_seconds(cpu):
    return ticks_of(cpu, 4, 5)


def busy_seconds(cpu):
    """For how many seconds the CPU was busy. Stolen ticks do not count."""
    return ticks_of(cpu, 1, 2, 3, 6, 7)


def left_to_chance(idle, slots):
    """How many empty slots of a CPU chance explains, so that the recorder does not report them.

    These are the rules of recorder/build/timer-slots.c.
    """
    idle = min(idle + 1, slots)
    return 2 * idle + math.isqrt(int(25 * (idle * (slots - idle) / slots + 1)))


def check_skipped(store, said, idle, late):
    """Compares the skipped samples in the report with the empty slots. `idle` has the idle slots of each CPU."""
    match = re.search(r"(\d+) samples? of busy CPUs skipped", said)
    told = int(match[1]) if match else 0
    begin, last = span_of(store)
    slots = [Slots(store, cpu) for cpu in CPUS]
    # if steal disturbs the timer again and again, the grid is known only to a few per cent
    most = sum(FREQUENCY * (last - begin) - len(one.times) + 2 + one.irregular() / 20 for one in slots)
    expected = f"{store.name}: no more samples are reported as skipped than slots are empty"
    wrongs = expect(expected, told <= most, f"{told} samples, {most:.0f} slots")
    # idle time is known from the first drain on, a second after the begin; a late sample is judged by the next one
    empty = sum(one.empty(begin + 1.2 + late, one.times[-2]) for one in slots)
    chance = sum(left_to_chance(one, FREQUENCY * (last - begin)) for one in idle)
    expected = f"{store.name}: all slots that are empty are reported as skipped, but for {chance:.0f} by chance"
    return wrongs + expect(expected, told >= empty - chance, f"{told} samples, {empty} slots", said)


@live.test(alone=True)
def test_skipped(folder):
    """The recorder reports samples that were due on a busy CPU and did not come. It reports none for an idle CPU.

    The mutation hold-timers plays a hypervisor that stops all CPUs for 0.3 s of each second.
    """
    wrongs = []
    for name, cpus, fault in (("idle", [], ""), ("busy", CPUS, ""), ("held up", CPUS, "hold-timers")):
        with noise.Noise() as measured, loads_on(cpus, LOAD) as loads:
            wait_for(lambda: all(beside_perf.cpu_seconds(load.pid) > 0 for load in loads))
            before = [idle_seconds(cpu) for cpu in CPUS]
            environment = os.environ | {"PERFTAPE_MUTATION": fault}
            done = perftape("record", "--store", folder / name, "--duration", "6s", env=environment)
            idle = [FREQUENCY * (idle_seconds(cpu) - earlier) for cpu, earlier in zip(CPUS, before)]
        wrongs += expect(f"{name}: record ends with exit code 0", done.returncode == 0, done.stderr)
        wrongs += check_skipped(folder / name, done.stderr, idle, measured.late())
    return wrongs


class Stop:
    """A recorder of one CPU that a signal stops, for as long as it takes to fill its ring several times."""

    FREQUENCY = 4000
    BUSY = 1.5  # seconds of the CPU
    CPU = CPUS[-1]
    # No sample takes less than 64 bytes. After this part of the stop the ring is full, and then all samples are lost.
    FULL = (64 << 10) / 64 / FREQUENCY / BUSY

    def __init__(self, recorder, by_itself=False):
        if not by_itself:
            recorder.send_signal(signal.SIGSTOP)
        wait_for(lambda: all(state == "T" for _, state in recorders.threads_of(recorder.pid)))
        self.begin, before = time.time(), busy_seconds(self.CPU)
        self.over = wait_for(lambda: busy_seconds(self.CPU) > before + self.BUSY)
        self.ticks = self.FREQUENCY * (busy_seconds(self.CPU) - before)
        self.end = time.time()
        recorder.send_signal(signal.SIGCONT)

    def third(self):
        """A third of the later half of the time in which the ring was full."""
        return (self.end - self.begin) * (1 - self.FULL) / 2 / 3

    def thirds(self):
        return [(self.end - (part + 1) * self.third(), self.end - part * self.third()) for part in range(3)]


def lost_in(store, begin, last):
    return recorders.query(store, *window(begin, last))[1]["lost"]


def try_stop(store, environment, by_itself=False):
    """Checks that a recording with such a stop reports when the kernel dropped samples, and how many."""
    options = ("-F", str(Stop.FREQUENCY), "--segment", "1s", "--cpus", str(Stop.CPU), "--ring", "64K")
    began = time.time()
    with loads_on([Stop.CPU], LOAD, start_yielding):
        recorder = start(store, *options, env=environment)
        wrongs = expect("a segment is sealed", by_itself or wait_for(lambda: sealed(store) >= 1))
        stop = Stop(recorder, by_itself)
        before = sealed(store)
        wrongs += expect("the CPU is busy", stop.over)
        wrongs += expect("the recorder goes on", wait_for(lambda: sealed(store) > before + 1))
        more, said = end(recorder)
    wrongs += more
    total = int((re.search(r"(\d+) lost", said) or [0, 0])[1])
    least = stop.ticks / 2
    wrongs += expect(f"at least {least:.0f} samples are lost, half of those of the stop", total > least, said)
    lost = [lost_in(store, *third) for third in stop.thirds()]
    least = stop.ticks * stop.third() / (stop.end - stop.begin) / 2
    wrongs += expect(f"each part of the stop has {least:.0f} lost samples, half of its share", min(lost) > least, lost)
    lost = lost_in(store, began, time.time())
    return wrongs + expect(f"the whole recording has {total} lost samples", lost == total, lost)


@live.test(
    promise="perftape counts what the kernel had to drop, and keeps that count with the samples", broken_by="forget-loss"
)
def test_stopped(folder):
    """A recorder that is stopped until its ring is full reports when the kernel dropped samples, and how many."""
    return try_stop(folder / "stopped", os.environ)


@live.test()
def test_stopped_in_a_turn(folder):
    """The same holds for a recorder that the mutation stop-in-turn stops between two drains of its rings."""
    return try_stop(folder / "stopped", os.environ | {"PERFTAPE_MUTATION": "stop-in-turn"}, by_itself=True)


SWITCH = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
CPU_1 = live.lacking(SWITCH.exists(), "a CPU 1 that can be switched off")


@contextlib.contextmanager
def cpu_1_offline():
    """CPU 1 is offline between the two times of the list."""
    times = []
    with live.setting(SWITCH, "0"):
        times.append(time.time())
        yield times
        times.append(time.time())


def times_of_cpu_1(store, since="now-5m"):
    return times_of(store, "--from", since, "--cpu", "1")


def check_return(store, came):
    """Keeps CPU 1 busy after its return. The CPU must be sampled without a hole, and the process must have a name."""
    since = f"@{came:.6f}"
    with noise.Noise() as measured, loads_on([1], LOAD) as loads:

        def names():
            heads = samples_of(store, "--from", since, "--cpu", "1", "--pid", loads[0].pid)
            return [head["comm"].strip() for head in heads]

        sampled = wait_for(lambda: len(times_of_cpu_1(store, since)) > FREQUENCY)
        wrongs = expect("CPU 1 is sampled again", sampled, len(times_of_cpu_1(store, since)))
        named = wait_for(lambda: len(names()) >= 20 and names().count("load") > 0.9 * len(names()))
        wrongs += expect("what runs on CPU 1 is called load", named, collections.Counter(names()))
        times = times_of_cpu_1(store, since)
    span = times[-1] - times[0] if times else 0
    least = 0.8 * FREQUENCY * span - measured.stolen_ticks(1, FREQUENCY)
    return wrongs + expect(f"at least {least:.0f} samples of CPU 1 in {span:.1f} s", len(times) > least, len(times))


def come_and_go(store, away):
    """Records while CPU 1 is offline for a moment. Returns what is wrong so far, and what away() returned."""
    recorder = start(store)
    with loads_on([1], LOAD, start_yielding):
        wrongs = expect("CPU 1 is sampled", wait_for(lambda: len(times_of_cpu_1(store, "now-5s")) >= 20))
    times = away(recorder)
    wrongs += check_return(store, times[-1])
    return wrongs + end(recorder)[0], times


@live.test(
    promise="`--strict` exits with 4 when the window is not fully covered.",
    broken_by="forget-offline",
    alone=True,
    lacks=CPU_1,
)
def test_cpu_offline(folder):
    """A CPU that goes offline and comes back is sampled again, and answers report the time between as offline."""
    store = folder / "offline"
    message = "offline    a CPU went offline 1 time; 1 now"

    def status():
        return perftape("status", "--store", store).stdout

    def away(_):
        nonlocal wrongs
        with cpu_1_offline() as times:
            known = wait_for(lambda: message in status() and time.time() > times[0] + 1)
            wrongs += expect(f"status says: {message}", known, status())
        return *times, time.time()

    wrongs = []
    more, (went, comes, _) = come_and_go(store, away)
    times = times_of_cpu_1(store)
    there = [at for at in times if at <= went]
    while_away = [at for at in times if went < at < comes]
    wrongs += more + expect("no sample of CPU 1 while it is offline", not while_away, while_away)
    told = recorders.query(store, *window(max(there[-1] - 0.3, there[0]), there[-1] - 0.001), "--cpu", "1")[1]
    wrongs += expect("CPU 1 is there until its last sample", told["whole"] and not told["offline"], told)
    return wrongs + check_absence(store, went, comes, times[-1], folder / "x")


def check_absence(store, went, comes, last, output):
    """The answers about CPU 1 while it is offline, and from its return until its last sample."""
    absent, cpu_1 = (went + MARGIN, comes - MARGIN), ("--cpu", "1")
    wrongs = []
    for what, asked, cpus, code in (
        ("CPU 1 while it is offline and afterwards", (absent[0], last), cpu_1, 4),
        ("CPU 1 while it is offline", absent, cpu_1, 3),
        # an offline CPU has nothing to record; whether the other CPUs are complete depends on the machine
        ("all CPUs while it is offline", absent, (), None),
    ):
        done = perftape("query", "--store", store, *window(*asked), "-o", output, "--strict", *cpus)
        said, seen = done.stderr, (f"exit code {done.returncode}", done.stderr)
        if code:
            wrongs += expect(f"{what}: query --strict ends with exit code {code}", done.returncode == code, *seen)
            wrongs += expect(f"{what}: query does not say that all is covered", "covered 100 %" not in said, said)
        wrongs += expect(f"{what}: query says that CPU 1 was offline", "CPU 1 was offline" in said, said)
    return wrongs


@live.test(alone=True, lacks=CPU_1)
def test_cpu_absent(folder):
    """If a CPU is offline when a recording begins, answers report it as offline from the recording's begin."""
    store = folder / "absent"

    def sampled_seconds():
        times = times_of(store, "--from", "now-1m")
        return times[-1] - times[0] if times else 0

    with cpu_1_offline() as times, loads_on(CPUS[:1], LOAD, start_yielding):
        recorder = start(store)
        wrongs = expect("a second of CPU 0 is sampled", wait_for(lambda: sampled_seconds() > 1))
    wrongs += check_return(store, time.time()) + end(recorder)[0]
    last = max(times_of_cpu_1(store), default=0.0)
    return wrongs + check_absence(store, span_of(store)[0], times[1], last, folder / "x")


@live.test(alone=True, lacks=CPU_1)
def test_cpu_blinks(folder):
    """A CPU that goes offline and comes back between two checks is sampled again: its silence shows the recorder."""
    store = folder / "blink"

    def away(recorder):
        recorders.pause(recorder)
        with cpu_1_offline() as times:
            pass
        recorder.send_signal(signal.SIGCONT)
        return *times, time.time()

    wrongs, (went, _, came) = come_and_go(store, away)
    done = perftape("query", "--store", store, *window(went, came + 0.5), "-o", folder / "x")
    return wrongs + expect("query says that a CPU was offline", "offline" in done.stderr, done.stderr)


RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
LIMIT = "lowered    the kernel allows 500 samples a second"
LIMITED, THROTTLED = r"at most 500 samples a second allowed", r"[1-9]\d* times throttled"


def second_from(store, begin):
    """Waits until the second after that moment is recorded. Returns what is wrong, and the window of this second."""
    is_there = wait_for(lambda: times_of(store, "--from", f"@{begin:.6f}")[-1:] > [begin + 1])
    return expect("the recording goes on for a second", is_there), window(begin, begin + 1)


@live.test(alone=True)
def test_lowered_rate(folder):
    """If the kernel allows fewer samples for a while, the recorder reports the limit and how often it throttled."""
    store = folder / "lowered"

    def status():
        return perftape("status", "--store", store).stdout

    with loads_on(CPUS, LOAD, start_yielding), live.setting(RATE, "100000"):
        recorder = start(store, "-F", "4000")
        wrongs = expect("the recorder takes samples", wait_for(lambda: times_of(store, "--from", "now-5s")))
        with live.setting(RATE, "500"):
            wrongs += expect(f"status says: {LIMIT}", wait_for(lambda: LIMIT in status()), status())
            more, low = second_from(store, time.time())
            progress = recorders.progress(store)
            refused = perftape("record", "--store", folder / "refused", "-F", "501")
        wrongs += more
        wrongs += expect("status does not tell the limit any more", wait_for(lambda: LIMIT not in status()), status())
        more, high = second_from(store, time.time())
        wrongs += more
        more, said = end(recorder)
    is_said = re.search(r"throttled .* [1-9]\d* times", said)
    wrongs += more + expect("record says how often it was throttled", is_said, said)
    # the newest records from the rings are not in the recording yet
    counts = [progress["recent_samples"], progress["samples"] + 4000]
    wrongs += expect("there are no more samples lately than in all", counts[0] <= counts[1], counts)
    is_helpful = refused.returncode == 1 and "use -F 500 or" in refused.stderr and refused.stderr.count("\n") == 1
    wrongs += expect("record -F 501 says in one line to use -F 500", is_helpful, refused.stderr)
    for name, asked, is_lowered in (("lowered", low, True), ("raised again", high, False)):
        said = perftape("query", "--store", store, *asked, "-o", folder / "x").stderr
        for pattern in (LIMITED, THROTTLED):
            does = "says" if is_lowered else "does not say"
            wrongs += expect(f"{name}: query {does}: {pattern}", bool(re.search(pattern, said)) == is_lowered, said)
    return wrongs + check_sum(store, 4000)


def check_sum(store, frequency):
    """The recording has all samples that were due on busy CPUs, or says why some are missing."""
    told, (begin, last) = recorders.query(store, "--from", "now-5m")[1], span_of(store)
    came, due = len(times_of(store, "--from", "now-5m")), frequency * len(CPUS) * (last - begin)
    there = came + told["skipped"] + told["lost"]
    expected = f"the {due:.0f} samples that were due came, or are reported as skipped or lost"
    return expect(expected, 0.9 * due < there < 1.1 * due, f"{came} came", told)


if __name__ == "__main__":
    sys.exit(live.main())
