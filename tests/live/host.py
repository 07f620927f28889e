#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What this host does, as its figures and an audit tell: CPUs beside mpstat, memory cgroups that die, a unit that crashes again and again, a core that
does not leave the kernel.

Usage: host.py PERFTAPE
"""

import calendar
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import WAIT, expect, perftape, sealed, start, wait_for  # noqa: E402

SECONDS = 12
# Points of a hundred. Over all seconds of a CPU both have counted the same ticks, but for those at the two ends; of a single second the
# readings lie up to half a second apart, and are put into place as if nothing had changed between them: half of two seconds of five, in two of seven
# columns, is 6 points.
WHOLE_TOLERANCE = 2
SECOND_TOLERANCE = 8
COLUMNS = {"usr": "user", "nice": "nice", "sys": "system", "iowait": "iowait", "irq": "irq", "soft": "softirq", "steal": "steal", "guest": "guest", "idle": "idle"}
# more than an audit takes for usual
DYING = 2500
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
v1 = live.lacking((MEMORY / "memory.limit_in_bytes").exists(), "memory cgroups of version 1")
PARENT = "perftape-dying"


def finish(recorder):
    recorder.send_signal(signal.SIGINT)
    return recorder.communicate(timeout=WAIT)[1]


def rows_of_mpstat(seconds):
    """When each of its intervals ended, and what each CPU's were: its lines come as they are written."""
    command = ["mpstat", "-P", "ALL", "1", str(seconds)]
    environment = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as mpstat:
        names, ended = [], 0.0
        for line in mpstat.stdout:
            words = line.split()
            if not words or words[0] == "Average:":
                continue
            if "CPU" in words:
                names, ended = [word.lstrip("%") for word in words[words.index("CPU") + 1 :]], time.time()
            elif names and words[1].isdigit():
                yield ended, int(words[1]), dict(zip(names, map(float, words[2:])))


def readings(store):
    """By CPU and column, the moments and the milliseconds until then."""
    answer = {}
    for line in perftape("gauges", "--store", store, "--from", "now-5m", "--name", "cpu*/*_ms", "--json").stdout.splitlines():
        row = json.loads(line)
        if "name" not in row:
            continue
        cpu, column = row["name"][3:].removesuffix("_ms").split("/")
        clock = time.strptime(row["time"][:19], "%Y-%m-%dT%H:%M:%S")
        seconds = calendar.timegm(clock) + float("0" + row["time"][19:-1])
        answer.setdefault((int(cpu), column), []).append((seconds, row["value"]))
    return answer


def value_at(points, moment):
    """Between two readings, as if nothing had changed. None outside of all."""
    for (before, low), (after, high) in zip(points, points[1:]):
        if before <= moment <= after:
            return low + (high - low) * (moment - before) / (after - before)
    return None


def shares(figures, cpu, begin, end):
    """Each column's, in per cent of the CPU's time; None where it was not read."""
    grown = {}
    for ours in COLUMNS.values():
        values = [value_at(figures[cpu, ours], moment) for moment in (begin, end)]
        if None in values:
            return None
        grown[ours] = values[1] - values[0]
    total = sum(grown.values())
    return {ours: 100 * value / total for ours, value in grown.items()}


def blink(cpus, seconds):
    """A load that comes and goes, in user mode and in the kernel, so that there is something to tell apart."""
    for number, cpu in enumerate(cpus):
        code = (
            f"import os, time\nos.sched_setaffinity(0, {{{cpu}}})\nend = time.time() + {seconds}\nzero = open('/dev/zero', 'rb', buffering=0)\n"
            f"while time.time() < end:\n    stop = time.time() + 3\n    while time.time() < stop:\n        {'zero.read(1 << 20)' if number % 2 else 'pass'}\n"
            "    time.sleep(2)\n"
        )
        yield subprocess.Popen([sys.executable, "-c", code])


@live.test(alone=True)
def test_beside_mpstat(folder):
    """Each CPU's time is what mpstat says of the same seconds."""
    store = folder / "mpstat"
    recorder = start(store)
    wait_for(lambda: list(store.glob("spool/*.spool")))
    time.sleep(2.5)
    loads = list(blink(sorted(os.sched_getaffinity(0)), SECONDS))
    rows = list(rows_of_mpstat(SECONDS))
    time.sleep(2.5)
    finish(recorder)
    for load in loads:
        load.wait()
    figures, ends = readings(store), sorted({ended for ended, _, _ in rows})
    wrongs, singles, compared = [], [], 0
    for cpu in sorted({cpu for _, cpu, _ in rows}):
        theirs = {name: 0.0 for name in COLUMNS}
        for before, ended in zip(ends, ends[1:]):
            row = next(row for end, number, row in rows if end == ended and number == cpu)
            ours = shares(figures, cpu, before, ended)
            if not ours:
                return [f"no readings of CPU {cpu} at {ended}"]
            compared += 1
            for name, column in COLUMNS.items():
                theirs[name] += row[name] / (len(ends) - 1)
                singles.append(abs(ours[column] - row[name]))
        ours = shares(figures, cpu, ends[0], ends[-1])
        print(f"# CPU {cpu}: " + ", ".join(f"{column} {ours[column]:.1f} {theirs[name]:.1f}" for name, column in COLUMNS.items() if theirs[name] >= 0.05))
        for name, column in COLUMNS.items():
            wrongs += expect(f"CPU {cpu} {column}: {ours[column]:.1f} %, mpstat {theirs[name]:.1f} %", abs(ours[column] - theirs[name]) <= WHOLE_TOLERANCE)
    mean = sum(singles) / len(singles)
    print(f"# {compared} seconds of a CPU; by column {mean:.2f} points apart on the average, {max(singles):.1f} at the most")
    return wrongs + expect(f"single seconds are {mean:.1f} points apart", mean <= SECOND_TOLERANCE) + expect("too little was compared", compared >= SECONDS - 2, compared)


def audit(*words):
    """The exit code and the findings by kind."""
    done = perftape("audit", "--json", *words)
    answer = json.loads(done.stdout)
    return done.returncode, {finding["kind"]: finding for finding in answer["findings"]}, answer


@contextlib.contextmanager
def dying_cgroups(folder, count):
    """So many memory cgroups that were removed, each kept by a page of a file; when the files go, so do they."""
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
    rows = [json.loads(line) for line in perftape("gauges", "--store", store, "--from", "now-1m", "--name", name, "--json").stdout.splitlines()]
    return [row["value"] for row in rows if "name" in row][-1:]


@live.test(lacks=v1)
def test_dying_cgroups(folder):
    """Memory cgroups that were removed and are not gone are counted and found, with who made them; when they are gone, they are not."""
    at_first = dying_now()
    recorder = start(folder / "maker")
    wait_for(lambda: list((folder / "maker").glob("spool/*.spool")))
    with dying_cgroups(folder, DYING) as files:
        counted = dying_now()
        makers = lambda: audit("--store", folder / "maker", "--duration", "0")[1].get("zombie_memory_cgroups", {"numbers": {}})["numbers"].get("by_prefix")
        wrongs = expect("no maker is told", wait_for(makers))
        told = makers() or [{}]
        mine = [row for row in told if row.get("prefix") == f"/{PARENT}-*/*"]
        wrongs += expect("another maker", mine and mine[0]["made_by"] == pathlib.Path("/proc/self/comm").read_text().strip(), told)
        finish(recorder)
        recorder = start(folder / "dying")
        wrongs += expect("no figure came", wait_for(lambda: last_value(folder / "dying", "memory_cgroups/dying")))
        finish(recorder)
        figure = last_value(folder / "dying", "memory_cgroups/dying")
        wrongs += expect("they were not made", counted - at_first >= DYING * 0.99, at_first, counted)
        # others come and go meanwhile
        wrongs += expect(f"{figure} are dying as the figure says, {counted} as counted here", figure and abs(figure[0] - counted) <= DYING // 20)
        code, findings, _ = audit("--duration", "0")
        found = findings.get("zombie_memory_cgroups")
        wrongs += expect(f"not found, exit code {code}", found and code == 5)
        said = confirm(found) if found else ""
        wrongs += expect("its command does not confirm it", "memory\t" in said and abs(int(said.split("memory\t")[1].split()[1]) - counted) <= DYING // 20, said)
        wrongs += expect("not what was counted", found and abs(found["numbers"]["dying"] - counted) <= DYING // 20, found)
        for number in range(DYING):
            (files / str(number)).unlink()
        wrongs += expect("they do not go", wait_for(lambda: dying_now() < at_first + DYING // 5), at_first, dying_now())
        # of this machine's others there may be as many
        wrongs += expect("found, and gone", at_first > DYING // 5 or "zombie_memory_cgroups" not in audit("--duration", "0")[1])
    return wrongs


def confirm(finding, number=0):
    """What a command says that is to confirm a finding: as it would be pasted."""
    return subprocess.run(["bash", "-c", finding["confirm"][number]], capture_output=True, text=True, timeout=WAIT, check=False).stdout


@live.test(lacks=v1)
def test_crash_loop(folder):
    """A unit's cgroup that is made anew again and again is found, by name; and no longer when it stays."""
    slice_, unit = MEMORY / "system.slice", MEMORY / "system.slice" / "perftape-test.service"
    made = not slice_.exists()
    code = f"import os, time\nwhile True:\n    os.mkdir('{unit}')\n    time.sleep(0.7)\n    os.rmdir('{unit}')\n"
    slice_.mkdir(exist_ok=True)
    loop = subprocess.Popen([sys.executable, "-c", code])
    try:
        code, findings, _ = audit("--duration", "5s")
        found = findings.get("crash_looping_units")
        wrongs = expect(f"not found, exit code {code}", found and code == 5)
        wrongs += expect("another one was found", found and [unit["unit"] for unit in found["numbers"]["units"]] == ["perftape-test.service"], found)
        # where systemd answers, it is asked
        if found and not pathlib.Path("/run/systemd/system").exists():
            said = confirm(found)
            wrongs += expect("its command does not confirm it", len({line.split()[0] for line in said.splitlines()}) >= 2, found["confirm"], said)
    finally:
        loop.kill()
        loop.wait()
    unit.mkdir(exist_ok=True)
    wrongs += expect("found, and it stays", "crash_looping_units" not in audit("--duration", "2s")[1])
    unit.rmdir()
    if made:
        slice_.rmdir()
    return wrongs


CONTAINERS = """
import os, subprocess, sys, time
while True:
    container = sys.argv[1] + "/" + os.urandom(32).hex()
    os.mkdir(container)
    process = subprocess.Popen(["sleep", "10"])
    open(container + "/cgroup.procs", "w").write(str(process.pid))
    time.sleep(0.7)
    process.kill()
    process.wait()
    os.rmdir(container)
"""


@live.test(lacks=v1)
def test_short_containers(folder):
    """Containers that take each other's place are found, with how old the one that runs is."""
    parent = MEMORY / f"perftape-test-{os.getpid()}"
    parent.mkdir()
    loop = subprocess.Popen([sys.executable, "-c", CONTAINERS, parent])
    try:
        code, findings, _ = audit("--duration", "5s")
        said = confirm(findings["short_lived_containers"]) if "short_lived_containers" in findings else ""
    finally:
        # only when it makes no more of them are they all there
        loop.kill()
        loop.wait()
    wrongs = expect("the cgroups are not empty", wait_for(lambda: all([removed(group) for group in parent.iterdir() if group.is_dir()]) and removed(parent)))
    found = findings.get("short_lived_containers")
    groups = found["numbers"]["groups"] if found else []
    wrongs += expect(f"not found, exit code {code}", code == 5 and [group["group"] for group in groups] == [f"{parent.name}/*"], found)
    wrongs += expect("its command does not confirm it", len({line.split()[0] for line in said.splitlines()}) >= 2, found, said)
    return wrongs + expect("not as many, or not as old", groups and groups[0]["starts_now"] >= 2 and (groups[0]["youngest_s"] or 0) < 5, groups)


def removed(group):
    """Whether a cgroup is gone, with all that runs in it."""
    with contextlib.suppress(OSError):
        for pid in map(int, (group / "cgroup.procs").read_text().split()):
            os.kill(pid, signal.SIGKILL)
        group.rmdir()
    return not group.exists()


@live.test(alone=True)
def test_saturated_core(folder):
    """A core that does not leave the kernel is found, with the thread that keeps it there."""
    cpu = max(os.sched_getaffinity(0))
    # before all others of its CPU: how much of it they leave is not what is looked at
    load = subprocess.Popen(["nice", "-n", "-20", "taskset", "-c", str(cpu), "dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        code, findings, _ = audit("--duration", "3s")
        busy = [confirm(findings["saturated_cores"], number) for number in (0, 2)] if "saturated_cores" in findings else []
    finally:
        load.kill()
        load.wait()
    found = findings.get("saturated_cores")
    if not found:
        return [f"not found, exit code {code}"]
    core = next((core for core in found["numbers"]["cpus"] if core["cpu"] == cpu), None)
    wrongs = expect("not that one", core and core["kernel"] > 50, found["numbers"])
    mean = [line.split() for line in busy[0].splitlines() if line.startswith("Average:") and line.split()[1] == str(cpu)]
    wrongs += expect("mpstat does not confirm it", mean and float(mean[0][-1]) < 20, busy[0])
    wrongs += expect("pidstat does not name the thread", any(line.startswith("Average:") and line.endswith("|__dd") for line in busy[1].splitlines()), busy[1])
    wrongs += expect(f"by {core and core.get('comm')}", core and core.get("comm") == "dd" and core.get("pid") == load.pid, core)
    return wrongs + expect(f"{found['severity']}, exit code {code}", found["severity"] in ("critical", "warning") and code == 5)


@live.test()
def test_recorder_is_missing(folder):
    """A store without a recorder is found; with one it is not."""
    store = folder / "recorder"
    recorder = start(store, "--segment", "1s")
    wrongs = expect("nothing was sealed", wait_for(lambda: sealed(store) >= 1))
    wrongs += expect("found, and it records", wait_for(lambda: "recorder" not in audit("--store", store, "--duration", "0")[1]))
    finish(recorder)
    code, findings, answer = audit("--store", store, "--duration", "0")
    wrongs += expect(f"not found, exit code {code}", "recorder" in findings and code == 5)
    return wrongs + expect("what was recorded was not looked at", answer["recorded_from"], answer)


@live.test()
def test_other_host(folder):
    """a copy of a host is audited with its own figures; a file of it that hangs is found, and the rest looked at"""
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
    wrongs = expect("two hosts in one answer", answer["recorded_from"] is None and "no store" in answer["not_checked"]["recorder"], answer)
    wrongs += expect("what hangs", found.get("hanging_reads", {}).get("numbers") == {"reads": ["figures of vmstat"]} and done.returncode == 5, done)
    done = perftape("audit", "--json", "--root", root, "--store", store)
    return wrongs + expect("the store that is named", json.loads(done.stdout)["recorded_from"] is not None, done)


if __name__ == "__main__":
    sys.exit(live.main())
