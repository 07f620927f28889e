#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Imports a recording with copied stacks: each sample has the callers that a walk of its copy finds.

    imported.py PERFTAPE WALK_RECORDING

Needs root and perf.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COUNTING = "import json\nfor _ in range(4000): json.loads(json.dumps({str(i): i for i in range(300)}))"
HEAD = re.compile(r"^\S.*? \d+/(\d+) +\[\d+\] +\d+\.\d+:")


def record(folder):
    command = ("perf", "record", "-q", "-F", "499", "--call-graph", "dwarf,16384", "-o", folder / "perf.data", "--",
               "/usr/bin/python3", "-c", COUNTING)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def walked(tool, path):
    """The walked stacks of each thread, as offsets in files."""
    stacks, stack = collections.defaultdict(list), []
    for line in subprocess.run((tool, path), capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split(" ", 2)
        if word[0] == "S":
            stack = []
            stacks[int(word[2].split()[0])].append((line.split(" ", 5)[4], stack))
        elif word[2].startswith("/"):
            stack.append(int(word[1], 16))
    return stacks


def imported(perftape, folder):
    """The user's part of the stacks of each thread, as the answer shows it."""
    subprocess.run((perftape, "import", "--store", folder / "store", folder / "perf.data"), check=True,
                   stderr=subprocess.DEVNULL)
    command = (perftape, "query", "--store", folder / "store", "--from", "2000-01-01T00:00:00Z", "--format",
               "flamescope")
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    stacks, stack = collections.defaultdict(list), None
    for line in text.splitlines():
        if found := HEAD.match(line):
            stack = []
            stacks[int(found[1])].append(stack)
        elif stack is not None and line.startswith("\t") and line.endswith(")") and "(/" in line:
            stack.append(int(line.split()[0], 16))
    return stacks


def main():
    perftape, tool = sys.argv[1:]
    if os.geteuid() or not shutil.which("perf"):
        print("1..1\nok 1 - imported stacks # SKIP needs root and perf")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record(folder)
        there, total, whole, missing = imported(perftape, folder), 0, 0, []
        for thread, stacks in walked(tool, folder / "perf.data").items():
            for end, stack in stacks:
                total += 1
                whole += end == "whole"
                if stack in there[thread]:
                    there[thread].remove(stack)
                elif end == "whole":
                    missing.append(f"thread {thread}: {[hex(offset) for offset in stack]}")
    for line in missing[:5]:
        print(f"# seen: no sample has the callers of {line}")
    print(f"1..1\n{'not ok' if missing or whole < 0.9 * total or total < 20 else 'ok'} 1 - "
          f"{whole} whole stacks of {total} samples are imported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
