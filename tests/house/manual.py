#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual has exactly the commands, options and settings of --help, and mandoc finds nothing wrong with it.

Usage: manual.py PERFTAPE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

PERFTAPE = os.path.abspath(sys.argv[1])
MANUAL = tap.TREE / "docs" / "man"
CONF = tap.TREE / "cli" / "options" / "conf.c"
OPTION = re.compile(r"^  (?:-(\w),|   ) --([\w-]+)(?: ([A-Z]+))?", re.MULTILINE)


def help_of(*command):
    return subprocess.run([PERFTAPE, *command, "--help"], check=True, capture_output=True, text=True).stdout


def options_in(text):
    return {name: (letter, argument) for letter, name, argument in OPTION.findall(text)}


def page(name):
    path = MANUAL / name
    return path.read_text().replace("\\-", "-") if path.exists() else ""


def section(text, title):
    """The text between one heading and the next."""
    match = re.search(rf'^\.S[HS] "?{re.escape(title)}"?\n(.*?)(?=^\.S[HS] |\Z)', text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


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


def settings(shared, own):
    """The names that a file of settings may have: all options but those that conf.c leaves out."""
    left_out = re.search(r"not_settings\[\] = \{(.*?)\}", CONF.read_text(), re.DOTALL)[1]
    return (set(shared) | set(own)) - set(re.findall(r'"([\w-]+)"', left_out))


def compare_settings(expected):
    there = set(re.findall(r"^\.BR ([\w-]+) \" = \"", page("perftape.conf.5"), re.MULTILINE))
    wrongs = [f"{name} is not in perftape.conf(5)" for name in sorted(expected - there)]
    return wrongs + [f"perftape.conf(5) has {name}, which is not a setting" for name in sorted(there - expected)]


def referred():
    """Pages name only pages that exist; those of perf are elsewhere."""
    there = {path.name for path in MANUAL.iterdir()}
    for path in sorted(MANUAL.glob("*.[0-9]")):
        for name, number in re.findall(r"^\.BR (perftape[\w.-]*) \((\d)\)", page(path.name), re.MULTILINE):
            if f"{name}.{number}" not in there:
                yield f"{path.name}: {name}({number}) does not exist"


def lint():
    if not shutil.which("mandoc"):
        return ["mandoc is not installed"]
    pages = sorted(map(str, MANUAL.glob("*.[0-9]")))
    done = subprocess.run(["mandoc", "-T", "lint", *pages], check=False, capture_output=True, text=True)
    return done.stdout.splitlines()


def installed():
    """The pages that meson.build does not install, or installs though they do not exist."""
    named = set(re.findall(r"'([\w.-]+\.\d)'", (MANUAL / "meson.build").read_text()))
    return sorted(named ^ {path.name for path in MANUAL.glob("*.[0-9]")})


def main():
    top = help_of()
    commands = re.findall(r"^  (\w+) {2,}\S", top, re.MULTILINE)
    shared = options_in(top)
    checks = [("there are commands", [] if len(commands) >= 3 else [top])]
    known = dict(shared)
    for command in commands:
        own = {name: rest for name, rest in options_in(help_of(command)).items() if name not in shared}
        known |= own
        if command == "record":
            checks.append(("perftape.conf(5) has all settings", compare_settings(settings(shared, own))))
        text = page(f"perftape-{command}.1")
        options = section(text, "OPTIONS")
        wrongs = compare(command, options, own) if text else [f"no page perftape-{command}.1"]
        checks.append((f"the manual of {command}", wrongs))
    overview = page("perftape.1")
    everywhere = section(overview, "OPTIONS OF EVERY COMMAND")
    checks.append(("the options of every command", compare("all", everywhere, shared)))
    listed = re.findall(r"^\.BR perftape-(\w+) \(1\)", section(overview, "COMMANDS"), re.MULTILINE)
    checks.append(("perftape(1) lists the commands of --help", sorted(set(listed) ^ set(commands))))
    named = {path.name.removeprefix("perftape-").removesuffix(".1") for path in MANUAL.glob("perftape-*.1")}
    checks.append(("each page is of a command that exists", sorted(named - set(commands))))
    checks.append(("pages name pages that exist", list(referred())))
    checks.append(("mandoc finds nothing wrong", lint()))
    checks.append(("all pages are installed", installed()))
    readme = (tap.TREE / "README.md").read_text()
    without_tests = re.sub(r"`(?:\./test|systemctl) [^`]*`", "", readme)
    asked = set(re.findall(r"(?<![\w-])--([a-z][\w-]+)", without_tests))
    checks.append(("the README names only options that exist", sorted(asked - set(known))))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
