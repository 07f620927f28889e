#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A variable with a cleanup has a value where it is defined. A function that returns before it sets such a variable
would free, or close, whatever the stack held."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

UNSET = re.compile(r"^\s+_cleanup_\w*(?:\(\w+\))?\s+(?:const\s+)?(?:\w+\s+)+\**\w+(?:\[[^]]*\])?;", re.M)


def unset(path, text):
    for found in UNSET.finditer(text):
        line = text.count("\n", 0, found.end()) + 1
        yield f"{path}:{line}: {found[0].strip()} gets no value here"


def self_test():
    cases = [
        ("\t_cleanup_(files_close) struct files files;\n", 1),
        ("\t_cleanup_free_ char *text;\n", 1),
        ("\t_cleanup_(files_close) struct files files = { -1, -1 };\n", 0),
        ("\t_cleanup_free_ char *text = read();\n", 0),
        ("#define _cleanup_(x) __attribute__((cleanup(x)))\n", 0),
    ]
    for text, count in cases:
        found = len(list(unset("a.c", text)))
        if found != count:
            yield f"{text.strip()}: {found}, not {count}"


def wrongs(tree):
    for path in tap.files(tree):
        if is_product(path) and path.suffix in (".c", ".h"):
            yield from unset(path, (tree / path).read_text())


def main():
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("variables with a cleanup have a value", list(wrongs(tap.TREE))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
