#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every command on terminals of 60, 80 and 120 columns, beside the same command into a pipe.

No line is wider than the terminal, no word and no quantity is broken, columns give way as a whole, and what goes into a
pipe is not wrapped. Formats for programs are the same on both.

Usage: terminal.py PERFTAPE FIXTURE
"""

import difflib
import fcntl
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "tools"))
import cases  # noqa: E402
import tap  # noqa: E402

WIDTHS = (60, 80, 120)
WINDOW = "--from 2025-03-01T12:00:00Z --to 2025-03-01T12:06:00Z"
# Texts: the words on a terminal are those in a pipe.
TEXTS = (
    "--help",
    "record --help",
    "gauges --help",
    "record --ring many",
    "status",
    "status --store cut",
    "status --store taken",
    "verify",
    "verify --store cut",
    "verify --store wrong",
    "audit --duration 0 --root root",
    "mark",
    f"query --events {WINDOW}",
    f"query {WINDOW} -o stacks",
    "query --at 2020-01-01",
    f"query {WINDOW} --strict --cpu 3,9 -o stacks",
    f"flamegraph {WINDOW} -o graph.svg",
    f"snapshot {WINDOW} -o window.tape",
    "import kern.log",
    "resolve --store spiky",
    f"gauges {WINDOW} --name no-such",
    "incidents scan kern.log.bz2",
)
# Tables: a row on a terminal has a part of the cells of the row in a pipe.
TABLES = (
    "segments",
    "segments --store cut",
    f"segments {WINDOW}",
    "incidents",
    "incidents --all",
    "incidents scan kern.log",
    "incidents scan kern.log --all",
    "vacuum --max-age 1d --dry-run",
)
# Drawings: only their lines must fit.
DRAWINGS = (
    f"top {WINDOW}",
    f"heatmap {WINDOW}",
    f"heatmap {WINDOW} --per-cpu",
    f"gauges {WINDOW}",
    f"gauges {WINDOW} --name '*'",
    "spikes --store spiky --all",
    f"spikes --all {WINDOW}",
)
# Formats: the same bytes on a terminal.
FORMATS = (
    f"query {WINDOW} -q",
    f"query {WINDOW} -q --format folded",
    f"query {WINDOW} -q --json",
    f"query {WINDOW} -q --events --json",
    f"gauges {WINDOW} -q --csv",
    f"gauges {WINDOW} -q --json",
    "segments -q --json",
    "incidents -q --json",
)
# The questions of three in the morning: a pasted line, or a time. The first lines name CPU, thread and function.
PASTED = "2025-03-01T12:00:47.100Z ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000)"
FIRST = (
    f"top --store spiky --line '{PASTED}'",
    "top --store spiky --at '2025-03-01 12:00' --before 30m --after 30m",
    "spikes --store spiky --at '2025-03-01 12:00:30'",
)
ESCAPES = re.compile(r"\033\[[0-9;]*m")
# A number at the end of a line, without its unit.
NUMBER = re.compile(r"(?:^|[\s(])[0-9][0-9.]*$")
FREE = re.compile(r"[0-9.]+ [kMGTP]?B of the disk free")
TIME = re.compile(r"\d{4}-(\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def environment(folder):
    known = {"PATH": os.environ["PATH"], "TZ": "UTC", "HOME": folder, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    known |= {"PERFTAPE_STORE": "recorded", "PERFTAPE_CONFIG": os.devnull}
    return known | {
        name: value
        for name, value in os.environ.items()
        if name.endswith("SAN_OPTIONS") or name.startswith("PERFTAPE_MUTANT")
    }


def piped(perftape, command, folder, messages=True):
    done = subprocess.run(
        [perftape, *shlex.split(command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if messages else subprocess.DEVNULL,
        env=environment(folder),
        cwd=folder,
    )
    return done.stdout.decode()


def read_all(fd):
    """The output of a terminal until all of its programs ended."""
    data = b""
    while True:
        try:
            piece = os.read(fd, 1 << 16)
        except OSError:
            return data
        if not piece:
            return data
        data += piece


def raw_screen(perftape, command, folder, width, height, messages=True):
    """What a terminal gets, with its colours."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    program = subprocess.Popen(
        [perftape, *shlex.split(command)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if messages else subprocess.DEVNULL,
        env=environment(folder),
        cwd=folder,
    )
    os.close(theirs)
    data = read_all(ours)
    os.close(ours)
    program.wait()
    text = data.decode().replace("\r\n", "\n")
    # a later line overwrites a progress line
    return "\n".join(line.rsplit("\r", 1)[-1] for line in text.split("\n"))


def on_terminal(perftape, command, folder, width, messages=True, height=100):
    return ESCAPES.sub("", raw_screen(perftape, command, folder, width, height, messages))


def columns(line):
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in line)
    return len(line) + wide - sum(map(bool, map(unicodedata.combining, line)))


def too_wide(text, width):
    """Lines that are too wide, except lines of a single word."""
    return [
        f"{columns(line)} columns: {line}"
        for line in text.splitlines()
        if columns(line) > width and len(line.split()) > 1
    ]


def words(text):
    """The words of a text, with commands joined at their backslashes."""
    return text.replace(" \\\n", " ").split()


def difference(expected, came):
    """The words that differ. Other programs fill and empty the disk between two calls."""
    expected, came = (FREE.sub("N B of the disk free", " ".join(text)).split() for text in (expected, came))
    same = difflib.SequenceMatcher(None, expected, came, autojunk=False).get_opcodes()
    return [f"{expected[a:b]} in a pipe, {came[c:d]}" for kind, a, b, c, d in same if kind != "equal"]


def broken_quantities(text, in_pipe):
    lines = text.splitlines()
    return [
        f"a number without its unit: {line}"
        for line, after in zip(lines, lines[1:])
        if NUMBER.search(line) and f"{line.split()[-1]} {(after.split() or ['?'])[0]}" in in_pipe
    ]


def check_text(in_pipe, text, width):
    return too_wide(text, width) + difference(words(in_pipe), words(text)) + broken_quantities(text, in_pipe)


def cell_matches(cell, whole):
    """Whether a cell is the whole cell, the short form of its time, or its text without the middle."""
    time = TIME.fullmatch(whole)
    if cell == whole or (time and cell in (time[1], time[2], time[2] + (time[3] or ""))):
        return True
    begin, dots, end = cell.partition("..")
    return bool(dots) and whole.startswith(begin) and whole.endswith(end)


def is_part(row, whole):
    """Whether the cells of a row stand in the whole row, in the same order."""
    whole = iter([part for cell in whole for part in ([cell, cell] if TIME.fullmatch(cell) else [cell])])
    return all(any(cell_matches(cell, other) for other in whole) for cell in row)


def check_table(in_pipe, text, width):
    """Each line of the terminal is a part of a line in the pipe, or continues one."""
    left, wrongs, row = [words(line) for line in in_pipe.splitlines()], too_wide(text, width), []
    for line in text.splitlines():
        row = row + words(line) if line.startswith("    ") else words(line)
        # the first line of a message may be only the program's name, which also matches the message before
        if len(left) > 1 and not is_part(row, left[0]) and is_part(row, left[1]):
            left.pop(0)
        while left and not is_part(words(line), left[0]) and not line.startswith("    "):
            left.pop(0)
        if not left:
            return [*wrongs, f"not in a pipe: {line}"]
        if not is_part(words(line), left[0]):
            wrongs.append(f"continues none: {line}")
    return wrongs


def check_drawing(_in_pipe, text, width):
    return too_wide(text, width)


def check_format(in_pipe, text, _width):
    return [] if text == in_pipe else ["not the bytes of a pipe"]


def check_first(text):
    """CPU, thread and function stand in the first five lines."""
    first = text.splitlines()[:5]
    said = "\n".join(first)
    cpu = re.search(r"CPU 3 was full", said) or re.search(r"\ss +3 +100", said)
    right = cpu and "kubelet" in said and "mem_cgroup_nr_lru_pages" in said
    return [] if right else [f"seen: {first}"]


def not_wrapped(in_pipe):
    """A pipe has each message in one line, and no line that continues one."""
    return [line for line in in_pipe.splitlines() if re.match(r"    \S", line) or line.endswith(" \\")]


def put_root(folder):
    """A host of which an audit can read only one file."""
    (pathlib.Path(folder) / "root/proc/sys/kernel").mkdir(parents=True)
    (pathlib.Path(folder) / "root/proc/sys/kernel/perf_event_max_sample_rate").write_text("50\n")


def checks(perftape, fixture, folder):
    cases.put_logs(folder)
    cases.put_stores(fixture, folder)
    put_root(folder)
    kinds = ((TEXTS, check_text), (TABLES, check_table), (DRAWINGS, check_drawing), (FORMATS, check_format))
    for commands, check in kinds:
        for command in commands:
            messages = check is not check_format
            in_pipe = piped(perftape, command, folder, messages)
            for width in WIDTHS:
                text = on_terminal(perftape, command, folder, width, messages)
                yield f"{width} columns: perftape {command}", check(in_pipe, text, width)
            if check in (check_text, check_table) and "--help" not in command:
                yield f"not wrapped: perftape {command}", not_wrapped(in_pipe)


    for command in FIRST:
        text = on_terminal(perftape, command, folder, 80, height=24)
        yield f"first lines: perftape {command}", check_first(text)


def main():
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        programs = [os.path.abspath(path) for path in sys.argv[1:3]]
        return tap.run(list(checks(*programs, folder)))


if __name__ == "__main__":
    sys.exit(main())
