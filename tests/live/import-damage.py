#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files that are damaged, packed, repeated or hostile: import refuses them or says what it left out.

Usage: import-damage.py PERFTAPE MIX
"""

import gzip
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, expect, wait_for  # noqa: E402
from imports import (  # noqa: E402
    MIX,
    compare,
    heads,
    is_imported,
    lines_of,
    perftape,
    query,
    record,
    samples_of,
    script,
)


def records_of(bytes_):
    """(offset, type, size) of the whole records of a file that is not compressed."""
    at, size = struct.unpack_from("<QQ", bytes_, 40)
    end = at + size if size else len(bytes_)
    while at + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", bytes_, at)
        if size < 8 or at + size > end:
            return
        yield at, kind, size
        at += size


@live.test()
def test_killed(folder):
    """Import takes each whole record of a file whose perf was killed."""
    data, mended = folder / "killed.data", folder / "mended.data"
    words = ["perf", "record", "-q", "-F", "1499", "-e", "cpu-clock", "-g", "-a", "-m", "16", "-o", data]
    loads = subprocess.Popen([MIX, "30"])
    perf = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    wait_for(lambda: data.exists() and data.stat().st_size > 600000)
    perf.kill()
    perf.wait()
    loads.kill()
    loads.wait()
    bytes_ = data.read_bytes()
    whole = list(records_of(bytes_))
    samples = sum(kind == 9 for _, kind, _ in whole)
    done = perftape("import", folder / "killed", data)
    wrongs = expect(
        f"import ends with exit code 0 and takes {samples} samples",
        done.returncode == 0 and samples_of(done.stderr) == [samples],
        done.returncode,
        done.stderr,
    )
    # perf reads such a file if the header says where the records end, and claims no features
    begin, last = whole[0][0], whole[-1]
    mended.write_bytes(
        bytes_[:48]
        + struct.pack("<Q", last[0] + last[2] - begin)
        + bytes_[56:72]
        + bytes(32)
        + bytes_[104 : last[0] + last[2]]
    )
    wrongs += script(mended, folder / "killed.script")
    wrongs += query(folder / "killed", folder / "killed.stacks", time.time() - 3600)
    return wrongs + compare("killed", folder / "killed.script", folder / "killed.stacks")


@live.test()
def test_packed(folder):
    """A file that is packed with gzip, xz or zstd has the same samples."""
    data = folder / "whole.data"
    record(data)
    bytes_, stamp = data.read_bytes(), data.stat().st_mtime_ns
    packed = {"gz": gzip.compress(bytes_), "xz": lzma.compress(bytes_, preset=0)}
    if tap.has("zstd"):
        packed["zst"] = subprocess.run(["zstd", "-q", "-c", data], capture_output=True, check=True).stdout
    wrongs = []
    perftape("import", folder / "whole", data)
    wrongs += query(folder / "whole", folder / "whole.stacks", time.time() - 3600)
    expected = heads(folder / "whole.stacks")
    for suffix, contents in packed.items():
        name, store, stacks = (
            folder / f"whole.data.{suffix}",
            folder / f"whole.{suffix}",
            folder / f"whole.{suffix}.stacks",
        )
        name.write_bytes(contents)
        os.utime(name, ns=(stamp, stamp))
        done = perftape("import", store, name)
        wrongs += expect(
            f"{suffix}: import ends with exit code 0 and one line", is_imported(done), done.returncode, done.stderr
        )
        wrongs += query(store, stacks, time.time() - 3600)
        wrongs += expect(
            f"{suffix}: {len(expected)} samples, as in the file that is not packed",
            heads(stacks) == expected,
            f"{len(heads(stacks))} samples",
        )
        again = perftape("import", folder / "whole", name)
        wrongs += expect(
            f"{suffix}: it is imported already",
            again.returncode == 0 and "imported already" in again.stderr,
            again.stderr,
        )
    return wrongs


@live.test()
def test_twice(folder):
    """Importing a file again adds nothing, also under another name."""
    data, store = folder / "twice.data", folder / "twice"
    record(data)
    perftape("import", store, data)
    before = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    shutil.copy(data, folder / "copy.data")
    wrongs = []
    for name in (data, folder / "copy.data"):
        done = perftape("import", store, name)
        wrongs += expect(
            f"{name.name} is imported already", done.returncode == 0 and "imported already" in done.stderr, done.stderr
        )
    after = sorted((path.name, path.stat().st_ino) for path in (store / "segments").iterdir())
    return wrongs + expect(f"the store has the same {len(before)} segments as before", before == after, before, after)


def make(records, sample_type=0x187):
    """The bytes of a perf.data file of one event without ids, with the caller's records."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 997, sample_type, 0, 1 << 10 | 1 << 18).ljust(128, b"\0") + bytes(16)
    return b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 144, 248, len(records), 0, 0) + bytes(32) + attr + records


def import_measured(store, path):
    """The messages of import, its exit code, and its peak of memory in MB."""
    process = subprocess.Popen([PERFTAPE, "import", "--store", store, path], stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return said, process.returncode, usage.ru_maxrss / 1024


@live.test()
def test_damage(folder):
    """Import takes the readable part of a file that is truncated, lies or is hostile, and prints one line."""
    data = folder / "sound.data"
    record(data, seconds=0.2)
    bytes_ = data.read_bytes()
    begin, size = struct.unpack_from("<QQ", bytes_, 40)
    whole = list(records_of(bytes_))
    features = begin + size
    wrongs = []
    cuts = [at for at, _, _ in whole[:: max(1, len(whole) // 6)]] + [
        begin + size // 3,
        begin + size // 2 + 3,
        len(bytes_) - 5,
    ]
    for number, cut in enumerate(cuts):
        path = folder / f"cut{number}.data"
        path.write_bytes(bytes_[:cut])
        said, code, _ = import_measured(folder / f"cut{number}", path)
        samples = sum(kind == 9 and at + length <= cut for at, kind, length in whole)
        notes = [line for line in said.splitlines() if "middle of a record" in line]
        clean = cut >= features or any(at + length == cut for at, _, length in whole) or cut == begin
        wrongs += expect(
            f"cut at {cut}: exit code 0, and {samples} samples",
            code == 0 and samples_of(said) == ([samples] if samples else []),
            code,
            said,
        )
        wrongs += expect(
            f"cut at {cut}: {'no' if clean else 'one'} note that a record is cut",
            len(notes) == (0 if clean else 1) and len(lines_of(said)) <= 2,
            said,
        )
    expected = sum(kind == 9 for _, kind, _ in whole)
    for number in range(bin(int.from_bytes(bytes_[72:104], "little")).count("1")):
        for what, lie in (("outside", 1 << 60), ("all of it", 0)):
            path, lying = folder / f"lie{number}{what}.data", bytearray(bytes_)
            struct.pack_into("<QQ", lying, features + 16 * number, lie, len(bytes_))
            path.write_bytes(lying)
            if number % 4 == 0 or what == "outside":
                said, code, _ = import_measured(folder / f"lie{number}{what}", path)
                wrongs += expect(
                    f"feature {number} {what}: exit code 0, and {expected} samples",
                    code == 0 and samples_of(said) == [expected],
                    code,
                    said,
                )
    for name, contents, says in (
        ("empty", b"", "not a perf.data file"),
        ("text", b"hello\n", "not a perf.data file"),
        ("other order", b"2ELIFREP" + bytes(200), "big-endian machine"),
        ("header only", b"PERFILE2" + bytes(8), "header"),
        ("attributes of no size", bytes_[:16] + bytes(8) + bytes_[24:], "names no readable event"),
        ("attributes outside", bytes_[:24] + struct.pack("<Q", 1 << 62) + bytes_[32:], "names no readable event"),
    ):
        path = folder / f"{name}.data"
        path.write_bytes(contents)
        said, code, _ = import_measured(folder / "nothing", path)
        wrongs += expect(
            f"{name}: exit code 1, and one line with '{says}'",
            code == 1 and said.count("\n") == 1 and says in said,
            code,
            said,
        )
    return wrongs


@live.test(also=("build",), lacks=live.lacking(tap.has("zstd"), "zstd"))
def test_bombs(folder):
    """Compressed records that expand a thousandfold do not take as much memory."""
    expanded = 1 << 27
    sample = struct.pack("<IHHQIIQIIQQ", 9, 0, 56, 0x1000, 5, 5, 10**12, 0, 0, 1, 0)
    wrongs = []
    # the sanitizer of build-dev/ keeps freed memory for a while
    most = 8 if "build-dev" in PERFTAPE else 5
    for name, unit in (("samples", sample), ("small records", struct.pack("<IHH", 14, 0, 8)), ("nothing", bytes(8))):
        packed = subprocess.run(
            ["zstd", "-q", "-c"], input=unit * (expanded // len(unit)), capture_output=True, check=True
        ).stdout
        pieces = (packed[at : at + 60000] for at in range(0, len(packed), 60000))
        path = folder / f"{name}.bomb"
        path.write_bytes(make(b"".join(struct.pack("<IHH", 81, 0, 8 + len(piece)) + piece for piece in pieces)))
        said, code, memory = import_measured(folder / f"{name}.store", path)
        print(f"# {name}: {len(packed)} bytes that expand to {expanded >> 20} MB: {memory:.0f} MB", flush=True)
        wrongs += expect(
            f"{name}: exit code 0, and what came before is kept",
            code == 0 and "everything before is kept" in said,
            code,
            said,
        )
        wrongs += expect(
            f"{name}: at most {most} times the expanded size in memory",
            memory <= most * (expanded >> 20),
            f"{memory:.0f} MB",
        )
    return wrongs


def main():
    # perf links files that it saw into ~/.debug, if it can. A link changes the ctime, which identifies files without
    # a build-id. A home on another file system prevents links.
    with tempfile.TemporaryDirectory(
        prefix="perftape import ", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    ) as folder:
        os.environ["HOME"] = folder
        return live.main(able=tap.has("perf"), needs="root and perf")


if __name__ == "__main__":
    sys.exit(main())
