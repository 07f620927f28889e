# SPDX-License-Identifier: GPL-2.0-only
"""The incident of the first users, played on this machine: a crash-looping container leaks memory cgroups, kubelet
makes the kernel visit them on one CPU for 5.5 to 7 s at a random moment, other programs compute elsewhere, and the
network driver writes its line into the kernel's log. No thread starves, because the scheduler lets others run.

    with rehearsal.play(folder, perftape) as played: ...      played.store has the recording

Everything that it makes goes with it: processes, cgroups, the mounted file system. It needs root, perf events, and
memory cgroups of version 1, whose memory.force_empty visits all cgroups below a cgroup.
"""

import contextlib
import ctypes
import dataclasses
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
CREATOR, CULPRIT, BYSTANDER = "ecs-init", "kubelet", "trainer"
OTHER_CULPRIT = "compactor"
# A visit of all takes about a second, so that the hog ends near its time. The first ones are older than the recording:
# the kernel's own count of them is a gauge that is read at the begin, and then once a minute.
ZOMBIES_BEFORE, ZOMBIES_DURING = 2500, 1000
# Dying cgroups of the host that are not of the rehearsal.
ZOMBIES_OTHERS = 100
PR_SET_NAME, PR_SET_PDEATHSIG = 15, 1
# The recorder gives the last second a moment later.
SETTLE = 2.5
# Functions of the path, one of which each supported kernel has on it.
KERNEL_PATH = ("mem_cgroup_iter", "try_to_free_mem_cgroup_pages", "mem_cgroup_force_empty", "shrink_node")
LIBC = ctypes.CDLL(None, use_errno=True)


def lacks():
    """What this machine lacks for a rehearsal; empty if it can play one."""
    if os.geteuid() != 0:
        return "root"
    if not (MEMORY / "memory.force_empty").exists():
        return "memory cgroups of version 1 with memory.force_empty"
    if not os.access("/dev/kmsg", os.W_OK):
        return "/dev/kmsg"
    return "" if len(os.sched_getaffinity(0)) > 1 else "a second CPU"


def fork(name, body):
    """Starts a process of this name, which ends with its parent. Returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        LIBC.prctl(PR_SET_NAME, name.encode())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        body()
    except OSError as error:
        os.write(2, f"{name}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def leak(base, files, numbers):
    """Makes and removes the cgroup of a container, again and again. Each leaves a page in the file system, which keeps
    its memory cgroup."""
    containers = base / "docker"
    containers.mkdir(exist_ok=True)
    for number in numbers:
        cgroup = containers / f"{number:064x}"
        cgroup.mkdir()
        (cgroup / "cgroup.procs").write_text("0")
        (files / str(number)).write_bytes(b"x" * 4096)
        (base / "cgroup.procs").write_text("0")
        cgroup.rmdir()


def visit(base, cpu, seconds):
    """Makes the kernel visit the cgroups below `base` for about this time, on this CPU."""
    os.sched_setaffinity(0, {cpu})
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # the pages cannot be freed, as their file system still has them
        with contextlib.suppress(OSError), open(base / "memory.force_empty", "w", encoding="ascii") as file:
            file.write("0")


def compute(cpus):
    """Computes for 40 % of the time on these CPUs."""
    os.sched_setaffinity(0, cpus)
    while True:
        until = time.monotonic() + 0.04
        while time.monotonic() < until:
            pass
        time.sleep(0.06)


def write_line(device, seconds):
    """Writes the line of a queue that was not served for this time. Returns the line."""
    line = (
        f"ena {device} eth7: TX q 5 is paused for too long (threshold 5000000). "
        f"Time since last napi {int(seconds * 250) * 4000} usec. napi scheduled: 1"
    )
    with open("/dev/kmsg", "wb", buffering=0) as kmsg:
        kmsg.write(f"<3>{line}\n".encode())
    return line


@dataclasses.dataclass
class Played:
    """What happened, for comparison with an answer."""

    store: pathlib.Path
    hogged: bool
    cpu: int
    begin: float = 0
    end: float = 0
    # the part of that time in which the culprit had its CPU
    share: float = 0
    # the part of that time in which the other CPUs were idle
    idle: float = 0
    line: str = ""

    def is_fair(self):
        """Whether the machine did little else: the culprit, if any, filled its CPU, and no other CPU was full."""
        return self.idle >= 0.2 and (self.share >= 0.95 or not self.hogged)


@contextlib.contextmanager
def files_for_pages(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "rehearsal", folder], check=True)
    try:
        yield folder
    finally:
        # the pages go with the files, and the dying cgroups with their pages
        if subprocess.run(["umount", folder], check=False).returncode:
            subprocess.run(["umount", "--lazy", folder], check=False)


def remove_cgroups(base):
    for folder, _, _ in os.walk(base, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def count_memory_cgroups():
    """The memory cgroups that the kernel tracks, dying ones included."""
    lines = pathlib.Path("/proc/cgroups").read_text().splitlines()
    return next(int(line.split()[2]) for line in lines if line.startswith("memory\t"))


def wait_until_gone(before):
    """Waits until the kernel has freed the dying cgroups, at most 10 s."""
    until = time.monotonic() + 10
    while count_memory_cgroups() > before + ZOMBIES_OTHERS and time.monotonic() < until:
        time.sleep(0.1)


@contextlib.contextmanager
def parent_cgroup():
    base, before = MEMORY / f"perftape-rehearsal-{os.getpid()}", count_memory_cgroups()
    base.mkdir()
    try:
        yield base
    finally:
        remove_cgroups(base)
        wait_until_gone(before)


@contextlib.contextmanager
def process(name, body):
    pid = fork(name, body)
    try:
        yield pid
    finally:
        end(pid)


@contextlib.contextmanager
def recording(perftape, store):
    recorder = subprocess.Popen([perftape, "record", "-q", "--trust-user-kmsg", "--store", store])
    try:
        yield recorder
    finally:
        recorder.send_signal(signal.SIGINT)
        try:
            recorder.wait(60)
        except subprocess.TimeoutExpired:
            recorder.kill()
            recorder.wait()


def reaches(perftape, store):
    """The time up to which the store has samples; None while it is empty."""
    done = subprocess.run([perftape, "status", "-q", "--json", "--store", store], capture_output=True, text=True)
    return json.loads(done.stdout).get("reaches") if done.returncode == 0 and done.stdout else None


def wait_for_samples(perftape, store, recorder):
    until = time.monotonic() + 60
    while not reaches(perftape, store):
        if recorder.poll() is not None or time.monotonic() > until:
            sys.exit("the recorder does not record")
        time.sleep(0.1)


def idle_seconds(cpus):
    """How long these CPUs were idle since the boot, in all."""
    words = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    ticks = sum(int(word[4]) + int(word[5]) for word in words if word[0] in {f"cpu{cpu}" for cpu in cpus})
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_for(pid):
    """Waits for the end of a process. Returns the CPU time that it used."""
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"a process of the rehearsal failed with status {status}")
    return used.ru_utime + used.ru_stime


def act(played, base, files, before, after, tell):
    """The play itself, beside a recorder."""
    device = f"{os.urandom(2).hex()}:{os.urandom(1).hex()}:1f.0"
    others = os.sched_getaffinity(0) - {played.cpu}
    length = random.uniform(5.5, 7)
    with process(BYSTANDER, lambda: compute(others)):
        tell(f"{CREATOR} leaks {ZOMBIES_DURING} more")
        numbers = range(ZOMBIES_BEFORE, ZOMBIES_BEFORE + ZOMBIES_DURING)
        wait_for(fork(CREATOR, lambda: leak(base, files, numbers)))
        time.sleep(random.uniform(*before))
        played.begin, used, idle = time.time(), 0, idle_seconds(others)
        if played.hogged:
            tell(f"{CULPRIT} fills CPU {played.cpu} for {length:.1f} s")
            used = wait_for(fork(CULPRIT, lambda: visit(base, played.cpu, length)))
        else:
            time.sleep(length)
        played.end = time.time()
        played.share = used / (played.end - played.begin)
        played.idle = (idle_seconds(others) - idle) / (played.end - played.begin) / len(others)
        tell("the network driver complains")
        played.line = write_line(device, played.end - played.begin)
        time.sleep(after)


@contextlib.contextmanager
def play(folder, perftape, hogged=True, before=(12, 18), after=6, tell=lambda text: None):
    """Plays one incident, and yields what happened when its recording is complete."""
    played = Played(folder / "store", hogged, random.choice(sorted(os.sched_getaffinity(0))))
    files = folder / "files"
    files.mkdir()
    with parent_cgroup() as base, files_for_pages(files):
        tell(f"{CREATOR} leaks {ZOMBIES_BEFORE} memory cgroups")
        wait_for(fork(CREATOR, lambda: leak(base, files, range(ZOMBIES_BEFORE))))
        tell("perftape record")
        with recording(perftape, played.store) as recorder:
            wait_for_samples(perftape, played.store, recorder)
            act(played, base, files, before, max(after, SETTLE), tell)
        yield played


def burn(cpu, seconds):
    """Computes on this CPU for this time."""
    os.sched_setaffinity(0, {cpu})
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def write_other_line(seconds):
    """Writes the line of a disk that did not answer."""
    with open("/dev/kmsg", "wb", buffering=0) as kmsg:
        kmsg.write(b"<3>nvme nvme77: I/O 12 QID 3 timeout, aborting\n")
    return f"{seconds:.1f} s"


def act_in_night(played, base, number):
    """One incident of a night: the culprits take turns. Each has a kind of line of its own."""
    length = random.uniform(5.5, 7)
    played.begin = time.time()
    if number % 2:
        used = wait_for(fork(OTHER_CULPRIT, lambda: burn(played.cpu, length)))
    else:
        used = wait_for(fork(CULPRIT, lambda: visit(base, played.cpu, length)))
    played.end = time.time()
    played.share = used / (played.end - played.begin)
    if number % 2:
        played.line = write_other_line(length)
    else:
        played.line = write_line(f"{os.urandom(2).hex()}:00:1f.0", length)


@contextlib.contextmanager
def night(folder, perftape, incidents=6, pause=(40, 60)):
    """Plays incidents of two kinds in one recording. Yields the store, and the incidents."""
    store, files, plays = folder / "store", folder / "files", []
    cpus = sorted(os.sched_getaffinity(0))
    files.mkdir()
    with parent_cgroup() as base, files_for_pages(files):
        wait_for(fork(CREATOR, lambda: leak(base, files, range(ZOMBIES_BEFORE))))
        with recording(perftape, store) as recorder:
            wait_for_samples(perftape, store, recorder)
            for number in range(incidents):
                time.sleep(random.uniform(*pause))
                plays.append(Played(store, True, random.choice(cpus)))
                act_in_night(plays[-1], base, number)
            time.sleep(max(pause[0] / 2, SETTLE))
        yield store, plays


def explain_all(perftape, store, *which):
    """What the incidents of a store have in common, as an object; None without an answer."""
    command = [perftape, "explain", "-q", "--all", *which, "--json", "--store", store]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 and done.stdout else None


def explain(perftape, played, *which):
    """The answer about the last incident, or another one, as an object; None without one."""
    which = which or ("--incident", "last")
    command = [perftape, "explain", "-q", *which, "--json", "--store", played.store]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        return None
    return json.loads(done.stdout.splitlines()[0])


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def overlap(answer, played):
    """The part of both windows together that they share."""
    begin, last = seconds_of(answer["from"]), seconds_of(answer["to"])
    shared = min(last, played.end) - max(begin, played.begin)
    return shared / (max(last, played.end) - min(begin, played.begin))


def first(rows):
    return rows[0] if rows else {}


def score(answer, played):
    """What the answer has wrong, as a list of texts."""
    if answer is None:
        return ["no answer"]
    verdicts = answer["verdicts"]
    if not played.hogged:
        # the container does start again and again, also without the hog
        accused = (verdict["kind"] for verdict in verdicts if verdict["accuses"])
        return [f"accuses: {kind}" for kind in accused if kind != "crash_loop"]
    core, verdict, memory = first(answer["cores"]), first(verdicts), answer["memory_cgroups"]
    path = [step["function"] for step in core.get("path", []) if step["kernel"]]
    threads = core.get("threads", [])
    checks = {
        f"CPU {core.get('cpu')}, not {played.cpu}": core.get("cpu") == played.cpu,
        f"thread {first(threads).get('comm')}": first(threads).get("comm") == CULPRIT,
        f"path {';'.join(path)}": any(name.startswith(KERNEL_PATH) for name in path),
        f"window shares {overlap(answer, played):.2f}": overlap(answer, played) >= 0.8,
        f"verdict {verdict.get('kind')}": verdict.get("kind") == "zombie_memory_cgroups",
        f"dying {memory['dying']}": (memory["dying"] or 0) >= ZOMBIES_BEFORE,
        f"made by {memory['made_by']}": CREATOR in (memory["made_by"] or ""),
        f"starved {[victim['thread'] for victim in answer['victims']]}": not answer["victims"],
    }
    return [text for text, right in checks.items() if not right]


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="perftape-rehearsal-") as name:
        yield pathlib.Path(name)
