# SPDX-License-Identifier: GPL-2.0-only
"""What a command writes to a terminal of its own, and the characters that must not be in it."""

import contextlib
import os
import pty


def on_terminal(words, folder):
    """The text that a command writes to its own terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"], os.environ["NO_COLOR"], os.environ["LANG"] = "xterm", "1", "C.UTF-8"
        os.execv(words[0], list(map(str, words)))
    said = b""
    with contextlib.suppress(OSError):
        while piece := os.read(fd, 65536):
            said += piece
    os.waitpid(pid, 0)
    os.close(fd)
    return said


def is_control(character):
    code = ord(character)
    return (
        (code < 0x20 and character not in "\n\r\t")
        or 0x7F <= code <= 0x9F
        or 0x200B <= code <= 0x200F
        or 0x202A <= code <= 0x202E
        or 0x2060 <= code <= 0x206F
        or code in (0xFEFF, 0xFFFD)
    )


def controls(words, folder):
    """The control characters that a command writes to its own terminal."""
    said = on_terminal(words, folder).decode("utf-8", "replace")
    return sorted({character for character in said if is_control(character)})
