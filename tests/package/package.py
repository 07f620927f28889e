#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The Debian package: built here, in roots of Debian 12 and 13, for arm64, and booted.

Usage: tests/package/package.py contents|bookworm|trixie|boot|arm64|tarball      TAP.

All but `contents` need root, debootstrap and a mirror of Debian. Their roots stay in build-roots/, or in the folder
that $PERFTAPE_ROOTS names.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

PACKAGING = tap.TREE / "packaging"
PAGE = re.compile(r"\./(usr/share/man/man\d/perftape[\w.-]*)\.gz$")
# Beside the manual pages and the documents. A unit is below /lib in Debian 12, and below /usr/lib in Debian 13.
FILES = {
    "etc/perftape/perftape.conf",
    "lib/systemd/system/perftape.service",
    "lib/systemd/system/perftape-follow.service",
    "lib/systemd/system/perftape-ship.service",
    "usr/bin/perftape",
    "usr/lib/sysusers.d/perftape.conf",
    "usr/lib/tmpfiles.d/perftape.conf",
    "usr/share/bash-completion/completions/perftape",
    "usr/share/doc/perftape/NEWS.md",
    "usr/share/doc/perftape/README.md",
    "usr/share/doc/perftape/copyright",
    "usr/share/doc/perftape/examples/perftape.conf",
    "usr/share/fish/vendor_completions.d/perftape.fish",
    "usr/share/zsh/vendor-completions/_perftape",
}


def run(*command, **more):
    words = list(map(str, command))
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def failed(done):
    """The end of what a command printed, if it failed."""
    return done.stdout.splitlines()[-30:] if done.returncode else []


def copy_of_the_tree(folder):
    for path in tap.files(tap.TREE):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tap.TREE / path, folder / path)
    return folder


def wrong_names(listing):
    names = {line.split()[-1] for line in listing.splitlines() if not line.startswith("d")}
    there = {name.removeprefix("./").replace("usr/lib/systemd/", "lib/systemd/") for name in names}
    pages = {match[1].rpartition("/")[2] for match in map(PAGE.match, names) if match}
    wanted = {page.name for page in (tap.TREE / "docs" / "man").glob("*.[1-8]")}
    wrong = [f"the package lacks {name}" for name in sorted(FILES - there)]
    wrong += [f"the package lacks the page {name}" for name in sorted(wanted - pages)]
    return wrong + [f"{line}: is not root's" for line in listing.splitlines() if " root/root " not in line]


def test_contents():
    """Builds the package with what this machine has."""
    missing = run("dpkg-checkbuilddeps", cwd=tap.TREE) if tap.has("dpkg-checkbuilddeps") else None
    if not missing or missing.returncode or not tap.has("lintian"):
        why = missing.stdout.strip() if missing else "it takes Debian"
        return tap.run([(f"the package has all files # SKIP {why}", [])])
    with tempfile.TemporaryDirectory() as top:
        folder = copy_of_the_tree(pathlib.Path(top) / "perftape")
        environment = {**os.environ, "DEB_BUILD_OPTIONS": "nocheck"}
        built = run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=folder, env=environment)
        package = next(pathlib.Path(top).glob("perftape_*.deb"), None)
        if built.returncode or not package:
            return tap.run([("dpkg-buildpackage builds the package", failed(built) or ["no package"])])
        strict = ("--allow-root", "--fail-on", "error,warning")
        return tap.run(
            [
                ("the package has all files, and they are root's", wrong_names(run("dpkg-deb", "-c", package).stdout)),
                ("lintian finds neither errors nor warnings", failed(run("lintian", *strict, package))),
            ]
        )


def sums(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.deb")}


def build(release, out, *words):
    return run(PACKAGING / "build-package.sh", release, out, *words, env={**os.environ, "DEB_BUILD_OPTIONS": "nocheck"})


def package_in(out):
    return next(out.glob("perftape_*.deb"))


def say(lines, first):
    """Prints the TAP of a script after the results of our own, which end before the number `first`."""
    count = first
    for line in lines:
        match = re.match(r"(ok|not ok) \d+ - (.*)", line)
        if match:
            print(f"{match[1]} {count} - {match[2]}")
            count += 1
        elif line.startswith("#"):
            print(line)
    print(f"1..{count - 1}")


def live(script, checks, *words):
    """Our own checks, then those of a script that prints TAP."""
    for number, (name, wrongs) in enumerate(checks, 1):
        for line in wrongs:
            print("# " + line)
        print(f"{'not ok' if wrongs else 'ok'} {number} - {name}")
    if any(wrongs for _, wrongs in checks):
        print(f"1..{len(checks)}")
        return 1
    done = run(PACKAGING / script, *words)
    say([*done.stdout.splitlines(), *([f"not ok 1 - {script} ends well"] if done.returncode else [])], len(checks) + 1)
    return done.returncode


def test_release(release):
    """Built in two folders of a root, with the same bytes; and its life in a bare root."""
    with tempfile.TemporaryDirectory() as top:
        first, second = pathlib.Path(top) / "first", pathlib.Path(top) / "second"
        checks = [("the package builds, and lintian is content", failed(build(release, first)))]
        if release == "bookworm":
            native = run("dpkg", "--print-architecture").stdout.strip()
            again = failed(build(release, second, native, "/another/folder"))
            differ = [] if sums(first) == sums(second) else [f"{sums(first)}", f"{sums(second)}"]
            checks.append(("a second build in another folder makes the same bytes", again or differ))
        package = package_in(first) if not checks[0][1] else None
        return live("try-package.sh", checks, release, package)


def test_boot():
    with tempfile.TemporaryDirectory() as top:
        out = pathlib.Path(top)
        checks = [("the package builds", failed(build("bookworm", out)))]
        return live("boot-package.sh", checks, package_in(out) if not checks[0][1] else None)


def test_arm64():
    with tempfile.TemporaryDirectory() as top:
        checks = [("the package for arm64 builds", failed(build("bookworm", pathlib.Path(top), "arm64")))]
        return live("try-arm64.sh", checks)


def test_tarball():
    """Built twice in a root of Debian 11, and tried in a bare one. The script says more in its comments."""
    with tempfile.TemporaryDirectory() as top:
        outs = [pathlib.Path(top) / "first", pathlib.Path(top) / "second"]
        wrong = [failed(run(PACKAGING / "build-tarball.sh", out)) for out in outs]
        made = [[hashlib.sha256(path.read_bytes()).hexdigest() for path in out.glob("*.tar.xz")] for out in outs]
        differ = [] if made[0] == made[1] != [] else [f"{made}"]
        return tap.run(
            [
                ("the tarball builds, needs only the C library, and records in Debian 11", wrong[0]),
                ("a second build makes the same bytes", wrong[1] or differ),
            ]
        )


def main():
    tests = {
        "contents": test_contents,
        "bookworm": lambda: test_release("bookworm"),
        "trixie": lambda: test_release("trixie"),
        "boot": test_boot,
        "arm64": test_arm64,
        "tarball": test_tarball,
    }
    name = sys.argv[1]
    if name != "contents" and (os.geteuid() or not tap.has("debootstrap")):
        return tap.run([(f"the package in {name} # SKIP it takes root and debootstrap", [])])
    return tests[name]()


if __name__ == "__main__":
    sys.exit(main())
