#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The texts for other tools, on names that were chosen to break them.

libmagic, the installed one, must take each text for plain text, because Flamescope opens nothing else. Five readers
of the text (readers.py) must show each sample and each frame of the store.

With `tools`, the tools themselves read the same texts (tools.py).

Usage: texts.py PERFTAPE FIXTURE readers|words|tools
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE.parent / "cases"))
import cases  # noqa: E402
import tap  # noqa: E402
from libmagic import Magic, placed_words, words  # noqa: E402
from readers import READERS, lost_by, ours  # noqa: E402
from tools import lost_in, tools  # noqa: E402

PLAIN = ("text/plain",)
# libmagic takes two messages with equally many commas for a table.
TABLES = (*PLAIN, "text/csv")
TYPES = {".json": ("application/json", "application/x-ndjson"), ".svg": ("image/svg+xml",)}
WINDOW = ("--from", "2026-11-18T03:12:00Z", "--to", "2026-11-18T03:25:00Z")
FORMS = {
    "the text for Flamescope": (),
    "the text with threads": ("--thread-frame",),
    "the text without a header": ("--no-header",),
    "the text without a header, with threads": ("--no-header", "--thread-frame"),
}
# Lines of folded stacks begin with a comm, and nothing can stand before the first one. Only Flamescope asks libmagic.
BEGIN_WITH_NAMES = ("readers.folded", "readers-marks.folded")
# libmagic searches for most of its words in the first bytes of a file, this many.
SEARCHED = 8192
# Beyond this offset, a name would be too long to bring a word to its place.
FAR = 40000

EVENT = "%s  7/8  [000] 1.000001: 5 cpu-clock:\n\t 1f %s+0x1 (%s)\n\n"
# What perf prints and a tool loses: a comm, a function and a file.
FAULTS = (
    ("Flamescope", "a 1.5: x:", "f", "/x"),
    ("stackcollapse-perf.pl", "x", "(anonymous namespace)::f", "/x"),
    ("stackcollapse-perf.pl", "pool 3", "f", "/x"),
    ("stackcollapse-perf.pl", "a;b", "f", "/x"),
    ("speedscope", "x", "f", "/my app"),
    ("speedscope", "\ufeffx", "f", "/x"),
    ("Firefox Profiler", "x", "(x)", "/x"),
    ("Perfetto", "x", "f", "/x(86)"),
)
# Flamescope itself asks libmagic. It shows a wrong time, which tools.py does not compare.
FAULTS_OF_TOOLS = (*(row for row in FAULTS if row[0] != "Flamescope"), ("Flamescope", "union", "f", "/x"))


class Store:
    def __init__(self, perftape, fixture, folder, *kind):
        self.perftape, self.path = perftape, f"{folder}/{kind[0]}"
        subprocess.run([fixture, self.path, *kind], check=True)

    def query(self, *options):
        environment = {**os.environ, "TZ": "UTC", "PERFTAPE_CONFIG": os.devnull}
        command = [self.perftape, "query", "-q", "--store", self.path, *WINDOW, *options]
        return subprocess.run(command, capture_output=True, env=environment, check=True).stdout


def judged(magic, texts):
    """The failures: texts, as (name, bytes, types), that libmagic takes for another type."""
    for name, data, types in texts:
        seen = magic.type_of(data)
        if seen not in types:
            yield tap.wrong(f"{name} is {' or '.join(types)}", seen)


def goldens():
    for path in sorted((HERE.parent / "golden").rglob("*.*")):
        if path.name not in BEGIN_WITH_NAMES:
            yield path.name, path.read_bytes(), TYPES.get(path.suffix, PLAIN)


def outputs_of_cases():
    for path in sorted((HERE.parent / "cases").glob("*.txt")):
        yield path.name, path.read_bytes(), PLAIN
        for line, output in cases.split(path.read_text())[1]:
            text = output.rpartition("= ")[0]
            if text.strip() and "<svg" not in text and not text.startswith(("{", "[")):
                yield f"perftape{line}", text.encode(), PLAIN if "# ========" in text else TABLES


def deaf_judges(magic):
    """Checks the judges: each must find a fault in texts that have perf's own form."""
    for first in ("union", "struct", "extern", "dnl", "all:", "CFLAGS", "public:"):
        if magic.type_of((EVENT % (first, "f", "/x")).encode()) in PLAIN:
            yield tap.wrong(f"libmagic knows the comm {first}", "text/plain")
    for name, *names in FAULTS:
        if not list(lost_by(name, EVENT % tuple(names))):
            yield tap.wrong(f"{name} loses something of {names}", "nothing is lost")


def frames_of(store):
    """(ids, number of lines) of the store's samples. A text has a line even for a sample without a stack."""
    samples = [json.loads(line) for line in store.query("--json").decode().splitlines()[:-1]]
    return [(f"{row['pid'] % 2**32}/{row['tid'] % 2**32}", max(len(row["frames"]), 1)) for row in samples]


def wrong_samples(store, text, options):
    """Whether a text has the samples of the store, with their frames, behind the marker."""
    extra = "--thread-frame" in options
    expected = [(ids, count + extra) for ids, count in frames_of(store)]
    seen = [(sample.ids, len(sample.frames)) for sample in ours(text)[1:]]
    return [] if seen == expected else [tap.wrong(expected, seen)]


def check_readers(magic, store):
    for form, options in FORMS.items():
        data = store.query(*options)
        text = data.decode()
        yield f"{form} has each sample and frame", wrong_samples(store, text, options)
        yield f"libmagic takes {form} for plain text", list(judged(magic, [(form, data, PLAIN)]))
        readers = [*READERS, *(["Perfetto"] if "--no-header" in options else [])]
        for name in readers:
            yield f"{name} shows all of {form}", [tap.wrong("nothing is lost", line) for line in lost_by(name, text)]


def check_names(store, folder):
    """A user who names y.json expects JSON. An option is stronger than a name."""
    formats = {
        "y.stacks": ("flamescope", ()),
        "y.txt": ("flamescope", ()),
        "y.folded": ("folded", ()),
        "Y.JSON": ("json", ()),
        "y.json.gz": ("json", ()),
        "y.pprof": ("folded", ("--format", "folded")),
    }
    for name, (form, options) in formats.items():
        path = pathlib.Path(folder, name)
        store.query("-o", str(path), *options)
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if data != store.query("--format", form):
            yield tap.wrong(f"{name} has the format {form}", data[:60])


def near_words(text):
    """Whether a name lies in the bytes that libmagic searches."""
    first = text.index(b"\n\n") + 2
    return first <= SEARCHED


def check_words(magic, store, folder):
    """Tests a separate file for each word, and one file with all words."""
    store.query("--split", "pid", "-o", f"{folder}/parts")
    parts = ((path.name, path.read_bytes(), PLAIN) for path in sorted(pathlib.Path(folder, "parts").iterdir()))
    near = [part for part in parts if near_words(part[1])]
    yield f"libmagic takes {len(near)} files with one of its words for plain text", list(judged(magic, near))
    whole = [(" ".join(options), store.query(*options), PLAIN) for options in ((), ("--no-header",))]
    yield "libmagic takes a file with all of its words for plain text", list(judged(magic, whole))


def check_placed(magic, store, folder):
    """Tests functions and files that bring words to their places. A comm is too short for that."""
    for options in ((), ("--no-header",)):
        parts = f"{folder}/parts{len(options)}"
        store.query("--split", "pid", "-o", parts, "--comm", "comm", *options)
        texts = [(path.name, path.read_bytes(), PLAIN) for path in sorted(pathlib.Path(parts).iterdir())]
        name = " ".join((f"{len(texts)} files with words at their places", *options))
        yield f"libmagic takes {name} for plain text", list(judged(magic, texts))


def put_words(folder, found):
    path = pathlib.Path(folder, "list")
    path.write_bytes(b"".join(word + b"\0" for word in found))
    return path


def checks_of_readers(magic, folder, *programs):
    yield "the judges find fault with texts of perf", list(deaf_judges(magic))
    yield "libmagic knows each golden text", list(judged(magic, goldens()))
    yield "libmagic takes each output of the cases for plain text", list(judged(magic, outputs_of_cases()))
    store = Store(*programs, folder, "readers")
    yield from check_readers(magic, store)
    yield "the name of a file chooses its format", list(check_names(store, folder))


def checks_of_words(magic, folder, *programs):
    found = list(words())
    yield "the installed libmagic has words", [] if len(found) > 1000 else [tap.wrong("over 1000", len(found))]
    kinds = (
        ("words", found, check_words),
        ("placed", sorted(set(placed_words(60, FAR))), check_placed),
    )
    for name, names, check in kinds:
        own = f"{folder}/{name}"
        pathlib.Path(own).mkdir()
        yield from check(magic, Store(*programs, own, "words", str(put_words(own, names))), own)


def is_lost(tool, path):
    try:
        return bool(lost_in(tool, ours(path.read_text()), path))
    except subprocess.CalledProcessError:
        return True


def deaf_tool(tool, path):
    """Whether a tool shows all of a text. The text has what the tool must lose, beside a sample that it can read."""
    fine = EVENT.replace("7/8", "9/9").replace("1.000001", "2.500001") % ("fine", "main", "/x")
    for name, *names in FAULTS_OF_TOOLS:
        if name == tool.name:
            path.write_text(EVENT % tuple(names) + fine)
            if not is_lost(tool, path):
                yield tap.wrong(f"{name} itself loses something of {names}", "nothing is lost")


def check_tool(tool, texts, folder):
    missing = tool.missing()
    name = f"{tool.name} itself finds fault with texts of perf"
    yield (f"{name} # SKIP {missing}", []) if missing else (name, list(deaf_tool(tool, folder / "fault.stacks")))
    for form, (path, samples) in texts.items():
        name = f"{tool.name} itself shows all {len(samples)} samples of {form}"
        if missing:
            yield f"{name} # SKIP {missing}", []
        else:
            yield name, [tap.wrong("nothing is lost", line) for line in lost_in(tool, samples, path)]


def checks_of_tools(_, folder, *programs):
    store, texts = Store(*programs, folder, "readers"), {}
    for number, (form, options) in enumerate(FORMS.items()):
        path = pathlib.Path(folder, f"text{number}.stacks")
        path.write_bytes(store.query(*options))
        texts[form] = (path, ours(path.read_text()))
    for tool in tools(pathlib.Path(folder, "tools")):
        yield from check_tool(tool, texts, pathlib.Path(folder))


CHECKS = {"readers": checks_of_readers, "words": checks_of_words, "tools": checks_of_tools}


def main():
    programs, checks = map(os.path.abspath, sys.argv[1:3]), CHECKS[sys.argv[3]]
    with tempfile.TemporaryDirectory(prefix="perftape-texts-") as folder:
        return tap.run(checks(Magic(), folder, *programs))


if __name__ == "__main__":
    sys.exit(main())
