#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judges the user stacks that perftape walks in recordings of ordinary programs.

    recordings.py WALK_RECORDING [--table] [--hertz N] [--seconds N] [--stack-bytes N] [PROGRAM...]

Records each program with `perf record --call-graph dwarf` and walks the copies of its stacks. Judges:

- call sites: each caller follows a call instruction in its file. No unwinder takes part in this.
- libdw (elfutils) walks the same copies: its stack is ours, or a part of ours from the leaf on.
- perf script, with --script: its stack of the same sample (libunwind) likewise.

--table prints a row for each program; without it, the output is TAP. Needs root and perf.
"""

import argparse
import collections
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COUNTING = "import json,re\nwhile 1:\n [json.loads(json.dumps({str(i): i for i in range(300)})), re.sub('a+', 'b', 'caab' * 99)]"
SORTING = "while (1) { my %h; $h{$_ % 977} .= $_ for 1 .. 5000; my @s = sort { $h{$a} cmp $h{$b} } keys %h; my $t = join(',', @s); $t =~ s/(1+)2/$1/g }"
TEMPLATES = "\n".join(f"#include <{name}>" for name in ("regex", "map", "functional", "iostream", "random"))
SCRIPT = "i=0; while :; do i=$((i+1)); a[i%99]=${a[i%99]//x/yx}x; [[ $i =~ ^[0-9]+5$ ]] && : $(echo $i); done"
QUERY = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) "
         "select count(distinct i % 977), sum(length(hex(i))) from n order by 1")
# The shell command of each program; FILE is 200 MB of text. Each runs until it is stopped.
COMMANDS = {
    "python3": ("/usr/bin/python3", "-c", COUNTING),
    "perl": ("/usr/bin/perl", "-e", SORTING),
    "gzip": ("/bin/sh", "-c", "while :; do gzip -c FILE > /dev/null; done"),
    "xz": ("/bin/sh", "-c", "while :; do xz -T1 -c FILE > /dev/null; done"),
    "zstd": ("/bin/sh", "-c", "while :; do zstd -q -9 -c FILE > /dev/null; done"),
    "sort": ("/bin/sh", "-c", "while :; do sort -R FILE > /dev/null; done"),
    "awk": ("/bin/sh", "-c", "while :; do awk '{ n[$1 % 99] += length($0) } END { print n[1] }' FILE; done"),
    "find": ("/bin/sh", "-c", "while :; do find /usr -name '*[a-z]x*' -newer /bin/sh; done"),
    "bash": ("/bin/bash", "-c", SCRIPT),
    "git": ("/bin/sh", "-c", "cd TREE; while :; do git log --stat -n 400; done"),
    "sqlite3": ("/bin/sh", "-c", f"while :; do sqlite3 :memory: '{QUERY}'; done"),
    "openssl": ("/usr/bin/openssl", "speed", "-seconds", "1", "rsa2048", "sha256", "aes-128-cbc"),
    "cc1plus": ("/bin/sh", "-c", f"while :; do echo '{TEMPLATES}' | g++ -O2 -x c++ -S -o /dev/null -; done"),
    "node": ("/usr/bin/node", "-e", "for (;;) JSON.stringify(Array.from({length: 999}, (_, i) => ({i, s: 'x' + i})))"),
}
# Programs with deep stacks, which only run if they are named: (the beginnings of the names of their threads, command).
# FOLDER has load.rs and templates.cc.
DEEP = {
    "rustc": (("rustc", "opt ", "lto ", "cgu"),
              "while :; do rustc --crate-type lib -C opt-level=3 -o FOLDER/load.rlib FOLDER/load.rs; done"),
    "clang": (("clang",), "while :; do clang++ -O2 -S -o /dev/null FOLDER/templates.cc; done"),
    "git-repack": (("git",),
                   "git clone -q --bare TREE FOLDER/repo; while :; do git -C FOLDER/repo repack -q -a -d -f; done"),
    "java": (("java",), "exec java -XX:+PreserveFramePointer FOLDER/Load.java"),
}
RUST = "\n".join(f"pub fn f{i}(x: &[u64]) -> Vec<String> {{ let mut v: Vec<_> = x.iter().map(|y|"
                 f" format!(\"{{}}-{i}\", y)).collect(); v.sort_by(|a, b| b.cmp(a)); v }}" for i in range(40))
JAVA = """
import java.util.*;
class Load {
    static int depth(int n, Map<Integer, String> map) {
        if (n == 0) { for (int i = 0; i < 999; i++) map.put(i * 7919 % 4001, "x" + i); return map.hashCode(); }
        return depth(n - 1, map) + 1;
    }
    public static void main(String[] args) { for (;;) depth(20, new TreeMap<>()); }
}
"""
# In percent. docs/BENCHMARKS.md has what each program reaches.
WHOLE_MIN = 90
# The least number of samples of a command: a few would show only how its program starts.
SAMPLES = 300
PATIENCE_S = 120
# The part of the stacks that libdw may walk in another way; it gives up where it asks for a file's debug data.
DISPUTED_MAX = 0.01
# mov $15, %rax; syscall
TRAMPOLINE = bytes.fromhex("48c7c00f0000000f05")


class Judge:
    """Says whether a return address follows a call."""

    def __init__(self):
        self.files, self.calls, self.trampolines = {}, {}, {}

    def code(self, path, offset, before):
        if path not in self.files:
            try:
                self.files[path] = open(path, "rb")
            except OSError:
                self.files[path] = None
        file = self.files[path]
        if not file:
            return None
        file.seek(max(offset - before, 0))
        return file.read(before + 16)

    def is_call(self, path, offset):
        """None if the file cannot be read."""
        if (path, offset) not in self.calls:
            self.calls[path, offset] = self.find_call(path, offset)
        return self.calls[path, offset]

    def find_call(self, path, offset):
        code = self.code(path, offset, 8)
        if code is None:
            return None
        if os.uname().machine == "aarch64":
            word = int.from_bytes(code[4:8], "little")
            return word >> 26 == 0x25 or word & 0xFEFFF000 == 0xD63F0000
        return code[3] == 0xE8 or any(is_indirect_call(code[8 - size:8]) for size in range(2, 9))

    def is_trampoline(self, path, offset):
        if (path, offset) not in self.trampolines:
            code = self.code(path, offset, 0)
            self.trampolines[path, offset] = bool(code) and code.startswith(TRAMPOLINE)
        return self.trampolines[path, offset]


def is_indirect_call(code):
    """Whether all these bytes are one call through a register or memory."""
    while code and (code[0] in (0x2E, 0x3E, 0x66, 0x67, 0xF2, 0xF3) or 0x40 <= code[0] <= 0x4F):
        code = code[1:]
    if len(code) < 2 or code[0] != 0xFF or code[1] >> 3 & 7 != 2:
        return False
    mode, place, rest = code[1] >> 6, code[1] & 7, len(code) - 2
    if mode == 3:
        return rest == 0
    address = 0
    if place == 4:
        if rest < 1:
            return False
        address = 1
        if mode == 0 and code[2] & 7 == 5:
            address += 4
    elif mode == 0 and place == 5:
        address = 4
    return rest == address + {0: 0, 1: 1, 2: 4}[mode]


def walked(tool, path, *options):
    """The samples: ((tid, time), end, comm, [(address, offset, path)])."""
    sample = None
    with subprocess.Popen((tool, *options, path), stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            word = line.rstrip("\n").split(" ")
            if word[0] == "S":
                if sample:
                    yield sample
                rest = line.rstrip("\n").split(" ", 4)[4]
                end = next(text for text in ("no rule", "strange rule", rest.split(" ")[0]) if rest.startswith(text))
                sample = ((int(word[2]), int(word[3])), end, rest[len(end) + 1:], [])
            else:
                address, offset, name = line.rstrip("\n").split(" ", 2)
                sample[3].append((int(address, 16), int(offset, 16), name))
    if sample:
        yield sample


def scripted(path):
    """The user stacks of perf script: {(tid, time): [address]}."""
    command = ("perf", "script", "-i", path, "-F", "tid,time,ip", "--no-inline", "--max-stack", "1024", "--ns")
    stacks, stack = {}, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            word = line.split()
            if len(word) >= 2 and word[1].endswith(":"):
                seconds, fraction = word[1][:-1].split(".")
                stack = stacks.setdefault((int(word[0]), int(seconds) * 10**9 + int(fraction)), [])
            elif word and int(word[0], 16) < 1 << 63:
                stack.append(int(word[0], 16))
    return stacks


def relation(ours, perfs):
    """perf shows a caller by the last byte of its call, and code of a file by its offset there."""
    for (address, offset, _), other in zip(ours, perfs):
        if other not in (address, address - 1, offset, offset - 1):
            return "differs"
    return "equal" if len(ours) == len(perfs) else "shorter" if len(ours) < len(perfs) else "longer"


def has_libdw(tool):
    """Whether the tool was built with libdw."""
    return subprocess.run((tool, "-d", "/dev/null"), stderr=subprocess.DEVNULL, check=False).returncode != 3


class Result:
    """What the judges say of one program."""

    def __init__(self):
        self.samples = self.whole = self.frames = self.callers = self.unread = 0
        self.wrong, self.ends, self.relations = [], collections.Counter(), collections.Counter()
        self.libdw, self.disputed = collections.Counter(), []

    def compare(self, ours, theirs):
        """Notes how the stack of libdw relates to ours."""
        while theirs and theirs[-1][0] == 0:
            theirs.pop()
        word = relation(ours, [address for address, _, _ in theirs])
        self.libdw[word] += 1
        if word in ("differs", "shorter"):
            pairs = enumerate(zip(ours, theirs))
            at = next((at for at, (one, other) in pairs if one[0] != other[0]), min(len(ours), len(theirs)))
            self.disputed.append(f"{word} at frame {at} of {len(ours)}, above {ours[max(at - 1, 0)][2]}"
                                 f"+{ours[max(at - 1, 0)][1]:#x}")

    def add(self, judge, end, frames):
        self.samples += 1
        self.frames += len(frames)
        self.ends[end] += 1
        self.whole += end == "whole"
        interrupted = False
        for address, offset, path in frames[1:]:
            trampoline = judge.is_trampoline(path, offset) if path.startswith("/") else False
            if not path.startswith("/") or interrupted or trampoline:
                interrupted = trampoline
                continue
            called = judge.is_call(path, offset)
            self.callers += called is not None
            self.unread += called is None
            if called is False:
                self.wrong.append(f"{path}+{offset:#x} (at {address:#x}, in a stack that is {end})")


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def kill_session(perf, path):
    """Ends the command whose number is in a file, with all that it started. perf ends with the command."""
    try:
        os.killpg(int(path.read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        # perf did not start the command, or the command ended by itself
        perf.terminate()


def record(command, path, options, folder):
    """Records a command for some seconds, and on a busy machine until there are enough samples."""
    pid = folder / "pid"
    pid.write_text("")
    perf = ("perf", "record", "-q", "-F", str(options.hertz), "-m", "4096",
            "--call-graph", f"dwarf,{options.stack_bytes}", "-o", path, "--",
            "setsid", "sh", "-c", 'echo $$ > "$0"; exec "$@"', pid) + command
    end = time.monotonic() + PATIENCE_S
    with subprocess.Popen(perf, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(options.seconds)
            # a sample has a copy of the stack
            while size_of(path) < SAMPLES * options.stack_bytes and time.monotonic() < end and process.poll() is None:
                time.sleep(0.1)
        finally:
            kill_session(process, pid)


def judge_program(name, options, folder):
    text, tree = folder / "text", pathlib.Path(__file__).resolve().parents[2]
    comms, command = DEEP.get(name, ((name[:7],), None))
    command = ("/bin/sh", "-c", command) if command else COMMANDS[name]
    command = tuple(word.replace("FILE", str(text)).replace("TREE", str(tree)).replace("FOLDER", str(folder))
                    for word in command)
    path = folder / f"{name}.data"
    record(command, path, options, folder)
    judge, result = Judge(), Result()
    scripts = scripted(path) if options.script else {}
    others = walked(options.tool, path, "-d") if options.libdw else itertools.repeat(None)
    for (key, end, comm, frames), other in zip(walked(options.tool, path), others):
        # not the shell that starts the program, nor git's pager
        if not comm.startswith(comms):
            continue
        result.add(judge, end, frames)
        if other:
            result.compare(frames, other[3])
        if key in scripts:
            result.relations[relation(frames, scripts[key])] += 1
    path.unlink()
    return result


def row(name, result):
    ends = ", ".join(f"{count} {end}" for end, count in result.ends.most_common() if end != "whole")
    share = 100 * result.whole / max(result.samples, 1)
    frames = result.frames / max(result.samples, 1)
    perf, libdw = (" ".join(f"{count} {word}" for word, count in relations.most_common())
                   for relations in (result.relations, result.libdw))
    return (f"| {name} | {result.samples} | {share:.2f} % | {frames:.1f} | {result.callers} | {len(result.wrong)} "
            f"| {ends or '-'} | {libdw or '-'} | {perf or '-'} |")


def make_files(folder):
    """Text that compresses as a log does, and sources for compilers."""
    (folder / "load.rs").write_text(RUST)
    (folder / "templates.cc").write_text(TEMPLATES)
    (folder / "Load.java").write_text(JAVA)
    with (folder / "text").open("w") as file:
        for i in range(400000):
            file.write(f"{i * 7919 % 10007} line {i} of a file with {i % 97} words {i * 2654435761 % 2**32:x}\n")


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("tool")
    ask.add_argument("programs", nargs="*")
    ask.add_argument("--table", action="store_true")
    ask.add_argument("--script", action="store_true", help="compare with perf script, which takes minutes")
    ask.add_argument("--hertz", type=int, default=499)
    ask.add_argument("--seconds", type=float, default=2)
    ask.add_argument("--stack-bytes", type=int, default=16384)
    options = ask.parse_intermixed_args()
    options.libdw = has_libdw(options.tool)
    needs = {"cc1plus": "g++", "clang": "clang++", "git-repack": "git"}
    names = [name for name in options.programs or COMMANDS if shutil.which(needs.get(name, name))]
    if os.geteuid() or not shutil.which("perf"):
        print("1..1\nok 1 - recorded stacks # SKIP needs root and perf")
        return 0
    if options.table:
        print("| program | samples | whole | frames | callers | wrong | cut stacks | libdw | perf script |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    else:
        print(f"1..{len(names)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        make_files(pathlib.Path(folder))
        for number, name in enumerate(names, 1):
            result = judge_program(name, options, pathlib.Path(folder))
            good = result.samples and not result.wrong and 100 * result.whole >= WHOLE_MIN * result.samples
            good = good and len(result.disputed) <= DISPUTED_MAX * result.samples
            failed += not good
            for line in result.disputed[:5]:
                print(f"# seen: the stack of libdw {line}")
            for line in result.wrong[:5]:
                print(f"# seen: no call before {line}")
            print(row(name, result) if options.table else
                  f"{'ok' if good else 'not ok'} {number} - callers of {name} follow calls\n# {row(name, result)}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
