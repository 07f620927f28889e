#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The width of lines, and string literals that are whole: a message must be found with grep."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

WIDTH = {".c": 100, ".h": 100, ".sh": 100, ".py": 120}
TAB = 8
# A literal that does not end with a newline, and one on the next line that goes on with it.
SPLIT = re.compile(r'(?<!\\n)"[ \t]*\n[ \t]*"')
# What is no code: in C a literal has an escaped quotation mark or none.
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def too_wide(path, text):
    width = WIDTH.get(path.suffix)
    for number, line in enumerate(text.splitlines(), 1):
        columns = len(line.expandtabs(TAB))
        if width and columns > width and "://" not in line:
            yield f"{path}:{number}: {columns} columns, at most {width}"


def split_literals(path, text):
    """Literals side by side on two lines, unless the first ends with a newline."""
    code = COMMENT.sub(lambda match: re.sub(r'"', "'", match[0]), text)
    literals = list(LITERAL.finditer(code))
    for first, second in zip(literals, literals[1:]):
        between = code[first.end() : second.start()]
        if "\n" in between and not between.strip() and not first[0].endswith('\\n"'):
            yield f"{path}:{code.count(chr(10), 0, first.start()) + 1}: a literal in two pieces"


def self_test():
    cases = [
        ("a.c", "\t" * 12 + "1234", 0, 0),
        ("a.c", "\t" * 12 + "12345", 1, 0),
        ("a.py", "x" * 120, 0, 0),
        ("a.py", "x" * 121, 1, 0),
        ("a.md", "x" * 121, 0, 0),
        ("a.c", 'f("a\\n"\n  "b", "c",\n  "d");', 0, 0),
        ("a.c", 'f("a"\n  "b\\"", "c"\n "d");', 0, 2),
        ("a.c", '/* "a"\n "b" */ f("a"\n  FMT "b");', 0, 0),
    ]
    for name, text, wide, split in cases:
        found = len(list(too_wide(pathlib.Path(name), text))), len(list(split_literals(pathlib.Path(name), text)))
        if found != (wide, split):
            yield f"{name} {text}: {found}, not {(wide, split)}"


def wrongs(tree, check, is_meant):
    for path in tap.files(tree):
        if is_meant(path):
            yield from check(path, (tree / path).read_text())


def main():
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("no line is too wide", list(wrongs(tap.TREE, too_wide, lambda path: path.suffix in WIDTH))),
            ("string literals are whole", list(wrongs(tap.TREE, split_literals, is_product))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
