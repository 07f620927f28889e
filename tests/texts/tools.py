# SPDX-License-Identifier: GPL-2.0-only
"""The tools themselves, beside their models in readers.py: what each shows of a text.

speedscope and the importer of Firefox Profiler come from npm, into a folder that the test removes. FlameGraph and
Flamescope are in no package registry: $FLAMEGRAPH and $FLAMESCOPE name their folders.

shown() returns a Counter of stacks, the root first. expected() returns what the tool should show of a sample.
"""

import base64
import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
import chromium  # noqa: E402
from readers import flamescope_of, stackcollapse_of  # noqa: E402

SPEEDSCOPE = "speedscope@1.25.0"
FIREFOX = "@firefox-devtools/profiler-cli@0.10.0"
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
# Flamescope leaves out what it takes for an idle CPU.
IDLE = re.compile(r"swapper.*(cpuidle|cpu_idle|cpu_bringup_and_idle|native_safe_halt)")
FLAMESCOPE_PYTHONS = (sys.executable, "/usr/bin/python3")
# Flamescope's own application, without a network. It needs the package nflxprofile only for another format.
FLAMESCOPE_RUN = """
import json, sys, types
for name in ("nflxprofile", "nflxprofile.nflxprofile_pb2", "nflxprofile.flamegraph"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["nflxprofile"].nflxprofile_pb2 = sys.modules["nflxprofile.nflxprofile_pb2"]
for name in ("get_flame_graph", "NodeJsStackProcessor", "StackProcessor", "NodeJsPackageStackProcessor"):
    setattr(sys.modules["nflxprofile.flamegraph"], name, None)
sys.path.insert(0, sys.argv[1])
from app import APP, config
config.PROFILE_DIR = sys.argv[2]
from app.controllers.flame_graph import generate_flame_graph
from app.controllers.profile_list import get_profile_list
from app.controllers.heatmap import generate_heatmap
row, = get_profile_list()
assert row["type"] == "perf", row
heat = generate_heatmap(row["filename"], row["type"], 50)
print(json.dumps([generate_flame_graph(row["filename"], row["type"], None, None), heat]))
"""


def names_of(sample):
    return tuple(name for name, _ in reversed(sample.frames))


class Npm:
    """Packages of npm in a folder of their own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def missing(self, package):
        """Gets a package. Returns why that is impossible, or None."""
        if not shutil.which("npm") or not shutil.which("node"):
            return "npm and node are not installed"
        command = ["npm", "install", "--silent", "--ignore-scripts", "--no-save", "--prefix", self.folder, package]
        done = subprocess.run(command, capture_output=True, check=False, timeout=300)
        return None if done.returncode == 0 else f"npm cannot get {package}"

    def path(self, name):
        return self.folder / "node_modules" / name


class Speedscope:
    name = "speedscope"

    def __init__(self, npm):
        self.npm = npm

    def missing(self):
        return self.npm.missing(SPEEDSCOPE) if chromium.find() else "Chromium is not installed"

    def shown(self, path):
        page = self.npm.path("speedscope") / "dist" / "release" / "index.html"
        load = path.with_suffix(".js")
        data = base64.b64encode(path.read_bytes()).decode()
        load.write_text(f"speedscope.loadFileFromBase64({path.name!r}, {data!r})")
        browser = chromium.Chromium(chromium.find())
        try:
            browser.open(page, f"localProfilePath={load}")
            return self.stacks(json.loads(self.exported(browser, path.name)))
        finally:
            browser.close()

    @staticmethod
    def exported(browser, name):
        """What the page saves after Ctrl+S."""
        browser.run("""(old => URL.createObjectURL = blob => {
            blob.text().then(text => window.saved = text);
            return old.call(URL, blob);
        })(URL.createObjectURL); 1""")
        wait(lambda: browser.run("document.title").startswith(name), f"speedscope shows {name}")
        key = {"key": "s", "code": "KeyS", "modifiers": 2, "windowsVirtualKeyCode": 83}
        browser.call("Input.dispatchKeyEvent", type="keyDown", **key)
        browser.call("Input.dispatchKeyEvent", type="keyUp", **key)
        wait(lambda: browser.run("window.saved"), "speedscope exports")
        return browser.run("window.saved")

    @staticmethod
    def stacks(profile):
        """The stacks of each thread. A sample lasts until the next one of its thread."""
        frames, found = profile["shared"]["frames"], collections.Counter()
        for thread in profile["profiles"]:
            stack, at = [], thread["startValue"]
            for event in thread["events"]:
                if event["at"] > at:
                    found[(thread["name"], *stack)] += 1
                    at = event["at"]
                if event["type"] == "O":
                    stack.append(frames[event["frame"]]["name"])
                else:
                    stack.pop()
        return found

    @staticmethod
    def expected(sample):
        ids = [f" {kind}: {number}" for kind, number in zip(("pid", "tid"), sample.ids.split("/")) if number != "0"]
        frames = [f"??? ({file})" if name == "[unknown]" else name for name, file in reversed(sample.frames)]
        return ("".join((sample.comm, *ids)), *frames)


def end_with_parent():
    """A process that stays behind would be a part of all later recordings."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Firefox:
    name = "Firefox Profiler"

    def __init__(self, npm):
        self.npm = npm

    def missing(self):
        return self.npm.missing(FIREFOX)

    def start(self, process, *words):
        program = self.npm.path("@firefox-devtools/profiler-cli") / "dist" / "profiler-cli.js"
        environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(self.npm.folder / "session")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return process(["node", program, *words], env=environment, preexec_fn=end_with_parent, **pipes)

    def ask(self, *words):
        """The answer, or None: at first the daemon still reads the file."""
        done = self.start(subprocess.run, "thread", *words, "--json", "--session", "ours")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def shown(self, path):
        """Starts the daemon itself, because `load` gives it only half a second."""
        daemon = self.start(subprocess.Popen, "--daemon", path, "--session", "ours")
        try:
            wait(lambda: self.ask("list"), f"Firefox Profiler shows {path.name}")
            found = collections.Counter()
            for thread in self.ask("list", "--limit", "0")["threads"]:
                words = ("--include-idle", "--max-lines", "1000000", "--thread", thread["threadHandle"])
                tree = self.ask("samples-top-down", *words)["regularCallTree"]
                self.add(found, (f"{thread['name']} {thread['pid']}/{thread['tid']}",), tree)
            return found
        finally:
            daemon.terminate()
            daemon.communicate()

    def add(self, found, stack, node):
        for child in node.get("children", ()):
            below = (*stack, child["name"])
            if child["selfSamples"]:
                found[below] += child["selfSamples"]
            self.add(found, below, child)

    @staticmethod
    def expected(sample):
        return (f"{sample.comm} {sample.ids}", *names_of(sample))


class Stackcollapse:
    name = "stackcollapse-perf.pl"

    def __init__(self, folder=os.environ.get("FLAMEGRAPH", "")):
        self.script = pathlib.Path(folder) / "stackcollapse-perf.pl"

    def missing(self):
        if not self.script.is_file():
            return "$FLAMEGRAPH does not name a folder of FlameGraph"
        return None if shutil.which("perl") else "perl is not installed"

    def shown(self, path):
        done = subprocess.run(["perl", self.script, "--tid", path], capture_output=True, check=True, timeout=120)
        assert not done.stderr, done.stderr
        return collections.Counter(
            tuple(line.rpartition(" ")[0].split(";")) for line in done.stdout.decode().splitlines()
        )

    @staticmethod
    def expected(sample):
        """A line of a text is a thread's stack with the sum of its periods, so the fixture has no stack twice."""
        made = stackcollapse_of(sample)
        return (f"{made.comm}-{'?/0' if made.ids == '0/0' else made.ids}", *names_of(made))


class Flamescope:
    name = "Flamescope"

    def __init__(self, folder=os.environ.get("FLAMESCOPE", "")):
        self.folder = pathlib.Path(folder)
        self.python = None

    def missing(self):
        if not (self.folder / "app" / "perf").is_dir():
            return "$FLAMESCOPE does not name a folder of Flamescope"
        for python in FLAMESCOPE_PYTHONS:
            modules = [python, "-c", "import flask, magic, cachetools"]
            if shutil.which(python) and subprocess.run(modules, capture_output=True, check=False).returncode == 0:
                self.python = python
                return None
        return "python3-flask, python3-magic and python3-cachetools are not installed"

    def shown(self, path):
        alone = path.with_suffix(".alone")
        shutil.rmtree(alone, ignore_errors=True)
        alone.mkdir()
        shutil.copy(path, alone)
        command = [self.python, "-c", FLAMESCOPE_RUN, self.folder, alone]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, check=True, timeout=120)
        root, heat = json.loads(done.stdout)
        found = collections.Counter()
        self.add(found, (), root)
        # the heat map has the same samples
        assert sum(map(sum, heat["values"])) == sum(found.values()), "the heat map differs"
        return found

    def add(self, found, stack, node):
        for child in node["c"]:
            below = (*stack, child["n"])
            if child["v"]:
                found[below] += child["v"]
            self.add(found, below, child)

    @staticmethod
    def expected(sample):
        made = flamescope_of(sample)
        stack = (made.comm, *names_of(made))
        return None if IDLE.search(";".join(stack)) else stack


def wait(condition, what):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.1)
    raise RuntimeError(f"after at least five minutes not yet: {what}")


def tools(folder):
    npm = Npm(folder)
    return [Speedscope(npm), Firefox(npm), Stackcollapse(), Flamescope()]


def lost_in(tool, samples, path):
    """(samples and frames lost, lines that say which) of a text that has these samples."""
    expected = collections.Counter(stack for stack in map(tool.expected, samples) if stack)
    lost = expected - (shown := tool.shown(path))
    strange = shown - expected
    lines = [f"{tool.name} shows {sum(lost.values())} of {sum(expected.values())} samples otherwise"] if lost else []
    lines += [f"{tool.name} lacks {stack}" for stack in sorted(lost)[:5]]
    return lines + [f"{tool.name} shows {stack}" for stack in sorted(strange)[:5]]
