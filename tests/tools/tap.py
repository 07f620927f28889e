# SPDX-License-Identifier: GPL-2.0-only
"""TAP for the tests that are written in Python: a check is a name and the list of what is wrong, empty when nothing is.

A wrong is a line of text, or, from wrong(), the expected and the seen value. ./test shows these two of a failed
test, and how noisy the machine was.
"""

import os
import pathlib
import subprocess

TREE = pathlib.Path(__file__).resolve().parents[2]


def wrong(expected, seen):
    """Two lines, whatever the texts contain."""
    return f"expected: {one_line(expected)}\nseen: {one_line(seen)}"


def one_line(text):
    return " / ".join(line.strip() for line in str(text).splitlines() if line.strip())


def run(checks):
    """Prints every check; the exit code."""
    checks = list(checks)
    print(f"1..{len(checks)}")
    for number, (name, wrongs) in enumerate(checks, 1):
        for line in "\n".join(wrongs).splitlines():
            print("# " + line)
        print(f"{'not ok' if wrongs else 'ok'} {number} - {name}")
    return 1 if any(wrongs for _, wrongs in checks) else 0


def files(tree):
    """The files that git has or would take, relative to the tree; without git, all but build folders."""
    listing = (
        subprocess.run(
            [
                "git",
                "-c",
                f"safe.directory={tree}",
                "-C",
                tree,
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ],
            capture_output=True,
            check=False,
        )
        if (tree / ".git").exists() and has("git")
        else None
    )
    if listing and listing.returncode == 0:
        names = [pathlib.Path(os.fsdecode(name)) for name in listing.stdout.split(b"\0") if name]
    else:
        names = [path.relative_to(tree) for path in tree.rglob("*") if not ignored(path.relative_to(tree))]
    return sorted(name for name in names if (tree / name).is_file() and not (tree / name).is_symlink())


def ignored(path):
    return path.parts[0] == ".git" or path.parts[0].startswith("build") or "__pycache__" in path.parts


def has(program):
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.get_exec_path())
