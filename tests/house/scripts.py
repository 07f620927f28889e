#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""shellcheck finds nothing in the shell scripts, and REUSE finds the licence of each file. TAP."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

FIRST_LINE = re.compile(r"#!\S*(?:/env )?.*?\b(?:ba|da)?sh$|# shellcheck shell=")


def scripts(tree):
    """The files that a shell reads, by their first line."""
    for path in tap.files(tree):
        with open(tree / path, "rb") as file:
            if FIRST_LINE.match(file.readline(200).decode("utf-8", "replace").strip()):
                yield path


def said_by(*command):
    """What a checker prints if it is not content."""
    done = subprocess.run([*command], cwd=tap.TREE, capture_output=True, text=True, check=False)
    return [done.stdout + done.stderr] if done.returncode else []


def check(what, program, *words):
    if not tap.has(program):
        return (f"{what} # SKIP {program} is not installed", [])
    return (what, said_by(program, *words))


def main():
    found = list(map(str, scripts(tap.TREE)))
    few = [] if len(found) > 10 and "packaging/setup.sh" in found else [f"only {found}"]
    return tap.run(
        [
            ("the check finds the scripts", few),
            check("shellcheck finds nothing in the scripts", "shellcheck", "-x", "--format=gcc", *found),
            check("each file has a licence, as REUSE wants it", "reuse", "lint"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
