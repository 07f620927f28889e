#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program as the unit packaging/perftape.service confines it, where no systemd runs.

Usage: confine.py STORE COMMAND...      (as root, in a mount namespace of its own)

confine.py takes from the unit the system calls, address families and memory that the unit allows,
capabilities, limits, and the paths that the unit hides or makes read-only. A forbidden system call
kills the program, so that a test notices. STORE stays writable.
"""

import ctypes
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys

UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "perftape.service"
USER = "61337"
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | 1  # refuse with EPERM
TRIED = ("fsopen",)  # the recorder tries to mount tracefs, which only root can
LOAD, EQUAL, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
NUMBER, ARGUMENTS = 0, 16  # offsets in struct seccomp_data
EXEC = 0x4
WRITE_EXEC = 0x2 | EXEC
AF_UNIX = 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def settings(key):
    """The values of all lines KEY= of the unit."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(encoding="utf-8"), re.M)


def group(name):
    """The names of the system calls in a group of systemd."""
    command = ["systemd-analyze", "syscall-filter", name]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [line.strip() for line in text.splitlines()[1:] if not line.strip().startswith("#")]
    return {call for name in names if name for call in (group(name) if name[0] == "@" else {name})}


def numbers():
    """The number of each system call of this machine."""
    text = subprocess.run(
        ["gcc", "-E", "-dM", "-"], input="#include <sys/syscall.h>\n", capture_output=True, text=True, check=True
    ).stdout
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", text, re.M)}


def allowed():
    """The numbers of the system calls that the unit allows."""
    words = " ".join(settings("SystemCallFilter")).split()
    assert not any(word.startswith("~") for word in words), "the unit has a list of what it forbids"
    names = {call for word in words for call in (group(word) if word[0] == "@" else {word})}
    known = numbers()
    return known, sorted(known[name] for name in names if name in known)


def step(code, value, then=0, other=0):
    return struct.pack("<HBBI", code, then, other, value)


def guard(number, rules):
    """Instructions for one system call; all other system calls skip `rules`, and `rules` go on if
    nothing is wrong."""
    return [step(EQUAL, number, 0, len(rules) + 1), *rules, step(LOAD, NUMBER)]


def program():
    """The seccomp filter."""
    known, calls = allowed()
    steps = [step(LOAD, NUMBER)]
    steps += guard(known["socket"], [step(LOAD, ARGUMENTS), step(EQUAL, AF_UNIX, 1, 0), step(RETURN, KILL)])
    for name in ("mmap", "mprotect"):  # MemoryDenyWriteExecute
        writable = [step(AND, WRITE_EXEC), step(EQUAL, WRITE_EXEC, 0, 1)]
        if name == "mprotect":
            writable = [step(ANY_BIT, EXEC, 0, 1)]
        steps += guard(known[name], [step(LOAD, ARGUMENTS + 16), *writable, step(RETURN, KILL)])
    for name in TRIED:
        steps += [step(EQUAL, known[name], 0, 1), step(RETURN, REFUSE)]
    for number in calls:
        steps += [step(EQUAL, number, 0, 1), step(RETURN, ALLOW)]
    return b"".join(steps + [step(RETURN, KILL)])


def forbid():
    code = program()
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(text))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, head, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot set the filter")


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def hide(store):
    """PrivateDevices, ProtectProc, ProtectSystem: what the unit hides, and what it makes read-only."""
    run("mount", "--make-rprivate", "/")
    if not os.path.ismount("/sys/kernel/tracing"):
        run("mount", "-t", "tracefs", "none", "/sys/kernel/tracing")
    run("mount", "-t", "tmpfs", "none", "/mnt")
    for name in ("null", "zero", "full", "random", "urandom", "kmsg"):
        pathlib.Path("/mnt", name).touch()
        run("mount", "--bind", f"/dev/{name}", f"/mnt/{name}")
    run("mount", "--rbind", "/mnt", "/dev")
    run("mount", "-t", "proc", "-o", "hidepid=2", "none", "/proc")
    run("mount", "--bind", store, store)
    for path in ("/", "/sys"):
        run("mount", "-o", "remount,bind,ro", path)


def limit():
    """Sets the unit's limits. Without CAP_SYS_RESOURCE, root cannot raise the limit of locked
    memory. Returns whether root can."""
    files = int(settings("LimitNOFILE")[0])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
    except (OSError, ValueError):
        return False
    return True


def main():
    store = pathlib.Path(sys.argv[1]).resolve()
    os.chown(store, int(USER), int(USER))
    hide(store)
    wanted = settings("AmbientCapabilities")[0].lower().replace("cap_", "+").replace(" ", ",")
    if not limit():
        wanted += ",+ipc_lock"
    rights = [f"--{kind}=-all,{wanted}" for kind in ("inh-caps", "bounding-set")]
    user = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups", f"--ambient-caps={wanted}", "--no-new-privs"]
    os.umask(int(settings("UMask")[0], 8))
    forbid()
    # env starts the program, because setpriv still has root's rights when it starts one
    os.execvp("setpriv", ["setpriv", *user, *rights, "env", *sys.argv[2:]])


if __name__ == "__main__":
    main()
