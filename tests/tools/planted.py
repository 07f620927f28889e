# SPDX-License-Identifier: GPL-2.0-only
"""A copy of the tree with faults planted in it, and its build.

All faults are in one build. Code checks whether the number of a fault is switched on (tests/tools/planted.c).
"""

import hashlib
import random
import re
import shutil
import subprocess

import c_faults
import tap

NOT_PRODUCT = ("tests", "bench", "docs", "packaging")
# This file only plays faults for live tests, so it is not tested as a part of the product.
NOT_PLANTED = ("base/mutation.h",)
ROUNDS = 8
ERROR = re.compile(r"^(?:\.\./)*(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)", re.MULTILINE)


def sources(tree):
    """The C files of the product, by name."""
    found = {}
    for path in tap.files(tree):
        product = len(path.parts) > 1 and path.parts[0] not in NOT_PRODUCT
        if product and path.suffix in (".c", ".h") and str(path) not in NOT_PLANTED:
            found[str(path)] = c_faults.Source(str(path), (tree / path).read_text())
    return found


def choose(files, seed, words):
    """All places of some files in an order that depends on the seed, each with one of its possible faults. The number
    of a fault is its rank in this order."""
    names = [
        name
        for name in sorted(files)
        if not words or any(name == word or name.startswith(word.rstrip("/") + "/") for word in words)
    ]
    places = [place for name in names for place in c_faults.Finder(files[name]).places()]
    dice = random.Random(seed)
    dice.shuffle(places)
    return [
        c_faults.fault(files[place.file], number, place, dice.choice(place.choices))
        for number, place in enumerate(places, 1)
    ]


def equivalents(tree):
    """The rows of equivalent-mutants.tsv: (file, where, before, after, reason)."""
    lines = (tree / "tests" / "tools" / "equivalent-mutants.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def put(path, data, mode=None):
    """Writes a file only if it changes, so that ninja builds no more than it must."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if mode is not None:
        path.chmod(mode)


class Copy:
    """A copy in a folder. The folder stays, so that the next copy builds less."""

    def __init__(self, tree, folder, say):
        self.tree, self.folder, self.say = tree, folder, say
        self.build = folder / "build-dev"

    def write(self, files, faults):
        """Copies the tree, with the faults in it."""
        names = tap.files(self.tree)
        planted = {
            name: [fault for fault in faults if fault.place.file == name]
            for name in {fault.place.file for fault in faults}
        }
        for path in names:
            source = self.tree / path
            data = source.read_bytes()
            if str(path) in planted:
                data = c_faults.Planter(files[str(path)], planted[str(path)]).text().encode()
            put(self.folder / path, self.adapted(str(path), data), source.stat().st_mode & 0o777)
        put(self.folder / "base" / "planted.c", (self.tree / "tests" / "tools" / "planted.c").read_bytes())
        wanted = {self.folder / path for path in names} | {self.folder / "base" / "planted.c"}
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in wanted and not tap.ignored(path.relative_to(self.folder)):
                path.unlink()

    def adapted(self, name, data):
        """Adds planted() to a library that all others use, and keeps warnings from being errors."""
        if name == "base/meson.build":
            text, count = re.subn(r"(static_library\(\s*'base',)", r"\1 'planted.c',", data.decode())
            if count != 1:
                raise SystemExit(
                    "mutate: base/meson.build: the library 'base' is not found; adapt tests/tools/planted.py"
                )
            return text.encode()
        if name == "packaging/dev.ini":
            return data.replace(b"werror = true", b"werror = false")
        return data

    def set_up(self):
        """Configures the build. Takes over libperf, whose build takes longest."""
        if (self.build / "build.ninja").exists():
            return
        self.build.mkdir(parents=True, exist_ok=True)
        for made in ("build", "build-dev"):
            if (self.tree / made / "libperf" / "stamp").exists() and not (self.build / "libperf").exists():
                shutil.copytree(self.tree / made / "libperf", self.build / "libperf")
        command = ["meson", "setup", self.build, self.folder, "--native-file", self.folder / "packaging" / "dev.ini"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"mutate: meson cannot configure {self.build}:\n{done.stdout[-4000:]}{done.stderr}")

    def ninja(self, *words):
        return subprocess.run(
            ["ninja", "-C", self.build, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    def plant(self, files, faults, targets):
        """Builds the copy with the faults that compile, and returns these faults. `targets` says
        what to build once the copy is configured."""
        for _ in range(ROUNDS):
            self.write(files, faults)
            self.set_up()
            self.ninja("build.ninja")
            done = self.ninja("-k", "0", "--quiet", *targets())
            if done.returncode == 0:
                return faults
            bad = self.refused(done.stdout + done.stderr, faults)
            if not bad:
                raise SystemExit(
                    f"mutate: {self.build} does not build, and not for a fault:\n{done.stdout[-4000:]}{done.stderr}"
                )
            self.say(f"{len(bad)} faults do not compile")
            faults = [fault for fault in faults if fault.number not in bad]
        raise SystemExit(f"mutate: after {ROUNDS} rounds some faults still do not compile")

    def refused(self, output, faults):
        """The numbers of the faults at the lines that the compiler complains of."""
        bad = set()
        for match in ERROR.finditer(output):
            file, line = match["file"].removeprefix(f"{self.folder}/"), int(match["line"])
            here = [fault for fault in faults if fault.place.file == file]
            there = [fault.number for fault in here if fault.place.line <= line <= fault.place.last_line]
            bad.update(there or [fault.number for fault in here])
        return bad

    def digest(self):
        """A digest of everything that the copy is built from."""
        made = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not tap.ignored(path.relative_to(self.folder)):
                made.update(str(path.relative_to(self.folder)).encode() + b"\0" + path.read_bytes())
        return made.hexdigest()
