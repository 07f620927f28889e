#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads the #include lines of every C file against the tables of docs/ARCHITECTURE.md, and fails on a forbidden one."""

import fnmatch
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
MAX_LINES = 640
# Folders of the product; tests and benchmarks may include any library.
LOOKERS = ("tests", "bench")
# Headers of C, POSIX, glibc and the kernel, which everyone may use.
SYSTEM = """
aio.h alloca.h argp.h arpa/* asm/* assert.h byteswap.h complex.h cpio.h ctype.h dirent.h dlfcn.h elf.h endian.h err.h errno.h error.h
execinfo.h fcntl.h features.h fenv.h float.h fnmatch.h ftw.h getopt.h glob.h grp.h iconv.h inttypes.h iso646.h langinfo.h libgen.h
limits.h link.h linux/* locale.h malloc.h math.h mntent.h mqueue.h net/* netdb.h netinet/* poll.h printf.h pthread.h pty.h pwd.h
regex.h sched.h search.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
stdlib.h stdnoreturn.h string.h strings.h sys/* syslog.h tar.h termios.h tgmath.h threads.h time.h uchar.h ucontext.h unistd.h utime.h
utmpx.h wchar.h wctype.h wordexp.h
""".split()


class Rules:
    """The tables of docs/ARCHITECTURE.md: may[folder] are folders ("base/") and files; libraries are (name, headers, owner)."""

    def __init__(self, text):
        self.may = {}
        self.libraries = []
        for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
            cells = [cell.strip() for cell in row.split("|")]
            if len(cells) == 2 and cells[0].endswith("/`"):
                self.may[cells[0].strip("`/")] = QUOTED.findall(cells[1])
            elif len(cells) == 3 and QUOTED.search(cells[1]):
                owner = QUOTED.findall(cells[2])
                self.libraries.append((cells[0], QUOTED.findall(cells[1]), owner[0] if owner else None))

    def library_of(self, header):
        for library in self.libraries:
            if any(fnmatch.fnmatchcase(header, pattern) for pattern in library[1]):
                return library
        return None

    def wrong_with_own(self, folder, header):
        """Why a file of the folder may not include a header of the project, or None."""
        if "/" not in header:
            return "is not written from the top of the tree"
        if header.split("/")[0] == folder:
            return None
        allowed = self.may[folder]
        if header in allowed or header.split("/")[0] + "/" in allowed:
            return None
        return f"{folder}/ may include {', '.join(allowed) or 'nothing of the others'}"

    def wrong_with_outside(self, path, header):
        library = self.library_of(header)
        if library:
            name, _, owner = library
            if owner == str(path.with_suffix("")):
                return None
            return f"{name} is included by {owner or 'nobody'} alone"
        if any(fnmatch.fnmatchcase(header, pattern) for pattern in SYSTEM):
            return None
        return "is neither of the C library nor in the table of outside libraries"


def c_files(tree):
    return [path for path in tap.files(tree) if path.suffix in (".c", ".h")]


def wrong_includes(tree, path, rules):
    folder = path.parts[0]
    if folder not in rules.may:
        return [f"{path}: {folder} is not in the table of docs/ARCHITECTURE.md"]
    wrongs = []
    for own, outside in INCLUDE.findall((tree / path).read_text()):
        if own:
            why = rules.wrong_with_own(folder, own)
        elif folder in LOOKERS:
            why = None
        else:
            why = rules.wrong_with_outside(path, outside)
        if why:
            wrongs.append(f'{path}: {own or outside}: {why}')
    return wrongs


def wrong_readmes(tree, rules):
    """A folder's README says the same as the table."""
    for folder, allowed in rules.may.items():
        readme = tree / folder / "README.md"
        if not readme.exists():
            yield f"{folder}/README.md is missing"
            continue
        said = re.search(r"^- May use:(.*?)(?=^- |^$|\Z)", readme.read_text(), re.MULTILINE | re.DOTALL)
        if said and "everything" not in said.group(1) and set(QUOTED.findall(said.group(1))) != set(allowed):
            yield f"{folder}/README.md says{said.group(1).rstrip()}, the table says {', '.join(allowed) or 'nothing'}"


def wrong_first_lines(tree):
    for path in c_files(tree):
        first = (tree / path).read_text().split("\n", 1)[0]
        if first not in ("/* SPDX-License-Identifier: GPL-2.0-only */", "// SPDX-License-Identifier: GPL-2.0-only"):
            yield f"{path} does not begin with its licence"


def wrong_sizes(tree):
    for path in c_files(tree):
        lines = (tree / path).read_text().count("\n")
        if lines > MAX_LINES:
            yield f"{path} has {lines} lines: is it one object?"


def self_test():
    """A made-up tree, each forbidden thing in it once: all of them must be found, and nothing else."""
    table = (
        "| `low/` | nothing |\n| `high/` | `low/`, `side/door.h` |\n| `side/` | `low/` |\n| `tests/` | `high/` |\n"
        "| libx | `x.h`, `x/*` | `low/wrap` |\n"
    )
    good = {
        "low/wrap.c": "#include <x/y.h>\n#include <stdio.h>\n",
        "low/wrap.h": "#include <x.h>\n",
        "high/a.c": '#include "high/a.h"\n#include "low/wrap.h"\n#include "side/door.h"\n',
        "tests/t.c": '#include <x.h>\n#include "high/a.h"\n',
    }
    bad = {
        "low/up.c": '#include "high/a.h"\n',
        "low/other.h": "#  include <x.h>\n",
        "high/back.c": '#include "side/kitchen.h"\n',
        "high/near.c": '#include "a.h"\n',
        "side/new.c": "#include <curl/curl.h>\n",
        "tests/far.c": '#include "side/door.h"\n',
        "attic/b.c": "",
    }
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        for path, text in {**good, **bad}.items():
            (tree / path).parent.mkdir(exist_ok=True)
            (tree / path).write_text(text)
        rules = Rules(table)
        for path in c_files(tree):
            found = len(wrong_includes(tree, path, rules))
            if found != (1 if str(path) in bad else 0):
                yield f"{path} of the made-up tree: {found} found"


def main():
    tree = tap.TREE
    rules = Rules((tree / "docs" / "ARCHITECTURE.md").read_text())
    paths = c_files(tree)
    checks = [("the check finds what is forbidden", list(self_test()))]
    for folder in sorted({path.parts[0] for path in paths} | set(rules.may)):
        mine = [path for path in paths if path.parts[0] == folder]
        checks.append((f"{folder}/ includes what it may", [wrong for path in mine for wrong in wrong_includes(tree, path, rules)]))
    checks.append(("every folder has a README that agrees", list(wrong_readmes(tree, rules))))
    checks.append(("every C file begins with its licence", list(wrong_first_lines(tree))))
    checks.append((f"no C file has more than {MAX_LINES} lines", list(wrong_sizes(tree))))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
