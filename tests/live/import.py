#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files that this machine's perf writes in its modes: perf script and perftape must agree on them, sample by sample.

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
from recorders import PERFTAPE, WAIT, expect, wait_for  # noqa: E402

MIX = os.path.abspath(sys.argv[2])
FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", timeout=WAIT, **more)


def perftape(command, store, *words):
    return run(PERFTAPE, command, "--store", store, *words)


def load(seconds):
    """The command of a load: short processes, threads that rename themselves, libraries that come and go, python."""
    python = "import json, time\nend = time.time() + %s\nwhile time.time() < end: json.dumps(json.loads('[1, 2, {\"a\": [3]}]' * 1))" % seconds
    return ["sh", "-c", '"$1" "$2" & "$3" -S -c "$4" & while kill -0 $! 2>/dev/null; do /bin/true; ls / >/dev/null; done; wait', "load", MIX, str(seconds), sys.executable, python]


def record(data, *options, seconds=0.7, events="cpu-clock"):
    words = ["perf", "record", "-F", "1499", "-e", events, "-g", "-a", "-o", str(data), *options, "--", *load(seconds)]
    done = run(*words)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


def is_imported(done, files=1):
    """Whether import ended well and said one line for each file. One more may tell of stacks that hold something else than addresses, as
    another process of this machine may have some."""
    return done.returncode == 0 and sum("callchains had to be cut" not in line for line in done.stderr.splitlines()) == files


def samples_of(said):
    """The number of samples of each file, as import says it."""
    return [int(count) for count in re.findall(r": (\d+) samples of ", said)]


def query(store, stacks, since):
    """Writes and checks all samples since then. perf has -1 for a thread on its way out, which check-stacks does not take for a number."""
    done = perftape("query", store, "--from", f"@{since}", "-o", stacks)
    if done.returncode != 0:
        return expect("query ends with exit code 0", False, done.returncode, done.stderr)
    numbered = stacks.with_suffix(".numbered")
    numbered.write_text(re.sub(r"^(\S.*? +)-?(\d+)/-1( +\[)", r"\1\2/0\3", stacks.read_text(), flags=re.MULTILINE))
    checked = run(TESTS / "tools" / "check-stacks", numbered)
    return expect("check-stacks finds nothing wrong", checked.returncode == 0, checked.stdout)


def script(data, text, *words):
    done = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", FIELDS, *words], capture_output=True, timeout=WAIT)
    text.write_bytes(done.stdout)
    return expect(f"perf script reads {data.name}", done.returncode == 0, done.returncode, done.stderr[-500:])


# docs/IMPORT.md explains where perftape is right: perf drops a whole callchain because of one odd entry, and misses the names of some threads.
EXPLAINED = re.compile(r"(\d+) (?:depth: perf 0 ours |comm: perf ':-?\d+' ours '[^:])")


def leave_out_others(text, stacks):
    """Takes the threads of other tests out of both: their programs are changed, removed or out of reach on purpose."""
    own = re.escape(stacks.parent.name.removeprefix("perftape live "))
    program = re.compile(rf"\(/.*/perftape live (?!{own}/)")
    thread = re.compile(r"^\s*\S.*?\s-?\d+/(-?\d+)\s", re.MULTILINE)
    parts = {path: path.read_text(errors="replace").split("\n\n") for path in (text, stacks)}
    threads = {thread.search(part)[1] for blocks in parts.values() for part in blocks if program.search(part) and thread.search(part)}
    for path, blocks in parts.items():
        path.write_text("\n\n".join(part for part in blocks if not thread.search(part) or thread.search(part)[1] not in threads))


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
    return expect(f"{name}: the samples and 99.9 % of the stacks are those of perf script", same_samples and equal + explained >= 0.999 * all_, lines[-1] if lines else "nothing", done.stdout, done.stderr)


def same(folder, name, data, *words, event=None, begun=None):
    """Imports a file into a store of its own and compares it with what perf script says."""
    store, text, stacks = folder / f"{name}.store", folder / f"{name}.script", folder / f"{name}.stacks"
    done = perftape("import", store, data, *words, *(["--event", event] if event else []))
    wrongs = expect(f"{name}: import ends with exit code 0 and one line", is_imported(done), done.returncode, done.stderr)
    wrongs += script(data, text)
    if event:
        keep_event(text, event)
    wrongs += query(store, stacks, (begun or time.time()) - 3600)
    return wrongs or compare(name, text, stacks)


def keep_event(text, event):
    parts = text.read_text().split("\n\n")
    text.write_text("\n\n".join(part for part in parts if re.search(rf"\s{event}:", part.split("\n")[0])) + "\n\n")


@live.test()
def test_modes(folder):
    """Plain files, compressed files, and files with the build-ids of all programs: perf script says the same.

    With -z perf writes no build-ids. It links programs into its cache at the end, which changes them: -k tells that this was later.
    """
    wrongs = []
    for name, options in (("plain", []), ("z", ["-z", "-k", "CLOCK_MONOTONIC"]), ("buildid-all", ["--buildid-all"])):
        data = folder / f"{name}.data"
        record(data, *options)
        wrongs += same(folder, name, data)
    return wrongs


# With --buildid-mmap the kernel puts build-ids into what other perf processes record, and perf script then crashes on their files.
@live.test(alone=True)
def test_build_ids_in_mappings(folder):
    """A file with build-ids in its mappings: perf script says the same."""
    data = folder / "buildid-mmap.data"
    record(data, "--buildid-mmap")
    return same(folder, "buildid-mmap", data)


@live.test()
def test_one_process(folder):
    """A recording of one process does not say on which CPU it ran: import takes the first."""
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
    """A file that perf wrote to a pipe: perf script says the same."""
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
    """Of several events import takes the first that samples, or the one that --event names."""
    data = folder / "events.data"
    record(data, events="cpu-clock,page-faults")
    wrongs = []
    for event in ("cpu-clock", "page-faults"):
        wrongs += same(folder, f"events-{event}", data, event=event)
    store = folder / "events-other"
    done = perftape("import", store, data, "--event", "cycles")
    wrongs += expect("--event cycles: exit code 1, and the events that the file has", done.returncode == 1 and "no event cycles; it has cpu-clock, page-faults" in done.stderr, done.stderr)
    first = perftape("import", folder / "events-first", data)
    return wrongs + expect("without --event: samples of cpu-clock", " samples of cpu-clock" in first.stderr, first.stderr)


def heads(stacks):
    """Time and comm of each sample."""
    found = re.findall(r"^(\S.*?) +-?\d+/-?\d+ +\[\d+\] +(\d+\.\d+): +(\d+)", stacks.read_text(), re.MULTILINE)
    return [(float(moment), comm) for comm, moment, period in found if int(period)]


def windows(said):
    """Begin, end and stated error of each file, as import says them."""
    found = re.findall(r"lost, (\S+) to (\S+) \((?:within (\d+) (m?)s)?", said)
    return [(*(datetime.datetime.fromisoformat(moment).timestamp() for moment in row[:2]), int(row[2] or 0) / (1000 if row[3] else 1)) for row in found]


def record_parts(folder, count, *options):
    """Records with --switch-output, and lets perf begin a new file once it has samples of some CPU time. Their names, in order."""
    started = folder / "started"
    folder.mkdir()
    words = ["perf", "record", "-q", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-o", str(folder / "perf.data"), "--switch-output", *options]
    # perf starts this once its events are open
    perf = subprocess.Popen([*words, "--", "sh", "-c", 'touch "$1"; exec "$2" 100', "load", started, MIX], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    """Takes so much CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@live.test()
def test_switch_output(folder):
    """The files of --switch-output are one timeline: perf script says the same of all of them together."""
    files = folder / "switch"
    names = record_parts(files, 3)
    wrongs = expect("perf writes three files", len(names) == 3, names)
    done = perftape("import", folder / "switch.store", files)
    wrongs += expect("import ends with exit code 0 and takes all files", done.returncode == 0 and len(samples_of(done.stderr)) == len(names), done.returncode, done.stderr)
    wrongs += query(folder / "switch.store", folder / "switch.stacks", time.time() - 3600)
    for name in names:
        wrongs += script(name, folder / "part")
        with open(folder / "switch.script", "a") as whole:
            whole.write((folder / "part").read_text())
    return wrongs + compare("--switch-output", folder / "switch.script", folder / "switch.stacks")


@live.test()
def test_switch_output_compressed(folder):
    """With -z each file of --switch-output goes on from the one before, and cannot be read without it."""
    files, alone, store = folder / "switch-z", folder / "alone", folder / "switch-z.store"
    names = record_parts(files, 3, "-z")
    wrongs = expect("perf writes three files", len(names) == 3, names)
    if wrongs:
        return wrongs
    told = "together with the one before it"
    second = perftape("import", store, names[1])
    wrongs += expect("the second alone: exit code 1, and what it takes", second.returncode == 1 and second.stderr.count("\n") == 1 and told in second.stderr, second.returncode, second.stderr)
    alone.mkdir()
    for name in (names[0], names[2]):
        shutil.copy2(name, alone)
    third = perftape("import", store, alone)
    wrongs += expect("the first and the third: exit code 1, and the first alone", third.returncode == 1 and len(samples_of(third.stderr)) == 1 and told in third.stderr, third.returncode, third.stderr)
    done = perftape("import", store, files)
    wrongs += expect("all: exit code 0, and the first is imported already", done.returncode == 0 and done.stderr.count("imported already") == 1, done.returncode, done.stderr)
    counts, times = samples_of(third.stderr) + samples_of(done.stderr), windows(third.stderr) + windows(done.stderr)
    wrongs += expect("each of the three has samples", len(counts) == 3 and all(counts), counts)
    for (_, end, one), (begin, _, other) in zip(times, times[1:]):
        wrongs += expect(f"a file begins where the one before ends, within {one + other} s", abs(begin - end) <= one + other, times)
    wrongs += query(store, folder / "switch-z.stacks", time.time() - 3600)
    wrongs += expect(f"the store has {sum(counts)} samples", len(heads(folder / "switch-z.stacks")) == sum(counts), len(heads(folder / "switch-z.stacks")))
    text, first = folder / "first.script", folder / "first"
    wrongs += script(names[0], text)
    perftape("import", first, names[0])
    return wrongs + query(first, folder / "first.stacks", time.time() - 3600) + compare("-z --switch-output, the first", text, folder / "first.stacks")


@live.test()
def test_clock(folder):
    """With perf record -k the file has the wall clock, and import takes it."""
    data, stacks = folder / "clock.data", folder / "clock.stacks"
    began = time.time()
    record(data, "-k", "CLOCK_MONOTONIC")
    ended = time.time()
    os.utime(data, (1, 1))
    done = perftape("import", folder / "clock", data)
    wrongs = expect("import ends with exit code 0 and takes the file's clock data", done.returncode == 0 and "by the file's clock data" in done.stderr, done.returncode, done.stderr)
    wrongs += query(folder / "clock", stacks, began - 5)
    times = [moment for moment, _ in heads(stacks)]
    wrongs += expect(f"all {samples_of(done.stderr)} samples are in the window", [len(times)] == samples_of(done.stderr), len(times))
    error = windows(done.stderr)[0][2]
    return wrongs + expect(f"they are of between {began} and {ended}, within {error} s", times and began - error <= min(times) and max(times) <= ended + error, times[:1], times[-1:])


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


@live.test()
def test_killed(folder):
    """Of a file whose perf was killed, import takes each record that is whole."""
    data, mended = folder / "killed.data", folder / "mended.data"
    words = ["perf", "record", "-q", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-m", "16", "-o", data]
    loads = subprocess.Popen([MIX, "30"])
    perf = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    wait_for(lambda: data.exists() and data.stat().st_size > 600000)
    perf.kill()
    perf.wait()
    loads.kill()
    loads.wait()
    bytes_ = data.read_bytes()
    whole = list(records_of(bytes_))
    samples = sum(kind == 9 for _, kind, _ in whole)
    done = perftape("import", folder / "killed", data)
    wrongs = expect(f"import ends with exit code 0 and takes {samples} samples", done.returncode == 0 and samples_of(done.stderr) == [samples], done.returncode, done.stderr)
    # perf reads such a file if the header says where the records end, and claims no features
    begin, last = whole[0][0], whole[-1]
    mended.write_bytes(bytes_[:48] + struct.pack("<Q", last[0] + last[2] - begin) + bytes_[56:72] + bytes(32) + bytes_[104 : last[0] + last[2]])
    wrongs += script(mended, folder / "killed.script")
    wrongs += query(folder / "killed", folder / "killed.stacks", time.time() - 3600)
    return wrongs + compare("killed", folder / "killed.script", folder / "killed.stacks")


@live.test()
def test_packed(folder):
    """A file that is packed with gzip, xz or zstd has the same samples."""
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
        wrongs += expect(f"{suffix}: import ends with exit code 0 and one line", is_imported(done), done.returncode, done.stderr)
        wrongs += query(store, stacks, time.time() - 3600)
        wrongs += expect(f"{suffix}: {len(expected)} samples, as in the file that is not packed", heads(stacks) == expected, f"{len(heads(stacks))} samples")
        again = perftape("import", folder / "whole", name)
        wrongs += expect(f"{suffix}: it is imported already", again.returncode == 0 and "imported already" in again.stderr, again.stderr)
    return wrongs


@live.test()
def test_twice(folder):
    """Importing a file again adds nothing, also under another name."""
    data, store = folder / "twice.data", folder / "twice"
    record(data)
    perftape("import", store, data)
    before = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    shutil.copy(data, folder / "copy.data")
    wrongs = []
    for name in (data, folder / "copy.data"):
        done = perftape("import", store, name)
        wrongs += expect(f"{name.name} is imported already", done.returncode == 0 and "imported already" in done.stderr, done.stderr)
    after = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    return wrongs + expect(f"the store has the same {len(before)} segments as before", before == after, before, after)


@live.test()
def test_names(folder):
    """Where the file lacks the wall clock, import takes it from its name, its last change, or an option."""
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
        wrongs += expect(f"{name}: exit code 0, and '{says}'", done.returncode == 0 and says in done.stderr, done.returncode, done.stderr)
        wrongs += expect(f"{name}: it begins at {begin}", not begin or f"lost, {begin}" in done.stderr, done.stderr)
        wrongs += expect(f"{name}: it ends at {end}", not end or f" to {end}" in done.stderr, done.stderr)
    first = run("perf", "script", "-F", "time", "-i", data).stdout.split()[0].rstrip(":")
    done = perftape("import", folder / "offset", data, "--clock-offset", f"{1763435400 - int(first.split('.')[0])}")
    wrongs += expect("--clock-offset puts the first sample to 1763435400", windows(done.stderr) and int(windows(done.stderr)[0][0]) == 1763435400, first, done.stderr)
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
        wrongs += expect(f"a file has samples of between {earliest} and {latest}, within {wide} s", earliest - wide <= begin <= end <= latest + wide, begin, end)
    done = perftape("query", store, "--from", f"@{times[0][0]:.3f}", "--to", f"@{times[1][1]:.3f}", "-o", folder / "gap.stacks")
    missing = re.findall(r"gap: (\S+) to (\S+): nothing recorded", done.stderr)
    wrongs += expect("query ends with exit code 0 and tells of one gap", done.returncode == 0 and len(missing) == 1, done.returncode, done.stderr)
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
    return expect(f"exit code 1, and one line with '{told}'", done.returncode == 1 and done.stderr.count("\n") == 1 and told in done.stderr, done.returncode, done.stderr)


PROGRAM = """
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void %(name)s(void) { for (unsigned long i = 0; i < 100000; i++) sink += %(step)d; }
int main(void) { for (int i = 0; i < 1000; i++) %(name)s(); return 0; }
"""


def build(program, name, step, *options):
    """Compiles a program. Another step makes other code, and so another build-id; another name alone does not."""
    cc = os.environ.get("CC", "gcc").split()
    subprocess.run([*cc, "-O1", "-fno-omit-frame-pointer", "-x", "c", "-o", program, *options, "-"], input=PROGRAM % {"name": name, "step": step}, text=True, check=True)


@live.test(alone=True)
def test_changed(folder):
    """Import takes no names from a program that was replaced, written over, or made to look as old as it was."""
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
        wrongs += expect(f"{what}: import ends with exit code 0", done.returncode == 0, done.returncode, done.stderr)
        wrongs += expect(f"{what}: there are samples of program{number}", f"program{number};" in folded, folded[:1000])
        wrongs += expect(f"{what}: the other program's function is not named", "invented_nm" not in folded, folded[:1000])
        # perf may have kept the right program
        wrongs += expect(f"{what}: its own function is named", "honest_name" in folded or how != "same", folded[:1000])
    return wrongs


def make(records, sample_type=0x187):
    """The bytes of a perf.data file of one event without ids, with the caller's records."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 997, sample_type, 0, 1 << 10 | 1 << 18).ljust(128, b"\0") + bytes(16)
    return b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 144, 248, len(records), 0, 0) + bytes(32) + attr + records


def import_measured(store, path):
    """What import said, its exit code, and the most memory that it had, in MB."""
    process = subprocess.Popen([PERFTAPE, "import", "--store", store, path], stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return said, process.returncode, usage.ru_maxrss / 1024


@live.test()
def test_damage(folder):
    """Of a file that is cut, lies or is hostile, import says one line and takes what it can read."""
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
        said, code, _ = import_measured(folder / f"cut{number}", path)
        samples = sum(kind == 9 and at + length <= cut for at, kind, length in whole)
        notes = [line for line in said.splitlines() if "middle of a record" in line]
        clean = cut >= features or any(at + length == cut for at, _, length in whole) or cut == begin
        wrongs += expect(f"cut at {cut}: exit code 0, and {samples} samples", code == 0 and samples_of(said) == ([samples] if samples else []), code, said)
        wrongs += expect(f"cut at {cut}: {'no' if clean else 'one'} note that a record is cut", len(notes) == (0 if clean else 1) and said.count("\n") <= 3, said)
    expected = sum(kind == 9 for _, kind, _ in whole)
    for number in range(bin(int.from_bytes(bytes_[72:104], "little")).count("1")):
        for what, lie in (("outside", 1 << 60), ("all of it", 0)):
            path, lying = folder / f"lie{number}{what}.data", bytearray(bytes_)
            struct.pack_into("<QQ", lying, features + 16 * number, lie, len(bytes_))
            path.write_bytes(lying)
            if number % 4 == 0 or what == "outside":
                said, code, _ = import_measured(folder / f"lie{number}{what}", path)
                wrongs += expect(f"feature {number} {what}: exit code 0, and {expected} samples", code == 0 and samples_of(said) == [expected], code, said)
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
        said, code, _ = import_measured(folder / "nothing", path)
        wrongs += expect(f"{name}: exit code 1, and one line with '{says}'", code == 1 and said.count("\n") == 1 and says in said, code, said)
    return wrongs


@live.test(also=("build",), lacks=live.lacking(tap.has("zstd"), "zstd"))
def test_bombs(folder):
    """Compressed records that expand a thousandfold do not take as much memory."""
    expanded = 1 << 27
    sample = struct.pack("<IHHQIIQIIQQ", 9, 0, 56, 0x1000, 5, 5, 10**12, 0, 0, 1, 0)
    wrongs = []
    # the sanitizer of build-dev/ keeps what was freed for a while
    most = 8 if "build-dev" in PERFTAPE else 5
    for name, unit in (("samples", sample), ("small records", struct.pack("<IHH", 14, 0, 8)), ("nothing", bytes(8))):
        packed = subprocess.run(["zstd", "-q", "-c"], input=unit * (expanded // len(unit)), capture_output=True, check=True).stdout
        pieces = (packed[at : at + 60000] for at in range(0, len(packed), 60000))
        path = folder / f"{name}.bomb"
        path.write_bytes(make(b"".join(struct.pack("<IHH", 81, 0, 8 + len(piece)) + piece for piece in pieces)))
        said, code, memory = import_measured(folder / f"{name}.store", path)
        print(f"# {name}: {len(packed)} bytes that expand to {expanded >> 20} MB: {memory:.0f} MB", flush=True)
        wrongs += expect(f"{name}: exit code 0, and what came before is kept", code == 0 and "what came before it is kept" in said, code, said)
        wrongs += expect(f"{name}: at most {most} times the expanded size in memory", memory <= most * (expanded >> 20), f"{memory:.0f} MB")
    return wrongs


def main():
    # perf keeps what it saw in ~/.debug, for which it links files if it can. That changes when they were changed last, which counts for
    # what has no build-id: so this test's home is on another file system.
    with tempfile.TemporaryDirectory(prefix="perftape import ", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        os.environ["HOME"] = folder
        return live.main(able=tap.has("perf"), needs="root and perf")


if __name__ == "__main__":
    sys.exit(main())
