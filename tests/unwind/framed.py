#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Walks by tables beside walks by frame pointers, of a program that keeps frame pointers.

    framed.py WALK_RECORDING LOAD

Both walks of a stack must have the same callers in the program. Only where a function has not set up its frame yet, or
has left it, does the walk by frame pointers miss the caller of the leaf. Needs root and perf.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from recordings import walked  # noqa: E402

SECONDS = 3
# a busy machine takes few samples
SAMPLES_MIN = 50
# The frame pointer is that of the caller before mov %rsp,%rbp, which follows push %rbp, and after the pop before a
# ret. The compiler puts some other instructions between.
MOVE, RETURN = b"\x48\x89\xe5", b"\xc3"
BEFORE_MOVE, BEFORE_RETURN = 24, 12
# The part of the samples that may be in such a place.
FRAMELESS_MAX = 0.25


def record(load, path):
    command = ("perf", "record", "-q", "-F", "1999", "-m", "4096", "--call-graph", "dwarf,8192", "-o", path, "--",
               "timeout", "-s", "KILL", str(SECONDS), load)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def own(frames, load):
    """The frames of the program, up to the library that called main()."""
    found = []
    for _, offset, path in frames:
        if path != load:
            break
        found.append(offset)
    return found


def is_frameless(code, offset):
    """Whether the frame pointer may be that of the caller."""
    return MOVE in code[offset:offset + BEFORE_MOVE] or RETURN in code[offset:offset + BEFORE_RETURN]


def compare(code, ours, theirs):
    if ours == theirs:
        return "equal"
    if ours[:1] + ours[2:] == theirs:
        return "frameless leaf" if is_frameless(code, ours[0]) else "misses a caller"
    return "differs"


def main():
    tool, load = sys.argv[1], os.path.realpath(sys.argv[2])
    if os.geteuid() or not shutil.which("perf"):
        print("1..1\nok 1 - beside frame pointers # SKIP needs root and perf")
        return 0
    words, disputed, code = collections.Counter(), [], pathlib.Path(load).read_bytes()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "perf.data"
        record(load, path)
        for (_, end, _, frames), (_, _, _, bare) in zip(walked(tool, path), walked(tool, path, "-b")):
            ours, theirs = own(frames, load), own(bare, load)
            if not ours or end != "whole":
                words["elsewhere" if not ours else end] += 1
                continue
            word = compare(code, ours, theirs)
            words[word] += 1
            if word in ("differs", "misses a caller"):
                disputed.append(f"{word}: {[hex(at) for at in ours]}, by frame pointers {[hex(at) for at in theirs]}")
    for line in disputed[:5]:
        print(f"# seen: {line}")
    compared = words["equal"] + words["frameless leaf"]
    good = not disputed and compared >= SAMPLES_MIN and words["frameless leaf"] <= FRAMELESS_MAX * compared
    print(f"1..1\n{'ok' if good else 'not ok'} 1 - walks by tables and by frame pointers agree\n# {dict(words)}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
