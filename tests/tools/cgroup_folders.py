# SPDX-License-Identifier: GPL-2.0-only
"""Cgroups of the hierarchy from which perf events take the cgroup of a sample."""

import contextlib
import errno
import os
import pathlib
import re
import signal
import time


def find_unified():
    """The folder of the unified hierarchy; None if perf events have a hierarchy of their own."""
    if re.search(r"^\d+:[^:]*\bperf_event\b", pathlib.Path("/proc/self/cgroup").read_text(), re.MULTILINE):
        return None
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return next((pathlib.Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2"), None)


def is_removed(folder):
    """Removes a cgroup, which the kernel refuses while a process of it has not ended."""
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno == errno.EBUSY:
            return False
        raise
    return True


@contextlib.contextmanager
def new_cgroup(name):
    """A cgroup, whose processes are killed at the end; None where `find_unified` finds no hierarchy."""
    unified = find_unified()
    folder = unified and unified / f"{name}-{os.getpid()}-{time.monotonic_ns()}"
    if not folder:
        yield None
        return
    folder.mkdir()
    try:
        yield folder
    finally:
        while not is_removed(folder):
            for pid in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
