# SPDX-License-Identifier: GPL-2.0-only
"""An attack on a recorder, beside a bystander. An attack is a function of a folder and of whether it is hostile; it
starts processes and returns them. With `hostile` false, it starts processes that do the same work and attack nothing:

    def poison(folder, hostile):
        make_file(folder / "file", functions=1_000_000 if hostile else 1)
        return [attacks.run_mapped(folder / "file")]

    @live.test(alone=True)
    def test_poison(folder):
        \"\"\"What the attack is, in one line.\"\"\"
        return attacks.beside(folder, poison)

beside() records the harmless processes, then the hostile ones, each beside a bystander, and returns what is wrong:

- The bystander loses a sample or a name. Its truth is its own CPU time, and that it runs only functions of its own.
  Records of names may be lost only while the machine let threads wait for longer than a ring lasts.
- The recorder and its helpers take over 64 MB of anonymous memory more than before the attack.
- They take over 5 % of a CPU more than beside the harmless processes.
- A recorder that is killed during the attack leaves a store on which the next recorder does not work.

Other attacks on the machine disturb these measurements, so each has the machine alone.

Usage of a script that includes this: SCRIPT PERFTAPE LOAD RUN_MAPPED
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import noise  # noqa: E402
import recorders  # noqa: E402
from recorders import expect, perftape, query, reached, spools, wait_for  # noqa: E402

LOAD, RUN_MAPPED = map(os.path.abspath, sys.argv[2:4])
CPUS = sorted(os.sched_getaffinity(0))
HERTZ = 199
SECONDS = 20  # of each recording
SEGMENT = "5s"
MEMORY_MAX = 64 << 20  # above that of the recorder before the attack
CPU_MAX = 0.05  # of one CPU, above that beside the harmless processes
LOST_MAX = 0.05  # share of the bystander's samples that the ends of a recording and chance explain
FEW = 10  # samples that may be lost besides, at the ends
RECORDS_MAX = 25_000  # of names that one process made per second, which fill a ring in noise.STEP
LOSSES = ("lost", "unsaved", "lost_names", "damaged", "stalled", "limit")


def run_mapped(*words, cpu=CPUS[0]):
    """Starts a process that runs code from a mapped file, or code that it generates."""
    return subprocess.Popen([RUN_MAPPED, str(cpu), *map(str, words)])


def perf_map(process):
    """The file in which a process describes code that it generated. end_all() removes it."""
    return pathlib.Path(f"/tmp/perf-{process.pid}.map")


def end_all(processes):
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        perf_map(process).unlink(missing_ok=True)


def family(pid):
    """The pids of a process and of its descendants."""
    pids = [pid]
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread ended meanwhile
            for child in children.read_text().split():
                pids += family(int(child))
    return pids


def anonymous_bytes(pid):
    """The anonymous memory of a process and of its descendants."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            found = re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{one}/status").read_text())
            total += int(found[1]) * 1024 if found else 0
    return total


class Memory:
    """Watches the anonymous memory of a process and of its descendants, until stop()."""

    def __init__(self, pid):
        self.pid, self.peak, self.over = pid, 0, threading.Event()
        self.before = anonymous_bytes(pid)
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.over.wait(0.05):
            self.peak = max(self.peak, anonymous_bytes(self.pid))

    def stop(self):
        """Returns how far the memory grew."""
        self.over.set()
        self.thread.join()
        return max(self.peak - self.before, 0)


@dataclasses.dataclass
class Recording:
    """The result of one recording beside an attack."""

    store: pathlib.Path
    code: int = 0
    begin: float = 0.0
    said: str = ""
    cpu_seconds: float = 0.0
    grown_bytes: int = 0
    bystander_seconds: float = 0.0
    bystander_pid: int = 0
    late_seconds: float = 0.0


def start(store, segment=SEGMENT):
    """Starts a recorder and waits until it samples. Its messages go to a file."""
    store.parent.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    with open(store.parent / "said", "a", encoding="utf-8") as said:
        recorder = subprocess.Popen(
            [recorders.PERFTAPE, "record", "--store", store, "--segment", segment, "-F", str(HERTZ)],
            stdout=subprocess.DEVNULL,
            stderr=said,
            preexec_fn=recorders.hear_hangup,
        )
    if not wait_for(lambda: reached(store) > begin or recorder.poll() is not None):
        raise TimeoutError("the recorder takes no samples")
    return recorder


def wait_usage(process):
    """Waits for a process. Returns the CPU seconds of the process and of the children that it waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def copy_sparse(path, other):
    subprocess.run(["cp", "--sparse=always", path, other], check=True)


def record(folder, attack, hostile, seconds):
    """Records an attack beside a bystander."""
    folder.mkdir()
    recording = Recording(folder / "store", begin=time.time())
    recorder = start(recording.store)
    memory = Memory(recorder.pid)
    attackers = attack(folder, hostile)
    # the recorder must see the attack before it opens the bystander's files
    attacked = time.time()
    wait_for(lambda: reached(recording.store) > attacked + 1 or recorder.poll() is not None)
    bystander = subprocess.Popen([LOAD, str(CPUS[-1])])
    recording.bystander_pid = bystander.pid
    try:
        with noise.Noise() as measured:
            time.sleep(seconds)  # how long the attack lasts; nothing is expected of this time
        recording.late_seconds = sum(measured.late_seconds(cpu) for cpu in CPUS)
    finally:
        end_all(attackers)
        bystander.kill()
        recording.bystander_seconds = wait_usage(bystander)
    # the samples of the ended processes must be in the store before the recorder ends
    moment = time.time()
    wait_for(lambda: reached(recording.store) > moment or recorder.poll() is not None)
    recorder.send_signal(signal.SIGINT)
    recording.grown_bytes = memory.stop()
    recording.cpu_seconds = wait_usage(recorder)
    recording.code = recorder.returncode
    recording.said = (folder / "said").read_text()
    return recording


def without_name(samples):
    """The samples with a frame that has no name."""
    return [sample for sample in samples if not all(frame["symbol"] for frame in sample["frames"])]


def wrong_bystander(recording):
    begin = f"@{recording.begin:.6f}"
    samples, coverage = query(recording.store, "--from", begin, "--pid", recording.bystander_pid)
    due = recording.bystander_seconds * HERTZ
    lost = {key: coverage.get(key) for key in LOSSES}
    if (lost["lost_names"] or 0) <= recording.late_seconds * RECORDS_MAX:
        lost["lost_names"] = 0
    gaps = [gap for gap in coverage.get("gaps", []) if gap["cause"] not in ("not-begun", "stopped")]
    unnamed = without_name(samples)
    return (
        expect(
            f"the bystander has a sample for each of {due:.0f} moments",
            len(samples) >= due * (1 - LOST_MAX) - FEW,
            len(samples),
            lost,
            recording.said,
        )
        + expect("no sample is lost", not any(lost.values()) and not gaps, lost, gaps)
        + expect("each of the bystander's samples has its name", not unnamed, len(unnamed), unnamed[:1])
    )


def wrong_ending(recording):
    return (
        expect("record ends with exit code 0", recording.code == 0, recording.code, recording.said)
        + expect("nothing is left to seal", not spools(recording.store), spools(recording.store))
        + expect("every byte is sound", perftape("verify", "--store", recording.store).returncode == 0)
    )


def wrong_cost(harmless, hostile, seconds):
    more = (hostile.cpu_seconds - harmless.cpu_seconds) / seconds
    print(
        f"# memory grew by {hostile.grown_bytes / 1e6:.1f} MB, {harmless.grown_bytes / 1e6:.1f} beside harmless"
        f" processes; CPU {hostile.cpu_seconds:.2f} s, {harmless.cpu_seconds:.2f} s"
    )
    return expect(
        f"at most {MEMORY_MAX >> 20} MB of memory more than before",
        hostile.grown_bytes <= MEMORY_MAX,
        f"{hostile.grown_bytes / 1e6:.1f} MB",
    ) + expect(
        f"at most {CPU_MAX:.0%} of a CPU more than beside harmless processes",
        more <= CPU_MAX,
        f"{more:.1%}",
        f"{hostile.cpu_seconds:.2f} s, {harmless.cpu_seconds:.2f} s",
    )


def wrong_next_start(folder, attack):
    """Kills a recorder during an attack. The next recorder must seal the leftover spool, and record."""
    folder.mkdir()
    store = folder / "store"
    recorder = start(store, segment=recorders.long_segment())
    begin = time.time()
    attackers = attack(folder, True)
    try:
        wait_for(lambda: reached(store) > begin + 1)
    finally:
        recorder.kill()
        recorder.wait()
        end_all(attackers)
    left = set(spools(store))
    recorder = start(store)
    memory = Memory(recorder.pid)
    recovered = wait_for(lambda: not left & set(spools(store)) or recorder.poll() is not None)
    grown = memory.stop()
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    return (
        expect("a recorder that is killed leaves a spool", left)
        + expect("the next recorder seals it", recovered and not left & set(spools(store)), spools(store))
        + expect(f"in at most {MEMORY_MAX >> 20} MB", grown <= MEMORY_MAX, f"{grown / 1e6:.1f} MB")
        + expect("the next recorder ends with exit code 0", recorder.returncode == 0, (folder / "said").read_text())
    )


def beside(folder, attack, seconds=SECONDS):
    """Returns what is wrong when a recorder is attacked, see above."""
    harmless = record(folder / "harmless", attack, False, seconds)
    hostile = record(folder / "hostile", attack, True, seconds)
    return (
        wrong_ending(hostile)
        + wrong_bystander(hostile)
        + wrong_cost(harmless, hostile, seconds)
        + wrong_next_start(folder / "next", attack)
    )
