#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The format of all files: clang-format for C, .editorconfig for the rest. No file names a folder of the machine on
which it was written."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

# In two pieces, so that this line does not match.
TRACE = re.compile(r"(?<![\w.~}])/wo" r"rk/")


def read_editorconfig(text):
    """[(pattern of paths, {property: value})] in the order of the file."""
    sections = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            sections.append((glob_pattern(line[1:-1]), {}))
        elif "=" in line and sections and line[0] not in "#;":
            name, value = (part.strip().lower() for part in line.split("=", 1))
            sections[-1][1][name] = value
    return sections


def glob_pattern(glob):
    pieces = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    pattern = "".join(pieces.get(piece, re.escape(piece)) for piece in re.findall(r"\*\*|.", glob))
    return re.compile(pattern if "/" in glob else "(?:.*/)?" + pattern)


def properties_of(path, sections):
    merged = {}
    for pattern, properties in sections:
        if pattern.fullmatch(str(path)):
            merged.update(properties)
    return merged


def wrong_text(path, data, rules):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if rules.get("charset") == "utf-8":
            yield f"{path}: is not UTF-8 at byte {error.start}"
        return
    if rules.get("end_of_line") == "lf" and "\r" in text:
        yield f"{path}: has carriage returns"
    if rules.get("insert_final_newline") == "true" and text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield f"{path}: does not end with one newline"
    for number, line in enumerate(text.split("\n"), 1):
        if rules.get("trim_trailing_whitespace") == "true" and line != line.rstrip():
            yield f"{path}:{number}: ends with blanks"
        if rules.get("indent_style") == "tab" and re.match(r" {2,}[^ *]", line):
            yield f"{path}:{number}: is indented with spaces"
        if rules.get("indent_style") == "space" and re.match(r" *\t", line):
            yield f"{path}:{number}: is indented with a tab"


def wrong_texts(tree, sections):
    for path in tap.files(tree):
        data = (tree / path).read_bytes()
        if b"\0" not in data:
            yield from wrong_text(path, data, properties_of(path, sections))


def traces(tree):
    for path in tap.files(tree):
        text = (tree / path).read_bytes().decode("utf-8", "replace")
        for number, line in enumerate(text.split("\n"), 1):
            if TRACE.search(line):
                yield f"{path}:{number}: names a folder of the machine that it was written on"


def wrong_c(tree):
    paths = [str(path) for path in tap.files(tree) if path.suffix in (".c", ".h")]
    command = ["clang-format", "--dry-run", "-Werror", "--ferror-limit=3", *paths]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    wrongs = [line for line in done.stderr.splitlines() if "error:" in line]
    return wrongs if wrongs or done.returncode == 0 else [f"clang-format: {done.stderr}"]


def self_test():
    sections = read_editorconfig(
        "[*]\ninsert_final_newline = true\n[*.{c,h}]\nindent_style = tab\n[a/**]\ninsert_final_newline = unset\n"
    )
    cases = [
        ("b/x.c", b"{\n\tint i;\n\t/*\n\t * Text.\n\t */\n}\n", 0),
        ("b/x.c", b"{\n        int i;\n}\n", 1),
        ("b/x.c", b"int i;", 1),
        ("b/x.py", b"    x\n", 0),
        ("a/b/x.txt", b"x", 0),
    ]
    for path, data, count in cases:
        found = len(list(wrong_text(path, data, properties_of(path, sections))))
        if found != count:
            yield f"{path} {data}: {found} found, not {count}"


def main():
    tree = tap.TREE
    sections = read_editorconfig((tree / ".editorconfig").read_text())
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("clang-format would change nothing", wrong_c(tree)),
            ("files keep .editorconfig", list(wrong_texts(tree, sections))),
            ("files name no folder of a developer's machine", list(traces(tree))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
