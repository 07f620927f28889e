# SPDX-License-Identifier: GPL-2.0-only
"""A proxy between hosts and a server, on loopback, that does to posts what networks do: it cuts them, drops the answer,
delays, doubles and corrupts them. With certificates, it speaks TLS to the hosts."""

import contextlib
import itertools
import random
import socket
import socketserver
import ssl
import threading
import time

PIECE = 65536
FAULTS = ("cut early", "cut late", "lose answer", "double", "corrupt", "delay", "refuse")


class Broken(Exception):
    """The connection ends here."""


def read_message(stream):
    """The head and the body of a post or an answer, whose length must be stated or chunked."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline(PIECE)
        if not line:
            raise Broken
        head += line
    fields = dict(line.split(b":", 1) for line in head.lower().splitlines()[1:] if b":" in line)
    if b"chunked" in fields.get(b"transfer-encoding", b""):
        return head, read_chunks(stream)
    body = stream.read(int(fields.get(b"content-length", b"0")))
    return head, body


def read_chunks(stream):
    body = b""
    while True:
        line = stream.readline(PIECE)
        size = int(line.split(b";")[0] or b"0", 16)
        body += line + stream.read(size + 2)
        if not size:
            return body


def drain(connection):
    """Closing with unread bytes would reset the connection, before the host reads why it ends."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(PIECE):
            pass


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(Broken, OSError, ssl.SSLError):
            while True:
                self.pass_on(*read_message(self.rfile))

    def pass_on(self, head, body):
        fault = self.server.next_fault(head)
        if fault == "cut early":
            raise Broken
        if fault == "refuse":
            self.wfile.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nbusy\n")
            return
        if fault == "delay":
            time.sleep(0.05)
        if fault == "corrupt" and body:
            place = self.server.random.randrange(len(body))
            body = body[:place] + bytes([body[place] ^ 1 << self.server.random.randrange(8)]) + body[place + 1 :]
        if fault == "kill":
            self.ask(head, body, whole=False)
            self.server.on_fault()
            raise Broken
        if fault == "cut late":
            self.ask(head, body[: len(body) // 2], whole=False)
            raise Broken
        answer = self.ask(head, body)
        if fault == "double":
            answer = self.ask(head, body)
        if fault == "lose answer":
            self.server.on_fault()
            raise Broken
        self.wfile.write(answer)

    def ask(self, head, body, whole=True):
        """Posts to the server; if this is not the whole, the connection ends before the answer."""
        with socket.create_connection(("127.0.0.1", self.server.upstream)) as upstream:
            upstream.sendall(head + body)
            if not whole:
                return b""
            return b"".join(read_message(upstream.makefile("rb")))


class Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, upstream, every=0, seed=1, context=None, faults=FAULTS):
        """Each `every`-th insert meets a fault, one kind after the other; 0: none does. When the server has an
        insert whose answer never comes, on_fault() is called."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream, self.every, self.random, self.context = upstream, every, random.Random(seed), context
        self.faults, self.on_fault = faults, lambda: None
        self.port = self.server_address[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self.lock, self.inserts, self.met = threading.Lock(), itertools.count(1), []

    def get_request(self):
        connection, address = super().get_request()
        connection.settimeout(60)
        return connection, address

    def finish_request(self, request, client_address):
        """The handshake happens in the thread of the connection."""
        if self.context:
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except (ssl.SSLError, OSError):
                drain(request)
                return
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        """Hosts that go away are expected."""

    def next_fault(self, head):
        if not self.every or b"INSERT" not in head:
            return None
        with self.lock:
            number = next(self.inserts)
            if number % self.every:
                return None
            fault = self.faults[number // self.every % len(self.faults)]
            self.met.append(fault)
            return fault


@contextlib.contextmanager
def running(upstream, **more):
    with Proxy(upstream, **more) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
