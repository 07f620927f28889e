#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the #include lines of every C file with the tables of docs/ARCHITECTURE.md.

Fails on an include that the tables forbid, on an entry that no file needs, and on a cycle between rooms or between
the headers of one room.
"""

import fnmatch
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import INCLUDE, LOOKERS, Rules, cycle_in, folder_of, opens, room_of, rules_of  # noqa: E402

# Headers of C, POSIX, glibc and the kernel. Every room may include them.
SYSTEM = """
aio.h alloca.h argp.h arpa/* asm/* assert.h byteswap.h complex.h cpio.h ctype.h dirent.h dlfcn.h elf.h endian.h err.h errno.h error.h
execinfo.h fcntl.h features.h fenv.h float.h fnmatch.h ftw.h getopt.h glob.h grp.h iconv.h inttypes.h iso646.h langinfo.h libgen.h
limits.h link.h linux/* locale.h malloc.h math.h mntent.h mqueue.h net/* netdb.h netinet/* poll.h printf.h pthread.h pty.h pwd.h
regex.h sched.h search.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
stdlib.h stdnoreturn.h string.h strings.h sys/* syslog.h tar.h termios.h tgmath.h threads.h time.h uchar.h ucontext.h unistd.h utime.h
utmpx.h wchar.h wctype.h wordexp.h
""".split()


class Tree:
    """The includes of all C files: own[path] are headers of the project, outside[path] are the others."""

    def __init__(self, root):
        self.own, self.outside = {}, {}
        for path in tap.files(root):
            if path.suffix in (".c", ".h"):
                found = INCLUDE.findall((root / path).read_text())
                self.own[path] = {own for own, _ in found if own}
                self.outside[path] = {outside for _, outside in found if outside}


def is_own(path, header):
    folder = room_of(path)
    return folder_of(header) == folder or (folder in LOOKERS and header.startswith(folder + "/"))


def forbidden_own(rules, path, header):
    """Why a file may not include a header of the project, or None."""
    allowed = rules.may[room_of(path)]
    if "/" not in header:
        return "is not written from the top of the tree"
    if is_own(path, header) or any(opens(entry, header) for entry in allowed):
        return None
    return f"{room_of(path)}/ may include {', '.join(allowed) or 'nothing of the others'}"


def forbidden_outside(rules, path, header):
    library = rules.library_of(header)
    if library:
        name, _, owner = library
        return None if owner == str(path.with_suffix("")) else f"{name} is included by {owner or 'nobody'} alone"
    if any(fnmatch.fnmatchcase(header, pattern) for pattern in SYSTEM):
        return None
    return "is neither of the C library nor in the table of outside libraries"


def forbidden(rules, tree, path):
    if room_of(path) not in rules.may:
        return [f"{path}: the table of docs/ARCHITECTURE.md has no row {room_of(path)}/"]
    wrongs = [(header, forbidden_own(rules, path, header)) for header in sorted(tree.own[path])]
    if path.parts[0] not in LOOKERS:
        wrongs += [(header, forbidden_outside(rules, path, header)) for header in sorted(tree.outside[path])]
    return [f"{path}: {header}: {why}" for header, why in wrongs if why]


def unneeded(rules, tree):
    """Entries of the table that no include needs."""
    used = {}
    for path, headers in tree.own.items():
        used.setdefault(room_of(path), set()).update(headers)
    for room, entries in rules.may.items():
        if room not in used:
            yield f"{room}/ has a row in the table and no C file"
        for entry in entries:
            if not any(opens(entry, header) for header in used.get(room, ())):
                yield f"{room}/ may include {entry}, and no file of it does"


def cycles(rules, tree):
    """The cycles, none of which may exist: (between what, the cycle)."""
    table = {
        room: {other for entry in entries for other in rules.rooms_of(entry)} - {room}
        for room, entries in rules.may.items()
    }
    includes = {}
    for path, headers in tree.own.items():
        includes.setdefault(room_of(path), set()).update(
            folder_of(header) for header in headers if not is_own(path, header)
        )
    headers = {str(path): own for path, own in tree.own.items() if path.suffix == ".h"}
    for what, graph in (("rooms, by the table", table), ("rooms, by their includes", includes), ("headers", headers)):
        cycle = cycle_in(graph)
        if cycle:
            yield f"a cycle between {what}: {' -> '.join(cycle)}"


TABLE = """
| `low/` | nothing |
| `low/room/` | `low/`, `side/door.h` |
| `side/` | `low/**` |
| `tests/` | `low/room/` |
| libx | `x.h`, `x/*` | `low/wrap` |
"""
SOUND = {
    "low/wrap.c": "#include <x/y.h>\n#include <stdio.h>\n",
    "low/wrap.h": "#include <x.h>\n",
    "low/room/a.h": "",
    "low/room/a.c": '#include "low/room/a.h"\n#include "low/wrap.h"\n#include "side/door.h"\n',
    "tests/t.c": '#include <x.h>\n#include "low/room/a.h"\n#include "tests/more/t.h"\n',
}
FORBIDDEN = {
    "low/up.c": '#include "low/room/a.h"\n',
    "low/other.h": "#  include <x.h>\n",
    "low/room/back.c": '#include "side/kitchen.h"\n',
    "low/room/near.c": '#include "a.h"\n',
    "side/new.c": "#include <curl/curl.h>\n",
    "tests/far.c": '#include "side/door.h"\n',
    "attic/b.c": "",
}
RING = {
    "low/one.h": '#include "low/two.h"\n',
    "low/two.h": '#include "low/one.h"\n',
    "side/door.h": '#include "low/room/a.h"\n',
}


def made_up(files):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return Tree(root)


def self_test():
    """Made-up trees with each forbidden include once. The check must find all of them, and nothing else."""
    rules = Rules(TABLE)
    tree = made_up({**SOUND, **FORBIDDEN})
    for path in tree.own:
        found = len(forbidden(rules, tree, path))
        if found != (1 if str(path) in FORBIDDEN else 0):
            yield f"{path} of the made-up tree: {found} found"
    rings = list(cycles(rules, made_up({**SOUND, **RING})))
    if len(rings) != 3:
        yield f"3 cycles are in the made-up tree: {rings}"
    rest = list(unneeded(rules, made_up(SOUND)))
    if rest != ["side/ has a row in the table and no C file", "side/ may include low/**, and no file of it does"]:
        yield f"not these are unneeded in the made-up tree: {rest}"


def main():
    rules, tree = rules_of(tap.TREE), Tree(tap.TREE)
    checks = [("the check finds what is forbidden", list(self_test()))]
    for room in sorted({room_of(path) for path in tree.own} | set(rules.may)):
        mine = [path for path in tree.own if room_of(path) == room]
        checks.append(
            (f"{room}/ includes what it may", [wrong for path in mine for wrong in forbidden(rules, tree, path)])
        )
    checks.append(("the table allows no more than what is needed", list(unneeded(rules, tree))))
    checks.append(("no cycle between rooms, none between headers", list(cycles(rules, tree))))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
