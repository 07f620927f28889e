# SPDX-License-Identifier: GPL-2.0-only
"""The installed libmagic as a judge of texts, and the words of its compiled rules."""

import collections
import ctypes
import pathlib
import re
import struct

MIME_TYPE = 0x10
# One rule, as libmagic keeps it in memory and in its compiled file.
RULE = struct.Struct("<HBBBBBB4xi4xIII128s")
MAGIC_NUMBER = 0xF11E041C
STRING, REGEX, SEARCH = 5, 17, 20
STRINGS = (STRING, 13, REGEX, SEARCH)

Rule = collections.namedtuple("Rule", "level kind offset word")


def library():
    magic = ctypes.CDLL("libmagic.so.1")
    magic.magic_open.restype = ctypes.c_void_p
    magic.magic_open.argtypes = [ctypes.c_int]
    magic.magic_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    magic.magic_buffer.restype = ctypes.c_char_p
    magic.magic_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    magic.magic_getpath.restype = ctypes.c_char_p
    magic.magic_getpath.argtypes = [ctypes.c_char_p, ctypes.c_int]
    return magic


class Magic:
    def __init__(self):
        self.magic = library()
        self.cookie = self.magic.magic_open(MIME_TYPE)
        assert self.cookie and self.magic.magic_load(self.cookie, None) == 0

    def type_of(self, data):
        """The type of a file. Flamescope opens the file only if this type is plain text."""
        return self.magic.magic_buffer(self.cookie, data, len(data)).decode()


def rules():
    """The rules that compare text. The file begins with a header of a rule's size, which counts the rules."""
    names = library().magic_getpath(None, 0).decode().split(":")
    data = next(path for path in (pathlib.Path(name + ".mgc") for name in names) if path.exists()).read_bytes()
    number, _, *counts = struct.unpack("<4I", data[:16])
    assert number == MAGIC_NUMBER
    size = len(data) // (1 + sum(counts))
    for at in range(size, len(data), size):
        level, _, _, _, length, kind, _, offset, _, _, _, value = RULE.unpack(data[at : at + RULE.size])
        if kind in STRINGS:
            yield Rule(level, kind, offset, value[:length])


def words():
    """The texts that the rules search for: whole, the plain parts of expressions, and these as prefixes."""
    found = set()
    for rule in rules():
        word = rule.word.replace(b"\0", b"")
        parts = re.findall(rb"[\w.:/@+-]{2,}", word)
        found |= {word, *parts, *(part + b"x" for part in parts[:1])}
    return sorted(word for word in found if word)


def placed_words(first, last):
    """Names that repeat each word that libmagic expects at one offset, so that a repetition lies at this offset."""
    for rule in set(rules()):
        plain = re.fullmatch(rb"[!-~][ -~]{2,}", rule.word)
        if rule.level == 0 and rule.kind == STRING and plain and first <= rule.offset < last:
            for shift in range(len(rule.word)):
                yield b"x" * shift + rule.word * (rule.offset // len(rule.word) + 1)
