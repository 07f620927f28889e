#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Questions to a fleet with a planted cause (planted.sql), and exactly what is answered (tests/golden/fleet.txt).

Usage: asked.py PERFTAPE CLICKHOUSE

With UPDATE_CASES=1, writes the answers anew: read the difference.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import servers  # noqa: E402
import tap  # noqa: E402
from recorders import PERFTAPE, expect, perftape  # noqa: E402

CLICKHOUSE = os.path.abspath(sys.argv[2])
GOLDEN = HERE.parent / "golden" / "fleet.txt"
DASHBOARD = tap.TREE / "packaging" / "grafana" / "perftape-fleet.json"
# The week of the planted fleet, from 2026-11-10 on.
WEEK_MS = (20767 * 86400000, 20774 * 86400000)
LONG_AGO = "18250d"
# A server on a busy machine takes long for a question of many steps.
ANSWER_S = 400


def planted(server):
    """Makes the planted fleet. No row may be too old for its table, whatever the day is."""
    perftape("fleet", "init", "--to", server.url + "/planted", "--keep", LONG_AGO, "--keep-sums", LONG_AGO)
    for statement in (HERE / "planted.sql").read_text().split(";\n"):
        if statement.strip():
            server.ask(statement, "planted")


def answered(server, line):
    """What a command of the file answers, on a terminal of 80 columns."""
    words = [word.replace("URL", server.url + "/planted") for word in shlex.split(line)]
    screen = {**os.environ, "COLUMNS": "80", "LINES": "24", "LC_ALL": "C.UTF-8"}
    command = [PERFTAPE, *words, "--utc"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, env=screen)
    text = done.stdout + "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return text + (f"! exit {done.returncode}\n" if done.returncode else "")


def read_golden():
    """(command, expected answer) for each block that begins with a $."""
    for block in GOLDEN.read_text().split("\n$ ")[1:]:
        line, _, text = block.partition("\n")
        yield line, text


def test_golden(server):
    """Each answer is the expected one, and fits a screen of 24 lines."""
    head = GOLDEN.read_text().split("\n$ ")[0]
    seen = [(line, text, answered(server, line)) for line, text in read_golden()]
    if os.environ.get("UPDATE_CASES"):
        GOLDEN.write_text(head + "".join(f"\n$ {line}\n{answer}" for line, _, answer in seen))
        return []
    wrongs = []
    for line, text, answer in seen:
        wrongs += expect(line, text.rstrip("\n") == answer.rstrip("\n"), "expected:", text, "seen:", answer)
        screen = [line for line in answer.splitlines() if not line.startswith("!")]
        fits = "--json" in line or (len(screen) < 24 and all(len(line) <= 80 for line in screen))
        wrongs += expect("80x24: " + line, fits, answer)
    return wrongs


def dashboard_sql():
    """(name, SQL) of each panel and variable of the dashboard, with the values that Grafana would put in."""
    dashboard = json.loads(DASHBOARD.read_text())
    variables = [(row["name"], row["query"]) for row in dashboard["templating"]["list"] if row["type"] == "query"]
    panels = [(panel["title"], target["rawSql"]) for panel in dashboard["panels"] for target in panel["targets"]]
    values = {"${label:sqlstring}": "'zone'", "${gauge:sqlstring}": "'memory_cgroups'"}
    values |= {"$__from": str(WEEK_MS[0]), "$__to": str(WEEK_MS[1])}
    for name, sql in variables + panels:
        for variable, value in values.items():
            sql = sql.replace(variable, value)
        yield name, sql


def test_dashboard(server):
    """Each query of the dashboard for Grafana runs, and finds what is planted."""
    answers = {name: server.ask(sql, "planted") for name, sql in dashboard_sql() if "$" not in sql}
    by_label = [line.split("\t") for line in answers["Incidents by label"].splitlines()]
    return [
        *expect("all queries are known", len(answers) == len(list(dashboard_sql())) > 8, list(answers)),
        *expect("each finds rows", all(answers.values()), answers),
        *expect("az3 comes first", by_label[0][:4] == ["az3", "20", "14", "112"], by_label),
        *expect("zone is the first label", answers["label"].splitlines()[0] == "zone", answers["label"]),
    ]


TESTS = [test_golden, test_dashboard]


def main():
    """All tests use one server, because a server takes long to start on a busy machine."""
    with tempfile.TemporaryDirectory() as name, servers.current(CLICKHOUSE, name) as server:
        planted(server)
        return tap.run([(test.__doc__, test(server)) for test in TESTS])


if __name__ == "__main__":
    sys.exit(main())
