#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The life of a recorder: what it reports of itself, the signals it takes, and how it ends.

Usage: life.py PERFTAPE LOAD
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import noise  # noqa: E402
from recorders import (  # noqa: E402
    PERFTAPE,
    WAIT,
    Manager,
    coverage_of,
    expect,
    hear,
    hear_hangup,
    hurry,
    pause,
    perftape,
    progress,
    query,
    sealed,
    seconds_of,
    segments,
    spent_seconds,
    start,
    status,
    stop,
    threads_of,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
ONE = CPUS[-1]
SLEEP = 1  # seconds from one turn of a recorder to the next
SETTLE = 0.1  # seconds that a recorder leaves in the rings at a turn, for samples that come late
SILENT = 3  # seconds after its last report from which on commands believe that a recorder hangs
LOOK = 0.01  # seconds from one look at a process to the next
ONCE = 0.5  # seconds within which two signals are one wish to stop


@contextlib.contextmanager
def busy(cpus, nice=19):
    """A load that is pinned to each of the CPUs. A nice one fills only the time in which a CPU would idle."""
    loads = [subprocess.Popen([LOAD, str(cpu)], preexec_fn=lambda: os.nice(nice)) for cpu in cpus]
    try:
        yield
    finally:
        beside_perf.stop(loads)


def has_reported(store):
    return expect("a recorder reports what it does", wait_for(lambda: progress(store)), status(store))


def busy_seconds(cpu):
    """How long a CPU did something since the boot; it was neither idle nor stolen then."""
    fields = re.search(rf"^cpu{cpu} (.*)$", pathlib.Path("/proc/stat").read_text(), re.MULTILINE)[1].split()
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def is_due(told, measured, before):
    """What it took, lost and skipped is what the timer of a busy CPU was due, but for the time that the machine was away."""
    frequency, span = told["frequency"], (told["end_ns"] - told["begin_ns"]) / 1e9
    away = measured.stolen_ticks(ONE, frequency)
    least = frequency * (span - 2 * SETTLE) - away
    most = frequency * (time.monotonic() - before)
    counted = told["samples"] + told["lost"] + told["skipped"]
    return expect(f"{least:.0f} to {most:.0f} samples in {span:.2f} s, as the machine may have held up {away}", least <= counted <= most, told)


def costs_are_plausible(recorder, told):
    """Its figures lie within what the kernel counts of its process, and within what one of its other figures allows."""
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{recorder.pid}/status").read_text())[1]) * 1024
    deepest = told["rides_out_least_ns"]
    wrongs = expect("a CPU time within that of its process", 0 < told["recent_cpu_ns"] <= told["cpu_ns"] <= 1e9 * spent_seconds(recorder.pid) + 4e7, told, spent_seconds(recorder.pid))
    wrongs += expect("a sample that takes less than the time up to the next one", 0 < told["sampling_ns"] < 1e9 / told["frequency"], told)
    wrongs += expect("memory, and more of it with files, within the peak of its process", 0 < told["memory_bytes"] < told["resident_bytes"] <= 1.1 * peak, told, peak)
    wrongs += expect("a peak that is within a ring", 0 < told["ring_peak_bytes"] <= told["ring_bytes"], told)
    wrongs += expect("a ring that rides out longer with samples as they are than with the deepest", 0 < deepest <= told["rides_out_ns"], told)
    lately = 2 * (3e9 + 1e9 * SLEEP + told["late_peak_ns"] + told["drain_peak_ns"])
    return wrongs + expect(f"a now of at most {lately / 1e9:.1f} s", 0 < told["now_ns"] < lately, told)


def fill_ring(recorder, told):
    """Stops a recorder until its CPU was busy for so long that the samples take twice the room of the ring."""
    seconds = 2 * told["ring_bytes"] / (told["sample_bytes"] * told["frequency"])
    pause(recorder)
    before = busy_seconds(ONE)
    wait_for(lambda: busy_seconds(ONE) - before > seconds)
    recorder.send_signal(signal.SIGCONT)


@live.test(promise="`status` also says what a running recorder takes, loses and costs", broken_by="forget-cost")
def test_status(folder):
    """status tells what a recorder takes, loses and costs, and that it was killed."""
    store, before = folder / "status", time.monotonic()
    with busy([ONE]), noise.Noise() as measured:
        recorder = start(store, "--cpus", str(ONE), "--event", "cpu-clock", "--frequency", "997", "--ring", "64K", "--segment", "1s")
        wrongs = expect("a report with a sealed segment", wait_for(lambda: progress(store).get("segments")), status(store))
        wait_for(lambda: all(progress(store).get(name) for name in ("sampling_ns", "sample_bytes", "rides_out_ns", "recent_cpu_ns", "now_ns")))
        told, text = progress(store), perftape("status", "--store", store).stdout
        for line in ("event ", "taken ", "own CPU ", "sampling ", "memory ", "rings ", "drain ", "sealed "):
            wrongs += expect(f"status has a line '{line}'", re.search(f"^{line}", text, re.MULTILINE), text)
        wrongs += is_due(told, measured, before)
        wrongs = wrongs or costs_are_plausible(recorder, told)
        wrongs = wrongs or expect("a spool on the disk soon after the rings", wait_for(lambda: progress(store).get("spool_lag_ns", 1e18) < 2e9), progress(store))
        if wrongs:
            return wrongs
        fill_ring(recorder, told)
        wrongs += expect("a loss when nobody empties the rings", wait_for(lambda: progress(store).get("lost", 0) > told["lost"]), progress(store))
    told, text = progress(store), perftape("status", "--store", store).stdout
    in_text = re.search(r"^taken .*; (\d+) lost,", text, re.MULTILINE)
    wrongs += expect(f"{told['lost']} lost or more in the text", in_text and int(in_text[1]) >= told["lost"], text)
    wrongs += expect(f"{told['lost']} lost or more in the store", wait_for(lambda: coverage_of(store).get("lost", 0) >= told["lost"]), coverage_of(store))
    recorder.kill()
    recorder.communicate()
    text = perftape("status", "--store", store).stdout
    return wrongs + expect(f"process {recorder.pid} was killed", f"process {recorder.pid} was killed" in text, text)


def recording_of(store):
    return status(store).get("recording") or {}


@live.test()
def test_stopped_recorder(folder):
    """status tells a recorder that a signal stopped from one that records, and how long the stop took."""
    store = folder / "stopped"
    recorder = start(store)
    wrongs = has_reported(store)
    if wrongs:
        return wrongs
    before = progress(store)
    pause(recorder)
    stopped = time.monotonic()
    wrongs += expect("a recorder that is stopped is stalled", wait_for(lambda: recording_of(store).get("stalled")), status(store))
    text, recording = perftape("status", "--store", store).stdout, recording_of(store)
    wrongs += expect("the signal as the cause, and the command that lets it go on", re.search(f"^stalled .*: a signal stopped it; kill -CONT {recorder.pid} lets it go on$", text, re.MULTILINE), text)
    wrongs += expect("the same cause for programs", recording["stalled_cause"] == "a signal stopped it", recording)
    wrongs += expect("no rate, as it was before the stop", not re.search("^taken .* a second now", text, re.MULTILINE), text)
    said = perftape("query", "--store", store, "--from", "now-1m", "-o", folder / "x").stderr
    wrongs += expect("query says that the recorder is stalled, and not to ask a second later", f"process {recorder.pid}, which records, has written nothing since" in said and "a second later" not in said, said)
    least = time.monotonic() - stopped - SLEEP
    recorder.send_signal(signal.SIGCONT)
    goes_on = wait_for(lambda: (told := recording_of(store)) and not told["stalled"] and told["progress"]["stalled_signal_ns"])
    recording, text = recording_of(store), perftape("status", "--store", store).stdout
    wrongs += expect("a recorder that goes on is not stalled, and tells of the stop", goes_on and recording["stalled_cause"] is None, recording)
    told = recording["progress"]
    most = (told["elapsed_ns"] - before["elapsed_ns"] + before["drain_ns"]) / 1e9
    wrongs += expect(f"a turn that is at least {least:.2f} s late", told["late_peak_ns"] / 1e9 >= least, told)
    wrongs += expect(f"a stop of {least:.2f} to {most:.2f} s", least <= told["stalled_signal_ns"] / 1e9 <= most, told)
    line = re.search(r"^stalled    a signal stopped it for at least ([\d.]+) s", text, re.MULTILINE)
    wrongs += expect(f"{told['stalled_signal_ns'] / 1e9:.2f} s in the text", line and abs(float(line[1]) - told["stalled_signal_ns"] / 1e9) <= 0.1, text)
    stop(recorder)
    held = coverage_of(store)["stalled_signal_ns"] / 1e9
    return wrongs + expect(f"a stop of {least:.2f} to {most:.2f} s in the store", least <= held <= most, held)


def record_and_end(store, end):
    """Records and ends the recorder in one way. What is wrong in status meanwhile and then."""
    recorder = start(store, *(() if end else ("--duration", "300ms")))
    while end:
        told = status(store)
        if told.get("recorder") and told["stopped"]:
            return expect("a recorder that runs is not said to have stopped", False, told["stopped"])
        # Of one that is killed only the spool is left.
        if told.get("recording") and told["recording"]["running"] and (told["reaches"] or end != signal.SIGKILL):
            recorder.send_signal(end)
            break
        if recorder.poll() is not None:
            return expect("it records until it is ended", False, recorder.stderr.read())
        time.sleep(0.05)
    recorder.communicate(timeout=WAIT)
    return [] if end == signal.SIGKILL else expect("no report of a recorder that ended", status(store)["recording"] is None, status(store))


@live.test(promise="Every gap says why it is there", broken_by="forget-gap-cause")
def test_why_not(folder):
    """Each answer says why a stretch was not recorded, and status says it of the last one."""
    store, wrongs = folder / "why not", []
    for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None, signal.SIGKILL):
        wrongs += record_and_end(store, end)
    causes = ["killed", "stopped", "stopped", "duration"]
    whys = ["the recorder was killed", "the recorder was stopped (SIGTERM)", "the recorder was stopped (SIGINT)", "the recorder had run for its --duration"]
    gaps = coverage_of(store)["gaps"]
    wrongs += expect(f"gaps for {causes}, for these reasons: {whys}", [gap["cause"] for gap in gaps] == causes and [gap["why"] for gap in gaps] == whys, gaps)
    table = perftape("segments", "--store", store).stdout
    wrongs += expect(f"a row for each gap in the table: {whys}", re.findall(r"- +- +-  \((.*)\)$", table, re.MULTILINE) == whys, table)
    text = perftape("status", "--store", store).stdout
    wrongs += expect("status says why nothing records now", re.search(r"^recording  no, since .*: the recorder was killed$", text, re.MULTILINE), text)
    wrongs += expect(f"status has a line for each gap: {whys}", re.findall(r"^gap  .* to \S+ \(\d.*\): (.*)$", text, re.MULTILINE) == whys, text)
    said = perftape("query", "--store", store, "--from", "now-1h", "-o", folder / "x").stderr
    listed = re.findall(r"gap: \S+ to \S+: (.*)", said)
    return wrongs + expect("query says why of each, and of what lies before and behind", listed == ["before the first recording", *whys, "the recorder was killed"], said)


@contextlib.contextmanager
def in_memory(folder):
    """A folder on no disk, as other programs may keep a disk busy for seconds."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "perftape-test", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def family_sleeps(pid):
    """Whether no thread of a process or of its children has something to do, or waits for a disk."""
    children = [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in read(path).split()]
    return all(state == "S" for one in [pid, *children] for _, state in threads_of(one))


def read(path):
    try:
        return path.read_text()
    except OSError:  # the thread ended meanwhile
        return ""


def watch_end(recorder):
    """Waits until a recorder has ended. (the longest time for which all its threads slept, the longest time between two looks)"""
    slept = apart = 0.0
    looked = awake = time.monotonic()
    while os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        asleep, now = family_sleeps(recorder.pid), time.monotonic()
        apart, looked = max(apart, now - looked), now
        awake = awake if asleep else now
        slept = max(slept, now - awake)
        time.sleep(LOOK)
    return slept, apart


@live.test(alone=True)
def test_sealed_in_time(folder):
    """SIGTERM under load: the recorder seals all with less than 2 s of CPU time, and never sleeps meanwhile."""
    hurry()
    with in_memory(folder / "memory") as place, busy(CPUS * 2, nice=20), noise.Noise() as measured:
        recorder = start(place / "store", wrapper=("nice", "-n", "20"))
        wrongs = expect("a recorder takes samples", wait_for(lambda: progress(place / "store").get("samples", 0) > 97), status(place / "store"))
        cpu = spent_seconds(recorder.pid)
        recorder.send_signal(signal.SIGTERM)
        slept, apart = watch_end(recorder)
        said = recorder.stderr.read()
        _, code, used = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(code)
        cpu = used.ru_utime + used.ru_stime - cpu
        # Its main thread looks every 10 ms whether the others are done; a hypervisor may hold that up.
        allowed = 10 * LOOK + 2 * apart + measured.late()
        wrongs += expect("exit code 0", recorder.returncode == 0, recorder.returncode, said)
        wrongs += expect("a sealed segment, and an empty spool", sealed(place / "store") and not list(place.glob("store/spool/*")), said)
    wrongs += expect("less than 2 s of CPU time", cpu < 2, f"{cpu:.2f} s")
    return wrongs + expect(f"less than {allowed:.2f} s in which all its threads sleep", slept < allowed, f"{slept:.2f} s")


@live.test(promise="`SIGUSR2` makes it seal what it has now", broken_by="ignore-rotate")
def test_rotate(folder):
    """SIGUSR2 ends a segment at once, and each sample is in one segment."""
    store, begin = folder / "rotate", time.time()
    recorder = start(store, "--segment", "1h")
    wrongs = has_reported(store)
    for count in (1, 2):
        recorder.send_signal(signal.SIGUSR2)
        wrongs = wrongs or expect(f"{count} sealed segments after as many signals", wait_for(lambda: sealed(store) >= count), sealed(store))
    said = stop(recorder)
    listed = segments(store)
    if wrongs:
        return wrongs
    hours = int(time.time() // 3600 - begin // 3600)
    wrongs = expect(f"two segments for the signals, {hours} for the clock, and the last one", len(listed) == 3 + hours, listed, said)
    holes = [seconds_of(two["begin"]) - seconds_of(one["end"]) for one, two in zip(listed, listed[1:])]
    # Each segment has its own readings of the clocks; a shorter hole is none to perftape either.
    allowed = 1e-3 + 2 * query(store, "--from", "now-1h")[1]["clock_error_ns"] / 1e9
    wrongs += expect(f"segments that are less than {allowed} s apart", all(abs(hole) < allowed for hole in holes), holes, listed)
    total = int(re.search(r"(\d+) samples", said)[1])
    return wrongs + expect(f"{total} samples in all segments", sum(row["samples"] for row in listed) == total, listed, said)


def names_of(store):
    return {path.name for path in (store / "segments").glob("*.tape")}


def remove(store, recorder):
    """Removes the store of a recorder, which a signal stops meanwhile: so it cannot write into a folder that is about to go."""
    pause(recorder)
    shutil.rmtree(store)


@live.test(also=("build-tsan",))
def test_store_removed(folder):
    """A recorder makes a store that was removed again; it leaves one alone that another recorder has by then, and later adds to it."""
    store, said = folder / "removed", ""
    first = start(store, "--segment", "1s")
    wrongs = expect("a sealed segment", wait_for(lambda: sealed(store) >= 1), status(store))
    remove(store, first)
    first.send_signal(signal.SIGCONT)
    wrongs += expect("a store that is there again", wait_for(lambda: sealed(store) >= 1), list(folder.iterdir()))
    refused = perftape("record", "--store", store, "--duration", "1s")
    wrongs += expect("another recorder is refused", refused.returncode == 1 and f"process {first.pid} is recording into it already" in refused.stderr, refused.stderr)
    remove(store, first)
    second = start(store, "--segment", "1s")
    wrongs += expect("a segment of the second", wait_for(lambda: sealed(store) >= 1), status(store))
    first.send_signal(signal.SIGCONT)
    said += hear(first, f"process {second.pid} is recording into it already")
    wrongs += expect("the first says that the second has the store", f"process {second.pid} is recording into it already" in said, said)
    wrongs += expect("more segments of the second", wait_for(lambda: progress(store).get("segments", 0) >= 2), status(store))
    of_second = stop(second)
    # The first may have begun to write into it by now.
    counted, names = sum(row["samples"] for row in segments(store)), names_of(store)
    total = int(re.search(r"(\d+) samples", of_second)[1])
    wrongs += expect("the second ends with exit code 0", second.returncode == 0, second.returncode, of_second)
    wrongs += expect(f"at least {total} samples, as the second took", counted >= total, counted, of_second)
    wrongs += expect("segments of the first beside those of the second", wait_for(lambda: names_of(store) - names), names)
    said += stop(first)
    wrongs += expect("the first ends with exit code 0", first.returncode == 0, first.returncode, said)
    wrongs += expect("the first says that its store was replaced", f"{store} was removed or replaced" in said, said)
    wrongs += expect("the first says how much went with it", re.search(r"[1-9]\d* of the segments, \S+ MB, went with a store", said), said)
    wrongs += expect("all segments of the second", names <= names_of(store), names - names_of(store))
    sound = perftape("verify", "--store", store)
    return wrongs + expect("a sound store", sound.returncode == 0, sound.stdout, sound.stderr)


@live.test()
def test_terminal(folder):
    """At a terminal one line tells how it goes; when the terminal is gone, the recorder ends and seals."""
    store, said, end = folder / "terminal", "", time.monotonic() + WAIT
    pid, master = pty.fork()
    if pid == 0:
        hear_hangup()
        os.execv(PERFTAPE, [PERFTAPE, "record", "--store", store])
    with busy(CPUS):
        # The time is that of the line, the count and the rate are those of the last turn: on a busy machine they may differ once.
        while not any(map(is_of_one_moment, re.split("\r", said)[:-1])) and time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                said += os.read(master, 4096).decode(errors="replace")
    wrongs = expect("a line whose time is that of its count", time.monotonic() < end, repr(said))
    os.close(master)
    ended = wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0])
    if not ended:
        os.kill(pid, signal.SIGKILL)
    wrongs += expect("it ends with its terminal", ended)
    return wrongs + expect("a sealed segment, and an empty spool", sealed(store) and not list(store.glob("spool/*")), list(store.rglob("*")))


def is_of_one_moment(line):
    """Whether the time of a line of progress and its number of samples, by its rate, agree as far as both are rounded."""
    match = re.match(r"(\d+) s +([1-9]\d*) samples \(([1-9]\d*)/s\)  \d+ lost  [\d.]+ MB  own CPU [\d.]+ %", line)
    seconds, samples, rate = map(int, match.groups()) if match else (0, 0, 1)
    return match and samples / (rate + 0.5) <= seconds + 0.6 and samples / (rate - 0.5) >= seconds - 0.6


@contextlib.contextmanager
def own_filesystem(folder):
    """A file system that nobody else uses, so that it can be frozen."""
    image, mount = folder / "image", folder / "mount"
    mount.mkdir()
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    try:
        yield mount
    finally:
        subprocess.run(["umount", mount], check=False)


@contextlib.contextmanager
def frozen(mount):
    """Whoever writes into the file system hangs, and no signal ends that: so it goes on by itself if a test hangs, too."""
    subprocess.run(["fsfreeze", "--freeze", mount], check=True)
    rescue = threading.Timer(2 * WAIT, subprocess.run, [["fsfreeze", "--unfreeze", mount]])
    rescue.start()
    try:
        yield
    finally:
        rescue.cancel()
        subprocess.run(["fsfreeze", "--unfreeze", mount], check=True)


def hangs(recorder, store):
    """Whether its spooler waits for the disk, and its last report is old enough for commands to know it: they hang too before that."""
    return ("perftape-spool", "D") in threads_of(recorder.pid) and time.time() - (store / "status").stat().st_mtime > SILENT


def has_spooled(store):
    return wait_for(lambda: progress(store).get("samples") and status(store)["reaches"])


@live.test()
def test_hung_disk(folder):
    """At the end a recorder waits for a store that hangs, until a second SIGTERM comes or its patience is over, and says what is lost."""
    manager, seconds = Manager(f"@perftape-hung-{os.getpid()}"), 2
    with own_filesystem(folder) as mount:
        store, other = mount / "store", mount / "impatient"
        recorder = start(store, env=os.environ | {"NOTIFY_SOCKET": f"@perftape-hung-{os.getpid()}"})
        impatient = start(other, env=os.environ | {"PERFTAPE_SHUTDOWN_MS": str(1000 * seconds)})
        wrongs = expect("two recorders that spool", has_spooled(store) and has_spooled(other), status(store))
        with frozen(mount):
            wrongs += expect("two recorders whose disk hangs", wait_for(lambda: hangs(recorder, store) and hangs(impatient, other)), threads_of(recorder.pid))
            for command in (("status",), ("segments",), ("query", "--from", "now-1m")):
                asked = perftape(*command, "--store", store)
                wrongs += expect(f"{command[0]} answers beside a disk that hangs", asked.returncode in (0, 3, 4), asked.returncode, asked.stderr)
            begin = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
            impatient.send_signal(signal.SIGTERM)
            wrongs += expect("the recorder is about to end", manager.hear("STOPPING=1"), manager.said)
            time.sleep(ONCE + 0.1)
            wrongs += expect("after one SIGTERM it waits for the store", recorder.poll() is None, recorder.returncode)
            recorder.send_signal(signal.SIGTERM)
            said = hear(recorder, "the store hangs")
            took = time.monotonic() - begin
            wrongs += expect("after the second SIGTERM it says what is not sealed", re.search(r"the store hangs: [1-9]\d* segments are not sealed", said), said)
            wrongs += expect("this before the 30 s of its patience are over", took < 30, took)
            said = hear(impatient, "the store hangs")
            took = time.monotonic() - begin
            wrongs += expect(f"without a second signal the same after {seconds} s", "the store hangs" in said and took >= seconds, took, said)
        for one in (recorder, impatient):
            one.communicate(timeout=WAIT)
            wrongs += expect("exit code 1", one.returncode == 1, one.returncode)
        done = perftape("record", "--store", store, "--duration", "300ms")
        # One that was about to be renamed when the file system went on needs no recovery.
        wrongs += expect("the next recorder recovers what was in the spool", "recovered" in done.stderr or sealed(store) > 1, done.stderr)
    return wrongs


@live.test(long=True)
def test_patience(folder):
    """A recorder waits half a minute for a store that hangs."""
    with own_filesystem(folder) as mount:
        store = mount / "store"
        recorder = start(store)
        wrongs = expect("a recorder that spools", has_spooled(store), status(store))
        with frozen(mount):
            wrongs += expect("a recorder whose disk hangs", wait_for(lambda: hangs(recorder, store)), threads_of(recorder.pid))
            begin = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
            said = hear(recorder, "the store hangs")
            took = time.monotonic() - begin
        recorder.communicate(timeout=WAIT)
    return wrongs + expect("it gives up after 30 s", "the store hangs" in said and took >= 30, took, said)


@live.test()
def test_stopped_twice_at_once(folder):
    """Two signals at the same time, as timeout(1) sends them, are one: the recorder seals all."""
    wrongs = []
    for number in range(3):
        store = folder / f"twice{number}"
        recorder = start(store)
        wrongs += has_reported(store)
        # Signals wait for a process that is stopped, and then all come at once.
        pause(recorder)
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(signal.SIGTERM)
        said = stop(recorder, signal.SIGCONT)
        wrongs += expect("exit code 0, and all is sealed", recorder.returncode == 0 and "not sealed" not in said and sealed(store), recorder.returncode, said)
    return wrongs


NO_LOG = ("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /dev/kmsg && exec "$@"', "sh")


@live.test(promise="a moment to come back to", broken_by="forget-mark")
def test_mark(folder):
    """A mark is put beside a recorder and without one, is listed, names a window, and keeps no segment longer."""
    store = folder / "mark"
    done = perftape("mark", "too early", "--store", store)
    wrongs = expect("a mark does not make a store", done.returncode == 1 and not store.exists(), done.returncode, done.stderr)
    # What the kernel complained about lately, for other tests too, would keep segments.
    recorder = start(store, "--segment", "1s", wrapper=NO_LOG)
    wrongs += expect("a sealed segment", wait_for(lambda: sealed(store) >= 1), status(store))
    done = perftape("mark", "deploy", "1.2", "--store", store)
    wrongs += expect("a mark beside a recorder", done.returncode == 0, done.returncode, done.stderr)
    said = stop(recorder)
    perftape("mark", "before the deploy", "--at", "now-1h", "--store", store)
    done = perftape("incidents", "--store", store)
    wrongs += expect("two marks in the list", re.search(r" mark +before the deploy .*\n(.*\n)*.* mark +deploy 1\.2 ", done.stdout), done.returncode, done.stdout, done.stderr)
    rows = [json.loads(line) for line in perftape("incidents", "--json", "--store", store).stdout.splitlines()][:-1]
    listed = [row for row in rows if row["kind"] == "mark"]
    wrongs += expect("two marks in the order of their times, with their texts", [row["line"] for row in listed] == ["before the deploy", "deploy 1.2"], rows)
    wrongs += expect("a number for each", len({row["id"] for row in listed}) == 2, listed)
    if wrongs:
        return wrongs
    for name in ("mark", "mark:2", "mark:last", str(listed[1]["id"])):
        done = perftape("query", "--store", store, "--incident", name, "-o", os.devnull)
        wrongs += expect(f"--incident {name} is a window with samples", done.returncode == 0 and "samples" in done.stderr, done.returncode, done.stderr)
    there = sealed(store)
    done = perftape("vacuum", "--store", store, "--max-age", "1ms")
    # A trace event may still tell of an incident, as a kill for want of memory.
    return wrongs + expect("of two or more segments vacuum keeps the last one, in spite of the mark", there > 1 and (sealed(store) == 1 or len(rows) > len(listed)), there, done.stdout, done.stderr, said)


@live.test()
def test_nobody_listens(folder):
    """A standard error that is closed, or that nobody reads, costs no sample, and no text gets into the store's files."""
    wrongs = []
    for name, listens in (("closed", lambda: os.close(2)), ("gone", None)):
        store = folder / f"stderr {name}"
        reader, writer = os.pipe()
        os.close(reader)
        code = subprocess.run([PERFTAPE, "record", "--store", store, "--duration", "300ms"], stderr=writer, preexec_fn=listens, timeout=WAIT).returncode
        os.close(writer)
        wrongs += expect(f"{name}: exit code 0 and a sealed segment", code == 0 and sealed(store) >= 1, code, sealed(store))
        done = perftape("verify", "--store", store)
        wrongs += expect(f"{name}: a sound store", done.returncode == 0, done.stdout, done.stderr)
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
