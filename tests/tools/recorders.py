# SPDX-License-Identifier: GPL-2.0-only
"""Recorders of this machine, as tests start them: PERFTAPE is the test's first argument."""

import contextlib
import datetime
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

import beside_perf
import noise
from live import expect  # noqa: F401

PERFTAPE = os.path.abspath(sys.argv[1])
TURN = 1.1  # seconds between two looks at the rings, plus the youngest part, which stays in them
LOOK = 0.05  # seconds between two looks of wait_for()
WAIT = 120  # seconds after which a condition counts as never true
LAZY_UMOUNT = ("umount", "--lazy")  # works while a recorder still has files open there
# A test does not read this machine's settings.
os.environ["PERFTAPE_CONFIG"] = os.devnull


def perftape(*words, **more):
    return subprocess.run([PERFTAPE, *map(str, words)], capture_output=True, text=True, timeout=WAIT, **more)


def hear_hangup():
    """Restores SIGHUP: a test that runs under nohup ignores it, and its children would, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(store, *words, wrapper=(), **more):
    """Starts a recorder without waiting until it records. is_spooled() shows that it records."""
    command = [*wrapper, PERFTAPE, "record", "--store", store, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_hangup, **more
    )


def reached(store):
    """The time up to which the store has samples; 0 while it is empty."""
    done = perftape("status", "--store", store, "--json")
    moment = json.loads(done.stdout)["reaches"] if done.returncode == 0 else None
    return seconds_of(moment) if moment else 0.0


def start_sampling(store, *words, **more):
    """Starts a recorder and waits until its first samples are in the store, so that it records all that follows."""
    begin = time.time()
    recorder = start(store, *words, **more)
    wait_for(lambda: reached(store) > begin or recorder.poll() is not None)
    return recorder


def long_segment():
    """A length for --segment such that no segment ends during a test. Segments end at multiples of the length."""
    return next(f"{minutes}m" for minutes in range(60, 30, -1) if -time.time() % (60 * minutes) > 600)


def stop(recorder, number=signal.SIGTERM):
    """Sends the signal and waits for the recorder's end. Returns its messages that were not read yet."""
    recorder.send_signal(number)
    return recorder.communicate(timeout=WAIT)[1]


def end(recorder):
    """Ends a recording as Ctrl-C does. Returns what is wrong, and the recorder's messages."""
    said = stop(recorder, signal.SIGINT)
    code = recorder.returncode
    return expect("record ends with exit code 0", code == 0, f"exit code {code}", said), said


def wait_for(condition):
    """Waits for a condition. Returns whether it became true. Checks it for at most half of the time, because a check
    may cost more than the work that it waits for."""
    end = time.monotonic() + WAIT
    asked = time.monotonic()
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(max(0.05, time.monotonic() - asked))
        asked = time.monotonic()
    return True


def hear(recorder, text, meanwhile=lambda: None):
    """Waits until the recorder prints the text on standard error, or ends. Returns its messages until then."""
    said = ""

    def is_heard():
        nonlocal said
        meanwhile()
        if select.select([recorder.stderr], [], [], 0.2)[0]:
            said += os.read(recorder.stderr.fileno(), 4096).decode(errors="replace")
        return text in said or recorder.poll() is not None

    wait_for(is_heard)
    return said


def sealed(store):
    return len(list((store / "segments").glob("*.tape"))) if (store / "segments").exists() else 0


def spools(store):
    """{name: bytes} of the spool files."""
    sizes = {}
    for path in store.glob("spool/*.spool"):
        with contextlib.suppress(FileNotFoundError):  # its segment was sealed meanwhile
            sizes[path.name] = path.stat().st_size
    return sizes


def is_spooled(store):
    """Whether a block of samples is on its way to a segment."""
    return any(spools(store).values())


def samples_of(store, *words):
    """The heads of all samples of a window."""
    text = perftape("query", "--store", store, *words).stdout
    return [match for match in map(beside_perf.HEAD.match, text.splitlines()) if match and int(match["period"])]


def folded(store, *words):
    """The folded stacks of the last minutes."""
    return perftape("query", "--store", store, "--from", "now-5m", "--format", "folded", *words).stdout


def times_of(store, *words):
    """The times of all samples of a window, in order."""
    return sorted(float(head["time"]) for head in samples_of(store, *words))


def parse_json(text):
    """(the objects of a JSON-lines output, its coverage)"""
    rows = [json.loads(line) for line in text.splitlines()]
    return [row for row in rows if list(row) != ["coverage"]], next(
        (row["coverage"] for row in rows if list(row) == ["coverage"]), {}
    )


def query(store, *words):
    """([sample], coverage) of a window, as `query --json` gives them."""
    return parse_json(perftape("query", "--store", store, "--json", *words).stdout)


def segments(store):
    """The rows of `segments --json`, in order of time; "sealed" is false for a spool."""
    return parse_json(perftape("segments", "--store", store, "--json").stdout)[0]


def coverage_of(store):
    """The coverage of all segments."""
    return parse_json(perftape("segments", "--store", store, "--json").stdout)[1]


def status(store):
    """The object of `status --json`; {} if the command fails, as there may be no store yet."""
    done = perftape("status", "--json", "--store", store)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def progress(store):
    """The last report of the recorder that runs; {} if there is none."""
    told = status(store).get("recording")
    return told["progress"] if told and told["running"] else {}


def seconds_of(text):
    """A time of a JSON answer in seconds since the epoch."""
    return datetime.datetime.fromisoformat(text).timestamp()


def cpu_seconds(pid, waits=False):
    """Seconds for which the threads of a process have run, and, if asked, waited for a CPU."""
    seconds = 0.0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread ended meanwhile
            ran, waited, _ = map(int, path.read_text().split())
            seconds += (ran + waited * waits) / 1e9
    return seconds


def has_reported(store):
    """Waits for the first report of a recorder. Returns what is wrong, as a test does."""
    return expect("a recorder reports what it does", wait_for(lambda: progress(store)), status(store))


def threads_of(pid):
    """The [(name, state)] of the threads of a process; a state is a letter, as in ps."""
    found = []
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread ended meanwhile
            head, _, tail = stat.read_text().rpartition(")")
            found.append((head.partition("(")[2], tail.split()[0]))
    return found


def pause(recorder):
    """Stops a recorder by a signal, and waits until none of its threads runs."""
    recorder.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: all(state == "T" for _, state in threads_of(recorder.pid)))


def hurry():
    """Gives this process, and all that it starts, precedence within its session."""
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def outrun():
    """Lets this process, and all that it starts, run before all others: only the hypervisor keeps them from a CPU.

    A program that computes for long must start with take_time(), because it would keep all others from the CPUs.
    If this priority is not allowed, undisturbed() takes longer.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def take_time():
    """For preexec_fn: undoes outrun()."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def undisturbed(count, limit, action):
    """The results of `count` calls during which no thread of this priority woke more than `limit` seconds late.

    A call that the machine disturbed does not count, whatever its result. Returns fewer results if
    it takes too long.
    """
    results = []

    def is_done():
        with noise.Noise() as measured:
            result = action()
        if measured.late() <= limit:
            results.append(result)
        return len(results) == count

    wait_for(is_done)
    return results


class Manager:
    """The socket of a service manager, by a path or an abstract name, and the received messages."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name[0] == "@" else name)
        self.said = []

    def hear(self, text):
        """Waits until the socket received that text."""
        end = time.monotonic() + WAIT
        while not any(text in line for line in self.said) and time.monotonic() < end:
            if select.select([self.socket], [], [], 0.2)[0]:
                self.said += self.socket.recv(4096).decode().split("\n")
        return any(text in line for line in self.said)


@contextlib.contextmanager
def disk(folder, size):
    """A disk of a given size, which other processes neither fill nor slow down."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*LAZY_UMOUNT, folder], check=True)
