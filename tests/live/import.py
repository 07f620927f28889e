#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files of this machine's perf, in each of its modes: perf script and perftape must tell the same of them, sample by sample.

Usage: import.py PERFTAPE MIX
"""

import gzip
import lzma
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import tap  # noqa: E402

PERFTAPE, MIX = map(os.path.abspath, sys.argv[1:3])
FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"
WAIT = 60  # how long anything may take before it counts as hanging


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", timeout=WAIT, **more)


def perftape(command, store, *words):
    return run(PERFTAPE, command, "--store", store, *words)


def expect(what, condition, *details):
    return [] if condition else [what, *(line for detail in details for line in str(detail).splitlines())]


def load(seconds):
    """Short processes, renamed threads, libraries that come and go, python."""
    python = "import json, time\nend = time.time() + %s\nwhile time.time() < end: json.dumps(json.loads('[1, 2, {\"a\": [3]}]' * 1))" % seconds
    return ["sh", "-c", '"$1" "$2" & "$3" -S -c "$4" & while kill -0 $! 2>/dev/null; do /bin/true; ls / >/dev/null; done; wait', "load", MIX, str(seconds), sys.executable, python]


def record(data, *options, seconds=1, events="cpu-clock"):
    words = ["perf", "record", "-F", "1499", "-e", events, "-g", "-a", "-o", str(data), *options, "--", *load(seconds)]
    done = run(*words)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


def samples_of(said):
    """What import said of each file: samples, and the error of its times."""
    return [int(count) for count in re.findall(r": (\d+) samples of ", said)]


def query(store, stacks, since, *words):
    done = perftape("query", store, "--from", f"@{since}", "-o", stacks, *words)
    if done.returncode != 0:
        return expect("query failed", False, done.stderr)
    checked = run(TESTS / "tools" / "check-stacks", stacks)
    return expect("check-stacks", checked.returncode == 0, checked.stdout)


def script(data, text, *words):
    """What perf says. A task that is on its way out has the number -1, which is printed as 0 (docs/FLAMESCOPE.md)."""
    done = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", FIELDS, *words], capture_output=True, timeout=WAIT)
    said = done.stdout.decode("utf-8", "replace")
    text.write_text(re.sub(r"^(\s*:-1\s+-?\d+)/-1(\s+\[)", r"\1/0\2", said, flags=re.MULTILINE))
    return expect("perf script failed", done.returncode == 0, done.stderr[-500:])


def compare(name, text, stacks):
    """The judge."""
    done = run(TESTS / "tools" / "compare-script", text, stacks)
    print(f"# {name}: {(done.stdout.splitlines() or ['nothing'])[-1]}", flush=True)
    return expect(f"{name}: not the same", done.returncode == 0, done.stdout, done.stderr)


def same(folder, name, data, *words, event=None, begun=None):
    """Imports a file into a store of its own and compares it with perf's script of it."""
    store, text, stacks = folder / f"{name}.store", folder / f"{name}.script", folder / f"{name}.stacks"
    done = perftape("import", store, data, *words, *(["--event", event] if event else []))
    wrongs = expect(f"{name}: import failed", done.returncode == 0, done.stderr)
    wrongs += expect(f"{name}: not one line", done.stderr.count("\n") == 1 + done.stderr.count("had to be cut"), done.stderr)
    wrongs += script(data, text)
    if event:
        keep_event(text, event)
    wrongs += query(store, stacks, (begun or time.time()) - 3600)
    return wrongs or compare(name, text, stacks)


def keep_event(text, event):
    parts = text.read_text().split("\n\n")
    text.write_text("\n\n".join(part for part in parts if re.search(rf"\s{event}:", part.split("\n")[0])) + "\n\n")


def test_modes(folder):
    """Plain, compressed, with build-ids of all files, with those in the mappings: the same as perf says."""
    wrongs = []
    for name, options in (("plain", []), ("z", ["-z"]), ("buildid-all", ["--buildid-all"]), ("buildid-mmap", ["--buildid-mmap"])):
        data = folder / f"{name}.data"
        record(data, *options)
        wrongs += same(folder, name, data)
    return wrongs


def test_pipe(folder):
    """What perf writes to a pipe."""
    data = folder / "pipe.data"
    words = ["perf", "record", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-o", "-", "--", *load(1)]
    with open(data, "wb") as file:
        cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
        subprocess.run(words, stdout=cat.stdin, stderr=subprocess.DEVNULL, check=True, timeout=WAIT)
        cat.stdin.close()
        cat.wait(WAIT)
    return same(folder, "pipe", data)


def test_events(folder):
    """Several events: the sampling one that comes first, or the one that is asked for."""
    data = folder / "events.data"
    record(data, events="cpu-clock,page-faults")
    wrongs = []
    for event in ("cpu-clock", "page-faults"):
        wrongs += same(folder, f"events-{event}", data, event=event)
    store = folder / "events-other"
    done = perftape("import", store, data, "--event", "cycles")
    wrongs += expect("an event that is not there", done.returncode == 1 and "no event cycles; it has cpu-clock, page-faults" in done.stderr, done.stderr)
    first = perftape("import", folder / "events-first", data)
    return wrongs + expect("not the first", " samples of cpu-clock" in first.stderr, first.stderr)


NEED_ROOT = [
    test_modes,
    test_pipe,
    test_events,
]


def main():
    if os.geteuid() != 0 or not tap.has("perf"):
        print(f"1..{len(NEED_ROOT)}")
        for number, test in enumerate(NEED_ROOT, 1):
            print(f"ok {number} - {test.__doc__} # SKIP recording takes root and perf")
        return 0
    with tempfile.TemporaryDirectory(prefix="perftape import ") as folder:
        # perf keeps what it saw in ~/.debug: ours, for the time of this test
        os.environ["HOME"] = folder
        return tap.run((test.__doc__, test(pathlib.Path(folder))) for test in NEED_ROOT)


if __name__ == "__main__":
    sys.exit(main())
