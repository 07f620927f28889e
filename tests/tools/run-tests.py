#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Builds and runs tests, and counts them. It is behind ./test.

Usage: run-tests.py TREE [--all | --long] [--list] [WORD...]

tests/meson.build declares the tests; tests/tools/plan.py says which of them run, and in which build. A WORD selects the
tests whose name or suite contains it, of those that --all runs; with --long, of those that only --long runs.
"""

import argparse
import pathlib
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
import noise  # noqa: E402
import plan  # noqa: E402
import runner  # noqa: E402


def parse(words):
    parser = argparse.ArgumentParser(prog="./test", description="Builds and runs the tests.", add_help=True)
    parser.add_argument(
        "--all", action="store_const", dest="tier", const="all", help="all tests but the longest: what CI runs"
    )
    parser.add_argument(
        "--long",
        action="store_const",
        dest="tier",
        const="long",
        help="only the tests that take longer than CI can afford",
    )
    parser.add_argument("--list", action="store_true", help="name the tests, and do not run them")
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only tests whose name or suite contains one of the words"
    )
    asked = parser.parse_intermixed_args(words)
    asked.tier = asked.tier or ("all" if asked.words else "quick")
    return asked


def ninja(folder, targets):
    """Builds; says why when it cannot. Without a target ninja would build everything."""
    if not targets:
        return True
    done = subprocess.run(
        ["ninja", "-C", folder, "--quiet", *targets], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        runner.say(done.stdout + done.stderr)
    return done.returncode == 0


def choose(tree, asked):
    """(the units that are asked for, {build folder: why it has none})"""
    units, broken = [], {}
    for name in plan.builds_of(asked.tier):
        if not (tree / name / "build.ninja").exists():
            continue
        try:
            if ninja(tree / name, ["build.ninja"]):
                units += plan.units_of(tree, name, asked.tier, asked.words)
            else:
                broken[name] = "does not configure"
        except subprocess.CalledProcessError as error:
            runner.say(f"{' '.join(map(str, error.cmd))}: exit code {error.returncode}\n{error.stderr}")
            broken[name] = "cannot list its live tests"
    return units, broken


def build(tree, wanted):
    """Brings the builds up to date, each as far as its tests need it. {build folder: why it failed}"""
    broken = {}
    for name, targets in wanted.items():
        if targets:
            runner.say(f"building {name}/")
        if not ninja(tree / name, sorted(targets)):
            broken[name] = "does not build"
    return broken


def run(tree, asked):
    """Builds, runs and reports; the exit code."""
    units, broken = choose(tree, asked)
    broken |= build(tree, plan.targets(units))
    units = [unit for unit in units if unit.build not in broken]
    with noise.Noise() as measured:
        results = runner.run_all(units)
    totals = [sum(counts) for counts in zip((0, len(broken), 0), *(result.counts for result in results))]
    for result in results:
        runner.report(result)
    for name, why in broken.items():
        runner.say(f"\nFAILED: {name}/ {why} (above)")
    if not any(totals):
        runner.say("no test has such a name or suite" if asked.words else "there are no tests")
    runner.say(f"\nthis machine: {measured.describe()}")
    passed, failed, skipped = totals
    runner.say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


def show_list(tree, asked):
    units, broken = choose(tree, asked)
    for unit in units:
        print(f"{unit.name}  ({unit.build})")
    if not units:
        print("no test has such a name or suite", file=sys.stderr)
    return 0 if units and not broken else 1


def main():
    tree = pathlib.Path(sys.argv[1])
    asked = parse(sys.argv[2:])
    # A shell starts background commands with SIGINT ignored, and tests would inherit that. Tests of Ctrl-C need it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return show_list(tree, asked) if asked.list else run(tree, asked)
    except KeyboardInterrupt:
        runner.say("\nstopped")
        return 130


if __name__ == "__main__":
    sys.exit(main())
