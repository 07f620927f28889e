#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Attacks of another user on root's answers and stores, and stores and logs that somebody hands over.

Each attack must change no file, read none, put no control byte on a terminal, and cost a reader at most 256 MB and 5 s.
Usage: hostile-stores.py PERFTAPE MANY_CPUS
"""

import contextlib
import ctypes
import datetime
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "format")]
import tap  # noqa: E402
import terminals  # noqa: E402
from sections import ENTRY, HEADER, crc32c  # noqa: E402

PERFTAPE = os.path.abspath(sys.argv[1])
# a library to preload, so that readers start as many threads as on a host with 64 CPUs
MANY_CPUS = os.path.abspath(sys.argv[2])
NOBODY = 65534
MEMORY_MAX = 256 << 20
SECONDS_MAX = 5
# the lines of an answer about its window and its coverage
ANSWER = re.compile(rb"perftape: (?:window |note: |gap: |[^\n]*; covered )[^\n]*\n")
LINES_MAX = 8  # lines of an answer, with the lines about its coverage
NOTES_BYTES = 9 << 20
JUMPS = 20000  # lines
MANY = 12  # segments: more than the threads that fit into the memory
SECRET = "root's own words\n"
HOSTILE_NAME = b"\x1b[31m\xc2\x9b\x07;=x"
ALL = ("--from", "@1500000000", "--to", "now")
READERS = (
    ["status"],
    ["status", "--openmetrics"],
    ["segments"],
    ["segments", "--work"],
    ["verify"],
    ["top", *ALL],
    ["heatmap", *ALL],
    ["spikes", *ALL],
    ["diff", *ALL],
    ["explain", *ALL],
    ["gauges", *ALL],
    ["gauges", "--csv", *ALL],
    ["incidents"],
    ["incidents", "--json"],
    ["query", *ALL],
    ["query", "--format", "folded", *ALL],
    ["query", "--format", "json", *ALL],
    ["query", "--events", *ALL],
    ["flamegraph", *ALL],
    ["snapshot", *ALL, "-o", "copy.tape", "--force"],
    ["resolve"],
)


def run(*words, folder=None, **more):
    words = [PERFTAPE, *map(str, words)]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=120, **more)


def as_nobody(script, folder):
    """Runs a shell script as nobody, and again as root of nobody's user namespace, if the host
    allows such a namespace."""
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    subprocess.run([*words, "sh", "-c", script], cwd=folder, check=False, capture_output=True)
    subprocess.run([*words, "unshare", "-Urm", "sh", "-c", script], cwd=folder, check=False, capture_output=True)


def state(path):
    """The properties of a file that an attack must not change."""
    about = path.stat()
    return about.st_ino, stat.filemode(about.st_mode), about.st_uid, path.read_bytes()


def spin(name, seconds):
    """A process with a given name that is busy for a while."""
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)
    return pid


def recorded(folder):
    """A store in which a process with a hostile name ran."""
    store = folder / "store"
    pid = spin(HOSTILE_NAME, 4)
    run("record", "--store", store, "--duration", "3s", "--segment", "1s")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    run("mark", "--store", store, "deploy \x1b[31m\x9b\u202e")
    return store


# Answers


def test_answers(folder, store):
    """Writes with -o to names in a shared folder where the user nobody has put links, files and pipes."""
    shared, secret = folder / "shared", folder / "secret"
    shared.mkdir()
    shared.chmod(0o1777)
    secret.write_text(SECRET)
    secret.chmod(0o600)
    before = state(secret)
    names = ("link.folded", "again.folded", "hard.folded", "own.folded")
    as_nobody(
        f"ln -s {secret} link.folded; ln -s link.folded again.folded; ln {secret} hard.folded; echo x > own.folded;"
        " mkfifo pipe.folded; chmod 666 pipe.folded; cat pipe.folded > stolen 2> /dev/null &",
        shared,
    )
    foreign = {name: (shared / name).lstat().st_uid for name in names if os.path.lexists(shared / name)}
    for name in (*names, "pipe.folded"):
        if not os.path.lexists(shared / name):
            continue
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = run("query", "--store", store, "--format", "folded", *ALL, "-o", shared / name)
            if code.returncode == 0:
                yield f"query -o replaced {name}, which belongs to uid {foreign.get(name)}"
    if state(secret) != before:
        yield f"{secret} was changed: {state(secret)}"
    stolen = shared / "stolen"
    if stolen.exists() and stolen.stat().st_size:
        yield f"nobody read {stolen.stat().st_size} bytes from a pipe"
    # ends the reader of the pipe
    with contextlib.suppress(OSError):
        os.close(os.open(shared / "pipe.folded", os.O_WRONLY | os.O_NONBLOCK))
    answer = folder / "answer.folded"
    run("query", "--store", store, "--format", "folded", *ALL, "-o", answer)
    if stat.S_IMODE(answer.stat().st_mode) != 0o600:
        yield f"an answer has mode {stat.filemode(answer.stat().st_mode)}"


# The store's folder


def test_foreign_store(folder, _store):
    """Root writes into a store in which the user nobody has put links to root's files."""
    names = "lock notes last-words status gone kernel-log snapshots index.sqlite notes.damaged".split()
    targets = folder / "targets"
    targets.mkdir(mode=0o700)
    for name in names:
        (targets / name).write_text(SECRET)
    (targets / "segments").mkdir()
    before = {name: state(targets / name) for name in names}
    for owner in (NOBODY, 0):
        prepared = folder / f"prepared-{owner}"
        prepared.mkdir()
        for name in (*names, "segments", "spool"):
            (prepared / name).symlink_to(targets / name)
        os.chown(prepared, owner, owner)
        for words in (["record", "--duration", "1s"], ["mark", "x"], ["vacuum"], ["verify", "--repair"], ["status"]):
            run(words[0], "--store", prepared, *words[1:])
        for name in names:
            if state(targets / name) != before[name]:
                yield f"the target of {name} in a folder of uid {owner} was changed"
        if list((targets / "segments").iterdir()):
            yield f"segments were written through a link in a folder of uid {owner}"


def test_moved_store(folder, _store):
    """Root's store in a folder of another user, who moves it away while root records."""
    home, aim = folder / "home", folder / "aim"
    home.mkdir()
    (home / "store").mkdir(mode=0o700)
    aim.mkdir(mode=0o700)
    (aim / "status").write_text(SECRET)
    before = state(aim / "status")
    os.chown(home, NOBODY, NOBODY)
    swap = f"while :; do mv store away; ln -sfn {aim} store; rm store; mv away store; done"
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c", swap]
    mover = subprocess.Popen(words, cwd=home, stderr=subprocess.DEVNULL)
    for _ in range(10):
        code = run("record", "--store", home / "store", "--duration", "300ms").returncode
        if code == 0:
            yield "root records into a folder that another user moves"
    mover.kill()
    mover.wait()
    if [path.name for path in aim.iterdir()] != ["status"] or state(aim / "status") != before:
        yield f"root wrote through the link of a stranger: {list(aim.iterdir())}"


def test_modes(folder, store):
    """Other users can neither read a store nor hold its lock. A recorder takes these rights from an old store."""
    for path in (store, *store.rglob("*")):
        about = path.lstat()
        if stat.S_IMODE(about.st_mode) & 0o077:
            yield f"{path.relative_to(folder)} has mode {stat.filemode(about.st_mode)}"
    old = folder / "old"
    shutil.copytree(store, old)
    for path in (old, *old.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    old.chmod(0o777)
    said = run("segments", "--store", old).stderr.decode()
    if said.count("other users can write there") != 1:
        yield f"a reader does not say that others can write: {said}"
    said = run("record", "--store", old, "--duration", "1s").stderr.decode()
    if said.count("other users could read it") != 1:
        yield f"the recorder does not say that it takes rights away: {said}"
    for path in (old, *old.rglob("*")):
        if stat.S_IMODE(path.lstat().st_mode) & 0o077:
            yield f"{path.relative_to(folder)} of an old store keeps mode {stat.filemode(path.lstat().st_mode)}"


# Stores that somebody hands over


def varint(number):
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def packed(raw):
    return subprocess.run(["zstd", "-q", "-19", "-c"], input=raw, capture_output=True, check=True).stdout


def segment_with(tape, name, raw, padding):
    """A segment like another one, in which the first column of a section is `raw` and a section has random bytes."""
    data = tape.read_bytes()
    (sections,) = struct.unpack_from("<I", data, 12)
    entries = [list(struct.unpack_from("<8sIIQQQ", data, HEADER + ENTRY * i)) for i in range(sections)]
    bodies = [data[entry[3] : entry[3] + entry[4]] for entry in entries]
    for i, entry in enumerate(entries):
        if entry[0].rstrip(b"\0").decode() == name:
            stored = packed(raw)
            bodies[i], entry[5] = varint(len(raw)) + varint(len(stored)) + stored, len(raw)
    entries.append([b"padding\0", 0, 0, 0, 0, 0])
    bodies.append(random.Random(1).randbytes(padding))
    at = HEADER + ENTRY * len(entries) + 4
    for entry, body in zip(entries, bodies):
        entry[2:5] = crc32c(body), at, len(body)
        at += len(body)
    table = b"".join(struct.pack("<8sIIQQQ", *entry) for entry in entries)
    head = bytearray(data[: HEADER - 4])
    struct.pack_into("<IQ", head, 12, len(entries), at)
    head += struct.pack("<I", crc32c(bytes(head)))
    return bytes(head) + table + struct.pack("<I", crc32c(table)) + b"".join(bodies)


def replace_tapes(store, tape, count=0):
    """Writes the tape over each segment, and over `count` more of the same boot."""
    folder = store / "segments"
    first = min(folder.glob("*.tape")).name.rsplit("-", 1)[0]
    for path in (*folder.glob("*.tape"), *(folder / f"{first}-{i:010}.tape" for i in range(100, 100 + count))):
        path.write_bytes(tape)
    (store / "index.sqlite").unlink(missing_ok=True)


def note(fields):
    """A record of notes (docs/FORMAT.md): an incident with these fields."""
    body = struct.pack("<IQI", 1, 1_760_000_000_000_000_000, len(fields))
    body += b"".join(name + b"\0" + value + b"\0" for name, value in fields)
    size = struct.pack("<I", len(body))
    return b"\x9fnot" + size + struct.pack("<I", crc32c(size + body)) + body


def false_notes():
    """At each eighth byte, a record seems to begin."""
    return struct.pack("<4sI", b"\x9fnot", 65552) * (NOTES_BYTES // 8)


def small_notes():
    one = note([(b"kind", b"k")])
    return one * (NOTES_BYTES // len(one))


def kind_notes():
    """Incidents of which each has a kind of its own."""
    return b"".join(note([(b"kind", b"k%x" % i)]) for i in range(NOTES_BYTES // 35))


def put_spool(store, tape, size):
    """Puts a spool of one block of zeros, of the boot of a tape, into a store."""
    boot = tape.name.rsplit("-", 1)[0]
    frame = packed(bytes(size))
    head = struct.pack("<8sIIQQQIII", b"PERFSPOL", 1, 0, 999, 10**18, 2 * 10**18, 1000, size, len(frame))
    head += struct.pack("<I40s", crc32c(frame), boot.encode())
    (store / "spool").mkdir(exist_ok=True)
    (store / "spool" / f"{boot}-0000000999.spool").write_bytes(head + struct.pack("<I", crc32c(head)) + frame)


def hostile_stores(store, folder):
    """Yields pairs of a description and the folder of a store."""

    def copy(what):
        path = folder / what.replace(" ", "-")
        shutil.copytree(store, path)
        return what, path

    tape = sorted((store / "segments").glob("*.tape"))[0]
    one = copy("columns that unpack to 500 MB")
    replace_tapes(one[1], segment_with(tape, "strings", bytes(500 << 20), 400_000))
    yield one
    one = copy("columns that unpack to 20 MB of strings")
    numbers = b"".join(b"%x\0" % i for i in range(3_000_000))
    replace_tapes(one[1], segment_with(tape, "strings", numbers[: 20 << 20].rsplit(b"\0", 1)[0] + b"\0", 400_000))
    yield one
    one = copy("strings just within the bounds")
    raw = b"".join(b"%x\0" % i for i in range(0x1000, 900_000))
    replace_tapes(one[1], segment_with(tape, "strings", raw, 1_300_000), MANY)
    yield one
    one = copy("an index with a view")
    with contextlib.closing(sqlite3.connect(one[1] / "index.sqlite")) as db:
        db.executescript(
            "DROP TABLE segments; CREATE VIEW segments AS"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS name, '' AS boot_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n"
        )
    yield one
    one = copy("an index that is a pipe")
    (one[1] / "index.sqlite").unlink()
    os.mkfifo(one[1] / "index.sqlite")
    yield one
    one = copy("notes and segments that are pipes")
    for path in (one[1] / "notes", one[1] / "status", one[1] / "lock", one[1] / "segments" / tape.name):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    yield one
    one = copy("notes of 200 MB")
    os.truncate(one[1] / "notes", 200 << 20)
    yield one
    for what, make in (("false records", false_notes), ("small incidents", small_notes), ("kinds", kind_notes)):
        one = copy(f"notes of {what}")
        (one[1] / "notes").write_bytes(make())
        yield one
    one = copy("a spool that unpacks to 255 MB")
    put_spool(one[1], tape, 255 << 20)
    yield one
    one = copy("a segment of 900 MB of zeros")
    os.truncate(one[1] / "segments" / tape.name, 900 << 20)
    yield one
    one = copy("links to files of root")
    secret = folder / "shadow"
    secret.write_text(SECRET)
    (folder / "kept").write_text(SECRET)
    for beside in ("-wal", "-shm"):
        path = one[1] / f"index.sqlite{beside}"
        path.unlink(missing_ok=True)
        path.hardlink_to(folder / "kept")
    for path in (one[1] / "notes", one[1] / "gone", one[1] / "segments" / tape.name):
        path.unlink(missing_ok=True)
        path.symlink_to(secret)
    yield one


# Starts a command and reports its costs. A child of this script would begin with the memory of Python, and ru_maxrss
# counts that; here the parent of the command is small.
LAUNCHER = """
import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], {**os.environ, "LD_PRELOAD": os.environ["MANY_CPUS"]})
signal.alarm(60)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
_, status, used = os.wait4(pid, 0)
with open(sys.argv[1], "w") as out:
    print(os.waitstatus_to_exitcode(status), used.ru_maxrss << 10, used.ru_utime + used.ru_stime, file=out)
"""


def costs(words, folder):
    """(exit code, output, errors, bytes of memory, seconds) of one command."""
    report = folder / "costs"
    launcher = [sys.executable, "-S", "-c", LAUNCHER, report, PERFTAPE, *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        subprocess.run(
            list(map(str, launcher)),
            cwd=folder,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            check=True,
            env=dict(os.environ, MANY_CPUS=MANY_CPUS),
        )
        code, memory, seconds = report.read_text().split()
        out.seek(0)
        err.seek(0)
        return int(code), out.read(8 << 20), err.read(8 << 20), int(memory), float(seconds)


def test_readers(folder, store):
    """A hostile store through every reading command."""
    most, longest = 0, 0
    for what, hostile in hostile_stores(store, folder):
        for words in READERS:
            code, said, errors, memory, seconds = costs([words[0], "--store", hostile, *words[1:]], folder)
            shown = f"{' '.join(words)} with {what}"
            most, longest = max(most, memory), max(longest, seconds)
            if code < 0:
                yield f"{shown}: ended by signal {-code}"
            if memory > MEMORY_MAX:
                yield f"{shown}: {memory >> 20} MB"
            if seconds > SECONDS_MAX:
                yield f"{shown}: {seconds:.1f} s of CPU"
            if code and ANSWER.sub(b"", errors).count(b"\n") != 1:
                yield f"{shown}: not one line says what is wrong: {errors[:600]}"
            if errors.count(b"\n") > LINES_MAX:
                yield f"{shown}: {errors.count(10)} lines"
            if SECRET.strip().encode() in said + errors:
                yield f"{shown}: shows a file of root's"
        shutil.rmtree(hostile)
    if (folder / "kept").read_text() != SECRET:
        yield "a reader wrote to a file of root's that has a hard link in a store"
    print(f"# readers took at most {most >> 20} MB and {longest:.1f} s of CPU")


def test_packed_log(folder, _store):
    """A log of some KB that unpacks to gigabytes: it may fill neither the memory nor the folder for temporary files."""
    bomb = folder / "bomb.zst"
    zeros = subprocess.Popen(["head", "-c", str(4 << 30), "/dev/zero"], stdout=subprocess.PIPE)
    with bomb.open("wb") as out:
        subprocess.run(["zstd", "-q", "-c"], stdin=zeros.stdout, stdout=out, check=True)
    zeros.wait()
    limit = 512 << 20
    code = subprocess.run(
        [PERFTAPE, "incidents", "scan", bomb],
        capture_output=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    if code.returncode == 0 or b"unpack" not in code.stderr:
        yield f"incidents scan of {bomb.stat().st_size} bytes: {code.returncode}, {code.stderr}"


def test_jumping_log(folder, store):
    """A log of which each line is in another segment than the line before it."""
    log = folder / "jumping.log"
    said = run("segments", "--json", "--store", store).stdout.splitlines()
    rows = [row for row in map(json.loads, said) if "begin" in row]
    begins = [datetime.datetime.fromisoformat(row["begin"].rstrip("Z") + "+00:00").timestamp() for row in rows]
    booted = time.time() - time.monotonic()
    stamps = [begin - booted + 0.2 for begin in begins]
    hung = "INFO: task x:1 blocked for more than 120 seconds."
    log.write_text("".join(f"[{stamps[i % len(stamps)]:.6f}] {hung}\n" for i in range(JUMPS)))
    code, said, errors, memory, seconds = costs(["incidents", "scan", "--json", "--store", store, log], folder)
    if code or said.count(b"task.hung") != JUMPS:
        yield f"incidents scan of {JUMPS} jumps: {code}, {said.count(b'task.hung')} incidents, {errors[:300]}"
    if b"jumps between segments" not in errors:
        yield f"it does not say that times are those of the log: {errors[:300]}"
    if memory > MEMORY_MAX or seconds > SECONDS_MAX:
        yield f"incidents scan of {JUMPS} jumps: {memory >> 20} MB, {seconds:.1f} s of CPU"


# The state of ship, and what a follower leaves


def test_state(folder, store):
    """A folder for the state of ship in which another user put a link to a file of root's, and one for snapshots in
    which the file of the follower is a pipe."""
    state_folder, secret = folder / "state", folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    state_folder.mkdir()
    os.link(secret, state_folder / ".outbox")
    before = state(secret)
    for owner, mode in ((NOBODY, 0o700), (0, 0o777)):
        os.chown(state_folder, owner, owner)
        state_folder.chmod(mode)
        to = ("--to", "http://127.0.0.1:9", "--store", store, "--state", state_folder)
        if run("ship", "--once", *to).returncode == 0:
            yield f"root ships with a state in a folder of uid {owner} with mode {mode:o}"
    if state(secret) != before:
        yield f"ship changed a file of root's: {state(secret)}"
    left = folder / "left"
    left.mkdir()
    os.mkfifo(left / ".followed")
    words = [PERFTAPE, "incidents", "--follow", "--leave", left, "--store", store]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as follower:
        said = follower.stderr.readline()
        if b"waits for incidents" not in said:
            yield f"a follower does not start beside a pipe: {said}"
        follower.terminate()


# The terminal


def test_terminal(folder, store):
    """Names with escapes, through every command, on a terminal."""
    for words in (*READERS, ["query", "--incident", "last"], ["status", "--store", "\x1b[31m\x9b"]):
        named = [] if "--store" in words else ["--store", store]
        found = terminals.controls([PERFTAPE, *words, *named], folder)
        if found:
            yield f"{' '.join(words)!r}: {found!r}"


def main():
    if os.geteuid() != 0:
        print("1..1\nok 1 - attacks of another user # SKIP needs root")
        return 0
    checks = []
    with tempfile.TemporaryDirectory(prefix="perftape-attacks-") as name:
        base = pathlib.Path(name)
        base.chmod(0o755)
        store = recorded(base)
        users = (test_answers, test_foreign_store, test_moved_store, test_modes, test_terminal)
        for test in (*users, test_state, test_packed_log, test_jumping_log, test_readers):
            folder = base / test.__name__
            folder.mkdir()
            checks.append((test.__doc__, list(test(folder, store))))
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
