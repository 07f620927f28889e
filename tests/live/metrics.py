#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a recorder, read by promtool, node-exporter and Prometheus.

Usage: metrics.py PERFTAPE
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from kernel_log import device, stall, write_kmsg  # noqa: E402
from recorders import expect, perftape, start_sampling, stop, wait_for  # noqa: E402

RULES = TESTS.parent / "packaging" / "prometheus" / "perftape.rules.yml"
DASHBOARD = TESTS.parent / "packaging" / "prometheus" / "perftape-dashboard.json"
EXPORTER = "prometheus-node-exporter"
no_promtool = live.lacking(shutil.which("promtool"), "promtool, in Debian's package prometheus")
no_exporter = live.lacking(
    shutil.which("prometheus") and shutil.which(EXPORTER), f"the Debian packages prometheus and {EXPORTER}"
)
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
- job_name: node
  static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


def promtool(*words, text=None):
    return subprocess.run(["promtool", *map(str, words)], input=text, capture_output=True, text=True, check=False)


def text_of(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def value(text, name):
    """The value of a metric without labels."""
    return next((float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} ")), None)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def get(port, path):
    """The answer of a server on this machine; "" while the server does not answer."""
    with contextlib.suppress(OSError, urllib.error.URLError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.read().decode()
    return ""


@contextlib.contextmanager
def serving(folder, name, *words):
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        with subprocess.Popen([name, *words], stdout=log, stderr=log) as server:
            try:
                yield
            finally:
                server.terminate()


@contextlib.contextmanager
def recording(folder):
    """Runs a recorder that writes metrics. Yields the file of the metrics."""
    file = folder / "metrics" / "perftape.prom"
    file.parent.mkdir()
    recorder = start_sampling(folder / "store", "--trust-user-kmsg", "--segment", "2s", "--metrics-file", file)
    try:
        yield file
    finally:
        stop(recorder)


@live.test(lacks=no_promtool)
def test_metrics_file(folder):
    """promtool takes the metrics file, everybody may read it, and at the end it says that nothing is recorded."""
    before = os.umask(0o077)
    try:
        with recording(folder) as file:
            wait_for(lambda: value(text_of(file), "perftape_samples_total"))
            running, mode = text_of(file), file.stat().st_mode & 0o777
            beside = os.listdir(file.parent)
    finally:
        os.umask(before)
    ended = text_of(file)
    checked = promtool("check", "metrics", text=running)
    wrongs = expect("promtool finds nothing", checked.returncode == 0 and not checked.stdout, checked)
    wrongs += expect("mode 0644 in spite of the umask", mode == 0o644, oct(mode))
    wrongs += expect("no other file stays", beside == ["perftape.prom"], beside)
    states = [value(text, "perftape_recording") for text in (running, ended)]
    wrongs += expect("recording is 1, and 0 at the end", states == [1, 0], states, ended)
    return wrongs + expect(
        "no samples are claimed at the end", value(ended, "perftape_samples_total") is None, ended
    )


@live.test(lacks=no_promtool)
def test_openmetrics(folder):
    """Prometheus takes what status --openmetrics prints, and it has the families of the rules and of the dashboard."""
    recorder = start_sampling(folder / "store", "--trust-user-kmsg")
    write_kmsg(stall(5))
    seen = wait_for(lambda: device() in metrics_of(folder / "store"))
    text = metrics_of(folder / "store")
    stop(recorder)
    wrongs = expect("the incident is a metric", seen, text)
    wrongs += expect("the last line is # EOF", text.endswith("\n# EOF\n"), text[-40:])
    rules = promtool("check", "rules", RULES)
    wrongs += expect("promtool takes the rules, six of them", "6 rules found" in rules.stdout, rules)
    for where in (RULES, DASHBOARD):
        used = {name.removesuffix("_total") for name in names_in(text_of(where))}
        wrongs += expect(f"{where.name} uses metrics that exist", used <= families(text), used - families(text))
    panels = json.loads(text_of(DASHBOARD))["panels"]
    return wrongs + expect("the dashboard has panels with queries", all(panel["targets"] for panel in panels), panels)


def metrics_of(store):
    return perftape("status", "--store", store, "--openmetrics").stdout


def families(text):
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}


def names_in(text):
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return {word for word in words if word.startswith("perftape_")}


@live.test(lacks=no_exporter)
def test_alert(folder):
    """An incident is played while perftape records: node-exporter exports it, and Prometheus fires the alert."""
    node, prometheus = free_port(), free_port()
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(rules=RULES, port=node))
    with contextlib.ExitStack() as running:
        file = running.enter_context(recording(folder))
        collector = ("--collector.disable-defaults", "--collector.textfile")
        running.enter_context(
            serving(
                folder,
                EXPORTER,
                *collector,
                f"--collector.textfile.directory={file.parent}",
                f"--web.listen-address=127.0.0.1:{node}",
            )
        )
        running.enter_context(
            serving(
                folder,
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{prometheus}",
            )
        )
        healthy = wait_for(lambda: "perftape_recording 1" in get(node, "/metrics"))
        wrongs = expect("node-exporter exports that the host is recorded", healthy, get(node, "/metrics"))
        write_kmsg(stall(5))
        # other tests write incidents of other devices into the same log
        played = {"kind": "ena.tx_stall", "device": device(), "interface": "eth7", "queue": "5"}
        fired = wait_for(
            lambda: any(alert["labels"].items() >= played.items() for alert in alerts(prometheus, "PerftapeIncident"))
        )
        wrongs += expect("Prometheus fires the alert", fired, text_of(folder / "prometheus.log"), get(node, "/metrics"))
        others = alerts(prometheus, "PerftapeNotRecording")
        return wrongs + expect("the alert of a host that is not recorded stays silent", not others, others)


def alerts(port, name):
    """The firing alerts of a name."""
    answer = get(port, "/api/v1/alerts")
    found = json.loads(answer)["data"]["alerts"] if answer else []
    return [alert for alert in found if alert["labels"]["alertname"] == name and alert["state"] == "firing"]


if __name__ == "__main__":
    sys.exit(live.main())
