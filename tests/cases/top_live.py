#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""`top --live` on a real terminal: what it draws, what its keys do, and how it leaves the terminal.

Usage: top_live.py PERFTAPE FIXTURE
"""

import fcntl
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "tools"))
import cases  # noqa: E402
import tap  # noqa: E402
import terminal  # noqa: E402
from screens import ENTER, LEAVE, Screen  # noqa: E402

def expect(what, condition, screen):
    return [] if condition else [f"expected {what}, seen: {screen.data[-2000:]!r}"]


def check_keys(perftape, folder):
    screen = Screen(perftape, folder, terminal.environment(folder), "--store", "spiky")
    wrongs = expect("the alternate screen, and all tables", screen.has("threads of one name"), screen)
    wrongs += expect("that no recorder runs", screen.wait("no recorder runs"), screen)
    wrongs += expect("the keys in the last line", screen.has("q quit"), screen)
    wrongs += expect("functions after f", screen.press("f", "by: function"), screen)
    wrongs += expect("threads after the right arrow", screen.press("\033[C", "by: thread"), screen)
    wrongs += expect("functions after the left arrow", screen.press("\033[D", "by: function"), screen)
    wrongs += expect("pods after p", screen.press("p", "by: pod"), screen)
    wrongs += expect("cgroups after c", screen.press("c", "by: cgroup"), screen)
    wrongs += expect("call paths after a", screen.press("a", "function < its callers"), screen)
    wrongs += expect("all tables after n", screen.press("n", "by: name"), screen)
    wrongs += expect("another order after s", screen.press("s", "sort: busiest"), screen)
    wrongs += expect("the filter's text after /", screen.press("/", "only rows with: _"), screen)
    wrongs += expect("what is typed, and no q as a command", screen.press("zq", "only rows with: zq_"), screen)
    wrongs += expect("that no row has this text", screen.has("no row contains 'zq'; Esc shows all rows"), screen)
    wrongs += expect("the filter in the last line", screen.press("\r", "filter: zq"), screen)
    wrongs += expect("no filter after Escape", screen.press("\033", "filter  "), screen)
    wrongs += expect("that it pauses", screen.press(" ", "GO ON"), screen)
    wrongs += expect("the keys after h", screen.press("h", "another grouping"), screen)
    os.write(screen.ours, b"q")
    code, left = screen.end()
    return wrongs + left + expect("exit code 0", code == 0, screen)


def check_signal(perftape, folder, number):
    screen = Screen(perftape, folder, terminal.environment(folder), "--store", "spiky", "--by", "thread")
    wrongs = expect("a screen", screen.has("q quit"), screen)
    screen.program.send_signal(number)
    code, left = screen.end()
    return wrongs + left + expect("an end by the signal", code == -number, screen)


def check_suspended(perftape, folder):
    screen = Screen(perftape, folder, terminal.environment(folder), "--store", "spiky")
    wrongs = expect("a screen", screen.has("q quit"), screen)
    screen.program.send_signal(signal.SIGTSTP)
    wrongs += expect("that it leaves the screen", screen.has(LEAVE.decode()), screen)
    wrongs += expect("that it stops", screen.stops(), screen)
    wrongs += expect("the settings from before", termios.tcgetattr(screen.theirs) == screen.before, screen)
    screen.data = b""
    screen.program.send_signal(signal.SIGCONT)
    wrongs += expect("the screen again", screen.has(ENTER.decode()) and screen.has("q quit"), screen)
    os.write(screen.ours, b"q")
    code, left = screen.end()
    return wrongs + left + expect("exit code 0", code == 0, screen)


def check_resized(perftape, folder):
    """After a resize, all lines fit the terminal's width and height."""
    screen = Screen(perftape, folder, terminal.environment(folder), "--store", "spiky")
    wrongs = expect("a screen", screen.has("q quit"), screen)
    fcntl.ioctl(screen.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 50, 0, 0))
    screen.program.send_signal(signal.SIGWINCH)
    wrongs += expect("the last line of the small terminal", screen.wait("\033[12;1H"), screen)
    frame = screen.data.split(b"\033[H")[-1].split(b"\033[12;1H")[0]
    lines = re.sub(r"\033\[[0-9;]*[mKJ]", "", frame.decode(errors="replace")).split("\n")
    wrongs += expect("lines of at most 50 columns", all(len(line.rstrip("\r")) <= 50 for line in lines), screen)
    wrongs += expect("at most 11 lines above it", len(lines) <= 12, screen)
    os.write(screen.ours, b"q")
    code, left = screen.end()
    return wrongs + left + expect("exit code 0", code == 0, screen)


def check_pipe(perftape, folder):
    done = subprocess.run(
        [perftape, "top", "--live", "--store", "spiky"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=terminal.environment(folder),
        cwd=folder,
    )
    right = done.returncode == 2 and b"--live needs a terminal" in done.stderr and not done.stdout
    return [] if right else [f"seen: {done}"]


def checks(perftape, fixture, folder):
    cases.put_logs(folder)
    cases.put_stores(fixture, folder)
    yield "the keys of top --live", check_keys(perftape, folder)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        yield f"top --live ends by {number.name}", check_signal(perftape, folder, number)
    yield "top --live is suspended and goes on", check_suspended(perftape, folder)
    yield "top --live on a terminal that becomes smaller", check_resized(perftape, folder)
    yield "top --live in a pipe", check_pipe(perftape, folder)


def main():
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        programs = [os.path.abspath(path) for path in sys.argv[1:3]]
        return tap.run(list(checks(*programs, folder)))


if __name__ == "__main__":
    sys.exit(main())
