#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command line: what is typed, and exactly what comes out.

A .txt file beside this one holds cases: a line `$ perftape ARGS`, the lines that must come out (both streams), and
`= EXIT CODE`. With UPDATE_CASES=1 in the environment the files are written anew from what comes out: read the difference.

Usage: cases.py PERFTAPE
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import tap  # noqa: E402


def run(perftape, words, folder):
    environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "HOME": folder, "PERFTAPE_STORE": f"{folder}/store"}
    environment |= {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    done = subprocess.run([perftape, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=folder)
    return done.stdout.decode().replace(folder, "DIR") + f"= {done.returncode}\n"


def split(text):
    """(command line, what is expected) of each case; what stands before the first is kept as it is."""
    parts = text.split("$ perftape")
    head = parts.pop(0)
    return head, [(line, rest) for line, _, rest in (part.partition("\n") for part in parts)]


def check_file(perftape, path, folder):
    head, cases = split(path.read_text())
    update = os.environ.get("UPDATE_CASES")
    written = head
    for line, expected in cases:
        got = run(perftape, shlex.split(line), folder)
        written += f"$ perftape{line}\n{got}\n"
        wrongs = [] if update or got.strip() == expected.strip() else ["expected:", *expected.splitlines(), "came:", *got.splitlines()]
        yield f"{path.stem}: perftape{line}", wrongs
    if update:
        path.write_text(written.rstrip("\n") + "\n")


def main():
    with tempfile.TemporaryDirectory(prefix="perftape-cases-") as folder:
        checks = [check for path in sorted(HERE.glob("*.txt")) for check in check_file(os.path.abspath(sys.argv[1]), path, folder)]
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
