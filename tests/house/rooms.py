#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The rooms as a reader finds them: READMEs, sizes, and names that mean one thing."""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import LOOKERS, QUOTED, folder_of, functions_in, is_product, rules_of  # noqa: E402

MAX_LINES = 600
MAX_FILES = 40
# In a folder of rooms, beside its rooms.
MAX_FILES_AT_TOP = 12
FLOORS = ("recorder", "query", "cli")
MAX_WORDS = 5
MAX_SHARED_PERCENT = 2
# Many folders have these, with the same meaning.
SAME_EVERYWHERE = ("README.md", "meson.build")
# Debian chose this name.
NAMED_BY_OTHERS = ("debian/source/format",)
# The README of these folders speaks for the folders in them.
DEEP = LOOKERS + ("docs", "packaging", "debian")
# reuse takes each file there for a licence.
WITHOUT_README = (".", "LICENSES")
# Inputs that fuzzing found. Their names mean nothing.
CORPUS = "tests/fuzz/corpus/"


def visible(tree):
    """The files that the rules apply to: not those in hidden folders, nor the corpus."""
    for path in tap.files(tree):
        if not str(path).startswith(CORPUS) and not any(part.startswith(".") for part in path.parts):
            yield path


def tables_in(text):
    """The rows of a README's tables, by their first heading: {"file": {name: what it is}}."""
    tables, rows = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            rows = None
        elif rows is None:
            rows = tables.setdefault(cells[0], {})
        elif len(cells) > 1:
            for name in QUOTED.findall(cells[0]):
                rows[name] = cells[1]
    return tables


def may_use_in(text):
    row = re.search(r"^- May use:(.*?)(?=^- |^$|\Z)", text, re.MULTILINE | re.DOTALL)
    return QUOTED.findall(row[1]) if row else None


def differences(where, what, is_there, is_said):
    for name in sorted(is_there - is_said):
        yield f"{where}: no row for {what} {name}"
    for name in sorted(is_said - is_there):
        yield f"{where}: has a row for {what} {name}, which does not exist"


def wrong_room(where, text, allowed, stems):
    """The mistakes in the README of a room."""
    said = may_use_in(text)
    if said is None or set(said) != set(allowed):
        yield f"{where}: May use says {said}, the table of docs/ARCHITECTURE.md says {allowed}"
    if "- May not use:" not in text:
        yield f"{where}: does not say what the room may not use"
    rows = tables_in(text).get("file", {})
    yield from differences(where, "file", stems, set(rows))
    for name, what in rows.items():
        if len(what.split()) > MAX_WORDS:
            yield f"{where}: more than {MAX_WORDS} words for {name}"


def wrong_readmes(tree, rules):
    folders = collections.defaultdict(set)
    for path in visible(tree):
        for folder in path.parents:
            folders[str(folder)].add(path)
    for folder in sorted(folders):
        room = pathlib.Path(folder)
        inside = {path.relative_to(room).parts[0] for path in folders[folder] if len(path.relative_to(room).parts) > 1}
        if folder in WITHOUT_README or room.parts[0] in DEEP and len(room.parts) > 1:
            continue
        where = f"{folder}/README.md"
        if not (tree / where).exists():
            yield f"{where} is missing"
            continue
        text = (tree / where).read_text()
        tables = tables_in(text)
        said = {name.strip("/") for name in tables.get("folder", {}) | tables.get("room", {})}
        yield from differences(where, "folder", inside, said)
        if folder in rules.may and folder not in LOOKERS:
            mine = {path.stem for path in folders[folder] if is_product(path) and folder_of(path) == folder}
            yield from wrong_room(where, text, rules.may[folder], mine)


def wrong_counts(tree):
    counts = collections.Counter(folder_of(path) for path in visible(tree) if path.name not in SAME_EVERYWHERE)
    for folder, count in counts.items():
        most = MAX_FILES_AT_TOP if folder in FLOORS else MAX_FILES
        if count > most:
            yield f"{folder}/ has {count} files, at most {most} may be there"


def wrong_lines(tree):
    for path in visible(tree):
        if path.suffix in (".c", ".h"):
            lines = (tree / path).read_text().count("\n")
            if lines > MAX_LINES:
                yield f"{path} has {lines} lines: is it one object?"


def wrong_names(tree):
    places = collections.defaultdict(list)
    for path in visible(tree):
        if path.name not in SAME_EVERYWHERE and str(path) not in NAMED_BY_OTHERS:
            places[path.name].append(str(path))
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"one name for several files: {', '.join(paths)}"


def functions_of(tree):
    """{name: the files of the product that define a function of that name}."""
    places = collections.defaultdict(set)
    for path in visible(tree):
        if is_product(path):
            for name in functions_in((tree / path).read_text()):
                places[name].add(str(path))
    return places


def wrong_functions(tree):
    places = functions_of(tree)
    shared = {name: paths for name, paths in places.items() if len(paths) > 1}
    count = sum(len(paths) for paths in shared.values())
    every = sum(len(paths) for paths in places.values())
    if every < 1000 or 100 * count > MAX_SHARED_PERCENT * every:
        yield f"{count} of {every} functions share their name with one of another file; at most {MAX_SHARED_PERCENT} % may"
        yield from (f"{name}: {', '.join(sorted(paths))}" for name, paths in sorted(shared.items()))


def wrong_walk(tree):
    """docs/ARCHITECTURE.md names functions that exist."""
    named = re.findall(r"`(\w+)\(\)`", (tree / "docs" / "ARCHITECTURE.md").read_text())
    if len(named) < 30:
        yield f"docs/ARCHITECTURE.md names {len(named)} functions: is the walk still there?"
    there = functions_of(tree)
    yield from (f"docs/ARCHITECTURE.md: {name}() does not exist" for name in named if name not in there)


def wrong_first_lines(tree):
    for path in visible(tree):
        first = (tree / path).read_text().split("\n", 1)[0] if path.suffix in (".c", ".h") else ""
        if first and first not in (
            "/* SPDX-License-Identifier: GPL-2.0-only */",
            "// SPDX-License-Identifier: GPL-2.0-only",
        ):
            yield f"{path} does not begin with its licence"


def self_test():
    text = "# low\n\n- May use: `base/`,\n  `pack/`.\n- May not use: more.\n\n| file | what it is |\n| --- | --- |\n| `a` | one two |\n| `b` | a b c d e f |\n"
    wrongs = [
        (["base/", "pack/"], {"a", "b"}, 1),
        (["base/"], {"a", "b"}, 2),
        (["base/", "pack/"], {"a", "c"}, 3),
    ]
    for allowed, stems, count in wrongs:
        found = list(wrong_room("low/README.md", text, allowed, stems))
        if len(found) != count:
            yield f"{allowed}, {stems}: {found}, not {count}"
    code = "static __attribute__((format(printf, 2, 3))) int one(int a,\n\t\tint b)\n{\n\tif (two(a)) {\n\t}\n}\n\nstruct x y = {\n};\nint three(void);\n"
    if functions_in(code) != ["one"]:
        yield f"functions: {functions_in(code)}"


def main():
    tree = tap.TREE
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            (
                "every room has a README that agrees with the tree and the table",
                list(wrong_readmes(tree, rules_of(tree))),
            ),
            (f"no folder has more than {MAX_FILES} files", list(wrong_counts(tree))),
            (f"no C file has more than {MAX_LINES} lines", list(wrong_lines(tree))),
            ("no two files have one name", list(wrong_names(tree))),
            (f"at most {MAX_SHARED_PERCENT} % of functions share a name", list(wrong_functions(tree))),
            ("docs/ARCHITECTURE.md names functions that exist", list(wrong_walk(tree))),
            ("every C file begins with its licence", list(wrong_first_lines(tree))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
