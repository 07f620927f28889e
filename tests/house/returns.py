#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A function returns at its first error. A chain of steps that each ask whether all earlier steps succeeded makes a
reader check every condition on the way to the end of the function."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# A statement whose last line ends with a semicolon, below its condition on one or more lines.
STEP = r"(?P<indent{0}>\t+)if \((?:r == 0|!r)\b[^;{{}}]*?\)\n(?P=indent{0})\t+(?P<result{0}>r = )?[^;{{}}]*;\n"
CHAIN = re.compile(r"^" + STEP.format(1) + r"(?=" + STEP.format(2) + r")", re.M)


def chains(path, text):
    code = COMMENT.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)
    code = re.sub(r"\n[ \t]*(?=\n)", "", code)
    for found in CHAIN.finditer(code):
        if found["indent1"] == found["indent2"] and found["result1"] and found["result2"]:
            step = " ".join(found[0].split())
            yield f"{path}: two steps in a row ask for r == 0; return early after the first: {step}"


def self_test():
    step = "\tif (r == 0)\n\t\tr = next();\n"
    cases = [
        (step + step, 1),
        (step + "\n\t/* why */\n" + step + step, 2),
        ("\tif (r == 0 && wanted)\n\t\tr = next(a,\n\t\t\t b);\n" + step, 1),
        ("\tif (r == 0 &&\n\t    wanted)\n\t\tr = next();\n" + step, 1),
        ("\tif (!r)\n\t\tr = next();\n" + step, 1),
        (step, 0),
        (step + "\tr = next();\n" + step, 0),
        (step + "\tdone();\n" + step, 0),
        (step + "\t\tif (r == 0)\n\t\t\tr = next();\n", 0),
        (step + "\tif (r == 0)\n\t\tcount++;\n", 0),
        ("\tif (r < 0)\n\t\treturn r;\n" + step, 0),
    ]
    for text, count in cases:
        found = len(list(chains("a.c", text)))
        if found != count:
            yield f"{text!r}: {found}, not {count}"


def wrongs(tree):
    for path in tap.files(tree):
        if is_product(path) and path.suffix in (".c", ".h"):
            yield from chains(path, (tree / path).read_text())


def main():
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("functions return early", list(wrongs(tap.TREE))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
