#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The systemd unit: what systemd says of its exposure, and that it keeps what a recording takes. TAP."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import confine
import tap

EXPOSURE_MAX = 2.2
RIGHTS = {"CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE", "CAP_SYSLOG"}
# each protects, and takes nothing from a recording
SET = {
    "DynamicUser": "yes",
    "User": "perftape",
    "NoNewPrivileges": "yes",
    "UMask": "0077",
    "StateDirectoryMode": "0700",
    "ProtectSystem": "strict",
    "ProtectHome": "read-only",
    "PrivateDevices": "yes",
    "RestrictAddressFamilies": "AF_UNIX",
    "IPAddressDeny": "any",
    "SystemCallArchitectures": "native",
    "MemoryDenyWriteExecute": "yes",
    "RestrictNamespaces": "yes",
    "StartLimitIntervalSec": "0",
    "OOMPolicy": "continue",
    "LimitMEMLOCK": "infinity",
}
BOUNDS = ("MemoryHigh", "MemoryMax", "TasksMax", "OOMScoreAdjust", "WatchdogSec", "TimeoutStopSec")
# each takes something from a recording; the unit says what
NEVER = ("ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset", "PrivateNetwork", "PrivateUsers", "PrivatePIDs")


def wrong_settings():
    wrong = [f"{key}={value}" for key, value in SET.items() if confine.settings(key) != [value]]
    wrong += [f"{key} is not set" for key in BOUNDS if len(confine.settings(key)) != 1]
    return wrong + [f"{key} is set" for key in NEVER if confine.settings(key)]


def wrong_rights():
    kinds = ("AmbientCapabilities", "CapabilityBoundingSet")
    sets = [set(" ".join(confine.settings(kind)).split()) for kind in kinds]
    return [] if sets == [RIGHTS, RIGHTS] else [tap.wrong(sorted(RIGHTS), sets)]


def exposure():
    """systemd's own figure, from 0 (safe) to 10."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", confine.UNIT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    if not found:
        return [tap.wrong("an exposure level", done.stdout + done.stderr)]
    return [] if float(found[1]) <= EXPOSURE_MAX else [tap.wrong(f"at most {EXPOSURE_MAX}", found[1])]


def main():
    able = tap.has("systemd-analyze")
    return tap.run(
        [
            ("the unit protects, and hides nothing that a recording takes", wrong_settings()),
            ("the unit has the rights that a recording takes, and no other", wrong_rights()),
            (
                f"systemd's exposure level is at most {EXPOSURE_MAX}" + ("" if able else " # SKIP it takes systemd"),
                exposure() if able else [],
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
