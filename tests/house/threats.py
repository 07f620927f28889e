#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs/THREATS.md: each test that it names exists, and each attack names a test or is marked as open.

Usage: threats.py BUILD_FOLDER
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import plan  # noqa: E402
import tap  # noqa: E402

NAMED = re.compile(r"`((?:unit|fuzz|live|house|cases|format|fleet) [^`]+)`")


def wrong_names(text, names):
    for name in sorted(set(NAMED.findall(text)) - names):
        yield f"docs/THREATS.md: no test is called '{name}'"


def wrong_rows(text):
    """Rows of attacks have three columns; the last one has the tests."""
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip("|").split("|")]
        if not line.startswith("|") or len(columns) != 3 or columns[0] == "attack" or set(columns[0]) == {"-"}:
            continue
        if not NAMED.search(columns[2]) and "open" not in columns[2] and "all fuzz targets" not in columns[2]:
            yield f"docs/THREATS.md: '{columns[0]}' names no test and is not open"


def names_of(folder):
    """The names of all tests: the files, and the functions of live files."""
    names = set()
    for test in json.loads((folder / "meson-info" / "intro-tests.json").read_text()):
        names.add(test["name"])
        if "functions" in plan.suites_of(test):
            names |= {f"{test['name']}: {row['name'].replace('_', ' ')}" for row in plan.functions_of(test)}
    return names


def self_test():
    names = {"unit a", "live b", "live b: c d"}
    cases = [
        (wrong_names("| x | y | `unit a`, `live b: c d` |", names), 0),
        (wrong_names("| x | y | `unit z` |", names), 1),
        (wrong_names("`perftape record`", names), 0),
        (wrong_rows("| attack | root | test |\n| --- | --- | --- |\n| x | y | `unit a` |"), 0),
        (wrong_rows("| x | y | open |"), 0),
        (wrong_rows("| x | y | some day |"), 1),
    ]
    for number, (wrongs, count) in enumerate(cases):
        seen = list(wrongs)
        if len(seen) != count:
            yield f"case {number}: {count} mistakes expected, {seen} found"


def main(folder):
    text = (tap.TREE / "docs" / "THREATS.md").read_text()
    return tap.run(
        [
            ("this test finds mistakes", list(self_test())),
            ("each test of docs/THREATS.md exists", list(wrong_names(text, names_of(folder)))),
            ("each attack has a test or is open", list(wrong_rows(text))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
