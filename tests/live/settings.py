#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The surroundings of a recorder: settings, a service manager, a user, and rights.

Usage: settings.py PERFTAPE LOAD
"""

import contextlib
import grp
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import beside_perf  # noqa: E402
import live  # noqa: E402
import tap  # noqa: E402
from recorders import (  # noqa: E402
    PERFTAPE,
    WAIT,
    Manager,
    expect,
    has_reported,
    hear,
    perftape,
    progress,
    sealed,
    start,
    status,
    stop,
    times_of,
    wait_for,
)

LOAD = os.path.abspath(sys.argv[2])
KEPT = {19, 2, 40, 34, 14, 38}  # ptrace, read-search, checkpoint-restore, syslog, ipc-lock, perfmon
NOBODY = 65534
TRACEFS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
ONE_CPU = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


def limits(store):
    """The largest size and age that the recorder applies."""
    told = status(store)
    return told.get("max_bytes"), told.get("max_age_ns")


def reread(recorder, conf, text, answer):
    """Changes the settings, or removes them, and sends SIGHUP. Returns the recorder's messages up to the answer."""
    if text:
        conf.write_text(text)
    else:
        conf.unlink()
    recorder.send_signal(signal.SIGHUP)
    return hear(recorder, answer)


@live.test(promise="`SIGHUP` makes a recorder apply new limits", broken_by="keep-old-limits", also=("build-tsan",))
def test_reload(folder):
    """SIGHUP rereads the settings. Limits apply at once, a mistake changes nothing, and a message names the rest."""
    store, conf = folder / "reload", folder / "reload.conf"
    conf.write_text("[record]\nmax-size = 50M\nmax-age = 1h\n")
    recorder = start(store, "--config", conf, "--max-age", "2h")
    asked = (50000000, 7200000000000)
    wrongs = expect(
        f"the size of the file and the age of the option: {asked}",
        wait_for(lambda: progress(store) and limits(store) == asked),
        limits(store),
    )
    said = reread(recorder, conf, "[record]\nmax-size = 60M\nfrequency = 50\n", "settings reread")
    wrongs += expect("the new size, 60000000", wait_for(lambda: limits(store)[0] == 60000000), limits(store), said)
    if wrongs:
        return wrongs
    for text in ("[record]\nmax-size = 70M\nmax-sizes = 1\n", "[record]\nmax-size = much\n"):
        said += reread(recorder, conf, text, "the limits stay unchanged")
        wrongs += expect(f"the limits as they were after {text!r}", limits(store)[0] == 60000000, limits(store))
    said += stop(recorder)
    for text in (
        f"{conf}: frequency applies after a restart",
        f"{conf}:3: unknown setting 'max-sizes'; did you mean 'max-size'?",
        f"{conf}:2: max-size 'much' is not a size",
    ):
        wrongs += expect(f"the recorder says {text}", text in said, said)
    return wrongs + expect(
        "twice that the limits stay as they were, and exit code 0",
        said.count("perftape: the limits stay unchanged") == 2 and recorder.returncode == 0,
        recorder.returncode,
        said,
    )


@live.test()
def test_settings_gone(folder):
    """If the settings are gone at SIGHUP, the limits stay. -q does not hide which changes take a restart."""
    store, conf = folder / "gone", folder / "gone.conf"
    conf.write_text("[record]\nmax-size = 50M\n")
    recorder = start(store, "-q", "--config", conf)
    wrongs = expect(
        "the size of the file, 50000000",
        wait_for(lambda: progress(store) and limits(store)[0] == 50000000),
        limits(store),
    )
    said = reread(recorder, conf, "[record]\nmax-size = 60M\nfrequency = 50\n", "frequency applies after a restart")
    wrongs += expect("the new size, 60000000", wait_for(lambda: limits(store)[0] == 60000000), limits(store), said)
    said += reread(recorder, conf, None, "the limits stay unchanged")
    wrongs += expect("the size as it was, 60000000", limits(store)[0] == 60000000, limits(store))
    said += stop(recorder)
    texts = (f"{conf}: frequency applies after a restart", f"{conf}: No such file", "the limits stay unchanged")
    for text in texts:
        wrongs += expect(f"the recorder says {text}", text in said, said)
    return wrongs


def tape_sizes(store):
    """The sizes of the segments, the oldest first."""
    return [path.stat().st_size for path in sorted(store.glob("segments/*.tape"))]


def has_many(store):
    """Whether the newest segment, which no limit removes, is less than half of the store."""
    sizes = tape_sizes(store)
    return len(sizes) >= 4 and sizes[-1] < sum(sizes) / 2


@live.test()
def test_limits_by_slip(folder):
    """Limits that would remove most of the store take --force, also at a reload. A message names what would go."""
    store, conf = folder / "slip", folder / "slip.conf"
    conf.write_text("[record]\nmax-size = 50M\nsegment = 1s\n")
    recorder = start(store, "-q", "--config", conf)
    wrongs = expect("four segments or more", wait_for(lambda: has_many(store)), tape_sizes(store))
    stop(recorder)
    there = sealed(store)
    # a busy machine makes larger segments than an idle one
    little = f"{sum(tape_sizes(store)) // 4}B"
    small = perftape("record", "--store", store, "--max-size", little, "--duration", "1s")
    wrongs += expect(
        "an option that would remove most segments is refused with code 2, and all segments stay",
        small.returncode == 2 and "; give --force if you want that" in small.stderr and sealed(store) == there,
        small.returncode,
        small.stderr,
        (there, sealed(store)),
    )
    recorder = start(store, "-q", "--config", conf)
    wrongs += expect("a recorder with 50M", wait_for(lambda: progress(store) and limits(store)[0] == 50000000))
    said = reread(recorder, conf, f"[record]\nmax-size = {little}\nsegment = 1s\n", "the limits stay unchanged")
    said += stop(recorder)
    wrongs += expect(
        "a reload that would remove most segments changes nothing and says why",
        "that would at once remove" in said and limits(store)[0] == 50000000 and sealed(store) > there,
        said,
        limits(store),
    )
    there = sealed(store)
    settings = perftape("record", "-q", "--store", store, "--config", conf, "--duration", "1s")
    wrongs += expect(
        "settings that would remove most segments do not stop a recording; the former limits stay",
        settings.returncode == 0 and "the former limits stay: at most 50.0 MB" in settings.stderr
        and sealed(store) > there,
        settings.returncode,
        settings.stderr,
    )
    forced = perftape("record", "-q", "--store", store, "--config", conf, "--duration", "3s", "--force")
    return wrongs + expect(
        "--force removes segments, and the recorder says how many",
        forced.returncode == 0
        and re.search(r"removed \d+ segments so far to keep the limits, [0-9.]+ [kM]?B, \S+ to \S+", forced.stderr)
        and sum(tape_sizes(store)[:-1]) <= int(little[:-1]),
        forced.returncode,
        forced.stderr,
        little,
        tape_sizes(store),
    )


OF_HOST = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /var/lib && mv "$0" /var/lib/perftape && exec "$@"')


@live.test()
def test_store_of_host(folder):
    """A message tells a user who may not read the host's store. A user of its group reads it without --store."""
    program, wrongs = folder / "program", []
    folder.chmod(0o755)
    shutil.copy(PERFTAPE, program)
    program.chmod(0o755)
    for group, code, text in (
        (NOBODY, 1, "this host records into /var/lib/perftape; only root may read it"),
        (0, 0, "/var/lib/perftape"),
    ):
        store = folder / f"store {group}"
        of_group = [] if code else ["--group", "root"]
        perftape("record", "--store", store, "--duration", "300ms", *of_group)
        done = subprocess.run(
            [*OF_HOST, store, "setpriv", "--reuid", str(NOBODY), "--regid", str(group), "--clear-groups"]
            + ["env", "-i", "HOME=/nonexistent", program, "status"],
            capture_output=True,
            text=True,
            timeout=WAIT,
        )
        wrongs += expect(
            f"status of a user in group {group} ends with {code} and says {text}",
            done.returncode == code and text in done.stdout + done.stderr,
            done.returncode,
            done.stdout,
            done.stderr,
        )
    return wrongs


@live.test()
def test_settings(folder):
    """Options beat the environment, which beats the file. The example file works, and mistakes are named."""
    conf, wrongs = folder / "settings.conf", []
    conf.write_text(
        f"# what\nstore = {folder}/from#file # comment\nquiet = yes #\n\n[record] # one\nduration=300ms\n segment = 1s\n"
    )
    done = perftape("record", "--config", conf)
    wrongs += expect(
        "a recording as the file says, in silence",
        sealed(folder / "from#file") >= 1 and not done.stderr,
        done.returncode,
        done.stderr,
    )
    environment = os.environ | {"PERFTAPE_CONFIG": str(conf), "PERFTAPE_STORE": str(folder / "from environment")}
    done = perftape("record", env=environment)
    wrongs += expect(
        "the environment counts before the file", sealed(folder / "from environment") >= 1, done.returncode, done.stderr
    )
    done = perftape("record", "--store", folder / "from option", env=environment)
    wrongs += expect(
        "an option counts before the environment", sealed(folder / "from option") >= 1, done.returncode, done.stderr
    )
    example = (tap.TREE / "packaging" / "perftape.conf").read_text()
    # what this machine has: a CPU, and a user, a group and folders that the package would make
    example = example.replace("cpus = 0-3,8", "cpus = 0")
    example = re.sub(r"^#(user|group) = perftape$", r"#\1 = root", example, flags=re.MULTILINE)
    example = re.sub(r" = (?:/var/spool|/run)/perftape", f" = {folder}", example)
    for text in (example, re.sub(r"^#(?=[a-z-]+ = )", "", example, flags=re.MULTILINE)):
        conf.write_text(text)
        done = perftape("record", "--config", conf, "--store", folder / "example", "--duration", "300ms")
        wrongs += expect("a recording with the example", done.returncode == 0, done.returncode, done.stderr)
    for text, message in (
        ("frequency = 5", ":1: 'frequency' is a setting of record; write it after a line [record]"),
        ("\n[recorder]", ":2: unknown section [recorder]"),
        ("[record\n", ":1: '[record' does not end in ]"),
        ("utc = maybe", ":1: utc is yes or no, not 'maybe'"),
        ("help = yes", ":1: unknown setting 'help'"),
        ("[record]\nforce = yes", ":2: unknown setting 'force'"),
        ("[record]\nmax-size = 20", ":2: max-size '20': size needs a unit, as 20G"),
        ("[record]\nring =", ":2: ring needs a value: SIZE"),
        ("[record]\nring", ":2: 'ring' is not a setting; write name = value"),
        ("[record]\nring = 1 Z", ":2: ring '1 Z' is not a size"),
    ):
        conf.write_text(text)
        done = perftape("record", "--config", conf, "--store", folder / "never")
        wrongs += expect(
            f"one line and exit code 2 for {text!r}: {message}",
            done.returncode == 2 and f"{conf}{message}" in done.stderr and done.stderr.count("\n") == 1,
            done.returncode,
            done.stderr,
        )
    done = perftape("status", "--config", folder / "not there")
    return wrongs + expect(
        "exit code 2 for a file that is not there",
        done.returncode == 2 and "not there: the file does not exist; give --config another file" in done.stderr,
        done.returncode,
        done.stderr,
    )


@live.test()
def test_service(folder):
    """A recorder tells a service manager, by path or abstract name, that it is ready, alive, reloading, stopping."""
    wrongs = []
    for name in (str(folder / "notify"), f"@perftape-test-{os.getpid()}"):
        manager, store = Manager(name), folder / f"service {name[0] == '@'}"
        recorder = start(store, "-q", env=os.environ | {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000000"})
        for text in ("READY=1", "STATUS=", "WATCHDOG=1"):
            wrongs += expect(f"{name}: {text}", manager.hear(text), manager.said)
        manager.said.clear()
        wrongs += expect(f"{name}: WATCHDOG=1 again", manager.hear("WATCHDOG=1"), manager.said)
        manager.said.clear()
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        recorder.send_signal(signal.SIGHUP)
        wrongs += expect(f"{name}: READY=1 after SIGHUP", manager.hear("READY=1"), manager.said)
        stamps = [int(line.split("=")[1]) for line in manager.said if line.startswith("MONOTONIC_USEC=")]
        wrongs += expect(
            f"{name}: RELOADING=1, with a time from {before} on",
            "RELOADING=1" in manager.said and len(stamps) == 1 and before <= stamps[0],
            manager.said,
        )
        said = stop(recorder)
        wrongs += expect(f"{name}: STOPPING=1", manager.hear("STOPPING=1"), manager.said)
        wrongs += expect(f"{name}: exit code 0", recorder.returncode == 0, recorder.returncode, said)
    recorder = start(
        folder / "nobody", "--duration", "300ms", env=os.environ | {"NOTIFY_SOCKET": str(folder / "nowhere")}
    )
    _, said = recorder.communicate(timeout=WAIT)
    return wrongs + expect("exit code 0 if nobody has the socket", recorder.returncode == 0, recorder.returncode, said)


def capabilities(pid):
    """The numbers of the capabilities that a process may have or has, and its user."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    bits = {int(re.search(rf"^{name}:\s+([0-9a-f]+)", text, re.MULTILINE)[1], 16) for name in ("CapPrm", "CapEff")}
    uid = int(re.search(r"^Uid:\s+(\d+)", text, re.MULTILINE)[1])
    return {number for number in range(64) if any(some >> number & 1 for some in bits)}, uid


@contextlib.contextmanager
def reader():
    """A process that is in the kernel nearly all the time, in functions that are known."""
    process = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        beside_perf.stop([process])


def is_sampled(pid):
    """Waits until a process has had the CPU for the time of 20 samples."""
    begun = beside_perf.cpu_seconds(pid)
    return wait_for(lambda: beside_perf.cpu_seconds(pid) - begun > 20 / beside_perf.FREQUENCY)


def kernel_is_named(store):
    folded = perftape("query", "--store", store, "--from", "now-5m", "--comm", "dd", "--format", "folded").stdout
    return expect(
        "names of the kernel's functions in the samples of dd",
        re.search(r"[;\s](vfs_read|ksys_read|do_syscall_64)", folded),
        folded[:500],
    )


def lacking(told):
    """The features that a recorder lacks because of its rights or the kernel's age.

    A machine that cannot count cycles samples something else; only a recorder that began as root mounts tracefs.
    """
    missing = set(filter(None, told["lacks"].split(",")))
    if not any(map(os.path.exists, TRACEFS)):
        missing -= {"tracefs"}
    agrees = ("cycles" in missing) == (told["event"] != "cycles")
    return (missing - {"cycles"}) | (set() if agrees else {"cycles and another event"})


@live.test(promise="`record --user NAME` drops root", broken_by="keep-root")
def test_user(folder):
    """With --user, a recorder keeps only the rights that sampling needs, and its files belong to the user."""
    folder.chmod(0o755)
    store = folder / "user"
    with reader() as pid:
        recorder = start(store, "--user", "nobody")
        wrongs = has_reported(store)
        kept, uid = capabilities(recorder.pid)
        wrongs += expect(f"the recorder runs as nobody, {NOBODY}", uid == NOBODY, uid)
        wrongs += expect(f"it keeps the capabilities that sampling needs: {KEPT}", kept == KEPT, kept)
        if wrongs:
            return wrongs
        is_sampled(pid)
        told = progress(store)
        # The recorder looked for trace events while it was root.
        wrongs += expect(
            "it lacks nothing, also no trace events", not lacking(told) and "tracefs" not in told["lacks"], told
        )
        said = stop(recorder)
    wrongs += expect("exit code 0", recorder.returncode == 0, recorder.returncode, said)
    owners = {path.stat().st_uid for path in [store, *store.rglob("*")]}
    wrongs += expect(f"all files in its store belong to {NOBODY}", owners == {NOBODY}, owners)
    wrongs += kernel_is_named(store)
    done = perftape("record", "--store", folder / "never", "--user", "no-such-user")
    wrongs += expect(
        "an unknown user is refused before there is a store",
        (done.returncode, done.stderr) == (1, "perftape: user 'no-such-user' does not exist\n")
        and not (folder / "never").exists(),
        done.returncode,
        done.stderr,
    )
    done = perftape("record", "--store", folder / "by number", "--user", str(NOBODY), "--duration", "300ms")
    wrongs += expect(
        "a number is a user, too",
        done.returncode == 0 and (folder / "by number").stat().st_uid == NOBODY,
        done.returncode,
        done.stderr,
    )
    wrongs += expect("nobody else could read the new folder", "could read" not in done.stderr, done.stderr)
    closed = folder / "closed"
    closed.mkdir(0o700)
    done = perftape("record", "--store", closed / "above" / "store", "--user", "nobody")
    wrongs += expect(
        "one line about a folder that the user may not enter",
        done.returncode == 1
        and f"may not enter {closed}, " in done.stderr
        and done.stderr.count("\n") == 1
        and not any(closed.iterdir()),
        done.returncode,
        done.stderr,
    )
    shared = folder / "of a group"
    for words in (("--group", "adm"), ("--group", "adm"), ()):
        done = perftape("record", "--store", shared, "--user", "nobody", "--duration", "300ms", *words)
        wrongs += expect(
            "it records for a group", done.returncode == 0 and "could read" not in done.stderr, done.stderr
        )
    group = grp.getgrnam("adm").gr_gid
    wrongs += expect(
        "all files are for the group of a user that is not in it",
        all_files(shared) == ({(NOBODY, group, "0o640")}, {(NOBODY, group, "0o2750")}),
        *all_files(shared),
    )
    perftape("record", "--store", folder / "of root", "--duration", "300ms")
    done = perftape("record", "--store", folder / "of root", "--user", "nobody")
    return wrongs + expect(
        "one line about a store of root's, with chown",
        done.returncode == 1 and "chown" in done.stderr and done.stderr.count("\n") == 1,
        done.returncode,
        done.stderr,
    )


def record_unnamed(store, folder, *words):
    """Records, as nobody, a program without names. Returns what is wrong, and the folder of its debug file."""
    program, names, debug = folder / "unnamed", folder / "names", folder / "debug"
    subprocess.run(["strip", "-o", program, LOAD], check=True)
    program.chmod(0o755)
    subprocess.run(["objcopy", "--only-keep-debug", LOAD, names], check=True)
    notes = subprocess.run(["readelf", "-n", LOAD], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    place = debug / ".build-id" / build_id[:2]
    place.mkdir(parents=True)
    recorder = start(store, "--user", "nobody", *words)
    loads = beside_perf.start_load(program, [min(os.sched_getaffinity(0))])
    is_there = wait_for(lambda: len(times_of(store, "--from", "now-5m", "--comm", "unnamed")) >= 50)
    beside_perf.stop(loads)
    said = stop(recorder)
    names.rename(place / f"{build_id[2:]}.debug")
    return expect("50 samples without names", is_there and recorder.returncode == 0, said), debug


def all_files(store):
    """{(owner, group, mode of files)}, {(owner, group, mode of folders)} of all of a store but its lock."""
    paths = [store, *(path for path in store.rglob("*") if not path.name.endswith("lock"))]
    return tuple(
        {
            (about.st_uid, about.st_gid, oct(about.st_mode & 0o7777))
            for about in (path.stat() for path in paths if path.is_dir() == is_folder)
        }
        for is_folder in (False, True)
    )


def root_writes(folder, store, debug):
    """All commands with which root writes into a store, each with the text that it must print."""
    data, log = folder / "perf.data", folder / "log"
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-o", data, "sleep", "0.3"], check=True, capture_output=True)
    hung = "host kernel: INFO: task a:1 blocked for more than 120 seconds."
    log.write_text(f"{time.strftime('%FT%T+00:00', time.gmtime())} {hung}\n")
    for path in (data, log):
        path.chmod(0o600)
    return (
        (("vacuum", "--max-size", "1G"), "removed"),
        (("verify", "--rebuild"), "rebuilt"),
        (("mark", "deploy"), "mark"),
        (("import", data), "samples of"),
        (("incidents", "scan", "--add", log), "added"),
        (("resolve", "--debug-dir", debug), "names gained in"),
    )


@live.test()
def test_root_in_the_store_of_a_user(folder):
    """Root cleans up, repairs and adds to a unit's store, behind a link of /var/lib. Each file keeps owner and mode."""
    folder.chmod(0o755)
    home = folder / "home"
    (home / "private").mkdir(parents=True, mode=0o755)
    (home / "perftape").symlink_to("private/perftape")
    store = home / "private" / "perftape"
    wrongs, debug = record_unnamed(store, folder)
    (home / "private").chmod(0o700)
    inside = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /var/lib && exec "$@"', home]
    for words, text in root_writes(folder, store, debug):
        done = subprocess.run(
            [*inside, PERFTAPE, *map(str, words)], capture_output=True, text=True, check=False, timeout=WAIT
        )
        wrongs += expect(
            f"{words[0]} exits with 0 and says {text!r}",
            done.returncode == 0 and text in done.stdout + done.stderr,
            done.returncode,
            done.stdout,
            done.stderr,
        )
        files, folders = all_files(store)
        group = store.stat().st_gid
        wrongs += expect(
            f"after {words[0]}, all files belong to {NOBODY} alone",
            files == {(NOBODY, group, "0o600")} and folders == {(NOBODY, group, "0o700")},
            files,
            folders,
        )
    return wrongs


@live.test(alone=True, lacks=live.lacking(ONE_CPU.exists(), "a second CPU that can be taken offline"))
def test_user_and_cpus(folder):
    """Without root a recorder still samples a CPU that was offline and comes back."""
    folder.chmod(0o755)
    store = folder / "user"
    recorder = start(store, "--user", "nobody")
    wrongs = has_reported(store)
    cpus = progress(store)["cpus"]
    with live.setting(ONE_CPU, "0"):
        wrongs += expect(
            f"{cpus - 1} CPUs while one is offline",
            wait_for(lambda: progress(store).get("cpus") == cpus - 1),
            progress(store),
        )
    wrongs += expect(
        f"{cpus} CPUs when it is back", wait_for(lambda: progress(store).get("cpus") == cpus), progress(store)
    )
    wrongs += expect("it lacks nothing", not lacking(progress(store)), progress(store))
    said = stop(recorder)
    return wrongs + expect("exit code 0", recorder.returncode == 0, recorder.returncode, said)


def run_with(folder, numbers, bind=None):
    """Records as nobody with a file that has these capabilities, until dd has samples.

    Returns the store, the last report, the text of status, the recorder's messages, and its exit
    code.
    """
    program, home = folder / "program", folder / "home"
    folder.chmod(0o755)
    shutil.copy(PERFTAPE, program)
    program.chmod(0o755)
    bits = sum(1 << number for number in numbers)
    if numbers:
        os.setxattr(program, "security.capability", struct.pack("<5I", 0x02000001, bits & 0xffffffff, 0, bits >> 32, 0))
    home.mkdir(exist_ok=True)
    os.chown(home, NOBODY, NOBODY)
    store = home / f"store {len(numbers)}"
    with reader() as pid:
        recorder = subprocess.Popen(
            [program, "record", "--store", store],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            preexec_fn=bind,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        if wait_for(lambda: progress(store) or recorder.poll() is not None) and recorder.poll() is None:
            is_sampled(pid)
        told, text = progress(store), perftape("status", "--store", store).stdout
        said = stop(recorder)
    return store, told, text, said, recorder.returncode


# In build-dev/ a recorder with fewer rights may end with a report of leaks. In build/ nothing excuses an exit code.
@live.test(also=("build",))
def test_file_capabilities(folder):
    """With file capabilities, a user records. If some are lacking, status says what that costs."""
    store, told, _, said, code = run_with(folder, KEPT)
    wrongs = expect("a recording that lacks nothing", code == 0 and told and not lacking(told), code, told, said)
    wrongs += kernel_is_named(store)
    store, told, text, said, code = run_with(folder, {38, 14})
    # Without the right to read its own environment, the sanitizer does not know that libperf leaks.
    wrongs += expect("a recording all the same", code == 0 or "LeakSanitizer" in said, code, said)
    wrongs += expect(
        "ptrace, map-files and private-files are lacking",
        told and {"ptrace", "map-files", "private-files"} <= lacking(told),
        told,
        said,
    )
    cure = "CAP_DAC_READ_SEARCH would show them" if any(map(os.path.exists, TRACEFS)) else "mount -t tracefs"
    return wrongs + expect(f"status says what would give trace events: {cure}", cure in text, text)


@live.test(alone=True)
def test_no_capability(folder):
    """Without any capability, a recorder names the ones that it needs in one line."""
    with live.setting(PARANOID, "2"):
        _, told, _, said, code = run_with(folder, set())
    return expect(
        "one line about CAP_PERFMON, and exit code 1",
        code == 1 and "CAP_PERFMON" in said and said.count("\n") == 1,
        code,
        told,
        said,
    )


@live.test(alone=True)
def test_little_memory(folder):
    """Without the right to lock memory, the rings fit the limit, and status says what their size costs."""
    # The limit applies to all locked memory of a user, and only this test records as this user.
    with live.setting("/proc/sys/kernel/perf_event_mlock_kb", "516"):
        _, told, text, said, code = run_with(
            folder, KEPT - {14}, lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        )
    wrongs = expect(
        "rings of less than 1 MiB, and ring-size is lacking",
        told and told["ring_bytes"] < 1 << 20 and "ring-size" in lacking(told),
        told,
        said,
    )
    wrongs += expect("status says what that costs", re.search(r"^without +ring-size: ", text, re.MULTILINE), text)
    return wrongs + expect("exit code 0", code == 0, code, said)


if __name__ == "__main__":
    sys.exit(live.main())
