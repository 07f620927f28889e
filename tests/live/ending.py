#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How a recorder ends, and what it does when its store hangs or goes.

Usage: ending.py PERFTAPE LOAD
"""

import contextlib
import os
import pathlib
import re
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
    WAIT,
    Manager,
    expect,
    has_reported,
    hear,
    hurry,
    pause,
    perftape,
    progress,
    sealed,
    segments,
    start,
    status,
    stop,
    threads_of,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])
CPUS = sorted(os.sched_getaffinity(0))
LOOK = 0.01  # seconds from one look at a process to the next
ONCE = 0.5  # seconds within which two signals count as one request to stop
SILENT = 3  # seconds after its last report from which on commands believe that a recorder hangs


@contextlib.contextmanager
def in_memory(folder):
    """A folder in memory, because other programs may keep a disk busy for seconds."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "perftape-test", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def family_sleeps(pid):
    """Whether all threads of a process and of its children sleep: none runs, and none waits for a disk."""
    children = " ".join(map(read, pathlib.Path(f"/proc/{pid}/task").glob("*/children")))
    return all(state == "S" for one in [pid, *children.split()] for _, state in threads_of(one))


def read(path):
    try:
        return path.read_text()
    except OSError:  # the thread ended meanwhile
        return ""


def watch_end(recorder):
    """Waits for a recorder's end. Returns (the longest sleep of all its threads, the longest time between checks)."""
    slept = apart = 0.0
    looked = awake = time.monotonic()
    while os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        asleep, now = family_sleeps(recorder.pid), time.monotonic()
        apart, looked = max(apart, now - looked), now
        awake = awake if asleep else now
        slept = max(slept, now - awake)
        time.sleep(LOOK)
    return slept, apart


def cost_of_recording(store):
    """CPU seconds of a recorder, from its start to its end, for a second of samples."""
    recorder = start(store, "--duration", "1s")
    os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)
    spent = beside_perf.cpu_seconds(recorder.pid)
    recorder.communicate()
    return spent


@live.test(alone=True)
def test_sealed_in_time(folder):
    """SIGTERM under load: sealing takes less CPU time than two short recordings, and the recorder never sleeps."""
    hurry()
    with in_memory(folder / "memory") as place:
        most = 2 * cost_of_recording(place / "short")
        store = place / "store"
        recorder = start(store, wrapper=("nice", "-n", "20"))
        wrongs = has_reported(store)
        with beside_perf.busy(LOAD, CPUS * 2), noise.Noise() as measured:
            wait_for(lambda: progress(store).get("samples", 0) > beside_perf.FREQUENCY)
            cpu = beside_perf.cpu_seconds(recorder.pid)
            recorder.send_signal(signal.SIGTERM)
            slept, apart = watch_end(recorder)
        cpu = beside_perf.cpu_seconds(recorder.pid) - cpu
        said = recorder.communicate()[1]
        # The recorder's main thread checks every 10 ms whether the others are done. A hypervisor may delay that.
        allowed = 10 * LOOK + 2 * apart + measured.late()
        wrongs += expect("exit code 0", recorder.returncode == 0, recorder.returncode, said)
        left = list(store.glob("spool/*"))
        wrongs += expect("a sealed segment, and an empty spool", sealed(store) and not left, left, said)
    wrongs += expect(f"less than {most:.2f} s of CPU time, as two recordings of a second", cpu < most, f"{cpu:.2f} s")
    print(f"# {cpu:.2f} s of CPU time, of {most:.2f} s", flush=True)
    return wrongs + expect(
        f"less than {allowed:.2f} s in which all its threads sleep", slept < allowed, f"{slept:.2f} s"
    )


@live.test()
def test_stopped_twice_at_once(folder):
    """Two signals at the same time, as timeout(1) sends them, are one: the recorder seals all."""
    wrongs = []
    for number in range(3):
        store = folder / f"twice{number}"
        recorder = start(store)
        wrongs += has_reported(store)
        # A stopped process gets its signals when it continues, all at once.
        pause(recorder)
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(signal.SIGTERM)
        said = stop(recorder, signal.SIGCONT)
        wrongs += expect(
            "exit code 0, and all is sealed",
            recorder.returncode == 0 and "not sealed" not in said and sealed(store),
            recorder.returncode,
            said,
        )
    return wrongs


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
    """Freezes a file system: its writers hang, and signals do not end them. A timer thaws it if the test hangs."""
    subprocess.run(["fsfreeze", "--freeze", mount], check=True)
    rescue = threading.Timer(2 * WAIT, subprocess.run, [["fsfreeze", "--unfreeze", mount]])
    rescue.start()
    try:
        yield
    finally:
        rescue.cancel()
        subprocess.run(["fsfreeze", "--unfreeze", mount], check=True)


def hangs(recorder, store):
    """Whether the spooler waits for the disk and the last report is old. Until it is old, commands hang, too."""
    age = time.time() - (store / "status").stat().st_mtime
    return ("perftape-spool", "D") in threads_of(recorder.pid) and age > SILENT


def has_spooled(store):
    return wait_for(lambda: progress(store).get("samples") and status(store)["reaches"])


@live.test()
def test_hung_disk(folder):
    """A recorder waits for a store that hangs until a second SIGTERM, or its patience ends, and says what is lost."""
    manager, seconds = Manager(f"@perftape-hung-{os.getpid()}"), 2
    with own_filesystem(folder) as mount:
        store, other = mount / "store", mount / "impatient"
        # its patience does not end during the test, however slow the machine is
        patience = {"PERFTAPE_SHUTDOWN_MS": str(10_000 * WAIT)}
        recorder = start(store, env=os.environ | {"NOTIFY_SOCKET": f"@perftape-hung-{os.getpid()}"} | patience)
        impatient = start(other, env=os.environ | {"PERFTAPE_SHUTDOWN_MS": str(1000 * seconds)})
        wrongs = expect("two recorders that spool", has_spooled(store) and has_spooled(other), status(store))
        with frozen(mount):
            wrongs += expect(
                "two recorders whose disk hangs",
                wait_for(lambda: hangs(recorder, store) and hangs(impatient, other)),
                threads_of(recorder.pid),
            )
            for command in (("status",), ("segments",), ("query", "--from", "now-1m")):
                asked = perftape(*command, "--store", store)
                wrongs += expect(
                    f"{command[0]} answers beside a disk that hangs",
                    asked.returncode in (0, 3, 4),
                    asked.returncode,
                    asked.stderr,
                )
            begin = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
            impatient.send_signal(signal.SIGTERM)
            wrongs += expect("the recorder is about to end", manager.hear("STOPPING=1"), manager.said)
            time.sleep(ONCE + 0.1)
            wrongs += expect("after one SIGTERM it waits for the store", recorder.poll() is None, recorder.returncode)
            recorder.send_signal(signal.SIGTERM)
            said = hear(recorder, "the store hangs")
            wrongs += expect(
                "after the second SIGTERM it says what is not sealed",
                re.search(r"the store hangs: stopped before [1-9]\d* segments? w(?:as|ere) sealed", said),
                said,
            )
            said = hear(impatient, "the store hangs")
            took = time.monotonic() - begin
            wrongs += expect(
                f"without a second signal the same after {seconds} s",
                "the store hangs" in said and took >= seconds,
                took,
                said,
            )
        for one in (recorder, impatient):
            one.communicate(timeout=WAIT)
            wrongs += expect("exit code 1", one.returncode == 1, one.returncode)
        done = perftape("record", "--store", store, "--duration", "300ms")
        # If the segment was about to be renamed when the file system went on, nothing needs recovery.
        wrongs += expect(
            "the next recorder recovers what was in the spool",
            "recovered" in done.stderr or sealed(store) > 1,
            done.stderr,
        )
    return wrongs


@live.test(long=True)
def test_patience(folder):
    """A recorder waits half a minute for a store that hangs."""
    with own_filesystem(folder) as mount:
        store = mount / "store"
        recorder = start(store)
        wrongs = expect("a recorder that spools", has_spooled(store), status(store))
        with frozen(mount):
            wrongs += expect(
                "a recorder whose disk hangs", wait_for(lambda: hangs(recorder, store)), threads_of(recorder.pid)
            )
            begin = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
            said = hear(recorder, "the store hangs")
            took = time.monotonic() - begin
        recorder.communicate(timeout=WAIT)
    return wrongs + expect("it gives up after 30 s", "the store hangs" in said and took >= 30, took, said)


def names_of(store):
    return {path.name for path in (store / "segments").glob("*.tape")}


def remove(store, recorder):
    """Stops the recorder by a signal, then removes its store, so that the recorder cannot write in between."""
    pause(recorder)
    shutil.rmtree(store)


@live.test(also=("build-tsan",))
def test_store_removed(folder):
    """A recorder makes its removed store anew. If another recorder was faster, the first one waits and adds later."""
    store, said = folder / "removed", ""
    first = start(store, "--segment", "1s")
    wrongs = expect("a sealed segment", wait_for(lambda: sealed(store) >= 1), status(store))
    remove(store, first)
    first.send_signal(signal.SIGCONT)
    wrongs += expect("a store that is there again", wait_for(lambda: sealed(store) >= 1), list(folder.iterdir()))
    refused = perftape("record", "--store", store, "--duration", "1s")
    wrongs += expect(
        "another recorder is refused",
        refused.returncode == 1 and f"process {first.pid} is recording into it already" in refused.stderr,
        refused.stderr,
    )
    remove(store, first)
    second = start(store, "--segment", "1s")
    wrongs += expect("a segment of the second", wait_for(lambda: sealed(store) >= 1), status(store))
    first.send_signal(signal.SIGCONT)
    said += hear(first, f"process {second.pid} is recording into it already")
    wrongs += expect(
        "the first says that the second has the store",
        f"process {second.pid} is recording into it already" in said,
        said,
    )
    wrongs += expect(
        "more segments of the second", wait_for(lambda: progress(store).get("segments", 0) >= 2), status(store)
    )
    of_second = stop(second)
    # The first recorder may have begun to write into the store by now.
    counted, names = sum(row["samples"] for row in segments(store)), names_of(store)
    total = int(re.search(r"(\d+) samples?", of_second)[1])
    wrongs += expect("the second ends with exit code 0", second.returncode == 0, second.returncode, of_second)
    wrongs += expect(f"at least {total} samples, as the second took", counted >= total, counted, of_second)
    wrongs += expect(
        "segments of the first beside those of the second", wait_for(lambda: names_of(store) - names), names
    )
    said += stop(first)
    wrongs += expect("the first ends with exit code 0", first.returncode == 0, first.returncode, said)
    wrongs += expect("the first says that its store was replaced", f"{store}: the store was removed" in said, said)
    wrongs += expect(
        "the first says how much went with it",
        re.search(r"[1-9]\d* segments?, \S+ [kM]?B, were lost with a store", said),
        said,
    )
    wrongs += expect("all segments of the second", names <= names_of(store), names - names_of(store))
    sound = perftape("verify", "--store", store)
    return wrongs + expect("a sound store", sound.returncode == 0, sound.stdout, sound.stderr)


if __name__ == "__main__":
    sys.exit(live.main())
