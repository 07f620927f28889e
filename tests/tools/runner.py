# SPDX-License-Identifier: GPL-2.0-only
"""Runs units of the plan, some at a time, shows how far it is, and says what failed.

For a test that fails, it shows three lines: what the test expected, what the test saw, and how noisy the machine
was. A log beside the build has the test's whole output.
"""

import concurrent.futures
import contextlib
import dataclasses
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import noise

TAP_LINE = re.compile(r"(?P<bad>not )?ok\b[^#]*(?:#\s*(?P<directive>skip|todo)\b)?", re.IGNORECASE)
PLAN_LINE = re.compile(r"1\.\.(\d+)$")
LIVE_AT_ONCE = 6
LONGEST = 500  # characters of what was seen; the log has all of it
SIGNALS_SEEN = 0.5  # seconds after which a signal is seen at the latest
PATIENCE = 10  # seconds that a test may take to end once it is asked to


@dataclasses.dataclass
class Result:
    unit: object
    counts: tuple = (0, 0, 0)  # passed, failed, skipped
    outcome: str = ""  # how the test ended, if it ended wrongly
    noise: str = ""
    output: str = ""
    seconds: float = 0.0


def say(text):
    print(text, flush=True)


class Screen:
    """A line for each test that ends; on a terminal also one for what runs now."""

    def __init__(self, total):
        self.total, self.done, self.running = total, 0, {}
        self.lock = threading.Lock()
        self.terminal = sys.stdout.isatty()

    def status(self):
        """Draws the line at the bottom of the terminal, cut to the terminal's width."""
        if not self.terminal:
            return
        text = f"{self.total - self.done} left; running: {', '.join(self.running.values())}"
        sys.stdout.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
        sys.stdout.flush()

    def start(self, unit):
        with self.lock:
            self.running[id(unit)] = unit.name
            self.status()

    def end(self, result):
        with self.lock:
            self.running.pop(id(result.unit))
            self.done += 1
            word = "FAILED" if result.counts[1] else "ok"
            where = "" if result.unit.build == "build-dev" else f" in {result.unit.build}/"
            if self.terminal:
                sys.stdout.write("\r\033[K")
            say(f"{self.done:4}/{self.total} {word:<6} {result.seconds:6.1f} s  {result.unit.name}{where}")
            self.status()


def count(output, outcome):
    """(passed, failed, skipped) from the output of a test. A test that ended wrongly has at least one failure."""
    passed = failed = skipped = 0
    planned = None
    for line in output.splitlines():
        plan, match = PLAN_LINE.match(line), TAP_LINE.match(line)
        planned = int(plan[1]) if plan else planned
        if not match:
            continue
        directive = (match["directive"] or "").lower()
        if directive == "skip":
            skipped += 1
        elif match["bad"] and directive != "todo":
            failed += 1
        else:
            passed += 1
    complete = planned and planned == passed + failed + skipped
    return passed, max(failed, 0 if complete and not outcome else 1), skipped


def turn_around(result):
    """Under a mutation, a test counts as passed if one of its checks fails. A crash does not count. A test that cannot
    run on this host is neither passed nor failed."""
    if result.counts[2] and not result.counts[1]:
        return
    found = result.counts[1] > 0 and not result.outcome
    result.output += (
        "" if found else f"\n# expected: the test fails under its mutation\n# seen: {result.outcome or 'it passes'}\n"
    )
    result.counts = (1, 0, 0) if found else (0, 1, 0)


class Runner:
    """Runs tests, and stops them if a person presses Ctrl-C."""

    def __init__(self, units):
        self.screen = Screen(len(units))
        self.processes = set()
        self.stopping = False

    def stop(self):
        self.stopping = True
        running = list(self.processes)
        for process in running:
            signal_group(process, signal.SIGTERM)
        for process in running:
            end(process)

    def run(self, unit):
        if self.stopping:
            return Result(unit, (0, 1, 0), "it was not started")
        self.screen.start(unit)
        begin = time.monotonic()
        with noise.Noise() as measured:
            environment = {**os.environ, **unit.environment}
            process = subprocess.Popen(
                unit.command,
                cwd=unit.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.processes.add(process)
            if self.stopping:
                end(process)
            try:
                data, outcome = process.communicate(timeout=unit.timeout)[0], ""
            except subprocess.TimeoutExpired:
                end(process)
                data, outcome = last_output(process), f"it takes longer than {unit.timeout:.0f} s"
            self.processes.discard(process)
        if self.stopping:
            return Result(unit, (0, 1, 0), "it was stopped")
        if not outcome and process.returncode not in (0, 1):
            outcome = (
                f"it ended with {process.returncode}"
                if process.returncode > 0
                else f"it died of signal {-process.returncode}"
            )
        output = data.decode("utf-8", "replace")
        result = Result(unit, count(output, outcome), outcome, measured.describe(), output, time.monotonic() - begin)
        if not outcome and process.returncode == 1 and not result.counts[1]:
            result.outcome, result.counts = "it ended with 1", (result.counts[0], 1, result.counts[2])
        if unit.must_fail:
            turn_around(result)
        unit.log().parent.mkdir(exist_ok=True)
        unit.log().write_text(result.output)
        unit.log().with_suffix(".took").write_text(f"{result.seconds:.1f}\n")
        self.screen.end(result)
        return result


def signal_group(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def end(process):
    """Stops a test and all that it started. The test has a moment to restore what it changed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        signal_group(process, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


def last_output(process):
    """The output of an ended test. A leftover process in a session of its own may keep the pipe open."""
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired as expired:
        process.stdout.close()
        return expired.output or b""


def rank(unit):
    """Orders units by the time that they took in the run before, so that no long unit is left at the end. A unit that
    has not run comes first if its declaration says that it takes long, and else after all others."""
    with contextlib.suppress(OSError, ValueError):
        return -float(unit.log().with_suffix(".took").read_text())
    return -math.inf if unit.priority else 0.0


def run_all(units):
    """Runs tests that compute, one for each CPU; then tests that mostly wait, several at once; then tests that need
    the machine alone."""
    runner = Runner(units)
    units = sorted(units, key=rank)
    phases = (
        (os.cpu_count(), [unit for unit in units if not unit.alone and not unit.waits]),
        (LIVE_AT_ONCE, [unit for unit in units if unit.waits]),
        (1, [unit for unit in units if unit.alone]),
    )
    results = []
    try:
        for at_once, chosen in phases:
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                try:
                    futures = [pool.submit(runner.run, unit) for unit in chosen]
                    # A signal that comes just before the wait does not end the wait: Python sees the signal after it.
                    while concurrent.futures.wait(futures, timeout=SIGNALS_SEEN).not_done:
                        pass
                    results += [future.result() for future in futures]
                except KeyboardInterrupt:
                    # one Ctrl-C is enough: a second one would leave tests behind
                    for number in (signal.SIGINT, signal.SIGTERM):
                        signal.signal(number, signal.SIG_IGN)
                    runner.stop()
                    raise
    except KeyboardInterrupt:
        say(f"\n{runner.screen.done} of {len(units)} tests have run")
        raise
    return results


def failures(output):
    """The [(test, expected, seen)] of what a unit printed."""
    found, expected, seen, notes = [], "", "", []
    for line in output.splitlines():
        match = TAP_LINE.match(line)
        if line.startswith("# expected: "):
            # the first failure of a test counts: the others may follow from it
            expected = expected or line[12:]
        elif line.startswith("# seen: "):
            seen = seen or line[8:]
        elif line.startswith("#"):
            notes.append(line[1:].strip())
        elif match:
            if match["bad"] and not match["directive"]:
                name = line.partition(" - ")[2]
                found.append((name, expected or name, seen or " / ".join(notes)))
            expected, seen, notes = "", "", []
    return found


def shorten(text):
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def report(result):
    """Says of each failed test what was expected, what was seen, and how noisy the machine was; and what was
    skipped."""
    unit = result.unit
    for line in result.output.splitlines():
        if re.search(r"#\s*skip\b", line, re.IGNORECASE):
            say(f"\nSKIPPED: {unit.name}, {line}")
    if not result.counts[1]:
        return
    found = [("", *without_failures(result))] if unit.must_fail else failures(result.output)
    if result.outcome and not unit.must_fail:
        found.append(
            (
                "",
                "it runs to its end",
                f"{result.outcome}; its last lines: {' / '.join(result.output.splitlines()[-3:])}",
            )
        )
    for name, expected, seen in found or [("", *without_failures(result))]:
        say(f"\nFAILED: {unit.name}{': ' if name else ''}{name} (all it said: {unit.log()})")
        say(f"  expected  {shorten(expected)}\n  seen      {shorten(seen)}\n  noise     {result.noise}")


def without_failures(result):
    if result.unit.must_fail:
        return "the test fails under its mutation", result.outcome or "it passes"
    return "as many results as the test planned", " / ".join(result.output.splitlines()[-3:])
