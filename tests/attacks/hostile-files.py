#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files that make naming cost much: each attack is run against a recorder, beside a bystander.

Usage: hostile-files.py PERFTAPE LOAD RUN_MAPPED
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import attacks  # noqa: E402
import hostile_elf as elf  # noqa: E402
import live  # noqa: E402

DATA = elf.CODE + elf.CODE_SIZE
LONG_NAME = "x" * 250


def poison(folder, hostile):
    """32 MB of unwind table, in which each function contains the code."""
    path = folder / LONG_NAME
    table = elf.frames(2_000_000 if hostile else 1, DATA)
    elf.write(
        path,
        [(DATA, table)],
        [elf.text_section(), elf.section(".eh_frame", elf.PROGBITS, elf.ALLOC, DATA, len(table))],
    )
    return [attacks.run_mapped(path)]


@live.test()
def test_poison(folder):
    """2 million functions in an unwind table contain one sampled address."""
    return attacks.beside(folder, poison)


if __name__ == "__main__":
    sys.exit(live.main())
