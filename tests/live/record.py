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
from recorders import (  # noqa: E402
    PERFTAPE,
    WAIT,
    expect,
    is_spooled,
    perftape,
    query,
    sealed,
    segments,
    spools,
    start,
    stop,
    times_of,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])
FREQUENCY = 97


@live.test()
def test_lost_names(folder):
    """A recorder that was stopped until the kernel dropped names learns the running processes from /proc."""
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

    wrongs += expect(
        "samples of the load have its name and load_alpha",
        wait_for(is_named),
        *(line for line in folded.splitlines() if "load" in line),
    )
    said = stop(recorder, signal.SIGINT)
    beside_perf.stop(loads)
    return wrongs + expect(
        "the recorder says how many records of names were lost",
        re.search(r"[1-9]\d* records of names and mappings were lost", said),
        said,
    )


@live.test()
def test_stopped_at_once(folder):
    """A recorder that is stopped before its first sample does not invent times."""
    wrongs = []
    for name in ("", "lock", "index.sqlite", "spool", "status"):
        store = folder / f"stopped at {name or 'once'}"
        recorder = start(store)
        wrongs += expect(f"the recorder makes {name}", wait_for((store / name).exists if name else lambda: True))
        said = stop(recorder)
        wrongs += expect(
            "record ends with exit code 0, or by the signal",
            recorder.returncode in (0, -signal.SIGTERM),
            recorder.returncode,
            said,
        )
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
        wrongs += expect(
            f"signal {number} ends record with exit code 0", recorder.returncode == 0, recorder.returncode, said
        )
        wrongs += expect(
            "the last segment is sealed, too",
            sealed(store) > before and not spools(store),
            before,
            sealed(store),
            spools(store),
        )
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
    wrongs += expect(
        "two more segments are sealed",
        wait_for(lambda: sealed(store) > before + 1 or recorder.poll() is not None) and recorder.poll() is None,
        recorder.poll(),
    )
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
        wrongs += expect(
            "more segments are sealed while the terminal is full",
            wait_for(lambda: sealed(store) > before + 3),
            before,
            sealed(store),
        )
        recorder.send_signal(signal.SIGTERM)
        wrongs += expect("record ends with exit code 0", recorder.wait(WAIT) == 0, recorder.returncode)
    finally:
        recorder.kill()
        os.close(master)
        os.close(terminal)
    return wrongs


@live.test()
def test_one_recorder(folder):
    """A second recorder names the first one's pid. After kill -9, a new recorder starts and has all sealed segments."""
    store = folder / "one"
    recorder = start(store, "--segment", "1s")
    wrongs = expect("two segments are sealed", wait_for(lambda: sealed(store) >= 2))
    asked = perftape("query", "--store", store, "--from", "now-1ms")
    wrongs += expect(
        "a query says which process is recording", f"process {recorder.pid} is recording" in asked.stderr, asked.stderr
    )
    second = perftape("record", "--store", store)
    wrongs += expect(
        "the second recorder refuses, and names the pid of the first",
        second.returncode == 1 and f"process {recorder.pid} " in second.stderr,
        second.returncode,
        second.stderr,
    )
    wrongs += expect("it says so in one line", second.stderr.count("\n") == 1, second.stderr)
    recorder.kill()
    recorder.communicate()
    kept = sealed(store)
    again = perftape("record", "--store", store, "--duration", "200ms")
    wrongs += expect("the next recorder ends with exit code 0", again.returncode == 0, again.returncode, again.stderr)
    rows = segments(store)
    return wrongs + expect(
        "all segments are listed, and at least one more", len(rows) == sealed(store) > kept, kept, rows
    )


@live.test()
def test_nothing_there(folder):
    """For a window before the recording, the exit code is 3 and the message names the nearest recorded time."""
    store = folder / "nothing"
    perftape("record", "--store", store, "--duration", "1s")
    done = perftape("query", "--store", store, "--at", "now-5h", "-o", folder / "never")
    wrongs = expect("query ends with exit code 3", done.returncode == 3, done.returncode, done.stderr)
    nearest = "the recording after it begins 20"
    wrongs += expect("it names the nearest recorded time", nearest in done.stderr, done.stderr)
    wrongs += expect("it writes no file", not (folder / "never").exists())
    done = perftape("query", "--store", store, "--from", "now-1m", "--cpu", "60000")
    return wrongs + expect(
        "exit code 3 and no output for a CPU that does not exist",
        done.returncode == 3 and not done.stdout,
        done.returncode,
        done.stdout,
        done.stderr,
    )


@live.test()
def test_dead_fuse(folder):
    """A dead FUSE mount does not delay the recorder: it samples the program on the mount and seals segments."""
    mount = folder / "mount"
    mount.mkdir()
    cpu = sorted(os.sched_getaffinity(0))[-1]
    # one recorder sees the program start, the other finds it running
    stores = [folder / "before", folder / "after"]
    with dead_fuse.mounted(mount, LOAD) as server, noise.Noise() as measured:
        started = [start(stores[0], "--segment", "1s")]
        wrongs = expect("a segment is sealed", wait_for(lambda: sealed(stores[0])))
        program = subprocess.Popen([mount / "program", str(cpu)])
        try:
            wrongs += expect(
                "the program is sampled", wait_for(lambda: times_of(stores[0], "--from", "now-1m", "--comm", "program"))
            )
            os.kill(server.pid, signal.SIGSTOP)
            died = time.time()
            started.append(start(stores[1], "--segment", "1s"))
            wrongs += expect("the other recorder spools samples", wait_for(lambda: is_spooled(stores[1])))
            ran, both = recorders.cpu_seconds(program.pid), time.time()
            before = [sealed(store) for store in stores]
            wrongs += expect(
                "both recorders seal two more segments",
                wait_for(lambda: all(sealed(store) >= count + 2 for store, count in zip(stores, before))),
                before,
                [sealed(store) for store in stores],
            )
            ran = recorders.cpu_seconds(program.pid) - ran
            for recorder, store in zip(started, stores):
                said = stop(recorder)
                wrongs += expect(
                    "record ends with exit code 0 and loses nothing",
                    recorder.returncode == 0 and " 0 lost" in said,
                    recorder.returncode,
                    said,
                )
                wrongs += expect("everything is sealed", not spools(store), spools(store))
                due, came = FREQUENCY * ran, len(times_of(store, "--from", f"@{both:.6f}", "--comm", "program"))
                wrongs += expect(
                    f"at least half of the {due:.0f} samples that are due in {ran:.1f} s of CPU time",
                    came > due / 2 - measured.stolen_ticks(cpu, FREQUENCY),
                    came,
                )
        finally:
            program.kill()
            program.wait()
    coverage = query(stores[0], "--from", f"@{died:.3f}", "--to", f"@{both:.3f}")[1]
    return wrongs + expect(
        "the seconds after the server died are covered, and no sample is lost",
        coverage["covered_ns"] == coverage["window_ns"] and not coverage["lost"],
        coverage,
    )


def bound_files(count):
    """For preexec_fn: limits the number of open files, and removes the right to raise the limit."""

    def bind():
        ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    return bind


@live.test()
def test_few_files(folder):
    """If it may open too few files, record refuses and states the number that it needs. With this number it records."""
    wrongs, wanted = [], None
    for count in (5, 6, 40):
        few = subprocess.run(
            [PERFTAPE, "record", "--store", folder / "few", "--duration", "1s"],
            capture_output=True,
            text=True,
            preexec_fn=bound_files(count),
            timeout=WAIT,
        )
        wanted = re.search(r"RLIMIT_NOFILE; raise it to (\d+)$", few.stderr)
        wrongs += expect(
            f"with {count} files record refuses in one line",
            few.returncode == 1 and wanted and few.stderr.count("\n") == 1,
            few.returncode,
            few.stderr,
        )
    # fewer files than record asks for are enough as long as it need not name many files
    for count in (int(wanted[1]) if wanted else 256, 2 * os.cpu_count() + 96):
        store = folder / f"{count}"
        done = subprocess.run(
            [PERFTAPE, "record", "--store", store, "--duration", "2s", "--segment", "1s"],
            capture_output=True,
            text=True,
            preexec_fn=bound_files(count),
            timeout=WAIT,
        )
        wrongs += expect(
            f"with {count} files record seals at least two segments and complains of nothing",
            done.returncode == 0 and sealed(store) >= 2 and "could not be sealed" not in done.stderr,
            done.returncode,
            sealed(store),
            done.stderr,
        )
    return wrongs


@live.test(alone=True)
def test_without_rights(folder):
    """Without root, one line names the missing right. Another user cannot read root's store."""
    store = folder / "rights"
    perftape("record", "--store", store, "--duration", "200ms")
    os.chmod(folder, 0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    # the other user may not be able to reach the program, so this process opens it and the other one runs it
    with open(PERFTAPE, "rb") as program:
        name = f"/proc/self/fd/{program.fileno()}"
        run = lambda *words: subprocess.run(
            [name, *words], capture_output=True, text=True, timeout=WAIT, pass_fds=[program.fileno()], cwd="/", **nobody
        )
        with live.setting("/proc/sys/kernel/perf_event_paranoid", "2"):
            done = run("record", "--store", str(home / "store"), "--duration", "1s")
        wrongs = expect(
            "record refuses and names CAP_PERFMON",
            done.returncode == 1 and "CAP_PERFMON" in done.stderr,
            done.returncode,
            done.stderr,
        )
        done = run("segments", "--store", str(store))
        wrongs += expect(
            "segments says in one line that only root may read it",
            done.returncode == 1 and "only root may read it" in done.stderr and done.stderr.count("\n") == 1,
            done.returncode,
            done.stderr,
        )
    return wrongs


if __name__ == "__main__":
    sys.exit(live.main())
