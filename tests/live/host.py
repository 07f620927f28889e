#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Gauges and audit of this host.

They report CPU time, memory cgroups that the kernel cannot free, units that crash again and again, and a core that
does not leave the kernel.

Usage: host.py PERFTAPE
"""

import bisect
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import (
    WAIT,
    expect,
    parse_json,
    perftape,
    sealed,
    seconds_of,
    start,
    start_sampling,
    stop,
    wait_for,
)  # noqa: E402

# mpstat's names of the columns, and our names
COLUMNS = {
    "usr": "user",
    "nice": "nice",
    "sys": "system",
    "iowait": "iowait",
    "irq": "irq",
    "soft": "softirq",
    "steal": "steal",
    "guest": "guest",
    "idle": "idle",
}
# the columns in the order of /proc/stat
KERNEL_COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
TICK_MS = 1000 // os.sysconf("SC_CLK_TCK")
SECONDS = 5
# more dying cgroups than the audit considers usual
DYING = 2500
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
v1 = live.lacking((MEMORY / "memory.limit_in_bytes").exists(), "memory cgroups of version 1")
PARENT = "perftape-dying"
QUICK = os.environ.get("PERFTAPE_TIER") == "quick"


class Watch:
    """Calls a function in a thread during a `with` block. Keeps each result, with the moments before and after.

    The function takes at most half of the time, however long one call takes.
    """

    def __init__(self, function):
        self.function, self.looks, self.over = function, [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        took = 0.0
        while not self.over.wait(max(0.03, took)):
            before = time.time()
            self.looks.append((before, self.function(), time.time()))
            took = time.time() - before

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def before(self, moment):
        """The last value that was read before a moment."""
        return next((value for _, value, after in reversed(self.looks) if after <= moment), None)

    def behind(self, moment):
        """The first value that was read after a moment."""
        return next((value for before, value, _ in self.looks if before >= moment), None)


def counters():
    """The milliseconds of each CPU and column, as the kernel counts them."""
    rows = [line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines()]
    rows = [row for row in rows if row[0].startswith("cpu") and row[0] != "cpu"]
    answer = {
        (int(row[0][3:]), name): int(ticks) * TICK_MS for row in rows for name, ticks in zip(KERNEL_COLUMNS, row[1:])
    }
    for row in rows:
        # the kernel counts the time of guests twice
        cpu, guest, nice = int(row[0][3:]), int(row[9]) * TICK_MS, int(row[10]) * TICK_MS
        answer[cpu, "user"] -= guest
        answer[cpu, "nice"] -= nice
        answer[cpu, "guest"] = guest + nice
    return answer


def readings(store):
    """Returns ({(CPU, column): [(moment, milliseconds so far)]}, the possible error of the moments)."""
    answer = {}
    rows, coverage = parse_json(
        perftape("gauges", "--store", store, "--from", "now-5m", "--name", "cpu*/*_ms", "--json").stdout
    )
    for row in rows:
        cpu, column = row["name"][3:].removesuffix("_ms").split("/")
        answer.setdefault((int(cpu), column), []).append((seconds_of(row["time"]), row["value"]))
    return answer, coverage.get("clock_error_ns", 0) / 1e9 + 1e-6


def most_back(watch, key):
    """The largest decrease of a counter: the kernel sometimes corrects a CPU's idle time."""
    values = [look[key] for _, look, _ in watch.looks]
    return max((one - other for one, other in zip(values, values[1:])), default=0)


def judge_readings(points, watch, key, error):
    """Each reading lies between the kernel's counts at its own moment and at the next reading's moment."""
    wrongs, slack = [], max(0, most_back(watch, key))
    for (moment, value), (following, _) in zip(points, points[1:]):
        low, high = watch.before(moment - error), watch.behind(following + error)
        if low and high:
            wrongs += expect(
                f"CPU {key[0]} {key[1]} at {moment:.3f}: {low[key] - slack} to {high[key] + slack} ms",
                low[key] - slack <= value <= high[key] + slack,
                value,
            )
    return wrongs


def bounds_at(points, earliest, latest):
    """The bounds of a counter between two moments, from the readings around these moments."""
    moments = [moment for moment, _ in points]
    # a reading was made at the latest at the moment of the next one
    low, high = bisect.bisect_right(moments, earliest) - 2, bisect.bisect_left(moments, latest)
    return points[low][1], points[high][1]


class Mpstat:
    """A run of mpstat: its averages by CPU, and bounds for the moments of its begin and its end."""

    def __init__(self):
        environment = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
        self.started = time.time()
        self.process = subprocess.Popen(
            ["mpstat", "-P", "ALL", "1", str(SECONDS)], stdout=subprocess.PIPE, text=True, env=environment
        )
        self.wait_for_second()
        # mpstat read the counters for the first time a second before it printed this line
        self.begin = self.started, time.time() - 1

    def wait_for_second(self):
        next(line for line in self.process.stdout if "CPU" in line.split()[1:])

    def averages(self):
        said = self.process.communicate(timeout=WAIT)[0]
        self.end = self.started + SECONDS, time.time()
        rows = [line.split() for line in said.splitlines() if line.startswith("Average:")]
        names = [word.lstrip("%") for word in rows[0][2:]]
        return {int(row[1]): dict(zip(names, map(float, row[2:]))) for row in rows if row[1].isdigit()}


BURN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
zero = open("/dev/zero", "rb", buffering=0)
while time.process_time() < 1.5 and time.time() < float(sys.argv[2]):
    if sys.argv[3] == "system":
        zero.read(1 << 20)
"""


def burn(cpus, end):
    """Takes CPU time, in user mode on one CPU and in the kernel on the next."""
    loads = [
        subprocess.Popen([sys.executable, "-S", "-c", BURN, str(cpu), str(end), "system" if number % 2 else "user"])
        for number, cpu in enumerate(cpus)
    ]
    for load in loads:
        load.wait(WAIT)


def counted(watch, cpu):
    """The growth of all counters of a CPU, as a part of the time. The kernel may lose a little."""
    (before, first, _), (_, last, after) = watch.looks[0], watch.looks[-1]
    return sum(last[cpu, name] - first[cpu, name] for name in COLUMNS.values()) / (1000 * (after - before))


def judge_average(points, key, theirs, mpstat, watch, error):
    """Compares a counter's growth while mpstat ran with mpstat's average. Both have bounds, not exact values."""
    low_begin, high_begin = bounds_at(points, mpstat.begin[0] - error, mpstat.begin[1] + error)
    low_end, high_end = bounds_at(points, mpstat.end[0] - error, mpstat.end[1] + error)
    slack = 2 * TICK_MS + max(0, most_back(watch, key))
    ours = low_end - high_begin - slack, high_end - low_begin + slack
    part = counted(watch, key[0])
    lengths = 1000 * SECONDS * min(part, 1), 1000 * (mpstat.end[1] - mpstat.begin[0]) * max(part, 1)
    theirs = (theirs - 0.005) / 100 * lengths[0], (theirs + 0.005) / 100 * lengths[1]
    print(f"# {key}: {ours[0]} to {ours[1]} ms, mpstat {theirs[0]:.0f} to {theirs[1]:.0f} ms", flush=True)
    return expect(
        f"CPU {key[0]} {key[1]}: {theirs[0]:.0f} to {theirs[1]:.0f} ms, as mpstat has it",
        ours[0] <= theirs[1] and theirs[0] <= ours[1],
        f"{ours[0]} to {ours[1]} ms",
    )


@live.test(promise="what each CPU spent its time on", broken_by="mix-cpu-columns")
def test_beside_mpstat(folder):
    """The time of each CPU agrees with the kernel's counters at each reading, and with mpstat."""
    store = folder / "mpstat"
    cpus = sorted(os.sched_getaffinity(0))
    newest = lambda: readings(store)[0].get((cpus[0], "user"), [(0, 0)])[-1][0]  # noqa: E731
    with Watch(counters) as watch:
        recorder = start(store)
        wait_for(lambda: len(readings(store)[0].get((cpus[0], "user"), [])) > 2)
        mpstat = Mpstat()
        # the loads run neither at the begin nor at the end of mpstat's time
        burn(cpus, mpstat.started + SECONDS - 1.5)
        averages = mpstat.averages()
        wait_for(lambda: newest() > mpstat.end[1] + 0.1)
        stop(recorder)
    figures, error = readings(store)
    wrongs = expect(
        f"mpstat and the gauges have CPUs {cpus}",
        set(averages) >= set(cpus) and all((cpu, "user") in figures for cpu in cpus),
        averages,
        list(figures),
    )
    for cpu in [] if wrongs else cpus:
        for name, column in COLUMNS.items():
            points = figures[cpu, column]
            wrongs += judge_readings(points, watch, (cpu, column), error)
            wrongs += judge_average(points, (cpu, column), averages[cpu][name], mpstat, watch, error)
    return wrongs


def audit(*words):
    """Returns the exit code, the findings by kind, and the whole answer."""
    done = perftape("audit", "--json", *words)
    answer = json.loads(done.stdout)
    return done.returncode, {finding["kind"]: finding for finding in answer["findings"]}, answer


def confirm(*commands):
    """The output of the commands that confirm a finding. All run at the same time, as a user pastes them."""
    processes = [
        subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for command in commands
    ]
    return [process.communicate(timeout=WAIT)[0] for process in processes]


def audit_while(count, least, duration="5s"):
    """Audits. Tries again if the machine kept a count from growing at least so much while the audit watched."""
    result = None

    def is_undisturbed():
        nonlocal result
        code, findings, answer = audit("--duration", duration)
        result = code, findings
        begin, length = seconds_of(answer["time"]), answer["watched_ns"] / 1e9
        first, last = watch.behind(begin), watch.before(begin + length)
        grown = last - first if None not in (first, last) else 0
        print(f"# in the {length:.1f} s of an audit, the count grew by at least {grown:.1f}", flush=True)
        return grown >= least

    with Watch(count) as watch:
        wait_for(is_undisturbed)
    return result


def confirm_while(count, least, command):
    """The output of a command. Runs it again if the machine kept a count from growing at least so much meanwhile."""
    said = ""

    def is_undisturbed():
        nonlocal said
        before = count()
        said = confirm(command)[0]
        return count() - before >= least

    wait_for(is_undisturbed)
    return said


@contextlib.contextmanager
def dying_cgroups(folder, count):
    """Removed memory cgroups, each kept by a page of a file. The kernel frees them when the files are gone."""
    parent, files = MEMORY / f"{PARENT}-{os.getpid()}", folder / "files"
    files.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", files], check=True)
    parent.mkdir()
    before = next(line.split(":")[2].strip() for line in open("/proc/self/cgroup") if ":memory:" in line)
    own = MEMORY / before.lstrip("/") / "cgroup.procs"
    try:
        for number in range(count):
            one = parent / str(number)
            one.mkdir()
            (one / "cgroup.procs").write_text("0")
            (files / str(number)).write_bytes(b"x" * 4096)
            own.write_text("0")
            one.rmdir()
        yield files
    finally:
        own.write_text("0")
        subprocess.run(["umount", files], check=True)
        parent.rmdir()


def dying_now():
    tracked = next(int(line.split()[2]) for line in open("/proc/cgroups") if line.startswith("memory\t"))
    return tracked - sum(1 for _ in os.walk(MEMORY))


def last_value(store, name):
    rows, _ = parse_json(perftape("gauges", "--store", store, "--from", "now-1m", "--name", name, "--json").stdout)
    return rows[-1]["value"] if rows else None


def judge_dying(what, number, watch):
    """Whether a number of dying cgroups agrees with the counts of the same seconds. Other cgroups may come and go."""
    counts = [count for _, count, _ in watch.looks]
    low, high = min(counts) - DYING // 100, max(counts) + DYING // 100
    return expect(f"{what}: {low} to {high} dying cgroups", number is not None and low <= number <= high, number)


def judge_maker(makers):
    name = pathlib.Path("/proc/self/comm").read_text().strip()
    mine = next((row for row in makers if row["prefix"] == f"/{PARENT}-*/*"), {})
    wrongs = expect(f"{DYING} cgroups are left under /{PARENT}-*/*", mine.get("count") == DYING, makers)
    return wrongs + expect(
        f"{name} made them and removed them", (mine.get("made_by"), mine.get("removed_by")) == (name, name), mine
    )


def judge_kept(store, what):
    """The status of a store without a recorder names the makers, as an audit beside one does."""
    status = lambda: json.loads(perftape("status", "--store", store, "--json").stdout)  # noqa: E731
    # the recorder's child processes outlive the recorder for a moment, and keep its lock
    wrongs = expect(f"{what}: no recorder runs", wait_for(lambda: not status()["recorder"]), status())
    names = ("made_by", "removed_by")
    rows = [
        row | {key: (row[key] or {}).get("comm") for key in names}
        for row in (status()["dying_cgroups"] or {"paths": []})["paths"]
    ]
    return wrongs + [f"{what}: {wrong}" for wrong in judge_maker(rows)]


@live.test(
    promise="memory cgroups that were removed and are not gone, and who left them",
    broken_by="forget-maker",
    alone=True,
    lacks=v1,
)
def test_dying_cgroups(folder):
    """The audit counts dying memory cgroups and names their creator. It is silent when they are gone.

    The store of a recorder that was killed, and a snapshot of seconds, name the creator, too."""
    at_first = dying_now()
    maker, gauges = folder / "maker", folder / "gauges"
    # the rings have room for all events of the cgroups, even if the recorder cannot empty them meanwhile
    recorders = [start_sampling(maker, "--ring", "16M")]
    with dying_cgroups(folder, DYING) as files:
        with Watch(dying_now) as watch:
            recorders.append(start(gauges))

            def makers():
                finding = audit("--store", maker, "--duration", "0")[1].get("zombie_memory_cgroups", {"numbers": {}})
                return finding["numbers"].get("by_prefix", [])

            wrongs = expect(
                "the gauges have a count", wait_for(lambda: last_value(gauges, "memory_cgroups/dying") is not None)
            )
            figure = last_value(gauges, "memory_cgroups/dying")
            code, findings, _ = audit("--duration", "0")
            found = findings.get("zombie_memory_cgroups")
            said = confirm(found["confirm"][0])[0] if found else ""
            wrongs += expect("the audit with a store names makers", wait_for(makers))
            wrongs += judge_maker(makers())
            recorders[0].kill()
            recorders.pop(0).wait()
            wrongs += judge_kept(maker, "after kill -9")
            perftape("snapshot", "--store", maker, "--from", "now-1m", "-o", folder / "kept.tape")
            wrongs += judge_kept(folder / "kept.tape", "in a snapshot")
            for recorder in recorders:
                stop(recorder)
        wrongs += judge_dying("the gauge", figure, watch)
        wrongs += judge_dying("the audit", found and found["numbers"]["dying"], watch)
        wrongs += expect("the exit code of an audit that finds something is 5", code == 5, code)
        tracked = found["numbers"]["tracked"] if found else 0
        wrongs += expect(
            f"the command of the finding shows about {tracked} memory cgroups",
            abs(int(said.partition("memory\t")[2].split()[1]) - tracked) <= DYING // 100
            if "memory\t" in said
            else False,
            said,
        )
        for number in range(DYING):
            (files / str(number)).unlink()
        # this machine may have had dying cgroups before the test
        least = at_first + DYING // 5
        wrongs += expect(
            f"less than {least} are dying once their files are gone", wait_for(lambda: dying_now() < least), dying_now()
        )
        wrongs += expect(
            "the audit finds nothing then", least > 2000 or "zombie_memory_cgroups" not in audit("--duration", "0")[1]
        )
    return wrongs


def looks(said):
    """How many different cgroups a command found in repeated looks."""
    return len({line.split()[0] for line in said.splitlines()})


def size_of(path):
    return path.stat().st_size if path.exists() else 0


# an audit that watches this number of starts or crashes must report them
ENOUGH = 3


@live.test(lacks=v1)
def test_crash_loop(folder):
    """The audit finds a unit whose cgroup is made anew again and again, but not a unit whose cgroup stays."""
    name, starts = f"perftape-test-{os.getpid()}.service", folder / "starts"
    slice_ = MEMORY / "system.slice"
    unit, made = slice_ / name, not slice_.exists()
    slice_.mkdir(exist_ok=True)
    code = (
        f"import os, time\nstarts = open('{starts}', 'wb', buffering=0)\n"
        f"while True:\n    os.mkdir('{unit}')\n    starts.write(b'x')\n    time.sleep(0.2)\n    os.rmdir('{unit}')\n"
    )
    loop = subprocess.Popen([sys.executable, "-S", "-c", code])
    loops = lambda findings: name in [
        unit["unit"] for unit in findings.get("crash_looping_units", {"numbers": {"units": []}})["numbers"]["units"]
    ]  # noqa: E731
    try:
        code, findings = audit_while(lambda: size_of(starts), ENOUGH)
        wrongs = expect(
            f"the audit finds {name}, and its exit code is 5",
            loops(findings) and code == 5,
            code,
            findings.get("crash_looping_units"),
        )
        # if systemd answers, the finding has another command, which asks systemd
        if loops(findings) and not pathlib.Path("/run/systemd/system").exists():
            command = next((command for command in findings["crash_looping_units"]["confirm"] if name in command), "")
            said = confirm_while(lambda: size_of(starts), ENOUGH, command)
            wrongs += expect(
                "the command of the finding sees at least two cgroups of the unit", looks(said) >= 2, command, said
            )
    finally:
        loop.kill()
        loop.wait()
    unit.mkdir(exist_ok=True)
    found = audit("--duration", "2s")[1]
    wrongs += expect(f"the audit does not find {name} while it stays", not loops(found), found)
    unit.rmdir()
    if made:
        with contextlib.suppress(OSError):  # the slice may contain another test's unit
            slice_.rmdir()
    return wrongs


CRASHES = pathlib.Path("/proc/sys/debug/exception-trace")


def logged(text):
    """How many lines of the kernel's log have this text. If many programs crash, the kernel does not log each crash."""
    return subprocess.run(["dmesg"], capture_output=True, check=True, text=True, errors="replace").stdout.count(text)


@live.test(lacks=live.lacking(CRASHES.exists() and CRASHES.read_text().strip() == "1", "a kernel that logs crashes"))
def test_plain_crash_loop(folder):
    """The audit finds a program that a shell starts again after each SIGSEGV, twice per second."""
    program = folder / f"crash-{os.getpid()}"
    program.symlink_to(sys.executable)
    script = 'while :; do "$1" -S -E -c "import ctypes; ctypes.string_at(0)"; sleep 0.5; done'
    loop = subprocess.Popen(
        ["sh", "-c", script, "loop", program], stderr=subprocess.DEVNULL, process_group=0, cwd=folder
    )
    try:
        code, findings = audit_while(lambda: logged(f"{program.name}["), ENOUGH)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()
    found = findings.get("crash_looping_programs", {"numbers": {"programs": []}})["numbers"]["programs"]
    return expect(
        f"the audit finds that {program.name} crashed at least twice, and its exit code is 5",
        code == 5 and any(row["program"] == program.name and row["crashes_now"] >= 2 for row in found),
        code,
        found,
    )


CONTAINERS = """
import os, subprocess, sys, time
while True:
    container = sys.argv[1] + "/" + os.urandom(32).hex()
    os.mkdir(container)
    open(sys.argv[2], "a").write(f"{time.time()}\\n")
    process = subprocess.Popen(["sleep", "100"], stdout=subprocess.DEVNULL)
    open(container + "/cgroup.procs", "w").write(str(process.pid))
    time.sleep(0.2)
    process.kill()
    process.wait()
    os.rmdir(container)
"""


@live.test(lacks=v1)
def test_short_containers(folder):
    """The audit finds containers that replace one another, and reports the age of the youngest."""
    parent, starts = MEMORY / f"perftape-test-{os.getpid()}", folder / "starts"
    parent.mkdir()
    loop = subprocess.Popen([sys.executable, "-S", "-c", CONTAINERS, parent, starts])
    count = lambda: starts.read_text().count("\n") if starts.exists() else 0  # noqa: E731
    try:
        code, findings = audit_while(count, ENOUGH)
        found = findings.get("short_lived_containers")
        command = next((command for command in found["confirm"] if parent.name in command), "") if found else ""
        said = confirm_while(count, ENOUGH, command) if command else ""
    finally:
        # the loop makes cgroups until it is killed
        loop.kill()
        loop.wait()
        begins = [*map(float, starts.read_text().splitlines()), time.time()]
    wrongs = expect(
        "the cgroups are removed",
        wait_for(lambda: all([removed(group) for group in parent.iterdir() if group.is_dir()]) and removed(parent)),
    )
    group = (
        next((group for group in found["numbers"]["groups"] if group["group"] == f"{parent.name}/*"), {})
        if found
        else {}
    )
    wrongs += expect(f"the audit finds {parent.name}/*, and its exit code is 5", group and code == 5, code, found)
    wrongs += expect("the command of the finding sees at least two containers", looks(said) >= 2, command, said)
    # the kernel counts ages in ticks, so a process may seem a tick older than its container
    longest = max(after - before for before, after in zip(begins, begins[1:])) + 0.1
    return wrongs + expect(
        f"at least 2 of {len(begins) - 1} starts are seen, and the youngest is at most {longest:.1f} s old",
        group.get("starts_now", 0) >= 2 and (group["youngest_s"] or 0) <= longest,
        group,
    )


def removed(group):
    """Kills the processes in a cgroup. Returns whether the cgroup is gone."""
    with contextlib.suppress(OSError):
        for pid in map(int, (group / "cgroup.procs").read_text().split()):
            os.kill(pid, signal.SIGKILL)
        group.rmdir()
    return not group.exists()


def kernel_seconds(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[12]) * TICK_MS / 1000


def start_dd(cpu, real_time=False):
    """A process that stays in the kernel, on one CPU. Where the host allows it, it runs as a real-time process."""

    def prepare():
        os.sched_setaffinity(0, {cpu})
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with contextlib.suppress(PermissionError):
            if real_time:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))

    return subprocess.Popen(
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL, preexec_fn=prepare
    )


@live.test(promise="a core that does not leave the kernel", broken_by="blind-to-kernel", alone=True)
def test_saturated_core(folder):
    """The audit finds a core that does not leave the kernel, and the thread that keeps it there."""
    cpu = max(os.sched_getaffinity(0))
    # the kernel may withhold a part of the time from the real-time process; the other process then uses it
    other, load = start_dd(cpu), start_dd(cpu, real_time=True)
    try:
        wait_for(lambda: kernel_seconds(load.pid) > 0.1)
        # other processes may take the CPU during the audit
        code, findings = audit_while(lambda: kernel_seconds(load.pid), 1.1, "2s")
        found = findings.get("saturated_cores")
        commands = [found["confirm"][number] for number in (0, 2)] if found else []
        said = confirm(*(command.replace("1 5", "1 2") if QUICK else command for command in commands))
    finally:
        for process in (load, other):
            process.kill()
            process.wait()
    wrongs = expect(
        f"the audit finds CPU {cpu}, and its exit code is 5",
        found and code == 5 and found["severity"] in ("critical", "warning"),
        code,
        findings,
    )
    if wrongs:
        return wrongs
    core = next((core for core in found["numbers"]["cpus"] if core["cpu"] == cpu), {})
    wrongs += expect(
        f"CPU {cpu} is in the kernel most of the time, for dd with pid {load.pid}",
        core.get("kernel", 0) > 50 and (core.get("comm"), core.get("pid")) == ("dd", load.pid),
        found["numbers"],
    )
    mean = next(
        (line.split() for line in said[0].splitlines() if line.startswith("Average:") and line.split()[1] == str(cpu)),
        ["100"],
    )
    wrongs += expect(f"mpstat, which is to confirm it, shows CPU {cpu} busy", float(mean[-1]) < 20, said[0])
    return wrongs + expect(
        "pidstat, which is to confirm it, names dd",
        any(line.startswith("Average:") and line.endswith("|__dd") for line in said[1].splitlines()),
        said[1],
    )


@live.test()
def test_recorder_is_missing(folder):
    """The audit reports a store without a recorder, but not while a recorder runs."""
    store = folder / "recorder"
    recorder = start(store, "--segment", "1s")
    wrongs = expect("a segment is sealed", wait_for(lambda: sealed(store) >= 1), sealed(store))
    wrongs += expect(
        "the audit finds nothing about the recorder while it runs",
        wait_for(lambda: "recorder" not in audit("--store", store, "--duration", "0")[1]),
    )
    stop(recorder)
    code, findings, answer = audit("--store", store, "--duration", "0")
    wrongs += expect(
        "the audit finds that the recorder is missing, and its exit code is 5",
        "recorder" in findings and code == 5,
        code,
        findings,
    )
    return wrongs + expect("the audit reads what was recorded", answer["recorded_from"], answer)


@live.test()
def test_other_host(folder):
    """The audit of a copy of a host uses only figures of the copy, and goes on when a file of the copy hangs."""
    store, root, conf = folder / "store", folder / "root", folder / "perftape.conf"
    conf.write_text(f"store = {store}\n")
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "stat").write_text(pathlib.Path("/proc/stat").read_text())
    os.mkfifo(root / "proc" / "vmstat")
    perftape("record", "--store", store, "--duration", "2s")
    environment = os.environ | {"PERFTAPE_CONFIG": str(conf), "PERFTAPE_STORE": str(store)}
    done = perftape("audit", "--json", "--root", root, env=environment)
    answer = json.loads(done.stdout)
    found = {finding["kind"]: finding for finding in answer["findings"]}
    wrongs = expect(
        "the audit of a copy reads no store of this host",
        answer["recorded_from"] is None and "no store" in answer["not_checked"]["recorder"],
        answer,
    )
    wrongs += expect(
        "the audit finds that vmstat hangs, and its exit code is 5",
        found.get("hanging_reads", {}).get("numbers") == {"reads": ["figures of vmstat"]} and done.returncode == 5,
        done,
    )
    (root / "proc" / "vmstat").unlink()
    done = perftape("audit", "--json", "--root", root, "--store", store)
    return wrongs + expect(
        "the audit of a copy reads the store that --store names",
        json.loads(done.stdout)["recorded_from"] is not None,
        done,
    )


if __name__ == "__main__":
    sys.exit(live.main())
