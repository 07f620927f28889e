#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fleet on a current ClickHouse: its tables, and what hosts ship.

Usage: fleet.py PERFTAPE CLICKHOUSE
"""

import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import servers  # noqa: E402
import tap  # noqa: E402
from recorders import expect, perftape  # noqa: E402

CLICKHOUSE = os.path.abspath(sys.argv[2])
TABLES = {"facts", "gauges", "incidents", "losses", "minutes", "samples", "schema_version", "stacks", "windows"}


def test_init(server, folder):
    """fleet init makes the tables, and may be repeated."""
    first = perftape("fleet", "init", "--to", server.url)
    again = perftape("fleet", "init", "--to", server.url)
    tables = {name for (name,) in server.rows("SHOW TABLES FROM perftape")}
    return [
        *expect("the first init makes the tables", "the tables of version 1 are made" in first.stderr, first.stderr),
        *expect("the second finds them", "are up to date" in again.stderr, again.stderr),
        *expect("all tables", tables == TABLES, tables),
    ]


def test_upgrade(server, folder):
    """fleet init adds a column that older tables lack, keeps their rows, and refuses newer tables."""
    perftape("fleet", "init", "--to", server.url + "/older")
    server.ask("ALTER TABLE older.incidents DROP COLUMN fields")
    server.ask("INSERT INTO older.incidents (ts, text) VALUES (toUnixTimestamp(now()) * 1000000, 'kept')")
    upgraded = perftape("fleet", "init", "--to", server.url + "/older")
    row = server.ask("SELECT text, fields FROM older.incidents")
    server.ask("INSERT INTO older.schema_version (version, ts) VALUES (999, 1)")
    newer = perftape("fleet", "init", "--to", server.url + "/older")
    return [
        *expect("one column is added", "lacked 1 columns" in upgraded.stderr, upgraded.stderr),
        *expect("the row is kept", row == "kept\t", row),
        *expect("newer tables are refused", newer.returncode == 1 and "version 999" in newer.stderr, newer.stderr),
    ]


def test_printed(server, folder):
    """The SQL of --print is SQL that the server takes, and --cluster needs a cluster."""
    printed = perftape("fleet", "init", "--to", server.url + "/typed", "--print", "--keep", "3d")
    server.ask("CREATE DATABASE typed")
    for statement in printed.stdout.split(";\n\n"):
        if statement.strip():
            server.ask(statement)
    tables = {name for (name,) in server.rows("SHOW TABLES FROM typed")}
    days = server.ask("SHOW CREATE TABLE typed.samples")
    cluster = perftape("fleet", "init", "--to", server.url, "--cluster", "none")
    return [
        *expect("all tables", tables == TABLES, tables, printed.stderr),
        *expect("--keep is in them", "toIntervalDay(3)" in days, days),
        *expect("no such cluster", cluster.returncode == 1 and "knows no cluster" in cluster.stderr, cluster.stderr),
    ]


def test_errors(server, folder):
    """Each way in which a server cannot be reached gives one line."""
    secret = folder / "access"
    secret.write_text("password = open\n")
    secret.chmod(0o644)
    port = servers.free_port()
    away = perftape("fleet", "init", "--to", f"http://127.0.0.1:{port}")
    typed = perftape("fleet", "init", "--to", "http://me:secret@127.0.0.1")
    readable = perftape("fleet", "init", "--to", "http://127.0.0.1", "--access", secret)
    seen = [away, typed, readable]
    return [
        *expect("one line each", all(done.stderr.count("\n") == 1 for done in seen), *(d.stderr for d in seen)),
        *expect("no server", away.returncode == 1 and "no answer" in away.stderr, away.stderr),
        *expect("no password in a URL", typed.returncode == 2 and "secret" not in typed.stderr, typed.stderr),
        *expect("no readable secret", readable.returncode == 1 and "chmod o-r" in readable.stderr, readable.stderr),
    ]


TESTS = [test_init, test_upgrade, test_printed, test_errors]


def main():
    """All tests use one server, because a server takes long to start on a busy machine."""
    with tempfile.TemporaryDirectory() as name, servers.current(CLICKHOUSE, name) as server:
        checks = []
        for number, test in enumerate(TESTS):
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            checks.append((test.__doc__, test(server, folder)))
        return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
