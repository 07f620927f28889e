#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares each row of the unwind tables of ordinary programs with what readelf says.

    rows.py TABLE_RULES [FILE...]

readelf (binutils) runs the same instructions of .eh_frame with code of its own. For each row that it
prints, the table must have the same rule, at the row's first and last address. Without files: the
largest libraries and programs that most machines have.
"""

import bisect
import os
import pathlib
import re
import subprocess
import sys

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/bin")
FILES = ("libc.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3", "libstdc++.so.6", "libm.so.6", "python3", "perl",
         "bash", "git", "xz", "sqlite3", "ninja", "postgres", "openssl", "libpython3.11.so.1.0", "readelf")
UNKNOWN, REGISTER, PLT, MEMORY, END, SIGNAL, STRANGE = range(7)
SAME, AT_CFA, AT_FRAME, IN_REGISTER, LOST = range(5)
BY_EXPRESSION = (PLT, MEMORY, STRANGE, SIGNAL, REGISTER)
X86 = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7,
       **{f"r{i}": i for i in range(8, 16)}, "rip": 16}
ARM = {**{f"x{i}": i for i in range(31)}, "sp": 31}
FDE = re.compile(r"FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)")
# "r5 (rdi)"
IN_REGISTER_TEXT = re.compile(r"\br\d+ \((\w+)\)")
# A range of 16 bits; a table calls offsets beyond it lost.
PLACE_RANGE = range(-(1 << 15), 1 << 15)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace").stdout


def code_of(path):
    """The executable segments: address, offset, size."""
    for line in run("readelf", "-lW", path).splitlines():
        word = line.split()
        if word and word[0] == "LOAD" and "E" in line[-20:]:
            yield int(word[2], 16), int(word[1], 16), int(word[4], 16)


class Table:
    """The rows that perftape made of a file."""

    def __init__(self, tool, path):
        rows = [line.split() for line in run(tool, path).splitlines()]
        self.offsets = [int(row[0], 16) for row in rows]
        self.rules = [tuple(map(int, row[1:])) for row in rows]
        self.code = list(code_of(path))

    def find(self, address):
        for start, offset, size in self.code:
            if start <= address < start + size:
                at = bisect.bisect_right(self.offsets, address - start + offset)
                return self.rules[at - 1] if at else (UNKNOWN,) + (0,) * 9
        return None


def frames_of(path):
    """What readelf says of each function: start, end, is it a signal trampoline, [(address, {column: rule})]."""
    common, rows, columns, function = {}, None, [], None
    for line in run("readelf", "--debug-dump=frames-interp", "-W", path).splitlines():
        word = IN_REGISTER_TEXT.sub(r"\1", line).split()
        if " CIE " in line:
            rows, columns = [], []
            common[word[0]] = (rows, '"' in line and "S" in line.split('"')[1])
        elif found := FDE.search(line):
            shared, signal = common.get(line.split("cie=")[1].split()[0], ([], False))
            rows, columns = [], []
            function = (int(found[1], 16), int(found[2], 16), signal, rows, shared)
            yield function
        elif word and word[0] == "LOC":
            columns = word[1:]
        elif columns and rows is not None and len(word) == len(columns) + 1:
            rows.append((int(word[0], 16), dict(zip(columns, word[1:]))))


def expected_place(said, registers):
    """What a column says, as place and offset; None for what a table need not follow."""
    if said in (None, "u", "s"):
        return (SAME, 0)
    if said.startswith("c"):
        return (AT_CFA, int(said[1:])) if int(said[1:]) in PLACE_RANGE else (LOST, 0)
    return (IN_REGISTER, registers[said]) if said in registers else None


def difference(rule, said, signal, registers, machine_x86):
    """Returns what is wrong with a rule, or None."""
    kind, number, offset, _, *places = rule
    if signal and (not machine_x86 or said["CFA"] == "exp"):
        return None if kind == SIGNAL else "no signal trampoline"
    # on arm64, "u" is also what nobody said: the link register has the return address
    if said.get("ra") == "u" and (machine_x86 or kind == END):
        return None if kind == END else "not the end"
    if said["CFA"] == "exp":
        return None if kind in BY_EXPRESSION else "no expression"
    name, sign, value = re.match(r"([a-z0-9]+)([+-])(\d+)", said["CFA"]).groups()
    if said.get("rsp" if machine_x86 else "sp") not in (None, "u", "s"):
        return None if kind == STRANGE else "the stack pointer is not the CFA"
    if said.get("ra") == "exp":
        return None if kind == STRANGE else "return address by expression"
    if kind != REGISTER or number != registers.get(name) or offset != int(sign + value):
        return "another CFA"
    tracked = ("ra", "rbp", "rbx") if machine_x86 else ("ra", "x29")
    for i, column in enumerate(tracked):
        wanted = expected_place(said.get(column), registers)
        found = (places[2 * i], places[2 * i + 1])
        if wanted is None:
            if found[0] not in (AT_FRAME, LOST):
                return f"{column} by expression"
        elif found != wanted and not (found[0] == LOST and said.get(column) == "u"):
            return f"another {column}"
    return None


def overlapping(functions):
    """The functions whose code belongs to two entries, of which either may count."""
    reach, before = 0, None
    for function in sorted(functions, key=lambda one: one[:2]):
        if function[0] < reach:
            yield function[:2]
            yield before[:2]
        if function[1] >= reach:
            reach, before = function[1], function


def compare(tool, path):
    """Returns the number of compared rows, and the differences."""
    machine_x86 = "X86-64" in run("readelf", "-h", path)
    registers = X86 if machine_x86 else ARM
    table, functions, wrong, compared = Table(tool, path), list(frames_of(path)), [], 0
    twice = set(overlapping(functions))
    for start, end, signal, rows, shared in functions:
        rows = rows or [(start, said) for _, said in shared[:1]]
        if (start, end) in twice or start == end:
            continue
        for i, (address, said) in enumerate(rows):
            last = (rows[i + 1][0] if i + 1 < len(rows) else end) - 1
            for at in {address, last} if address <= last else ():
                rule = table.find(at)
                if rule is None:
                    continue
                compared += 1
                problem = difference(rule, said, signal, registers, machine_x86)
                if problem:
                    wrong.append(f"{path}: {at:#x}: {problem}: {rule}, readelf says {said}")
    return compared, wrong


def files():
    """The files of these names that this machine has."""
    for folder in FOLDERS:
        for name in FILES:
            path = os.path.realpath(os.path.join(folder, name))
            if os.path.isfile(path) and pathlib.Path(path).read_bytes()[:4] == b"\x7fELF":
                yield path


def main():
    tool, *paths = sys.argv[1:]
    paths = paths or sorted(set(files()))
    print(f"1..{len(paths) + 1}")
    total = 0
    for number, path in enumerate(paths, 1):
        compared, wrong = compare(tool, path)
        total += compared
        for line in wrong[:5]:
            print(f"# seen: {line}")
        print(f"{'not ok' if wrong or not compared else 'ok'} {number} - {path}: {compared} rows as readelf has them")
    print(f"{'ok' if total > 10000 else 'not ok'} {len(paths) + 1} - {total} rows compared")


if __name__ == "__main__":
    main()
