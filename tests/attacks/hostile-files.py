#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files that make naming expensive. Each attack is run against a recorder, beside a bystander.

Usage: hostile-files.py PERFTAPE LOAD RUN_MAPPED
"""

import lzma
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


@live.test(alone=True)
def test_poison(folder):
    """2 million functions in an unwind table contain one sampled address."""
    return attacks.beside(folder, poison)



def frame_file(path, table, size):
    """A file whose .eh_frame claims a size."""
    elf.write(
        path,
        [(DATA, table)],
        [elf.text_section(), elf.section(".eh_frame", elf.PROGBITS, elf.ALLOC, DATA, size)],
        size=DATA + size,
    )
    return attacks.run_mapped(path)


def frame_rules(folder, hostile):
    """32 MB of rules that all differ; a gigabyte of unwind table, as one entry; a function that is its own caller."""
    plain = elf.frame_rules(1, DATA, endless=False)
    rules = elf.frame_rules(1_040_000, DATA, endless=True) if hostile else plain
    entry = struct.pack("<IQI", 0xFFFFFFFF, (1 << 30) - 12, 0) if hostile else plain
    return [
        frame_file(folder / "rules", rules, len(rules)),
        frame_file(folder / "gigabyte", entry, 1 << 30 if hostile else len(entry)),
    ]


@live.test(long=True, alone=True)
def test_frame_rules(folder):
    """An unwind table whose rules all differ, one of a gigabyte, and a function that is its own caller for ever."""
    return attacks.beside(folder, frame_rules)


def go_table():
    """A table of one function, from the start of the text on, without the text's address."""
    header = struct.pack("<IHBBQQQQQQQQ", 0xFFFFFFF1, 0, 1, 8, 1, 0, 0, 128, 0, 0, 0, 72)
    rows = struct.pack("<IIIIII", 0, 16, elf.CODE_SIZE, 0, 0, 1)
    return (header + rows).ljust(128, b"\0") + b"\0main.loop\0"


def go_relocations(folder, hostile):
    """1.9 MB of words with the address of a Go table, and relocations of these words that lead
    nowhere."""
    path, count, table = folder / "gopher", 60_000 if hostile else 1, go_table()
    table_at = DATA
    words_at = (table_at + len(table) + 15) & ~15
    words = struct.pack("<Q", table_at) * count
    relocations_at = words_at + len(words)
    relocations = b"".join(elf.relative(0x7000_0000 + 8 * i, i) for i in range(count))
    elf.write(
        path,
        [(table_at, table), (words_at, words), (relocations_at, relocations)],
        [
            elf.text_section(),
            elf.section(".gopclntab", elf.PROGBITS, elf.ALLOC, table_at, len(table)),
            elf.section(".noptrdata", elf.PROGBITS, elf.ALLOC, words_at, len(words), address=0x6000_0000),
            elf.section(".rela.dyn", elf.RELA, elf.ALLOC, relocations_at, len(relocations)),
        ],
    )
    return [attacks.run_mapped(path)]


@live.test(alone=True)
def test_go_relocations(folder):
    """60,000 places of a Go program may be its module data, and 60,000 relocations may fill them."""
    return attacks.beside(folder, go_relocations)


def symbols_file(path, count, segments, name=b"_ZN4evil4loopEv"):
    """A symbol table of `count` functions that all contain the code, beside `segments` segments that do not."""
    names = b"\0" + name + b"\0"
    table = bytes(elf.SYMBOL) + b"".join(elf.symbol(1, elf.CODE - i % 64, elf.CODE_SIZE) for i in range(count))
    elf.write(
        path,
        [(DATA, table), (DATA + len(table), names)],
        [
            elf.text_section(),
            elf.section(".symtab", elf.SYMTAB, 0, DATA, len(table), link=3, entry=elf.SYMBOL),
            elf.section(".strtab", elf.STRTAB, 0, DATA + len(table), len(names)),
        ],
        [elf.load((1 << 32) + i * elf.PAGE, 16, 0) for i in range(segments)]
        + [elf.load(elf.CODE, elf.CODE_SIZE, elf.CODE)],
    )


def segments(folder, hostile):
    path = folder / "segments"
    symbols_file(path, 1_000_000 if hostile else 1, 60_000 if hostile else 1)
    return [attacks.run_mapped(path)]


@live.test(alone=True)
def test_segments(folder):
    """A million symbols, each of which must be found among 60,000 segments."""
    return attacks.beside(folder, segments)


def debugdata(folder, hostile):
    inner, path = folder / "inner", folder / "debugdata"
    symbols_file(inner, 1_040_000 if hostile else 1, 0)
    packed = lzma.compress(inner.read_bytes(), preset=0)
    elf.write(
        path,
        [(DATA, packed)],
        [elf.text_section(), elf.section(".gnu_debugdata", elf.PROGBITS, 0, DATA, len(packed))],
    )
    return [attacks.run_mapped(path)]


@live.test(alone=True)
def test_debugdata(folder):
    """Some KB of packed symbols unpack to 31 MB."""
    return attacks.beside(folder, debugdata)


def note(folder, hostile):
    path, size = folder / "note", 6 << 30 if hostile else 32
    elf.write(
        path, [], [elf.text_section(), elf.section(".note", elf.NOTE, elf.ALLOC, DATA, size)], size=DATA + size
    )
    return [attacks.run_mapped(path)]


@live.test(alone=True)
def test_note(folder):
    """A note section of 6 GB in a sparse file, before a program of somebody else is opened on that file system."""
    return attacks.beside(folder, note)


def debug_crc(folder, hostile):
    """A debug link with a wrong CRC, and debug files of the largest size that is read, at both places beside it."""
    path, size = folder / "program", 256 << 20 if hostile else 4096
    link = b"program.debug\0\0\0" + b"\1\2\3\4"
    row = elf.section(".gnu_debuglink", elf.PROGBITS, 0, DATA, len(link))
    elf.write(path, [(DATA, link)], [elf.text_section(), row])
    (folder / ".debug").mkdir()
    for place in (folder, folder / ".debug"):
        with open(place / "program.debug", "wb") as file:
            file.truncate(size)
    return [attacks.run_mapped(path)]


@live.test(alone=True)
def test_debug_crc(folder):
    """Two debug files of 256 MB, whose checksums are wrong."""
    return attacks.beside(folder, debug_crc)


def jit_map(folder, hostile):
    process = attacks.run_mapped()
    attacks.perf_map(process).write_bytes(b"0 ffffffffffffff f\n" * (3_500_000 if hostile else 1))
    return [process]


@live.test(alone=True)
def test_jit_map(folder):
    """66 MB of a perf map, in which each function covers each address."""
    return attacks.beside(folder, jit_map)


MANY = 200


def many(folder, hostile):
    """Starts an equal number of processes for each kind of file. The processes share the CPU."""
    makers = (poison, go_relocations, segments, debugdata, note)
    started = []
    for number, make in enumerate(makers):
        place = folder / str(number)
        place.mkdir()
        started += make(place, hostile)
        (path,) = [path for path in place.iterdir() if path.name != "inner"]
        for copy in range(MANY // len(makers) - 1):
            # half of the processes get their own file with the same bytes
            other = place / f"{copy:03d}{path.name[3:]}"
            other.hardlink_to(path) if copy % 2 else attacks.copy_sparse(path, other)
            started.append(attacks.run_mapped(other))
    return started


@live.test(long=True, alone=True)
def test_many(folder):
    """200 processes with hostile files for ten minutes."""
    return attacks.beside(folder, many, seconds=600)


if __name__ == "__main__":
    sys.exit(live.main())
