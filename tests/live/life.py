#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The life of a recorder: what it reports of itself, and the signals that it takes.

Usage: life.py PERFTAPE LOAD
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import noise  # noqa: E402
from recorders import (  # noqa: E402
    PERFTAPE,
    WAIT,
    coverage_of,
    expect,
    has_reported,
    hear_hangup,
    pause,
    perftape,
    progress,
    query,
    sealed,
    seconds_of,
    segments,
    start,
    status,
    stop,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
ONE = CPUS[-1]
MEASURED = ("sampling_ns", "sample_bytes", "rides_out_ns", "recent_cpu_ns", "now_ns")  # not in the first report
SLEEP = 1  # seconds from one turn of a recorder to the next
SETTLE = 0.1  # seconds that a recorder leaves in the rings at a turn, for samples that come late


def busy_seconds(cpu):
    """How long a CPU has been busy since boot. Neither idle nor stolen time counts."""
    fields = re.search(rf"^cpu{cpu} (.*)$", pathlib.Path("/proc/stat").read_text(), re.MULTILINE)[1].split()
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def is_due(told, measured, before):
    """Taken, lost and skipped samples add up to the samples that were due on a busy CPU while the machine ran."""
    frequency, span = told["frequency"], (told["end_ns"] - told["begin_ns"]) / 1e9
    away = measured.stolen_ticks(ONE, frequency)
    least = frequency * (span - 2 * SETTLE) - away
    most = frequency * (time.monotonic() - before)
    counted = told["samples"] + told["lost"] + told["skipped"]
    return expect(
        f"{least:.0f} to {most:.0f} samples in {span:.2f} s, as the machine may have held up {away}",
        least <= counted <= most,
        told,
    )


def costs_are_plausible(recorder, told):
    """The recorder's own figures agree with the kernel's figures of its process, and with one another."""
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{recorder.pid}/status").read_text())[1]) * 1024
    deepest = told["rides_out_least_ns"]
    wrongs = expect(
        "a CPU time within that of its process",
        0 < told["recent_cpu_ns"] <= told["cpu_ns"] <= 1e9 * beside_perf.cpu_seconds(recorder.pid) + 4e7,
        told,
        beside_perf.cpu_seconds(recorder.pid),
    )
    wrongs += expect(
        "a sample that takes less than the time up to the next one",
        0 < told["sampling_ns"] < 1e9 / told["frequency"],
        told,
    )
    wrongs += expect(
        "memory, and more of it with files, within the peak of its process",
        0 < told["memory_bytes"] < told["resident_bytes"] <= 1.1 * peak,
        told,
        peak,
    )
    wrongs += expect("a peak that is within a ring", 0 < told["ring_peak_bytes"] <= told["ring_bytes"], told)
    wrongs += expect(
        "a ring that rides out longer with samples as they are than with the deepest",
        0 < deepest <= told["rides_out_ns"],
        told,
    )
    lately = 2 * (3e9 + 1e9 * SLEEP + told["late_peak_ns"] + told["drain_peak_ns"])
    return wrongs + expect(f"a now of at most {lately / 1e9:.1f} s", 0 < told["now_ns"] < lately, told)


def fill_ring(recorder, told):
    """Stops a recorder until its busy CPU has had samples for twice the size of the ring."""
    seconds = 2 * told["ring_bytes"] / (told["sample_bytes"] * told["frequency"])
    pause(recorder)
    before = busy_seconds(ONE)
    wait_for(lambda: busy_seconds(ONE) - before > seconds)
    recorder.send_signal(signal.SIGCONT)


@live.test(promise="`status` also says what a running recorder takes, loses and costs", broken_by="forget-cost")
def test_status(folder):
    """status reports what a recorder takes, loses and costs, and that it was killed."""
    store, before = folder / "status", time.monotonic()
    with beside_perf.busy(LOAD, [ONE]), noise.Noise() as measured:
        recorder = start(
            store, "--cpus", str(ONE), "--event", "cpu-clock", "--frequency", "997", "--ring", "64K", "--segment", "1s"
        )
        wrongs = expect(
            "a report with a sealed segment", wait_for(lambda: progress(store).get("segments")), status(store)
        )
        wait_for(
            lambda: all(map(progress(store).get, MEASURED)),
        )
        told, text = progress(store), perftape("status", "--store", store).stdout
        for line in ("event ", "taken ", "own CPU ", "sampling ", "memory ", "rings ", "drain ", "sealed "):
            wrongs += expect(f"status has a line '{line}'", re.search(f"^{line}", text, re.MULTILINE), text)
        wrongs += is_due(told, measured, before)
        wrongs = wrongs or costs_are_plausible(recorder, told)
        wrongs = wrongs or expect(
            "a spool on the disk soon after the rings",
            wait_for(lambda: progress(store).get("spool_lag_ns", 1e18) < 2e9),
            progress(store),
        )
        if wrongs:
            return wrongs
        fill_ring(recorder, told)
        wrongs += expect(
            "a loss when nobody empties the rings",
            wait_for(lambda: progress(store).get("lost", 0) > told["lost"]),
            progress(store),
        )
    told, text = progress(store), perftape("status", "--store", store).stdout
    in_text = re.search(r"^taken .*; (\d+) lost,", text, re.MULTILINE)
    wrongs += expect(f"{told['lost']} lost or more in the text", in_text and int(in_text[1]) >= told["lost"], text)
    wrongs += expect(
        f"{told['lost']} lost or more in the store",
        wait_for(lambda: coverage_of(store).get("lost", 0) >= told["lost"]),
        coverage_of(store),
    )
    recorder.kill()
    recorder.communicate()
    text = perftape("status", "--store", store).stdout
    return wrongs + expect(f"process {recorder.pid} was killed", f"process {recorder.pid} was killed" in text, text)


def recording_of(store):
    return status(store).get("recording") or {}


@live.test()
def test_stopped_recorder(folder):
    """status reports that a signal stopped the recorder, and for how long."""
    store = folder / "stopped"
    recorder = start(store)
    wrongs = has_reported(store)
    if wrongs:
        return wrongs
    before = progress(store)
    pause(recorder)
    stopped = time.monotonic()
    wrongs += expect(
        "a recorder that is stopped is stalled", wait_for(lambda: recording_of(store).get("stalled")), status(store)
    )
    text, recording = perftape("status", "--store", store).stdout, recording_of(store)
    wrongs += expect(
        "the signal as the cause, and the command that lets it go on",
        re.search(f"^stalled .*: a signal stopped it; kill -CONT {recorder.pid} lets it go on$", text, re.MULTILINE),
        text,
    )
    wrongs += expect("the same cause for programs", recording["stalled_cause"] == "a signal stopped it", recording)
    wrongs += expect(
        "no rate, as it was before the stop", not re.search("^taken .* a second now", text, re.MULTILINE), text
    )
    said = perftape("query", "--store", store, "--from", "now-1m", "-o", folder / "x").stderr
    wrongs += expect(
        "query says that the recorder is stalled, and not to ask a second later",
        f"process {recorder.pid}, the recorder, is stalled" in said and "a second later" not in said,
        said,
    )
    least = time.monotonic() - stopped - SLEEP
    recorder.send_signal(signal.SIGCONT)
    goes_on = wait_for(
        lambda: (told := recording_of(store)) and not told["stalled"] and told["progress"]["stalled_signal_ns"]
    )
    recording, text = recording_of(store), perftape("status", "--store", store).stdout
    wrongs += expect(
        "a recorder that goes on is not stalled, and tells of the stop",
        goes_on and recording["stalled_cause"] is None,
        recording,
    )
    told = recording["progress"]
    most = (told["elapsed_ns"] - before["elapsed_ns"] + before["drain_ns"]) / 1e9
    wrongs += expect(f"a turn that is at least {least:.2f} s late", told["late_peak_ns"] / 1e9 >= least, told)
    wrongs += expect(f"a stop of {least:.2f} to {most:.2f} s", least <= told["stalled_signal_ns"] / 1e9 <= most, told)
    line = re.search(r"^stalled    a signal stopped it for at least ([\d.]+) s", text, re.MULTILINE)
    wrongs += expect(
        f"{told['stalled_signal_ns'] / 1e9:.2f} s in the text",
        line and abs(float(line[1]) - told["stalled_signal_ns"] / 1e9) <= 0.1,
        text,
    )
    stop(recorder)
    held = coverage_of(store)["stalled_signal_ns"] / 1e9
    return wrongs + expect(f"a stop of {least:.2f} to {most:.2f} s in the store", least <= held <= most, held)


def record_and_end(store, end):
    """Records, and ends the recorder in one way. Returns what is wrong in status during the recording and after it."""
    recorder = start(store, *(() if end else ("--duration", "300ms")))
    while end:
        told = status(store)
        if told.get("recorder") and told["stopped"]:
            return expect("a recorder that runs is not said to have stopped", False, told["stopped"])
        # A killed recorder leaves only the spool.
        if told.get("recording") and told["recording"]["running"] and (told["reaches"] or end != signal.SIGKILL):
            recorder.send_signal(end)
            break
        if recorder.poll() is not None:
            return expect("it records until it is ended", False, recorder.stderr.read())
        time.sleep(0.05)
    recorder.communicate(timeout=WAIT)
    if end == signal.SIGKILL:
        return []
    told = status(store)
    return expect("no report of a recorder that ended", told["recording"] is None, told)


@live.test(promise="Every gap says why it is there", broken_by="forget-gap-cause")
def test_why_not(folder):
    """Each answer says why a stretch was not recorded, and status gives the reason for the last one."""
    store, wrongs = folder / "why not", []
    for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None, signal.SIGKILL):
        wrongs += record_and_end(store, end)
    causes = ["killed", "stopped", "stopped", "duration"]
    whys = [
        "the recorder was killed",
        "the recorder was stopped (SIGTERM)",
        "the recorder was stopped (SIGINT)",
        "the recorder had run for its --duration",
    ]
    gaps = coverage_of(store)["gaps"]
    wrongs += expect(
        f"gaps for {causes}, for these reasons: {whys}",
        [gap["cause"] for gap in gaps] == causes and [gap["why"] for gap in gaps] == whys,
        gaps,
    )
    table = perftape("segments", "--store", store).stdout
    wrongs += expect(
        f"a row for each gap in the table: {whys}",
        re.findall(r"- +- +-  \((.*)\)$", table, re.MULTILINE) == whys,
        table,
    )
    text = perftape("status", "--store", store).stdout
    wrongs += expect(
        "status says why nothing records now",
        re.search(r"NOT RECORDING, since .*: the recorder was killed$", text, re.MULTILINE),
        text,
    )
    wrongs += expect(
        f"status has a line for each gap: {whys}",
        re.findall(r"^gap  .* to \S+ \(\d.*\): (.*)$", text, re.MULTILINE) == whys,
        text,
    )
    said = perftape("query", "--store", store, "--from", "now-1h", "-o", folder / "x").stderr
    listed = re.findall(r"gap: \S+ to \S+: (.*)", said)
    return wrongs + expect(
        "query says why of each, and of what lies before and behind",
        listed == ["before the first recording", *whys, "the recorder was killed"],
        said,
    )


@live.test(promise="`SIGUSR2` makes it seal what it has now", broken_by="ignore-rotate")
def test_rotate(folder):
    """SIGUSR2 ends a segment at once, and each sample is in one segment."""
    store, begin = folder / "rotate", time.time()
    recorder = start(store, "--segment", "1h")
    wrongs = has_reported(store)
    for count in (1, 2):
        recorder.send_signal(signal.SIGUSR2)
        wrongs = wrongs or expect(
            f"{count} sealed segments after as many signals", wait_for(lambda: sealed(store) >= count), sealed(store)
        )
    said = stop(recorder)
    listed = segments(store)
    if wrongs:
        return wrongs
    hours = int(time.time() // 3600 - begin // 3600)
    wrongs = expect(
        f"two segments for the signals, {hours} for the clock, and the last one", len(listed) == 3 + hours, listed, said
    )
    holes = [seconds_of(two["begin"]) - seconds_of(one["end"]) for one, two in zip(listed, listed[1:])]
    # Each segment has its own readings of the clocks. perftape does not report such a short hole either.
    allowed = 1e-3 + 2 * query(store, "--from", "now-1h")[1]["clock_error_ns"] / 1e9
    wrongs += expect(
        f"segments that are less than {allowed} s apart", all(abs(hole) < allowed for hole in holes), holes, listed
    )
    total = int(re.search(r"(\d+) samples?", said)[1])
    return wrongs + expect(
        f"{total} samples in all segments", sum(row["samples"] for row in listed) == total, listed, said
    )


@live.test()
def test_terminal(folder):
    """At a terminal, one line shows the progress. When the terminal goes away, the recorder seals and ends."""
    store, said, end = folder / "terminal", "", time.monotonic() + WAIT
    pid, master = pty.fork()
    if pid == 0:
        hear_hangup()
        os.execv(PERFTAPE, [PERFTAPE, "record", "--store", store])
    with beside_perf.busy(LOAD, CPUS):
        # A line has its own time, but the count and the rate of the last drain, so a single line may not agree.
        while not any(map(is_of_one_moment, re.split("\r", said)[:-1])) and time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                said += os.read(master, 4096).decode(errors="replace")
    wrongs = expect("a line whose time is that of its count", time.monotonic() < end, repr(said))
    os.close(master)
    ended = wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0])
    if not ended:
        os.kill(pid, signal.SIGKILL)
    wrongs += expect("it ends with its terminal", ended)
    return wrongs + expect(
        "a sealed segment, and an empty spool",
        sealed(store) and not list(store.glob("spool/*")),
        list(store.rglob("*")),
    )


def is_of_one_moment(line):
    """Whether the time in a progress line agrees with its samples divided by its rate, both of which are rounded."""
    match = re.match(r"(\d+) s +([1-9]\d*) samples \(([1-9]\d*)/s\)  \d+ lost  [\d.]+ k?M?B  own CPU [\d.]+ %", line)
    seconds, samples, rate = map(int, match.groups()) if match else (0, 0, 1)
    return match and samples / (rate + 0.5) <= seconds + 0.6 and samples / (rate - 0.5) >= seconds - 0.6


NO_LOG = ("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /dev/kmsg && exec "$@"', "sh")


@live.test(promise="a moment to come back to", broken_by="forget-mark")
def test_mark(folder):
    """A mark can be put with and without a recorder, is listed, names a window, and does not keep segments longer."""
    store = folder / "mark"
    done = perftape("mark", "too early", "--store", store)
    wrongs = expect(
        "a mark does not make a store", done.returncode == 1 and not store.exists(), done.returncode, done.stderr
    )
    # Recent incidents in the kernel's log, also those of other tests, would keep segments.
    recorder = start(store, "--segment", "1s", wrapper=NO_LOG)
    wrongs += expect("a sealed segment", wait_for(lambda: sealed(store) >= 1), status(store))
    done = perftape("mark", "deploy", "1.2", "--store", store)
    wrongs += expect("a mark beside a recorder", done.returncode == 0, done.returncode, done.stderr)
    said = stop(recorder)
    perftape("mark", "before the deploy", "--at", "now-1h", "--store", store)
    done = perftape("incidents", "--store", store)
    wrongs += expect(
        "two marks in the list",
        re.search(r" mark +before the deploy .*\n(.*\n)*.* mark +deploy 1\.2 ", done.stdout),
        done.returncode,
        done.stdout,
        done.stderr,
    )
    rows = [json.loads(line) for line in perftape("incidents", "--json", "--store", store).stdout.splitlines()][:-1]
    listed = [row for row in rows if row["kind"] == "mark"]
    wrongs += expect(
        "two marks in the order of their times, with their texts",
        [row["line"] for row in listed] == ["before the deploy", "deploy 1.2"],
        rows,
    )
    wrongs += expect("a number for each", len({row["id"] for row in listed}) == 2, listed)
    if wrongs:
        return wrongs
    for name in ("mark", "mark:2", "mark:last", str(listed[1]["id"])):
        done = perftape("query", "--store", store, "--incident", name, "-o", os.devnull)
        wrongs += expect(
            f"--incident {name} is a window with samples",
            done.returncode == 0 and "samples" in done.stderr,
            done.returncode,
            done.stderr,
        )
    there = sealed(store)
    done = perftape("vacuum", "--store", store, "--max-age", "1ms", "--force")
    # A trace event may still report an incident, such as an out-of-memory kill.
    return wrongs + expect(
        "of two or more segments vacuum keeps the last one, in spite of the mark",
        there > 1 and (sealed(store) == 1 or len(rows) > len(listed)),
        there,
        done.stdout,
        done.stderr,
        said,
    )


NO_DEVICES = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /dev && exec "$@"')


@live.test()
def test_no_null(folder):
    """Where /dev/null does not exist, record says that, and what to do."""
    (folder / "dev").mkdir()
    (folder / "settings").touch()
    command = [PERFTAPE, "record", "--config", folder / "settings", "--store", folder / "store", "--duration", "1s"]
    done = subprocess.run([*NO_DEVICES, folder / "dev", *command], capture_output=True, text=True, timeout=WAIT)
    wanted = "perftape: /dev/null: No such file or directory; helper processes need it; create it with: mknod "
    return expect(
        "exit code 1 and a message about /dev/null",
        done.returncode == 1 and done.stderr.startswith(wanted),
        done.returncode,
        done.stderr,
    )


@live.test()
def test_nobody_listens(folder):
    """If standard error is closed, or nobody reads it, no sample is lost and no text gets into the store."""
    wrongs = []
    for name, listens in (("closed", lambda: os.close(2)), ("gone", None)):
        store = folder / f"stderr {name}"
        reader, writer = os.pipe()
        os.close(reader)
        command = [PERFTAPE, "record", "--store", store, "--duration", "300ms"]
        code = subprocess.run(command, stderr=writer, preexec_fn=listens, timeout=WAIT).returncode
        os.close(writer)
        wrongs += expect(
            f"{name}: exit code 0 and a sealed segment", code == 0 and sealed(store) >= 1, code, sealed(store)
        )
        done = perftape("verify", "--store", store)
        wrongs += expect(f"{name}: a sound store", done.returncode == 0, done.stdout, done.stderr)
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
