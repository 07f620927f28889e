#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is sampled of this machine, beside perf and by the clock, and what is said of what could not be.

Usage: sampling.py PERFTAPE LOAD
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, perftape, samples_of, sealed, start, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
SECONDS = 8


def check_stacks(path):
    done = subprocess.run([TESTS / "tools" / "check-stacks", path], capture_output=True, text=True)
    return [] if done.returncode == 0 else done.stdout.splitlines()


@live.test()
def test_idle_and_busy(folder):
    """What Flamescope would read, of an idle and of a busy machine."""
    wrongs = []
    for name, cpus in (("idle", []), ("busy", sorted(os.sched_getaffinity(0)))):
        store, stacks = folder / name, folder / f"{name}.stacks"
        loads = beside_perf.start_load(LOAD, cpus)
        done = perftape("record", "--store", store, "--duration", "2s")
        beside_perf.stop(loads)
        wrongs += expect(f"{name}: record failed", done.returncode == 0, done.stderr)
        done = perftape("query", "--store", store, "--from", "now-1m", "-o", stacks)
        wrongs += expect(f"{name}: query failed", done.returncode == 0, done.stderr)
        wrongs += check_stacks(stacks)
    folded = perftape("query", "--store", folder / "busy", "--from", "now-2m", "--format", "folded").stdout
    wrongs += expect("no load in the folded stacks", re.search(r"^load;.*load_alpha \d+$", folded, re.MULTILINE), folded[:2000])
    return wrongs


@live.test()
def test_commands_to_look(folder):
    """The two commands that record prints work as they stand."""
    store = folder / "a store"
    done = perftape("record", "--store", store, "--duration", "1s")
    commands = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
    wrongs = expect("not two commands", len(commands) == 2, done.stderr)
    for command in commands:
        ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=WAIT)
        wrongs += expect(f"failed: {command}", ran.returncode == 0, ran.stderr)
    return wrongs + check_stacks(folder / "perftape.stacks")


@live.test(alone=True)
def test_beside_perf(folder):
    """The same seconds under load, by perf and by perftape: as many samples, and the same symbols on top."""
    result = beside_perf.record(PERFTAPE, LOAD, SECONDS)
    wrongs = []
    for cpu in result.cpus:
        difference = result.count_difference(cpu)
        wrongs += expect(f"CPU {cpu}: {100 * difference:.1f} % more or fewer samples than perf", difference < 0.03)
    wrongs += expect("perf saw no load", sum(name.startswith("load_") for name in result.top) >= 8, result.top)
    # both lists: a symbol of ours that perf does not have on top counts as much as the other way round
    for name in dict.fromkeys(result.top + result.our_top()):
        apart = result.sigma(name)
        shares = f"perf {100 * result.perf.share(name):.2f} %, ours {100 * result.ours.share(name):.2f} %"
        wrongs += expect(f"{name}: {shares}, {apart:.1f} standard deviations apart", apart < 4.5)
    return wrongs


@live.test()
def test_beside_harm(folder):
    """A perf record that runs already is not harmed by a recorder that starts: perf reads what it wrote."""
    data = folder / "beside.data"
    theirs = subprocess.Popen(["perf", "record", "-q", "-B", "-F", "97", "-e", "cpu-clock", "-g", "-a", "-o", data, "--", "sleep", "3"])
    time.sleep(0.5)
    recorder = subprocess.Popen([PERFTAPE, "record", "-q", "--store", folder / "harm", "--duration", "2s"])
    while theirs.poll() is None:
        subprocess.run(["true"], check=True)
    wrongs = expect("perf record failed", theirs.returncode == 0) + expect("record failed", recorder.wait(WAIT) == 0)
    read = subprocess.run(["perf", "script", "--no-inline", "-i", data], capture_output=True)
    return wrongs + expect(f"perf script ended with {read.returncode}", read.returncode == 0, read.stderr[-300:])


@live.test(alone=True)
def test_rotation(folder):
    """Segments of a second, both CPUs busy: each timer tick in one of them, and no hole between them."""
    store = folder / "rotation"
    cpus = sorted(os.sched_getaffinity(0))
    loads = beside_perf.start_load(LOAD, cpus)
    done = perftape("record", "--store", store, "--duration", "6s", "--segment", "1s")
    beside_perf.stop(loads)
    wrongs = expect("record failed", done.returncode == 0, done.stderr)
    wrongs += expect("not a segment a second", 5 <= sealed(store) <= 7, sealed(store))
    for cpu in cpus:
        times = times_of(store, "--from", "now-1m", "--cpu", str(cpu))
        steps = sorted(later - earlier for earlier, later in zip(times, times[1:]))
        wrongs += expect(f"CPU {cpu}: the same tick twice", steps[0] > 0.001, steps[:3])
        missing = sum(round(step * 97) - 1 for step in steps)
        at_ends = [earlier for earlier, later in zip(times, times[1:]) if int(earlier) != int(later) and round((later - earlier) * 97) > 1]
        wrongs += expect(f"CPU {cpu}: ticks are missing where segments meet", len(at_ends) <= 2, at_ends)
        wrongs += expect(f"CPU {cpu}: {missing} of {len(times)} ticks are missing", missing <= 0.03 * len(times), steps[-5:])
    inner = re.search(r"covered ([\d.]+) %", perftape("query", "--store", store, "--from", f"@{times[0] + 0.1}", "--to", f"@{times[-1] - 0.1}", "-o", folder / "inner").stderr)
    return wrongs + expect("a hole between segments", inner and float(inner[1]) == 100.0, inner)


def count_due(store, cpu):
    """Timer slots between samples of a CPU in which there is none."""
    times = times_of(store, "--from", "now-1m", "--cpu", str(cpu))
    return sum(max(round((later - earlier) * 97) - 1, 0) for earlier, later in zip(times, times[1:]))


@live.test(alone=True)
def test_due(folder):
    """Samples that were due are said to be missing as often as a busy CPU has a slot without one, and never of an idle one."""
    wrongs = []
    cpus = sorted(os.sched_getaffinity(0))
    for name, busy in (("idle", []), ("busy", cpus)):
        loads = beside_perf.start_load(LOAD, busy)
        done = perftape("record", "--store", folder / name, "--duration", "10s" if busy else "4s")
        beside_perf.stop(loads)
        said = re.search(r"(\d+) samples that were due", done.stderr)
        told, absent = int(said[1]) if said else 0, sum(count_due(folder / name, cpu) for cpu in cpus)
        wrongs += expect(f"{name}: {told} said to be missing of {absent} that are absent", told <= absent)
        # as many as one that idles for a tick may miss by chance are not told
        wrongs += expect(f"{name}: {told} said to be missing of {absent} that are absent", not busy or absent - told <= 8 * len(cpus), done.stderr)
    return wrongs


@live.test()
def test_stopped(folder):
    """A recorder that is stopped until the rings overflow says when samples were lost, and how many."""
    store = folder / "stopped"
    cpus = sorted(os.sched_getaffinity(0))
    loads = beside_perf.start_load(LOAD, cpus)
    began = time.time()
    recorder = start(store, "-F", "8000", "--segment", "2s")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(6)
    recorder.send_signal(signal.SIGCONT)
    goes_on = time.time()
    before = sealed(store)
    wrongs += expect("it does not go on", wait_for(lambda: sealed(store) > before + 1))
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    beside_perf.stop(loads)
    total = int(re.search(r"(\d+) lost", said)[1])
    wrongs += expect("nothing was lost: the rings did not overflow", total > 1000, said)
    lost = []
    # three windows inside the stop, and the whole recording: each knows of the loss
    for begin, end in ((goes_on - 3, goes_on - 2), (goes_on - 2, goes_on - 1), (goes_on - 1, goes_on), (began, time.time())):
        done = perftape("query", "--store", store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}", "-o", folder / "lost.stacks")
        match = re.search(r"(\d+) samples lost", done.stderr)
        lost.append(int(match[1]) if match else 0)
        wrongs += expect(f"no loss in {end - goes_on:.0f} s", lost[-1] > 0, done.stderr)
    return wrongs + expect("not all of the loss in the whole window", lost[-1] == total, lost, said)


SWITCH = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


def is_sampled(store, since, seconds):
    """CPU 1, busy as it is, from a moment after that one on, for so long and without a hole."""
    times = times_of(store, "--from", f"@{since:.6f}", "--cpu", "1")
    return len(times) > 80 * seconds and len(times) > 0.8 * 97 * (times[-1] - times[0])


def come_and_go(store, away):
    """A recording in which CPU 1 is away for a moment; when that was, and what is wrong so far."""
    recorder = start(store)
    loads = []
    try:
        wrongs = expect("CPU 1 is not sampled", wait_for(lambda: times_of(store, "--from", "now-5s", "--cpu", "1")))
        went, came = away(recorder)
        # it becomes what it is on that CPU, most likely before its events are open again
        loads = [subprocess.Popen(["taskset", "-c", "1", LOAD, "1"])]
        wrongs += expect("it is not sampled again", wait_for(lambda: is_sampled(store, came, 1.5)))
        busy = [head["comm"].strip() for head in samples_of(store, "--from", f"@{came:.6f}", "--cpu", "1", "--pid", loads[0].pid)]
        wrongs += expect("who runs there has no name", busy.count("load") > 100 and busy.count("load") > 0.9 * len(busy), collections.Counter(busy))
    finally:
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    return went, came, wrongs + expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)


@live.test(alone=True)
def test_cpu_offline(folder):
    """A CPU that goes offline and comes back is sampled again, and the time between is said to be missing."""
    store = folder / "offline"
    if not SWITCH.exists():
        return ["CPU 1 cannot be switched off on this machine"]

    def away(_):
        nonlocal said
        with live.setting(SWITCH, "0"):
            went = time.time()
            time.sleep(2.5)
            said = perftape("status", "--store", store).stdout
            return went, time.time()

    said = ""
    went, came, wrongs = come_and_go(store, away)
    wrongs += expect("status does not say so", "offline    1 time a CPU was offline; 1 now" in said, said)
    times = times_of(store, "--from", "now-1m", "--cpu", "1")
    wrongs += expect("samples of a CPU that was not there", not [at for at in times if went < at < came])
    last = max(at for at in times if at <= went + 0.1)
    done = perftape("query", "--store", store, "--from", f"@{max(last - 0.3, times[0]):.6f}", "--to", f"@{last:.6f}", "--cpu", "1", "-o", folder / "x")
    wrongs += expect("it was away before its last sample", "covered 100 %" in done.stderr, done.stderr)
    return wrongs + check_absence(store, went, came, folder / "x")


def check_absence(store, went, came, output):
    """What is said of CPU 1 around and within the time in which it was away."""
    wrongs = []
    for begin, end, cpus, code in ((went + 0.2, came - 0.2, ("--cpu", "1"), 3), (went + 0.2, came - 0.2, (), 0), (went + 0.2, came + 1.5, ("--cpu", "1"), 4)):
        done = perftape("query", "--store", store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}", "-o", output, "--strict", *cpus)
        wrongs += expect("not said that it was offline", "CPU 1 was offline" in done.stderr, done.stderr)
        wrongs += expect(f"exit code {done.returncode}", not cpus or done.returncode == code, done.stderr)
        wrongs += expect("covered without it", not cpus or "covered 100 %" not in done.stderr, done.stderr)
    return wrongs


@live.test(alone=True)
def test_cpu_absent(folder):
    """A CPU that is offline when a recording begins is said to be so from its begin."""
    store = folder / "absent"
    if not SWITCH.exists():
        return ["CPU 1 cannot be switched off on this machine"]
    with live.setting(SWITCH, "0"):
        recorder = start(store)
        wrongs = expect("nothing is sampled", wait_for(lambda: times_of(store, "--from", "now-5s")))
        began = min(times_of(store, "--from", "now-1m"))
        time.sleep(1.5)
        came = time.time()
    loads = beside_perf.start_load(LOAD, [1])
    try:
        wrongs += expect("it is not sampled", wait_for(lambda: is_sampled(store, came, 1.5)))
    finally:
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
    return wrongs + check_absence(store, began, came, folder / "x")


@live.test(alone=True)
def test_cpu_blinks(folder):
    """A CPU that goes offline and comes back between two looks is sampled again, though nothing but its silence shows it."""
    store = folder / "blink"
    if not SWITCH.exists():
        return ["CPU 1 cannot be switched off on this machine"]

    def away(recorder):
        recorder.send_signal(signal.SIGSTOP)
        with live.setting(SWITCH, "0"):
            went = time.time()
        recorder.send_signal(signal.SIGCONT)
        return went, time.time()

    went, came, wrongs = come_and_go(store, away)
    done = perftape("query", "--store", store, "--from", f"@{went:.3f}", "--to", f"@{came + 0.5:.3f}", "-o", folder / "x")
    return wrongs + expect("not said that it was offline", "offline" in done.stderr, done.stderr)


@live.test(alone=True)
def test_lowered_rate(folder):
    """A kernel that allows fewer samples while we record: said, with the limit and how often it throttled; and afterwards it is over."""
    store = folder / "lowered"
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    try:
        recorder = start(store, "-F", "4000")
        wrongs = expect("nothing is sampled", wait_for(lambda: times_of(store, "--from", "now-5s")))
        with live.setting("/proc/sys/kernel/perf_event_max_sample_rate", "500"):
            lowered = time.time()
            time.sleep(2.5)
            told = perftape("status", "--store", store).stdout
            progress = json.loads(perftape("status", "--json", "--store", store).stdout)["recording"]["progress"]
            refused = perftape("record", "--store", folder / "refused", "-F", "501")
            raised = time.time()
        time.sleep(2.7)
    finally:
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    wrongs += expect("status does not tell the limit", "lowered    the kernel allows 500 samples a second" in told, told)
    wrongs += expect("throttling counts as samples", progress["recent_samples"] <= progress["samples"] + 4000, progress)
    wrongs += expect("not said what to ask for", refused.returncode == 1 and "take -F 500, or" in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr)
    wrongs += expect("not said that it was throttled", re.search(r"throttled .* [1-9]\d* times", said), said)
    for begin, end, is_lowered in ((lowered + 1.1, raised - 0.1, True), (raised + 1.5, raised + 2.5, False)):
        done = perftape("query", "--store", store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}", "-o", folder / "x")
        wrongs += expect("the limit is not told", ("at most 500 samples a second allowed" in done.stderr) == is_lowered, done.stderr)
        came = len(times_of(store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}"))
        absent = int((re.search(r"(\d+) samples that were due", done.stderr) or [0, 0])[1])
        due = 4000 * len(os.sched_getaffinity(0)) * (end - begin)
        # a throttling that reaches over the edge is told as a whole
        wrongs += expect(f"{came} came and {absent} are told of {due:.0f}", not is_lowered or 0.9 * due < came + absent < 1.1 * due + 8000, done.stderr)
        wrongs += expect("throttling is not told", bool(re.search(r"[1-9]\d* times throttled", done.stderr)) == is_lowered, done.stderr)
    return wrongs


@live.test()
def test_what_is_sampled(folder):
    """Only the CPUs that were asked for; only the kernel's part of the stacks; the event that was asked for."""
    store = folder / "asked"
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    done = perftape("record", "--store", store, "--duration", "2s", "--cpus", "0", "--no-user-stacks", "--event", "cpu-clock", "--ring", "64K")
    beside_perf.stop(loads)
    wrongs = expect("record failed", done.returncode == 0 and "of 1 CPU at cpu-clock" in done.stderr, done.stderr)
    heads = samples_of(store, "--from", "now-1m")
    wrongs += expect("samples of other CPUs, or none", heads and {int(head["cpu"]) for head in heads} == {0})
    done = perftape("query", "--store", store, "--from", "now-1m", "--cpu", "1000")
    wrongs += expect("a CPU that was not to be recorded", done.returncode == 3 and
                     "CPU 1000 was not recorded in that window, only CPU 0\n" in done.stderr, done.stderr)
    folded = perftape("query", "--store", store, "--from", "now-1m", "--format", "folded").stdout
    wrongs += expect("callers in the load", not re.search(r"^load;.*;load_alpha \d+$", folded, re.MULTILINE), folded[:1000])
    beyond = folder / "beyond"
    recorder = start(beyond, "--duration", "3s", "--cpus", "0", wrapper=["taskset", "-c", "1"])
    time.sleep(1)
    subprocess.run(["taskset", "-c", "1", "sh", "-c", "exec taskset -c 0 timeout 1 md5sum /dev/zero"], check=False)
    _, said = recorder.communicate(timeout=WAIT)
    wrongs += expect("a recorder on another CPU failed", recorder.returncode == 0, said)
    folded = perftape("query", "--store", beyond, "--from", "now-1m", "--format", "folded").stdout
    wrongs += expect("no name of who started on another CPU", re.search(r"^md5sum;.* \d+$", folded, re.MULTILINE), folded[:1000])
    done = perftape("record", "--store", store, "--cpus", "4095")
    wrongs += expect("a CPU that is not there", done.returncode == 1 and "CPU 4095 is not online" in done.stderr, done.stderr)
    return wrongs


@live.test()
def test_start_in_a_storm(folder):
    """It starts also while others start in such numbers that the rings of names run over."""
    storms = [subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) for _ in range(8)]
    wrongs = []
    for number in range(4):
        done = perftape("record", "--store", folder / f"storm {number}", "--duration", "0.3s", "--ring", "64K")
        wrongs += expect("it does not start", done.returncode == 0, done.stderr)
    beside_perf.stop(storms)
    return wrongs


RENAMED = """
import ctypes, time
for name in (b"first-name", b"second-name"):
    ctypes.CDLL(None).prctl(15, name)
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
"""


@live.test()
def test_renamed_thread(folder):
    """A process that renames itself appears under both names, each in its time."""
    store = folder / "renamed"
    recorder = start(store)
    wait_for(lambda: list(store.glob("spool/*.spool")))
    subprocess.run([sys.executable, "-c", RENAMED], check=True)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=WAIT)
    heads = samples_of(store, "--from", "now-5m")
    first, second = ([float(head["time"]) for head in heads if head["comm"] == name] for name in ("first-name", "second-name"))
    wrongs = expect("one of the names is missing", min(len(first), len(second)) > 50, len(first), len(second))
    return wrongs or expect("the names overlap", max(first) < min(second))


FAULTS = """
import mmap
while True:
    with mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        for at in range(0, len(room), 4096):
            room[at] = 1
"""


@live.test()
def test_page_faults(folder):
    """Page faults that go on are sampled all the while: the kernel's first guess of a period would take minutes."""
    store = folder / "faults"
    faults = subprocess.Popen([sys.executable, "-c", FAULTS])
    try:
        done = perftape("record", "--store", store, "--event", "page-faults", "--duration", "6s")
    finally:
        faults.kill()
        faults.wait()
    lines = perftape("query", "--store", store, "--from", "now-10s", "--pid", faults.pid, "--format", "json").stdout.splitlines()
    seconds = collections.Counter(json.loads(line)["time"][:19] for line in lines[:-1])
    wrongs = expect("not in four seconds of six", sum(count >= 10 for count in seconds.values()) >= 4, seconds, done.stderr)
    coverage = json.loads(lines[-1])["coverage"] if lines else None
    return wrongs + expect("missing, of what no timer makes", coverage and not coverage["missing"], coverage)


if __name__ == "__main__":
    sys.exit(live.main())
