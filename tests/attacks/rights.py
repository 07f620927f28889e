#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual's recipe for file capabilities, word by word: a user who may execute such a program
cannot read other files with it.

Usage: rights.py PERFTAPE
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import PERFTAPE, WAIT, expect, wait_for  # noqa: E402

MANUAL = TESTS.parent / "docs" / "man" / "perftape-record.1"
NOBODY = 65534
SECRET = "Xyzzy42:the-secret-of-root"
LINE = f"acme nvme7: {SECRET} timed out"
PATTERNS = "[*]\nacme.any err - Xyzzy42{*}\n"
NO_SUID = os.statvfs("/tmp").f_flag & os.ST_NOSUID
PRELUDE = """
mount --make-rprivate /
cp -a /etc etc-copy
mount --bind etc-copy /etc
mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
exec sleep infinity
"""


def recipe():
    """The lines of the manual's recipe, as a shell gets them."""
    text = MANUAL.read_text(encoding="ascii")
    lines = re.search(r"\.nf\n(groupadd .*?)\.fi\n", text, re.S)[1]
    return lines.replace("\\-", "-").replace("\\\n", "")


class Host:
    """A mount namespace with an /etc of its own, so that the recipe's group is not left on this machine."""

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        shutil.copy(PERFTAPE, folder / "perftape")
        self.secret = folder / "secret"
        self.secret.write_text(f"{LINE}\n")
        self.secret.chmod(0o600)
        self.own = folder / "own"
        self.own.mkdir()
        (self.own / "mine.conf").write_text(PATTERNS)
        (self.own / "settings").write_text("")
        for path in (self.own, *self.own.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-e", "-c", PRELUDE], cwd=folder)
        wait_for(lambda: pathlib.Path(f"/proc/{self.holder.pid}/comm").read_text() == "sleep\n")

    def inside(self, *words):
        # the folder is entered inside, because a file of another mount namespace gives no capabilities
        return ["nsenter", "-t", str(self.holder.pid), "-m", "env", "-C", str(self.folder), *map(str, words)]

    def as_nobody(self, groups, *words):
        # env starts the program, because setpriv still has root's rights when it starts one
        return self.inside("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", groups, "env", *words)

    def member(self, *words):
        """A command of a user whom the recipe lets execute the program."""
        return self.as_nobody("--groups=perftape", *words)

    def run(self, command, **environment):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=WAIT,
            env=dict(os.environ, **environment),
        )
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def close(self):
        self.holder.kill()
        self.holder.wait()


@contextlib.contextmanager
def host(folder, lines):
    made = Host(folder)
    try:
        done = subprocess.run(made.inside("sh", "-e", "-c", lines), check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        yield made
    finally:
        made.close()


def readings(made):
    """Each way in which a caller names a file: (the words, the environment)."""
    for path in ("/etc/shadow", made.secret):
        for command in ("status", "record", "top", "query --at now", "verify"):
            yield [*command.split(), "--config", path], {}
            yield command.split(), {"PERFTAPE_CONFIG": str(path)}
        yield ["incidents", "scan", "--json", "--patterns", made.own, path], {}
        yield ["incidents", "scan", "--store", path], {}
        yield ["import", path], {"TMPDIR": "/root"}
        yield ["status", "--store", path], {}
    for folder in ("/root", "/etc/ssl/private"):
        yield ["record", "--duration", "1s", "--patterns", folder, "--store", made.own / "store"], {}
        yield ["status", "--store", folder], {}
        yield ["segments"], {"PERFTAPE_STORE": folder}
    yield ["record", "--duration", "1s", "--patterns", made.secret, "--store", made.own / "store"], {}


def leaks(text):
    """The secret, or a line of the password file, in the output of a command."""
    return SECRET in text or re.search(r"^.*\broot:[^ ]*:", text, re.M) is not None


def read_all(folder, lines):
    with host(folder, lines) as made:
        strange = made.run(made.as_nobody("--clear-groups", "./perftape", "--version"))
        told = made.run(made.member("./perftape", "--version"))
        wrong = expect("a stranger may not execute the program", "denied" in strange[1], strange)
        wrong += expect("a member may", told[0] == 0, told)
        for words, environment in readings(made):
            code, text = made.run(made.member("./perftape", *words), **environment)
            wrong += expect(f"no secret from {words} {environment}", not leaks(text), code, text)
        return wrong


@live.test(lacks=live.lacking(not NO_SUID, "a /tmp without nosuid"))
def test_recipe(folder):
    """a member of the recipe's group reads no file of root's through options, settings or patterns"""
    return read_all(folder, recipe())


@live.test(lacks=live.lacking(not NO_SUID, "a /tmp without nosuid"))
def test_effective(folder):
    """the same where the file's capabilities are effective from the start, as the manual had it once"""
    return read_all(folder, recipe().replace("=p ", "=ep "))


def helpers(pid):
    """{pid: name} of the helpers of a process, which start helpers, too."""
    found = {}
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread or the process ended meanwhile
            for child in children.read_text().split():
                found[child] = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
                found |= helpers(child)
    return found


def told_by(made):
    """The status of the recorder, as JSON."""
    return made.run([PERFTAPE, "status", "--json", "--store", made.own / "store"])[1]


@live.test(lacks=live.lacking(not NO_SUID, "a /tmp without nosuid"))
def test_recipe_records(folder):
    """the recipe is enough to record, the recorder hides its memory, and a reload reads as its caller"""
    with host(folder, recipe()) as made:
        settings = made.own / "settings"
        with open(folder / "told", "wb") as told:
            recorder = subprocess.Popen(
                made.member("./perftape", "record", "--config", settings, "--store", made.own / "store"),
                stderr=told,
                stdout=told,
            )
        wait_for(lambda: list((made.own / "store").glob("spool/*")) or recorder.poll() is not None)
        if recorder.poll() is not None:
            return expect("record keeps recording", False, (folder / "told").read_text())
        hidden = os.stat(f"/proc/{recorder.pid}/environ").st_uid
        parts = {}

        def has_both():
            parts.clear()
            parts.update(helpers(recorder.pid))
            return {"perftape-open", "perftape-name"} <= set(parts.values())

        wait_for(has_both)
        spied = [made.run(made.member("ls", f"/proc/{pid}/fd")) for pid in parts]
        wait_for(lambda: '"lacks":' in told_by(made))
        lacks = re.search(r'"lacks":"(.*?)"', told_by(made))[1]
        settings.unlink()
        settings.symlink_to(made.secret)
        recorder.send_signal(signal.SIGHUP)
        wait_for(lambda: b"stay unchanged" in (folder / "told").read_bytes() or recorder.poll() is not None)
        recorder.send_signal(signal.SIGTERM)
        code = recorder.wait(WAIT)
        text = (folder / "told").read_text()
        return (
            expect("record ends with exit code 0", code == 0, code, text)
            + expect("a process that names, and one that opens files", "perftape-name" in parts.values(), parts)
            + expect("its user sees none of their files", all(code for code, _ in spied), parts, spied)
            + expect("/proc of the recorder is root's", hidden == 0, hidden)
            + expect("the reload shows nothing of the file", not leaks(text), text)
            # a counter is not a right
            + expect("the recorder lacks no right", lacks in ("", "cycles"), lacks)
        )


if __name__ == "__main__":
    sys.exit(live.main())
