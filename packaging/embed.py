#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a C header that contains a text file as one string. Drops a first line that only names the licence.

Usage: embed.py NAME FILE HEADER
"""

import pathlib
import sys


def main():
    name, source, header = sys.argv[1:]
    lines = pathlib.Path(source).read_text().splitlines()
    if lines[0].startswith(("/* SPDX", "<!-- SPDX")):
        del lines[0]
    quoted = ['\t"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in lines]
    pathlib.Path(header).write_text(f"static const char {name}[] =\n" + "\n".join(quoted) + ";\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
