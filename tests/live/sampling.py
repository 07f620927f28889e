#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which samples a recording of this machine has, beside perf and by the clock, and what Flamescope reads of them.

Usage: sampling.py PERFTAPE LOAD
"""

import collections
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
import recorders  # noqa: E402
import screens  # noqa: E402
from beside_perf import loads_on  # noqa: E402
from recorders import PERFTAPE, WAIT, end, expect, folded, perftape, samples_of, start, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
# Enough samples for the comparison with perf to show that an eighth of them is missing.
SECONDS = 4 if os.environ.get("PERFTAPE_TIER") == "quick" else 8
# A larger difference, in standard deviations, is not chance: one false alarm in a million.
CHANCE = 5


def check_stacks(path):
    done = subprocess.run([TESTS / "tools" / "check-stacks", path], capture_output=True, text=True)
    return expect(f"{path.name} keeps the contract of docs/FLAMESCOPE.md", done.returncode == 0, done.stdout)


def has_load(store):
    return re.search(r"^load;.*load_alpha \d+$", folded(store), re.MULTILINE)


def sampled_cpus(store):
    return {int(head["cpu"]) for head in samples_of(store, "--from", "now-1m")}


@live.test(promise="The file keeps what Flamescope's parser needs", broken_by="glue-samples")
def test_idle_and_busy(folder):
    """Flamescope can read the file of an idle machine, and that of a busy one."""
    wrongs = []
    for name, cpus in (("idle", []), ("busy", CPUS)):
        store, stacks = folder / name, folder / f"{name}.stacks"
        recorder = start(store)
        with loads_on(cpus, LOAD):
            sampled = wait_for(lambda: sampled_cpus(store) >= set(cpus or CPUS[:1]))
            wrongs += expect(f"{name}: samples of each CPU", sampled, sampled_cpus(store))
            if cpus:
                found = wait_for(lambda: has_load(store))
                wrongs += expect("the folded stacks have load_alpha of the load", found, folded(store)[:2000])
        wrongs += end(recorder)[0]
        done = perftape("query", "--store", store, "--from", "now-1m", "-o", stacks)
        wrongs += expect(f"{name}: query ends with exit code 0", done.returncode == 0, done.stderr)
        wrongs += check_stacks(stacks)
    return wrongs


@live.test()
def test_commands_to_look(folder):
    """The two commands that record prints at its end work as printed."""
    done = perftape("record", "--store", folder / "a store", "--duration", "1s")
    commands = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
    wrongs = expect("record prints two commands", len(commands) == 2, done.stderr)
    for command in commands:
        ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=WAIT)
        wrongs += expect(f"exit code 0 of: {command}", ran.returncode == 0, f"exit code {ran.returncode}", ran.stderr)
    return wrongs + check_stacks(folder / "perftape.stacks")


def compare_counts(result, what="", windows=()):
    """perftape has as many samples of each CPU as perf, which suffers from the same steal."""
    wrongs = []
    for cpu in result.cpus:
        perf, ours, due = result.counts(cpu, windows)
        apart = result.apart(cpu, windows)
        expected = f"as many samples of CPU {cpu} as perf has{what}, within {CHANCE} standard deviations of chance"
        seen = f"{ours} samples, perf has {perf}, {due:.0f} were due: {apart:.1f} standard deviations"
        wrongs += expect(expected, apart < CHANCE, seen)
    return wrongs


@live.test(promise="97 times a second on each CPU", broken_by="drop-sample", alone=True)
def test_beside_perf(folder):
    """Under load, perf and perftape take equally many samples in the same seconds, of the same functions."""
    result = beside_perf.record(PERFTAPE, LOAD, SECONDS, folder)
    wrongs = expect("perf has samples of all CPUs", result.cpus == CPUS, result.cpus) + compare_counts(result)
    loads = [name for name in result.perf.leaves if name.startswith("load_")]
    wrongs += expect("perf sees at least 8 functions of the load", len(loads) >= 8, result.perf.leaves)
    # compare both lists, because perf may lack a function that is at the top of ours
    for name in dict.fromkeys(result.top + result.our_top()):
        shares = f"perf {100 * result.perf.share(name):.2f} %, perftape {100 * result.ours.share(name):.2f} %"
        apart = result.sigma(name)
        expected = f"the share of {name} that perf sees, within {CHANCE} standard deviations of chance"
        wrongs += expect(expected, apart < CHANCE, f"{shares}: {apart:.1f} standard deviations")
    return wrongs


@live.test()
def test_beside_harm(folder):
    """A recorder that starts does not harm a running perf record: perf can read its own file."""
    data, began, over = folder / "beside.data", folder / "began", folder / "over"
    workload = ["sh", "-c", 'touch "$1"; until [ -e "$2" ]; do sleep 0.02; done', "sh", began, over]
    command = ["perf", "record", "-q", "-B", "-F", "97", "-e", "cpu-clock", "-g", "-a", "-o", data, "--", *workload]
    theirs = subprocess.Popen(command)
    wrongs = expect("perf starts its workload", wait_for(began.exists))
    done = perftape("record", "-q", "--store", folder / "harm", "--duration", "1s")
    over.touch()
    wrongs += expect("record ends with exit code 0", done.returncode == 0, done.stderr)
    wrongs += expect("perf record ends with exit code 0", theirs.wait(WAIT) == 0, theirs.returncode)
    read = subprocess.run(["perf", "script", "--no-inline", "-i", data], capture_output=True)
    code = read.returncode
    return wrongs + expect("perf script ends with exit code 0", code == 0, f"exit code {code}", read.stderr[-300:])


def check_segments(store):
    """The recording has a segment of each second. Returns what is wrong, and when the segments end."""
    segments = recorders.segments(store)
    begin, ends = segments[0]["begin"], [recorders.seconds_of(segment["end"]) for segment in segments]
    told = recorders.query(store, "--from", begin, "--to", segments[-1]["end"])[1]
    clock = told["clock_error_ns"] / 1e9 + 0.001
    seconds = [round(at) for at in ends[:-1]]
    are_whole = all(abs(at - second) < 2 * clock for at, second in zip(ends, seconds))
    wrongs = expect("all segments are sealed", all(segment["sealed"] for segment in segments), segments)
    wrongs += expect("each segment but the last ends with a second of the wall clock", are_whole, ends)
    wrongs += expect("a segment ends in each second", seconds == list(range(seconds[0], seconds[-1] + 1)), ends)
    wrongs += expect("there is no gap between segments", not told["gaps"], told)
    return wrongs, ends[:-1]


@live.test(
    promise="Every two minutes of the wall clock it seals a segment, while sampling goes on.",
    broken_by="rotation-drops-samples",
    also=("build-tsan",),
    alone=True,
)
def test_rotation(folder):
    """With a segment for each second, no sample at their edges is missing or taken twice, compared with perf."""
    store, near = folder / "store", 0.15
    result = beside_perf.record(PERFTAPE, LOAD, SECONDS, folder, ["--segment", "1s"])
    wrongs, ends = check_segments(store)
    for cpu in result.cpus:
        times = collections.Counter(times_of(store, "--from", "now-5m", "--cpu", cpu))
        twice = [at for at, count in times.items() if count > 1]
        wrongs += expect(f"no two samples of CPU {cpu} have the same time", not twice, twice)
    begin, last = max(span[0] for span in result.spans.values()), min(span[1] for span in result.spans.values())
    where_they_meet = [(at - near, at + near) for at in ends if begin + near < at < last - near]
    wrongs += expect("segments end while perf records", len(where_they_meet) >= SECONDS - 2, ends, begin, last)
    return wrongs + compare_counts(result) + compare_counts(result, " where segments meet", where_they_meet)


@live.test()
def test_live_screen(folder):
    """A screen on a terminal follows the running recorder, and shows the thread that is busy."""
    store = folder / "store"
    recorder = recorders.start_sampling(store)
    with loads_on(CPUS[:1], LOAD):
        terminal = {**os.environ, "TERM": "xterm-256color"}
        screen = screens.Screen(PERFTAPE, folder, terminal, "--store", store, "--by", "thread")
        wrongs = expect("a screen", screen.has("q quit"), screen.data)
        wrongs += expect("no word of a missing recorder", b"no recorder" not in screen.data, screen.data)
        wrongs += expect("the load among the threads", screen.press("/load\r", "load "), screen.data)
        ends = set()
        follows = wait_for(lambda: screen.wait("window ") and (ends.update(screen.window_ends()) or len(ends) >= 3))
        wrongs += expect("windows that follow the recorder", follows, ends, screen.data)
        os.write(screen.ours, b"q")
        code, left = screen.end()
    ended, _said = end(recorder)
    return wrongs + left + ended + expect("exit code 0", code == 0, code)


class Lacked:
    """How long the machine kept a process from running, and how long the process itself ran."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.now()

    def now(self):
        return recorders.cpu_seconds(self.pid, waits=True) + sum(noise.steal_by_cpu().values())

    def seconds(self):
        return self.now() - self.before


@live.test(promise="you can ask for a sample a second after it was taken", broken_by="spool-late")
def test_asked_while_recorded(_):
    """A query finds a sample a second after it was taken, or later by the time that the machine took from it."""
    # seconds: from one look at the rings to the next, plus the youngest part that a look leaves
    turn = 1.1
    wrongs = []
    # in memory, because other programs may keep a disk busy
    with (
        tempfile.TemporaryDirectory(prefix="perftape live ", dir="/dev/shm") as folder,
        loads_on(CPUS[:1], LOAD, beside_perf.start_yielding),
        noise.Noise() as measured,
    ):
        store = pathlib.Path(folder) / "asked"
        recorder = start(store)
        wrongs += expect("the recorder records", wait_for(lambda: recorders.is_spooled(store)))
        for _ in range(3):
            taken, lacked = time.time(), Lacked(recorder.pid)
            while True:
                late, allowed = time.time() - taken, turn + lacked.seconds() + measured.late()
                found = times_of(store, "--from", f"@{taken:.6f}")
                if found or late > allowed:
                    break
            print(f"# found after {late:.2f} s, of {allowed:.2f} s", flush=True)
            expected = f"samples can be asked for after {turn} s, and {allowed - turn:.2f} s that the machine took"
            wrongs += expect(expected, found, f"none after {late:.2f} s")
        return wrongs + end(recorder)[0]


@live.test()
def test_what_is_sampled(folder):
    """record keeps to --cpus and --event. With --no-user-stacks, stacks have no callers in programs."""
    store = folder / "asked"
    cpu = str(CPUS[0])
    recorder = start(store, "--cpus", cpu, "--no-user-stacks", "--event", "cpu-clock", "--ring", "64K")
    with loads_on(CPUS, LOAD):
        wrongs = expect("the load is sampled", wait_for(lambda: has_load(store)), folded(store)[:1000])
        more, said = end(recorder)
    wrongs += more + expect("record says: of 1 CPU at cpu-clock", "of 1 CPU at cpu-clock" in said, said)
    wrongs += expect(f"only CPU {cpu} is sampled", sampled_cpus(store) == {int(cpu)}, sampled_cpus(store))
    callers = re.search(r"^load;.*;load_alpha \d+$", folded(store), re.MULTILINE)
    wrongs += expect("the stacks of the load have no callers", not callers, folded(store)[:1000])
    recorded = f"CPU 1000 was not recorded in that window, only CPU {cpu}\n"
    for words, code, message in (
        (("query", "--from", "now-1m", "--cpu", "1000"), 3, recorded),
        (("record", "--cpus", "4095"), 1, "CPU 4095 is not online"),
    ):
        done = perftape(*words, "--store", store)
        is_said = done.returncode == code and message in done.stderr
        wrongs += expect(f"exit code {code} and: {message}", is_said, f"exit code {done.returncode}", done.stderr)
    return wrongs


@live.test(lacks=live.lacking(len(CPUS) > 1, "two CPUs"))
def test_name_of_another_cpu(folder):
    """A program that starts on a CPU without sampling, and moves to a sampled CPU, has its name."""
    store = folder / "beyond"
    sampled, other = str(CPUS[0]), str(CPUS[1])
    recorder = start(store, "--cpus", sampled, wrapper=["taskset", "-c", other])
    wrongs = expect("the recorder records", wait_for(lambda: recorders.is_spooled(store)))
    moved = subprocess.Popen(["taskset", "-c", other, "sh", "-c", f"exec taskset -c {sampled} md5sum /dev/zero"])
    try:
        named = wait_for(lambda: re.search(r"^md5sum;.* \d+$", folded(store), re.MULTILINE))
        wrongs += expect("md5sum is sampled under its name", named, folded(store)[:1000])
    finally:
        beside_perf.stop([moved])
    return wrongs + end(recorder)[0]


def started_processes():
    """How many processes have started since the boot."""
    lines = pathlib.Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes "))


@live.test()
def test_start_in_a_storm(folder):
    """A recorder starts even if enough processes start meanwhile to fill the rings of names."""
    storms = [subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) for _ in range(2 * len(CPUS))]
    wrongs, before = [], started_processes()
    try:
        for number in range(2):
            store = folder / f"storm {number}"
            done = perftape("record", "--store", store, "--duration", "0.5s", "--ring", "64K")
            wrongs += expect("record ends with exit code 0", done.returncode == 0, done.stderr)
            wrongs += expect("the store has samples", recorders.coverage_of(store)["covered_ns"] > 0)
    finally:
        started = started_processes() - before
        beside_perf.stop(storms)
    # the records of a process that starts a program and ends take over 512 bytes
    fills = 64 * 1024 // 512 * len(CPUS)
    return wrongs + expect(f"a heavy storm, of over {fills} processes", started > fills, started)


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
    wrongs = expect("the recorder records", wait_for(lambda: recorders.is_spooled(store)))
    renamed = subprocess.Popen([sys.executable, "-c", RENAMED])

    def times(name):
        heads = samples_of(store, "--from", "now-5m", "--pid", renamed.pid)
        return [float(head["time"]) for head in heads if head["comm"] == name]

    try:
        for name in ("first-name", "second-name"):
            wrongs += expect(f"10 samples of {name}", wait_for(lambda: len(times(name)) >= 10), len(times(name)))
            renamed.send_signal(signal.SIGUSR1)
        wrongs += expect("the process ends", renamed.wait(WAIT) == 0, renamed.returncode)
    finally:
        beside_perf.stop([renamed])
    wrongs += end(recorder)[0]
    first, second = times("first-name"), times("second-name")
    return wrongs or expect("the second name follows the first one", max(first) < min(second), max(first), min(second))


FAULTS = """
import mmap
while True:
    with mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        for at in range(0, len(room), 4096):
            room[at] = 1
"""


@live.test()
def test_page_faults(folder):
    """Constant page faults are sampled in every second. The kernel's first guess of a period would take minutes."""
    store = folder / "faults"

    def samples():
        return recorders.query(store, "--from", "now-5m", "--pid", faults.pid)

    def seconds():
        return collections.Counter(sample["time"][:19] for sample in samples()[0])

    recorder = start(store, "--event", "page-faults")
    faults = subprocess.Popen([sys.executable, "-c", FAULTS])
    try:
        often = wait_for(lambda: sum(count >= 10 for count in seconds().values()) >= 3)
    finally:
        beside_perf.stop([faults])
    wrongs = expect("at least 10 samples in each of three seconds", often, seconds()) + end(recorder)[0]
    told = samples()[1]
    return wrongs + expect("no sample is said to be skipped, as no timer takes them", told["skipped"] == 0, told)


if __name__ == "__main__":
    sys.exit(live.main())
