#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Attacks by root in a user's container on names, incidents, answers, stores, terminals and rights, beside a recorder.

Usage: container-lies.py PERFTAPE LOAD
       container-lies.py --inside FOLDER PROGRAMS SHARED SECRET MARK     as the root of the container
"""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
NOBODY = 65534
CPU = str(sorted(os.sched_getaffinity(0))[-1])
SECRET = "root's own words"
PYTHON = shutil.which("python3", path="/usr/bin:/bin")  # user nobody may not enter root's home
HOSTILE_NAME = "\x1b[31m\u009b\u202e;=x"
LINKED = ("answer.folded", "prepared/lock", "prepared/notes", "prepared/status", "prepared/index.sqlite")
STORE = ("lock", "notes", "status", "index.sqlite", "segments", "spool")


# Inside


def attempt(what, attack, *words):
    """Runs an attack. Some kernels refuse some of the attacks to users."""
    try:
        attack(*words)
        print(what, flush=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"# {what}: {error}", file=sys.stderr, flush=True)


def bound(folder, programs):
    """The path of the host's program is a forged program here."""
    subprocess.run(["mount", "--bind", folder / "forged", programs / "bound" / "program"], check=True)
    start(programs / "bound" / "program", folder / "in-bound")


def laid(folder, programs):
    """The same with an overlay over the folder of the host's program."""
    for name in ("upper", "work"):
        (folder / name).mkdir()
    shutil.copy(folder / "forged", folder / "upper" / "program")
    lower = programs / "laid"
    places = f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", places, lower], check=True)
    start(lower / "program", folder / "in-laid")


def start(program, link):
    """Starts the program through a link, so that it has the name that the test looks for."""
    link.symlink_to(program)
    return subprocess.Popen([link, CPU])


def escape(folder):
    """A program whose file, and so its name, is made of escapes."""
    shutil.copy(folder / "forged", folder / HOSTILE_NAME)
    subprocess.Popen([folder / HOSTILE_NAME, CPU])


def quote(mark):
    """The kernel quotes what root of a container mounts. All these mounts fail."""
    lies = (
        f"ena 0000:{mark}:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since last napi 6500000"
        " usec. napi scheduled: 1",
        f"INFO: task kube-{mark}:4711 blocked for more than 999 seconds.",
    )
    for lie in (*lies, *(f"\n{lie}\n" for lie in lies)):
        for kind, options in (("overlay", f'lowerdir=/tmp,upperdir="/nonexistent/{lie}",workdir=/tmp'), ("tmpfs", lie)):
            subprocess.run(["mount", "-t", kind, "none", "-o", options, "/mnt"], check=False, capture_output=True)


def link(shared, secret):
    """Links to root's file, where root will write."""
    (shared / "prepared").mkdir()
    for name in LINKED:
        os.symlink(secret, shared / name)


def use_rights(folder, programs, secret):
    """The program to which the host gave file capabilities."""
    with open(folder / "said", "wb") as said:
        for words in (["status", "--config"], ["import"], ["incidents", "scan"], ["segments", "--store"]):
            command = [programs / "perftape", *words, secret]
            subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, check=False)


def look(store):
    """Prints each file of the store that opens, even if only for a lock."""
    for name in STORE:
        try:
            os.close(os.open(store / name, os.O_RDONLY))
            print(f"opened {name}", flush=True)
        except OSError:
            pass


def inside(folder, programs, shared, secret, mark):
    attempt("bound", bound, folder, programs)
    attempt("laid", laid, folder, programs)
    attempt("escape", escape, folder)
    attempt("quote", quote, mark)
    attempt("link", link, shared, secret)
    attempt("rights", use_rights, folder, programs, secret)
    attempt("look", look, programs.parent / "store")
    print("ready", flush=True)
    sys.stdin.readline()


if sys.argv[1] == "--inside":
    inside(*map(pathlib.Path, sys.argv[2:5]), sys.argv[5], sys.argv[6])
    sys.exit(0)

import live  # noqa: E402
import recorders  # noqa: E402
import terminals  # noqa: E402
from recorders import PERFTAPE, expect, folded, perftape, reached, start_sampling, stop, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
SCREENS = (
    ["status"],
    ["segments", "--work"],
    ["top", "--from", "now-5m"],
    ["query", "--from", "now-5m", "--format", "folded"],
    ["query", "--from", "now-5m", "--events"],
    ["explain", "--from", "now-5m"],
    ["incidents", "--all"],
    ["verify"],
)


def prepare(folder):
    """Makes the programs of the host, the forged copy of them, and a folder for all users."""
    programs, shared, place = folder / "programs", folder / "shared", folder / "container"
    for name in ("bound", "laid"):
        (programs / name).mkdir(parents=True)
        shutil.copy(LOAD, programs / name / "program")
    shutil.copy(PERFTAPE, programs / "perftape")
    subprocess.run(["setcap", "cap_dac_read_search,cap_syslog=ep", programs / "perftape"], check=False)
    shared.mkdir()
    shared.chmod(0o1777)
    place.mkdir()
    (place / "forged").write_bytes(pathlib.Path(LOAD).read_bytes().replace(b"load_alpha\0", b"evil_alpha\0"))
    (place / "forged").chmod(0o755)
    for path in (place, place / "forged"):
        os.chown(path, NOBODY, NOBODY)
    return programs, shared, place


class Container:
    def __init__(self, folder, *words):
        tools = shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("corpus", "golden"))
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        command += ["unshare", "-Urmpf", "--mount-proc", "--kill-child", PYTHON]
        command += [tools / "attacks" / "container-lies.py", "--inside", *words]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        self.names = []
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            self.names.append(line.strip())

    def close(self):
        self.process.kill()
        self.process.wait()


def wrong_names(store, programs, folder, names):
    """Starts the host's own programs, and looks at their names."""
    wrong, tried = [], [name for name in ("bound", "laid") if name in names]
    for name in tried:
        sampled = wait_for(lambda name=name: folded(store, "--comm", f"in-{name}"))
        wrong += expect(f"the forged program of {name} is sampled", sampled)
    own = [start(programs / name / "program", folder / f"own-{name}") for name in tried]
    for name in tried:
        named = wait_for(lambda name=name: "load_alpha" in folded(store, "--comm", f"own-{name}"))
        stacks = folded(store, "--comm", f"own-{name}")
        wrong += expect(f"the host's program of {name} has its own names", named and "evil" not in stacks, stacks[:300])
    for process in own:
        process.kill()
        process.wait()
    return wrong


def state(path):
    about = path.stat()
    return about.st_ino, stat.filemode(about.st_mode), about.st_uid, path.read_bytes()


def wrong_files(store, shared, secret):
    """Root writes where the container has links."""
    before = state(secret)
    perftape("query", "--store", store, "--from", "now-5m", "--format", "folded", "-o", shared / "answer.folded")
    for words in (["record", "--duration", "1s"], ["mark", "x"], ["vacuum"], ["status"]):
        perftape(words[0], "--store", shared / "prepared", *words[1:])
    return expect("0 files changed", state(secret) == before, state(secret))


def wrong_incidents(store, snapshots, mark):
    log = subprocess.run(["dmesg"], capture_output=True, check=True, text=True, errors="replace").stdout
    wrong = expect("the kernel quotes the container", mark in log)
    listed = perftape("incidents", "--store", store, "--json", "-q", "--all").stdout
    rows = [row["line"] for row in recorders.parse_json(listed)[0] if mark in row["line"]]
    wrong += expect("0 incidents forged", rows == [], rows)
    left = [path.name for path in snapshots.glob("*") if "ena.tx_stall" in path.name or "task.hung" in path.name]
    return wrong + expect("no snapshot is left of them", left == [], left)


@live.test(lacks=live.lacking(PYTHON, "a python3 in /usr/bin"))
def test_lies(folder):
    """root of a container forges no name, incident or answer, reads no file, and puts no escape on a terminal"""
    folder.chmod(0o755)
    store, snapshots, mark = folder / "store", folder / "snapshots", os.urandom(3).hex()
    programs, shared, place = prepare(folder)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        secret = pathlib.Path(home) / "secret"
        secret.write_text(f"{SECRET}\n")
        secret.chmod(0o600)
        os.chmod(home, 0o755)
        recorder = start_sampling(store, "--segment", "2s", "-F", "199", "--snapshot-dir", snapshots)
        container = Container(folder, place, programs, shared, secret, mark)
        print(f"# attacks: {' '.join(container.names)}", flush=True)
        try:
            wrong = expect("at least 5 attacks run", len(container.names) >= 5, container.names)
            opened = [name for name in container.names if name.startswith("opened")]
            wrong += expect("nothing of the store can be opened", opened == [], opened)
            wrong += wrong_names(store, programs, folder, container.names)
            wrong += wrong_files(store, shared, secret)
            said = (place / "said").read_text(errors="replace") if "rights" in container.names else ""
            wrong += expect("0 bytes read", SECRET not in said, said)
            seen = reached(store)
            wrong += expect("the recorder goes on", wait_for(lambda: reached(store) > seen + 2))
        finally:
            container.close()
        stop(recorder)
    wrong += expect("record ends with exit code 0", recorder.returncode == 0, recorder.returncode)
    wrong += wrong_incidents(store, snapshots, mark)
    for words in SCREENS:
        found = terminals.controls([PERFTAPE, words[0], "--store", store, *words[1:]], folder)
        wrong += expect(f"no control character in {words}", found == [], found)
    return wrong


if __name__ == "__main__":
    sys.exit(live.main())
