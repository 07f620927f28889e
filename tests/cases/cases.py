#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command line: what is typed, and exactly what comes out.

A .txt file beside this one holds cases: a line `$ perftape ARGS`, the lines that must come out (both streams), and
`= EXIT CODE`. A `>&-` at the end closes standard output, as in a shell. With UPDATE_CASES=1 in the environment, the
output replaces the files: read the difference.

The stores:

- `recorded`, which fixture.c makes anew for each file;
- `wrong`, a copy with a wrong row in its index;
- `cut`, a copy with an empty segment and one without its end;
- `taken`, a copy without the file of its second segment;
- `rotten`, a copy with wrong bytes in the stacks of its first and its third segment, which the index does not know;
- `killed`, a copy with the last report of a recorder that was killed;
- `spiky`, with saturated CPUs;
- `forged`, the same, with names that look like further lines;
- `shared`, ten stores of hosts whose incidents have two causes, for the cases of that name;
- `crowded`, a store of 260 incidents, for the same cases;
- `torn.tape`, the first segment of `recorded` without its end.

`N` stands for what differs between machines: sizes and the time of day.

If a file NAME.play stands beside NAME.txt, PERFTAPE is the program that runs on a machine which that script
plays (tests/played/README.md).

Usage: cases.py PERFTAPE FIXTURE [FILE]       FILE.txt; without it, all files that have no NAME.play
"""

import contextlib
import bz2
import gzip
import os
import pathlib
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import perf_data  # noqa: E402
import tap  # noqa: E402


# The width of the terminal of these cases.
COLUMNS = {"narrow": "80", "shared": "120", "shared-narrow": "80"}
NUMBERS = (
    (re.compile(r"\b[0-9.]+ ([kMGTP]?B)\b"), r"N \1"),
    (re.compile(r" +[0-9.]+(?=  \S+\.tape)"), " N"),
    (re.compile(r" +(kB(?=  segment)|-(?=  \())"), r" \1"),
    (re.compile(r"\bN [kMGTP]?B(?= (of the disk|stay))"), "N B"),
    (re.compile(r"\bat offset \d+(?= is damaged)"), "at offset N"),
    (re.compile(r"^(perftape_(?:\w+_bytes|metrics_timestamp_seconds)) [0-9.]+$", re.MULTILINE), r"\1 N"),
    (re.compile(r"\b\d+ d(?: \d+ h)? ago$", re.MULTILINE), "N d ago"),
    (re.compile(r'("(?:now|[a-z_]*bytes)":)("[^"]*"|[0-9]+)'), r"\1N"),
)


def mask(text):
    for pattern, shown in NUMBERS:
        text = pattern.sub(shown, text)
    return text


def put_logs(folder):
    """The logs of the cases, last changed on 2026-01-02, because their stamps have no year. Each exists packed, too."""
    for path in sorted((HERE.parent / "data").glob("*.log")):
        data = path.read_bytes()
        forms = {
            "": data,
            ".gz": gzip.compress(data),
            ".cut.gz": gzip.compress(data)[:-200],
            ".bz2": bz2.compress(data),
            ".utf16": data.decode().encode("utf-16"),
        }
        for suffix, packed in forms.items():
            log = pathlib.Path(folder) / (path.name + suffix)
            log.write_bytes(packed)
            os.utime(log, (1767312000, 1767312000))


def put_shared(fixture, folder):
    """The stores of ten hosts in `folder`/shared, and one of many incidents."""
    for name in ("shared", "crowded"):
        shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
    os.mkdir(f"{folder}/shared")
    subprocess.run([fixture, f"{folder}/shared", "shared"], check=True)
    subprocess.run([fixture, f"{folder}/crowded", "crowded"], check=True)


def rot(path, section):
    """Changes the first byte of a section: the table of contents has its name and, behind 16 bytes, its offset."""
    data = bytearray(path.read_bytes())
    entry = data.index(section.ljust(8, b"\0"))
    (offset,) = struct.unpack_from("<Q", data, entry + 16)
    data[offset] ^= 0xFF
    path.write_bytes(data)


def put_stores(fixture, folder):
    copies = ("wrong", "cut", "taken", "killed", "rotten")
    for name in ("recorded", "spiky", "forged", *copies):
        shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
    subprocess.run([fixture, f"{folder}/recorded"], check=True)
    subprocess.run([fixture, f"{folder}/spiky", "spiky"], check=True)
    subprocess.run([fixture, f"{folder}/forged", "forged"], check=True)
    for name in copies:
        shutil.copytree(f"{folder}/recorded", f"{folder}/{name}")
    with contextlib.closing(sqlite3.connect(f"{folder}/wrong/index.sqlite")) as index, index:
        index.execute("UPDATE segments SET samples = samples + 1 WHERE sequence = 0")
    segments = sorted(pathlib.Path(folder, "cut", "segments").glob("*.tape"))
    shutil.copy(segments[0], f"{folder}/torn.tape")
    os.truncate(f"{folder}/torn.tape", segments[0].stat().st_size - 1)
    os.truncate(segments[0], 0)
    os.truncate(segments[1], segments[1].stat().st_size - 1)
    for path in sorted(pathlib.Path(folder, "rotten", "segments").glob("*.tape"))[0:3:2]:
        rot(path, b"trie")
    subprocess.run([fixture, f"{folder}/killed", "report"], check=True)
    sorted(pathlib.Path(folder, "taken", "segments").glob("*.tape"))[1].unlink()


def run(perftape, words, folder, name):
    environment = {
        "PATH": os.environ["PATH"],
        "TZ": "UTC",
        "HOME": folder,
        "PERFTAPE_STORE": f"{folder}/store",
        "PERFTAPE_CONFIG": os.devnull,
    }
    environment |= {
        name: value
        for name, value in os.environ.items()
        if name.endswith("SAN_OPTIONS") or name.startswith("PERFTAPE_MUTANT")
    }
    environment |= {"COLUMNS": COLUMNS[name]} if name in COLUMNS else {}
    script = HERE / f"{name}.play"
    if script.exists():
        environment |= {"PERFTAPE_PLAY": str(script), "PERFTAPE_PLAY_FOLDER": f"{folder}/machine"}
    closed = words[-1:] == [">&-"]
    command = ["sh", "-c", 'exec "$@" >&-', "sh", perftape, *words[:-1]] if closed else [perftape, *words]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=folder
    )
    return mask(done.stdout.decode().replace(folder, "DIR").replace(perftape, "perftape")) + f"= {done.returncode}\n"


def split(text):
    """(command line, expected output) of each case. The lines before the first case stay as they are."""
    parts = text.split("$ perftape")
    head = parts.pop(0)
    return head, [(line, rest) for line, _, rest in (part.partition("\n") for part in parts)]


def check_file(perftape, fixture, path, folder):
    if path.stem.startswith("shared"):
        put_shared(fixture, folder)
    else:
        put_stores(fixture, folder)
    head, cases = split(path.read_text())
    update = os.environ.get("UPDATE_CASES")
    written = head
    for line, expected in cases:
        got = run(perftape, shlex.split(line), folder, path.stem)
        written += f"$ perftape{line}\n{got}\n"
        wrongs = (
            []
            if update or got.strip() == expected.strip()
            else ["expected:", *expected.splitlines(), "came:", *got.splitlines()]
        )
        yield f"{path.stem}: perftape{line}", wrongs
    if update:
        path.write_text(written.rstrip("\n") + "\n")


def main():
    # some cases send SIGHUP, which the programs would ignore under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="perftape-cases-") as folder:
        put_logs(folder)
        perf_data.put_files(folder)
        programs = [os.path.abspath(path) for path in sys.argv[1:3]]
        # On the real machine, the cases of a played machine would record until somebody stops them.
        real = [path for path in sorted(HERE.glob("*.txt")) if not path.with_suffix(".play").exists()]
        paths = [HERE / f"{name}.txt" for name in sys.argv[3:]] or real
        checks = [check for path in paths for check in check_file(*programs, path, folder)]
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
