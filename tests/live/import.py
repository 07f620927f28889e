#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files of each mode of this machine's perf: perf script and perftape agree, sample by sample.

Usage: import.py PERFTAPE MIX
"""

import datetime
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
import live  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, wait_for  # noqa: E402
from imports import (  # noqa: E402
    FIELDS,
    MIX,
    compare,
    heads,
    is_imported,
    load,
    perftape,
    query,
    record,
    run,
    same,
    samples_of,
    script,
    windows,
)


@live.test()
def test_modes(folder):
    """Import agrees with perf script on plain files, compressed files, and files with the build-ids of all programs.

    With -z perf writes no build-ids. At its end it links programs into its cache, which changes their ctime. The clock
    of -k shows that this was after the samples.
    """
    wrongs = []
    for name, options in (("plain", []), ("z", ["-z", "-k", "CLOCK_MONOTONIC"]), ("buildid-all", ["--buildid-all"])):
        data = folder / f"{name}.data"
        record(data, *options)
        wrongs += same(folder, name, data)
    return wrongs


# Marks of perf_event.h between the addresses of a callchain; other entries from -4095 on are junk.
MARKS = {2**64 - mark for mark in (32, 128, 512, 2048, 2176, 2560)}


@live.test()
def test_truncated_callchains(folder):
    """Import reports how many callchains end in junk. Programs without frame pointers may have such callchains."""
    data = folder / "junk.data"
    record(data)
    junk = 0
    for sample in run("perf", "script", "-D", "-i", data).stdout.split("PERF_RECORD_SAMPLE")[1:]:
        entries = [int(entry, 16) for entry in re.findall(r"^\.+ +\d+: ([0-9a-f]{16})$", sample, re.MULTILINE)]
        junk += any(entry > 2**64 - 4096 and entry not in MARKS for entry in entries)
    said = perftape("import", folder / "junk", data).stderr
    told = f"{junk} callchain{'s' * (junk != 1)} truncated at an invalid address"
    return expect("the load has such callchains", junk) + expect(told, told in said, said)


# With --buildid-mmap the kernel puts build-ids into the records of all perf processes, and perf script then crashes.
@live.test(alone=True)
def test_build_ids_in_mappings(folder):
    """Import agrees with perf script on a file with build-ids in its mappings."""
    data = folder / "buildid-mmap.data"
    record(data, "--buildid-mmap")
    return same(folder, "buildid-mmap", data)


@live.test()
def test_one_process(folder):
    """A recording of one process does not state the process's CPU, so import uses CPU 0."""
    data, store, text, stacks = (folder / f"process.{part}" for part in ("data", "store", "script", "stacks"))
    done = run("perf", "record", "-F", "1499", "-e", "cpu-clock", "-g", "-o", data, "--", *load(0.7))
    done = perftape("import", store, data)
    wrongs = expect("import ends with exit code 0 and one line", is_imported(done), done.returncode, done.stderr)
    wrongs += query(store, stacks, time.time() - 3600)
    done = run("perf", "script", "--no-inline", "-i", data, "-F", FIELDS.replace("cpu,", ""))
    text.write_text(re.sub(r"^(\s*\S.*?\s-?\d+/-?\d+\s+)(\d+\.\d+:\s)", r"\1[000] \2", done.stdout, flags=re.MULTILINE))
    return wrongs or compare("one process", text, stacks)


@live.test()
def test_pipe(folder):
    """Import agrees with perf script on a file that perf wrote to a pipe."""
    data = folder / "pipe.data"
    words = ["perf", "record", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-o", "-", "--", *load(0.7)]
    with open(data, "wb") as file:
        cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
        subprocess.run(words, stdout=cat.stdin, stderr=subprocess.DEVNULL, check=True, timeout=WAIT)
        cat.stdin.close()
        cat.wait(WAIT)
    return same(folder, "pipe", data)


@live.test()
def test_events(folder):
    """Import takes the first event with samples, or the one that --event names."""
    data = folder / "events.data"
    record(data, events="cpu-clock,page-faults")
    wrongs = []
    for event in ("cpu-clock", "page-faults"):
        wrongs += same(folder, f"events-{event}", data, event=event)
    store = folder / "events-other"
    done = perftape("import", store, data, "--event", "cycles")
    wrongs += expect(
        "--event cycles: exit code 1, and the events that the file has",
        done.returncode == 1 and "no event cycles; it has cpu-clock, page-faults" in done.stderr,
        done.stderr,
    )
    first = perftape("import", folder / "events-first", data)
    return wrongs + expect(
        "without --event: samples of cpu-clock", " samples of cpu-clock" in first.stderr, first.stderr
    )


def record_parts(folder, count, *options):
    """Records with --switch-output: perf begins a new file after some CPU time. Returns the names, in order."""
    started = folder / "started"
    folder.mkdir()
    words = [
        "perf",
        "record",
        "-q",
        "-F",
        "1499",
        "-e",
        "cpu-clock",
        "-g",
        "-a",
        "-o",
        str(folder / "perf.data"),
        "--switch-output",
        *options,
    ]
    # perf starts this program once its events are open
    perf = subprocess.Popen(
        [*words, "--", "sh", "-c", 'touch "$1"; exec "$2" 100', "load", started, MIX],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    parts = lambda: sorted(path for path in folder.iterdir() if path.name.startswith("perf.data.2"))  # noqa: E731
    wait_for(started.exists)
    for number in range(1, count):
        burn(0.1)
        perf.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(parts()) == number)
    burn(0.1)
    perf.send_signal(signal.SIGINT)
    perf.wait(WAIT)
    started.unlink()
    return sorted(folder.iterdir())


def burn(seconds):
    """Takes that much CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@live.test()
def test_switch_output(folder):
    """The files of --switch-output are one timeline, and import agrees with perf script on all of them together."""
    files = folder / "switch"
    names = record_parts(files, 3)
    wrongs = expect("perf writes three files", len(names) == 3, names)
    done = perftape("import", folder / "switch.store", files)
    wrongs += expect(
        "import ends with exit code 0 and takes all files",
        done.returncode == 0 and len(samples_of(done.stderr)) == len(names),
        done.returncode,
        done.stderr,
    )
    wrongs += query(folder / "switch.store", folder / "switch.stacks", time.time() - 3600)
    for name in names:
        wrongs += script(name, folder / "part")
        with open(folder / "switch.script", "a") as whole:
            whole.write((folder / "part").read_text())
    return wrongs + compare("--switch-output", folder / "switch.script", folder / "switch.stacks")


@live.test()
def test_switch_output_compressed(folder):
    """With -z, each file of --switch-output continues the previous one, and cannot be read without that one."""
    files, alone, store = folder / "switch-z", folder / "alone", folder / "switch-z.store"
    names = record_parts(files, 3, "-z")
    wrongs = expect("perf writes three files", len(names) == 3, names)
    if wrongs:
        return wrongs
    told = "import both together"
    second = perftape("import", store, names[1])
    wrongs += expect(
        "the second alone: exit code 1, and what it takes",
        second.returncode == 1 and second.stderr.count("\n") == 1 and told in second.stderr,
        second.returncode,
        second.stderr,
    )
    alone.mkdir()
    for name in (names[0], names[2]):
        shutil.copy2(name, alone)
    third = perftape("import", store, alone)
    wrongs += expect(
        "the first and the third: exit code 1, and the first alone",
        third.returncode == 1 and len(samples_of(third.stderr)) == 1 and told in third.stderr,
        third.returncode,
        third.stderr,
    )
    done = perftape("import", store, files)
    wrongs += expect(
        "all: exit code 0, and the first is imported already",
        done.returncode == 0 and done.stderr.count("imported already") == 1,
        done.returncode,
        done.stderr,
    )
    counts, times = samples_of(third.stderr) + samples_of(done.stderr), windows(third.stderr) + windows(done.stderr)
    wrongs += expect("each of the three has samples", len(counts) == 3 and all(counts), counts)
    for (_, end, one), (begin, _, other) in zip(times, times[1:]):
        wrongs += expect(
            f"a file begins where the one before ends, within {one + other} s", abs(begin - end) <= one + other, times
        )
    wrongs += query(store, folder / "switch-z.stacks", time.time() - 3600)
    wrongs += expect(
        f"the store has {sum(counts)} samples",
        len(heads(folder / "switch-z.stacks")) == sum(counts),
        len(heads(folder / "switch-z.stacks")),
    )
    text, first = folder / "first.script", folder / "first"
    wrongs += script(names[0], text)
    perftape("import", first, names[0])
    return (
        wrongs
        + query(first, folder / "first.stacks", time.time() - 3600)
        + compare("-z --switch-output, the first", text, folder / "first.stacks")
    )


@live.test()
def test_clock(folder):
    """With perf record -k the file has the wall clock, and import uses this clock."""
    data, stacks = folder / "clock.data", folder / "clock.stacks"
    began = time.time()
    record(data, "-k", "CLOCK_MONOTONIC")
    ended = time.time()
    os.utime(data, (1, 1))
    done = perftape("import", folder / "clock", data)
    wrongs = expect(
        "import ends with exit code 0 and takes the file's clock data",
        done.returncode == 0 and "by the file's clock data" in done.stderr,
        done.returncode,
        done.stderr,
    )
    wrongs += query(folder / "clock", stacks, began - 5)
    times = [moment for moment, _ in heads(stacks)]
    wrongs += expect(
        f"all {samples_of(done.stderr)} samples are in the window", [len(times)] == samples_of(done.stderr), len(times)
    )
    error = windows(done.stderr)[0][2]
    return wrongs + expect(
        f"they are of between {began} and {ended}, within {error} s",
        times and began - error <= min(times) and max(times) <= ended + error,
        times[:1],
        times[-1:],
    )


@live.test()
def test_names(folder):
    """If a file lacks the wall clock, import derives it from the file's name, its last change, or an option."""
    data = folder / "named.data"
    record(data, seconds=0.3)
    os.utime(data, (1763435400, 1763435400))
    os.environ["TZ"] = "UTC"
    wrongs = []
    for number, (name, begin, end, says, words) in enumerate(
        [
            (
                "perf-web-7-20251118031000-120s.data",
                "2025-11-18T03:10:00.000",
                None,
                "accurate to 3 s, by the begin in its name",
                [],
            ),
            ("perf-2025-11-18_03:10:00.data", "2025-11-18T03:10:00.000", None, "accurate to 3 s, by the begin", []),
            ("host.20251118T031000Z.perf", "2025-11-18T03:10:00.000", None, "accurate to 3 s, by the begin", []),
            ("perf-1763435400.data", "2025-11-18T03:10:00.000", None, "accurate to 3 s, by the begin", []),
            (
                "perf.data.2025111803120725",
                None,
                "2025-11-18T03:12:07.250",
                "accurate to 1 s, by the end in its name",
                [],
            ),
            ("perf.data", None, "2025-11-18T03:10:00.000", "accurate to 5 s, by the time of its last change", []),
            ("perf-20259918031000.data", None, "2025-11-18T03:10:00.000", "by the time of its last change", []),
            ("a.data", None, "2025-11-18T04:00:00.500", "as given", ["--end", "2025-11-18T04:00:00.5Z"]),
            (
                "perf-web-7-20251118031000-120s.data",
                None,
                "2025-11-18T04:00:00.000",
                "as given",
                ["--end", "2025-11-18T05:00:00+01:00"],
            ),
        ]
    ):
        path = folder / f"names {number}" / name
        path.parent.mkdir()
        os.link(data, path)
        done = perftape("import", folder / f"names {number} store", path, *words)
        wrongs += expect(
            f"{name}: exit code 0, and '{says}'",
            done.returncode == 0 and says in done.stderr,
            done.returncode,
            done.stderr,
        )
        wrongs += expect(f"{name}: it begins at {begin}", not begin or f"lost, {begin}" in done.stderr, done.stderr)
        wrongs += expect(f"{name}: it ends at {end}", not end or f" to {end}" in done.stderr, done.stderr)
    first = run("perf", "script", "-F", "time", "-i", data).stdout.split()[0].rstrip(":")
    done = perftape("import", folder / "offset", data, "--clock-offset", f"{1763435400 - int(first.split('.')[0])}")
    wrongs += expect(
        "--clock-offset puts the first sample to 1763435400",
        windows(done.stderr) and int(windows(done.stderr)[0][0]) == 1763435400,
        first,
        done.stderr,
    )
    return wrongs


# Import and query round moments to milliseconds.
ROUNDING = 0.003


@live.test(promise="Nights of `perf record` files become one timeline with their gaps", broken_by="close-gaps")
def test_gap(folder):
    """Two files are one timeline, and the time between them shows as not recorded."""
    files, store, moments, wrongs = folder / "gap", folder / "gap.store", [], []
    files.mkdir()
    for name in ("one", "two"):
        time.sleep(0.5)  # between the files this is the gap
        moments.append(time.time())
        record(files / f"{name}.data", "-k", "CLOCK_MONOTONIC", seconds=0.3)
        moments.append(time.time())
    done = perftape("import", store, files)
    times = windows(done.stderr)
    if len(times) != 2:
        return expect("import takes two files", False, done.returncode, done.stderr)
    for (begin, end, error), earliest, latest in zip(times, moments[::2], moments[1::2]):
        wide = error + ROUNDING
        wrongs += expect(
            f"a file has samples of between {earliest} and {latest}, within {wide} s",
            earliest - wide <= begin <= end <= latest + wide,
            begin,
            end,
        )
    done = perftape(
        "query", store, "--from", f"@{times[0][0]:.3f}", "--to", f"@{times[1][1]:.3f}", "-o", folder / "gap.stacks"
    )
    missing = re.findall(r"gap: (\S+) to (\S+): nothing recorded", done.stderr)
    wrongs += expect(
        "query ends with exit code 0 and tells of one gap",
        done.returncode == 0 and len(missing) == 1,
        done.returncode,
        done.stderr,
    )
    gaps = [tuple(datetime.datetime.fromisoformat(moment).timestamp() for moment in pair) for pair in missing]
    # a file's last record may be younger than its last sample
    earliest, latest, end = times[0][1] - ROUNDING, moments[1] + times[0][2] + ROUNDING, times[1][0]
    right = all(earliest <= gap[0] <= latest and abs(gap[1] - end) <= ROUNDING for gap in gaps)
    return wrongs + expect(f"the gap begins between {earliest:.3f} and {latest:.3f} and ends at {end:.3f}", right, gaps)


@live.test()
def test_while_recording(folder):
    """Import refuses a store in which a recorder runs, and names its process."""
    store, data = folder / "busy", folder / "busy.data"
    record(data, seconds=0.2)
    recorder = subprocess.Popen([PERFTAPE, "record", "-q", "--store", store], stderr=subprocess.DEVNULL)
    wait_for(lambda: list(store.glob("spool/*.spool")) or recorder.poll() is not None)
    done = perftape("import", store, data)
    recorder.send_signal(signal.SIGINT)
    recorder.wait(WAIT)
    told = f"process {recorder.pid} "
    return expect(
        f"exit code 1, and one line with '{told}'",
        done.returncode == 1 and done.stderr.count("\n") == 1 and told in done.stderr,
        done.returncode,
        done.stderr,
    )


PROGRAM = """
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void %(name)s(void) { for (unsigned long i = 0; i < 100000; i++) sink += %(step)d; }
int main(void) { for (int i = 0; i < 1000; i++) %(name)s(); return 0; }
"""


def build(program, name, step, *options):
    """Compiles a program. A different step changes the code and the build-id; a different name alone does not."""
    cc = os.environ.get("CC", "gcc").split()
    subprocess.run(
        [*cc, "-O1", "-fno-omit-frame-pointer", "-x", "c", "-o", program, *options, "-"],
        input=PROGRAM % {"name": name, "step": step},
        text=True,
        check=True,
    )


@live.test(alone=True)
def test_changed(folder):
    """Import does not use the names of a program that was replaced or overwritten, even if its times look unchanged."""
    wrongs = []
    for number, (how, options) in enumerate(
        [
            ("same", []),
            ("rename", []),
            ("write and set back", []),
            ("rename", ["-Wl,--build-id=none"]),
            ("write", ["-Wl,--build-id=none"]),
            ("write and set back", ["-Wl,--build-id=none"]),
        ]
    ):
        program, data, other = folder / f"program{number}", folder / f"program{number}.data", folder / "other"
        build(program, "honest_name", 1, *options)
        before = program.stat()
        subprocess.run(
            [
                "perf",
                "record",
                "-q",
                *(["-N"] if number % 2 else []),
                "-k",
                "CLOCK_MONOTONIC",
                "-e",
                "cpu-clock",
                "-F",
                "499",
                "-g",
                "-o",
                data,
                program,
            ],
            check=True,
            capture_output=True,
        )
        build(other, "invented_nm", 2, *options)
        if how == "rename":
            os.rename(other, program)
        elif how != "same":
            with open(program, "r+b") as file:
                file.write(other.read_bytes())
        if how == "write and set back":
            os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
        store = folder / f"changed{number}"
        done = perftape("import", store, data)
        folded = perftape("query", store, "--from", "now-10m", "--format", "folded").stdout
        what = f"{how} {' '.join(options)}"
        wrongs += expect(f"{what}: import ends with exit code 0", done.returncode == 0, done.returncode, done.stderr)
        wrongs += expect(f"{what}: there are samples of program{number}", f"program{number};" in folded, folded[:1000])
        wrongs += expect(
            f"{what}: the other program's function is not named", "invented_nm" not in folded, folded[:1000]
        )
        # perf may have kept a copy of the right program
        wrongs += expect(f"{what}: its own function is named", "honest_name" in folded or how != "same", folded[:1000])
    return wrongs


def main():
    # perf links files that it saw into ~/.debug, if it can. A link changes the ctime, which identifies files without
    # a build-id. A home on another file system prevents links.
    with tempfile.TemporaryDirectory(
        prefix="perftape import ", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    ) as folder:
        os.environ["HOME"] = folder
        return live.main(able=tap.has("perf"), needs="root and perf")


if __name__ == "__main__":
    sys.exit(main())
