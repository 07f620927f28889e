#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual has exactly the commands and options of --help.

Usage: manual.py PERFTAPE
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

PERFTAPE = os.path.abspath(sys.argv[1])
OPTION = re.compile(r"^  (?:-(\w),|   ) --([\w-]+)(?: ([A-Z]+))?", re.MULTILINE)


def help_of(*command):
    return subprocess.run([PERFTAPE, *command, "--help"], check=True, capture_output=True, text=True).stdout


def options_in(text):
    return {name: (letter, argument) for letter, name, argument in OPTION.findall(text)}


def section(page, title):
    """The text between one heading and the next."""
    match = re.search(rf'^\.S[HS] "?{re.escape(title)}"?\n(.*?)(?=^\.S[HS] |\Z)', page, re.MULTILINE | re.DOTALL)
    return match[1].replace("\\-", "-") if match else ""


def compare(where, page_text, options):
    there = set(re.findall(r"--([\w-]+)", page_text))
    wrongs = [f"{where}: --{name} is not in the man page" for name in sorted(set(options) - there)]
    wrongs += [f"{where}: the man page has --{name}, the program does not" for name in sorted(there - set(options))]
    for name, (letter, argument) in options.items():
        if letter and not re.search(rf"-{letter} .*--{name}", page_text):
            wrongs.append(f"{where}: -{letter} is not beside --{name}")
        if argument and not re.search(rf"--{name} .*{argument}", page_text):
            wrongs.append(f"{where}: --{name} is not shown with {argument}")
    return wrongs


def main():
    page = (tap.TREE / "docs" / "perftape.1").read_text()
    top = help_of()
    commands = re.findall(r"^  (\w+) {2,}\S", top, re.MULTILINE)
    shared = options_in(top)
    checks = [("there are commands", [] if len(commands) >= 3 else [top])]
    for command in commands:
        own = {name: rest for name, rest in options_in(help_of(command)).items() if name not in shared}
        text = section(page, command)
        checks.append((f"the manual of {command}", compare(command, text, own) if text else [f"no section {command}"]))
    checks.append(("the options of every command", compare("all", section(page, "OPTIONS OF EVERY COMMAND"), shared)))
    sections = set(re.findall(r"^\.SS (\w+)$", page, re.MULTILINE))
    checks.append(("the manual names only commands that exist", sorted(sections - set(commands))))
    readme = (tap.TREE / "README.md").read_text()
    known = set(shared).union(*(options_in(help_of(command)) for command in commands))
    without_tests = re.sub(r"`\./test [^`]*`", "", readme)
    asked = set(re.findall(r"(?<![\w-])--([a-z][\w-]+)", without_tests))
    checks.append(("the README names only options that exist", sorted(asked - known)))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
