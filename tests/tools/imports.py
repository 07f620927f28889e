# SPDX-License-Identifier: GPL-2.0-only
"""Shared by live tests of import: perf record, import, perf script, and their comparison."""

import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
from recorders import PERFTAPE, WAIT, expect  # noqa: E402

MIX = os.path.abspath(sys.argv[2])
FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"


def run(*words, **more):
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, errors="replace", timeout=WAIT, **more
    )


def perftape(command, store, *words):
    return run(PERFTAPE, command, "--store", store, *words)


def load(seconds):
    """The command of a load: short processes, threads that rename themselves, libraries that come and go, python."""
    python = (
        "import json, time\nend = time.time() + %s\nwhile time.time() < end: json.dumps(json.loads('[1, 2, {\"a\": [3]}]' * 1))"
        % seconds
    )
    return [
        "sh",
        "-c",
        '"$1" "$2" & "$3" -S -c "$4" & while kill -0 $! 2>/dev/null; do /bin/true; ls / >/dev/null; done; wait',
        "load",
        MIX,
        str(seconds),
        sys.executable,
        python,
    ]


def record(data, *options, seconds=0.7, events="cpu-clock"):
    words = ["perf", "record", "-F", "1499", "-e", events, "-g", "-a", "-o", str(data), *options, "--", *load(seconds)]
    done = run(*words)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


# A callchain has junk at its end if the kernel walked a program without frame pointers. Any process of this machine
# may be such a program, so import may report truncated callchains of any recording.
TRUNCATED = re.compile(r": \d+ callchains? truncated at an invalid address$")


def lines_of(said):
    """The lines that import printed about the files, without those about truncated callchains."""
    return [line for line in said.splitlines() if not TRUNCATED.search(line)]


def is_imported(done, files=1):
    """Whether import ended with 0 and printed one line for each file."""
    return done.returncode == 0 and len(lines_of(done.stderr)) == len(samples_of(done.stderr)) == files


def samples_of(said):
    """The number of samples of each file, according to import."""
    return [int(count) for count in re.findall(r": (?:host \S+, )?(\d+) samples? of ", said)]


def query(store, stacks, since):
    """Writes all samples since a moment, and checks them."""
    done = perftape("query", store, "--from", f"@{since}", "-o", stacks)
    if done.returncode != 0:
        return expect("query ends with exit code 0", False, done.returncode, done.stderr)
    checked = run(TESTS / "tools" / "check-stacks", stacks)
    return expect("check-stacks finds nothing wrong", checked.returncode == 0, checked.stdout)


def script(data, text, *words):
    done = subprocess.run(
        ["perf", "script", "--no-inline", "-i", data, "-F", FIELDS, *words], capture_output=True, timeout=WAIT
    )
    text.write_bytes(done.stdout)
    return expect(f"perf script reads {data.name}", done.returncode == 0, done.returncode, done.stderr[-500:])


# perf drops a whole callchain for one odd entry, and misses the names of some threads: see docs/IMPORT.md.
EXPLAINED = re.compile(r"(\d+) (?:depth: perf 0 ours |comm: perf ':-?\d+' ours '[^:])")


def leave_out_others(text, stacks):
    """Removes threads of other tests from both texts, because these tests change, remove or hide their programs."""
    own = re.escape(stacks.parent.name.removeprefix("perftape live ")).replace("\\ ", "[ _]")
    program = re.compile(rf"\(/.*/perftape[ _]live[ _](?!{own}/)")
    thread = re.compile(r"^\s*\S.*?\s-?\d+/(-?\d+)\s", re.MULTILINE)
    parts = {path: path.read_text(errors="replace").split("\n\n") for path in (text, stacks)}
    threads = {
        thread.search(part)[1]
        for blocks in parts.values()
        for part in blocks
        if program.search(part) and thread.search(part)
    }
    for path, blocks in parts.items():
        path.write_text(
            "\n\n".join(part for part in blocks if not thread.search(part) or thread.search(part)[1] not in threads)
        )


def compare(name, text, stacks):
    """Whether perf script and perftape agree on a recording."""
    leave_out_others(text, stacks)
    done = run(TESTS / "tools" / "compare-script", text, stacks)
    lines = [line.strip() for line in done.stdout.splitlines()]
    for line in lines:
        print(f"# {name}: {line}", flush=True)
    if done.returncode == 0:
        return []
    counts = re.match(r"samples (\d+) of (\d+), stacks (\d+) of", lines[-1] if lines else "")
    explained = sum(int(found[1]) for found in map(EXPLAINED.match, lines) if found)
    there, all_, equal = map(int, counts.groups()) if counts else (0, 1, 0)
    same_samples = there == all_ and not any("that perf does not have" in line for line in lines)
    # a short recording has so few stacks that one of them is more than 0.1 %
    enough = min(0.999 * all_, all_ - 1)
    return expect(
        f"{name}: the samples and 99.9 % of the stacks, or all but one, are those of perf script",
        same_samples and equal + explained >= enough,
        lines[-1] if lines else "nothing",
        done.stdout,
        done.stderr,
    )


def same(folder, name, data, *words, event=None, begun=None):
    """Imports a file into its own store and compares the store with the output of perf script."""
    store, text, stacks = folder / f"{name}.store", folder / f"{name}.script", folder / f"{name}.stacks"
    done = perftape("import", store, data, *words, *(["--event", event] if event else []))
    wrongs = expect(
        f"{name}: import ends with exit code 0 and one line", is_imported(done), done.returncode, done.stderr
    )
    wrongs += script(data, text)
    if event:
        keep_event(text, event)
    wrongs += query(store, stacks, (begun or time.time()) - 3600)
    return wrongs or compare(name, text, stacks)


def keep_event(text, event):
    parts = text.read_text().split("\n\n")
    text.write_text("\n\n".join(part for part in parts if re.search(rf"\s{event}:", part.split("\n")[0])) + "\n\n")


def heads(stacks):
    """Time and comm of each sample."""
    found = re.findall(r"^(\S.*?) +-?\d+/-?\d+ +\[\d+\] +(\d+\.\d+): +(\d+)", stacks.read_text(), re.MULTILINE)
    return [(float(moment), comm) for comm, moment, period in found if int(period)]


def windows(said):
    """Begin, end and error of each file, according to import."""
    found = re.findall(r"lost, (\S+) to (\S+) \(accurate to ([\d.]+) (\w+), ", said)
    return [
        (
            *(datetime.datetime.fromisoformat(moment).timestamp() for moment in row[:2]),
            float(row[2]) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[row[3]],
        )
        for row in found
    ]
