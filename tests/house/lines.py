#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The width of lines, and whole string literals, so that grep finds a message.

In a script a line may be wider if it is nearly all one literal, because a text for another program stays whole, too.
"""

import ast
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

WIDTH = {".c": 100, ".h": 100, ".js": 100, ".css": 100, ".sh": 120, ".py": 120}
TAB = 8
# Columns beside the literal, in a line that is nearly all one literal.
MAX_BESIDE = 40
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def kind_of(path, text):
    """The suffix of a file, or that of the language that its first line names."""
    named = re.match(r"#!\S*(?:/env )?.*?(python3|sh)\b", text)
    return {"python3": ".py", "sh": ".sh"}[named[1]] if named else path.suffix


def docstrings_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value


def literals_by_line(text):
    """{line: columns of the longest literal} of a Python file, without its docstrings."""
    longest = {}
    tree = ast.parse(text)
    docstrings = set(docstrings_of(tree))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        if node in docstrings or not (is_text or isinstance(node, ast.JoinedStr)):
            continue
        for number in range(node.lineno, node.end_lineno + 1):
            begin = node.col_offset if number == node.lineno else 0
            end = node.end_col_offset if number == node.end_lineno else sys.maxsize
            longest[number] = max(longest.get(number, 0), end - begin)
    return longest


def too_wide(path, text):
    kind = kind_of(path, text)
    width = WIDTH.get(kind)
    literals = {}
    for number, line in enumerate(text.splitlines(), 1):
        columns = len(line.expandtabs(TAB))
        if not width or columns <= width or "://" in line:
            continue
        if kind == ".py":
            literals = literals or literals_by_line(text)
        if columns - literals.get(number, 0) > MAX_BESIDE:
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
        ("a.py", "f(" + "x" * 20 + ", '" + "x" * 120 + "')", 0, 0),
        ("a.py", "f(" + "x" * 50 + ", '" + "x" * 120 + "')", 1, 0),
        ("a.py", "'" + "x" * 121 + "'", 1, 0),
        ("a", "#!/bin/bash\n" + "x" * 121, 1, 0),
        ("a", "#!/usr/bin/env python3\n" + "x" * 101, 0, 0),
        ("a.c", 'f("a\\n"\n  "b", "c",\n  "d");', 0, 0),
        ("a.c", 'f("a"\n  "b\\"", "c"\n "d");', 0, 2),
        ("a.c", '/* "a"\n "b" */ f("a"\n  FMT "b");', 0, 0),
    ]
    for name, text, wide, split in cases:
        found = len(list(too_wide(pathlib.Path(name), text))), len(list(split_literals(pathlib.Path(name), text)))
        if found != (wide, split):
            yield f"{name} {text}: {found}, not {(wide, split)}"


def is_text(path):
    """Files that programs read and write stay as they are."""
    others = ("tests/fuzz/corpus/", "tests/golden/", "tests/data/")
    return path.suffix != ".tape" and not str(path).startswith(others)


def wrongs(tree, check, is_meant):
    for path in tap.files(tree):
        if is_meant(path):
            yield from check(path, (tree / path).read_text())


def main():
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("no line is too wide", list(wrongs(tap.TREE, too_wide, is_text))),
            ("string literals are whole", list(wrongs(tap.TREE, split_literals, is_product))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
