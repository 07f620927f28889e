#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Real recordings of this machine: what is taken, what is asked of it, and how it ends.

Usage: record.py PERFTAPE LOAD
"""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, perftape, sealed, start, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
SECONDS = 10


def check_stacks(path, *words):
    done = subprocess.run([TESTS / "tools" / "check-stacks", path, *words], capture_output=True, text=True)
    return [] if done.returncode == 0 else done.stdout.splitlines()


def test_idle_and_busy(folder):
    """What Flamescope would read, of an idle and of a busy machine."""
    wrongs = []
    for name, cpus in (("idle", []), ("busy", sorted(os.sched_getaffinity(0)))):
        store, stacks = folder / name, folder / f"{name}.stacks"
        loads = beside_perf.start_load(LOAD, cpus)
        done = perftape("record", "--store", store, "--duration", "3s")
        beside_perf.stop(loads)
        wrongs += expect(f"{name}: record failed", done.returncode == 0, done.stderr)
        done = perftape("query", "--store", store, "--from", "now-1m", "-o", stacks)
        wrongs += expect(f"{name}: query failed", done.returncode == 0, done.stderr)
        wrongs += check_stacks(stacks)
    folded = perftape("query", "--store", folder / "busy", "--from", "now-2m", "--format", "folded").stdout
    wrongs += expect("no load in the folded stacks", re.search(r"^load;.*load_alpha \d+$", folded, re.MULTILINE), folded[:2000])
    return wrongs


def test_commands_to_look(folder):
    """The two commands that record prints work as they stand."""
    store = folder / "a store"
    done = perftape("record", "--store", store, "--duration", "2s")
    commands = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
    wrongs = expect("not two commands", len(commands) == 2, done.stderr)
    for command in commands:
        ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=WAIT)
        wrongs += expect(f"failed: {command}", ran.returncode == 0, ran.stderr)
    return wrongs + check_stacks(folder / "perftape.stacks")


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


def test_rotation(folder):
    """Segments of a second, both CPUs busy: each timer tick in one of them, and no hole between them."""
    store = folder / "rotation"
    cpus = sorted(os.sched_getaffinity(0))
    loads = beside_perf.start_load(LOAD, cpus)
    done = perftape("record", "--store", store, "--duration", "8s", "--segment", "1s")
    beside_perf.stop(loads)
    wrongs = expect("record failed", done.returncode == 0, done.stderr)
    wrongs += expect("not a segment a second", 7 <= sealed(store) <= 9, sealed(store))
    text = perftape("query", "--store", store, "--from", "now-1m").stdout
    heads = [match for match in map(beside_perf.HEAD.match, text.splitlines()) if match and int(match["period"])]
    for cpu in cpus:
        times = sorted(float(head["time"]) for head in heads if int(head["cpu"]) == cpu)
        steps = sorted(later - earlier for earlier, later in zip(times, times[1:]))
        wrongs += expect(f"CPU {cpu}: the same tick twice", steps[0] > 0.001, steps[:3])
        missing = sum(round(step * 97) - 1 for step in steps)
        at_ends = [earlier for earlier, later in zip(times, times[1:]) if int(earlier) != int(later) and round((later - earlier) * 97) > 1]
        wrongs += expect(f"CPU {cpu}: ticks are missing where segments meet", len(at_ends) <= 2, at_ends)
        wrongs += expect(f"CPU {cpu}: {missing} of {len(times)} ticks are missing", missing <= 0.03 * len(times), steps[-5:])
    inner = re.search(r"covered ([\d.]+) %", perftape("query", "--store", store, "--from", f"@{times[0] + 0.1}", "--to", f"@{times[-1] - 0.1}", "-o", folder / "inner").stderr)
    return wrongs + expect("a hole between segments", inner and float(inner[1]) == 100.0, inner)


def test_stopped(folder):
    """A recorder that is stopped until the rings overflow says when samples were lost, and how many."""
    store = folder / "stopped"
    cpus = sorted(os.sched_getaffinity(0))
    loads = beside_perf.start_load(LOAD, cpus)
    recorder = start(store, "-F", "8000", "--segment", "3s")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    recorder.send_signal(signal.SIGSTOP)
    stopped = time.time()
    time.sleep(9)
    recorder.send_signal(signal.SIGCONT)
    goes_on = time.time()
    time.sleep(1.5)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    beside_perf.stop(loads)
    total = int(re.search(r"(\d+) lost", said)[1])
    wrongs += expect("nothing was lost: the rings did not overflow", total > 1000, said)
    lost = []
    # three windows inside the stop, and all of it: each knows of the loss, and the parts are not more than the whole
    for begin, end in ((goes_on - 3, goes_on - 2), (goes_on - 2, goes_on - 1), (goes_on - 1, goes_on), (stopped - 1, goes_on + 1)):
        done = perftape("query", "--store", store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}", "-o", folder / "lost.stacks")
        match = re.search(r"(\d+) samples lost", done.stderr)
        lost.append(int(match[1]) if match else 0)
        wrongs += expect(f"no loss in {end - goes_on:.0f} s", lost[-1] > 0, done.stderr)
    return wrongs + expect("not all of the loss in the whole window", lost[-1] == total, lost, said)


def test_cpu_offline(folder):
    """A CPU that goes offline and comes back is sampled again, and the time between is said to be missing."""
    store, switch = folder / "offline", pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not switch.exists():
        return ["CPU 1 cannot be switched off on this machine"]
    loads = []
    try:
        recorder = start(store)
        time.sleep(2.5)
        switch.write_text("0")
        went = time.time()
        time.sleep(3)
        came = time.time()
        switch.write_text("1")
        loads = beside_perf.start_load(LOAD, [1])
        time.sleep(4)
    finally:
        switch.write_text("1")
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    wrongs = expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
    times = [float(match["time"]) for match in map(beside_perf.HEAD.match, samples_of(store, "--from", "now-1m", "--cpu", "1"))]
    wrongs += expect("samples of a CPU that was not there", not [at for at in times if went < at < came])
    wrongs += expect("it is not sampled again", len([at for at in times if at > came + 1.2]) > 150, times[-1:], came)
    done = perftape("query", "--store", store, "--from", f"@{went:.3f}", "--to", f"@{came:.3f}", "-o", folder / "x")
    return wrongs + expect("not said that it was offline", "offline" in done.stderr, done.stderr)


def test_cpu_blinks(folder):
    """A CPU that goes offline and comes back between two looks is sampled again, though nothing but its silence shows it."""
    store, switch = folder / "blink", pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not switch.exists():
        return ["CPU 1 cannot be switched off on this machine"]
    loads = []
    try:
        recorder = start(store)
        time.sleep(2.5)
        recorder.send_signal(signal.SIGSTOP)
        went = time.time()
        switch.write_text("0")
        switch.write_text("1")
        recorder.send_signal(signal.SIGCONT)
        came = time.time()
        loads = beside_perf.start_load(LOAD, [1])
        time.sleep(6)
    finally:
        switch.write_text("1")
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    times = [float(match["time"]) for match in map(beside_perf.HEAD.match, samples_of(store, "--from", "now-1m", "--cpu", "1"))]
    wrongs = expect("it is not sampled again", len([at for at in times if at > came + 3.5]) > 150, times[-1:], came, said)
    done = perftape("query", "--store", store, "--from", f"@{went:.3f}", "--to", f"@{came + 0.5:.3f}", "-o", folder / "x")
    return wrongs + expect("not said that it was offline", "offline" in done.stderr, done.stderr)


def test_lowered_rate(folder):
    """A kernel that allows fewer samples while we record: said, with the limit and how often it throttled; and afterwards it is over."""
    store, limit = folder / "lowered", pathlib.Path("/proc/sys/kernel/perf_event_max_sample_rate")
    allowed = limit.read_text()
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    try:
        recorder = start(store, "-F", "4000")
        time.sleep(2.5)
        limit.write_text("500")
        lowered = time.time()
        time.sleep(3)
        limit.write_text(allowed)
        raised = time.time()
        time.sleep(3)
    finally:
        limit.write_text(allowed)
        beside_perf.stop(loads)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    wrongs = expect("not said that it was throttled", re.search(r"throttled .* [1-9]\d* times", said), said)
    for begin, end, is_lowered in ((lowered + 1.1, raised - 0.1, True), (raised + 1.5, raised + 2.5, False)):
        done = perftape("query", "--store", store, "--from", f"@{begin:.3f}", "--to", f"@{end:.3f}", "-o", folder / "x")
        wrongs += expect("the limit is not told", ("at most 500 samples a second allowed" in done.stderr) == is_lowered, done.stderr)
        wrongs += expect("throttling is not told", bool(re.search(r"[1-9]\d* times throttled", done.stderr)) == is_lowered, done.stderr)
    return wrongs


def test_what_is_sampled(folder):
    """Only the CPUs that were asked for; only the kernel's part of the stacks; the event that was asked for."""
    store = folder / "asked"
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    done = perftape("record", "--store", store, "--duration", "2s", "--cpus", "0", "--no-user-stacks", "--event", "cpu-clock", "--ring", "64K")
    beside_perf.stop(loads)
    wrongs = expect("record failed", done.returncode == 0 and "of 1 CPUs at cpu-clock" in done.stderr, done.stderr)
    heads = [beside_perf.HEAD.match(line) for line in samples_of(store, "--from", "now-1m")]
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


def test_lost_names(folder):
    """A recorder that is stopped until records of names are lost learns from /proc who runs."""
    store = folder / "names"
    recorder = start(store)
    time.sleep(1.5)
    recorder.send_signal(signal.SIGSTOP)
    loads = []
    try:
        # each of these writes over a kilobyte of fork, comm, mmap and exit records: more than the rings hold
        subprocess.run(["sh", "-c", "i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i+1)); done"], check=True)
        loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0))[:1])
    finally:
        recorder.send_signal(signal.SIGCONT)
    time.sleep(3.5)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    beside_perf.stop(loads)
    wrongs = expect("no names were lost", re.search(r"[1-9]\d* records of names and mappings were lost", said), said)
    folded = perftape("query", "--store", store, "--from", "now-3s", "--format", "folded").stdout
    return wrongs + expect("the load has no name", re.search(r"^load;.*load_alpha \d+$", folded, re.MULTILINE), folded[:2000])


def small_store(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)


def fill(store):
    """All that is left, but for what a page cannot hold."""
    with open(store / "ballast", "ab", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            pass


def test_full_disk(folder):
    """A store that is full: recording goes on in memory; with room again, everything is there."""
    store = folder / "full"
    small_store(store, "256k")
    try:
        # nothing may be sealed before it is full: that would be removed to make room
        time.sleep(10.5 - time.time() % 10)
        recorder = start(store, "--segment", "10s")
        wrongs = expect("nothing was spooled", wait_for(lambda: list(store.glob("spool/*.spool"))))
        fill(store)
        wait_for(lambda: recorder.poll() is not None or "again each second" in recorder.stderr.readline())
        time.sleep(10.5)
        wrongs += expect("the recorder gave up, or a segment was sealed", recorder.poll() is None and not sealed(store))
        (store / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)
        wrongs += expect("it did not go on", wait_for(lambda: sealed(store) >= 1))
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=WAIT)
        wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
        wrongs += expect("not said that it can be written again", "can be written again" in said, said)
        rows = perftape("segments", "--store", store, "--utc").stdout.splitlines()[1:]
        wrongs += expect("a segment is missing", len(rows) == sealed(store) >= 2, rows)
        covered = perftape("query", "--store", store, "--from", rows[0].split()[0], "--to", rows[-1].split()[0]).stderr
        wrongs += expect("there is a hole", "covered 100 %" in covered, covered)
    finally:
        subprocess.run(["umount", store], check=True)
    return wrongs


def test_disk_fills_up(folder):
    """A disk that others fill: the oldest segments go to make room, and the newest second is there."""
    store = folder / "filling"
    small_store(store, "2m")
    try:
        recorder = start(store, "--segment", "1s", "-F", "5000")
        wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 8))
        first = sorted(path.name for path in store.glob("segments/*.tape"))[0]
        fill(store)
        wrongs += expect("the oldest is still there", wait_for(lambda: not (store / "segments" / first).exists()))
        time.sleep(3)
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=WAIT)
        wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
        covered = perftape("query", "--store", store, "--from", "now-3s").stderr
        wrongs += expect("nothing of the last seconds", re.search(r"[1-9]\d* samples", covered), covered, said)
    finally:
        subprocess.run(["umount", store], check=True)
    return wrongs


def test_stopped_at_once(folder):
    """A recorder that is stopped before it has a sample makes up no times."""
    wrongs = []
    for delay in (0.0, 0.01, 0.03, 0.1):
        store = folder / f"at once {delay}"
        recorder = start(store)
        time.sleep(delay)
        recorder.send_signal(signal.SIGTERM)
        _, said = recorder.communicate(timeout=WAIT)
        wrongs += expect("times that nobody recorded", not re.search(r"192\d{3} d|1970-|25\d\d-", said), said)
    return wrongs


def test_signals(folder):
    """SIGINT and SIGTERM end a recording with everything in the store."""
    wrongs = []
    for number in (signal.SIGINT, signal.SIGTERM):
        store = folder / f"signal {number}"
        recorder = start(store, "--segment", "1s")
        wrongs += expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
        before = sealed(store)
        recorder.send_signal(number)
        _, said = recorder.communicate(timeout=WAIT)
        wrongs += expect(f"signal {number}: exit code {recorder.returncode}", recorder.returncode == 0, said)
        wrongs += expect("the last segment was not sealed", sealed(store) > before)
        wrongs += expect("half-written files were left", not list(store.glob("segments/.*")))
    return wrongs


def test_nohup(folder):
    """Who starts it with nohup and logs out finds it recording."""
    store = folder / "nohup"
    recorder = start(store, "--segment", "1s", wrapper=["nohup"])
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    recorder.send_signal(signal.SIGHUP)
    before = sealed(store)
    wrongs += expect("it does not go on", wait_for(lambda: sealed(store) > before + 1 or recorder.poll() is not None) and recorder.poll() is None)
    recorder.send_signal(signal.SIGTERM)
    recorder.communicate(timeout=WAIT)
    return wrongs


def test_stopped_terminal(folder):
    """A terminal that takes no more text, as behind a network that is gone, does not hold the recording up."""
    store = folder / "terminal"
    master, terminal = pty.openpty()
    recorder = subprocess.Popen([PERFTAPE, "record", "--store", store, "--segment", "1s"], stderr=terminal)
    try:
        wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
        os.set_blocking(terminal, False)
        try:
            while True:
                os.write(terminal, b"x" * 256)
        except BlockingIOError:
            before = sealed(store)
        os.set_blocking(terminal, True)
        wrongs += expect("it stood still", wait_for(lambda: sealed(store) > before + 3))
        recorder.send_signal(signal.SIGTERM)
        wrongs += expect("it does not end", recorder.wait(WAIT) == 0)
    finally:
        recorder.kill()
        os.close(master)
        os.close(terminal)
    return wrongs


def test_one_recorder(folder):
    """A second recorder is told the pid of the first; after kill -9 the next one starts, and what was sealed is there."""
    store = folder / "one"
    recorder = start(store, "--segment", "1s")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 2))
    asked = perftape("query", "--store", store, "--from", "now-1ms")
    wrongs += expect("a query does not say who records", f"process {recorder.pid} is recording" in asked.stderr, asked.stderr)
    second = perftape("record", "--store", store)
    wrongs += expect("no pid in the refusal", second.returncode == 1 and f"process {recorder.pid} " in second.stderr, second.stderr)
    wrongs += expect("more than one line", second.stderr.count("\n") == 1, second.stderr)
    recorder.kill()
    recorder.communicate()
    kept = sealed(store)
    again = perftape("record", "--store", store, "--duration", "1s")
    wrongs += expect("no start after kill -9", again.returncode == 0, again.stderr)
    listed = perftape("segments", "--store", store)
    rows = [line for line in listed.stdout.splitlines() if line.endswith(".tape")]
    return wrongs + expect("segments are missing", len(rows) == sealed(store) > kept, listed.stdout)


def samples_of(store, *words):
    """The heads of all samples of a window."""
    text = perftape("query", "--store", store, *words).stdout
    return [line for line in text.splitlines() if (match := beside_perf.HEAD.match(line)) and int(match["period"])]


def kill_one(store, length):
    """Killed so long after its spool began."""
    recorder = start(store, "--segment", "2s")
    wrongs = expect("nothing was spooled", wait_for(lambda: list(store.glob("spool/*.spool"))))
    time.sleep(length)
    killed = time.time()
    recorder.kill()
    recorder.communicate()
    window = ("--from", f"@{killed - 2}", "--to", f"@{killed}")
    before = samples_of(store, *window)
    done = perftape("record", "--store", store, "--duration", "1s")
    wrongs += expect("not said what was recovered", re.search(r"recovered .* of an interrupted recording: [1-9]\d* samples", done.stderr), done.stderr)
    after = samples_of(store, *window)
    wrongs += expect(f"{len(before)} samples before it was recovered, {len(after)} after", len(before) == len(after) > 0)
    if wrongs:
        return wrongs
    before, after = (sorted(map(beside_perf.HEAD.match, heads), key=lambda head: (head["cpu"], float(head["time"]))) for heads in (before, after))
    pairs = list(zip(before, after))
    # sealing keeps as many clock readings as give the time to some microseconds
    wrongs += expect("other samples than before", all(one["tid"] == other["tid"] and abs(float(one["time"]) - float(other["time"])) < 1e-4 for one, other in pairs))
    wrongs += expect("a sample is there twice", len({head[0] for head in after}) == len(after))
    wrongs += expect("a spool was left", not list(store.glob("spool/*")))
    lost = killed - max(float(head["time"]) for head in after)
    # a second, and what a busy machine takes to write a block, with sanitizers
    wrongs += expect(f"{lost:.2f} s were lost", lost < 2)
    said = perftape("query", "--store", store, "--from", f"@{killed - 3}", "--to", f"@{killed}", "-o", store / "x").stderr
    covered = 3 * float(re.search(r"covered ([\d.]+) %", said)[1]) / 100
    return wrongs + expect(f"{covered:.2f} of 3 s are covered, and {lost:.2f} s were lost", abs(3 - covered - lost) < 0.06, said)


def test_killed(folder):
    """kill -9 at any moment: the next start has all but the last second, says so, and no sample is there twice."""
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    try:
        return [wrong for length in (2.6, 3.35, 4.1) for wrong in kill_one(folder / f"killed {length}", length)]
    finally:
        beside_perf.stop(loads)


def test_nothing_there(folder):
    """A window before anything was recorded: exit code 3, and where the nearest is."""
    store = folder / "nothing"
    perftape("record", "--store", store, "--duration", "1s")
    done = perftape("query", "--store", store, "--at", "now-5h", "-o", folder / "never")
    wrongs = expect(f"exit code {done.returncode}", done.returncode == 3)
    wrongs += expect("the nearest is not named", "the first after it begins 20" in done.stderr, done.stderr)
    wrongs += expect("a file was written", not (folder / "never").exists())
    done = perftape("query", "--store", store, "--from", "now-1m", "--cpu", "60000")
    return wrongs + expect("an empty answer for a CPU that is not there", done.returncode == 3 and not done.stdout, done.stderr)


def test_renamed_thread(folder):
    """A process that renames itself appears under both names, each in its time."""
    store = folder / "renamed"
    spin = "import ctypes, time\nlibc = ctypes.CDLL(None)\nfor name in (b'first-name', b'second-name'):\n libc.prctl(15, name)\n end = time.time() + 1.5\n while time.time() < end: pass\n"
    recorder = subprocess.Popen([PERFTAPE, "record", "-q", "--store", store, "--duration", "5s"])
    subprocess.run([sys.executable, "-c", spin], check=True)
    recorder.wait(WAIT)
    text = perftape("query", "--store", store, "--from", "now-1m").stdout
    times = {name: [float(t) for t in re.findall(rf"^{name} +\d+/\d+ +\[\d+\] ([\d.]+):", text, re.MULTILINE)] for name in ("first-name", "second-name")}
    wrongs = expect("one of the names is missing", all(len(list_) > 50 for list_ in times.values()), {name: len(list_) for name, list_ in times.items()})
    return wrongs or expect("the names overlap", max(times["first-name"]) < min(times["second-name"]))


def test_pid_namespace(folder):
    """Inside a PID namespace every sample would look like pid 0: refused."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", PERFTAPE, "record", "--store", folder / "inside", "--duration", "1s"], capture_output=True, text=True, timeout=WAIT)
    return expect("not refused", done.returncode == 1 and "hostPID" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def test_without_rights(folder):
    """Not root: one line that names the right that is missing. Another user may not look into root's store either."""
    store = folder / "rights"
    perftape("record", "--store", store, "--duration", "1s")
    os.chmod(folder, 0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    # the program itself may lie where others cannot reach it: it is opened here and run there
    with open(PERFTAPE, "rb") as program:
        name = f"/proc/self/fd/{program.fileno()}"
        run = lambda *words: subprocess.run([name, *words], capture_output=True, text=True, timeout=WAIT, pass_fds=[program.fileno()], cwd="/", **nobody)
        done = run("record", "--store", str(home / "store"), "--duration", "1s")
        wrongs = expect("CAP_PERFMON is not named", done.returncode == 1 and "CAP_PERFMON" in done.stderr, done.returncode, done.stderr)
        done = run("segments", "--store", str(store))
        wrongs += expect("not one clear line", done.returncode == 1 and "Permission denied" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    return wrongs


TESTS_NEED_ROOT = [
    test_idle_and_busy,
    test_commands_to_look,
    test_beside_perf,
    test_beside_harm,
    test_rotation,
    test_stopped,
    test_cpu_offline,
    test_cpu_blinks,
    test_lowered_rate,
    test_what_is_sampled,
    test_lost_names,
    test_full_disk,
    test_disk_fills_up,
    test_stopped_at_once,
    test_signals,
    test_nohup,
    test_stopped_terminal,
    test_one_recorder,
    test_killed,
    test_nothing_there,
    test_renamed_thread,
    test_pid_namespace,
    test_without_rights,
]


def main():
    if os.geteuid() != 0:
        print(f"1..{len(TESTS_NEED_ROOT)}")
        for number, test in enumerate(TESTS_NEED_ROOT, 1):
            print(f"ok {number} - {test.__doc__} # SKIP recording takes root")
        return 0
    with tempfile.TemporaryDirectory(prefix="perftape live ") as folder:
        return tap.run((test.__doc__, test(pathlib.Path(folder))) for test in TESTS_NEED_ROOT)


if __name__ == "__main__":
    sys.exit(main())
