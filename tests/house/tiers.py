#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How ./test chooses, runs and counts tests: its modules, with made-up tests."""

import contextlib
import io
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import plan  # noqa: E402
import runner  # noqa: E402
import tap  # noqa: E402

RUN_TESTS = tap.TREE / "tests" / "tools" / "run-tests.py"
NOISE = tap.TREE / "bench" / "noise"
WAIT = 60  # seconds after which anything counts as hanging

# A file of live tests, as plan.py asks it: one function with a promise, one without, one for --long.
LIVE_FILE = """#!/bin/sh
cat <<'END'
{"name": "shows_it", "title": "a", "promise": "p", "broken_by": "fault", "alone": false, "also": [], "long": false}
{"name": "alone", "title": "b", "promise": "", "broken_by": "", "alone": true, "also": ["build-tsan"], "long": false}
{"name": "takes_long", "title": "c", "promise": "", "broken_by": "", "alone": false, "also": [], "long": true}
END
"""


def same(what, seen, expected):
    return [] if seen == expected else [tap.wrong(f"{what}: {expected}", seen)]


def wait_for(condition):
    end = time.monotonic() + WAIT
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def is_gone(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


# ---- how the output of a test is read ----


def count():
    cases = {
        "1..2\nok 1 - a\nok 2 - b\n": (2, 0, 0),
        "1..2\nok 1 - a\nnot ok 2 - b\n": (1, 1, 0),
        "1..2\nok 1 - a # SKIP it takes root\nok 2 - b\n": (1, 0, 1),
        "1..2\nok 1 - a\nnot ok 2 - b # TODO later\n": (2, 0, 0),
        "ok 1 - the plan comes last\n1..1\n": (1, 0, 0),
        "# a note\n1..1\nok 1 - with # a note\n": (1, 0, 0),
        # no plan, fewer or more results than planned, nothing planned, nothing at all
        "ok 1 - a\n": (1, 1, 0),
        "1..3\nok 1 - a\n": (1, 1, 0),
        "1..1\nok 1 - a\nok 2 - b\n": (2, 1, 0),
        "1..0\n": (0, 1, 0),
        "": (0, 1, 0),
        "Bail out! no corpus folder\n": (0, 1, 0),
    }
    wrongs = [wrong for text, counts in cases.items() for wrong in same(repr(text), runner.count(text, ""), counts)]
    return wrongs + same("a test that died", runner.count("1..1\nok 1 - a\n", "it died of signal 11"), (1, 1, 0))


def failures():
    text = (
        "1..4\n# expected: a\n# seen: b\nnot ok 1 - both lines\n"
        "# expected: first\n# seen: this\n# expected: second\n# seen: that\nnot ok 2 - two checks\n"
        "# a note\n# another\nnot ok 3 - only notes\n# expected: x\n# seen: y\nok 4 - passes all the same\n"
    )
    expected = [
        ("both lines", "a", "b"),
        ("two checks", "first", "this"),
        ("only notes", "only notes", "a note / another"),
    ]
    return same("failures", runner.failures(text), expected)


# ---- how a test is run ----


def unit(folder, command, **more):
    timeout = more.pop("timeout", WAIT)
    return plan.Unit("made up", "build-dev", ["sh", "-c", command], folder, {}, timeout, set(), set(), **more)


def run(made):
    """Runs a unit. Returns its result, and the text that the user sees."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        result = runner.Runner([made]).run(made)
        runner.report(result)
    return result, shown.getvalue()


def outcomes(folder):
    cases = {
        "echo 1..1; echo ok 1 - a": ((1, 0, 0), ""),
        "echo 1..1; echo not ok 1 - a; exit 1": ((0, 1, 0), ""),
        "echo 1..1; echo ok 1 - a; exit 1": ((1, 1, 0), "it ended with 1"),
        "echo 1..1; echo ok 1 - a; exit 23": ((1, 1, 0), "it ended with 23"),
        "echo 1..2; echo ok 1 - a; kill -SEGV $$": ((1, 1, 0), "it died of signal 11"),
        "echo 1..2; echo ok 1 - a": ((1, 1, 0), ""),
        "echo ok 1 - a": ((1, 1, 0), ""),
        "printf '1..1\\nok 1 - \\377\\n'": ((1, 0, 0), ""),
    }
    wrongs = []
    for command, expected in cases.items():
        result, _ = run(unit(folder, command))
        wrongs += same(command, (result.counts, result.outcome), expected)
        wrongs += same(f"{command}: its log", result.unit.log().read_text(), result.output)
    return wrongs


def environment(folder):
    made = unit(folder, 'echo 1..1; echo "ok 1 - $PERFTAPE_TIER in $PWD"; cat')
    made.environment["PERFTAPE_TIER"] = "quick"
    result, _ = run(made)
    return same("what it prints", result.output, f"1..1\nok 1 - quick in {folder}\n")


def order(folder):
    """Long tests start first: those that took long before, and new ones whose declaration says so."""
    units = []
    for name, took, priority in (("new", None, 0), ("short", 1, 1), ("long", 90, 0), ("declared", None, 1)):
        made = unit(folder, "true", priority=priority)
        made.name = name
        made.log().parent.mkdir(exist_ok=True)
        if took is not None:
            made.log().with_suffix(".took").write_text(f"{took}\n")
        units.append(made)
    run(units[0])
    known = units[0].log().with_suffix(".took").exists()
    units[0].log().with_suffix(".took").unlink()
    ordered = [made.name for made in sorted(units, key=runner.rank)]
    return same("in order", ordered, ["declared", "long", "short", "new"]) + same("a run leaves its time", known, True)


class Hanging(plan.Unit):
    """A unit whose time is over once its child runs, however busy the machine is."""

    @property
    def timeout(self):
        wait_for(lambda: number_in(self.folder / "child"))
        return 0

    @timeout.setter
    def timeout(self, _):
        pass


def number_in(path):
    """The number that a shell wrote to the file; None while it is incomplete."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None


def timeouts(folder):
    """A test that hangs ends with everything that it started, even if it ignores the signal."""
    child = folder / "child"
    cases = {
        "it sleeps": "echo 1..1; sleep 600 & echo $! >child; wait",
        "it ignores SIGTERM": "trap '' TERM; echo 1..1; sleep 600 & echo $! >child; wait",
        "its child has a session": "echo 1..1; setsid sleep 600 & echo $! >child; wait",
    }
    wrongs = []
    before, runner.PATIENCE = runner.PATIENCE, 0.5
    for name, command in cases.items():
        made = unit(folder, command)
        result, _ = run(Hanging(**vars(made)))
        wrongs += same(name, (result.counts, result.outcome), ((0, 1, 0), "it takes longer than 0 s"))
        wrongs += same(f"{name}: what it printed", result.output, "1..1\n")
        pid = number_in(child)
        child.unlink()
        if "session" in name:
            os.kill(pid, signal.SIGKILL)
        wrongs += same(f"{name}: its child is gone", wait_for(lambda pid=pid: is_gone(pid)), True)
    runner.PATIENCE = before
    return wrongs


def mutations(folder):
    cases = {
        "echo 1..1; echo not ok 1 - a; exit 1": (1, 0, 0),
        "echo 1..1; echo ok 1 - a": (0, 1, 0),
        "echo 1..1; echo not ok 1 - a; kill -SEGV $$": (0, 1, 0),
        "echo '1..1'; echo 'ok 1 - a # SKIP it takes root'": (0, 0, 1),
    }
    wrongs = []
    for command, counts in cases.items():
        result, shown = run(unit(folder, command, must_fail=True))
        wrongs += same(command, result.counts, counts)
        wrongs += same(f"{command}: is shown as failed", "FAILED: made up" in shown, bool(counts[1]))
    return wrongs


def three_lines(folder):
    command = "echo 1..2; echo ok 1 - a; echo '# expected: bread'; echo '# seen: cheese'; echo not ok 2 - b; exit 1"
    _, shown = run(unit(folder, command))
    lines = shown.splitlines()[-4:]
    patterns = (
        r"FAILED: made up: b \(all it said: .*/test-logs/made-up.log\)",
        "  expected  bread",
        "  seen      cheese",
        "  noise     in .* late.*",
    )
    wrongs = [] if len(lines) == 4 else [tap.wrong("four lines", shown)]
    wrongs += [tap.wrong(want, line) for want, line in zip(patterns, lines) if not re.fullmatch(want, line)]
    _, shown = run(unit(folder, "echo 1..2; echo ok 1 - a; kill -SEGV $$"))
    died = "  expected  it runs to its end\n  seen      it died of signal 11"
    wrongs += same("a test that died", died in shown, True)
    _, shown = run(unit(folder, "echo 1..2; echo ok 1 - a"))
    wrongs += same("a result that is missing", "  expected  as many results as the test planned" in shown, True)
    _, shown = run(unit(folder, "echo 1..1; echo 'ok 1 - a # SKIP it takes root'"))
    return wrongs + same("a skipped test", "SKIPPED: made up, ok 1 - a # SKIP it takes root" in shown, True)


# ---- which tests run ----


def words():
    cases = (
        (("unit faults", {"unit"}, []), True),
        (("unit faults", {"unit"}, ["fault"]), True),
        (("unit faults", {"unit"}, ["live", "unit"]), True),
        (("unit faults", {"unit"}, ["live"]), False),
    )
    return [wrong for asked, answer in cases for wrong in same(str(asked), plan.is_asked_for(*asked), answer)]


def belongs():
    """Each case is (the tier, whether the test is long, whether it is quick): whether it runs."""
    cases = {
        ("quick", False, True): True,
        ("quick", False, False): False,
        ("all", False, True): True,
        ("all", False, False): True,
        ("all", True, False): False,
        ("quick", True, True): False,
        ("long", True, False): True,
        ("long", False, True): False,
    }
    return [wrong for asked, answer in cases.items() for wrong in same(str(asked), plan.belongs(*asked), answer)]


def declare(tree, build, tests):
    """A build folder as meson leaves it, in which each (name, suites, command) is a test. ninja has nothing to do."""
    folder = tree / build
    (folder / "meson-info").mkdir(parents=True)
    (folder / "build.ninja").write_text("build build.ninja: phony\nbuild a-target: phony\n")
    rows = [
        {
            "name": name,
            "suite": [f"perftape:{suite}" for suite in suites],
            "cmd": command,
            "env": {},
            "timeout": WAIT,
            "is_parallel": "live" not in suites,
            "priority": 0,
            "depends": ["an-id"],
        }
        for name, suites, command in tests
    ]
    (folder / "meson-info" / "intro-tests.json").write_text(json.dumps(rows))
    targets = [{"id": "an-id", "filename": [str(folder / "a-target")]}]
    (folder / "meson-info" / "intro-targets.json").write_text(json.dumps(targets))


def made_tree(tree, command=("true",)):
    live = tree / "live.sh"
    live.write_text(LIVE_FILE)
    live.chmod(0o755)
    tests = [
        ("unit a", ["unit"], list(command)),
        ("unit b", ["unit", "threads", "waits"], ["true"]),
        ("unit c", ["unit", "slow"], ["true"]),
        ("house d", ["house", "plain"], ["true"]),
        ("unit e", ["unit", "long"], ["true"]),
        ("live f", ["live", "functions"], [str(live)]),
    ]
    for build in plan.BUILDS:
        declare(tree, build, tests)


def tiers(tree):
    made_tree(tree)
    expected = {
        ("quick", ""): ["unit a dev", "unit b dev", "live f: shows it dev"],
        ("all", ""): [
            *("unit a dev", "unit b dev", "unit c dev", "live f: shows it dev", "live f: alone dev"),
            *("unit b tsan", "live f: alone tsan", "house d build"),
        ],
        ("long", ""): ["unit e dev", "live f: shows it, broken by fault dev", "live f: takes long dev"],
        ("all", "threads"): ["unit b dev", "unit b tsan"],
        ("long", "mutations"): ["live f: shows it, broken by fault dev"],
    }
    wrongs = []
    for (tier, word), names in expected.items():
        units = [
            made
            for build in plan.builds_of(tier)
            for made in plan.units_of(tree, build, tier, [word] if word else [])
        ]
        seen = [f"{made.name} {made.build.removeprefix('build-')}" for made in units]
        wrongs += same(f"{tier} {word}", seen, names)
        wrongs += same(f"{tier} {word}: the tier", {made.environment["PERFTAPE_TIER"] for made in units}, {tier})
    units = {made.name: made for made in plan.units_of(tree, "build-dev", "all", [])}
    wrongs += same("what needs the machine alone", [name for name in units if units[name].alone], ["live f: alone"])
    waits = [name for name in units if units[name].waits]
    wrongs += same("what waits", waits, ["unit b", "live f: shows it"])
    wrongs += same("what ninja makes", plan.targets(units.values()), {"build-dev": {"a-target"}})
    (mutated,) = plan.units_of(tree, "build-dev", "long", ["mutations"])
    wrongs += same("must fail", (mutated.must_fail, mutated.environment["PERFTAPE_MUTATION"]), (True, "fault"))
    return wrongs


# ---- all of it together ----


def run_tests(tree, *asked):
    command = [sys.executable, RUN_TESTS, tree, *asked]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, stdin=subprocess.DEVNULL)


def whole(tree):
    """The exit code and the last line, with tests that pass and fail, and none."""
    made_tree(tree, ["sh", "-c", "echo 1..1; echo '# expected: a'; echo '# seen: b'; echo not ok 1 - x; exit 1"])
    done = run_tests(tree, "unit a")
    wrongs = same("one that fails", (done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))
    wrongs += same("its lines", "FAILED: unit a: x" in done.stdout and "  seen      b" in done.stdout, True)
    done = run_tests(tree, "nothing like that")
    wrongs += same("none", (done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 0 failed"))
    done = run_tests(tree, "--list", "unit a")
    wrongs += same("--list", (done.returncode, done.stdout), (0, "unit a  (build-dev)\n"))
    done = run_tests(tree, "unit b", "--list", "unit a")
    names = ["unit a  (build-dev)", "unit b  (build-dev)", "unit b  (build-tsan)"]
    wrongs += same("--list between words", done.stdout.splitlines(), names)
    done = run_tests(tree, "--list", "nothing like that")
    wrongs += same("--list of none", (done.returncode, done.stdout), (1, ""))
    (tree / "live.sh").write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    done = run_tests(tree, "unit b")
    wrongs += same("a live file that lists nothing", done.stdout.splitlines()[-1], "0 passed, 3 failed")
    return wrongs + same("why", "it is broken" in done.stdout, True)


def passing(tree):
    made_tree(tree, ["sh", "-c", "echo 1..2; echo ok 1 - x; echo 'ok 2 - y # SKIP it takes a printer'"])
    done = run_tests(tree, "unit a")
    wrongs = same("exit code", done.returncode, 0)
    return wrongs + same("the last line", done.stdout.splitlines()[-1], "1 passed, 0 failed, 1 skipped")


def broken_build(tree):
    made_tree(tree)
    rule = "rule fail\n command = echo it does not compile; false\nbuild a-target: fail\nbuild build.ninja: phony\n"
    (tree / "build-dev" / "build.ninja").write_text(rule)
    done = run_tests(tree, "unit a")
    wrongs = same("exit code, last line", (done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))
    said = "it does not compile" in done.stdout and "FAILED: build-dev/ does not build" in done.stdout
    return wrongs + same("why", said, True)


def interrupted(tree, on_terminal):
    """Ctrl-C, or a signal where there is no terminal, ends everything: running tests restore what they
    changed, and waiting tests do not start."""
    script = "trap 'touch cleaned; exit 1' TERM; sleep 600 & echo $! >sleeper; echo 1..1; wait"
    made_tree(tree, ["sh", "-c", script])
    sleeper, seen = tree / "build-dev" / "sleeper", b""
    command = [sys.executable, str(RUN_TESTS), str(tree), "unit"]
    if on_terminal:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(command[0], command)
    else:
        output = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        pid, terminal = output.pid, output.stdout.fileno()
    wait_for(lambda: number_in(sleeper))
    if on_terminal:
        os.write(terminal, b"\x03")
    else:
        os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(OSError):  # the terminal is gone
        while piece := os.read(terminal, 4096):
            seen += piece
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    wrongs = same("exit code", code, 130)
    wrongs += same("it says so", b"stopped" in seen and b"Traceback" not in seen, True)
    wrongs += same("the line with what runs", b"running: unit a" in seen, on_terminal)
    wrongs += same("the test set back what it changed", (tree / "build-dev" / "cleaned").exists(), True)
    gone = wait_for(lambda: is_gone(number_in(sleeper)))
    wrongs += same("what the test started is gone", gone, True)
    return wrongs + ([tap.wrong("no more", seen.decode())] if wrongs else [])


def in_background(tree):
    """A shell ignores SIGINT for what it starts in the background. Tests do not inherit that."""
    script = "grep SigIgn /proc/self/status >ignored; echo 1..1; echo ok 1"
    made_tree(tree, ["sh", "-c", script])
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, str(RUN_TESTS), str(tree), "unit"]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT)
    ignored = int((tree / "build-dev" / "ignored").read_text().split()[1], 16)
    return same("a test ignores SIGINT", bool(ignored & 1 << signal.SIGINT - 1), False)


# ---- bench/noise ----


def children_of(pid):
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()]


def noise_ends():
    """bench/noise passes on the command's exit code. A signal ends bench/noise and its children."""
    done = subprocess.run([NOISE, "--", "sh", "-c", "exit 7"], capture_output=True, timeout=WAIT)
    wrongs = same("the exit code of the command", done.returncode, 7)
    done = subprocess.run([NOISE, "--", "sh", "-c", "kill -9 $$"], capture_output=True, timeout=WAIT)
    wrongs += same("that of one that was killed", done.returncode, 137)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([NOISE], stderr=subprocess.DEVNULL)
        makers = 2 * len(os.sched_getaffinity(0)) + 2
        wait_for(lambda process=process: len(children_of(process.pid)) == makers)
        started = children_of(process.pid)
        process.send_signal(number)
        process.wait(WAIT)
        gone = wait_for(lambda started=started: all(map(is_gone, started)))
        wrongs += same(f"after {number.name}", (len(started), gone), (makers, True))
    return wrongs


def in_folder(function, *more):
    with tempfile.TemporaryDirectory(prefix="perftape tiers ") as folder:
        return function(pathlib.Path(folder).resolve(), *more)


def main():
    checks = [
        ("what a test printed is counted", count()),
        ("what failed, and why", failures()),
        ("how a test ends", in_folder(outcomes)),
        ("a test has its environment, its folder, and no input", in_folder(environment)),
        ("long tests start first", in_folder(order)),
        ("a test that takes too long", in_folder(timeouts)),
        ("a test under its mutation", in_folder(mutations)),
        ("three lines of each failure", in_folder(three_lines)),
        ("words select tests", words()),
        ("tests belong to tiers", belongs()),
        ("each tier has its units, in their builds", in_folder(tiers)),
        ("./test with a test that fails, and with none", in_folder(whole)),
        ("./test with a test that passes", in_folder(passing)),
        ("./test where a build fails", in_folder(broken_build)),
        ("Ctrl-C ends everything", in_folder(interrupted, True)),
        ("a signal ends everything, without a terminal", in_folder(interrupted, False)),
        ("SIGINT that a shell ignores", in_folder(in_background)),
    ]
    if os.environ.get("PERFTAPE_TIER") != "quick":  # it takes a gigabyte of disk space, and disturbs
        checks.append(("bench/noise ends with its process", noise_ends()))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
