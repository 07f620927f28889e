# SPDX-License-Identifier: GPL-2.0-only
"""A segment by docs/FORMAT.md, down to the bytes of its columns: numbers, header, table of contents, columns."""

import struct
import subprocess
from typing import NamedTuple

HEADER = 136
ENTRY = 40
EMPTY_ALLOWANCE, MOST_EXPANSION = 1048576, 1024
MOST_SAMPLES, RAW_ALLOWANCE, MOST_RAW = 4, 16777216, 16
# The known sections, and the number of columns of each.
COLUMNS = {
    "strings": 1,
    "facts": 1,
    "anchors": 1,
    "threads": 1,
    "losses": 1,
    "events": 1,
    "lines": 1,
    "incident": 1,
    "gauges": 1,
    "usual": 1,
    "modules": 1,
    "function": 8,
    "trie": 9,
    "blocks": 1,
    "samples": 14,
    "busy": 14,
}


class Damaged(Exception):
    """No writer wrote these bytes."""


class Refused(Exception):
    """These bytes may be sound, but their format is newer than this reader."""


def check(condition, what):
    if not condition:
        raise Damaged(what)


# Numbers


def wrap(number, bits=64):
    return number & ((1 << bits) - 1)


def as_signed(number, bits=64):
    """A number of some bits in two's complement."""
    return number - (1 << bits) if number >> (bits - 1) else number


def unzigzag(number):
    return number >> 1 if number % 2 == 0 else -(number >> 1) - 1


class Bytes:
    """Reads from the front. It must reach the end."""

    def __init__(self, data, name):
        self.data, self.name, self.at = data, name, 0

    def more(self):
        return self.at < len(self.data)

    def take(self, size):
        check(size <= len(self.data) - self.at, f"{self.name} ends within a row")
        self.at += size
        return self.data[self.at - size : self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        number = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            number |= (byte & 0x7F) << shift
            if byte < 0x80 and number < 1 << 64:
                return number
        raise Damaged(f"{self.name} has a number that is too large")

    def signed(self):
        return unzigzag(self.varint())

    def u32(self):
        """A varint of 32 bits: a CPU, a kind, a priority."""
        number = self.varint()
        check(number < 1 << 32, f"{self.name} has a number that is too large")
        return number

    def s32(self):
        """A signed number of 32 bits."""
        number = self.signed()
        check(-(1 << 31) <= number < 1 << 31, f"{self.name} has a number that is too large")
        return number

    def varints(self, count):
        check(count <= len(self.data) - self.at, f"{self.name} has fewer numbers than it should have")
        return [self.varint() for _ in range(count)]

    def end(self):
        check(not self.more(), f"{self.name} has bytes left over")


def crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# Header and table of contents


class Header(NamedTuple):
    sections: int
    size: int
    sequence: int
    wall_begin: int
    wall_end: int
    begin: int
    end: int
    samples: int
    lost: int
    incidents: int
    boot_id: bytes
    zero: int


def read_header(data):
    check(len(data) >= HEADER and data[:8] == b"PERFTAPE", "not a segment")
    (version,) = struct.unpack_from("<I", data, 8)
    if version != 1:
        raise Refused(f"version {version}")
    header = Header(*struct.unpack_from("<I9Q40sI", data, 12))
    check(crc32c(data[: HEADER - 4]) == struct.unpack_from("<I", data, HEADER - 4)[0], "checksum of the header")
    check(header.sections <= 65536, "number of sections")
    check(HEADER + ENTRY * header.sections + 4 <= header.size <= len(data), "size of the segment")
    check(header.wall_begin <= header.wall_end, "wall clock")
    check(header.begin <= header.end and header.begin % 1000 == 0 and header.end % 1000 == 0, "perf clock")
    check(header.samples <= EMPTY_ALLOWANCE + MOST_SAMPLES * header.size, "number of samples")
    boot_id = header.boot_id.rstrip(b"\0")
    check(len(boot_id) < 40 and b"\0" not in boot_id and b"/" not in boot_id, "boot id")
    check(header.zero == 0, "the header's zero")
    return header


def read_sections(data, header):
    """[(name, columns)] of the known sections, in their order."""
    end = HEADER + ENTRY * header.sections
    contents = data[HEADER:end]
    check(crc32c(contents) == struct.unpack_from("<I", data, end)[0], "checksum of the table of contents")
    raw = sum(entry[5] for entry in struct.iter_unpack("<8sIIQQQ", contents))
    check(raw <= RAW_ALLOWANCE + MOST_RAW * header.size, "raw size of the segment")
    sections = []
    at = end + 4
    for name, flags, crc, offset, size, raw_size in struct.iter_unpack("<8sIIQQQ", contents):
        name = name.rstrip(b"\0").decode("latin-1")
        check(offset == at and size <= header.size - at, f"place of section {name}")
        at += size
        stored = data[offset:at]
        check(crc32c(stored) == crc, f"checksum of section {name}")
        if name in COLUMNS:
            check(name == "samples" or name not in dict(sections), f"section {name} comes twice")
            sections.append((name, split_columns(stored, raw_size, name)))
        elif flags & 1:
            raise Refused(f"section {name}")
    check(at == header.size, "the sections do not end where the segment ends")
    unpack_columns([column for _, columns in sections for column in columns])
    return [
        (name, [Bytes(column.data, f"{name}, column {i}") for i, column in enumerate(columns, 1)])
        for name, columns in sections
    ]


# Columns


class Column:
    def __init__(self, raw_size, data):
        self.raw_size, self.data = raw_size, data


def split_columns(stored, raw_size, name):
    """A section's columns as they are stored."""
    columns = []
    section = Bytes(stored, f"section {name}")
    for _ in range(COLUMNS[name]):
        raw, size = section.varint(), section.varint()
        check(size <= raw <= EMPTY_ALLOWANCE + MOST_EXPANSION * size, f"sizes of a column of section {name}")
        columns.append(Column(raw, section.take(size)))
    section.end()
    check(sum(column.raw_size for column in columns) == raw_size, f"raw size of section {name}")
    return columns


def unpack_columns(columns):
    """
    Unpacks columns in place. One zstd process does it for all, because it unpacks consecutive frames to consecutive
    bytes. Each column gets its own bytes if each frame has the right length. If several lengths are wrong, this only
    sees that their sum is wrong, too.
    """
    packed = [column for column in columns if len(column.data) != column.raw_size]
    if not packed:
        return
    zstd = subprocess.run(
        ["zstd", "-q", "-d", "-c"], input=b"".join(column.data for column in packed), capture_output=True, check=False
    )
    check(zstd.returncode == 0, f"zstd: {zstd.stderr.decode('utf-8', 'replace').strip()}")
    check(len(zstd.stdout) == sum(column.raw_size for column in packed), "columns do not unpack to their raw sizes")
    unpacked = Bytes(zstd.stdout, "what zstd unpacked")
    for column in packed:
        column.data = unpacked.take(column.raw_size)


def read_planes(columns, count):
    numbers = [0] * count
    for place, column in enumerate(columns):
        if column.more():
            plane = column.take(count)
            numbers = [number | byte << (8 * place) for number, byte in zip(numbers, plane)]
        column.end()
    return numbers
