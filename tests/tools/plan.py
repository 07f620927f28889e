# SPDX-License-Identifier: GPL-2.0-only
"""Which tests run, and in which build.

A test runs in build-dev/, under AddressSanitizer and UndefinedBehaviorSanitizer. Its suites, in
tests/meson.build, say more:

- `threads`: in build-tsan/ too;
- `plain`: only in build/, as people get the program;
- `waits`: it mostly sleeps, so it runs beside others;
- `slow`: not in ./test, but in ./test --all;
- `long`: only in ./test --long.

A test of the suite `functions` is a file of live tests. It says this for each of its functions
(tests/tools/live.py), and each function is a test of its own here. The environment variable PERFTAPE_TIER
tells a test whether it runs in its short form.
"""

import dataclasses
import functools
import json
import pathlib
import subprocess

BUILDS = ("build-dev", "build-tsan", "build")
TIMEOUT_FACTOR = 10  # on a busy machine a test takes longer, and only one that hangs takes ten times as long


@dataclasses.dataclass
class Unit:
    """One process to start, and when it may run."""

    name: str
    build: str
    command: list
    folder: pathlib.Path
    environment: dict
    timeout: float
    targets: set
    suites: set
    alone: bool = False  # needs the machine alone
    waits: bool = False  # mostly sleeps, so several may run at once
    must_fail: bool = False  # runs under a mutation
    priority: int = 0  # takes long, so it starts before those of a lower priority

    def log(self):
        kept = "".join(letter if letter.isalnum() else "-" for letter in self.name)
        return self.folder / "test-logs" / f"{kept}.log"


def suites_of(test):
    return {suite.split(":", 1)[-1] for suite in test["suite"]}


def is_asked_for(name, suites, words):
    return not words or any(word in text for word in words for text in suites | {name})


def builds_of(tier):
    """The tests of ./test need only one build."""
    return ("build-dev",) if tier == "quick" else BUILDS


def belongs(tier, is_long, is_quick):
    if tier == "long" or is_long:
        return tier == "long" and is_long
    return is_quick or tier == "all"


@functools.cache
def files_by_id(folder):
    """The files that each target of a build folder makes, as ninja calls them."""
    made = json.loads((folder / "meson-info" / "intro-targets.json").read_text())
    return {
        target["id"]: [str(pathlib.Path(name).relative_to(folder)) for name in target["filename"]] for target in made
    }


def unit_of(folder, test, tier):
    known = files_by_id(folder)
    return Unit(
        name=test["name"],
        build=folder.name,
        command=list(test["cmd"]),
        folder=folder,
        environment={**test["env"], "PERFTAPE_TIER": tier},
        timeout=test["timeout"] * TIMEOUT_FACTOR,
        targets={name for target in test["depends"] for name in known.get(target, [])},
        suites=suites_of(test),
        alone=not test["is_parallel"],
        waits="waits" in suites_of(test) and test["is_parallel"],
        priority=test["priority"],
    )


@functools.cache
def listed(*command):
    return subprocess.run([*command, "--list"], capture_output=True, text=True, check=True).stdout


def functions_of(test):
    """The rows that a file of live tests prints about its functions: the same for each build."""
    return [json.loads(line) for line in listed(*test["cmd"]).splitlines()]


def main_build(test):
    """The build in which a file of live tests runs. The builds of `also` come in addition."""
    return "build" if "plain" in suites_of(test) else "build-dev"


def live_units(folder, test, tier, words):
    """A unit for each function of a file of live tests, and in ./test --long one for each mutation."""
    for function in functions_of(test):
        name = f"{test['name']}: {function['name'].replace('_', ' ')}"
        unit = unit_of(folder, test, tier)
        unit.command += ["--only", function["name"]]
        unit.alone, unit.waits = function["alone"], not function["alone"]
        if folder.name != main_build(test) and folder.name not in function["also"]:
            continue
        if tier == "long" and function["broken_by"] and folder.name == main_build(test):
            mutation = dataclasses.replace(unit, name=f"{name}, broken by {function['broken_by']}", must_fail=True)
            mutation.environment = {**unit.environment, "PERFTAPE_MUTATION": function["broken_by"]}
            if is_asked_for(mutation.name, suites_of(test) | {"mutations"}, words):
                yield mutation
        quick = bool(function["promise"]) and folder.name == main_build(test)
        if belongs(tier, function["long"], quick) and is_asked_for(name, suites_of(test), words):
            unit.name = name
            yield unit


def units_of(tree, build, tier, words):
    """The units of one build folder, in the order in which they are declared."""
    folder = tree / build
    tests = json.loads((folder / "meson-info" / "intro-tests.json").read_text())
    units = []
    for test in tests:
        suites = suites_of(test)
        if "functions" in suites:
            units += live_units(folder, test, tier, words)
            continue
        here = (
            build == "build"
            if "plain" in suites
            else build == "build-dev" or (build == "build-tsan" and "threads" in suites)
        )
        quick = "slow" not in suites and build != "build-tsan"
        if here and belongs(tier, "long" in suites, quick) and is_asked_for(test["name"], suites, words):
            units.append(unit_of(folder, test, tier))
    return units


def targets(units):
    """{build folder: the targets that ninja has to make}"""
    wanted = {}
    for unit in units:
        wanted.setdefault(unit.build, set()).update(unit.targets)
    return wanted
