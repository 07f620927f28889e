# SPDX-License-Identifier: GPL-2.0-only
"""A program that draws on a terminal: `top --live` on a pseudo-terminal of 80x24."""

import fcntl
import os
import pathlib
import re
import select
import struct
import subprocess
import termios
import time

ENTER, LEAVE = b"\033[?1049h", b"\033[?1049l"
# The test gives up after this.
PATIENCE_S = 60


class Screen:
    """A terminal of 80x24 with `top --live` on it."""

    def __init__(self, perftape, folder, env, *options):
        self.ours, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        self.data = b""
        self.program = subprocess.Popen(
            [perftape, "top", "--live", *options],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            env=env,
            cwd=folder,
            start_new_session=True,
        )

    def read(self):
        if select.select([self.ours], [], [], 0.2)[0]:
            self.data += os.read(self.ours, 1 << 16)

    def wait(self, text):
        """Whether a screen that is drawn from now on contains the text."""
        self.data = b""
        return self.has(text)

    def has(self, text):
        end = time.monotonic() + PATIENCE_S
        while text.encode() not in re.sub(rb"\033\[[0-9;]*m", b"", self.data):
            if time.monotonic() > end or self.program.poll() is not None:
                return False
            self.read()
        return True

    def window_ends(self):
        """The ends of the windows that were drawn."""
        return re.findall(rb"window [^ ]+ [^ ]+ to (\S+)", self.data)

    def stops(self):
        end = time.monotonic() + PATIENCE_S
        state = pathlib.Path(f"/proc/{self.program.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "T":
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def press(self, keys, text):
        self.data = b""
        os.write(self.ours, keys.encode())
        return self.has(text)

    def end(self):
        """Returns the exit code, and what is wrong with the terminal."""
        end = time.monotonic() + PATIENCE_S
        while self.program.poll() is None and time.monotonic() < end:
            self.read()
        while select.select([self.ours], [], [], 0.2)[0]:
            self.data += os.read(self.ours, 1 << 16)
        if self.program.poll() is None:
            self.program.kill()
        code = self.program.wait()
        wrongs = [] if LEAVE in self.data else ["it stays on the alternate screen"]
        if termios.tcgetattr(self.theirs) != self.before:
            wrongs.append("the terminal has other settings than before")
        os.close(self.theirs)
        os.close(self.ours)
        return code, wrongs
