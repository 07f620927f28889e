# SPDX-License-Identifier: GPL-2.0-only
"""Tests that record on the machine at hand. A test is a function of an empty folder; it gives the list of what is wrong.

Those that measure, or change what all on the machine share, run alone; the others some at a time, as they mostly wait. Each has a process
of its own, and what it leaves running ends with it.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

import tap

AT_ONCE = 6


def wants(able, what):
    """For a test of something that not every kernel or host has: without it, it is told as skipped."""

    def mark(test):
        test.lacks = "" if able else what
        return test

    return mark


def title(test):
    return test.__doc__.strip().splitlines()[0]


def leave(*_):
    """Who is stopped sets back what it changed, and is not interrupted in that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


@contextlib.contextmanager
def setting(path, value):
    """What all on this machine share, changed for a while."""
    path = pathlib.Path(path)
    before = path.read_text()
    try:
        path.write_text(value)
        yield
    finally:
        path.write_text(before)


def end_children():
    for children in pathlib.Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def attempt(test, answer):
    signal.signal(signal.SIGTERM, leave)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perftape live ", ignore_cleanup_errors=True) as folder:
        try:
            wrongs = test(pathlib.Path(folder))
        except Exception:
            wrongs = [traceback.format_exc()]
        finally:
            end_children()
    print(f"# {test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    answer.send(wrongs)


def attempt_all(tests, at_once):
    """What is wrong with each. All are forked from here, as a thread that forks may leave a lock behind."""
    fork = multiprocessing.get_context("fork")
    wrongs = [["it was killed"] for _ in tests]
    waiting, running = list(enumerate(tests))[::-1], {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number, test = waiting.pop()
            answer, theirs = fork.Pipe(duplex=False)
            running[answer] = number, fork.Process(target=attempt, args=(test, theirs))
            running[answer][1].start()
            theirs.close()
        for answer in multiprocessing.connection.wait(list(running)):
            number, process = running.pop(answer)
            with contextlib.suppress(EOFError):
                wrongs[number] = answer.recv()
            process.join()
    return wrongs


def main(together=(), alone=(), able=True, needs="root"):
    """Runs them all; the exit code."""
    if os.geteuid() != 0 or not able:
        print(f"1..{len(alone) + len(together)}")
        for number, test in enumerate([*alone, *together], 1):
            print(f"ok {number} - {title(test)} # SKIP recording takes {needs}")
        return 0
    signal.signal(signal.SIGTERM, leave)
    lacking = [test for test in (*alone, *together) if getattr(test, "lacks", "")]
    alone, together = ([test for test in tests if test not in lacking] for tests in (alone, together))
    wrongs = attempt_all(alone, 1) + attempt_all(together, AT_ONCE) + [[] for _ in lacking]
    titles = [title(test) for test in (*alone, *together)] + [f"{title(test)} # SKIP it takes {test.lacks}" for test in lacking]
    return tap.run(zip(titles, wrongs))
