# SPDX-License-Identifier: GPL-2.0-only
"""Real ClickHouse servers for the tests of a fleet, on loopback only."""

import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.parse

import tap

FETCH = tap.TREE / "packaging" / "clickhouse.sh"
# A statement that keeps the process alive, beside which the listeners run.
LISTEN = (
    "SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM system.numbers "
    "SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 100000000 FORMAT Null"
)
START_S = 120


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server that answers at a port."""

    def __init__(self, port):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, sql, database=None):
        """The answer as text; raises RuntimeError with the server's text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        path = "/?" + urllib.parse.urlencode({"database": database} if database else {})
        with contextlib.closing(connection):
            connection.request("POST", path, sql.encode())
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        if answer.status != 200:
            raise RuntimeError(text)
        return text.rstrip("\n")

    def rows(self, sql, database=None):
        return [line.split("\t") for line in self.ask(sql, database).splitlines()]


def is_up(server):
    try:
        return server.ask("SELECT 1") == "1"
    except (OSError, http.client.HTTPException, RuntimeError):
        return False


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def start(program, folder, port):
    """Starts a server on the data of a folder, and waits until it answers."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    library = subprocess.run([FETCH], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]
    command = [program, library, f"--path={folder / 'data'}", "--multiquery", "--listen_host=127.0.0.1"]
    log = open(folder / "log", "ab")
    # under the sanitizers' environment, a library that they do not know would report its own leaks
    process = subprocess.Popen(
        [*command, f"--http_port={port}", "--query", LISTEN], stdout=log, stderr=log, cwd=folder, start_new_session=True
    )
    server, until = Server(port), time.monotonic() + START_S
    while not is_up(server):
        if process.poll() is not None or time.monotonic() > until:
            end(process)
            raise RuntimeError("no server: " + (folder / "log").read_text(errors="replace")[-500:])
        time.sleep(0.05)
    return server, process


@contextlib.contextmanager
def current(program, folder):
    """A current server without data."""
    server, process = start(program, pathlib.Path(folder) / "server", free_port())
    try:
        yield server
    finally:
        end(process)
