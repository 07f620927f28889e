#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A user's copy of a program, with its build-id and other names of functions, beside the program itself.

Usage: identity.py PERFTAPE LOAD
"""

import os
import pathlib
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
from recorders import expect, folded, sealed, start_sampling, stop, wait_for  # noqa: E402

LOAD = os.path.abspath(sys.argv[2])
CPU = str(sorted(os.sched_getaffinity(0))[-1])
NOBODY = 65534


@live.test()
def test_copied_build_id(folder):
    """a copy with the same build-id names no function of the program that it imitates"""
    folder.chmod(0o755)
    store, forged, true = folder / "store", folder / "forged", folder / "true"
    shutil.copy(LOAD, true)
    forged.write_bytes(true.read_bytes().replace(b"load_alpha\0", b"evil_alpha\0"))
    forged.chmod(0o755)
    os.chown(forged, NOBODY, NOBODY)
    recorder = start_sampling(store, "--segment", "2s")
    first = subprocess.Popen([forged, CPU], user=NOBODY, group=NOBODY, extra_groups=[])
    wait_for(lambda: "evil_alpha" in folded(store, "--comm", "forged"))
    first.kill()
    first.wait()
    before = sealed(store)
    wait_for(lambda: sealed(store) > before + 1)
    second = subprocess.Popen([true, CPU])
    wait_for(lambda: ";load_" in folded(store, "--comm", "true") or recorder.poll() is not None)
    before = sealed(store)
    wait_for(lambda: sealed(store) > before + 1 or recorder.poll() is not None)
    second.kill()
    second.wait()
    stop(recorder)
    stacks = folded(store, "--comm", "true")
    return expect("its own names", "load_alpha" in stacks, stacks[:300]) + expect(
        "0 names forged", "evil" not in stacks, stacks[:300]
    )


if __name__ == "__main__":
    sys.exit(live.main())
