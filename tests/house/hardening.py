#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads the ELF files of the build: the program, and each object that is ours, has what protects against memory bugs.

Usage: tests/house/hardening.py PERFTAPE      (PERFTAPE lies in the build folder, beside its objects). TAP.
"""

import pathlib
import platform
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import tap

FEATURES = {"x86_64": ("IBT", "SHSTK"), "aarch64": ("BTI", "PAC")}.get(platform.machine(), ())
# GCC notes its options in the debug information, and FORTIFY shows in the functions that an object calls.
OPTIONS = ("-fstack-protector-strong", "-fstack-clash-protection")


def tool(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def objects(program):
    """The objects of the program's own libraries, and of the program."""
    folders = {source.parent for source in program.parent.rglob("*.c.o")}
    ours = [f for f in folders if not f.is_relative_to(program.parent / "tests")]
    return sorted(o for f in ours for o in f.glob("*.c.o") if "bench" not in f.parts)


def in_the_program(program):
    """What is wrong with the program's headers."""
    segments = tool("readelf", "-Wl", program)
    dynamic = tool("readelf", "-Wd", program)
    stack = re.search(r"GNU_STACK.*", segments).group()
    wrong = []
    if "DYN" not in segments or "PIE" not in dynamic:
        wrong.append("the program has a fixed address")
    if "GNU_RELRO" not in segments or "BIND_NOW" not in dynamic or "NOW" not in dynamic:
        wrong.append("the table of imported functions stays writable")
    if "E" in stack.split()[-2]:
        wrong.append("the stack is executable")
    if re.search(r"LOAD.* RWE ", segments):
        wrong.append("memory is writable and executable")
    if "SHSTK" in FEATURES and "SHSTK" not in tool("readelf", "-Wn", program):
        wrong.append("the note lacks SHSTK")
    if "TEXTREL" in dynamic or re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        wrong.append("the program has text relocations, or a path of its own to libraries")
    return wrong


def each(ours, *words):
    """What readelf says, as (name of the object, its text)."""
    texts = re.split(r"^File: (.*)$", tool("readelf", "-W", *words, *ours), flags=re.M)
    return [(pathlib.Path(name).name, text) for name, text in zip(texts[1::2], texts[2::2])]


def lacking(ours, wanted, *words):
    """Objects of which readelf does not say all that is wanted."""
    said = each(ours, *words)
    wrong = [f"{name}: no {word}" for name, text in said for word in wanted if word not in text]
    return wrong if len(said) == len(ours) else [f"readelf read {len(said)} of {len(ours)} objects"]


def calls(ours, pattern):
    """How many objects call a function whose name matches."""
    return len(set(re.findall(rf"^(.*?): +U {pattern}$", tool("nm", "-A", "-u", *ours), re.M)))


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    ours = objects(program)
    guarded, checked = calls(ours, "__stack_chk_fail"), calls(ours, r"__\w+_chk")
    counts = tap.wrong(f"many of {len(ours)} objects", f"{guarded} guarded, {checked} checked")
    return tap.run(
        [
            ("the program has a random address, and nothing stays writable that need not", in_the_program(program)),
            (f"our objects have the marks {' '.join(FEATURES)}", lacking(ours, FEATURES, "-n")),
            ("the compiler guards their stacks", lacking(ours, OPTIONS, "--debug-dump=info", "--dwarf-depth=1")),
            ("calls are guarded and checked", [] if min(guarded, checked) > len(ours) / 4 else [counts]),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
