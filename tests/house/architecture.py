# SPDX-License-Identifier: GPL-2.0-only
"""The tree as the house tests see it: the tables of docs/ARCHITECTURE.md, and the includes and functions of C files.

A room is a folder that has C files. The table has one row for each room, and one row for all of tests/ and of bench/.
"""

import fnmatch
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
ATTRIBUTE = re.compile(r"__attribute__\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)\s*")
FUNCTION = re.compile(r"^(?![#/*} \t])[^;{}/#()]*?\b(\w+)\([^;{}]*\)\s*\n\{", re.MULTILINE)
# Folders that test or measure the product, and are not a part of it.
LOOKERS = ("tests", "bench")


class Rules:
    """The tables: may[room] is a list of entries; libraries are (name, headers, the only file that includes them).

    An entry is a header (`tape/tape.h`), a room (`tape/`), or a folder with all rooms in it (`tape/**`).
    """

    def __init__(self, text):
        self.may = {}
        self.libraries = []
        for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
            cells = [cell.strip() for cell in row.split("|")]
            if len(cells) == 2 and cells[0].endswith("/`"):
                self.may[cells[0].strip("`/")] = QUOTED.findall(cells[1])
            elif len(cells) == 3 and QUOTED.search(cells[1]):
                owner = QUOTED.findall(cells[2])
                self.libraries.append((cells[0], QUOTED.findall(cells[1]), owner[0] if owner else None))

    def library_of(self, header):
        for library in self.libraries:
            if any(fnmatch.fnmatchcase(header, pattern) for pattern in library[1]):
                return library
        return None

    def rooms_of(self, entry):
        """The rooms that an entry opens."""
        if entry.endswith("/**"):
            return [room for room in self.may if (room + "/").startswith(entry[:-2])]
        return [folder_of(entry)]


def rules_of(tree):
    return Rules((tree / "docs" / "ARCHITECTURE.md").read_text())


def folder_of(path):
    return str(path).rpartition("/")[0]


def room_of(path):
    """The row of the table that a C file belongs to."""
    return path.parts[0] if path.parts[0] in LOOKERS else folder_of(path)


def opens(entry, header):
    if entry.endswith("/**"):
        return header.startswith(entry[:-2])
    return entry in (header, folder_of(header) + "/")


def is_product(path):
    return path.suffix in (".c", ".h") and path.parts[0] not in LOOKERS


def functions_in(text):
    """The names of the functions that a C file defines."""
    return FUNCTION.findall(ATTRIBUTE.sub("", text))


def cycle_in(graph):
    """One cycle of a graph {node: {nodes}}, as a list that begins and ends with the same node; [] without a cycle."""
    done = set()

    def walk(node, path):
        if node in path:
            return path[path.index(node) :] + [node]
        if node in done:
            return []
        done.add(node)
        for other in sorted(graph.get(node, ())):
            cycle = walk(other, path + [node])
            if cycle:
                return cycle
        return []

    for node in sorted(graph):
        cycle = walk(node, [])
        if cycle:
            return cycle
    return []
