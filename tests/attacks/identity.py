#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Attacks in which users name the functions of others, or read root's file as names of their own
functions.

Usage: identity.py PERFTAPE LOAD RUN_MAPPED
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import expect, folded, perftape, query, sealed, start_sampling, stop, wait_for  # noqa: E402

LOAD, RUN_MAPPED = map(os.path.abspath, sys.argv[2:4])
CPU = str(sorted(os.sched_getaffinity(0))[-1])
NOBODY = 65534
MALLORY = 65533
EVERYWHERE = "0 7fffffffffff"  # code of a process, in the form of a perf map
# a container of a user's own, whose /tmp has no sticky bit: descriptor 9 is the program, and $0 the file to read
CONTAINER = 'exec 9< "$1"; mount -t tmpfs none /tmp && ln -s "$0" /tmp/perf-$$.map && exec /proc/self/fd/9 "$2"'


@live.test()
def test_copied_build_id(folder):
    """a copy with the same build-id names no function of the program that it imitates"""
    folder.chmod(0o755)
    store, forged, true = folder / "store", folder / "forged", folder / "true"
    shutil.copy(LOAD, true)
    forged.write_bytes(true.read_bytes().replace(b"load_alpha\0", b"evil_alpha\0"))
    forged.chmod(0o755)
    os.chown(forged, NOBODY, NOBODY)
    recorder = start_sampling(store, "--segment", "2s")
    first = subprocess.Popen([forged, CPU], user=NOBODY, group=NOBODY, extra_groups=[])
    wait_for(lambda: "evil_alpha" in folded(store, "--comm", "forged"))
    first.kill()
    first.wait()
    before = sealed(store)
    wait_for(lambda: sealed(store) > before + 1)
    second = subprocess.Popen([true, CPU])
    wait_for(lambda: ";load_" in folded(store, "--comm", "true") or recorder.poll() is not None)
    before = sealed(store)
    wait_for(lambda: sealed(store) > before + 1 or recorder.poll() is not None)
    second.kill()
    second.wait()
    stop(recorder)
    stacks = folded(store, "--comm", "true")
    return expect("its own names", "load_alpha" in stacks, stacks[:300]) + expect(
        "0 names forged", "evil" not in stacks, stacks[:300]
    )


def rows_of(store, pid):
    """The samples of a process."""
    return query(store, "--pid", str(pid), "--from", "now-10m")[0]


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *map(str, words)]


def map_of(process):
    return pathlib.Path(f"/tmp/perf-{process.pid}.map")


def give(path, uid, text):
    path.write_text(text)
    os.chown(path, uid, uid)


@contextlib.contextmanager
def jits(folder, secret):
    """{name: process}: processes of user nobody that run generated code, each with another perf
    map."""
    program = folder / "run-mapped"
    shutil.copy(RUN_MAPPED, program)
    names = ("honest", "link", "hardlink", "planted")
    started = {name: subprocess.Popen(as_user(NOBODY, program, CPU)) for name in names}
    try:
        give(map_of(started["honest"]), NOBODY, f"{EVERYWHERE} honest_words\n")
        give(map_of(started["planted"]), MALLORY, f"{EVERYWHERE} planted_words\n")
        subprocess.run(as_user(NOBODY, "ln", "-s", secret, map_of(started["link"])), check=True)
        # the kernel refuses this unless fs.protected_hardlinks is 0, so root makes it
        with contextlib.suppress(OSError):
            map_of(started["hardlink"]).hardlink_to(secret)
        started["container"] = subprocess.Popen(
            as_user(NOBODY, "unshare", "-Urm", "sh", "-c", CONTAINER, secret, program, CPU)
        )
        yield started
    finally:
        for process in started.values():
            process.kill()
            process.wait()
            map_of(process).unlink(missing_ok=True)


@live.test()
def test_perf_maps(folder):
    """a perf map behind a link, of another user, or in a container, names nothing and shows no file of root's"""
    folder.chmod(0o755)
    store = folder / "store"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        secret = pathlib.Path(home) / "secret"
        secret.write_text(f"{EVERYWHERE} secret_words\n")
        secret.chmod(0o600)
        os.chmod(home, 0o755)
        recorder = start_sampling(store, "--segment", "2s", "-F", "199")
        with jits(folder, secret) as started:
            window = ("--from", "now-5m", "--format", "folded")
            pids = [str(process.pid) for process in started.values()]
            sampled = wait_for(
                lambda: all(perftape("query", "--store", store, "--pid", pid, *window).stdout for pid in pids)
            )
            named = wait_for(lambda: "honest_words" in folded(store))
            read = folded(store)
            before = sealed(store)
            wait_for(lambda: sealed(store) > before + 1)
        stop(recorder)
    kept = folded(store)
    wrong = expect("samples of each process", sampled) + expect("the names of an honest map", named, kept[:300])
    for text in (read, kept):
        found = [word for word in ("secret_words", "planted_words") if word in text]
        wrong += expect("0 names forged, 0 bytes read", not found, found)
    return wrong


@live.test()
def test_idle_name(folder):
    """a busy process that takes the name of the idle thread is not taken for an idle CPU"""
    store = folder / "store"
    recorder = start_sampling(store, "--segment", "2s")
    named = "import ctypes\nctypes.CDLL(None).prctl(15, b'swapper', 0, 0, 0)\nwhile True:\n    pass"
    hog = subprocess.Popen(as_user(NOBODY, sys.executable, "-S", "-c", named))
    seen = wait_for(lambda: any(row["pid"] == hog.pid and "wapper" in row["comm"] for row in rows_of(store, hog.pid)))
    before = sealed(store)
    wait_for(lambda: sealed(store) > before + 1)
    hog.kill()
    hog.wait()
    stop(recorder)
    comms = {row["comm"] for row in rows_of(store, hog.pid)}
    wrong = expect("samples of the process", seen, comms)
    wrong += expect("none has the name of the idle thread", not comms & {"swapper"}, comms)
    window = ("--by", "thread", "--comm", "_wapper", "--from", "now-10m")
    ranked = perftape("top", "--store", store, *window).stdout
    return wrong + expect("a row of its own among busy threads", f"_wapper {hog.pid}/" in ranked, ranked)


if __name__ == "__main__":
    sys.exit(live.main())
