#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Attacks by root in a user's container, with FUSE, overlay, bind mounts and its own /tmp, beside a
recorder.

Usage: container.py PERFTAPE LOAD
       container.py --inside FOLDER SECRET     as the root of the container
"""

import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
NOBODY = "65534"
CPU = str(sorted(os.sched_getaffinity(0))[0])
SECRET = "secret_words"
PYTHON = shutil.which("python3", path="/usr/bin:/bin")  # user nobody may not enter root's home
FUSE, OVERLAY, DETACHED = "on-fuse", "on-overlay", "on-detached"
PIPE, OTHER, MAPPED = "under-pipe", "under-file", "with-map"


# Inside


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def start(program, folder, name, **more):
    """Starts the program through a link, so that it has the name that the test looks for."""
    link = folder / name
    link.symlink_to(program)
    return subprocess.Popen([link, CPU], **more)


def attempt(what, attack):
    """Runs an attack. Some kernels refuse some of the attacks to users."""
    try:
        attack()
        print(what, flush=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"# {what}: {error}", file=sys.stderr, flush=True)


def inside(folder, secret):
    """Starts all attacks, prints the names of those that run, and stops the FUSE server when the test says so."""
    import dead_fuse  # dead_fuse.mounted() gives this process its own mounts

    program = folder / "program"
    with contextlib.ExitStack() as stack:
        servers = []

        def on_fuse():
            (folder / "fuse").mkdir()
            servers.append(stack.enter_context(dead_fuse.mounted(folder / "fuse", program)))
            start(folder / "fuse" / "program", folder, FUSE)

        def on_overlay():
            for name in ("upper", "work", "merged"):
                (folder / name).mkdir()
            places = f"lowerdir={folder}/fuse,upperdir={folder}/upper,workdir={folder}/work"
            mount("-t", "overlay", "overlay", "-o", places, folder / "merged")
            start(folder / "merged" / "program", folder, OVERLAY)

        def on_detached():
            place = folder / "detached"
            place.mkdir()
            servers.append(stack.enter_context(dead_fuse.mounted(place, program)))
            start(place / "program", folder, DETACHED)
            # no list of mounts has this file system any more, but the process still maps the program
            subprocess.run(["umount", "-l", place], check=True)

        def under(what, name):
            def attack():
                place = folder / name
                shutil.copy(program, place)
                subprocess.Popen([place, CPU])
                what(folder / f"{name}-other")
                mount("--bind", folder / f"{name}-other", place)

            return attack

        def with_map():
            mount("-t", "tmpfs", "none", "/tmp")
            process = start(f"/proc/self/fd/{kept}", pathlib.Path("/tmp"), MAPPED, pass_fds=(kept,))
            os.symlink(secret, f"/tmp/perf-{process.pid}.map")

        def another(path):
            path.write_bytes(pathlib.Path("/proc/self/mountinfo").read_bytes())

        def own_device():
            """Many hosts let every user open /dev/fuse. Where this host does not, the container gets a device."""
            if not os.access("/dev/fuse", os.R_OK | os.W_OK) and (folder / "fuse-device").exists():
                subprocess.run(["mount", "--bind", folder / "fuse-device", "/dev/fuse"], check=False)

        kept = os.open(program, os.O_RDONLY)
        own_device()
        attempt(FUSE, on_fuse)
        attempt(OVERLAY, on_overlay)
        attempt(DETACHED, on_detached)
        attempt(PIPE, under(os.mkfifo, PIPE))
        attempt(OTHER, under(another, OTHER))
        attempt(MAPPED, with_map)
        print("ready", flush=True)
        sys.stdin.readline()
        for server in servers:
            os.kill(server.pid, signal.SIGSTOP)
        print("dead", flush=True)
        sys.stdin.readline()


if sys.argv[1] == "--inside":
    inside(pathlib.Path(sys.argv[2]), sys.argv[3])
    sys.exit(0)

import live  # noqa: E402
from recorders import expect, folded, perftape, sealed, start_sampling, stop, times_of, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])


class Container:
    def __init__(self, folder, secret):
        place = folder / "container"
        place.mkdir()
        shutil.copy(LOAD, place / "program")
        with contextlib.suppress(OSError):  # a host may have no FUSE, and forbid devices
            os.mknod(place / "fuse-device", stat.S_IFCHR | 0o600, os.stat("/dev/fuse").st_rdev)
        for path in (place, *place.iterdir()):
            os.chown(path, int(NOBODY), int(NOBODY))
        tools = shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("corpus", "golden"))
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        words += ["unshare", "-Urmpf", "--mount-proc", "--kill-child", PYTHON]
        words += [tools / "attacks" / "container.py", "--inside", place, secret]
        self.process = subprocess.Popen(
            list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        self.names = []
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            self.names.append(line.strip())

    def die(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.kill()
        self.process.wait()


@live.test(lacks=live.lacking(PYTHON, "a python3 in /usr/bin"))
def test_root(folder):
    """root of a container with dead file systems delays no segment, and reads no file of the host's root"""
    folder.chmod(0o755)
    store, bystander = folder / "store", folder / "bystander"
    shutil.copy(LOAD, bystander)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        secret = pathlib.Path(home) / "secret"
        secret.write_text(f"0 7fffffffffff {SECRET}\n")
        secret.chmod(0o600)
        os.chmod(home, 0o755)
        recorder = start_sampling(store, "--segment", "2s", "-F", "199")
        container = Container(folder, secret)
        print(f"# attacks: {' '.join(container.names)}", flush=True)
        try:
            wrong = expect("at least 3 attacks run", len(container.names) >= 3, container.names)
            sampled = lambda name: times_of(store, "--from", "now-2m", "--comm", name)  # noqa: E731
            wrong += expect("each is sampled", wait_for(lambda: all(map(sampled, container.names))))
            wrong += expect("the file systems die", container.die() == "dead")
            process = subprocess.Popen([bystander, CPU])
            before = sealed(store)
            wrong += expect("3 more segments are sealed", wait_for(lambda: sealed(store) >= before + 3), before)
            named = wait_for(lambda: "load_" in folded(store, "--comm", "bystander"))
            wrong += expect("the bystander has names", named)
            begun = time.monotonic()
            answer = perftape("top", "--store", store, "--from", "now-1m")
            wrong += expect("a reader answers", answer.returncode == 0, answer.stderr, time.monotonic() - begun)
            said = stop(recorder)
            process.kill()
            process.wait()
        finally:
            container.close()
    text = folded(store)
    wrong += expect("record ends with 0, and loses nothing", recorder.returncode == 0 and " 0 lost" in said, said)
    return wrong + expect("0 names forged, 0 bytes read", SECRET not in text, text[:300])


if __name__ == "__main__":
    sys.exit(live.main())
