#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The program prints through cli/options/print and query/text/output alone, which clean foreign text. No other file
calls a function that prints, hands standard output or standard error to one, or has a list of control characters."""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

# Folders of the tree that are no part of the program.
OTHERS = ("bench", "tests", "packaging")
# The one place for each way out, and why it is one.
OUTLETS = {
    "cli/options/print.c": "cleans what it prints",
    "cli/screens/top-terminal.c": "draws a screen, whose lines it cleans",
    "query/text/output.c": "cleans what goes to a terminal; each format cleans its names",
    "base/output-relay.c": "passes on what another process of ours has printed",
}
PRINTS = re.compile(
    r"\b(?:v?f?printf|v?dprintf|(?:f?puts|f?putc|putchar|fwrite)(?:_unlocked)?|perror|psignal|v?warnx?|v?errx?|syslog"
    r"|error_at_line)\s*\("
)
OWN = re.compile(r"\b(?:warn)\s*\(")
STREAMS = re.compile(r"\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b")
# Questions about a stream, which put nothing into it.
ASKS = re.compile(
    r"\b(?:fflush|ferror|clearerr|isatty|terminal_read|ioctl|fcntl|fstat|fileno|poll|dup2|print_text|print_string"
    r"|posix_spawn_file_actions_addopen)\b|\bfd [<=]= |\.fd = "
)
LISTS = re.compile(r"\b(?:isw?cntrl|isw?print)\s*\(|0x(?:9f|200b|200f|202[89a-e]|206[0-9a-f]|feff)\b", re.I)
LIST_OF_ALL = "base/foreign.c"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def bare(text):
    """The code without comments and the contents of strings, line for line."""
    text = COMMENT.sub(lambda found: "\n" * found.group(0).count("\n"), text)
    return STRING.sub('""', text)


def wrong_line(path, line):
    if path not in OUTLETS:
        if PRINTS.search(OWN.sub("", line)):
            return "prints; use say(), warn(), fail(), cli/options/print or query/text/output"
        if STREAMS.search(line) and not ASKS.search(line):
            return "hands on a stream; use cli/options/print"
    if path != LIST_OF_ALL and LISTS.search(line):
        return "has its own list of characters; use base/foreign"
    return None


def wrong(tree):
    for path in tap.files(tree):
        if path.suffix not in (".c", ".h") or path.parts[0] in OTHERS:
            continue
        for number, line in enumerate(bare((tree / path).read_text()).split("\n"), 1):
            found = wrong_line(str(path), line)
            if found:
                yield f"{path}:{number}: {found}"
    for path in OUTLETS:
        if not (tree / path).exists():
            yield f"{path} does not exist; remove it from the outlets"


def made(folder, line):
    for path in OUTLETS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("")
    (folder / "cli/commands").mkdir(exist_ok=True)
    (folder / "cli/commands/cmd-x.c").write_text(f"void f(void)\n{{\n\t{line}\n}}\n")
    return list(wrong(folder))


def finds():
    """The check itself: what it refuses, and what it allows."""
    refused = (
        'printf("%s", comm);',
        "fputs(comm, stderr);",
        "fwrite(text.data, 1, text.size, stdout);",
        "dprintf(2, comm);",
        "file_write_all(STDOUT_FILENO, comm, 3);",
        "if (iscntrl(c))",
        "if (c >= 0x202a && c <= 0x202e)",
        "put(stderr, comm);",
        'perror("x");',
    )
    allowed = (
        'say(invocation, "%s", comm);',
        'warn("%s", comm);',
        "fflush(stdout);",
        "print_text(stdout, &text, false);",
        'snprintf(text, 3, "printf(");',
        "/* printf(comm) */",
        "buffer_printf(text, comm);",
    )
    for line in refused:
        with tempfile.TemporaryDirectory() as folder:
            if not made(pathlib.Path(folder), line):
                yield f"does not refuse {line}"
    for line in allowed:
        with tempfile.TemporaryDirectory() as folder:
            if made(pathlib.Path(folder), line):
                yield f"refuses {line}"


def main():
    tree = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tap.TREE
    return tap.run(
        [
            ("no text leaves the program past the outlets", list(wrong(tree))),
            ("this check refuses each other way", list(finds())),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
