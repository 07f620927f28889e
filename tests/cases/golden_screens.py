#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Golden screens: each command that draws or lists, on terminals of three sizes and in a pipe.

They stand in tests/golden/screens/, a folder for each size. Those of 80x24 have their colours. All of them
show the store that story.c makes, which is the same in every run. With UPDATE_GOLDEN=1 in the environment, the output
replaces the files: read the difference.

Each screen is also checked by itself: lines and drawings fit the terminal, and each word and each number is also in
the output to a pipe.

Usage: golden_screens.py PERFTAPE STORY
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "screens"
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import cases  # noqa: E402
import tap  # noqa: E402
import terminal  # noqa: E402

SIZES = ((80, 24), (120, 40), (200, 60))
COLORED = (80, 24)
# A size at which nothing is left out, for the words.
LARGE = (400, 200)
INCIDENT = "--store story --incident 17"
# The drawings fit the height of the terminal.
DRAWN = {
    "top": f"top {INCIDENT}",
    "diff": "diff --store story --at 2025-03-01T12:01:27Z --before 3s --after 3s -- --at 2025-03-01T12:02:27Z",
    "diff-baseline": f"diff {INCIDENT} --baseline 1h --by path",
    "heatmap": f"heatmap {INCIDENT}",
    "heatmap-per-cpu": f"heatmap {INCIDENT} --per-cpu",
    "gauges": f"gauges {INCIDENT}",
    "explain": f"explain {INCIDENT}",
    # long messages beside the drawing
    "gauges-gap": f"gauges {INCIDENT} --before 20m",
}
LISTED = {
    "spikes": "spikes --store story",
    "incidents": "incidents --store story",
    "incidents-all": "incidents --store story --all",
    "segments": "segments --store story",
    "status": "status --store story",
    "audit": "audit --store story --root root --duration 0",
    "events": "query --store story --events --incident 17",
    "help": "help",
    "help-top": "help top",
}
# The least that somebody knows at night, on a terminal of 80x24: a line of CloudWatch, or a rough time. CPU, thread
# and function stand in the first lines.
CLOUDWATCH = "2025-03-01T12:02:30.000Z ip-10-0-3-7 kernel: ena 0000:20:03.0 eth0: TX q 5 is paused for too long"
AT_NIGHT = {
    f"top --store story --line '{CLOUDWATCH}'": 1,
    "top --store story --at 2025-03-01T12:00Z --before 30m --after 30m": 1,
    "spikes --store story --at 2025-03-01T12:00Z": 5,
    f"spikes --store story --line '{CLOUDWATCH}'": 5,
    f"explain --store story --line '{CLOUDWATCH}'": 3,
    "explain --store story --at 2025-03-01T12:00Z --before 30m --after 30m": 3,
}
# A host whose kernel tracks 68,680 memory cgroups and uses 240, with a task list that waits for memory.
ROOT = {
    "proc/self/mountinfo": "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
    "proc/self/status": "Name:\tperftape\nCapEff:\t000001ffffffffff\n",
    "proc/uptime": "7776000.00 4000.00\n",
    "proc/stat": "cpu  1 2 3 4\n" + "".join(f"cpu{cpu} 100 0 100 5000 0 0 0 0 0 0\n" for cpu in range(4)),
    "proc/pressure/memory": "some avg10=99.00 avg60=0.25 avg300=0.00 total=1\n"
    "full avg10=0.00 avg60=12.50 avg300=0.00 total=1\n",
    "proc/sys/kernel/perf_event_max_sample_rate": "50\n",
    "proc/sys/kernel/perf_cpu_time_max_percent": "25\n",
    "cg/cgroup.controllers": "cpu memory pids\n",
    "cg/cgroup.stat": "nr_descendants 240\nnr_dying_descendants 68440\n",
}
# Parts of pictures: blocks, shades, axes and marks.
PICTURE = re.compile(r"[▀-▟╳·├─▼▲│|●_?]+")
WORD = re.compile(r"[A-Za-z0-9]")
# The scale of a heat map depends on its rows. "in" precedes a function that stands below its row. The others are of
# the messages about rows that do not fit.
SCALE = re.compile(r"[0-9.]+ (?=CPUs busy|ms of each second)")
JOINING = {"in", "more", "changed", "less:", *"shortened to fit: a pipe or a taller terminal shows all".split()}


def put_root(folder):
    for name, text in ROOT.items():
        path = pathlib.Path(folder, "root", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def mask(text):
    """Masks sizes, because they depend on the compression library and on the disk."""
    return cases.mask(text)


def plain_words(text):
    text = SCALE.sub("", terminal.ESCAPES.sub("", mask(text)))
    return [word for word in PICTURE.sub(" ", text).split() if WORD.search(word)]


def known_words(texts):
    """All words, and the shorter forms of times that a narrow table shows."""
    words = {word for text in texts for word in plain_words(text)} | JOINING
    for word in list(words):
        time = terminal.TIME.fullmatch(word)
        if time:
            words |= {time[1], time[2], time[2] + (time[3] or "")}
    return words


def is_shortened(word, known):
    """Whether ".." replaces the middle of a known word."""
    begin, dots, end = word.partition("..")
    return begin and dots and end and any(whole.startswith(begin) and whole.endswith(end) for whole in known)


def broken(text, known):
    """The words of a screen that are broken: only a part of a known word, unless only its middle is missing."""
    return [
        f"no whole word: {word}"
        for word in plain_words(text)
        if word not in known and not is_shortened(word, known) and not re.fullmatch(r"(\d\d:){2}\d\d|[.]\d+", word)
    ]


def compare(name, size, text):
    path = GOLDEN / size / f"{name}.{size}"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    expected = path.read_text() if path.exists() else ""
    if text == expected:
        return []
    return ["expected (UPDATE_GOLDEN=1 writes it anew):", *expected.splitlines(), "came:", *text.splitlines()]


def checks(perftape, folder):
    for name, command in {**DRAWN, **LISTED}.items():
        in_pipe = terminal.piped(perftape, command, folder)
        known = known_words([in_pipe, terminal.raw_screen(perftape, command, folder, *LARGE)])
        yield f"{name} in a pipe", compare(name, "piped", mask(in_pipe))
        for width, height in SIZES:
            text = terminal.raw_screen(perftape, command, folder, width, height)
            plain = terminal.ESCAPES.sub("", text)
            wrongs = terminal.too_wide(plain, width) + broken(text, known)
            if name in DRAWN and len(plain.splitlines()) >= height:
                wrongs.append(f"{len(plain.splitlines())} lines and the prompt do not fit {height}")
            shown = text if (width, height) == COLORED else plain
            size = f"{width}x{height}"
            yield f"{name} on {size}", wrongs + compare(name, size, mask(shown))


def at_night(perftape, folder):
    for command, lines in AT_NIGHT.items():
        text = terminal.ESCAPES.sub("", terminal.raw_screen(perftape, command, folder, 80, 24))
        first = " ".join(text.split("\n")[:lines])
        # the CPU is a number in the column of a table
        facts = (r"\bCPU\b.*\b5\b", r"\bkubelet\b", r"\bmem_cgroup_iter\b")
        missing = [fact for fact in facts if not re.search(fact, first)]
        yield f"{command} says it in {lines} lines", [f"{missing} are missing in: {first}"] if missing else []


def main():
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        subprocess.run([os.path.abspath(sys.argv[2]), f"{folder}/story"], check=True)
        put_root(folder)
        perftape = os.path.abspath(sys.argv[1])
        return tap.run([*checks(perftape, folder), *at_night(perftape, folder)])


if __name__ == "__main__":
    sys.exit(main())
