#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs each fuzz target under libFuzzer until it has run a million times, one target after the other, and adds the
executions to the table in docs/TESTING.md after each part of the way. Ctrl-C ends it; the same command goes on from
there. A target that fails keeps its input in build-fuzz/NAME/, and the others go on. Needs clang.

Usage: all.py [--goal EXECUTIONS] [--seconds SECONDS-PER-TARGET] [NAME...]
"""

import argparse
import datetime
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTING = ROOT / "docs" / "TESTING.md"
ROW = re.compile(r"^\| `([a-z-]+)` \| ([\d,]+) \| ([^|]+) \|$", re.MULTILINE)
PART = 50_000  # executions between two entries into the table
DAY = 86_400


def targets():
    names = {path.stem.removeprefix("fuzz-") for path in (ROOT / "tests" / "fuzz").rglob("fuzz-*.c")}
    return sorted(names - {"main"})


def counts():
    """The executions of each target, as the table has them."""
    return {name: int(count.replace(",", "")) for name, count, _ in ROW.findall(TESTING.read_text())}


def add(name, executions):
    """Adds executions to the row of a target, which may be new."""
    text = TESTING.read_text()
    rows = {row[1]: (int(row[2].replace(",", "")), row[3]) for row in ROW.finditer(text)}
    rows[name] = (rows.get(name, (0, ""))[0] + executions, datetime.date.today().isoformat())
    lines = [f"| `{key}` | {count:,} | {until} |" for key, (count, until) in sorted(rows.items())]
    found = list(ROW.finditer(text))
    TESTING.write_text(text[: found[0].start()] + "\n".join(lines) + text[found[-1].end() :])


def run(name, executions, seconds):
    """Runs a target. Returns how often it ran, whether it is sound, and whether Ctrl-C ended it."""
    options = [f"-runs={executions}", "-print_final_stats=1"]
    command = [ROOT / "tests/fuzz/long.sh", name, str(seconds), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, **pipes) as process:
        interrupted = False
        try:
            said = process.communicate()[0]
        except KeyboardInterrupt:
            interrupted = True
            said = process.communicate()[0]
    found = re.search(r"number_of_executed_units: (\d+)", said)
    if process.returncode and not interrupted:
        print(said[-3000:], file=sys.stderr)
    return int(found[1]) if found else 0, process.returncode == 0, interrupted


def reach(name, goal, seconds):
    """Runs a target until its goal. Returns whether it is sound."""
    end = time.monotonic() + seconds
    done, sound, interrupted = counts().get(name, 0), True, False
    while sound and done < goal and time.monotonic() < end:
        begin = time.monotonic()
        ran, sound, interrupted = run(name, min(PART, goal - done), max(1, int(end - begin)))
        if ran:
            add(name, ran)
        done += ran
        print(f"{name}: {done:,} executions, {ran / (time.monotonic() - begin):.0f} per second", flush=True)
        if interrupted:
            sys.exit(130)
        if not ran:
            break
    return sound


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--goal", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=DAY)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    wrong = [name for name in options.names if name not in targets()]
    if wrong:
        parser.error(f"no such targets: {', '.join(wrong)}")
    unsound = [name for name in options.names or targets() if not reach(name, options.goal, options.seconds)]
    if unsound:
        print(f"failed: {', '.join(unsound)}; the inputs are in build-fuzz/NAME/", file=sys.stderr)
    return bool(unsound)


if __name__ == "__main__":
    sys.exit(main())
