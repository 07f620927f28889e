#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A recorder that people leave running: what status says first, and what the journal gets.

Usage: service.py PERFTAPE
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import live  # noqa: E402
from kernel_log import device, stall, write_kmsg  # noqa: E402
from recorders import PERFTAPE, expect, hear, perftape, start_sampling, stop, wait_for  # noqa: E402

NOBODY = 65534
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
HOLDER = """
import fcntl, os, struct, sys, time
lock = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(lock, b"%-10d\\n" % os.getpid(), 0)
fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
print("holds", flush=True)
time.sleep(600)
"""


def first_line(store):
    return perftape("status", "--store", store).stdout.partition("\n")[0]


@live.test()
def test_stopped(folder):
    """The first line of status names the process that records, and then the signal that stopped it."""
    recorder = start_sampling(folder / "store")
    recording = first_line(folder / "store")
    stop(recorder)
    stopped = first_line(folder / "store")
    wrongs = expect("recording, with the process", f"recording, process {recorder.pid}, since " in recording, recording)
    why = "NOT RECORDING, since " in stopped and ": the recorder was stopped (SIGTERM)" in stopped
    return wrongs + expect("not recording, and the signal", why, stopped)


@live.test(alone=True)
def test_no_rights(folder):
    """After a start without rights, the first line of status has its message, until samples follow."""
    store = folder / "home" / "store"
    folder.chmod(0o755)
    store.parent.mkdir()
    perftape("record", "-q", "--store", store, "--duration", "2s")
    for path in (store, *store.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    with live.setting(PARANOID, "2"):
        refused = perftape("record", "--store", store, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
    told = first_line(store)
    wrongs = expect("record fails, and names the right", "CAP_PERFMON" in refused.stderr, refused)
    wrongs += expect("status has that message", "the start at " in told and "CAP_PERFMON" in told, told)
    perftape("record", "-q", "--store", store, "--duration", "2s")
    told = first_line(store)
    return wrongs + expect("samples end the note", "CAP_PERFMON" not in told and "NOT RECORDING" in told, told)


@live.test()
def test_held(folder):
    """If another command holds the store, the first line of status names it."""
    store, holder = folder / "store", folder / "vacuum"
    perftape("record", "-q", "--store", store, "--duration", "2s")
    holder.write_text(HOLDER)
    with subprocess.Popen(
        [sys.executable, "vacuum", store / "lock"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        told = first_line(store)
        process.send_signal(signal.SIGTERM)
    return expect(
        "the process and its command", f"NOT RECORDING: process {process.pid} (vacuum) holds the store" in told, told
    )


@live.test()
def test_full_disk(folder):
    """While the disk is full, the first line of status says that samples wait in memory."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], check=True)
    try:
        recorder = start_sampling(disk / "store", "--segment", "2s", "--keep-free", "none")
        with open(disk / "others", "wb", buffering=0) as file:
            fill(file)
            full = wait_for(lambda: "NOT SAVING" in first_line(disk / "store"))
            told = first_line(disk / "store")
        (disk / "others").unlink()
        freed = wait_for(lambda: first_line(disk / "store").startswith(("recording", "\u25cf recording")))
        stop(recorder)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
    wrongs = expect("NOT SAVING, and the reason", full and "No space left on device" in told, told)
    return wrongs + expect("recording again when there is room", freed, told)


def fill(file):
    try:
        while True:
            file.write(bytes(65536))
    except OSError:
        pass


@live.test()
def test_journal(folder):
    """If the journal reads standard error, messages begin with their priority; elsewhere they do not."""
    said = {}
    for name, shift in (("journal", 0), ("file", 1)):
        with open(folder / name, "w+b") as file:
            about = os.fstat(file.fileno())
            environment = os.environ | {"JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino + shift}"}
            command = [PERFTAPE, "record", "--store", "/proc/none"]
            subprocess.run(command, stderr=file, env=environment, check=False)
            file.seek(0)
            said[name] = file.read().decode()
    wrongs = expect("<3> before the failure", said["journal"].startswith("<3>perftape: "), said)
    return wrongs + expect("no priority in a file", said["file"].startswith("perftape: "), said)


def listed(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.exists() else []


@live.test()
def test_follow(folder):
    """--follow prints an incident when it comes, and leaves a snapshot and a text of it. It needs no rights."""
    store, left = folder / "store", folder / "left"
    recorder = start_sampling(store, "--trust-user-kmsg", "--segment", "2s")
    follower = subprocess.Popen(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", PERFTAPE, "incidents", "--follow"]
        + ["--store", store, "--leave", left, "--kind", "ena"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = hear(follower, "waits for incidents")
    _, after = write_kmsg(stall(5))
    line = next((line for line in follower.stdout if device() in line), "")
    seen = time.time()
    complete = wait_for(lambda: any(device_in(path) for path in left.glob("*.txt")))
    names, mode = listed(left), left.stat().st_mode & 0o777
    modes = {(left / name).stat().st_mode & 0o777 for name in names}
    follower.send_signal(signal.SIGTERM)
    follower.stdout.read()
    code = follower.wait(timeout=60)
    stop(recorder)
    wrongs = expect("one line with the time, the kind and the line of the log", "ena.tx_stall" in line, line, said)
    wrongs += expect("the host", f"host {os.uname().nodename}, waits" in said, said)
    wrongs += expect("within a few looks", seen - after < 60, seen - after)
    wrongs += expect("a .tape and a .txt of it", complete and len(names) >= 2, names)
    wrongs += expect("only the owner reads them", (mode, modes) == (0o700, {0o600}), oct(mode), modes)
    return wrongs + expect("SIGTERM ends it with exit code 0", code == 0, code, follower.stderr.read())


def device_in(text):
    """Whether the snapshot beside a text has the incident of this test."""
    rows = perftape("incidents", "--store", text.with_suffix(".tape"), "--json", "-q").stdout
    return device() in rows and "CPU" in text.read_text(encoding="utf-8")


@live.test()
def test_self(folder):
    """audit --self tries each event, also without rights, and names neither the host nor the boot nor a user."""
    wrongs = []
    secrets = {
        "host": os.uname().nodename,
        "boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "folder": str(folder),
    }
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    for user, more in (("root", {}), ("nobody", nobody)):
        done = perftape("audit", "--self", "--store", folder / "none", **more)
        wrongs += expect(f"{user}: exit code 0", done.returncode == 0, done)
        for part in ("cycles: ", "cpu-clock: ", "page-faults: ", "context-switches: ", os.uname().release, "PERFMON"):
            wrongs += expect(f"{user}: {part}", part in done.stdout, done.stdout)
        lines = done.stdout.count("\n")
        wrongs += expect(f"{user}: at most a page", lines <= 50, lines)
        for name, text in secrets.items():
            hidden = text not in (done.stdout.split() if len(text) < 8 else done.stdout)
            wrongs += expect(f"{user}: no {name}", hidden, text)
    return wrongs


@live.test()
def test_forecast(folder):
    """--forecast records into a temporary store, prints a range, and leaves nothing behind."""
    store, temporary = folder / "store", folder / "tmp"
    temporary.mkdir()
    metrics = folder / "perftape.prom"
    told = perftape(
        "record", "--store", store, "--forecast", "--duration", "6s", "-F", "50", "--metrics-file", metrics,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    wrongs = expect("exit code 0", told.returncode == 0, told)
    lines = (r"^trial +\S+ k?B in \S+ s", r"^12 hours +\S+ .B, between \S+ .B and ", r"^a day +", r"^limit +20.0 GB")
    for pattern in lines:
        wrongs += expect(f"a line {pattern}", re.search(pattern, told.stdout, re.MULTILINE), told.stdout)
    wrongs += expect("no temporary store stays", not listed(temporary), listed(temporary))
    return wrongs + expect("neither store nor metrics", not store.exists() and not metrics.exists(), listed(folder))


@live.test()
def test_forecast_stopped(folder):
    """A signal ends the trial of --forecast, and its temporary store goes."""
    forecast = subprocess.Popen(
        [PERFTAPE, "record", "--forecast"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    begun = wait_for(lambda: any((folder / name / "spool").exists() for name in listed(folder)))
    forecast.send_signal(signal.SIGTERM)
    forecast.communicate(timeout=60)
    wrongs = expect("it had begun", begun, listed(folder))
    wrongs += expect("exit code 143", forecast.returncode == 143, forecast.returncode)
    return wrongs + expect("nothing stays", not listed(folder), listed(folder))


if __name__ == "__main__":
    sys.exit(live.main())
