#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Builds and runs the tests in each build folder, and counts them.

A test's suites say where it runs: `plain` only in build/ (it measures, or wants no sanitizer); `live` there too; `threads` in
build-tsan/ too; all but `plain` in build-dev/. What counts is a TAP line, or the whole test where it has none.

Usage: run-tests.py TREE [WORD...]
"""

import json
import pathlib
import re
import subprocess
import sys

BUILDS = {
    "build-dev": lambda suites: "plain" not in suites,
    "build-tsan": lambda suites: "threads" in suites,
    "build": lambda suites: suites & {"plain", "live"},
}
LAST_LINES = 30
TIMEOUT_MULTIPLIER = "3"  # sanitizers and busy machines
TAP_LINE = re.compile(r"(not )?ok\b[^#]*(?:#\s*(skip|todo)\b)?", re.IGNORECASE)


def say(text):
    print(text, flush=True)


def suites_of(test):
    return {suite.split(":", 1)[-1] for suite in test["suite"]}


def is_asked_for(test, words):
    return not words or any(word in text for word in words for text in suites_of(test) | {test["name"]})


def count(result):
    """(passed, failed, skipped) of one entry of testlog.json."""
    passed = failed = skipped = 0
    for line in result.get("stdout", "").splitlines():
        match = TAP_LINE.match(line)
        if not match:
            continue
        bad, directive = match.group(1), (match.group(2) or "").lower()
        if directive == "skip":
            skipped += 1
        elif bad and directive != "todo":
            failed += 1
        else:
            passed += 1
    outcome = result["result"]
    if outcome == "SKIP":
        return 0, 0, max(skipped, 1)
    if outcome in ("OK", "EXPECTEDFAIL"):
        return (passed, failed, skipped) if passed + skipped else (1, 0, 0)
    # killed, timed out, or ended before its plan did: something failed, even where no line says so
    return passed, max(failed, 1), skipped


def skip_lines(result):
    return [line for line in result.get("stdout", "").splitlines() if re.search(r"#\s*skip\b", line, re.IGNORECASE)]


def ninja(folder, *targets):
    """Builds; says why it does not."""
    done = subprocess.run(["ninja", "-C", folder, "--quiet", *targets], capture_output=True, text=True)
    if done.returncode != 0:
        say(done.stdout + done.stderr)
    return done.returncode == 0


def run_in(folder, words, wanted):
    """Results of the tests of one build folder; None when it does not build."""
    if not ninja(folder, "build.ninja"):
        return None
    tests = json.loads((folder / "meson-info" / "intro-tests.json").read_text())
    names = [test["name"] for test in tests if wanted(suites_of(test)) and is_asked_for(test, words)]
    if not names:
        return []
    say(f"{folder.name}: building for {len(names)} tests")
    if not ninja(folder, "all", "meson-test-prereq"):
        return None
    log = folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--timeout-multiplier", TIMEOUT_MULTIPLIER, *names]
    subprocess.run(command, stdin=subprocess.DEVNULL)
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else None


def main():
    tree, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    totals = [0, 0, 0]
    reports = []
    for name, wanted in BUILDS.items():
        results = run_in(tree / name, words, wanted)
        if results is None:
            totals[1] += 1
            reports.append(f"FAILED: {name} does not build, or its tests do not start (above)")
            continue
        for result in results:
            counts = count(result)
            totals = [total + one for total, one in zip(totals, counts)]
            if counts[1]:
                output = (result.get("stdout", "") + result.get("stderr", "")).splitlines()[-LAST_LINES:]
                head = f"FAILED: {result['name']} in {name}: {result['result'].lower()}"
                reports.append("\n".join([head, *("    " + line for line in output)]))
            if counts[2]:
                head = f"SKIPPED: {result['name']} in {name}"
                reports.append("\n".join([head, *("    " + line for line in skip_lines(result))]))
    if not any(totals):
        reports.append("no test has such a name or suite" if words else "there are no tests")
    for report in reports:
        say("\n" + report)
    passed, failed, skipped = totals
    say(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
