#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of this machine: how they begin and end, and what a full disk, a hangup or kill -9 does to them.

Usage: record.py PERFTAPE LOAD
"""

import contextlib
import ctypes
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
import noise  # noqa: E402
import recorders  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, hear, is_spooled, long_segment, perftape, progress, query, sealed, seconds_of, segments, spools, start, stop, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
TURN = 1.1  # seconds between two looks at the rings, and the youngest part, which stays in them
LOOK = 0.05  # seconds between two looks of wait_for()
FREQUENCY = 97


@live.test()
def test_lost_names(folder):
    """A recorder that was stopped until the kernel dropped names learns from /proc who runs."""
    store = folder / "names"
    recorder = start(store, "--ring", "64K")
    wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
    recorders.pause(recorder)
    loads, folded, since = [], "", f"@{time.time():.6f}"
    try:
        # each program writes over a kilobyte of records of its fork, name, mappings and exit into the ring of its CPU
        storm = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"
        for cpu in sorted(os.sched_getaffinity(0)):
            subprocess.run(["taskset", "-c", str(cpu), "sh", "-c", storm], check=True)
        loads = beside_perf.start_load(LOAD, sorted(os.sched_getaffinity(0))[:1])
    finally:
        recorder.send_signal(signal.SIGCONT)

    def is_named():
        nonlocal folded
        folded = perftape("query", "--store", store, "--from", since, "--format", "folded").stdout
        return re.search(r"^load;.*load_alpha \d+$", folded, re.MULTILINE)

    wrongs += expect("samples of the load have its name and load_alpha", wait_for(is_named), *(line for line in folded.splitlines() if "load" in line))
    said = stop(recorder, signal.SIGINT)
    beside_perf.stop(loads)
    return wrongs + expect("the recorder says how many records of names were lost", re.search(r"[1-9]\d* records of names and mappings were lost", said), said)


@contextlib.contextmanager
def disk(folder, size):
    """A disk of that size, which nobody else fills or slows down."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*recorders.LAZY_UMOUNT, folder], check=True)


def fill(store):
    """Takes all room that is left. The last page of a file may still grow."""
    with open(store / "ballast", "ab", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(b"x" * 4096)


def fill_up(recorder, store):
    """Fills the disk until the recorder says that it waits. Returns what it said."""
    return hear(recorder, "again each second", lambda: fill(store))


def make_room(store):
    (store / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", store], check=True)


@live.test(
    promise="A full disk does not end a recording",
    broken_by="drop-unsealed",
    also=("build-tsan",),
)
def test_full_disk(folder):
    """On a full disk recording goes on in memory. Once there is room again, everything is there."""
    with disk(folder / "full", "256k") as store:
        recorder = start(store, "--segment", long_segment())
        wrongs = expect("the recorder spools samples and tells its progress", wait_for(lambda: is_spooled(store) and progress(store)))
        said = fill_up(recorder, store)
        taken = progress(store).get("samples", 0)
        recorder.send_signal(signal.SIGUSR2)  # end this segment

        def is_waiting():
            told = progress(store)
            return told and "/segments/" in told["error"] and told["samples"] > taken

        wrongs += expect("a segment could not be sealed, and later samples are taken", wait_for(is_waiting), progress(store))
        wrongs += expect("no segment is on the full disk", not sealed(store), segments(store))
        make_room(store)
        wait_for(lambda: sealed(store) or progress(store).get("unsaved"))
        wrongs += expect("the segment that waited is sealed once there is room", sealed(store), progress(store))
        said += hear(recorder, "can be written again")
        said += stop(recorder, signal.SIGINT)
        wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
        wrongs += expect("record says that it waits, and that the store can be written again", "again each second" in said and "can be written again" in said, said)
        rows = segments(store)
        wrongs += expect("at least two segments, all sealed", len(rows) >= 2 and all(row["sealed"] for row in rows), rows)
        coverage = query(store, "--from", rows[0]["begin"], "--to", rows[-1]["end"])[1]
        return wrongs + expect("the coverage has no gap and no unsaved sample", not coverage["gaps"] and not coverage["unsaved"], coverage)


@live.test()
def test_full_to_the_end(folder):
    """Every answer tells what could not be stored until the end, and why: before the next recorder and after it."""
    begin = time.time()
    with disk(folder / "full to the end", "2m") as store:
        recorder = start(store, "--segment", long_segment(), "--keep-free", "0", "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        recorder.send_signal(signal.SIGUSR2)
        # the spool of a segment takes room until the segment is sealed
        wrongs += expect("a segment is sealed, and its spool is gone", wait_for(lambda: sealed(store) and len(spools(store)) == 1), spools(store))
        said = fill_up(recorder, store)
        said += stop(recorder)
        window = ("--from", f"@{begin:.6f}", "--to", f"@{time.time():.6f}")
        wrongs += expect("record ends with exit code 1", recorder.returncode == 1, recorder.returncode, said)
        found = re.search(r"(\d+) samples could not be sealed", said)
        wrongs += expect("record says how many samples it could not seal", found, said)
        make_room(store)
        told, more = [], ""
        for _ in range(2):
            coverage = query(store, *window)[1]
            gaps = {gap["cause"]: gap["why"] for gap in coverage["gaps"]}
            expected = {"unsaved": "unsaved: the store could not be written", "stopped": "the recorder was stopped (SIGTERM)"}
            wrongs += expect("a gap for unsaved samples, one for the end, each with its reason", expected.items() <= gaps.items(), gaps)
            wrongs += expect("no gap has another reason, and nothing is damaged", set(gaps) <= {*expected, "not-begun"} and not coverage["damaged"], coverage)
            told.append(coverage["unsaved"])
            more = perftape("record", "--store", store, "--duration", "200ms").stderr  # recovers what was spooled
        unsealed = int(found[1]) if found else 0
        return wrongs + expect("both answers tell the same number of samples, and at most as many as could not be sealed", unsealed >= told[0] == told[1] > 0, unsealed, told, said, more)


@live.test()
def test_full_before_a_segment(folder):
    """Samples that only the spool has at the end do not count as nothing, and the next recording recovers them."""
    with disk(folder / "full at once", "256k") as store:
        recorder = start(store, "--segment", long_segment(), "-F", "499")
        wrongs = expect("samples are in the spool", wait_for(lambda: any(row["samples"] for row in segments(store))))
        said = fill_up(recorder, store)
        said += stop(recorder)
        wrongs += expect("record ends with exit code 1", recorder.returncode == 1, recorder.returncode, said)
        wrongs += expect("record says that the next recording recovers them, and does not call them nothing", "the next recording recovers" in said and "nothing was" not in said and not sealed(store), said)
        make_room(store)
        more = perftape("record", "--store", store, "--duration", "200ms").stderr
        return wrongs + expect("the next recording recovers samples", re.search(r"recovered .*: [1-9]\d* samples", more), more, said)


@live.test()
def test_disk_fills_up(folder):
    """When others fill the disk, the oldest segments make room for the newest."""
    with disk(folder / "filling", "4m") as store:
        recorder = start(store, "--segment", "1s", "-F", "499")
        wrongs = expect("eight segments are sealed", wait_for(lambda: sealed(store) >= 8), sealed(store))
        known = {path.name for path in store.glob("segments/*.tape")}
        fill(store)
        filled = time.time()
        wrongs += expect("the oldest segment is removed", wait_for(lambda: not (store / "segments" / min(known)).exists()), segments(store))
        wrongs += expect("a newer segment is sealed", wait_for(lambda: {path.name for path in store.glob("segments/*.tape")} - known), segments(store))
        said = stop(recorder, signal.SIGINT)
        wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
        coverage = perftape("query", "--store", store, "--from", f"@{filled:.6f}").stderr
        return wrongs + expect("samples from the time after the disk was full", re.search(r"[1-9]\d* samples", coverage), coverage, said)


@live.test()
def test_stopped_at_once(folder):
    """A recorder that is stopped before it has a sample makes up no times."""
    wrongs = []
    for name in ("", "lock", "index.sqlite", "spool", "status"):
        store = folder / f"stopped at {name or 'once'}"
        recorder = start(store)
        wrongs += expect(f"the recorder makes {name}", wait_for((store / name).exists if name else lambda: True))
        said = stop(recorder)
        wrongs += expect("record ends with exit code 0, or by the signal", recorder.returncode in (0, -signal.SIGTERM), recorder.returncode, said)
        wrongs += expect("no time that nobody recorded", not re.search(r"192\d{3} d|1970-|25\d\d-", said), said)
    return wrongs


@live.test(also=("build-tsan",))
def test_signals(folder):
    """SIGINT and SIGTERM end a recording with everything in the store."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    stores = [folder / f"signal {number}" for number in numbers]
    started = [start(store, "--segment", "1s") for store in stores]
    wrongs = []
    for number, store, recorder in zip(numbers, stores, started):
        wrongs += expect("a segment is sealed", wait_for(lambda: sealed(store)))
        before = sealed(store)
        said = stop(recorder, number)
        wrongs += expect(f"signal {number} ends record with exit code 0", recorder.returncode == 0, recorder.returncode, said)
        wrongs += expect("the last segment is sealed, too", sealed(store) > before and not spools(store), before, sealed(store), spools(store))
        wrongs += expect("no half-written file", not list(store.glob("segments/.*")), list(store.glob("segments/.*")))
    return wrongs


@live.test()
def test_nohup(folder):
    """A recorder under nohup goes on when its terminal hangs up."""
    store = folder / "nohup"
    recorder = start(store, "--segment", "1s", wrapper=["nohup"])
    wrongs = expect("a segment is sealed", wait_for(lambda: sealed(store)))
    recorder.send_signal(signal.SIGHUP)
    before = sealed(store)
    wrongs += expect("two more segments are sealed", wait_for(lambda: sealed(store) > before + 1 or recorder.poll() is not None) and recorder.poll() is None, recorder.poll())
    stop(recorder)
    return wrongs


@live.test()
def test_stopped_terminal(folder):
    """A terminal that takes no more text, as behind a dead network, does not delay the recording."""
    store = folder / "terminal"
    master, terminal = pty.openpty()
    recorder = subprocess.Popen([PERFTAPE, "record", "--store", store, "--segment", "1s"], stderr=terminal)
    try:
        wrongs = expect("a segment is sealed", wait_for(lambda: sealed(store)))
        os.set_blocking(terminal, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(terminal, b"x" * 256)
        before = sealed(store)
        os.set_blocking(terminal, True)
        wrongs += expect("more segments are sealed while the terminal is full", wait_for(lambda: sealed(store) > before + 3), before, sealed(store))
        recorder.send_signal(signal.SIGTERM)
        wrongs += expect("record ends with exit code 0", recorder.wait(WAIT) == 0, recorder.returncode)
    finally:
        recorder.kill()
        os.close(master)
        os.close(terminal)
    return wrongs


@live.test()
def test_one_recorder(folder):
    """A second recorder names the first by its pid. After kill -9 the next one starts, and all sealed segments are there."""
    store = folder / "one"
    recorder = start(store, "--segment", "1s")
    wrongs = expect("two segments are sealed", wait_for(lambda: sealed(store) >= 2))
    asked = perftape("query", "--store", store, "--from", "now-1ms")
    wrongs += expect("a query says which process is recording", f"process {recorder.pid} is recording" in asked.stderr, asked.stderr)
    second = perftape("record", "--store", store)
    wrongs += expect("the second recorder refuses, and names the pid of the first", second.returncode == 1 and f"process {recorder.pid} " in second.stderr, second.returncode, second.stderr)
    wrongs += expect("it says so in one line", second.stderr.count("\n") == 1, second.stderr)
    recorder.kill()
    recorder.communicate()
    kept = sealed(store)
    again = perftape("record", "--store", store, "--duration", "200ms")
    wrongs += expect("the next recorder ends with exit code 0", again.returncode == 0, again.returncode, again.stderr)
    rows = segments(store)
    return wrongs + expect("all segments are listed, and at least one more", len(rows) == sealed(store) > kept, kept, rows)


def kill(recorder):
    """kill -9. Returns a moment before it and one behind."""
    before = time.time()
    recorder.kill()
    recorder.communicate()
    return before, time.time()


def unsealed(store):
    """What `segments` lists of spools whose segment does not exist."""
    return [row for row in segments(store) if not row["sealed"] and not (store / "segments" / row["name"].replace(".spool", ".tape")).exists()]


def recover(store):
    """Starts the next recorder, which must say what it recovers: all samples of all spools."""
    rows = unsealed(store)
    samples = sum(row["samples"] for row in rows)
    said = perftape("record", "--store", store, "--duration", "200ms").stderr
    expected = f"an interrupted recording: {samples} sample" if samples else "an interrupted recording left no samples to recover"
    wrongs = expect(f'the next recorder says "{expected}"', expected in said, said) if rows else expect("the next recorder speaks of no interrupted recording", "interrupted" not in said, said)
    return wrongs + expect("the next recorder leaves no spool", not spools(store), spools(store))


@live.test(
    promise="Every gap says why it is there: `the recorder was killed`",
    broken_by="forget-killed",
    also=("build",),
)
def test_killed(folder):
    """A recorder that is killed loses its last second at most, and answers say why that is missing."""
    with disk(folder / "disk", "64m") as store, noise.Noise() as measured:
        begin = time.time()
        recorder = start(store, "--segment", long_segment())
        wrongs = expect("samples are in the spool", wait_for(lambda: any(row["samples"] for row in segments(store))))
        ran, late = recorders.cpu_seconds(recorder.pid, waits=True), []
        for _ in range(3):
            before = spools(store)  # first, as a block may come while the store is asked
            reached = recorders.reached(store)
            wrongs += expect("the spool grows", wait_for(lambda: spools(store) != before))
            late.append(time.time() - reached)  # that much would be lost now, had the block not come
        ran = recorders.cpu_seconds(recorder.pid, waits=True) - ran
        killed, gone = kill(recorder)
        reached = recorders.reached(store)
        # this disk takes no time, but the recorder's threads may run, or wait for a CPU, or for a timer
        allowed = TURN + LOOK + ran + measured.late() + measured.steal()
        wrongs += expect(f"each block comes before more than {allowed:.2f} s could be lost", max(late) <= allowed, late, measured.describe())
        wrongs += expect(f"at most the last {allowed:.2f} s are lost", killed - reached <= allowed, f"{killed - reached:.2f} s", measured.describe())
        wrongs += recover(store)
        coverage = query(store, "--from", f"@{begin:.6f}", "--to", f"@{gone:.6f}")[1]
    gaps = [gap for gap in coverage["gaps"] if gap["cause"] != "not-begun"]
    wrongs += expect("one gap: the recorder was killed", [gap["why"] for gap in gaps] == ["the recorder was killed"], gaps)
    return wrongs + expect("the gap begins where the spool ended", all(abs(seconds_of(gap["from"]) - reached) < 1e-3 for gap in gaps), gaps, reached)


def read_samples(store, window):
    """The samples of a window by CPU and time, and how far their times may be off, in seconds."""
    rows, coverage = query(store, *window)
    return sorted(((row["cpu"], seconds_of(row["time"]), row["tid"]) for row in rows if row["period"])), coverage["clock_error_ns"] / 1e9


def check_recovery(store, killed):
    """What is wrong when the next recorder must keep each sample that could be read before, once."""
    window = ("--from", f"@{killed - WAIT:.6f}", "--to", f"@{killed:.6f}")
    before, error = read_samples(store, window)
    wrongs = recover(store)
    after, more = read_samples(store, window)
    wrongs += expect(f"the {len(before)} samples that were there before it was recovered", len(after) == len(before) > 0, f"{len(after)} samples")
    wrongs += expect("no sample is there twice", len(set(after)) == len(after), len(after) - len(set(after)))
    # a segment keeps as many clock readings as give each time to 20 us
    error += more + 2 * 20e-6
    other = [pair for pair in zip(before, after) if pair[0][0] != pair[1][0] or pair[0][2] != pair[1][2] or abs(pair[0][1] - pair[1][1]) > error]
    return wrongs + expect(f"each with its CPU, its thread and its time, to {error * 1e6:.0f} us", not other, other[:3])


@live.test(
    promise="keeps the samples on disk",
    broken_by="forget-spool-block",
    also=("build",),
)
def test_recovered(folder):
    """After kill -9 at different moments the next recorder keeps every sample that was on the disk, once."""
    moments = {
        "a segment was sealed": sealed,
        "the next one has begun": lambda store: any(size for name, size in spools(store).items() if "-0000000000." not in name),
        "the spool of a later one has samples": lambda store: any(row["samples"] and row["sequence"] and not row["sealed"] for row in segments(store)),
    }
    stores = {name: folder / name for name in moments}
    started = {name: start(store, "--segment", "1s") for name, store in stores.items()}
    wrongs, killed = [], {}
    for name, is_there in moments.items():
        wrongs += expect(name, wait_for(lambda: is_there(stores[name])), segments(stores[name]))
        killed[name] = kill(started[name])[1]
    return wrongs + [wrong for name, at in killed.items() for wrong in check_recovery(stores[name], at)]


@live.test()
def test_killed_before_a_sample(folder):
    """A recorder that is killed before its first sample, or its first after a segment, leaves nothing: the next one says so."""
    store = folder

    def is_killed_early():
        """Before its first block, a second after the begin: a test that waits longer for a CPU tries again."""
        nonlocal store
        store = folder / f"early {time.monotonic()}"
        recorder = start(store)
        wait_for((store / "lock").exists)
        kill(recorder)
        return not is_spooled(store)

    def is_killed_between():
        """After it has ended a tape and begun the next, and before it looks at the rings again, a second later."""
        nonlocal store
        store = folder / f"between {time.monotonic()}"
        recorder = start(store, "--segment", long_segment())
        wait_for(lambda: is_spooled(store))
        recorder.send_signal(signal.SIGUSR2)
        wait_for(lambda: sealed(store) and is_spooled(store))
        kill(recorder)
        return [row["samples"] for row in unsealed(store)] == [0]

    wrongs = expect("a recorder that is killed before its first block", wait_for(is_killed_early), spools(store))
    wrongs += recover(store)
    wrongs += expect("a recorder that is killed between a segment and its next sample", wait_for(is_killed_between), segments(store))
    return wrongs + recover(store)


def synced_wrongly(calls, name):
    """What a thread did in the wrong order when it sealed the segment; `calls` are its system calls as strace writes them."""
    def last(pattern, until=len(calls)):
        return max((number for number, call in enumerate(calls[:until]) if re.match(pattern, call)), default=-1)

    def first(pattern):
        return next((number for number, call in enumerate(calls) if re.match(pattern, call)), len(calls))

    file, folder = rf"\d+<[^>]*/segments/\.{name}\.new>", r"\d+<[^>]*/segments>"
    renamed = first(rf'rename\w*\(.*"\.{name}\.new".*= 0')
    synced, behind = last(rf"f(data)?sync\({file}\) *= 0", renamed), [number for number, call in enumerate(calls) if number > renamed and re.match(rf"fsync\({folder}\) *= 0", call)]
    unspooled = first(rf'unlink\w*\(.*{name.replace(".tape", ".spool")}"')
    wrongs = expect(f"{name} is synced after its last byte and before it is renamed", synced > last(rf"p?write\w*\({file}") >= 0, *calls)
    wrongs += expect("the folder is synced after that", behind, *calls)
    return wrongs + expect("only then its spool is removed", behind and behind[0] < unspooled < len(calls), *calls)


@live.test(promise="it seals a segment, while sampling goes on", broken_by="skip-fsync")
def test_sealed_is_synced(folder):
    """Each segment is on the disk before its spool goes: its bytes, then its name, then its folder."""
    store, trace = folder / "synced", folder / "trace"
    trace.mkdir()
    # one file for each thread; the tracer is no parent of the recorder. LeakSanitizer cannot run beside a tracer.
    strace = ["strace", "-D", "-ff", "--seccomp-bpf", "-y", "-o", trace / "thread", "-e", "trace=write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat"]
    environment = {**os.environ, "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"}
    recorder = start(store, "--segment", "1s", wrapper=strace, env=environment)
    wrongs = expect("two segments are sealed", wait_for(lambda: sealed(store) >= 2))
    said = stop(recorder)
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    wrongs += expect("the trace of the recorder ends", wait_for(lambda: "+++ exited" in (trace / f"thread.{recorder.pid}").read_text()))
    texts = [path.read_text(errors="replace") for path in trace.iterdir()]
    for path in sorted(store.glob("segments/*.tape")):
        calls = next((text.splitlines() for text in texts if re.search(rf'^rename.*"\.{path.name}\.new"', text, re.MULTILINE)), [])
        calls = [call for call in calls if path.stem in call or re.match(r"fsync\(\d+<[^>]*/segments>", call)]
        wrongs += synced_wrongly(calls, path.name)
    return wrongs


@live.test()
def test_nothing_there(folder):
    """A window before anything was recorded: exit code 3, and the nearest time that is there."""
    store = folder / "nothing"
    perftape("record", "--store", store, "--duration", "1s")
    done = perftape("query", "--store", store, "--at", "now-5h", "-o", folder / "never")
    wrongs = expect("query ends with exit code 3", done.returncode == 3, done.returncode, done.stderr)
    wrongs += expect("it names the nearest recorded time", "the first after it begins 20" in done.stderr, done.stderr)
    wrongs += expect("it writes no file", not (folder / "never").exists())
    done = perftape("query", "--store", store, "--from", "now-1m", "--cpu", "60000")
    return wrongs + expect("exit code 3 and no output for a CPU that does not exist", done.returncode == 3 and not done.stdout, done.returncode, done.stdout, done.stderr)


def has_dead_program(store, died, seconds):
    """How many samples the program on the mount should have that has run that long since, and how many it has."""
    return FREQUENCY * seconds, len(times_of(store, "--from", f"@{died:.3f}", "--comm", "program"))


@live.test()
def test_dead_fuse(folder):
    """A FUSE mount whose server no longer answers delays no recorder: its busy program is sampled, and segments are sealed."""
    mount = folder / "mount"
    mount.mkdir()
    cpu = sorted(os.sched_getaffinity(0))[-1]
    # one sees the program start, the other finds it there
    stores = [folder / "before", folder / "after"]
    with dead_fuse.mounted(mount, LOAD) as server, noise.Noise() as measured:
        started = [start(stores[0], "--segment", "1s")]
        wrongs = expect("a segment is sealed", wait_for(lambda: sealed(stores[0])))
        program = subprocess.Popen([mount / "program", str(cpu)])
        try:
            wrongs += expect("the program is sampled", wait_for(lambda: times_of(stores[0], "--from", "now-1m", "--comm", "program")))
            os.kill(server.pid, signal.SIGSTOP)
            died = time.time()
            started.append(start(stores[1], "--segment", "1s"))
            wrongs += expect("the other recorder spools samples", wait_for(lambda: is_spooled(stores[1])))
            ran, both = recorders.cpu_seconds(program.pid), time.time()
            before = [sealed(store) for store in stores]
            wrongs += expect("both recorders seal two more segments", wait_for(lambda: all(sealed(store) >= count + 2 for store, count in zip(stores, before))), before, [sealed(store) for store in stores])
            ran = recorders.cpu_seconds(program.pid) - ran
            for recorder, store in zip(started, stores):
                said = stop(recorder)
                wrongs += expect("record ends with exit code 0 and loses nothing", recorder.returncode == 0 and " 0 lost" in said, recorder.returncode, said)
                wrongs += expect("everything is sealed", not spools(store), spools(store))
                due, came = has_dead_program(store, both, ran)
                wrongs += expect(f"at least half of the {due:.0f} samples that are due in {ran:.1f} s of CPU time", came > due / 2 - measured.stolen_ticks(cpu, FREQUENCY), came)
        finally:
            program.kill()
            program.wait()
    coverage = query(stores[0], "--from", f"@{died:.3f}", "--to", f"@{both:.3f}")[1]
    return wrongs + expect("no gap and no lost sample around the death of the server", not coverage["gaps"] and not coverage["lost"], coverage)


def find_unified():
    """The folder of the unified hierarchy that perf events are in; None where they have one of their own."""
    if re.search(r"^\d+:[^:]*\bperf_event\b", pathlib.Path("/proc/self/cgroup").read_text(), re.MULTILINE):
        return None
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return next((pathlib.Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2"), None)


UNIFIED = find_unified()


def work(seconds):
    """Runs on a CPU for that long. What the CPU is given to others for does not count, be it by the hypervisor."""
    last = time.monotonic()
    while seconds > 0:
        now = time.monotonic()
        seconds -= now - last if now - last < 0.002 else 0
        last = now


def work_inside(cgroup):
    """(pid, when it was there) of a process that begins here, moves there, works for a moment, and is gone."""
    line, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        (cgroup / "cgroup.procs").write_text("0")
        os.write(theirs, str(time.time()).encode())
        work(0.12)
        os._exit(0)
    os.close(theirs)
    os.waitpid(pid, 0)
    with open(line, encoding="ascii") as file:
        return pid, float(file.read())


@live.test(
    promise="`--cgroup '*/kubelet.service'` keep some",
    broken_by="forget-cgroup",
    lacks=live.lacking(UNIFIED, "perf events in the unified hierarchy of cgroups"),
)
def test_new_cgroups(folder):
    """Processes that end at once, in cgroups that are removed with them: --cgroup finds exactly their samples."""
    store, name, there = folder / "cgroups", f"perftape-test-{os.getpid()}", {}
    old = UNIFIED / f"{name}-old"
    old.mkdir()
    begin = f"@{time.time():.6f}"
    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        for number in range(6):
            new = UNIFIED / f"{name}-{number}"
            new.mkdir()
            try:
                there[new.name] = work_inside(new)
            finally:
                new.rmdir()
        there[old.name] = work_inside(old)
        said = stop(recorder)
    finally:
        old.rmdir()
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    samples = query(store, "--from", begin)[0]
    for cgroup, (pid, moved) in there.items():
        inside = [sample for sample in samples if sample["pid"] == pid and seconds_of(sample["time"]) > moved]
        wrongs += expect(f"all samples of process {pid} since it moved are of /{cgroup}", inside and {sample["cgroup"] for sample in inside} == {f"/{cgroup}"}, [sample["cgroup"] for sample in inside])
        kept = query(store, "--from", begin, "--cgroup", f"*/{cgroup}")[0]
        wrongs += expect(f"--cgroup '*/{cgroup}' keeps that process", len(kept) >= len(inside) and {sample["pid"] for sample in kept} <= {pid}, len(inside), [sample["pid"] for sample in kept])
    return wrongs


@live.test()
def test_moved_programs(folder):
    """A program that moves to another cgroup, of version 1 where there is one, and starts anew there for a moment: its samples are of that."""
    recorders.hurry()
    group = (MEMORY if MEMORY.is_dir() else UNIFIED) / f"perftape-test-{os.getpid()}"
    group.mkdir()
    store, begin = folder / "moved", f"@{time.time():.6f}"
    burn = "import time\nwhile time.process_time() < 0.15: pass"

    def run_program():
        program = subprocess.Popen(["sh", "-c", f"echo $$ > '{group}/cgroup.procs'; exec {sys.executable} -c '{burn}'"], preexec_fn=recorders.take_time)
        program.wait()
        return program.pid

    try:
        recorder = start(store, "-F", "499")
        wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
        # the recorder asks while the program runs, which takes a CPU at some moment of these 150 ms
        programs = recorders.undisturbed(8, 0.1, run_program)
        said = stop(recorder)
    finally:
        group.rmdir()
    wrongs += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode, said)
    wrongs += expect("8 programs of 150 ms during which the machine wakes everybody in time", len(programs) == 8, len(programs))
    # the shell begins elsewhere
    found = [sample["cgroup"] for sample in query(store, "--from", begin)[0] if sample["pid"] in programs and sample["comm"] != "sh"]
    return wrongs + expect(f"over nine in ten of at least 20 samples are of /{group.name}", found.count(f"/{group.name}") > 0.9 * len(found) > 20, found)


@live.test()
def test_pid_namespace(folder):
    """Inside a PID namespace, where every sample would look like pid 0, record refuses."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", PERFTAPE, "record", "--store", folder / "inside", "--duration", "1s"], capture_output=True, text=True, timeout=WAIT)
    return expect("record refuses in one line that names hostPID and --pid=host", done.returncode == 1 and "hostPID" in done.stderr and "--pid=host" in done.stderr and done.stderr.count("\n") == 1, done.returncode, done.stderr)


def may_make_users():
    return subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode == 0


@live.test(lacks=live.lacking(may_make_users(), "user namespaces"))
def test_user_namespace(folder):
    """Root of a user namespace learns that this is why, and need not look for another reason."""
    done = subprocess.run(["unshare", "-Ur", PERFTAPE, "record", "--store", folder / "guest", "--duration", "1s"], capture_output=True, text=True, timeout=WAIT)
    return expect("record refuses in one line that names the user namespace and not seccomp", done.returncode == 1 and "in a user namespace" in done.stderr and "seccomp" not in done.stderr and done.stderr.count("\n") == 1, done.returncode, done.stderr)


@live.test()
def test_store_goes(folder):
    """A store that disappears for good under its recorder: record says so at the end, and gives no commands to look at it."""
    above = folder / "above"
    store = above / "goes"
    recorder = start(store)
    wrongs = expect("the recorder spools samples", wait_for(lambda: is_spooled(store)))
    recorders.pause(recorder)
    above.rename(folder / "gone")
    above.write_text("in its place")
    recorder.send_signal(signal.SIGCONT)
    said = stop(recorder)
    return wrongs + expect("record ends with exit code 1 and says only that the store is not there any more", recorder.returncode == 1 and f"{store} is not there any more" in said and " all " not in said and "Look at it" not in said and "no more memory" not in said, recorder.returncode, said)


def bound_files(count):
    """For preexec_fn: allows at most that many open files, and takes the right to raise the limit."""
    def bind():
        ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
    return bind


@live.test()
def test_few_files(folder):
    """With too few open files record refuses and says how many it needs. With that many it records."""
    wrongs, wanted = [], None
    for count in (5, 6, 40):
        few = subprocess.run([PERFTAPE, "record", "--store", folder / "few", "--duration", "1s"], capture_output=True, text=True, preexec_fn=bound_files(count), timeout=WAIT)
        wanted = re.search(r"RLIMIT_NOFILE allows: raise it to (\d+)$", few.stderr)
        wrongs += expect(f"with {count} files record refuses in one line", few.returncode == 1 and wanted and few.stderr.count("\n") == 1, few.returncode, few.stderr)
    # fewer than it asks for are enough as long as nobody asks for the names of many files
    for count in (int(wanted[1]) if wanted else 256, 2 * os.cpu_count() + 96):
        store = folder / f"{count}"
        done = subprocess.run([PERFTAPE, "record", "--store", store, "--duration", "2s", "--segment", "1s"], capture_output=True, text=True, preexec_fn=bound_files(count), timeout=WAIT)
        wrongs += expect(f"with {count} files record seals at least two segments and complains of nothing", done.returncode == 0 and sealed(store) >= 2 and "stored" not in done.stderr, done.returncode, sealed(store), done.stderr)
    return wrongs


@live.test(alone=True)
def test_without_rights(folder):
    """Without root, one line names the right that is missing. Another user cannot look into root's store."""
    store = folder / "rights"
    perftape("record", "--store", store, "--duration", "200ms")
    os.chmod(folder, 0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    # the program may lie where the other user cannot reach it: this process opens it, the other one runs it
    with open(PERFTAPE, "rb") as program:
        name = f"/proc/self/fd/{program.fileno()}"
        run = lambda *words: subprocess.run([name, *words], capture_output=True, text=True, timeout=WAIT, pass_fds=[program.fileno()], cwd="/", **nobody)
        with live.setting("/proc/sys/kernel/perf_event_paranoid", "2"):
            done = run("record", "--store", str(home / "store"), "--duration", "1s")
        wrongs = expect("record refuses and names CAP_PERFMON", done.returncode == 1 and "CAP_PERFMON" in done.stderr, done.returncode, done.stderr)
        done = run("segments", "--store", str(store))
        wrongs += expect("segments says in one line that permission is denied", done.returncode == 1 and "Permission denied" in done.stderr and done.stderr.count("\n") == 1, done.returncode, done.stderr)
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
