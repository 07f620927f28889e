#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the reader in tape/ with read_tape.py, which was written from docs/FORMAT.md: both read the same, and both
refuse damage.

Usage: compare.py made DUMP_TAPE WRITE_TAPE        segments of random tapes, and a saved one
       compare.py recorded DUMP_TAPE PERFTAPE      two seconds recorded on this host
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

FORMAT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FORMAT.parent / "tools"))
import read_tape  # noqa: E402
import tap  # noqa: E402

WHAT, DUMP_TAPE, PROGRAM = sys.argv[1], *map(os.path.abspath, sys.argv[2:4])
# Fewer in ./test, because random tapes take the longest.
IS_QUICK = os.environ.get("PERFTAPE_TIER") == "quick"
SEEDS = range(1, 5 if IS_QUICK else 13)
SEEDS_OF_LARGE = range(1, 2 if IS_QUICK else 3)
# `write-tape 120 timer` wrote it when the format was v1. Whatever a later writer does, it has to stay readable, as
# this text.
SAVED = FORMAT / "saved.tape"
SAVED_TEXT = "0002a8eb7bb68bf7c8ad5229275c5cac86d7351fd18d0a7865a8912403ee0a61"


def dump(path):
    """The lines that the reader in tape/ prints for the file, and its complaint."""
    done = subprocess.run([DUMP_TAPE, path], capture_output=True, check=False)
    return done.stdout.decode("ascii").splitlines(), done.stderr.decode("utf-8", "replace").strip()


def read(data):
    return [line for tape in read_tape.read_tapes(data) for line in read_tape.lines_of(tape)]


def short(lines, number):
    return lines[number][:300] if number < len(lines) else "nothing"


def compare(name, path):
    """The first line that differs."""
    theirs, complaint = dump(path)
    if complaint:
        return [f"{name}: tape/: {complaint}"]
    try:
        ours = read(path.read_bytes())
    except (read_tape.Damaged, read_tape.Refused) as error:
        return [f"{name}: read_tape.py: {error}"]
    for number in range(max(len(ours), len(theirs))):
        if short(ours, number) != short(theirs, number) or ours[number] != theirs[number]:
            return [f"{name}, line {number + 1}: {short(theirs, number)}", f"read_tape.py: {short(ours, number)}"]
    return [] if ours else [f"{name}: no text"]


def write(folder, seed, kind):
    path = folder / f"{seed}-{kind}.tape"
    subprocess.run([PROGRAM, str(seed), kind, path], check=True)
    return path


def compare_kind(folder, kind, seeds):
    return [wrong for seed in seeds for wrong in compare(f"{kind} {seed}", write(folder, seed, kind))]


def compare_busy(folder):
    """Both readers find the same busy CPUs, and at least one."""
    path = write(folder, SEEDS[0], "timer")
    cells = sum(line.startswith("cell ") for line in dump(path)[0])
    return compare("busy", path) + ([] if cells else ["no CPU is busy"])


def compare_several(folder):
    """Both readers read a file of several consecutive segments."""
    path = folder / "several.tape"
    path.write_bytes(b"".join(write(folder, seed, "random").read_bytes() for seed in SEEDS[:3]))
    wrongs = compare("several", path)
    segments = sum(line.startswith("segment ") for line in dump(path)[0])
    return wrongs + ([] if segments == 3 else [f"{segments} segments, not 3"])


def compare_saved():
    wrongs = compare("saved", SAVED)
    text = "".join(line + "\n" for line in dump(SAVED)[0])
    return wrongs + (
        []
        if hashlib.sha256(text.encode()).hexdigest() == SAVED_TEXT
        else ["its text is not what it was when it was saved"]
    )


def refusal(data):
    """Why read_tape.py refuses the bytes; None if it accepts them."""
    try:
        read(data)
    except (read_tape.Damaged, read_tape.Refused) as error:
        return str(error)
    return None


def flipped_bytes():
    """Flips a bit in each byte of the header and the table of contents, and in every 11th byte after them."""
    sound = SAVED.read_bytes()
    head = 1000
    for at in (*range(head), *range(head, len(sound), 11)):
        data = bytearray(sound)
        data[at] ^= 1 << at % 8
        why = refusal(bytes(data))
        # a reader checks the first twelve bytes, which identify a segment, before the checksum
        if not why or (at >= 12 and not why.startswith("checksum of ")):
            yield f"byte {at}: {why or 'was read'}"


def cut_files():
    sound = SAVED.read_bytes()
    for size in range(1, len(sound), 97):
        if not refusal(sound[:size]):
            yield f"the first {size} bytes were read"


def made():
    with tempfile.TemporaryDirectory(prefix="perftape format ") as name:
        folder = pathlib.Path(name)
        return tap.run(
            [
                ("both read the same of random tapes", compare_kind(folder, "random", SEEDS)),
                ("of several blocks", compare_kind(folder, "many", SEEDS_OF_LARGE)),
                ("of samples that a timer took", compare_kind(folder, "timer", SEEDS_OF_LARGE)),
                ("of busy CPUs", compare_busy(folder)),
                ("without samples", compare_kind(folder, "none", SEEDS_OF_LARGE)),
                ("of several segments in one file", compare_several(folder)),
                ("of a segment that was saved, what it said then", compare_saved()),
                ("a changed byte is refused by its checksum", list(flipped_bytes())),
                ("a file that was cut is refused", list(cut_files())),
            ]
        )


def compare_recorded(folder):
    store = folder / "store"
    done = subprocess.run(
        [PROGRAM, "record", "--store", store, "--duration", "2s"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    paths = sorted((store / "segments").glob("*.tape"))
    if done.returncode != 0 or not paths:
        return ["nothing recorded", done.stderr]
    wrongs = [wrong for path in paths for wrong in compare(path.name, path)]
    samples = sum(line.startswith("sample ") for path in paths for line in dump(path)[0])
    print(f"# {samples} samples")
    return wrongs + ([] if samples else ["no samples"])


def recorded():
    name = "both read the same of what is recorded here"
    if os.geteuid() != 0:
        print(f"1..1\nok 1 - {name} # SKIP recording takes root")
        return 0
    with tempfile.TemporaryDirectory(prefix="perftape format ") as folder:
        return tap.run([(name, compare_recorded(pathlib.Path(folder)))])


if __name__ == "__main__":
    sys.exit({"made": made, "recorded": recorded}[WHAT]())
