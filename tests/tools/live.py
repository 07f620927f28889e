# SPDX-License-Identifier: GPL-2.0-only
"""Tests that record on this machine. A test is a function of an empty folder; it returns the list of what is wrong.

    @live.test(promise="a sentence of the README", broken_by="name-of-a-mutation", alone=True, also=("build-tsan",))
    def test_rotation(folder):
        \"\"\"What it shows, in one line.\"\"\"
        return expect("as many segments as seconds", count == 6, count)

A test with a promise is part of `./test`; `long=True` keeps a test for `./test --long`; `./test --all` runs
the rest too. Each runs in build-dev/, under sanitizers, and in the builds of `also`. Tests that measure, or
that change what the whole machine shares, run alone; the others run several at a time, because they
mostly wait. Each test has its own process, and the processes that it leaves running end with it.

    SCRIPT ARGS...               all tests of the file that are not long
    SCRIPT ARGS... --list        one JSON object a test
    SCRIPT ARGS... --only NAME   one test
"""

import contextlib
import fcntl
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

import noise
import tap

AT_ONCE = 6
LOCK = pathlib.Path(tempfile.gettempdir()) / "perftape-live.lock"
TURN = pathlib.Path(tempfile.gettempdir()) / "perftape-live.turn"
TESTS = []


def test(promise="", broken_by="", alone=False, also=(), long=False, lacks=""):
    """Registers a test. `lacks` names a feature that this host lacks, if the test is impossible
    without it."""

    assert bool(promise) == bool(broken_by), "a test of ./test shows that it can fail"

    def mark(function):
        function.promise, function.broken_by, function.alone = promise, broken_by, alone
        function.also, function.long, function.lacks = tuple(also), long, lacks
        TESTS.append(function)
        return function

    return mark


def lacking(able, what):
    """The value of `lacks`: `what` if the host does not have it, else an empty string."""
    return "" if able else what


def title(function):
    return function.__doc__.strip().splitlines()[0]


def expect(expected, condition, *seen):
    """Returns a failure if `condition` is false: what the test expects, and what it saw instead."""
    return [] if condition else [tap.wrong(expected, " | ".join(map(str, seen)) or "the opposite")]


def leave(*_):
    """Ends a test that is stopped. The test restores what it changed, and further signals do not interrupt that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


@contextlib.contextmanager
def setting(path, value):
    """Changes something that the whole machine shares, for a while."""
    path = pathlib.Path(path)
    before = path.read_text()
    try:
        path.write_text(value)
        yield
    finally:
        path.write_text(before)


@contextlib.contextmanager
def machine(alone):
    """Keeps tests of other trees away from a test that needs the machine alone."""
    with open(LOCK, "w", encoding="ascii") as file, open(TURN, "w", encoding="ascii") as turn:
        # Later tests queue behind a test that waits to be alone. Otherwise the machine might never become free.
        fcntl.flock(turn, fcntl.LOCK_EX)
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield


def end_children():
    for children in pathlib.Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def attempt(function, answer):
    signal.signal(signal.SIGTERM, leave)
    with machine(function.alone), tempfile.TemporaryDirectory(
        prefix="perftape live ", ignore_cleanup_errors=True
    ) as folder:
        begin = time.monotonic()
        with noise.Noise() as measured:
            try:
                wrongs = function(pathlib.Path(folder))
            except Exception:
                wrongs = [tap.wrong("the test runs to its end", traceback.format_exc())]
            finally:
                end_children()
        if wrongs:
            wrongs.append(f"noise: {measured.describe()}")
        print(f"# {function.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    answer.send(wrongs)


def attempt_all(tests, at_once):
    """The failures of each test. All tests fork from this thread, because other threads' locks would stay locked."""
    fork = multiprocessing.get_context("fork")
    wrongs = [[tap.wrong("the test runs to its end", "it was killed")] for _ in tests]
    waiting, running = list(enumerate(tests))[::-1], {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number, function = waiting.pop()
            answer, theirs = fork.Pipe(duplex=False)
            running[answer] = number, fork.Process(target=attempt, args=(function, theirs))
            running[answer][1].start()
            theirs.close()
        for answer in multiprocessing.connection.wait(list(running)):
            number, process = running.pop(answer)
            with contextlib.suppress(EOFError):
                wrongs[number] = answer.recv()
            process.join()
    return wrongs


def show_list():
    for function in TESTS:
        row = {key: getattr(function, key) for key in ("promise", "broken_by", "alone", "also", "long")}
        print(json.dumps({"name": function.__name__.removeprefix("test_"), "title": title(function), **row}))
    return 0


def chosen():
    """The tests that the command line asks for."""
    if "--only" in sys.argv:
        name = sys.argv[sys.argv.index("--only") + 1]
        return [function for function in TESTS if function.__name__ == f"test_{name}"]
    return [function for function in TESTS if not function.long]


def main(able=True, needs="root"):
    """Runs the tests of the file; the exit code."""
    if "--list" in sys.argv:
        return show_list()
    tests = chosen()
    lack = "" if os.geteuid() == 0 and able else f"recording takes {needs}"
    lacks = {function: lack or function.lacks for function in tests}
    signal.signal(signal.SIGTERM, leave)
    parts = [
        [function for function in tests if function.alone == alone and not lacks[function]] for alone in (True, False)
    ]
    wrongs = dict(zip(parts[0], attempt_all(parts[0], 1))) | dict(zip(parts[1], attempt_all(parts[1], AT_ONCE)))
    titles = {
        function: title(function) + (f" # SKIP it takes {lacks[function]}" if lacks[function] else "")
        for function in tests
    }
    return tap.run((titles[function], wrongs.get(function, [])) for function in tests)
