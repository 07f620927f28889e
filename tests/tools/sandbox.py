# SPDX-License-Identifier: GPL-2.0-only
"""Runs a test of a program that has a fault, so that the fault harms nobody else.

The test has its own processes (a PID namespace: a fault may call kill(-1)), and a limit of time, memory, and
disk space. For root it also has a /tmp and a /dev/shm of its own, because a test that fails leaves files
behind.
"""

import dataclasses
import itertools
import os
import shutil
import subprocess
import threading
import time

import runner

DISK_MAX = 4 << 30
OUTPUT_MAX = 16 << 20
MEMORY_PART = 4  # a quarter of the machine's memory
ROOM = 'mount --bind "$0" /tmp && mount -t tmpfs -o size=2g tmpfs /dev/shm || exit 125; "$@"; exit $?'


@dataclasses.dataclass
class Outcome:
    """How a run of a test ended."""

    failed: bool
    how: str  # why the test counts as failed, if the test itself does not say it
    seconds: float
    output: str


def is_root():
    return os.geteuid() == 0


def memory_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def resident_bytes(process):
    """The sum over all processes in the namespace that `unshare` made."""
    try:
        space = os.stat(f"/proc/{process.pid}/ns/pid_for_children").st_ino
    except OSError:
        return 0
    if space == os.stat("/proc/self/ns/pid").st_ino:
        return 0
    total = 0
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}/ns/pid").st_ino == space:
                with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
                    total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue  # it ended, or belongs to another user
    return total


def disk_bytes(folder):
    """The sum over all files below a folder, without their holes."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue  # it is gone
    return total


class Sandbox:
    """Runs tests below a folder, from several threads. stop() ends them."""

    def __init__(self, folder):
        self.folder = folder
        self.numbers = itertools.count()
        self.running = set()
        self.lock = threading.Lock()
        self.stopping = False
        for old in folder.glob("run-*"):
            shutil.rmtree(old, ignore_errors=True)

    def command(self, unit, room):
        user = [] if is_root() else ["--user", "--map-current-user"]
        inside = ["sh", "-c", ROOM if is_root() else '"$@"; exit $?', room]
        return ["unshare", *user, "--pid", "--fork", "--kill-child", "--mount-proc", "--", *inside, *unit.command]

    def run(self, unit, environment, limit_s):
        folder = self.folder / f"run-{next(self.numbers)}"
        room = folder / "tmp"
        room.mkdir(parents=True)
        room.chmod(0o1777)
        environment = {**os.environ, **unit.environment, "TMPDIR": "/tmp" if is_root() else str(room), **environment}
        begin = time.monotonic()
        try:
            with open(folder / "output", "w+b") as output:
                process = self.start(self.command(unit, room), unit.folder, environment, output)
                how = self.watch(process, folder, begin + limit_s)
                if self.stopping:
                    raise KeyboardInterrupt  # stop() ended the test
                output.seek(0)
                text = output.read(OUTPUT_MAX).decode("utf-8", "replace")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        seconds = time.monotonic() - begin
        if not how and process.returncode not in (0, 1):
            how = f"it ended with {process.returncode}"
        passed, failed, _ = runner.count(text, how)
        wrong = how or failed or process.returncode or not passed
        return Outcome(bool(wrong), how, seconds, text)

    def start(self, command, folder, environment, output):
        with self.lock:
            if self.stopping:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.running.add(process)
            return process

    def watch(self, process, folder, until):
        """Waits for the end of a test. Returns why the sandbox ended it, or an empty string."""
        how = ""
        while process.poll() is None:
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                if time.monotonic() > until:
                    how = "it takes too long"
                elif resident_bytes(process) > memory_bytes() / MEMORY_PART:
                    how = "it takes too much memory"
                elif disk_bytes(folder) > DISK_MAX:
                    how = "it takes too much disk space"
                if how:
                    process.kill()
        with self.lock:
            self.running.discard(process)
        return how

    def stop(self):
        with self.lock:
            self.stopping = True
            for process in self.running:
                process.kill()
