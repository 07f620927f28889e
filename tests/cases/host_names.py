#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The host's name is in every answer, picture and file.

FORMS has the answers of each command that `perftape help` lists. A command without an entry fails, and so does an
option that asks for another form of an answer, if no form of its command uses it. So a new command or form cannot
forget the name.

Usage: host_names.py PERFTAPE STORY PERFTAPE-PLAYED
"""

import gzip
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import golden_screens  # noqa: E402
import perf_data  # noqa: E402
import tap  # noqa: E402

WINDOW = "--store story --incident 17"
PAST = "--store story --from 2020-01-01T00:00:00Z --to 2020-01-02T00:00:00Z"
# The name is in the answer on standard output, and in the file of -o.
ANSWERS = {
    "query": (
        f"query {WINDOW}",
        f"query {WINDOW} --format flamescope",
        f"query {WINDOW} --format json",
        f"query {WINDOW} --json",
        f"query {WINDOW} --format folded --mark host",
        f"query {WINDOW} --events",
        f"query {WINDOW} --events --json",
        f"query {WINDOW} -o out.stacks",
        f"query {WINDOW} -o out.stacks.gz",
        f"query {WINDOW} -o out.json",
        f"query {WINDOW} --events -o out.events",
    ),
    "explain": (
        f"explain {WINDOW}",
        f"explain {WINDOW} --json",
        "explain --store story --all",
        "explain --store story --all --json",
    ),
    "top": (f"top {WINDOW}", f"top {WINDOW} --by cgroup", f"top {WINDOW} --json"),
    "spikes": ("spikes --store story", "spikes --store story --all --explain", "spikes --store story --json"),
    "diff": (
        f"diff {WINDOW} --baseline 1h",
        f"diff {WINDOW} --baseline 1h --json",
        f"diff {WINDOW} --baseline 1h -o out.svg",
    ),
    "heatmap": (f"heatmap {WINDOW}", f"heatmap {WINDOW} --per-cpu", f"heatmap {WINDOW} --json"),
    "flamegraph": (f"flamegraph {WINDOW}", f"flamegraph {WINDOW} -o out.svg", f"flamegraph {WINDOW} -o out.svgz"),
    "gauges": (f"gauges {WINDOW}", f"gauges {WINDOW} --csv", f"gauges {WINDOW} --json"),
    "audit": ("audit --store story --root root --duration 0", "audit --store story --root root --duration 0 --json"),
    "incidents": (
        "incidents --store story",
        "incidents --store story --all",
        "incidents --store story --from 2025-03-01T12:00:00Z --to 2025-03-01T12:03:00Z",
        "incidents --store story --json",
    ),
    "segments": ("segments --store story", "segments --store story --work", "segments --store story --json"),
    "status": ("status --store story", "status --store story --json", "status --store story --openmetrics"),
    "verify": ("verify --store story --json",),
    # The file is read as a store.
    "snapshot": (f"snapshot {WINDOW} -o out.tape",),
}
# The name is in the messages: these answers are nothing but messages, or have no place for the name.
MESSAGES = {
    "query": (f"query {WINDOW} --format folded", f"query {WINDOW} --no-header"),
    "verify": ("verify --store story", "verify --store story --rebuild"),
    "vacuum": ("vacuum --store story --dry-run",),
    "mark": ("mark --store copy deploy",),
    "resolve": ("resolve --store copy",),
    "import": ("import --store new perf/plain.data",),
    "snapshot": (f"snapshot {WINDOW} -o out.tape",),
    "record": ("record --store recorded --duration 3s",),
}
# Commands whose answers are not about a host: ship names its host, too, but needs a server.
WITHOUT = {"ship", "fleet", "completion"}
# Options that ask for another form of an answer.
FORM = re.compile(r"^ +(?:-\w, )?--(json|csv|openmetrics|output|events|all|work|by|per-cpu)\b", re.MULTILINE)
CHOICE = re.compile(r"--format ([a-z|]+)")
# Answers about windows in which nothing is recorded.
EMPTY = ("query", "explain", "top", "heatmap", "flamegraph", "gauges", "segments", "spikes", "snapshot", "diff")


class Machine:
    def __init__(self, perftape, story, played):
        self.perftape, self.story, self.played = (os.path.abspath(path) for path in (perftape, story, played))

    def fill(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run([self.story, self.folder / "story"], check=True)
        shutil.copytree(self.folder / "story", self.folder / "copy")
        self.note_unrecorded()
        perf_data.put_files(folder)
        golden_screens.put_root(folder)
        path = self.folder / "root" / "proc" / "sys" / "kernel" / "hostname"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("example\n")

    def note_unrecorded(self):
        """A store that knows an incident of a time that is not recorded."""
        shutil.copytree(self.folder / "story", self.folder / "noted")
        line = "2025-01-01T00:00:00.000Z kernel: ena 0000:20:03.0 eth0: TX q 5 is paused for too long"
        (self.folder / "old.log").write_text(line + "\n")
        self.run(["incidents", "scan", "--store", "noted", "--add", "old.log"])

    def run(self, words):
        environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "HOME": str(self.folder), "PERFTAPE_CONFIG": os.devnull}
        environment |= {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        program = self.perftape
        if words[0] == "record":
            program = self.played
            environment |= {
                "PERFTAPE_PLAY": str(HERE / "recording.play"),
                "PERFTAPE_PLAY_FOLDER": str(self.folder / "machine"),
            }
        return subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.folder,
            env=environment,
            check=False,
        )

    def help(self, *words):
        return self.run(["help", *words]).stdout.decode()

    def answer(self, words, done):
        """What the answer says: standard output, or the file of -o."""
        if "-o" not in words:
            return done.stdout.decode()
        path = self.folder / words[words.index("-o") + 1]
        if path.suffix == ".tape":
            return self.run(["status", "--store", str(path), "--json"]).stdout.decode()
        data = path.read_bytes()
        return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()


def is_named(text, words):
    return re.search(r"\bplayed\b" if words[0] == "record" else r"\bexample\b", text) is not None


def check_form(machine, command, where):
    words = shlex.split(command)
    done = machine.run(words)
    if done.returncode not in (0, 5):
        return [f"exit code {done.returncode}", *done.stderr.decode().splitlines()]
    text = machine.answer(words, done) if where == "answer" else done.stderr.decode()
    return [] if is_named(text, words) else [f"no host in the {where}:", *text.splitlines()[:10]]


def check_empty(machine, command):
    more = ["-o", "empty.tape"] if command == "snapshot" else ["--baseline", "1h"] if command == "diff" else []
    done = machine.run([command, *shlex.split(PAST), *more])
    seen = done.stdout.decode() + done.stderr.decode()
    wrongs = [] if done.returncode == 3 else [f"exit code {done.returncode}"]
    wrongs += [] if is_named(seen, [command]) else ["no host:", *seen.splitlines()]
    if "--json" not in machine.help(command):
        return wrongs
    text = machine.run([command, *shlex.split(PAST), *more, "--json"]).stdout.decode()
    return wrongs + ([] if is_named(text, [command]) else ["no host in JSON:", *text.splitlines()])


def known_forms(command):
    return [*ANSWERS.get(command, ()), *MESSAGES.get(command, ())]


def missing_forms(machine, command):
    """The options of a command that ask for a form of its answer that this test does not know."""
    text = machine.help(command)
    forms = [shlex.split(form) for form in known_forms(command)]
    used = {word for form in forms for word in form}
    names = {f"--{name}" for name in FORM.findall(text)}
    names |= {name for choice in CHOICE.findall(text) for name in choice.split("|")}
    names = {"-o" if name == "--output" else name for name in names}
    # --by goes with all tables, and heatmap, top and diff have few others
    return sorted(names - used - ({"--by"} if command == "diff" else set()))


def checks(machine):
    listed = machine.help().partition("Commands:")[2].partition("Options of")[0]
    commands = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    yield "the help lists commands", [] if len(commands) > 20 else [f"only {commands}"]
    for command in commands:
        known = command in WITHOUT or known_forms(command)
        yield f"{command} is known here", [] if known else ["a new command: add its answers"]
        if command not in WITHOUT:
            missing = missing_forms(machine, command)
            yield f"all forms of {command} are known here", [f"no answer with {name}" for name in missing]
    for where, table in (("answer", ANSWERS), ("messages", MESSAGES)):
        for form in (form for forms in table.values() for form in forms):
            yield f"the {where} of {form}", check_form(machine, form, where)
    for form in ("explain --store noted --incident 1", "explain --store noted --incident 1 --json"):
        done = machine.run(shlex.split(form))
        text = done.stdout.decode()
        yield f"{form}, which is not recorded", [] if is_named(text, [form]) else ["no host:", *text.splitlines()]
    for command in EMPTY:
        yield f"{command} of a window without a recording", check_empty(machine, command)


def main():
    machine = Machine(*sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        machine.fill(folder)
        return tap.run(list(checks(machine)))


if __name__ == "__main__":
    sys.exit(main())
