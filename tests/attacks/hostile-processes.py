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


@live.test(alone=True)
def test_forged_stacks(folder):
    """126 forged callers for each sample, chosen for the hash of old versions."""
    return attacks.beside(folder, lambda place, hostile: attacker(place, hostile, "forged-stacks", 12))


MANY = 198


def many(folder, hostile):
    """Each kind of attack, by as many processes, which share what CPU time they get."""
    kinds = (("map-down",), ("map-names",), ("forged-stacks", 12))
    return [process for number in range(MANY) for process in attacker(folder, hostile, *kinds[number % len(kinds)])]


@live.test(long=True, alone=True)
def test_many(folder):
    """198 processes that attack with mappings and stacks for ten minutes."""
    return attacks.beside(folder, many, seconds=600)


if __name__ == "__main__":
    sys.exit(live.main())
