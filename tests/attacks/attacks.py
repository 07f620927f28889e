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

- The bystander loses a sample or a name. The test knows the bystander's CPU time, and that it runs
  only its own functions. Records of names may be lost only while the machine let threads wait for
  longer than a ring lasts.
- The recorder takes over 64 MB of anonymous memory more than before the attack.
- The recorder and its helpers together take over 64 MB more than beside the harmless processes. Both count from before
  the attack. The helpers also name what else the machine runs, which took 150 MB beside a compiler.
- They take over 5 % of a CPU more than beside the harmless processes.
- The store grows by more per second than beside the harmless processes and than growth_max() says: 66 KB on 2 CPUs.
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
SETTLED = 4  # seconds after which a recorder has read what it reads at its start
SECONDS = 20  # seconds of each recording
SEGMENT = "5s"
MEMORY_MAX = 64 << 20  # bytes above those before the attack, or above the growth beside the harmless processes
CPU_MAX = 0.05  # of one CPU, above the recorder's part beside the harmless processes
# recorder/build/tape-builder.c: frames and callers that a cgroup may add at once, which come back
# within a minute, and for each sample that all CPUs can take
DETAIL_BURST, DETAIL_SECONDS, DETAIL_PER_SAMPLE = 131_072, 60, 8
# A forged caller has 40 random bits, and adds a frame and a caller: 2.8 bytes each in a segment. This
# is twice as much.
DETAIL_BYTES = 5.5
AHEAD = -20  # nice(2) of this script, which is in the session of the attackers
LOST_MAX = 0.05  # share of the bystander's samples that the ends of a recording and chance explain
FEW = 10  # samples that may be lost besides, at the ends
RECORDS_MAX = 25_000  # records of names per second by one process, which fill a ring in noise.STEP
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


def read_process(pid):
    """(when a process began, its anonymous memory in bytes, its CPU seconds), or None if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    ticks = int(fields[11]) + int(fields[12])
    return fields[19], int(found[1]) * 1024 if found else 0, ticks / os.sysconf("SC_CLK_TCK")


class Watch:
    """Watches a process and its descendants, until stop(): their anonymous memory, and their CPU time. A helper that
    is killed does not add its time to that of its parent, so this looks at each process."""

    def __init__(self, pid):
        self.pid, self.over, self.cpu = pid, threading.Event(), {}
        self.peak = self.peak_alone = 0
        self.before, self.before_alone = self.look()
        self.cpu_before = sum(self.cpu.values())
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def look(self):
        """Returns the anonymous memory of all, and of the process alone."""
        total = alone = 0
        for pid in family(self.pid):
            found = read_process(pid)
            if found:
                begin, anonymous, self.cpu[pid, begin] = found
                total += anonymous
                alone += anonymous if pid == self.pid else 0
        return total, alone

    def watch(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), AHEAD)
        while not self.over.wait(0.05):
            total, alone = self.look()
            self.peak, self.peak_alone = max(self.peak, total), max(self.peak_alone, alone)

    def stop(self):
        """Returns how far the memory of all grew, that of the process alone, and how much CPU time all took."""
        self.over.set()
        self.thread.join()
        grown, alone = max(self.peak - self.before, 0), max(self.peak_alone - self.before_alone, 0)
        return grown, alone, sum(self.cpu.values()) - self.cpu_before


@dataclasses.dataclass
class Recording:
    """The result of one recording beside an attack."""

    store: pathlib.Path
    code: int = 0
    begin: float = 0.0
    said: str = ""
    cpu_seconds: float = 0.0
    grown_bytes: int = 0
    # the recorder without its helpers
    grown_alone_bytes: int = 0
    bystander_seconds: float = 0.0
    bystander_pid: int = 0
    late_seconds: float = 0.0
    segment_bytes: int = 0
    attack_seconds: float = 0.0
    # CPU time since the attack began, also of helpers that were killed
    seen_seconds: float = 0.0


def like_a_unit():
    """Gives a recorder the CPU time that its systemd unit has beside other units: 100 times their weight. Without a
    cgroup for CPU time, the scheduler makes a group of each session, and nice(2) counts only within one."""
    os.setsid()
    with contextlib.suppress(OSError):  # a kernel without such groups
        pathlib.Path("/proc/self/autogroup").write_text("-15")
    recorders.hear_hangup()


def start(store, segment=SEGMENT):
    """Starts a recorder and waits until it samples. Its messages go to a file."""
    store.parent.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    with open(store.parent / "said", "a", encoding="utf-8") as said:
        recorder = subprocess.Popen(
            [recorders.PERFTAPE, "record", "--store", store, "--segment", segment, "-F", str(HERTZ)],
            stdout=subprocess.DEVNULL,
            stderr=said,
            preexec_fn=like_a_unit,
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


def get_ahead():
    """Runs this script before the attackers, which are in its session. Returns what to call later."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    return lambda: os.setpriority(os.PRIO_PROCESS, 0, before)


def record(folder, attack, hostile, seconds):
    """Records an attack beside a bystander."""
    folder.mkdir()
    recording = Recording(folder / "store", begin=time.time())
    recorder = start(recording.store)
    # a recorder that begins reads the unwind tables of all running programs, which is not a part of
    # the attack
    started = time.time()
    wait_for(lambda: reached(recording.store) > started + SETTLED or recorder.poll() is not None)
    watch = Watch(recorder.pid)
    attackers = attack(folder, hostile)
    fall_back = get_ahead()
    # the recorder must see the attack before it opens the bystander's files
    attacked = time.time()
    wait_for(lambda: reached(recording.store) > attacked + 1 or recorder.poll() is not None)
    # in a session of its own, so that it has its share of the CPUs beside many attackers
    bystander = subprocess.Popen([LOAD, str(CPUS[-1])], start_new_session=True, preexec_fn=fall_back)
    recording.bystander_pid = bystander.pid
    try:
        with noise.Noise() as measured:
            time.sleep(seconds)  # how long the attack lasts; nothing is expected of this time
        recording.late_seconds = sum(measured.late_seconds(cpu) for cpu in CPUS)
    finally:
        end_all(attackers)
        fall_back()
        bystander.kill()
        recording.bystander_seconds = wait_usage(bystander)
    # the samples of the ended processes must be in the store before the recorder ends
    moment = time.time()
    recording.attack_seconds = moment - attacked
    wait_for(lambda: reached(recording.store) > moment or recorder.poll() is not None)
    recorder.send_signal(signal.SIGINT)
    recording.cpu_seconds = wait_usage(recorder)
    recording.grown_bytes, recording.grown_alone_bytes, recording.seen_seconds = watch.stop()
    recording.code = recorder.returncode
    recording.said = (folder / "said").read_text()
    recording.segment_bytes = sum(path.stat().st_size for path in (recording.store / "segments").iterdir())
    return recording


def before_program(sample):
    """Whether the sample is from before the program began: from the process that executes it, or
    from the loader. The loader lacks frame pointers, so its callers may be any numbers."""
    module = pathlib.PurePath(sample["frames"][0]["module"] or "").name
    return sample["comm"] != pathlib.PurePath(LOAD).name or module.startswith("ld-")


MARKS = ("[cut]", "[frame pointers]")  # they state how a stack ends, and are not code


def without_name(samples):
    """The samples of the program with a frame that lacks a name."""
    named = (all(frame["symbol"] or frame["module"] in MARKS for frame in sample["frames"]) for sample in samples)
    return [sample for sample, whole in zip(samples, named) if not whole and not before_program(sample)]


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


def growth_max(seconds):
    """The bytes of segments per second that an attack may add: what one cgroup may add to tapes."""
    per_second = DETAIL_BURST / DETAIL_SECONDS + DETAIL_PER_SAMPLE * HERTZ * os.cpu_count()
    return (DETAIL_BURST / seconds + per_second) * DETAIL_BYTES


def wrong_cost(harmless, hostile, once):
    seconds = hostile.attack_seconds
    more = (hostile.cpu_seconds - harmless.cpu_seconds) / seconds
    if once is not None:
        more = (hostile.seen_seconds - harmless.seen_seconds - once) / seconds
    print(
        f"# memory grew by {hostile.grown_bytes / 1e6:.1f} MB, {harmless.grown_bytes / 1e6:.1f} beside harmless"
        f" processes; that of the recorder alone by {hostile.grown_alone_bytes / 1e6:.1f} MB,"
        f" {harmless.grown_alone_bytes / 1e6:.1f} MB; CPU {hostile.cpu_seconds:.2f} s, {harmless.cpu_seconds:.2f} s;"
        f" with killed helpers {hostile.seen_seconds:.2f} s, {harmless.seen_seconds:.2f} s;"
        f" segments {hostile.segment_bytes / 1e3:.0f} KB, {harmless.segment_bytes / 1e3:.0f} KB;"
        f" the attack took {seconds:.1f} s"
    )
    growth = (hostile.segment_bytes - harmless.segment_bytes) / seconds
    grown = hostile.grown_bytes - harmless.grown_bytes
    alone = hostile.grown_alone_bytes
    return expect(
        f"the recorder takes at most {MEMORY_MAX >> 20} MB of memory more than before the attack",
        alone <= MEMORY_MAX,
        f"{alone / 1e6:.1f} MB",
    ) + expect(
        f"with its helpers at most {MEMORY_MAX >> 20} MB of memory more than beside harmless processes",
        grown <= MEMORY_MAX,
        f"{grown / 1e6:.1f} MB",
    ) + expect(
        f"at most {CPU_MAX:.0%} of a CPU more than beside harmless processes",
        more <= CPU_MAX,
        f"{more:.1%}",
        f"{hostile.cpu_seconds:.2f} s, {harmless.cpu_seconds:.2f} s",
    ) + expect(
        f"at most {growth_max(seconds) / 1e3:.0f} KB of segments more per second",
        growth <= growth_max(seconds),
        f"{growth / 1e3:.1f} KB",
    )


def wrong_next_start(folder, attack):
    """Kills a recorder during an attack. The next recorder must seal the leftover spool, and record."""
    folder.mkdir()
    store = folder / "store"
    recorder = start(store, segment=recorders.long_segment())
    begin = time.time()
    attackers = attack(folder, True)
    fall_back = get_ahead()
    try:
        wait_for(lambda: reached(store) > begin + 1)
    finally:
        recorder.kill()
        recorder.wait()
        end_all(attackers)
        fall_back()
    left = set(spools(store))
    recorder = start(store)
    watch = Watch(recorder.pid)
    recovered = wait_for(lambda: not left & set(spools(store)) or recorder.poll() is not None)
    grown, _, _ = watch.stop()
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    return (
        expect("a recorder that is killed leaves a spool", left)
        + expect("the next recorder seals it", recovered and not left & set(spools(store)), spools(store))
        + expect(f"in at most {MEMORY_MAX >> 20} MB", grown <= MEMORY_MAX, f"{grown / 1e6:.1f} MB")
        + expect("the next recorder ends with exit code 0", recorder.returncode == 0, (folder / "said").read_text())
    )


def beside(folder, attack, seconds=SECONDS, once=None):
    """Returns what is wrong when a recorder is attacked, see above. The attack may take `once` seconds of CPU at its
    begin. With `once`, the CPU time of helpers that the recorder killed counts, too."""
    harmless = record(folder / "harmless", attack, False, seconds)
    hostile = record(folder / "hostile", attack, True, seconds)
    return (
        wrong_ending(hostile)
        + wrong_bystander(hostile)
        + wrong_cost(harmless, hostile, once)
        + wrong_next_start(folder / "next", attack)
    )
