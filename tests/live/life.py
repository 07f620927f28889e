#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The life of a recorder: what it says of itself, the signals it takes, its settings, the service manager.

Usage: life.py PERFTAPE LOAD
"""

import datetime
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, hear_hangup, perftape, sealed, start, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
SLOWNESS = 5 if "build-tsan" in PERFTAPE or "build-dev" in PERFTAPE else 1


def status(store):
    done = perftape("status", "--json", "--store", store)
    return json.loads(done.stdout) if done.returncode == 0 else None


def progress(store):
    """What the recorder told last; None before it has told anything, or when it does not run."""
    told = (status(store) or {}).get("recording")
    return told["progress"] if told and told["running"] else None


def stop(recorder, number=signal.SIGTERM):
    recorder.send_signal(number)
    _, said = recorder.communicate(timeout=WAIT)
    return said


@live.test()
def test_status(folder):
    """status tells what a recorder does and costs; that it was killed; and nothing of one that ended."""
    store = folder / "status"
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    recorder = start(store, "--segment", "2s")
    wrongs = expect("it tells nothing", wait_for(lambda: (told := progress(store)) and told["segments"] >= 2 and told["sampling_ns"]))
    told, text = progress(store), perftape("status", "--store", store).stdout
    beside_perf.stop(loads)
    wrongs += expect("an implausible cost of sampling", 100 < told["sampling_ns"] < 1000000, told)
    wrongs += expect("no memory", told["memory_bytes"] > 100000 and told["resident_bytes"] > told["memory_bytes"], told)
    wrongs += expect("no CPU time", 0 < told["recent_cpu_ns"] < told["cpu_ns"], told)
    busy = told["samples"] / (told["elapsed_ns"] / 1e9)
    wrongs += expect(f"{busy:.0f} samples a second", busy > 0.7 * 97 * told["cpus"], told)
    wrongs += expect("rings that are empty or over", 0 < told["ring_peak_bytes"] <= told["ring_bytes"], told)
    wrongs += expect("they ride out nothing", 5e9 < told["rides_out_ns"] < 1000e9, told)
    wrongs += expect("the disk is behind", told["spool_lag_ns"] < 10e9, told)
    wrongs += expect("what is now is long ago", 0 < told["now_ns"] < 8e9, told)
    for line in ("event ", "taken ", "own CPU ", "sampling ", "memory ", "rings ", "drain ", "sealed "):
        wrongs += expect(f"no line {line}", re.search(f"^{line}", text, re.MULTILINE), text)
    recorder.kill()
    recorder.communicate()
    text = perftape("status", "--store", store).stdout
    wrongs += expect("not said that it was killed", f"process {recorder.pid} was killed" in text, text)
    perftape("record", "--store", store, "--duration", "1s")
    return wrongs + expect("it tells when none runs", status(store)["recording"] is None)


@live.test()
def test_stopped_recorder(folder):
    """A recorder that stands still is told from one that records."""
    store = folder / "stands still"
    recorder = start(store)
    wrongs = expect("it tells nothing", wait_for(lambda: progress(store)))
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(6)
    text = perftape("status", "--store", store).stdout
    wrongs += expect("not said that a signal stopped it", re.search(f"^silent .*: a signal stopped it; kill -CONT {recorder.pid} lets it go on$", text, re.MULTILINE), text)
    recording = status(store)["recording"]
    wrongs += expect("programs are not told that it is silent", recording["silent"] is True and recording["silent_why"] == "a signal stopped it", recording)
    wrongs += expect("a rate that was before", not re.search("^taken .* a second now", text, re.MULTILINE), text)
    said = perftape("query", "--store", store, "--from", "now-1m", "-o", folder / "x").stderr
    wrongs += expect("who asks is told to wait", f"process {recorder.pid}, which records, has written nothing since" in said and "a second later" not in said, said)
    recorder.send_signal(signal.SIGCONT)
    wrongs += expect("still silent", wait_for(lambda: not re.search("^silent ", perftape("status", "--store", store).stdout, re.MULTILINE)))
    recording = status(store)["recording"]
    wrongs += expect("programs are told that it is still silent", recording["silent"] is False and recording["silent_why"] is None, recording)
    wrongs += expect("not said how late it was", wait_for(lambda: progress(store)["late_peak_ns"] > 4e9), progress(store))
    text = perftape("status", "--store", store).stdout
    wrongs += expect("status does not say that it was stopped", re.search(r"^held up    a signal stopped it for at least [456](\.\d)? s", text, re.MULTILINE), text)
    stop(recorder)
    held = coverage_of(store)["held_ns"] / 1e9
    # it is late for as long, but for the second that it would have slept anyway
    return wrongs + expect(f"it was stopped for 6 s, and {held} s are told", 4.5 < held < 6 + 3 * SLOWNESS)


def coverage_of(store):
    return json.loads(perftape("segments", "--json", "--store", store).stdout.splitlines()[-1])["coverage"]


@live.test()
def test_why_not(folder):
    """What every stretch that was not recorded is for: told by each answer, and the last by status."""
    store = folder / "why not"
    began = []

    def has_spooled():
        told = status(store)
        if told and told["recorder"] and told["stopped"]:
            began.append(told["stopped"])
        return progress(store) and progress(store)["samples"]

    for end in (lambda recorder: recorder.kill(), signal.SIGTERM, signal.SIGINT, None, signal.SIGKILL):
        recorder = start(store, *(() if end else ("--duration", "2s")))
        if not wait_for(has_spooled):
            return ["nothing was spooled"]
        if callable(end):
            end(recorder)
        elif end:
            recorder.send_signal(end)
        recorder.communicate(timeout=WAIT)
        time.sleep(0.1)
    causes = ["killed", "stopped", "stopped", "duration"]
    whys = ["the recorder was killed", "the recorder was stopped (SIGTERM)", "the recorder was stopped (SIGINT)", "the recorder had run for its --duration"]
    gaps = coverage_of(store)["gaps"]
    wrongs = expect("one that runs is told to have stopped", not began, began[:1])
    wrongs += expect("other gaps", [gap["cause"] for gap in gaps] == causes and [gap["why"] for gap in gaps] == whys, gaps)
    table = perftape("segments", "--store", store).stdout
    wrongs += expect("not in the table", re.findall(r"- +- +-  \((.*)\)$", table, re.MULTILINE) == whys, table)
    text = perftape("status", "--store", store).stdout
    wrongs += expect("not in the status", re.search(r"^recording  no, since .*: the recorder was killed$", text, re.MULTILINE), text)
    wrongs += expect("not all in the status", re.findall(r"^gap  .* to \S+ \(\d.*\): (.*)$", text, re.MULTILINE) == whys, text)
    said = perftape("query", "--store", store, "--from", "now-1m", "-o", folder / "x").stderr
    listed = re.findall(r"missing: \S+ to \S+: (.*)", said)
    return wrongs + expect("not in a query", listed == ["before the first recording", *whys, "the recorder was killed"], said)


@live.test(alone=True)
def test_sealed_in_time(folder):
    """SIGTERM under load: all is sealed within 2 s, and a second besides for a machine that runs tests."""
    store = folder / "in time"
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)) * 2)
    recorder = start(store)
    wait_for(lambda: progress(store))
    time.sleep(3)
    begin = time.monotonic()
    said = stop(recorder)
    took = time.monotonic() - begin
    beside_perf.stop(loads)
    wrongs = expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
    wrongs += expect("nothing was sealed", sealed(store) == 1 and not list(store.glob("spool/*")))
    return wrongs + expect(f"it took {took:.2f} s", took < 3 * SLOWNESS)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@live.test()
def test_rotate(folder):
    """SIGUSR2 ends a segment at once, and no sample is lost or there twice."""
    store = folder / "rotate"
    recorder = start(store)
    wrongs = expect("it tells nothing", wait_for(lambda: progress(store)))
    for count in (1, 2):
        recorder.send_signal(signal.SIGUSR2)
        wrongs += expect("nothing was sealed", wait_for(lambda: sealed(store) >= count))
    said = stop(recorder)
    rows = [json.loads(line) for line in perftape("segments", "--json", "--store", store).stdout.splitlines()]
    rows = [row for row in rows if "name" in row]
    wrongs += expect("not three segments", len(rows) == 3, rows, said)
    holes = [moment(two["begin"]) - moment(one["end"]) for one, two in zip(rows, rows[1:])]
    # each has readings of the clocks of its own, which are microseconds apart
    wrongs += expect("a hole between them", all(abs(hole) < 1e-3 for hole in holes), holes)
    total = int(re.search(r"(\d+) samples", said)[1])
    return wrongs + expect("samples are missing or there twice", sum(row["samples"] for row in rows) == total, rows, said)


def limits(store):
    told = status(store)
    return told["max_bytes"], told["max_age_ns"]


@live.test()
def test_reload(folder):
    """SIGHUP rereads the settings: limits apply at once, a mistake changes nothing, what needs a restart is said."""
    store, conf = folder / "reload", folder / "reload.conf"
    conf.write_text("[record]\nmax-size = 50M\nmax-age = 1h\n")
    recorder = start(store, "--config", conf, "--segment", "1s", "--max-age", "2h")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    wrongs += expect("not the limits of the file, or the option did not beat it", limits(store) == (50000000, 7200000000000), limits(store))
    conf.write_text("[record]\nmax-size = 60M\nfrequency = 50\n")
    recorder.send_signal(signal.SIGHUP)
    wrongs += expect("the limit was not taken on", wait_for(lambda: limits(store)[0] == 60000000), limits(store))
    conf.write_text("[record]\nmax-size = 70M\nmax-sizes = 1\n")
    recorder.send_signal(signal.SIGHUP)
    time.sleep(1.5)
    conf.write_text("[record]\nmax-size = much\n")
    recorder.send_signal(signal.SIGHUP)
    time.sleep(1.5)
    wrongs += expect("a file with a mistake was taken on", limits(store)[0] == 60000000, limits(store))
    said = stop(recorder)
    for text in (f"{conf}: frequency applies when", f"{conf}:3: unknown setting 'max-sizes'; did you mean 'max-size'?", f"{conf}:2: max-size 'much' is no size", "perftape: the limits stay as they were"):
        wrongs += expect(f"not said: {text}", text in said, said)
    return wrongs + expect("not ended by SIGTERM", recorder.returncode == 0, recorder.returncode)


@live.test()
def test_settings_gone(folder):
    """Settings that are not there at SIGHUP are no wish for other limits; what needs a restart is said also to who asked for quiet."""
    store, conf = folder / "gone", folder / "gone.conf"
    conf.write_text("[record]\nmax-size = 50M\n")
    recorder = start(store, "-q", "--config", conf)
    wrongs = expect("it has no limits", wait_for(lambda: progress(store) and limits(store)[0] == 50000000))
    conf.write_text("[record]\nmax-size = 60M\nfrequency = 50\n")
    recorder.send_signal(signal.SIGHUP)
    wrongs += expect("the limit was not taken on", wait_for(lambda: limits(store)[0] == 60000000), limits(store))
    conf.unlink()
    recorder.send_signal(signal.SIGHUP)
    time.sleep(1.5)
    wrongs += expect("limits of a file that is not there", limits(store)[0] == 60000000, limits(store))
    said = stop(recorder)
    for text in (f"{conf}: frequency applies when", f"{conf}: No such file", "perftape: the limits stay as they were"):
        wrongs += expect(f"not said: {text}", text in said, said)
    return wrongs


def stored_samples(store):
    return sum(json.loads(line).get("samples", 0) for line in perftape("segments", "--json", "--store", store).stdout.splitlines())


@live.test()
def test_store_removed(folder):
    """A store that is removed is made again; one that somebody else has by then is not written to, and later nothing of his is replaced."""
    store = folder / "removed"
    first = start(store, "--segment", "1s")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 2))
    shutil.rmtree(store, ignore_errors=True)
    wrongs += expect("it is not made again", wait_for(lambda: store.exists() and sealed(store) >= 2))
    refused = perftape("record", "--store", store, "--duration", "1s")
    wrongs += expect("another recorder gets in", refused.returncode == 1 and f"process {first.pid} is recording into it already" in refused.stderr, refused.stderr)
    first.send_signal(signal.SIGSTOP)
    shutil.rmtree(store)
    second = start(store, "--segment", "1s")
    wrongs += expect("the second does not record", wait_for(lambda: sealed(store) >= 2))
    first.send_signal(signal.SIGCONT)
    told = wait_for(lambda: (progress(store) or {}).get("segments", 0) >= 4)
    wrongs += expect("the second does not go on", told)
    of_second = stop(second)
    wrongs += expect("the second was ended", second.returncode == 0, of_second)
    counted, names = stored_samples(store), {path.name for path in (store / "segments").iterdir()}
    # the first may be at it already
    wrongs += expect("not all of the second's are there", counted >= int(re.search(r"(\d+) samples", of_second)[1]), counted, of_second)
    wrongs += expect("the first does not go on", wait_for(lambda: len({path.name for path in (store / "segments").iterdir()} - names) >= 2))
    said = stop(first)
    wrongs += expect("the first was ended", first.returncode == 0, said)
    wrongs += expect("not said that it was replaced", f"{store} was removed or replaced" in said, said)
    wrongs += expect("not said what went with it", re.search(r"[1-9]\d* of the segments, \S+ MB, went with a store", said), said)
    wrongs += expect("not said whose it was", f"process {second.pid} is recording into it already" in said, said)
    wrongs += expect("segments of the second are gone", names <= {path.name for path in (store / "segments").iterdir()})
    sound = perftape("verify", "--store", store)
    return wrongs + expect("the store is not sound", sound.returncode == 0, sound.stdout, sound.stderr)


@live.test()
def test_settings(folder):
    """Options come from the command line, then the environment, then the file; the example is one; mistakes are named."""
    conf, wrongs = folder / "settings.conf", []
    conf.write_text(f"# what\nstore = {folder}/from file\nquiet = yes\n\n[record]\nduration=1s\n segment = 1s\n")
    done = perftape("record", "--config", conf)
    wrongs += expect("the file does not count", sealed(folder / "from file") >= 1 and not done.stderr, done.stderr)
    environment = os.environ | {"PERFTAPE_CONFIG": str(conf), "PERFTAPE_STORE": str(folder / "from environment")}
    perftape("record", env=environment)
    wrongs += expect("the environment does not beat the file", sealed(folder / "from environment") >= 1)
    perftape("record", "--store", folder / "from option", env=environment)
    wrongs += expect("an option does not beat the environment", sealed(folder / "from option") >= 1)
    example = (tap.TREE / "packaging" / "perftape.conf").read_text()
    for text in (example, re.sub(r"^#(?=[a-z-]+ = )", "", example, flags=re.MULTILINE)):
        conf.write_text(text)
        done = perftape("record", "--config", conf, "--store", folder / "example", "--duration", "1s")
        wrongs += expect("the example does not work", done.returncode == 0, done.stderr)
    for text, message in (
        ("frequency = 5", ":1: 'frequency' is a setting of record: it belongs behind a line [record]"),
        ("\n[recorder]", ":2: unknown section [recorder]"),
        ("[record\n", ":1: '[record' has no ]"),
        ("utc = maybe", ":1: utc is yes or no, not 'maybe'"),
        ("help = yes", ":1: unknown setting 'help'"),
        ("[record]\nring =", ":2: ring needs a value: SIZE"),
        ("[record]\nring", ":2: 'ring' is no setting; write name = value"),
        ("[record]\nring = 1 Z", ":2: ring '1 Z' is no size"),
    ):
        conf.write_text(text)
        done = perftape("record", "--config", conf, "--store", folder / "never")
        wrongs += expect(f"{text!r}: not one clear line", done.returncode == 2 and f"{conf}{message}" in done.stderr and done.stderr.count("\n") == 1, done.returncode, done.stderr)
    done = perftape("status", "--config", folder / "not there")
    return wrongs + expect("a file that is named and not there", done.returncode == 2 and "not there: there is no such file; give --config one" in done.stderr, done.stderr)


class Manager:
    """A service manager's socket, by a path or an abstract name, and what came through it."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name[0] == "@" else name)
        self.said = []

    def hear(self, text):
        """Waits until that was said."""
        end = time.monotonic() + WAIT
        while not any(text in line for line in self.said) and time.monotonic() < end:
            if select.select([self.socket], [], [], 0.2)[0]:
                self.said += self.socket.recv(4096).decode().split("\n")
        return any(text in line for line in self.said)


@live.test()
def test_service(folder):
    """A service manager is told that it is ready, alive, reloading and stopping, through a path and an abstract name."""
    wrongs = []
    for name in (str(folder / "notify"), f"@perftape-test-{os.getpid()}"):
        manager, store = Manager(name), folder / f"service {name[0] == '@'}"
        recorder = start(store, "-q", env=os.environ | {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000000"})
        for text in ("READY=1", "STATUS=", "WATCHDOG=1"):
            wrongs += expect(f"{name}: not told {text}", manager.hear(text), manager.said)
        manager.said.clear()
        wrongs += expect(f"{name}: it is not told that it goes on to live", manager.hear("WATCHDOG=1"))
        manager.said.clear()
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        recorder.send_signal(signal.SIGHUP)
        wrongs += expect(f"{name}: not ready again", manager.hear("READY=1"), manager.said)
        stamps = [int(line.split("=")[1]) for line in manager.said if line.startswith("MONOTONIC_USEC=")]
        wrongs += expect(f"{name}: not reloading", "RELOADING=1" in manager.said and len(stamps) == 1 and before <= stamps[0], manager.said)
        stop(recorder)
        wrongs += expect(f"{name}: not stopping", manager.hear("STOPPING=1"), manager.said)
        wrongs += expect(f"{name}: exit code {recorder.returncode}", recorder.returncode == 0)
    recorder = start(folder / "nobody", "--duration", "1s", env=os.environ | {"NOTIFY_SOCKET": str(folder / "nowhere")})
    _, said = recorder.communicate(timeout=WAIT)
    return wrongs + expect("a socket that is not there is a failure", recorder.returncode == 0, said)


@live.test()
def test_terminal(folder):
    """At a terminal one line tells how it goes; when the terminal is gone, the recording ends and is sealed."""
    store = folder / "terminal"
    pid, master = pty.fork()
    if pid == 0:
        hear_hangup()
        os.execv(PERFTAPE, [PERFTAPE, "record", "--store", str(store)])
    said, end = "", time.monotonic() + WAIT
    while not re.search(r"\r[^\r\n]*[1-9]\d* samples \([\d.]+/s\)[^\r\n]* lost[^\r\n]* MB[^\r\n]*own CPU [\d.]+ %", said) and time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            said += os.read(master, 4096).decode(errors="replace")
    wrongs = expect("no line of progress", time.monotonic() < end, repr(said))
    first = re.search(r"\r(\d+) s +([1-9]\d*) samples \(([1-9]\d*)/s\)", said)
    wrongs += expect("the time is not that of the count", first and abs(int(first[2]) / int(first[3]) - int(first[1])) <= 0.6, repr(said))
    os.close(master)
    end = time.monotonic() + WAIT
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            wrongs.append("it goes on without its terminal")
        time.sleep(0.05)
    return wrongs + expect("nothing was sealed", sealed(store) == 1)


def frozen_store(folder):
    """A file system of its own, which can be frozen."""
    image, mount = folder / "image", folder / "mount"
    mount.mkdir()
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    return mount


@live.test()
def test_hung_disk(folder):
    """A store that hangs at the end is not waited for when a second SIGTERM comes, nor for longer than 30 s; what was not written is said."""
    mount = frozen_store(folder)
    store = mount / "store"
    try:
        recorder, patient = start(store), start(mount / "patient")
        wrongs = expect("nothing is spooled", wait_for(lambda: (progress(store) or {}).get("elapsed_ns", 0) > 4e9))
        subprocess.run(["fsfreeze", "--freeze", mount], check=True)
        try:
            time.sleep(4)
            for command in (("status",), ("segments",), ("query", "--from", "now-1m")):
                asked = perftape(*command, "--store", store)
                wrongs += expect(f"{command[0]} of a store that hangs", asked.returncode in (0, 3, 4) and "Traceback" not in asked.stderr, asked.stderr)
            begin = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
            patient.send_signal(signal.SIGTERM)
            time.sleep(1.5)
            wrongs += expect("it did not wait for the store", recorder.poll() is None)
            recorder.send_signal(signal.SIGTERM)
            said = recorder.stderr.readline()
            wrongs += expect("not said what is not written", "the store hangs: 1 segments are not sealed" in said, said)
            wrongs += expect("it went on to wait", time.monotonic() - begin < 3.5)
            wrongs += expect("what is said without a second signal", "the store hangs" in patient.stderr.readline())
            took = time.monotonic() - begin
            wrongs += expect(f"it waited {took:.1f} s", 29 < took < 35 * SLOWNESS)
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", mount], check=True)
        for one in (recorder, patient):
            one.communicate(timeout=WAIT)
            wrongs += expect(f"exit code {one.returncode}", one.returncode == 1)
        done = perftape("record", "--store", store, "--duration", "1s")
        # with ThreadSanitizer a process that exits lets its threads go on for a while
        wrongs += expect("what was in the spool is not recovered", "recovered" in done.stderr or sealed(store) > 1, done.stderr)
    finally:
        subprocess.run(["umount", mount], check=False)
    return wrongs


@live.test()
def test_stopped_twice_at_once(folder):
    """Two signals at the same time, as timeout(1) sends them, stop it as one does: nothing is left unsealed."""
    wrongs = []
    for i in range(5):
        store = folder / f"twice{i}"
        recorder = start(store)
        wrongs += expect("it does not record", wait_for(lambda: progress(store)))
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(signal.SIGTERM)
        _, said = recorder.communicate(timeout=WAIT)
        wrongs += expect("it did not wait for the store", recorder.returncode == 0 and "not sealed" not in said, said)
    return wrongs


@live.test()
def test_mark(folder):
    """A mark is put beside a recorder and without one, is listed, names a window, and pins nothing."""
    store = folder / "mark"
    done = perftape("mark", "too early", "--store", store)
    wrongs = expect("a mark makes a store", done.returncode == 1 and not store.exists(), done.stderr)
    recorder = start(store, "--segment", "1s")
    wrongs += expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    done = perftape("mark", "deploy", "1.2", "--store", store)
    wrongs += expect("no mark beside a recorder", done.returncode == 0, done.stderr)
    time.sleep(2)
    stop(recorder)
    perftape("mark", "before the deploy", "--at", "now-1h", "--store", store)
    table = perftape("incidents", "--store", store).stdout
    wrongs += expect("not listed", re.search(r" mark +before the deploy .*\n(.*\n)*.* mark +deploy 1\.2 ", table), table)
    rows = [json.loads(line) for line in perftape("incidents", "--json", "--store", store).stdout.splitlines()][:-1]
    listed = [row for row in rows if row["kind"] == "mark"]
    wrongs += expect("not by time, each with a number and its text", [(row.get("kind"), row.get("line")) for row in listed] == [("mark", "before the deploy"), ("mark", "deploy 1.2")] and listed[0]["id"] != listed[1]["id"], listed)
    for name in ("mark", "mark:2", "mark:last", str(listed[1]["id"])):
        done = perftape("query", "--store", store, "--incident", name, "-o", os.devnull)
        wrongs += expect(f"no window around {name}", done.returncode == 0 and "samples" in done.stderr, done.stderr)
    time.sleep(1)
    done = perftape("vacuum", "--store", store, "--max-age", "1s")
    # what the kernel complained about lately, for other tests too, does
    return wrongs + expect("it pins what is around it", sealed(store) <= 1 or len(rows) > len(listed), done.stderr)


@live.test()
def test_nobody_listens(folder):
    """A standard error that is closed, or whose reader is gone, costs no sample; nothing of what would be said gets into the store's files."""
    wrongs = []
    for name, listens in (("closed", lambda: os.close(2)), ("gone", None)):
        store = folder / f"stderr {name}"
        reader, writer = os.pipe()
        os.close(reader)
        code = subprocess.run([PERFTAPE, "record", "--store", store, "--duration", "1s"], stderr=writer, preexec_fn=listens, timeout=WAIT).returncode
        os.close(writer)
        wrongs += expect(f"{name}: exit code {code}, {sealed(store)} segments", code == 0 and sealed(store) >= 1)
        done = perftape("verify", "--store", store)
        wrongs += expect(f"{name}: the store is damaged", done.returncode == 0, done.stdout, done.stderr)
    return wrongs


KEPT = {19, 2, 40, 34, 14, 38}  # ptrace, read-search, checkpoint-restore, syslog, ipc-lock, perfmon
NOBODY = 65534


def capabilities(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    bits = {int(re.search(rf"^{name}:\s+([0-9a-f]+)", text, re.MULTILINE)[1], 16) for name in ("CapPrm", "CapEff")}
    return {number for number in range(64) if any(some >> number & 1 for some in bits)}, int(re.search(r"^Uid:\s+(\d+)", text, re.MULTILINE)[1])


def kernel_is_named(store):
    folded = perftape("query", "--store", store, "--from", "now-1m", "--format", "folded").stdout
    return re.search(r"[;\s](asm_sysvec_|do_syscall_64|default_idle|cpuidle_enter|pv_native_safe_halt)", folded), folded[:500]


def lacking(told):
    """What rights or the kernel's age keep from it; cycles are the machine's to have, and then are what it samples. Only who began as root has tracefs where it is not mounted."""
    missing = set(filter(None, told["missing"].split(",")))
    if not any(map(os.path.exists, ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"))):
        missing -= {"tracefs"}
    return (missing - {"cycles"}) | ({"cycles and another event"} if ("cycles" in missing) != (told["event"] != "cycles") else set())


@live.test(alone=True)
def test_user(folder):
    """With --user, root is dropped but for what sampling needs: CPUs that come later are sampled, files belong to the user."""
    folder.chmod(0o755)
    store, switch = folder / "user", pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    recorder = start(store, "--user", "nobody", "--segment", "2s")
    wrongs = expect("it tells nothing", wait_for(lambda: progress(store)))
    kept, uid = capabilities(recorder.pid)
    wrongs += expect("it is still root, or somebody else", uid == NOBODY, uid)
    wrongs += expect("not the capabilities that it needs, or others", kept == KEPT, kept)
    cpus = progress(store)["cpus"]
    with live.setting(switch, "0"):
        wrongs += expect("it does not see that a CPU goes", wait_for(lambda: progress(store)["cpus"] == cpus - 1))
    wrongs += expect("a CPU that came back is not sampled", wait_for(lambda: progress(store)["cpus"] == cpus))
    wrongs += expect("something is missing", not lacking(progress(store)), progress(store))
    # root looked for them before it became somebody who could not
    wrongs += expect("no trace events", "tracefs" not in progress(store)["missing"], progress(store)["missing"])
    said = stop(recorder)
    wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
    owners = {path.stat().st_uid for path in [store, *store.rglob("*")]}
    wrongs += expect("files of others in its store", owners == {NOBODY}, owners)
    wrongs += expect("the kernel has no names", *kernel_is_named(store))
    done = perftape("record", "--store", folder / "never", "--user", "no-such-user")
    wrongs += expect("an unknown user", done.returncode == 1 and done.stderr == "perftape: there is no user 'no-such-user'\n" and not (folder / "never").exists(), done.stderr)
    done = perftape("record", "--store", folder / "by number", "--user", str(NOBODY), "--duration", "1s")
    wrongs += expect("a uid", done.returncode == 0 and (folder / "by number").stat().st_uid == NOBODY, done.stderr)
    closed = folder / "closed"
    closed.mkdir(0o700)
    done = perftape("record", "--store", closed / "above" / "store", "--user", "nobody")
    wrongs += expect("a folder that is closed to the user", done.returncode == 1 and f"may not enter {closed}, " in done.stderr and done.stderr.count("\n") == 1 and not any(closed.iterdir()), done.stderr)
    perftape("record", "--store", folder / "of root", "--duration", "1s")
    done = perftape("record", "--store", folder / "of root", "--user", "nobody")
    return wrongs + expect("a store of root's", done.returncode == 1 and "chown" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def run_with(folder, numbers, bind=None, look=lambda store: None):
    """Runs as nobody, as a file that has such capabilities."""
    program = folder / "program"
    shutil.copy(PERFTAPE, program)
    program.chmod(0o755)
    bits = sum(1 << number for number in numbers)
    if numbers:
        os.setxattr(program, "security.capability", struct.pack("<5I", 0x02000001, bits & 0xffffffff, 0, bits >> 32, 0))
    home = folder / "home"
    home.mkdir(exist_ok=True)
    os.chown(home, NOBODY, NOBODY)
    store = home / f"store {len(numbers)}"
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    recorder = subprocess.Popen([program, "record", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", preexec_fn=bind, **nobody)
    wait_for(lambda: progress(store) or recorder.poll() is not None)
    told = progress(store)
    look(store)
    return store, told, stop(recorder), recorder.returncode


@live.test()
def test_file_capabilities(folder):
    """A user who is not root records with a file that has the capabilities; with fewer, what that costs is said."""
    folder.chmod(0o755)
    (folder / "caps").mkdir()
    store, told, said, code = run_with(folder / "caps", KEPT)
    wrongs = expect("it does not record", code == 0 and told and told["samples"] >= 0 and not lacking(told), code, told, said)
    wrongs += expect("the kernel has no names", *kernel_is_named(store))
    asked = []
    store, told, said, code = run_with(folder / "caps", {38, 14}, look=lambda store: asked.append(perftape("status", "--store", store).stdout))
    # with no right to read its own environment, the sanitizer does not know which leaks are libperf's
    ended = code == 0 or "LeakSanitizer" in said
    wrongs += expect("what is missing is not told", ended and told and {"ptrace", "map-files", "private-files"} <= lacking(told), code, told, said)
    mounted = any(map(os.path.exists, ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")))
    wrongs += expect("not what would give trace events", ("CAP_DAC_READ_SEARCH, would tell" if mounted else "mount -t tracefs") in asked[0], asked)
    with live.setting("/proc/sys/kernel/perf_event_paranoid", "2"):
        store, told, said, code = run_with(folder / "caps", set())
    return wrongs + expect("not one line about CAP_PERFMON", code == 1 and "CAP_PERFMON" in said and said.count("\n") == 1, code, said)


@live.test(alone=True)
def test_little_memory(folder):
    """Without the right to lock memory the rings are as large as a limit leaves, and what that costs is said."""
    folder.chmod(0o755)
    # what a user has locked counts as one: nobody else records as this one
    with live.setting("/proc/sys/kernel/perf_event_mlock_kb", "516"):
        _, told, said, code = run_with(folder, KEPT - {14}, lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536)))
    return expect("not said", code == 0 and told and told["ring_bytes"] < 1 << 20 and "ring-size" in lacking(told), code, told, said)


if __name__ == "__main__":
    sys.exit(live.main())
