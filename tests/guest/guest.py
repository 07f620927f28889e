#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A real kernel of another generation in QEMU: what this machine's kernel cannot or must not be made to do.

Usage: guest.py PERFTAPE STARVED-INIT      TAP.

The guest has a file system in memory, with the program, its libraries and STARVED-INIT, its first process, and two
emulated CPUs. The kernel is a package of Debian 11, from the mirror of this machine's apt. It is kept in build-roots/,
or in $PERFTAPE_ROOTS.

`starved`: a realtime hog has a CPU for 6 s, and nothing throttles it. `explain` must name the hog and both victims.
"""

import gzip
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import tap  # noqa: E402

ROOTS = pathlib.Path(os.environ.get("PERFTAPE_ROOTS", TESTS.parent / "build-roots"))
SUITE, PACKAGE = "bullseye", re.compile(r"linux-image-5\.10\.[0-9.]+-\d+-cloud-amd64")
LIMIT = 900  # seconds; the guest takes about 90 on an idle machine
FOLDERS = ("dev", "proc", "sys", "tmp", "run", "lib64", "usr", "usr/lib", "etc", "root", "var", "var/tmp")


def mirror():
    """The mirror of this machine's apt, which has all releases."""
    words = ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
        release, uri = line.split()
        if release in ("bullseye", "bookworm", "trixie", "sid"):
            return uri.rstrip("/")
    sys.exit("apt has no mirror of Debian")


def fetch(uri):
    with urllib.request.urlopen(uri, timeout=60) as answer:
        return answer.read()


def newest_package(index):
    """The path of the newest kernel in the text of a Packages file."""
    paths = {}
    for entry in index.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Filename): (.*)$", entry, re.MULTILINE))
        if PACKAGE.fullmatch(fields.get("Package", "")):
            version = tuple(int(number) for number in re.findall(r"\d+", fields["Package"])[:4])
            paths[version] = fields["Filename"]
    return paths[max(paths)]


def kernel():
    """The kernel's file; fetched once."""
    kept = ROOTS / "vmlinuz-5.10"
    if kept.exists():
        return kept
    ROOTS.mkdir(exist_ok=True)
    base = mirror()
    index = lzma.decompress(fetch(f"{base}/dists/{SUITE}/main/binary-amd64/Packages.xz")).decode()
    with tempfile.TemporaryDirectory(dir=ROOTS) as folder:
        package = pathlib.Path(folder) / "kernel.deb"
        package.write_bytes(fetch(f"{base}/{newest_package(index)}"))
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        next(pathlib.Path(folder).glob("boot/vmlinuz-*")).rename(kept)
    return kept


def libraries(program):
    """The files that the loader maps for a program, the loader included."""
    text = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return {pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", text)}


class Archive:
    """A file system in the kernel's initramfs format: cpio with headers of hexadecimal digits."""

    def __init__(self):
        self.data = bytearray()
        self.inode = 0
        self.known = set()

    def add(self, name, mode, content=b"", device=(0, 0)):
        self.inode += 1
        path = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0)
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self.pad()
        self.data += content
        self.pad()

    def pad(self):
        self.data += bytes(-len(self.data) % 4)

    def folder(self, name):
        for parent in [*reversed(pathlib.PurePath(name).parents), pathlib.PurePath(name)]:
            if str(parent) != "." and str(parent) not in self.known:
                self.known.add(str(parent))
                self.add(str(parent), 0o040755)

    def file(self, name, path):
        self.folder(str(pathlib.PurePath(name).parent))
        self.add(name, 0o100755, path.read_bytes())

    def pack(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(bytes(self.data), 1)


def initramfs(programs):
    archive = Archive()
    for name in FOLDERS:
        archive.folder(name)
    # the first messages of the kernel and of init need it
    archive.add("dev/console", 0o020600, device=(5, 1))
    for name, path in programs.items():
        archive.file(name, path)
    for library in set().union(*(libraries(path) for path in programs.values())):
        archive.file(str(library).lstrip("/"), library.resolve())
    return archive.pack()


def boot(programs):
    """Boots the guest. Returns the lines of its console."""
    with tempfile.NamedTemporaryFile(suffix=".gz") as packed:
        packed.write(initramfs(programs))
        packed.flush()
        command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024", "-smp", "2"]
        command += ["-nographic", "-no-reboot", "-nic", "none", "-kernel", kernel(), "-initrd", packed.name]
        command += ["-append", "console=ttyS0 quiet panic=-1"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
    return done.stdout.decode(errors="replace").replace("\r", "").splitlines()


def said(lines, word):
    return [line[len(word) + 1 :] for line in lines if line.startswith(word + " ")]


def judge(answer, played):
    """What `explain` must say of the hog and of its victims."""
    cores, victims = answer["cores"], [victim["thread"] for victim in answer["victims"]]
    culprit = (cores or [{}])[0]
    threads = [thread["comm"] for thread in culprit.get("threads", [])]
    kinds = [verdict["kind"] for verdict in answer["verdicts"]]
    pinned = f"victim:{played['victim']}"
    return [
        ("the CPU of the hog is the first", [] if culprit.get("cpu") == 1 else [tap.wrong(1, cores)]),
        ("the hog is its first thread", [] if threads[:1] == ["hog"] else [tap.wrong("hog", threads)]),
        ("the first verdict is a realtime hog", [] if kinds[:1] == ["realtime_hog"] else [tap.wrong("", kinds)]),
        ("the pinned thread is a victim", [] if pinned in victims else [tap.wrong(pinned, victims)]),
        ("ksoftirqd is a victim", [] if "ksoftirqd/1" in victims else [tap.wrong("ksoftirqd/1", victims)]),
    ]


def main():
    perftape, init = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    if not tap.has("qemu-system-x86_64"):
        return tap.run([("a starved thread in a guest # SKIP it takes qemu-system-x86_64", [])])
    lines = boot({"init": init, "perftape": perftape})
    for line in said(lines, "answer"):
        print("# " + line)
    played, answers = said(lines, "played"), said(lines, "json")
    if not played or not answers:
        return tap.run([("the guest plays and answers", [tap.wrong("an answer", "\n".join(lines[-30:]))])])
    return tap.run(judge(json.loads(answers[0]), json.loads(played[0])))


if __name__ == "__main__":
    sys.exit(main())
