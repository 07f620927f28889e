#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each allocation of each command fails once: the command says so, or its answer is the same as ever. It never
crashes, leaks, or silently gives another answer.

played-starve.c runs a command again and again for this, on the machine of starved.play and on stores of
fixture.c. In ./test every 16th place fails; each command begins at another one, so that places that many commands
share fail in some of them. In ./test --all each place of a reader and every fourth of a writer fails, and with
`everywhere` each one for each way that leads there. Under a mutant every fourth place fails.

A run of an import takes 0.1 s of CPU time, and `everywhere` has 300 to 400 for each import. So it comes in parts: 2/4
has every fourth command from the second one on.

Usage: starved.py PERFTAPE FIXTURE readers|writers|everywhere [PART/PARTS] [WORD...]   WORD: a part of the commands
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE))
import cases  # noqa: E402
import perf_data  # noqa: E402
import tap  # noqa: E402

# For each form (N, CALLS): every Nth place fails, and the innermost CALLS calls identify a place.
FORMS = {"few": (16, 4), "some": (4, 4), "each": (1, 4), "everywhere": (1, 8)}
SHOWN_MAX = 5
WINDOW = "--from @1740830400 --to @1740830460"

# Commands that only read the store `recorded`, so that all runs share it.
READ = (
    f"top {WINDOW}",
    f"top {WINDOW} --json",
    f"diff {WINDOW} -- --at @1740830430 --json",
    f"diff {WINDOW} --baseline 1h",
    f"diff {WINDOW} -o out.svg -- --at @1740830430",
    f"heatmap {WINDOW}",
    f"heatmap {WINDOW} --per-cpu",
    f"heatmap {WINDOW} --json",
    "spikes --store spiky --from @1740830400 --to @1740830460",
    "spikes --store spiky --json --from @1740830400 --to @1740830460",
    *(f"query {WINDOW} --format {name}" for name in ("flamescope", "folded", "json")),
    f"query {WINDOW} --events",
    f"query {WINDOW} -o out.stacks.gz",
    f"flamegraph {WINDOW} -o out.svg",
    f"gauges {WINDOW} --name '*'",
    f"gauges {WINDOW} --json",
    "incidents",
    "incidents --json",
    "incidents scan kern.log.gz",
    "incidents scan recorded.log --json",
    "segments",
    "segments --json",
    "segments --work",
    "status --openmetrics",
    "status",
    "status --json",
    "verify",
    "audit",
    "segments --strict --from @1740830430 --to @1740830530",
    "top --store taken --from @1740830400 --to @1740830520",
    "query --incident 42 --before 1s --after 1s -o out.stacks",
    "query --line 'ena 0000:20:03.0 eth0: Trigger reset is on' -o out.stacks",
    "query --line '12:00:31 UTC March 1, 2025: TX q 5 is paused for too long' -o out.stacks",
)
# Commands that change a store: each run has a fresh copy.
WRITE = (
    "verify --rebuild",
    "vacuum --max-age 1d",
    "incidents scan kern.log --add",
    "mark deployed --at '[1030.5]'",
    f"snapshot {WINDOW} -o out.tape",
    "resolve",
    "import perf/plain.data --store fresh",
    "import perf/pipe.data perf/packed.data.xz --store fresh",
    "import perf/switched --store fresh",
    "record --duration 3s --segment 1s --store fresh",
)

FRESH = "rm -rf fresh out* && cp -r recorded fresh && ln -sfn fresh store"


def environment(folder, report, reset, form, first):
    every, depth = FORMS[form]
    values = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return values | {
        "PATH": os.environ["PATH"],
        "TZ": "UTC",
        "HOME": folder,
        "COLUMNS": "100",
        "PERFTAPE_STORE": f"{folder}/store",
        "PERFTAPE_CONFIG": os.devnull,
        "PERFTAPE_PLAY": str(HERE / "starved.play"),
        "PERFTAPE_PLAY_FOLDER": f"{folder}/machine",
        "PERFTAPE_STARVE": report,
        "PERFTAPE_STARVE_EVERY": str(every),
        "PERFTAPE_STARVE_FIRST": str(first),
        "PERFTAPE_STARVE_DEPTH": str(depth),
        **({"PERFTAPE_STARVE_RESET": reset} if reset else {}),
        **{name: value for name, value in os.environ.items() if name.startswith("PERFTAPE_MUTANT")},
    }


def names_of(perftape, addresses):
    """Maps addresses to functions and lines."""
    if not tap.has("addr2line") or not addresses:
        return {}
    found = subprocess.run(
        ["addr2line", "-s", "-f", "-e", perftape, *(hex(int(address, 16) - 1) for address in addresses)],
        capture_output=True, text=True, check=False,
    ).stdout.splitlines()
    return {address: f"{found[2 * i]} ({found[2 * i + 1].split()[0]})" for i, address in enumerate(addresses)}


def wrongs_of(perftape, report):
    """The failures in a report, one for each paragraph, with names instead of addresses."""
    paragraphs = [text.splitlines() for text in report.split("\n\n") if text.startswith("place")]
    calls = [text[0].split()[1:] for text in paragraphs]
    names = names_of(perftape, sorted({address for row in calls for address in row}))
    for text, row in list(zip(paragraphs, calls))[:SHOWN_MAX]:
        place = " < ".join(names.get(address, address) for address in row[1:])
        yield tap.wrong(
            f"without the memory of {place}: a message that says so, or the usual answer",
            "; ".join(text[1:12]),
        )
    if len(paragraphs) > SHOWN_MAX:
        yield f"and {len(paragraphs) - SHOWN_MAX} more"


def form_of(which):
    if which == "everywhere":
        return which
    if any(name.startswith("PERFTAPE_MUTANT") for name in os.environ):
        return "some"
    if os.environ.get("PERFTAPE_TIER") == "quick":
        return "few"
    return "each" if which == "readers" else "some"


def starve(perftape, folder, command, reset, form, first):
    report = pathlib.Path(folder, "report")
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [perftape, *shlex.split(command)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=environment(folder, str(report), reset, form, first),
    )
    text = report.read_text(errors="replace") if report.exists() else ""
    wrongs = list(wrongs_of(perftape, text))
    end = text.rpartition("\n\n")[2] or text
    if done.returncode or not end.startswith("runs ") or end.startswith("runs 0"):
        wrongs.append(tap.wrong("allocations fail one after the other", f"{end} {done.stderr} {done.returncode}"))
    return command, wrongs


def is_chosen(number, command, words):
    """Whether one of the words is in a command, if there are words; and whether its number is in the part, if any."""
    parts = [tuple(map(int, word.split("/"))) for word in words if re.fullmatch(r"[0-9]+/[0-9]+", word)]
    texts = [word for word in words if not re.fullmatch(r"[0-9]+/[0-9]+", word)]
    in_part = all(number % parts_count == part - 1 for part, parts_count in parts)
    return in_part and (not texts or any(text in command for text in texts))


def main():
    perftape, fixture = (os.path.abspath(path) for path in sys.argv[1:3])
    which, words = sys.argv[3], sys.argv[4:]
    form = form_of(which)
    rows = [(row, None) for row in READ] if which != "writers" else []
    rows += [(row, FRESH) for row in WRITE] if which != "readers" else []
    with tempfile.TemporaryDirectory(prefix="perftape-starved-") as folder:
        cases.put_logs(folder)
        perf_data.put_files(folder)
        cases.put_stores(fixture, folder)
        os.symlink("recorded", f"{folder}/store")
        checks = [
            starve(perftape, folder, command, reset, form, first)
            for first, (command, reset) in enumerate(rows)
            if is_chosen(first, command, words)
        ]
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
