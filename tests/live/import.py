#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files of this machine's perf, in each of its modes: perf script and perftape must tell the same of them, sample by sample.

Usage: import.py PERFTAPE MIX
"""

import datetime
import gzip
import lzma
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
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


def record(data, *options, seconds=0.7, events="cpu-clock"):
    words = ["perf", "record", "-F", "1499", "-e", events, "-g", "-a", "-o", str(data), *options, "--", *load(seconds)]
    done = run(*words)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


def samples_of(said):
    """What import said of each file: samples, and the error of its times."""
    return [int(count) for count in re.findall(r": (\d+) samples of ", said)]


def query(store, stacks, since, *words):
    """All since then, checked; -1 for the numbers of a thread on its way out, as perf has it, is no number for check-stacks."""
    done = perftape("query", store, "--from", f"@{since}", "-o", stacks, *words)
    if done.returncode != 0:
        return expect("query failed", False, done.stderr)
    numbered = stacks.with_suffix(".numbered")
    numbered.write_text(re.sub(r"^(\S.*? +)-?(\d+)/-1( +\[)", r"\1\2/0\3", stacks.read_text(), flags=re.MULTILINE))
    checked = run(TESTS / "tools" / "check-stacks", numbered)
    return expect("check-stacks", checked.returncode == 0, checked.stdout)


def script(data, text, *words):
    done = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", FIELDS, *words], capture_output=True, timeout=WAIT)
    text.write_bytes(done.stdout)
    return expect("perf script failed", done.returncode == 0, done.stderr[-500:])


# Where ours is right, which docs/IMPORT.md explains: perf throws a whole callchain away when one entry of it is nothing, and has no
# name for some threads that their process gives one.
EXPLAINED = re.compile(r"(\d+) (?:depth: perf 0 ours |comm: perf ':-?\d+' ours '[^:])")


def compare(name, text, stacks):
    """The judge."""
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
    return expect(f"{name}: not the same", same_samples and equal + explained >= 0.999 * all_, done.stdout, done.stderr)


def lines(said):
    """How many, without the one on stacks that hold what is no address: others on this machine may have such."""
    return sum("callchains had to be cut" not in line for line in said.splitlines())


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


@live.test(alone=True)
def test_modes(folder):
    """Plain, compressed, with build-ids of all files, with those in the mappings: the same as perf says.

    With -z perf writes no build-ids. It links files into its cache meanwhile, which changes them by a second or two before: that
    counts unless the wall clock is known well.
    """
    wrongs = []
    for name, options in (("plain", []), ("z", ["-z", "-k", "CLOCK_MONOTONIC"]), ("buildid-all", ["--buildid-all"]), ("buildid-mmap", ["--buildid-mmap"])):
        data = folder / f"{name}.data"
        record(data, *options)
        wrongs += same(folder, name, data)
    return wrongs


@live.test(alone=True)
def test_one_process(folder):
    """A recording of one process does not say on which CPU it ran: it is the first for us."""
    data, store, text, stacks = (folder / f"process.{part}" for part in ("data", "store", "script", "stacks"))
    done = run("perf", "record", "-F", "1499", "-e", "cpu-clock", "-g", "-o", data, "--", *load(0.7))
    done = perftape("import", store, data)
    wrongs = expect("import failed", done.returncode == 0 and lines(done.stderr) == 1, done.stderr)
    wrongs += query(store, stacks, time.time() - 3600)
    done = run("perf", "script", "--no-inline", "-i", data, "-F", FIELDS.replace("cpu,", ""))
    text.write_text(re.sub(r"^(\s*\S.*?\s-?\d+/-?\d+\s+)(\d+\.\d+:\s)", r"\1[000] \2", done.stdout, flags=re.MULTILINE))
    return wrongs or compare("one process", text, stacks)


@live.test(alone=True)
def test_pipe(folder):
    """What perf writes to a pipe."""
    data = folder / "pipe.data"
    words = ["perf", "record", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-o", "-", "--", *load(0.7)]
    with open(data, "wb") as file:
        cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
        subprocess.run(words, stdout=cat.stdin, stderr=subprocess.DEVNULL, check=True, timeout=WAIT)
        cat.stdin.close()
        cat.wait(WAIT)
    return same(folder, "pipe", data)


@live.test(alone=True)
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


def heads(stacks):
    """Time and comm of each sample."""
    found = re.findall(r"^(\S.*?) +-?\d+/-?\d+ +\[\d+\] +(\d+\.\d+): +(\d+)", stacks.read_text(), re.MULTILINE)
    return [(float(moment), comm) for comm, moment, period in found if int(period)]


def windows(said):
    """Begin and end of each file, as import said them."""
    found = re.findall(r"lost, (\S+) to (\S+) \(", said)
    return [tuple(datetime.datetime.fromisoformat(moment).timestamp() for moment in pair) for pair in found]


@live.test(alone=True)
def test_switch_output(folder):
    """The files of --switch-output are one timeline."""
    files = folder / "switch"
    files.mkdir()
    record(files / "perf.data", "--switch-output=1s", "--timestamp-filename", seconds=2.2)
    names = sorted(files.iterdir())
    wrongs = expect("not several files", len(names) >= 2, names)
    done = perftape("import", folder / "switch.store", files)
    wrongs += expect("import failed", done.returncode == 0 and len(samples_of(done.stderr)) == len(names), done.stderr)
    wrongs += query(folder / "switch.store", folder / "switch.stacks", time.time() - 3600)
    for name in names:
        wrongs += script(name, folder / "part")
        with open(folder / "switch.script", "a") as whole:
            whole.write((folder / "part").read_text())
    return wrongs + compare("--switch-output", folder / "switch.script", folder / "switch.stacks")


@live.test(alone=True)
def test_switch_output_compressed(folder):
    """With -z each of them goes on from the one before, and is of no use without it."""
    files, alone, store = folder / "switch-z", folder / "alone", folder / "switch-z.store"
    files.mkdir()
    record(files / "perf.data", "-z", "--switch-output=1s", "--timestamp-filename", seconds=2.7)
    names = sorted(files.iterdir())
    wrongs = expect("not several files", len(names) >= 3, names)
    second = perftape("import", store, names[1])
    wrongs += expect("the second alone", second.returncode == 1 and second.stderr.count("\n") == 1 and "together with the one before it" in second.stderr, second.stderr)
    alone.mkdir()
    for name in (names[0], names[2]):
        shutil.copy2(name, alone)
    third = perftape("import", store, alone)
    wrongs += expect("the third behind the first", third.returncode == 1 and len(samples_of(third.stderr)) == 1 and "together with the one before it" in third.stderr, third.stderr)
    done = perftape("import", store, files)
    wrongs += expect("import failed", done.returncode == 0 and done.stderr.count("imported already") == 1, done.stderr)
    counts, times = samples_of(third.stderr) + samples_of(done.stderr), windows(third.stderr) + windows(done.stderr)
    wrongs += expect("files are missing", len(counts) == len(names) and all(counts), counts)
    for (_, end), (begin, _) in zip(times, times[1:]):
        wrongs += expect("they do not follow one another", -0.1 < begin - end < 0.5, times)
    wrongs += query(store, folder / "switch-z.stacks", time.time() - 3600)
    wrongs += expect("not all that was imported", len(heads(folder / "switch-z.stacks")) == sum(counts), counts)
    text, first = folder / "first.script", folder / "first"
    wrongs += script(names[0], text)
    perftape("import", first, names[0])
    return wrongs + query(first, folder / "first.stacks", time.time() - 3600) + compare("-z --switch-output, the first", text, folder / "first.stacks")


@live.test(alone=True)
def test_clock(folder):
    """perf record -k: the wall clock is in the file."""
    data, stacks = folder / "clock.data", folder / "clock.stacks"
    began = time.time()
    record(data, "-k", "CLOCK_MONOTONIC")
    ended = time.time()
    os.utime(data, (1, 1))
    done = perftape("import", folder / "clock", data)
    wrongs = expect("import failed", done.returncode == 0 and "by the file's clock data" in done.stderr, done.stderr)
    wrongs += query(folder / "clock", stacks, began - 5)
    times = [moment for moment, _ in heads(stacks)]
    wrongs += expect("not all samples in the window", [len(times)] == samples_of(done.stderr), len(times), done.stderr)
    return wrongs + expect(f"recorded from {began} to {ended}", times and began - 1 < min(times) and max(times) < ended + 1, times[:1], times[-1:])


def records_of(bytes_):
    """(offset, type, size) of the whole records of a file that is not compressed."""
    at, size = struct.unpack_from("<QQ", bytes_, 40)
    end = at + size if size else len(bytes_)
    while at + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", bytes_, at)
        if size < 8 or at + size > end:
            return
        yield at, kind, size
        at += size


@live.test(alone=True)
def test_killed(folder):
    """perf was killed: all that it had written whole."""
    data, mended = folder / "killed.data", folder / "mended.data"
    words = ["perf", "record", "-q", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-m", "16", "-o", data]
    loads = subprocess.Popen([MIX, "30"])
    perf = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    end = time.monotonic() + WAIT
    while time.monotonic() < end and not (data.exists() and data.stat().st_size > 600000):
        time.sleep(0.05)
    perf.kill()
    perf.wait()
    loads.kill()
    loads.wait()
    bytes_ = data.read_bytes()
    whole = list(records_of(bytes_))
    samples = sum(kind == 9 for _, kind, _ in whole)
    done = perftape("import", folder / "killed", data)
    wrongs = expect("import failed", done.returncode == 0, done.stderr)
    wrongs += expect(f"not the {samples} samples that are there", samples_of(done.stderr) == [samples], done.stderr)
    # perf reads none of it, but it does when the header says where the records end, and claims no features
    begin, last = whole[0][0], whole[-1]
    mended.write_bytes(bytes_[:48] + struct.pack("<Q", last[0] + last[2] - begin) + bytes_[56:72] + bytes(32) + bytes_[104 : last[0] + last[2]])
    wrongs += script(mended, folder / "killed.script")
    wrongs += query(folder / "killed", folder / "killed.stacks", time.time() - 3600)
    return wrongs + compare("killed", folder / "killed.script", folder / "killed.stacks")


@live.test(alone=True)
def test_packed(folder):
    """gzip, xz and zstd around it: the same samples."""
    data = folder / "whole.data"
    record(data)
    bytes_, stamp = data.read_bytes(), data.stat().st_mtime_ns
    packed = {"gz": gzip.compress(bytes_), "xz": lzma.compress(bytes_, preset=0)}
    if tap.has("zstd"):
        packed["zst"] = subprocess.run(["zstd", "-q", "-c", data], capture_output=True, check=True).stdout
    wrongs = []
    perftape("import", folder / "whole", data)
    wrongs += query(folder / "whole", folder / "whole.stacks", time.time() - 3600)
    expected = heads(folder / "whole.stacks")
    for suffix, contents in packed.items():
        name, store, stacks = folder / f"whole.data.{suffix}", folder / f"whole.{suffix}", folder / f"whole.{suffix}.stacks"
        name.write_bytes(contents)
        os.utime(name, ns=(stamp, stamp))
        done = perftape("import", store, name)
        wrongs += expect(f"{suffix}: import failed", done.returncode == 0 and lines(done.stderr) == 1, done.stderr)
        wrongs += query(store, stacks, time.time() - 3600)
        wrongs += expect(f"{suffix}: other samples", heads(stacks) == expected)
        again = perftape("import", folder / "whole", name)
        wrongs += expect(f"{suffix}: imported again", again.returncode == 0 and "imported already" in again.stderr, again.stderr)
    return wrongs


@live.test(alone=True)
def test_twice(folder):
    """Importing a file twice adds nothing, under another name neither."""
    data, store = folder / "twice.data", folder / "twice"
    record(data)
    perftape("import", store, data)
    before = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    shutil.copy(data, folder / "copy.data")
    wrongs = []
    for name in (data, folder / "copy.data"):
        done = perftape("import", store, name)
        wrongs += expect("imported again", done.returncode == 0 and "imported already" in done.stderr, done.stderr)
    after = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    return wrongs + expect("other segments", before == after, before, after)


@live.test(alone=True)
def test_names(folder):
    """Where the file does not say it, the wall clock comes from its name, its last change, or from who imports it."""
    data = folder / "named.data"
    record(data, seconds=0.3)
    os.utime(data, (1763435400, 1763435400))
    os.environ["TZ"] = "UTC"
    wrongs = []
    for number, (name, begin, end, says, words) in enumerate([
        ("perf-web-7-20251118031000-120s.data", "2025-11-18T03:10:00.000", None, "within 3 s, by the begin that its name says", []),
        ("perf-2025-11-18_03:10:00.data", "2025-11-18T03:10:00.000", None, "within 3 s, by the begin", []),
        ("host.20251118T031000Z.perf", "2025-11-18T03:10:00.000", None, "within 3 s, by the begin", []),
        ("perf-1763435400.data", "2025-11-18T03:10:00.000", None, "within 3 s, by the begin", []),
        ("perf.data.2025111803120725", None, "2025-11-18T03:12:07.250", "within 1 s, by the end that its name says", []),
        ("perf.data", None, "2025-11-18T03:10:00.000", "within 5 s, by the time of its last change", []),
        ("perf-20259918031000.data", None, "2025-11-18T03:10:00.000", "by the time of its last change", []),
        ("a.data", None, "2025-11-18T04:00:00.500", "as given", ["--end", "2025-11-18T04:00:00.5Z"]),
        ("perf-web-7-20251118031000-120s.data", None, "2025-11-18T04:00:00.000", "as given", ["--end", "2025-11-18T05:00:00+01:00"]),
    ]):
        path = folder / f"names {number}" / name
        path.parent.mkdir()
        os.link(data, path)
        done = perftape("import", folder / f"names {number} store", path, *words)
        wrongs += expect(f"{name}: not so", done.returncode == 0 and says in done.stderr, done.stderr)
        wrongs += expect(f"{name}: does not begin at {begin}", not begin or f"lost, {begin}" in done.stderr, done.stderr)
        wrongs += expect(f"{name}: does not end at {end}", not end or f" to {end}" in done.stderr, done.stderr)
    first = run("perf", "script", "-F", "time", "-i", data).stdout.split()[0].rstrip(":")
    done = perftape("import", folder / "offset", data, "--clock-offset", f"{1763435400 - int(first.split('.')[0])}")
    wrongs += expect("--clock-offset", windows(done.stderr) and int(windows(done.stderr)[0][0]) == 1763435400, first, done.stderr)
    return wrongs


@live.test(alone=True)
def test_gap(folder):
    """Adjacent files are one timeline, and what lies between them shows as not recorded."""
    files, store = folder / "gap", folder / "gap.store"
    files.mkdir()
    for name in ("one", "two"):
        record(files / f"{name}.data", "-k", "CLOCK_MONOTONIC", seconds=0.4)
        time.sleep(0.9)
    done = perftape("import", store, files)
    times = windows(done.stderr)
    wrongs = expect("not two files", len(times) == 2, done.stderr)
    if wrongs:
        return wrongs
    gap = times[1][0] - times[0][1]
    done = perftape("query", store, "--from", f"@{times[0][0]:.3f}", "--to", f"@{times[1][1]:.3f}", "-o", folder / "gap.stacks")
    missing = re.findall(r"missing: (\S+) to (\S+): nothing recorded", done.stderr)
    wrongs += expect("not one gap", done.returncode == 0 and len(missing) == 1, done.stderr)
    lengths = [datetime.datetime.fromisoformat(to) - datetime.datetime.fromisoformat(start) for start, to in missing]
    return wrongs + expect(f"not the gap of {gap:.3f} s", all(abs(length.total_seconds() - gap) < 0.05 for length in lengths), done.stderr)


@live.test(alone=True)
def test_while_recording(folder):
    """A store in which a recorder runs: its pid is named."""
    store, data = folder / "busy", folder / "busy.data"
    record(data, seconds=0.2)
    recorder = subprocess.Popen([PERFTAPE, "record", "-q", "--store", store], stderr=subprocess.DEVNULL)
    end = time.monotonic() + WAIT
    done = None
    while time.monotonic() < end and recorder.poll() is None:
        if (store / "segments").exists():
            done = perftape("import", store, data)
            if "process" in done.stderr:
                break
        time.sleep(0.1)
    recorder.send_signal(signal.SIGINT)
    recorder.wait(WAIT)
    return expect("not refused with its pid", done and done.returncode == 1 and done.stderr.count("\n") == 1 and f"process {recorder.pid} " in done.stderr, done and done.stderr)


PROGRAM = """
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void %(name)s(void) { for (unsigned long i = 0; i < 100000; i++) sink += %(step)d; }
int main(void) { for (int i = 0; i < 1000; i++) %(name)s(); return 0; }
"""


def build(program, name, step, *options):
    """Another step makes other code, and so another build-id: names alone do not."""
    cc = os.environ.get("CC", "gcc").split()
    subprocess.run([*cc, "-O1", "-fno-omit-frame-pointer", "-x", "c", "-o", program, *options, "-"], input=PROGRAM % {"name": name, "step": step}, text=True, check=True)


@live.test(alone=True)
def test_changed(folder):
    """A program that is not the same any more gives no names: replaced, written over, or made to look as old as it was."""
    wrongs = []
    for number, (how, options) in enumerate([("same", []), ("rename", []), ("write and set back", []), ("rename", ["-Wl,--build-id=none"]), ("write", ["-Wl,--build-id=none"]), ("write and set back", ["-Wl,--build-id=none"])]):
        program, data, other = folder / f"program{number}", folder / f"program{number}.data", folder / "other"
        build(program, "honest_name", 1, *options)
        before = program.stat()
        subprocess.run(["perf", "record", "-q", *(["-N"] if number % 2 else []), "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", "499", "-g", "-o", data, program], check=True, capture_output=True)
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
        wrongs += expect(f"{what}: import failed", done.returncode == 0, done.stderr)
        wrongs += expect(f"{what}: a wrong name", "invented_nm" not in folded, folded[:1000])
        wrongs += expect(f"{what}: no samples", f"program{number};" in folded, folded[:1000])
        # what perf has kept of it is the right one
        wrongs += expect(f"{what}: no name", "honest_name" in folded or how != "same", folded[:1000])
    return wrongs


def make(records, sample_type=0x187):
    """A perf.data file of one event without ids: samples of 32 or 40 bytes, or what the caller makes."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 997, sample_type, 0, 1 << 10 | 1 << 18).ljust(128, b"\0") + bytes(16)
    return b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 144, 248, len(records), 0, 0) + bytes(32) + attr + records


def import_measured(store, path):
    """What it said, its exit code, and the most memory that it had, in MB."""
    begin = time.monotonic()
    process = subprocess.Popen([PERFTAPE, "import", "--store", store, path], stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return said, process.returncode, usage.ru_maxrss / 1024, time.monotonic() - begin


@live.test(alone=True)
def test_damage(folder):
    """Cut, lying and hostile files: one clear line, and what was readable is kept."""
    data = folder / "sound.data"
    record(data, seconds=0.2)
    bytes_ = data.read_bytes()
    begin, size = struct.unpack_from("<QQ", bytes_, 40)
    whole = list(records_of(bytes_))
    features = begin + size
    wrongs = []
    cuts = [at for at, _, _ in whole[:: max(1, len(whole) // 6)]] + [begin + size // 3, begin + size // 2 + 3, len(bytes_) - 5]
    for number, cut in enumerate(cuts):
        path = folder / f"cut{number}.data"
        path.write_bytes(bytes_[:cut])
        said, code, _, _ = import_measured(folder / f"cut{number}", path)
        samples = sum(kind == 9 and at + length <= cut for at, kind, length in whole)
        notes = [line for line in said.splitlines() if "middle of a record" in line]
        clean = cut >= features or any(at + length == cut for at, _, length in whole) or cut == begin
        wrongs += expect(f"cut at {cut}: exit code {code}", code == 0, said)
        wrongs += expect(f"cut at {cut}: not {samples} samples", samples_of(said) == ([samples] if samples else []), said)
        wrongs += expect(f"cut at {cut}: notes", len(notes) == (0 if clean else 1) and said.count("\n") <= 3, said)
    expected = sum(kind == 9 for _, kind, _ in whole)
    for number in range(bin(int.from_bytes(bytes_[72:104], "little")).count("1")):
        for what, lie in (("outside", 1 << 60), ("all of it", 0)):
            path, lying = folder / f"lie{number}{what}.data", bytearray(bytes_)
            struct.pack_into("<QQ", lying, features + 16 * number, lie, len(bytes_))
            path.write_bytes(lying)
            if number % 4 == 0 or what == "outside":
                said, code, _, _ = import_measured(folder / f"lie{number}{what}", path)
                wrongs += expect(f"feature {number} {what}: exit code {code}", code == 0 and samples_of(said) == [expected], said)
    for name, contents, says in (
        ("empty", b"", "not a perf.data file"),
        ("text", b"hello\n", "not a perf.data file"),
        ("other order", b"2ELIFREP" + bytes(200), "byte order"),
        ("header only", b"PERFILE2" + bytes(8), "header"),
        ("attributes of no size", bytes_[:16] + bytes(8) + bytes_[24:], "names no readable event"),
        ("attributes outside", bytes_[:24] + struct.pack("<Q", 1 << 62) + bytes_[32:], "names no readable event"),
    ):
        path = folder / f"{name}.data"
        path.write_bytes(contents)
        said, code, _, _ = import_measured(folder / "nothing", path)
        wrongs += expect(f"{name}: exit code {code}", code == 1 and said.count("\n") == 1 and says in said, said)
    return wrongs


@live.test(alone=True)
def test_bombs(folder):
    """Compressed records that expand absurdly take neither the memory nor the day."""
    if not tap.has("zstd"):
        return []
    sample = struct.pack("<IHHQIIQIIQQ", 9, 0, 56, 0x1000, 5, 5, 10**12, 0, 0, 1, 0)
    wrongs = []
    for name, unit in (("samples", sample), ("small records", struct.pack("<IHH", 14, 0, 8)), ("nothing", bytes(8))):
        packed = subprocess.run(["zstd", "-q", "-c"], input=unit * ((1 << 27) // len(unit)), capture_output=True, check=True).stdout
        pieces = (packed[at : at + 60000] for at in range(0, len(packed), 60000))
        path = folder / f"{name}.bomb"
        path.write_bytes(make(b"".join(struct.pack("<IHH", 81, 0, 8 + len(piece)) + piece for piece in pieces)))
        said, code, most, seconds = import_measured(folder / f"{name}.store", path)
        print(f"# {name}: {len(packed)} bytes that expand to {1 << 27}: {most:.0f} MB, {seconds:.1f} s", flush=True)
        wrongs += expect(f"{name}: exit code {code}", code == 0 and "what came before it is kept" in said, said)
        # with the sanitizers that comes to about half as much again
        wrongs += expect(f"{name}: {most:.0f} MB", most < 1000)
    return wrongs


def main():
    with tempfile.TemporaryDirectory(prefix="perftape import ") as folder:
        # perf keeps what it saw in ~/.debug: ours, for the time of this test
        os.environ["HOME"] = folder
        return live.main(able=tap.has("perf"), needs="root and perf")


if __name__ == "__main__":
    sys.exit(main())
