# SPDX-License-Identifier: GPL-2.0-only
"""A FUSE file system with one program on it. Once its server is stopped, every access to a path
there hangs."""

import contextlib
import ctypes
import errno
import multiprocessing
import os
import pathlib
import signal
import struct

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, FORGETS = (
    1,
    2,
    3,
    14,
    15,
    17,
    18,
    25,
    26,
    27,
    29,
    36,
    42,
)
UNANSWERED = {FORGET, INTERRUPT, FORGETS}
ROOT, FILE = 1, 2
BYTES_MAX = 1 << 20
LAZY = 2  # MNT_DETACH
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


def attributes(node, size):
    mode = 0o040755 if node == ROOT else 0o100755
    return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, program):
    """The bytes of the answer, or an errno. The answer forbids the kernel to cache, so that the
    kernel asks for each path again."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, BYTES_MAX, 0, 16, 12, BYTES_MAX, 1, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        if body.rstrip(b"\0") != b"program":
            return errno.ENOENT
        return struct.pack("<4Q2I", FILE, 0, 0, 0, 0, 0) + attributes(FILE, len(program))
    if opcode == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node, len(program))
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<2QI", body)
        return program[offset:offset + size]
    if opcode == STATFS:
        return struct.pack("<5Q10I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0, *[0] * 6)
    return b"" if opcode in (RELEASE, RELEASEDIR, FLUSH) else errno.ENOSYS


def serve(device, program):
    while True:
        request = os.read(device, BYTES_MAX + 4096)
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if opcode in UNANSWERED:
            continue
        said = answer(opcode, node, request[40:], program)
        code, data = (-said, b"") if isinstance(said, int) else (0, said)
        os.write(device, struct.pack("<IiQ", 16 + len(data), code, unique) + data)


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def hide_mounts():
    """Gives this thread and its children their own mounts.

    Without these, `perftape resolve` in another test would wait for the dead mount.
    """
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate /")


@contextlib.contextmanager
def mounted(folder, program):
    """Mounts the program as folder/program, for this test alone. Yields the server's process, which a test may stop
    with SIGSTOP.

    At the end, kills the server, so that processes that still wait for it get an error.
    """
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    hide_mounts()
    source, kind = b"perftape-test", b"fuse.perftape-test"
    check(libc.mount(source, os.fsencode(folder), kind, 0, options.encode()), "mount of FUSE")
    server = multiprocessing.get_context("fork").Process(
        target=serve, args=(device, pathlib.Path(program).read_bytes()), daemon=True
    )
    server.start()
    os.close(device)
    try:
        yield server
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.join()
        libc.umount2(os.fsencode(folder), LAZY)
