#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Hosts ship to a current ClickHouse, also through a bad network: every sample arrives exactly once.

Usage: shipped.py PERFTAPE CLICKHOUSE FLEET_STORE
"""

import datetime
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import proxy  # noqa: E402
import recorders  # noqa: E402
import servers  # noqa: E402
import tap  # noqa: E402
from recorders import expect, perftape  # noqa: E402

CLICKHOUSE, FLEET_STORE = map(os.path.abspath, sys.argv[2:4])
LONG = os.environ.get("PERFTAPE_TIER") == "long"
BATCHES = 10000 if LONG else 500
# A hash of all rows of a table, whatever their order is.
ROWS = "SELECT count(), sum(cityHash64(*)) FROM {0} {1}"


def make_store(folder, segments, seconds, cpus):
    subprocess.run([FLEET_STORE, folder, str(segments), str(seconds), str(cpus)], check=True)
    return folder


def ship(url, store, state, *more):
    words = ("--to", url, "--store", store, "--state", state, "--host", "h1", "--once")
    return perftape("ship", *words, *more)


def rows(server, database, table, final="FINAL"):
    return server.ask(ROWS.format(table, final), database)


def test_default(server, folder):
    """By default, the samples around incidents arrive, and sums of all others."""
    store = make_store(folder / "store", 12, 20, 2)
    perftape("fleet", "init", "--to", server.url + "/usual")
    first = ship(server.url + "/usual", store, folder / "state")
    again = ship(server.url + "/usual", store, folder / "state")
    windows = server.rows("SELECT min(begin), max(end), sum(samples) FROM windows FINAL", "usual")[0]
    (incident,) = [int(time) for (time,) in server.rows("SELECT ts FROM incidents FINAL", "usual")]
    samples = int(server.ask("SELECT count() FROM samples FINAL", "usual"))
    summed = int(server.ask("SELECT sum(samples) FROM minutes FINAL", "usual"))
    stored = sum(segment["samples"] for segment in segments_of(store))
    lacking = server.ask("SELECT count() FROM samples WHERE stack NOT IN (SELECT stack FROM stacks)", "usual")
    return [
        *expect("it ships", first.returncode == 0, first.stderr),
        *expect("the second time, nothing", "has all" in again.stderr, again.stderr),
        *expect("30 s before", int(windows[0]) == incident - 30_000_000, windows, incident),
        *expect("5 s after", int(windows[1]) == incident + 5_000_000, windows, incident),
        *expect("all samples of the window", samples == int(windows[2]) > 6000, samples, windows),
        *expect("the sums have all samples", summed == stored, summed, stored),
        *expect("each stack is there", lacking == "0", lacking),
    ]


def segments_of(store):
    answer = perftape("segments", "--store", store, "--json", "-q").stdout
    return [row for row in map(json.loads, answer.splitlines()) if "sequence" in row]


def lines_of(done):
    """The samples of a text, without the header."""
    return [line for line in done.stdout.splitlines() if not line.startswith("#")]


def test_window(server, folder):
    """A window of the fleet is that of the host's own store, line by line. If only sums came, the answer says so."""
    store = make_store(folder / "store", 12, 20, 2)
    perftape("fleet", "init", "--to", server.url + "/window")
    shipped = ship(server.url + "/window", store, folder / "state")
    (incident,) = [int(time) for (time,) in server.rows("SELECT ts FROM incidents FINAL", "window")]
    fleet = ("--fleet", server.url + "/window", "--host")
    wrongs = expect("it ships", shipped.returncode == 0, shipped.stderr)
    folded, cpu = ("--format", "folded"), ("--cpu", "1")
    for before, after, more in ((30, 5, ()), (7.5, 1.25, ()), (12, 3, folded), (3, 0.5, cpu)):
        window = ("--from", f"@{incident / 1e6 - before:.6f}", "--to", f"@{incident / 1e6 + after:.6f}", *more)
        own = perftape("query", "--store", store, *window)
        asked = perftape("query", *fleet, "h1", *window)
        same = lines_of(own) == lines_of(asked) and len(lines_of(own)) > 10
        wrongs += expect(f"{before} s before, line by line", same, len(lines_of(own)), asked.stderr)
    late = f"@{incident / 1e6 + 60:.6f}"
    sums = perftape("query", *fleet, "h1", "--from", late, "--to", f"@{incident / 1e6 + 65:.6f}")
    hostile = perftape("query", *fleet, "h1' OR '1'='1", "--from", late, "--to", f"@{incident / 1e6 + 65:.6f}")
    return [
        *wrongs,
        *expect("only sums", sums.returncode == 3 and "only sums" in sums.stderr, sums.stderr),
        *expect("no SQL in a name", hostile.returncode == 3 and "holds nothing" in hostile.stderr, hostile.stderr),
    ]


COUNTED = ("lost", "skipped", "lost_names", "refused_names", "damaged", "frames", "named", "user_stacks")


def coverage_of(done):
    """What a query in JSON says of the samples that it lacks."""
    (coverage,) = [row["coverage"] for row in map(json.loads, done.stdout.splitlines()) if "coverage" in row]
    return {key: coverage.get(key) for key in COUNTED}


def test_recording(server, folder):
    """A recording of this machine comes back line by line, with the same coverage."""
    store, load = folder / "store", subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        recorder = recorders.start_sampling(store, "--segment", "2s", "-F", "199")
        begin = recorders.reached(store)
        recorders.wait_for(lambda: recorders.reached(store) > begin + 7 or recorder.poll() is not None)
    finally:
        load.kill()
        load.wait()
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate()
    perftape("fleet", "init", "--to", server.url + "/recording")
    shipped = ship(server.url + "/recording", store, folder / "state", "--samples", "all")
    fleet = ("--fleet", server.url + "/recording", "--host", "h1")
    wrongs = expect("it records", recorder.returncode == 0, said)
    wrongs += expect("it ships", shipped.returncode == 0, shipped.stderr)
    whole = ("--from", f"@{begin - 30:.6f}", "--to", f"@{begin + 90:.6f}")
    part = ("--from", f"@{begin + 1.5:.6f}", "--to", f"@{begin + 5.25:.6f}")
    for window in (whole, part):
        for form in ("flamescope", "folded"):
            own = perftape("query", "--store", store, "--format", form, *window)
            asked = perftape("query", *fleet, "--format", form, *window)
            same = lines_of(own) == lines_of(asked) and len(lines_of(own)) > 10
            wrongs += expect(f"{form}, line by line", same, window, len(lines_of(own)), asked.stderr)
    own = coverage_of(perftape("query", "--store", store, "--format", "json", *whole))
    asked = coverage_of(perftape("query", *fleet, "--format", "json", *whole))
    return wrongs + expect("the same coverage", own == asked and own["frames"], own, asked)


def test_none(server, folder):
    """--samples none ships no single sample; a second state ships the same rows again, which count once."""
    store = make_store(folder / "store", 7, 10, 1)
    perftape("fleet", "init", "--to", server.url + "/sums")
    done = ship(server.url + "/sums", store, folder / "state", "--samples", "none")
    before = rows(server, "sums", "minutes"), rows(server, "sums", "incidents")
    ship(server.url + "/sums", store, folder / "other", "--samples", "none")
    after = rows(server, "sums", "minutes"), rows(server, "sums", "incidents")
    samples = server.ask("SELECT count() FROM samples", "sums")
    return [
        *expect("it ships", done.returncode == 0, done.stderr),
        *expect("no samples", samples == "0", samples),
        *expect("the same rows", before == after and before[0][0] != "0", before, after),
    ]


def rows_of_store(store):
    """All samples of a store, as the server shows them, sorted."""
    answer = perftape("query", "--store", store, "--from", "now-1d", "--format", "json", "-q").stdout
    samples = [row for row in map(json.loads, answer.splitlines()) if "tid" in row]
    return sorted(f"{time_us(row['time'])} {row['cpu']} {row['pid']} {row['tid']} {row['comm']}" for row in samples)


def time_us(text):
    """Microseconds since 1970 of a time in UTC with six digits."""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def rows_of_server(server, database, final):
    """The same of a server."""
    rows = server.ask(f"SELECT ts, cpu, pid, tid, comm FROM samples {final} FORMAT JSONCompactEachRow", database)
    return sorted(" ".join(map(str, json.loads(row))) for row in rows.splitlines())


def ship_until_done(url, store, state):
    """Starts ship again after each failure. Returns the number of attempts, and the last one."""
    for attempt in range(1, BATCHES + 1):
        done = ship(url, store, state, "--samples", "all")
        if done.returncode == 0:
            break
    return attempt, done


def test_once(server, folder):
    """Through a network that cuts, delays, doubles and corrupts, every sample arrives exactly once."""
    # each segment has a batch of sums, one of samples and one of its window
    store = make_store(folder / "store", BATCHES // 3, 2, 1)
    perftape("fleet", "init", "--to", f"{server.url}/bad")
    with proxy.running(server.port, every=7) as bad:
        attempts, done = ship_until_done(bad.url + "/bad", store, folder / "state")
        met, inserts = set(bad.met), next(bad.inserts) - 1
    expected = rows_of_store(store)
    summed = int(server.ask("SELECT sum(samples) FROM minutes FINAL", "bad"))
    arrived = {final: rows_of_server(server, "bad", final) for final in ("", "FINAL")}
    return [
        *expect("it ships in the end", done.returncode == 0, done.stderr),
        *expect(f"{BATCHES} batches", inserts >= BATCHES, inserts),
        *expect("each fault was met", met == set(proxy.FAULTS), met),
        *expect("it failed in between", attempts > 10, attempts),
        *expect("the server knew each batch again", arrived[""] == expected, len(arrived[""]), len(expected)),
        *expect("every sample exactly once", arrived["FINAL"] == expected, len(arrived["FINAL"])),
        *expect("the sums count each sample once", summed == len(expected), summed, len(expected)),
    ]


def forget_index(store):
    """Removes the index, which would still list hidden segments."""
    for path in store.glob("index*"):
        path.unlink()


def test_away(server, folder):
    """While a server is away, only segments that retention removes are lost. Each of them becomes a row of losses."""
    store = make_store(folder / "store", 6, 10, 1)
    perftape("fleet", "init", "--to", server.url + "/away")
    port = servers.free_port()
    refused = ship(f"http://127.0.0.1:{port}/away", store, folder / "unused")
    first, *later = sorted((store / "segments").iterdir())
    hidden = folder / "hidden"
    hidden.mkdir()
    for path in later:
        path.rename(hidden / path.name)
    forget_index(store)
    shipped = ship(server.url + "/away", store, folder / "state")
    for path in later:
        (hidden / path.name).rename(path)
    forget_index(store)
    # now the host removes its oldest segments, of which the server has one
    limit, left = 80_000, segments_of(store)
    while len(left) > 4 and limit > 0:
        limit -= 4000
        vacuum = perftape("vacuum", "--store", store, "--max-size", f"{limit}B", "--force")
        left = segments_of(store)
    ship(server.url + "/away", store, folder / "state")
    removed = server.rows("SELECT count(), sum(end - begin) FROM losses FINAL WHERE kind = 1000", "away")[0]
    summed = int(server.ask("SELECT sum(samples) FROM minutes FINAL", "away"))
    return [
        *expect("one line", refused.returncode == 1 and refused.stderr.count("\n") == 1, refused.stderr),
        *expect("the first segment is shipped", shipped.returncode == 0, shipped.stderr),
        *expect("some are removed, and not all", 1 <= len(left) < 5, len(left), vacuum.stderr),
        *expect("a row of what never came", int(removed[1]) == (5 - len(left)) * 10_000_000, removed, len(left)),
        *expect("all others came", summed == (len(left) + 1) * left[0]["samples"], summed, left),
    ]


def certificate(folder, name, subject, authority=None, days=2):
    """Makes NAME.pem and NAME.key, signed by an authority or by itself."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    making = ("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name)
    openssl(*making, "-keyout", f"{name}.key", "-out", f"{name}.csr")
    extension = folder / f"{name}.ext"
    extension.write_text(f"subjectAltName={subject}\n" if authority else "basicConstraints=CA:TRUE\n")
    by = ["-signkey", f"{name}.key"]
    if authority:
        by = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial"]
    signing = ["x509", "-req", "-in", f"{name}.csr", *by, "-days", str(days), "-extfile", f"{name}.ext"]
    openssl(*signing, "-out", f"{name}.pem")


def tls(folder, name, client=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    if client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.pem")
    return context


def access(folder, **settings):
    path = folder / "access"
    path.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    path.chmod(0o600)
    return path


def test_tls(server, folder):
    """HTTPS with a client's certificate works; a wrong name, an old certificate and none give one clear line."""
    certificate(folder, "ca", "")
    certificate(folder, "good", "IP:127.0.0.1", "ca")
    certificate(folder, "other", "DNS:elsewhere.example", "ca")
    certificate(folder, "old", "IP:127.0.0.1", "ca", days=-1)
    certificate(folder, "host", "DNS:h1", "ca")
    ca, mine = folder / "ca.pem", {"cert": folder / "host.pem", "key": folder / "host.key"}
    seen = {}
    for name, context, settings in (
        ("good", tls(folder, "good", client=True), {"ca": ca, **mine}),
        ("unknown authority", tls(folder, "good"), {}),
        ("wrong name", tls(folder, "other"), {"ca": ca}),
        ("expired", tls(folder, "old"), {"ca": ca}),
        ("no client", tls(folder, "good", client=True), {"ca": ca}),
    ):
        with proxy.running(server.port, context=context) as front:
            seen[name] = perftape("fleet", "init", "--to", front.url + "/tls", "--access", access(folder, **settings))
    bad = [name for name in seen if name != "good"]
    return [
        *expect("with certificates", seen["good"].returncode == 0, seen["good"].stderr),
        *expect("the others fail", all(seen[name].returncode == 1 for name in bad), seen),
        *expect("in one line", all(seen[name].stderr.count("\n") == 1 for name in bad), seen),
        *expect("a wrong name", "name" in seen["wrong name"].stderr, seen["wrong name"].stderr),
        *expect("an expired certificate", "expired" in seen["expired"].stderr, seen["expired"].stderr),
        *expect("no certificate", "cert and key" in seen["no client"].stderr, seen["no client"].stderr),
    ]


TESTS = [test_default, test_window, test_recording, test_none, test_once, test_away, test_tls]


def main():
    """All tests use one server, because a server takes long to start on a busy machine."""
    chosen = [test for test in TESTS if not LONG or test is test_once]
    with tempfile.TemporaryDirectory() as name, servers.current(CLICKHOUSE, name) as server:
        checks = []
        for number, test in enumerate(chosen):
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            checks.append((test.__doc__, test(server, folder)))
        return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
