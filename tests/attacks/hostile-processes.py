#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Processes that make the recorder work and remember: each attack is run against a recorder, beside a bystander.

Usage: hostile-processes.py PERFTAPE LOAD RUN_MAPPED
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import attacks  # noqa: E402
import hostile_elf as elf  # noqa: E402
import live  # noqa: E402

# longer than any recording; the end of the recording ends it
LONG = "100000"


def attacker(folder, hostile, name, *words):
    """A process that attacks, or one that only computes."""
    program = pathlib.Path(attacks.LOAD).parent / f"attack-{name}"
    command = [program, LONG, *words] if hostile else [attacks.LOAD, str(attacks.CPUS[0])]
    return [subprocess.Popen(list(map(str, command)), cwd=folder)]


@live.test(alone=True)
def test_map_down(folder):
    """Mappings at ever lower addresses, which a sorted array would move all the time."""
    return attacks.beside(folder, lambda place, hostile: attacker(place, hostile, "map-down"))


# Not in --all: on a quiet machine the attack makes records faster than any thread empties the ring.
@live.test(long=True, alone=True)
def test_map_names(folder):
    """Ever new names of almost 4 KB: 16 to 100 MB of side-band records per second on one CPU."""
    return attacks.beside(folder, lambda place, hostile: attacker(place, hostile, "map-names"))


# seconds of CPU that one owner may use at once: recorder/files/open-helper.c, in two helpers, and table-maker.c
SHARES = 2 * 0.05 + 0.5


def map_slow(folder, hostile):
    """Maps a file under ever new names. Its unwind table and the checksums of its debug files take long to read."""
    data, link = elf.CODE + elf.CODE_SIZE, b"program.debug\0\0\0" + b"\1\2\3\4"
    table = elf.frames(200_000, data)
    sections = [
        elf.text_section(),
        elf.section(".eh_frame", elf.PROGBITS, elf.ALLOC, data, len(table)),
        elf.section(".gnu_debuglink", elf.PROGBITS, 0, data + len(table), len(link)),
    ]
    elf.write(folder / "file", [(data, table), (data + len(table), link)], sections)
    with open(folder / "program.debug", "wb") as file:
        file.truncate(64 << 20)
    return attacker(folder, hostile, "map-names", "file")


@live.test(alone=True)
def test_map_slow(folder):
    """A process maps ever new files, each of which takes some time to read."""
    return attacks.beside(folder, map_slow, once=SHARES)


@live.test(alone=True)
def test_forged_stacks(folder):
    """126 forged callers for each sample, chosen for the hash of old versions."""
    return attacks.beside(folder, lambda place, hostile: attacker(place, hostile, "forged-stacks", 12))


def run_names(folder, hostile):
    return [process for _ in attacks.CPUS for process in attacker(folder, hostile, "run-names")]


@live.test(alone=True)
def test_run_names(folder):
    """Code that runs under ever new paths of almost 4 KB, which do not compress."""
    return attacks.beside(folder, run_names, seconds=12)


@live.test(alone=True)
def test_exec_storm(folder):
    """Programs that start and end as fast as they can, each with a share of its own."""
    return attacks.beside(folder, lambda place, hostile: attacker(place, hostile, "exec-storm"))


MANY = 198


def many(folder, hostile):
    """Starts an equal number of processes for each kind of attack. The processes share the CPU
    time."""
    kinds = (("map-down",), ("map-names",), ("forged-stacks", 12))
    return [process for number in range(MANY) for process in attacker(folder, hostile, *kinds[number % len(kinds)])]


# 60 processes with 60 mappings each have 13 MB of names
SOME = 60
PAUSE_US = 200_000


def some(folder, hostile):
    """Processes that map long names. Together they fill the memory for names of mappings."""
    return [process for _ in range(SOME) for process in attacker(folder, hostile, "map-names", "", PAUSE_US)]


@live.test(alone=True)
def test_some(folder):
    """Processes that fill the memory for names of mappings, with few names each, before the bystander starts."""
    return attacks.beside(folder, some, seconds=10)


@live.test(long=True, alone=True)
def test_many(folder):
    """198 processes that attack with mappings and stacks for ten minutes."""
    return attacks.beside(folder, many, seconds=600)


if __name__ == "__main__":
    sys.exit(live.main())
