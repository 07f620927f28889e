#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A host ships to a cluster of an old ClickHouse whose parts fail: every sample arrives exactly once.

Usage: cluster.py PERFTAPE CLICKHOUSE FLEET_STORE
"""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import nodes  # noqa: E402
import proxy  # noqa: E402
import tap  # noqa: E402
from recorders import expect, perftape  # noqa: E402
from shipped import make_store, rows_of_store, ship, ship_until_done  # noqa: E402

COLUMNS = "ts, cpu, pid, tid, comm"
HASH = f"SELECT count(), sum(cityHash64({COLUMNS})) FROM "
TYPES = "ts UInt64, cpu UInt16, pid UInt32, tid UInt32, comm String"


def hash_of_store(node, store, database):
    """The number and the hash of the samples of a store, as the server hashes them."""
    node.ask(f"CREATE TABLE {database}.expected ({TYPES}) ENGINE = Memory")
    rows = [dict(zip(COLUMNS.split(", "), row.split(" ", 4))) for row in rows_of_store(store)]
    lines = "\n".join(json.dumps(row) for row in rows)
    node.ask(f"INSERT INTO {database}.expected FORMAT JSONEachRow\n{lines}")
    return node.rows(HASH + "expected", database)


def init(cluster, database):
    """Makes the tables; without them, a test would only fail late."""
    url = cluster.nodes[0].url + "/" + database
    done = perftape("fleet", "init", "--to", url, "--cluster", "c")
    if done.returncode:
        raise RuntimeError(done.stderr)


def replicas_equal(cluster, database):
    """Waits until the two nodes of the first shard have the same rows."""
    sql = HASH + "samples_local FINAL"
    seen = []

    def equal():
        seen[:] = [node.counts(sql, database) for node in cluster.nodes[:2]]
        return seen[0] is not None and seen[0] == seen[1]

    nodes.wait_until("equal replicas", equal)
    return seen


def arrived(cluster, store, database):
    """Each sample is there once, asked of any node, and both replicas have the same."""
    wrongs = []
    replicas_equal(cluster, database)
    for number, node in enumerate(cluster.nodes):
        expected = hash_of_store(node, store, database)
        seen = node.rows(HASH + "samples FINAL", database)
        wrongs += expect(f"every sample once, says node {number + 1}", seen == expected, seen, expected)
    summed = cluster.nodes[2].rows("SELECT sum(samples) FROM minutes FINAL", database)[0][0]
    return wrongs + expect("the sums count each sample once", summed == expected[0][0], summed, expected)


def test_killed(cluster, folder):
    """A node that is killed in the middle of an insert, and another one takes its place."""
    store = make_store(folder / "store", 24, 2, 2)
    init(cluster, "killed")
    first, _, third = cluster.nodes
    with proxy.running(first.port, every=10, faults=("kill",)) as front:

        def kill():
            first.kill()
            front.upstream, front.every = third.port, 0

        front.on_fault = kill
        _, done = ship_until_done(front.url + "/killed", store, folder / "state")
        met = front.met
    first.start()
    return [
        *expect("it ships in the end", done.returncode == 0, done.stderr),
        *expect("one insert met the kill", met == ["kill"], met),
        *arrived(cluster, store, "killed"),
    ]


def test_lost(cluster, folder):
    """An acknowledgement that is lost, again and again, and comes back through another node."""
    store = make_store(folder / "store", 24, 2, 2)
    init(cluster, "lost")
    with proxy.running(cluster.nodes[0].port, every=4, faults=("lose answer",)) as front:

        def turn():
            front.upstream = cluster.nodes[len(front.met) % 3].port

        front.on_fault = turn
        _, done = ship_until_done(front.url + "/lost", store, folder / "state")
        met = len(front.met)
    return [
        *expect("it ships in the end", done.returncode == 0, done.stderr),
        *expect("acknowledgements were lost", met > 10, met),
        *arrived(cluster, store, "lost"),
    ]


def test_full(cluster, folder):
    """A server that is full says so in one line; nothing is lost, and nothing comes twice."""
    store = make_store(folder / "store", 24, 2, 2)
    init(cluster, "full")
    url, filler = cluster.nodes[0].url + "/full", cluster.small / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 65536):
                pass
        except OSError:
            pass
    full = ship(url, store, folder / "state", "--samples", "all")
    filler.unlink()
    _, done = ship_until_done(url, store, folder / "state")
    return [
        *expect("one line", full.returncode == 1 and full.stderr.count("\n") == 1, full.stderr),
        *expect("it ships in the end", done.returncode == 0, done.stderr),
        *arrived(cluster, store, "full"),
    ]


def test_keeper(cluster, folder):
    """ZooKeeper is gone for a while."""
    store = make_store(folder / "store", 24, 2, 2)
    init(cluster, "keeper")
    url = cluster.nodes[0].url + "/keeper"
    cluster.stop_keeper()
    gone = ship(url, store, folder / "state", "--samples", "all")
    cluster.start_keeper()
    answers = "SELECT count() FROM system.zookeeper WHERE path = '/'"
    for node in cluster.nodes:
        nodes.wait_until("ZooKeeper", lambda node=node: node.counts(answers, None))
    nodes.wait_until("ship", lambda: ship(url, store, folder / "state", "--samples", "all").returncode == 0)
    return [
        *expect("one line", gone.returncode == 1 and gone.stderr.count("\n") == 1, gone.stderr),
        *arrived(cluster, store, "keeper"),
    ]


TESTS = [test_killed, test_lost, test_full, test_keeper]


def main():
    """All tests use one cluster."""
    with tempfile.TemporaryDirectory() as name, nodes.running(name) as cluster:
        checks = []
        for number, test in enumerate(TESTS):
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            checks.append((test.__doc__, test(cluster, folder)))
        return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
