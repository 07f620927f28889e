# SPDX-License-Identifier: GPL-2.0-only
"""A cluster of three nodes of Debian's ClickHouse with ZooKeeper, on loopback: two shards, the first with two replicas.
The data of the last node lies in a small file system of its own, which a test can fill. Needs root for that."""

import contextlib
import http.client
import pathlib
import socket
import subprocess
import time

import servers

CONFIGURATION = """<?xml version="1.0"?>
<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host>
<max_concurrent_queries>100</max_concurrent_queries><mark_cache_size>5368709</mark_cache_size>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><timezone>UTC</timezone>
<mlock_executable>false</mlock_executable>
<remote_servers><c>
<shard><internal_replication>true</internal_replication>{first}{second}</shard>
<shard><internal_replication>true</internal_replication>{third}</shard>
</c></remote_servers>
<zookeeper><node><host>127.0.0.1</host><port>{keeper}</port></node>
<session_timeout_ms>10000</session_timeout_ms></zookeeper>
<macros><shard>{shard}</shard><replica>{number}</replica></macros>
<distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex><profiles><default><load_balancing>in_order</load_balancing>
<allow_experimental_low_cardinality_type>1</allow_experimental_low_cardinality_type></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default/></quotas></yandex>
"""
KEEPER = """tickTime=1000
dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=srvr
"""
REPLICA = "<replica><host>127.0.0.1</host><port>{}</port></replica>"
SMALL = "150m"


def begin(words, folder):
    log = open(folder / "said", "ab")
    return subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, cwd=folder, start_new_session=True)


def wait_until(what, condition, seconds=servers.START_S):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError("in vain: " + what)
        time.sleep(0.1)


def keeper_serves(port):
    """ZooKeeper takes connections some time before it serves them."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"srvr")
        return b"Mode" in client.makefile("rb").read()
    return False


class Node(servers.Server):
    """A node that can be killed and started again."""

    def __init__(self, folder, port):
        super().__init__(port)
        self.folder, self.process = folder, None

    def start(self):
        self.process = begin(("/usr/sbin/clickhouse-server", f"--config-file={self.folder}/config.xml"), self.folder)
        wait_until("a node that answers", lambda: self.process.poll() is not None or servers.is_up(self))
        if self.process.poll() is not None:
            raise RuntimeError("no node: " + (self.folder / "said").read_text(errors="replace")[-500:])

    def kill(self):
        if self.process:
            servers.end(self.process)

    def counts(self, sql, database):
        """The rows; none while the node cannot answer."""
        try:
            return self.rows(sql, database)
        except (RuntimeError, OSError, http.client.HTTPException):
            return None


class Cluster:
    def __init__(self, folder):
        self.folder, self.keeper, self.nodes = pathlib.Path(folder), None, []
        self.keeper_port = servers.free_port()

    def start_keeper(self):
        folder = self.folder / "keeper"
        folder.mkdir(exist_ok=True)
        (folder / "zoo.cfg").write_text(KEEPER.format(folder=folder, port=self.keeper_port))
        java = ("java", "-Xmx256m", "-cp", "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar")
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        self.keeper = begin((*java, main, folder / "zoo.cfg"), folder)
        # a node that starts without ZooKeeper crashes at the first statement for the cluster
        wait_until("ZooKeeper", lambda: keeper_serves(self.keeper_port))

    def stop_keeper(self):
        servers.end(self.keeper)

    def start(self):
        self.start_keeper()
        ports = [[servers.free_port() for _ in range(3)] for _ in range(3)]
        replicas = dict(zip(("first", "second", "third"), (REPLICA.format(tcp) for _, tcp, _ in ports)))
        for number, (port, tcp, inter) in enumerate(ports, 1):
            folder = self.folder / f"node{number}"
            for name in ("data", "tmp"):
                (folder / name).mkdir(parents=True)
            names = {"http": port, "tcp": tcp, "inter": inter, "keeper": self.keeper_port, "folder": folder}
            text = CONFIGURATION.format(**names, **replicas, shard=1 + number // 3, number=number)
            (folder / "config.xml").write_text(text)
            (folder / "users.xml").write_text(USERS)
            self.nodes.append(Node(folder, port))
        self.small = self.nodes[2].folder / "data"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", self.small], check=True)
        for node in self.nodes:
            node.start()

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.keeper:
            self.stop_keeper()
        if self.nodes:
            subprocess.run(["umount", self.small], check=False)


@contextlib.contextmanager
def running(folder):
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
