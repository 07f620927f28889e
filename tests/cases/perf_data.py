# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files for cases, made byte by byte: as perf writes them to a file, to a pipe, and compressed."""

import gzip
import lzma
import os
import pathlib
import struct

MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, SAMPLE, MMAP2 = 1, 2, 3, 4, 5, 6, 7, 9, 10
LOST_SAMPLES = 13
ATTR, TRACING_DATA, BUILD_ID, FINISHED_ROUND, AUXTRACE = 64, 66, 67, 68, 71
EVENT_UPDATE, FEATURE, COMPRESSED = 78, 80, 81
HEADER = struct.Struct("<IHH")
CYCLES, DUMMY, FAULTS = (0, 0), (1, 9), (1, 2)
# ip, tid, time, cpu, period, callchain, identifier
SAMPLE_TYPE = 1 | 2 | 4 | 0x80 | 0x100 | 0x20 | 0x10000
KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
BEGIN_NS = 5000 * 10**9
# 2025-03-01T12:00:30Z: segments end at whole multiples of two minutes, so the recording has two
REALTIME_NS = 1740830430 * 10**9
TEXT, USER_CODE = 0xFFFFFFFF81000000, 0x400000


def record(kind, body, misc=0):
    return HEADER.pack(kind, misc, 8 + len(body)) + body


def padded(text):
    data = text.encode() + b"\0"
    return data + bytes(-len(data) % 8)


def attr(event, flags=1 << 10 | 1 << 18):
    kind, config = event
    head = struct.pack("<IIQQQQQ", kind, 128, config, 97, SAMPLE_TYPE, 0, flags)
    return head + bytes(128 - len(head))


def trailing(pid, tid, time_ns, cpu, ident):
    """The fields at the end of a record that is not a sample."""
    return struct.pack("<iiQIIQ", pid, tid, time_ns, cpu, 0, ident)


def sample(at_ns, cpu, pid, tid, chain, ident=11):
    where = chain[1] if chain else 0
    body = struct.pack("<QQiiQIIQQ", ident, where, pid, tid, BEGIN_NS + at_ns, cpu, 0, 1000, len(chain))
    return record(SAMPLE, body + struct.pack(f"<{len(chain)}Q", *chain), 1)


def comm(at_ns, pid, tid, name):
    return record(COMM, struct.pack("<ii", pid, tid) + padded(name) + trailing(pid, tid, BEGIN_NS + at_ns, 0, 11))


def task(kind, at_ns, pid, tid, parent):
    body = struct.pack("<iiiiQ", pid, parent, tid, parent, BEGIN_NS + at_ns)
    return record(kind, body + trailing(pid, tid, BEGIN_NS + at_ns, 0, 11))


def mmap(at_ns, pid, start, size, path):
    body = struct.pack("<iiQQQIIQQII", pid, pid, start, size, 0, 8, 1, 4711, 0, 5, 2) + padded(path)
    return record(MMAP2, body + trailing(pid, pid, BEGIN_NS + at_ns, 0, 11), 2)


def kernel_mmap():
    body = struct.pack("<iiQQQ", -1, 0, TEXT, 0x1000000, TEXT) + padded("[kernel.kallsyms]_text")
    return record(MMAP, body + trailing(-1, 0, BEGIN_NS, 0, 11), 1)


def lost(at_ns, cpu, count):
    return record(LOST, struct.pack("<QQ", 11, count) + trailing(0, 0, BEGIN_NS + at_ns, cpu, 11))


def totals(*counts, ident=11, misc=0):
    """The count of each CPU, which perf writes at the end without time and CPU."""
    return b"".join(record(LOST_SAMPLES, struct.pack("<Q", n) + trailing(0, 0, 0, 0, ident), misc) for n in counts)


def throttle(kind, at_ns, cpu):
    return record(kind, struct.pack("<QQQ", BEGIN_NS + at_ns, 11, 11) + trailing(0, 0, BEGIN_NS + at_ns, cpu, 11))


def records():
    """A minute and a half of two CPUs. Each round has the records of one ring, then those of the other."""
    yield kernel_mmap()
    yield comm(0, 700, 700, "demo")
    yield mmap(0, 700, USER_CODE, 0x10000, "/usr/bin/demo")
    for second in range(0, 90):
        for cpu in range(2):
            for part in range(4):
                at_ns = second * 10**9 + part * 250 * 10**6 + cpu * 10**6
                busy = cpu == 0 or second % 3 == 0
                if busy:
                    chain = [KERNEL, TEXT + 0x5010, TEXT + 0x3010, USER, USER_CODE + 0x1234]
                    yield sample(at_ns, cpu, 700, 701 if second >= 40 else 700, chain)
                else:
                    yield sample(at_ns, cpu, 0, 0, [KERNEL, TEXT + 0x1010])
                if part == 2:
                    yield sample(at_ns + 5, cpu, 700, 700, [USER, USER_CODE], 13)
        if second == 20:
            yield lost(20 * 10**9 + 9 * 10**8, 1, 17)
        if second == 30:
            yield throttle(THROTTLE, 30 * 10**9 + 8 * 10**8, 0)
            yield throttle(UNTHROTTLE, 30 * 10**9 + 9 * 10**8, 0)
        if second == 39:
            yield task(FORK, 39 * 10**9 + 95 * 10**7, 700, 701, 700)
            yield comm(39 * 10**9 + 96 * 10**7, 700, 701, "worker")
        yield record(FINISHED_ROUND, b"")
    yield task(EXIT, 90 * 10**9, 700, 701, 700)


def text_feature(text):
    data = text.encode() + b"\0"
    data += bytes(-len(data) % 64)
    return struct.pack("<I", len(data)) + data


def names(rows):
    body = struct.pack("<II", len(rows), 128)
    for event, ident, name in rows:
        body += attr(event) + struct.pack("<I", 1) + text_feature(name) + struct.pack("<Q", ident)
    return body


def build_id(path, byte):
    return record(0, struct.pack("<i", -1) + bytes([byte]) * 20 + bytes([20, 0, 0, 0]) + padded(path), 1 << 15 | 1)


EVENTS = ((CYCLES, 11), (DUMMY, 12), (FAULTS, 13))
NAMES = ((CYCLES, 11, "cycles:P"), (DUMMY, 12, "dummy:HG"), (FAULTS, 13, "page-faults"))


def features(with_clock=True):
    rows = {
        2: build_id("[kernel.kallsyms]", 0xAB) + build_id("/usr/bin/demo", 0xCD),
        3: text_feature("example"),
        4: text_feature("6.1.0-perf"),
        5: text_feature("6.1.90"),
        7: struct.pack("<II", 4, 2),
        12: names(NAMES),
        21: struct.pack("<QQ", BEGIN_NS, BEGIN_NS + 89 * 10**9 + 751 * 10**6),
        29: struct.pack("<IIQQ", 1, 1, REALTIME_NS, BEGIN_NS),
    }
    if not with_clock:
        del rows[29]
    return rows


def whole(data, rows, finished=True):
    ids_at = 104
    attrs_at = ids_at + 8 * len(EVENTS)
    data_at = attrs_at + len(EVENTS) * 144
    bits = sum(1 << bit for bit in rows)
    sections = (attrs_at, len(EVENTS) * 144, data_at, len(data) if finished else 0, 0, 0)
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 144, *sections)
    head += struct.pack("<QQQQ", bits, 0, 0, 0)
    head += b"".join(struct.pack("<Q", ident) for _, ident in EVENTS)
    for number, (event, _) in enumerate(EVENTS):
        head += attr(event) + struct.pack("<QQ", ids_at + 8 * number, 8)
    at = data_at + len(data) + 16 * len(rows)
    table, tail = b"", b""
    for body in rows.values():
        table += struct.pack("<QQ", at, len(body))
        at += len(body)
        tail += body
    return head + data + (table + tail if finished else b"")


def piped(data, rows):
    head = b"PERFILE2" + struct.pack("<Q", 16)
    for event, ident in EVENTS:
        head += record(ATTR, attr(event) + struct.pack("<Q", ident))
    for _, ident, name in NAMES:
        head += record(EVENT_UPDATE, struct.pack("<QQ", 2, ident) + padded(name))
    for bit, body in rows.items():
        if bit not in (2, 12):
            head += record(FEATURE, struct.pack("<Q", bit) + body)
    head += struct.pack("<I", BUILD_ID) + build_id("/usr/bin/demo", 0xCD)[4:]
    # the bytes after TRACING_DATA are not a record
    head += record(TRACING_DATA, struct.pack("<II", 13, 0)) + b"\xff" * 16
    return head + data


def raw_block(data, last):
    """A block of a zstd frame that is not compressed."""
    return struct.pack("<I", len(data) << 3 | last)[:3] + data


def compressed(data, begins=True, ends=True):
    """Rounds of records in one zstd frame. perf does not compress the marks between the rounds."""
    mark = record(FINISHED_ROUND, b"")
    parts, out = data.split(mark), b""
    for number, part in enumerate(parts):
        # a record may begin in one compressed record and end in the next
        for at in range(0, len(part), 300):
            block = raw_block(part[at : at + 300], ends and number == len(parts) - 1 and at + 300 >= len(part))
            out += record(COMPRESSED, (b"\x28\xb5\x2f\xfd\x00\x58" if begins and not out else b"") + block)
        out += mark if number < len(parts) - 1 else b""
    return out


def auxtrace(size):
    """The bytes after this record are not a record."""
    return record(AUXTRACE, struct.pack("<Q", size) + bytes(40)) + bytes(size)


def put_files(folder):
    """All files below folder/perf, last changed at 2025-03-01T12:02:00Z."""
    data = b"".join(records())
    # just before the FINISHED_ROUND mark
    cut = data[: data.index(record(FINISHED_ROUND, b""), len(data) // 2)]
    rows = features()
    files = {
        "plain.data": whole(data, rows),
        "pipe.data": piped(data, rows),
        "packed.data.gz": gzip.compress(whole(data, rows), 0),
        "packed.data.xz": lzma.compress(whole(data, rows)),
        "cut.data.gz": gzip.compress(whole(data, rows), 0)[:-30000],
        "zstd.data": whole(compressed(data), rows),
        "unfinished.data": whole(data, {}, finished=False),
        "truncated.data": whole(data, {}, finished=False)[:-100],
        "damaged.data": whole(cut + HEADER.pack(SAMPLE, 0, 4) + data[len(cut) :], rows),
        "odd.data": whole(cut + record(SAMPLE, struct.pack("<Q", 11) + bytes(8), 1) + data[len(cut) :], rows),
        "aux.data": whole(cut + auxtrace(4096) + data[len(cut) :], rows),
        "header.data": whole(data, rows | {21: struct.pack("<QQ", BEGIN_NS + 10**12, BEGIN_NS + 2 * 10**12)}),
        "perf-example-20250301120030-90s.data": whole(data, features(False)),
        "perf.data.2025030112020050": whole(data, features(False)),
        "mtime.data": whole(data, features(False)),
        "switched/perf.data.1": whole(compressed(cut, ends=False), rows | {21: bytes(16)}),
        "switched/perf.data.2": whole(compressed(data[len(cut) :], begins=False), rows | {21: bytes(16)}),
        "switched/notes.txt": b"not perf.data\n",
        "other-order.data": b"2ELIFREP" + bytes(96),
        "totals.data": whole(data + totals(5, 12) + totals(90, ident=13) + totals(90, misc=1 << 15), rows),
        "more-lost.data": whole(data + totals(5, 20), rows),
        "not.data": b"something else",
        "short.data": b"PERFILE2" + struct.pack("<Q", 104),
        "empty.data": b"",
        "no-event.data": whole(data, rows)[:24] + bytes(16) + whole(data, rows)[40:],
    }
    for name, content in files.items():
        path = pathlib.Path(folder, "perf", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1740830520, 1740830520))
