#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""`meson install` lays out the program and all that belongs to it, and each part finds the others.

Usage: tests/house/install.py PERFTAPE      (PERFTAPE lies in the build folder). TAP.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

PERFTAPE = pathlib.Path(sys.argv[1]).resolve()
BUILD = PERFTAPE.parent
PACKAGING = tap.TREE / "packaging"
# Links of the README that name a document. The others name folders and files of the source.
DOCUMENT = re.compile(r"\]\((docs/\w+\.md|\w+\.md)\)")
OPTION = re.compile(r"^  (?:-\w,|   ) --([\w-]+)(?: [A-Z]|$| )", re.MULTILINE)
SETTING = re.compile(r"^#([a-z-]+) = (.+)$", re.MULTILINE)


class Installed:
    """What `meson install` wrote, as paths below the prefix."""

    def __init__(self, top):
        command = ["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", top]
        self.done = subprocess.run(command, capture_output=True, text=True, check=False)
        options = json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())
        self.prefix = pathlib.Path({option["name"]: option["value"] for option in options}["prefix"])
        self.top = pathlib.Path(top)
        self.root = self.top / self.prefix.relative_to("/")

    def path(self, name):
        return self.root / name

    def text(self, name):
        return self.path(name).read_text() if self.path(name).is_file() else ""

    def outside(self, name):
        """An absolute path, below the folder that stands for the root."""
        return self.top / name.lstrip("/")

    def lacks(self, names):
        return [f"{name} is not installed" for name in names if not self.path(name).is_file()]


def pages():
    """The manual pages of the source, as they are installed."""
    return [f"share/man/man{page.suffix[1:]}/{page.name}" for page in (tap.TREE / "docs").rglob("perftape*.[1-8]")]


def wrong_files(installed):
    documents = [path.relative_to(tap.TREE) for path in (tap.TREE / "docs").glob("*.md")]
    names = [
        "bin/perftape",
        *pages(),
        "share/bash-completion/completions/perftape",
        "share/zsh/site-functions/_perftape",
        "share/fish/vendor_completions.d/perftape.fish",
        "lib/systemd/system/perftape.service",
        "lib/sysusers.d/perftape.conf",
        "lib/tmpfiles.d/perftape.conf",
        "share/doc/perftape/examples/perftape.conf",
        "share/doc/perftape/README.md",
        "share/doc/perftape/NEWS.md",
        *(f"share/doc/perftape/{document}" for document in documents),
    ]
    failed = [installed.done.stdout + installed.done.stderr] if installed.done.returncode else []
    return failed + installed.lacks(names)


def wrong_program(installed):
    """The installed program is the built one, and runs."""
    program = installed.path("bin/perftape")
    said = [
        subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        for path in (program, PERFTAPE)
    ]
    return [] if said[0] == said[1] != "" else [tap.wrong(said[1], said[0])]


def wrong_units(installed):
    """Each unit starts the program where the prefix has it. The rest of the unit is that of the tree."""
    for unit in PACKAGING.glob("*.service"):
        text = installed.text(f"lib/systemd/system/{unit.name}")
        programs = re.findall(r"^ExecStart=(\S+)", text, re.MULTILINE)
        if not programs:
            yield f"{unit.name}: has no ExecStart"
        for program in programs:
            if not os.access(installed.outside(program), os.X_OK):
                yield f"{unit.name}: {program} does not exist"
        there = text.replace(f"ExecStart={installed.prefix}/bin/", "ExecStart=/usr/bin/")
        if there != unit.read_text():
            yield f"{unit.name}: differs from packaging/{unit.name} in more than the prefix"


def wrong_folders(installed):
    """The folders of tmpfiles.d belong to the user of sysusers.d, and the unit may write there."""
    unit = installed.text("lib/systemd/system/perftape.service")
    users = set(re.findall(r"^u (\S+)", installed.text("lib/sysusers.d/perftape.conf"), re.MULTILINE))
    if set(re.findall(r"^User=(\S+)", unit, re.MULTILINE)) != users:
        yield f"the unit has another user than {users}"
    writable = " ".join(re.findall(r"^ReadWritePaths=(.*)$", unit, re.MULTILINE)).split()
    rows = re.findall(r"^d (\S+) \S+ (\S+)", installed.text("lib/tmpfiles.d/perftape.conf"), re.MULTILINE)
    if not rows:
        yield "tmpfiles.d has no folder"
    for folder, user in rows:
        if user not in users:
            yield f"{folder} belongs to {user}"
        if f"-{folder}" not in writable:
            yield f"the unit may not write to {folder}"


def refused(folder, section, line):
    """What the program says of a settings file with one line."""
    path = pathlib.Path(folder) / "one.conf"
    path.write_text(f"{section}\n{line}\n")
    command = [PERFTAPE, "--config", path, "segments", "--store", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def wrong_example(installed, folder):
    """The example has each setting that the program knows, and the program reads each of them."""
    top, _, record = installed.text("share/doc/perftape/examples/perftape.conf").partition("\n[record]\n")
    for section, text, command in (("", top, []), ("[record]", record, ["record"])):
        said = subprocess.run([PERFTAPE, *command, "--help"], capture_output=True, text=True, check=True).stdout
        options = said.partition("Options of every command")[0] if command else said
        names = [name for name, _ in SETTING.findall(text)]
        for name in OPTION.findall(options):
            known = "unknown setting" not in refused(folder, section, f"{name} = yes")
            if known != (name in names):
                yield f"{name}: " + ("has no line" if known else "is not a setting")
        for name, value in SETTING.findall(text):
            answer = refused(folder, section, f"{name} = {value}")
            if "one.conf" in answer:
                yield f"{name} = {value}: {answer}"
        if len(names) < 5:
            yield f"{section or 'every command'}: has only {names}"


def wrong_links(installed):
    """Links between installed documents lead somewhere."""
    for name in DOCUMENT.findall(installed.text("share/doc/perftape/README.md")):
        if not installed.path(f"share/doc/perftape/{name}").is_file():
            yield f"README.md: {name} is not installed"


def main():
    with tempfile.TemporaryDirectory() as top:
        installed = Installed(top)
        return tap.run(
            [
                ("the program, manual pages, completions, unit, user, folders and documents", wrong_files(installed)),
                ("the installed program runs", wrong_program(installed)),
                ("the units start the installed program", list(wrong_units(installed))),
                ("the unit's user owns its folders, and may write there", list(wrong_folders(installed))),
                ("the example has every setting, and the program reads it", list(wrong_example(installed, top))),
                ("links of the README lead to installed documents", list(wrong_links(installed))),
            ]
        )


if __name__ == "__main__":
    sys.exit(main())
