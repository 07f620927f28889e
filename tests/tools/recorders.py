# SPDX-License-Identifier: GPL-2.0-only
"""Recorders of this machine, as tests start them: PERFTAPE is the test's first argument."""

import os
import select
import signal
import subprocess
import sys
import time

import beside_perf
from live import expect  # noqa: F401

PERFTAPE = os.path.abspath(sys.argv[1])
WAIT = 60  # how long anything may take before it counts as hanging
# nobody's settings of this machine
os.environ["PERFTAPE_CONFIG"] = os.devnull


def perftape(*words, **more):
    return subprocess.run([PERFTAPE, *map(str, words)], capture_output=True, text=True, timeout=WAIT, **more)


def hear_hangup():
    """Under nohup the signal would be ignored by all that it starts."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(store, *words, wrapper=(), **more):
    """A recorder that is recording: its first segment is open once the lock names it and its own line is out."""
    command = [*wrapper, PERFTAPE, "record", "--store", store, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_hangup, **more)


def wait_for(condition):
    end = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def hear(recorder, text):
    """Waits until that was said on standard error. What was said until then."""
    said = ""

    def is_heard():
        nonlocal said
        if select.select([recorder.stderr], [], [], 0.2)[0]:
            said += os.read(recorder.stderr.fileno(), 4096).decode(errors="replace")
        return text in said or recorder.poll() is not None

    wait_for(is_heard)
    return said


def sealed(store):
    return len(list((store / "segments").glob("*.tape"))) if (store / "segments").exists() else 0


def samples_of(store, *words):
    """The heads of all samples of a window."""
    text = perftape("query", "--store", store, *words).stdout
    return [match for match in map(beside_perf.HEAD.match, text.splitlines()) if match and int(match["period"])]


def times_of(store, *words):
    """When they were taken, in order."""
    return sorted(float(head["time"]) for head in samples_of(store, *words))
