#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The incident of the first users, played on this machine, and what `explain` says of it.

Usage: explained.py PERFTAPE
"""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools"))
import live  # noqa: E402
import rehearsal  # noqa: E402
from recorders import PERFTAPE, expect  # noqa: E402


def certain(answer):
    """What an answer must say however busy the machine was: the incident, and who left the dying cgroups."""
    memory = answer["memory_cgroups"]
    wrongs = expect("the incident", answer["incident"]["kind"] == "ena.tx_stall", answer["incident"])
    wrongs += expect("the dying cgroups", memory["dying"] >= rehearsal.ZOMBIES_BEFORE, memory)
    return wrongs + expect("their creator", rehearsal.CREATOR in (memory["made_by"] or ""), memory)


@live.test(alone=True, lacks=rehearsal.lacks())
def test_rehearsal(folder):
    """kubelet fills a CPU with visits of dying cgroups: explain names both. On a busy machine it names the cgroups."""
    with rehearsal.play(folder, PERFTAPE) as played:
        # other tests write lines of their own into the kernel's log
        answer = rehearsal.explain(PERFTAPE, played, "--line", played.line)
    wrongs = expect("an answer", answer is not None)
    if wrongs:
        return wrongs
    wrongs = certain(answer)
    core = rehearsal.first(answer["cores"])
    comms = [thread["comm"] for thread in core.get("threads", [])]
    named = core.get("cpu") == played.cpu and comms[:1] == [rehearsal.CULPRIT]
    return wrongs + (expect("the culprit comes first", named, played, core) if played.is_fair() else [])


if __name__ == "__main__":
    sys.exit(live.main())
