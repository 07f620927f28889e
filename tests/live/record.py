#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of this machine: how they begin and end, what becomes of them on a full disk, under nohup, after kill -9.

Usage: record.py PERFTAPE LOAD
"""

import ctypes
import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import beside_perf  # noqa: E402
import dead_fuse  # noqa: E402
import live  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, hear, perftape, samples_of, sealed, start, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


@live.test()
def test_lost_names(folder):
    """A recorder that is stopped until records of names are lost learns from /proc who runs."""
    store = folder / "names"
    recorder = start(store)
    time.sleep(1.5)
    recorder.send_signal(signal.SIGSTOP)
    loads, folded = [], ""
    try:
        # each of these writes over a kilobyte of fork, comm, mmap and exit records: more than the rings hold
        subprocess.run(["sh", "-c", "i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i+1)); done"], check=True)
        loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0))[:1])
    finally:
        recorder.send_signal(signal.SIGCONT)

    def is_named():
        nonlocal folded
        folded = perftape("query", "--store", store, "--from", "now-3s", "--format", "folded").stdout
        return re.search(r"^load;.*load_alpha \d+$", folded, re.MULTILINE)

    wrongs = expect("the load has no name", wait_for(is_named), *(line for line in folded.splitlines() if "load" in line))
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=WAIT)
    beside_perf.stop(loads)
    return wrongs + expect("no names were lost", re.search(r"[1-9]\d* records of names and mappings were lost", said), said)


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


@live.test()
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
        said = hear(recorder, "again each second")
        time.sleep(10.5)
        wrongs += expect("the recorder gave up, or a segment was sealed", recorder.poll() is None and not sealed(store))
        (store / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)
        wrongs += expect("it did not go on", wait_for(lambda: sealed(store) >= 1))
        said += hear(recorder, "can be written again")
        recorder.send_signal(signal.SIGINT)
        said += recorder.communicate(timeout=WAIT)[1]
        wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 0, said)
        wrongs += expect("not said that it waits, or not that it can be written again", "again each second" in said and "can be written again" in said, said)
        rows = perftape("segments", "--store", store, "--utc").stdout.splitlines()[1:]
        wrongs += expect("a segment is missing", len(rows) == sealed(store) >= 2, rows)
        covered = perftape("query", "--store", store, "--from", rows[0].split()[0], "--to", rows[-1].split()[0]).stderr
        wrongs += expect("there is a hole", "covered 100 %" in covered, covered)
    finally:
        subprocess.run(["umount", store], check=True)
    return wrongs


@live.test()
def test_full_to_the_end(folder):
    """What could not be stored until the end is told by every answer, before the next recorder and after it: how many, of when, and why."""
    store = folder / "full to the end"
    small_store(store, "600k")
    try:
        recorder = start(store, "--segment", "2s", "--keep-free", "0", "-F", "2000")
        wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store)))
        fill(store)
        said = hear(recorder, "again each second")
        time.sleep(3)
        recorder.terminate()
        said += recorder.communicate(timeout=WAIT)[1]
        wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 1, said)
        unsealed = int(re.search(r"(\d+) samples could not be sealed", said)[1])
        (store / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)
        told = []
        for _ in range(2):
            coverage = json.loads(perftape("query", "--store", store, "--from", "now-1m", "--format", "json").stdout.splitlines()[-1])["coverage"]
            gaps = {gap["cause"]: gap["why"] for gap in coverage["gaps"]}
            wrongs += expect("not why", gaps.get("given-up") == "given up: the store could not be written" and gaps.get("stopped") == "the recorder was stopped (SIGTERM)", gaps)
            wrongs += expect("another reason", not {"killed", "damaged", "unknown"} & set(gaps) and not coverage["damaged"], coverage)
            told.append(coverage["shed"])
            more = perftape("record", "--store", store, "--duration", "1s").stderr  # recovers what was spooled
        wrongs += expect(f"{unsealed} not sealed, {told} told", unsealed >= told[0] == told[1] > 0, said, more)
        return wrongs
    finally:
        subprocess.run(["umount", store], check=True)


@live.test()
def test_full_before_a_segment(folder):
    """What is in the spool alone at the end is not called nothing, and the next recording recovers it."""
    store = folder / "full at once"
    small_store(store, "256k")
    try:
        recorder = start(store, "--segment", "1h", "-F", "2000")
        wrongs = expect("nothing was spooled", wait_for(lambda: list(store.glob("spool/*.spool"))))
        time.sleep(1.5)
        fill(store)
        said = hear(recorder, "again each second")
        recorder.terminate()
        said += recorder.communicate(timeout=WAIT)[1]
        wrongs += expect(f"exit code {recorder.returncode}", recorder.returncode == 1, said)
        wrongs += expect("not said, or the opposite too", "which the next recording recovers" in said and "nothing was" not in said and not sealed(store), said)
        (store / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)
        more = perftape("record", "--store", store, "--duration", "1s").stderr
        return wrongs + expect("it was not recovered", re.search(r"recovered .*: [1-9]\d* samples", more), said, more)
    finally:
        subprocess.run(["umount", store], check=True)


@live.test()
def test_disk_fills_up(folder):
    """A disk that others fill: the oldest segments go to make room, and the newest second is there."""
    store = folder / "filling"
    small_store(store, "4m")
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


@live.test()
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


@live.test()
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


@live.test()
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


@live.test()
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


@live.test()
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


def is_recovered(store, killed):
    """What was in the store when its recorder was killed is in it after the next one."""
    window = ("--from", f"@{killed - 2}", "--to", f"@{killed}")
    before = samples_of(store, *window)
    done = perftape("record", "--store", store, "--duration", "1s")
    wrongs = expect("not said what was recovered", re.search(r"recovered .* of an interrupted recording: [1-9]\d* samples", done.stderr), done.stderr)
    after = samples_of(store, *window)
    wrongs += expect(f"{len(before)} samples before it was recovered, {len(after)} after", len(before) == len(after) > 0)
    if wrongs:
        return wrongs
    before, after = (sorted(heads, key=lambda head: (head["cpu"], float(head["time"]))) for heads in (before, after))
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


@live.test(alone=True)
def test_killed(folder):
    """kill -9 at any moment: the next start has all but the last second, says so, and no sample is there twice."""
    loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0)))
    stores = [folder / f"killed {number}" for number in range(3)]
    recorders = [start(store, "--segment", "2s") for store in stores]
    if not wait_for(lambda: all(list(store.glob("spool/*.spool")) for store in stores)):
        return ["nothing was spooled"]
    time.sleep(1.85)
    killed = []
    for recorder in recorders:
        time.sleep(0.75)
        killed.append(time.time())
        recorder.kill()
        recorder.communicate()
    beside_perf.stop(loads)
    return [wrong for store, at in zip(stores, killed) for wrong in is_recovered(store, at)]


@live.test()
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


@live.test()
def test_dead_fuse(folder):
    """A busy program on a FUSE mount whose server no longer answers, seen to start or there before: all is sampled and sealed in time."""
    mount = folder / "mount"
    mount.mkdir()
    cpu = sorted(os.sched_getaffinity(0))[-1]
    stores = [folder / "before", folder / "after"]
    with dead_fuse.mounted(mount, LOAD) as server:
        recorders = [start(stores[0], "--segment", "1s")]
        wrongs = expect("nothing was sealed", wait_for(lambda: sealed(stores[0]) >= 1))
        program = subprocess.Popen([mount / "program", str(cpu)])
        try:
            wrongs += expect("it is not sampled", wait_for(lambda: samples_of(stores[0], "--from", "now-2s", "--comm", "program")))
            os.kill(server.pid, signal.SIGSTOP)
            died = time.time()
            recorders.append(start(stores[1], "--segment", "1s"))
            wrongs += expect("no segments any more", wait_for(lambda: all(sealed(store) >= 4 for store in stores)))
            for recorder, store in zip(recorders, stores):
                begin = time.monotonic()
                recorder.send_signal(signal.SIGTERM)
                _, said = recorder.communicate(timeout=WAIT)
                wrongs += expect(f"it took {time.monotonic() - begin:.1f} s to end", time.monotonic() - begin < 10, said)
                wrongs += expect(f"exit code {recorder.returncode}, or lost", recorder.returncode == 0 and " 0 lost" in said, said)
                wrongs += expect("not sealed", not list(store.glob("spool/*")))
                times = times_of(store, "--from", f"@{died:.3f}", "--comm", "program")
                wrongs += expect("the program is not sampled", len(times) > 50, len(times))
        finally:
            program.kill()
            program.wait()
    said = perftape("query", "--store", stores[0], "--from", f"@{died:.3f}", "--to", f"@{died + 2:.3f}", "-o", folder / "x").stderr
    return wrongs + expect("a hole", "covered 100 %" in said and "0 samples lost" in said, said)


def find_unified():
    """The folder of the unified hierarchy that perf events are in; None where they have one of their own."""
    if re.search(r"^\d+:[^:]*\bperf_event\b", pathlib.Path("/proc/self/cgroup").read_text(), re.MULTILINE):
        return None
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return next((pathlib.Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2"), None)


def work_inside(cgroup):
    """A process that begins here, works there for a moment, and is gone."""
    pid = os.fork()
    if pid == 0:
        (cgroup / "cgroup.procs").write_text("0")
        end = time.process_time() + 0.12
        while time.process_time() < end:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


@live.test()
def test_new_cgroups(folder):
    """Processes that end at once, in cgroups that are removed with them: their samples are said to be of those."""
    unified = find_unified()
    if not unified:
        return ["perf events have a hierarchy of their own on this machine"]
    store, name, there = folder / "cgroups", f"perftape-test-{os.getpid()}", {}
    old = unified / f"{name}-old"
    old.mkdir()
    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("nothing is recorded", wait_for(lambda: list(store.glob("spool/*.spool"))))
        for number in range(10):
            new = unified / f"{name}-{number}"
            new.mkdir()
            there[work_inside(new)] = f"/{new.name}"
            new.rmdir()
        there[work_inside(old)] = f"/{old.name}"
        recorder.send_signal(signal.SIGTERM)
        recorder.communicate(timeout=WAIT)
    finally:
        old.rmdir()
    found = {pid: [] for pid in there}
    for line in perftape("query", "--store", store, "--from", "now-1m", "--format", "json").stdout.splitlines():
        sample = json.loads(line)
        found.get(sample.get("pid"), []).append(sample.get("cgroup"))
    for pid, path in there.items():
        # it began elsewhere
        wrongs += expect(f"process {pid} of {path}", found[pid].count(path) > 0.7 * len(found[pid]) > 5, found[pid])
    return wrongs


@live.test()
def test_moved_programs(folder):
    """Programs that end soon, each moved to another cgroup, of version 1 where there is one, before it starts: their samples are said to be of that."""
    group = (MEMORY if MEMORY.is_dir() else find_unified()) / f"perftape-test-{os.getpid()}"
    group.mkdir()
    store, short = folder / "moved", "import time\nend = time.monotonic() + 0.15\nwhile time.monotonic() < end: pass"
    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("nothing is recorded", wait_for(lambda: list(store.glob("spool/*.spool"))))
        programs = []
        for _ in range(12):
            program = subprocess.Popen(["sh", "-c", f"echo $$ > '{group}/cgroup.procs'; exec {sys.executable} -c '{short}'"])
            programs.append(program.pid)
            program.wait()
        recorder.send_signal(signal.SIGTERM)
        recorder.communicate(timeout=WAIT)
    finally:
        group.rmdir()
    samples = [json.loads(line) for line in perftape("query", "--store", store, "--from", "now-1m", "--format", "json").stdout.splitlines()]
    # the shell begins elsewhere
    found = [sample["cgroup"] for sample in samples if sample.get("pid") in programs and sample["comm"] != "sh"]
    return wrongs + expect("programs in another cgroup", found.count(f"/{group.name}") > 0.9 * len(found) > 20, found)


@live.test()
def test_pid_namespace(folder):
    """Inside a PID namespace every sample would look like pid 0: refused."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", PERFTAPE, "record", "--store", folder / "inside", "--duration", "1s"], capture_output=True, text=True, timeout=WAIT)
    return expect("not refused", done.returncode == 1 and "hostPID" in done.stderr and "--pid=host" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


@live.test()
def test_user_namespace(folder):
    """Root of a user namespace alone is not told to look for what forbids it to root."""
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        return []  # this host allows none
    done = subprocess.run(["unshare", "-Ur", PERFTAPE, "record", "--store", folder / "guest", "--duration", "1s"], capture_output=True, text=True, timeout=WAIT)
    return expect("not said", done.returncode == 1 and "in a user namespace" in done.stderr and "seccomp" not in done.stderr and done.stderr.count("\n") == 1, done.stderr)


@live.test()
def test_store_goes(folder):
    """A store that goes under its recorder, and cannot be made again: said at the end, and no commands to look at it."""
    above = folder / "above"
    store = above / "goes"
    recorder = start(store)
    wrongs = expect("nothing is recorded", wait_for(lambda: list(store.glob("spool/*.spool"))))
    recorder.send_signal(signal.SIGSTOP)
    above.rename(folder / "gone")
    above.write_text("in its place")
    recorder.send_signal(signal.SIGCONT)
    recorder.send_signal(signal.SIGTERM)
    _, said = recorder.communicate(timeout=WAIT)
    return wrongs + expect("not said", recorder.returncode == 1 and f"{store} is not there any more" in said and " all " not in said and "Look at it" not in said and "no more memory" not in said, said)


def bound_files(count):
    """In a process to be: so many open files at most, and no right to have more."""
    def bind():
        ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
    return bind


@live.test()
def test_few_files(folder):
    """Who may have too few files open is told before anything is recorded; with what is asked for it records."""
    wrongs = []
    for count in (5, 6, 40):
        few = subprocess.run([PERFTAPE, "record", "--store", folder / "few", "--duration", "1s"], capture_output=True, text=True, preexec_fn=bound_files(count), timeout=WAIT)
        wanted = re.search(r"RLIMIT_NOFILE allows: raise it to (\d+)$", few.stderr)
        wrongs += expect(f"not one clear line with {count}", few.returncode == 1 and wanted and few.stderr.count("\n") == 1, few.stderr)
    # and with fewer, as long as nobody is told of it
    for count in (int(wanted[1]) if wanted else 256, 2 * os.cpu_count() + 96):
        store = folder / f"{count}"
        done = subprocess.run([PERFTAPE, "record", "--store", store, "--duration", "2s", "--segment", "1s"], capture_output=True, text=True, preexec_fn=bound_files(count), timeout=WAIT)
        wrongs += expect(f"with {count} files", done.returncode == 0 and sealed(store) >= 2 and "stored" not in done.stderr, done.stderr)
    return wrongs


@live.test()
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
        with live.setting("/proc/sys/kernel/perf_event_paranoid", "2"):
            done = run("record", "--store", str(home / "store"), "--duration", "1s")
        wrongs = expect("CAP_PERFMON is not named", done.returncode == 1 and "CAP_PERFMON" in done.stderr, done.returncode, done.stderr)
        done = run("segments", "--store", str(store))
        wrongs += expect("not one clear line", done.returncode == 1 and "Permission denied" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
