#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Hosts of a fleet that ship hostile names to a real server: of hosts, labels, facts, threads, functions, modules,
cgroups, kinds and gauges. No answer may have a control character, or a line or a word of a shell that they chose.

Usage: hostile-fleet.py PERFTAPE CLICKHOUSE
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "fleet")]
import servers  # noqa: E402
import tap  # noqa: E402
import terminals  # noqa: E402

PERFTAPE = os.path.abspath(sys.argv[1])
CLICKHOUSE = os.path.abspath(sys.argv[2])
ANSWER_S = 400
LONG_AGO = "18250d"
# In a string of ClickHouse: colours, a title of the terminal, a line, C1, a bidirectional control, a character without
# width, a byte that is not UTF-8, and a command of a shell.
HOSTILE = r"\x1b[31;5m\x1b]0;x\x07\n=FORGED\r\xc2\x9b\xe2\x80\xae\xe2\x80\x8b\xff;$(id)' "
# Each of these texts of planted.sql gets hostile words in it, after its first part if a name has parts.
NAMES = (
    *("web-", "az", "az1", "az3", "kubelet", "python", "nginx", "mem_cgroup_nr_lru_pages", "do_user_loop"),
    *("tcp_sendmsg", "label/instance_type", "driver/ena", "2.8.0g", "2.10.0g", "ena.reset", "[kernel]", "enabled", "/"),
    *("removed before it was shipped", "memory_cgroups", "restarts/ecs-agent.service", "reset", "b"),
)
WEEK = ("2026-11-10T00:00Z", "2026-11-17T00:00Z")
HOUR = ("2026-11-10T10:00Z", "2026-11-10T11:00Z")


def planted(server):
    """Makes the fleet of planted.sql, in which all names are hostile."""
    sql = (TESTS / "fleet" / "planted.sql").read_text()
    for name in NAMES:
        first = re.match(r"[a-z]+[/.]|", name).group()
        words = HOSTILE.replace("'", r"\'")
        sql = sql.replace(f"'{name}'", f"'{first}{words}{name[len(first):]}'")
    url = server.url + "/planted"
    command = [PERFTAPE, "fleet", "init", "--to", url, "--keep", LONG_AGO, "--keep-sums", LONG_AGO]
    subprocess.run(command, check=True, capture_output=True)
    for statement in sql.split(";\n"):
        if statement.strip():
            server.ask(statement, "planted")
    return url


def a_host(server):
    """The name of a host with samples, as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/?database=planted", b"SELECT hex(host) FROM windows LIMIT 1")
    return bytes.fromhex(connection.getresponse().read().decode())


def questions(url, host):
    """The words of each question."""
    fleet, week, hour = ("--fleet", url), ("--from", WEEK[0], "--to", WEEK[1]), ("--from", HOUR[0], "--to", HOUR[1])
    since = ("--since", WEEK[0], "--until", WEEK[1])
    for form in ((), ("--json",)):
        yield ("incidents", *fleet, *week, *form)
        yield ("incidents", *fleet, *week, "--label", "zone", *form)
        yield ("incidents", *fleet, *week, "--label", "\x1b[31m\n=FORGED", *form)
        yield ("fleet", "drift", *fleet, *since, *form)
        yield ("fleet", "drift", *fleet, *since, "--label", "zone", *form)
        yield ("explain", "--all", *fleet, *week, *form)
        yield ("top", *fleet, *hour, *form)
        for by in ("thread", "host"):
            yield ("top", *fleet, *hour, "--by", by, *form)
        yield ("diff", *fleet, *hour, "--label", "zone", *form)
        yield ("spikes", *fleet, *week, *form)
    for form in ((), ("--format", "folded"), ("--format", "json")):
        yield ("query", *fleet, "--host", host, *hour, *form)
    yield ("query", *fleet, "--host", "no\x1b[31m\n=FORGED", *hour)


def hidden(text, is_json):
    """The characters of an answer that must not be in it. JSON replaces bytes that are not UTF-8 by U+FFFD."""
    allowed = "\ufffd" if is_json else ""
    return sorted({character for character in text if terminals.is_control(character) and character not in allowed})


def asked(words, folder):
    """(what is wrong with the answer to a question, the answer)"""
    done = subprocess.run([PERFTAPE, *words, "--utc"], capture_output=True, cwd=folder, timeout=ANSWER_S, check=False)
    is_json = "json" in words or "--json" in words
    wrong = []
    for stream in (done.stdout, done.stderr):
        text = stream.decode("utf-8", "replace")
        wrong += [f"prints {character!r}" for character in hidden(text.replace("\r", "\x1b"), is_json)]
        wrong += [f"prints a forged line: {line[:60]!r}" for line in text.split("\n") if line.startswith("=FORGED")]
    if not done.stdout and done.returncode == 0:
        wrong.append("answers nothing")
    return [f"{words[0]} {words[3:]}: {what}" for what in wrong], done


def test_answers(url, host, folder):
    """no answer has a control character, or a line that a host chose"""
    wrongs, answered = [], 0
    for words in questions(url, host):
        wrong, done = asked(words, folder)
        wrongs += wrong
        answered += done.returncode == 0 and b"FORGED" in done.stdout
        if b"--json" in map(os.fsencode, words):
            rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
            wrongs += [] if all(isinstance(row, dict) for row in rows) else [f"{words}: not rows of JSON"]
    return wrongs + ([] if answered >= 20 else [tap.wrong("20 answers with hostile names", answered)])


def test_terminal(url, host, folder):
    """nor does it on a terminal"""
    wrongs = []
    for words in questions(url, host):
        if "--json" not in words and "json" not in words:
            found = terminals.controls([PERFTAPE, *map(os.fsdecode, words)], folder)
            wrongs += [f"{words[0]} {words[3:]}: {found!r}"] if found else []
    return wrongs


def test_command(url, _host, folder):
    """a command that an answer proposes has the name of the host as one word"""
    done = asked(("explain", "--all", "--fleet", url, "--from", WEEK[0], "--to", WEEK[1]), folder)[1]
    line = next(line for line in done.stdout.decode().splitlines() if line.startswith("Most on "))
    command = line.partition(": perftape ")[2]
    words = ["perftape"]
    with contextlib.suppress(ValueError):  # an open quotation mark
        words += shlex.split(command)
    right = words[:5] == ["perftape", "query", "--fleet", "URL", "--host"] and words[6:7] == ["--at"]
    if right and len(words) == 8 and "$(id)" in words[5]:
        return []
    return [tap.wrong("perftape query --fleet URL --host HOST --at TIME", line)]


def main():
    """All tests use one server, because a server takes long to start on a busy machine."""
    with tempfile.TemporaryDirectory() as name, servers.current(CLICKHOUSE, name) as server:
        folder = pathlib.Path(name) / "answers"
        folder.mkdir()
        url = planted(server)
        host = a_host(server)
        checks = (test_answers, test_terminal, test_command)
        return tap.run([(test.__doc__, test(url, host, folder)) for test in checks])


if __name__ == "__main__":
    sys.exit(main())
