# SPDX-License-Identifier: GPL-2.0-only
"""Makes hostile ELF files of 64 bits for x86-64, from sections and segments. Code is at CODE: an endless loop."""

import os
import struct

CODE = 0x1000
CODE_SIZE = 0x1000
ENDLESS = b"\xeb\xfe"
PROGBITS, SYMTAB, STRTAB, RELA, NOTE, DYNSYM = 1, 2, 3, 4, 7, 11
ALLOC, EXEC = 2, 4
HEADER, SECTION, SEGMENT, SYMBOL, RELOCATION = 64, 64, 56, 24, 24
RELATIVE = 8
PAGE = 0x1000


def section(name, kind, flags, offset, size, link=0, address=None, entry=0):
    """A row of the section table, as (name, a function of the place of the name)."""

    def row(name_at):
        at = offset if address is None else address
        return struct.pack("<IIQQQQIIQQ", name_at, kind, flags, at, offset, size, link, 0, 1, entry)

    return name, row


def text_section():
    return section(".text", PROGBITS, ALLOC | EXEC, CODE, CODE_SIZE)


def load(address, size, offset, flags=5):
    return struct.pack("<IIQQQQQQ", 1, flags, offset, address, address, size, size, PAGE)


def symbol(name_at, address, size):
    return struct.pack("<IBBHQQ", name_at, 0x12, 0, 1, address, size)


def relative(offset, addend):
    return struct.pack("<QQq", offset, RELATIVE, addend)


def section_table(sections, place):
    """(the rows with section 0 and the names' section at the end, the names); the names are at `place`."""
    names, rows = bytearray(1), [bytes(SECTION)]
    for name, row in sections:
        rows.append(row(len(names)))
        names += name.encode() + b"\0"
    rows.append(struct.pack("<IIQQQQIIQQ", len(names), STRTAB, 0, 0, place, len(names) + 10, 0, 0, 1, 0))
    return b"".join(rows), bytes(names) + b".shstrtab\0"


def write(path, parts, sections, segments=(), size=0):
    """Writes a file: `parts` are (offset, bytes). With `size`, the file is sparse up to there."""
    segments = list(segments) or [load(CODE, CODE_SIZE, CODE)]
    end = max([CODE + CODE_SIZE] + [at + len(data) for at, data in parts])
    segments_at = (end + 15) & ~15
    names_at = segments_at + len(segments) * SEGMENT
    rows, names = section_table(sections, names_at)
    rows_at = (names_at + len(names) + 15) & ~15
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\2\1\1",
        3,
        62,
        1,
        CODE,
        segments_at,
        rows_at,
        0,
        HEADER,
        SEGMENT,
        len(segments),
        SECTION,
        len(sections) + 2,
        len(sections) + 1,
    )
    with open(path, "wb") as file:
        for at, data in [(0, header), (CODE, ENDLESS), *parts, (segments_at, b"".join(segments))]:
            os.pwrite(file.fileno(), data, at)
        os.pwrite(file.fileno(), names, names_at)
        os.pwrite(file.fileno(), rows, rows_at)
        file.truncate(max(size, rows_at + len(rows)))


def frames(count, address):
    """An .eh_frame at an address, of `count` functions that all contain the code."""
    common = struct.pack("<IIB3sBBBBB", 16, 0, 1, b"zR\0", 1, 0x78, 16, 1, 0x1B)
    entries = bytearray(common.ljust(20, b"\0"))
    for i in range(count):
        at = len(entries)
        # an entry of 12 bytes: where the common entry is, the start relative to this field, the function's size
        entries += struct.pack("<IIiI", 12, at + 4, CODE - (address + at + 8), CODE_SIZE)
    return bytes(entries)


def frame_rules(count, address, endless):
    """An .eh_frame at an address, of `count` functions in the code with a rule of its own each; with `endless`, also of
    one that is its own caller for ever: the caller lies 8 bytes further up, and returns to where it is."""
    common = struct.pack("<IIB3sBBBBB", 16, 0, 1, b"zR\0", 1, 0x78, 16, 1, 0x1B)
    entries = bytearray(common.ljust(20, b"\0"))
    for i in range(count):
        at = len(entries)
        # def_cfa rsp, i; offset of rbp and rbx; padded to a size that does not depend on i
        rules = b"\x0c\x07" + leb(i) + b"\x86\x02\x83" + leb(i % 16000)
        start = CODE + i % 4096 - (address + at + 8)
        entries += struct.pack("<IIiIB", 28, at + 4, start, 1, 0) + rules.ljust(15, b"\0")
    if not endless:
        return bytes(entries)
    at = len(entries)
    # def_cfa rsp, 8; same_value of the return address
    rules = b"\x0c\x07\x08\x08\x10\0\0"
    entries += struct.pack("<IIiIB", 20, at + 4, CODE - (address + at + 8), CODE_SIZE, 0) + rules
    return bytes(entries)


def leb(number):
    """A number in LEB128."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))
