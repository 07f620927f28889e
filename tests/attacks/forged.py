#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Users without rights who make the kernel quote text that looks like an incident.

Usage: forged.py PERFTAPE
"""

import os
import pathlib
import platform
import re
import struct
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import recorders  # noqa: E402
from kernel_log import write_kmsg  # noqa: E402
from recorders import WAIT, expect, perftape, reached, start_sampling, stop, wait_for  # noqa: E402

NOBODY = "65534"
CRASH = b"\x31\xc0\x8b\x00"  # reads from address 0
CODE = 0x400000


def as_nobody(*words):
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", *map(str, words)],
        capture_output=True,
        check=False,
        timeout=WAIT,
    )


def kernel_log():
    return subprocess.run(["dmesg"], capture_output=True, check=True, text=True, errors="replace").stdout


def lies(mark):
    """Messages of the kernel, each with a mark of this test."""
    return (
        f"ena 0000:{mark}:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
        "Time since last napi 6500000 usec. napi scheduled: 1",
        f"INFO: task kube-{mark}:4711 blocked for more than 999 seconds.",
    )


def mount_overlay(lie):
    """Makes the kernel quote a folder that it does not find."""
    options = f'lowerdir=/tmp,upperdir="/nonexistent/{lie}",workdir=/tmp'
    as_nobody("unshare", "-Urm", "mount", "-t", "overlay", "overlay", "-o", options, "/mnt")


def crash(folder, lie):
    """Makes the kernel name the file in which a program crashed."""
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, CODE + 120, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, CODE, CODE, 124, 124, 0x1000)
    path = folder / lie.replace("/", "_")
    path.write_bytes(header + segment + CRASH)
    path.chmod(0o755)
    as_nobody(path)


@live.test()
def test_quoted(folder):
    """the kernel quotes users in three ways; no quote is an incident, neither live nor, unmarked, in a scan"""
    folder.chmod(0o755)
    store, mark = folder / "store", os.urandom(1).hex()
    recorder = start_sampling(store)
    for lie in lies(mark):
        mount_overlay(lie)
        mount_overlay(f"\n{lie}\n")
        if platform.machine() == "x86_64":
            crash(folder, lie)
    quotes = [line for line in kernel_log().splitlines() if mark in line and ("0000:" in line or "kube" in line)]
    after = time.time()
    wrong = expect("the kernel quotes users", len(quotes) >= 4, quotes)
    wrong += expect("the recorder goes on", wait_for(lambda: reached(store) > after + 2), reached(store), after)
    stop(recorder)
    listed = perftape("incidents", "--store", store, "--json", "-q").stdout
    rows = recorders.parse_json(listed)[0]
    found = [row for row in rows if mark in row["line"] and row["kind"] in ("ena.tx_stall", "task.hung")]
    wrong += expect("0 incidents forged", found == [], found)
    log = folder / "log"
    log.write_text("\n".join(quotes) + "\n")
    rows = recorders.parse_json(perftape("incidents", "scan", "--json", "-q", log).stdout)[0]
    wrong += expect("a scan marks each as quoted", all(row.get("quoted") for row in rows), rows)
    table = perftape("incidents", "scan", log).stdout
    return wrong + expect("its table does, too", not rows or "(quoted)" in table, table)


def lying(answer, mark):
    """The incidents of an answer that are lies with this mark."""
    rows = recorders.parse_json(answer.stdout)[0]
    return [row for row in rows if f"0000:{mark}:05.0" in row["line"] or f"kube-{mark}:" in row["line"]]


def split_logs():
    """The kernel's log with the stamp of a message on each of its lines: as the dmesg of busybox prints it, and as
    rsyslog with imklog writes it, with the kernel's stamps and without them. Both read the log as this dmesg does."""
    said = subprocess.run(["dmesg", "--syslog"], capture_output=True, check=True, text=True, errors="replace").stdout
    lines = said.splitlines()
    head = f"{time.strftime('%b %d %H:%M:%S')} h kernel: "
    return {
        "busybox": lines,
        "imklog": [head + line for line in lines],
        "imklog without stamps": [head + re.sub(r"^(<\d+>)?\[[^]]*\] ?", "", line) for line in lines],
    }


@live.test()
def test_split(folder):
    """a name with newlines in a log that splits messages: a scan marks each lie as quoted or doubtful, and adds none"""
    mark, wrong, store = os.urandom(1).hex(), [], folder / "store"
    recorder = start_sampling(store)
    for lie in lies(mark):
        mount_overlay(f"\n{lie}\n")
    middle = time.time()
    wait_for(lambda: reached(store) > middle + 2)
    stop(recorder)
    for name, lines in split_logs().items():
        log = folder / name
        log.write_text("\n".join(lines) + "\n")
        marked = "doubtful" if name == "imklog without stamps" else "quoted"
        found = lying(perftape("incidents", "scan", "--json", "-q", log), mark)
        wrong += expect(f"{name}: a scan finds both lies", len(found) >= 2, found)
        wrong += expect(f"{name}: it marks them as {marked}", all(row.get(marked) for row in found), found)
        perftape("incidents", "scan", "--add", "--store", store, log)
    added = lying(perftape("incidents", "--json", "-q", "--store", store), mark)
    wrong += expect("no lie is added", added == [], added)
    for lie in lies(mark):
        line = f"{time.strftime('%b %d %H:%M:%S', time.localtime(middle))} h kernel: {lie}"
        said = perftape("query", "--store", store, "--line", line, "-o", folder / "stacks").stderr
        wrong += expect("--line says what the recorder knows", "the recorder found no such incident then" in said, said)
    return wrong


EPISODES = 6
SHELF = 64 << 20  # bytes, far more than the snapshots of all episodes
OLD = 17 << 20  # bytes of each snapshot that is there already


def put_old(snapshots):
    """Snapshots of other years that are larger than the shelf, whatever size a snapshot has on this machine."""
    old = [snapshots / f"host-20{year}0101T000000Z-1.tape" for year in range(10, 14)]
    for path in old:
        with open(path, "wb") as file:
            os.chmod(path, 0o600)
            file.truncate(OLD)
    return old


@live.test()
def test_snapshots(folder):
    """many incidents of many devices fill no disk with snapshots, and nobody else reads one"""
    store, snapshots = folder / "store", folder / "snapshots"
    os.umask(0)
    recorder = start_sampling(store, "--trust-user-kmsg", "--snapshot-dir", snapshots, "--snapshot-max", f"{SHELF}B")
    old = put_old(snapshots)
    marks = [os.urandom(2).hex() for _ in range(EPISODES)]
    for mark in marks:
        write_kmsg(lies("00")[0].replace("0000:00:05.0", f"{mark}:00:1f.0"))

    def found():
        rows = recorders.parse_json(perftape("incidents", "--store", store, "--json", "-q", "--all").stdout)[0]
        return {row["fields"].get("bdf", "")[:4] for row in rows} & set(marks)

    def taken():
        return sum(path.suffix == ".tape" and path not in old for path in snapshots.iterdir())

    wait_for(lambda: found() == set(marks))
    heard = found()
    # on a busy machine, a recorder that ends may lack the time for all of them
    wait_for(lambda: taken() >= EPISODES)
    said = stop(recorder)
    tapes = {path: path.stat() for path in snapshots.iterdir() if path.suffix == ".tape"}
    sizes = {path.name: about.st_size for path, about in tapes.items()}
    modes = {oct(about.st_mode & 0o7777) for about in tapes.values()}
    left = [path for path in old if path in tapes]
    return (
        expect(f"{EPISODES} incidents", len(heard) == EPISODES, heard)
        + expect(f"a snapshot of each of the {EPISODES}", len(tapes) - len(left) >= EPISODES, sizes, said)
        + expect(f"snapshots of at most {SHELF} bytes", sum(sizes.values()) <= SHELF, sizes)
        + expect("the oldest went", left == old[1:] and "removed the oldest snapshot" in said, sizes, said)
        + expect("nobody else reads them", modes == {"0o600"}, modes)
        + expect("or their folder", snapshots.stat().st_mode & 0o7777 == 0o700, oct(snapshots.stat().st_mode))
    )


if __name__ == "__main__":
    sys.exit(live.main())
