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


def shared_names(answer):
    """The names of all rows that incidents share."""
    return [row["name"] for trait in answer["traits"] for row in (trait["lead"], *trait["same_incidents"])]


def what_is_shared(store, kind, culprit, plays):
    """The incidents of a kind are all there. If the culprit had its CPU each time, they share it."""
    answer = rehearsal.explain_all(PERFTAPE, store, "--kind", kind)
    wrongs = expect("an answer", answer is not None)
    if wrongs:
        return wrongs
    wrongs = expect(f"{len(plays)} incidents of {kind}", answer["incidents"] >= len(plays), answer["incidents"])
    wrongs += expect("each has controls", answer["compared"] >= len(plays), answer["compared"], answer["controls"])
    if any(play.share < 0.9 for play in plays):
        return wrongs
    return wrongs + expect(f"they share {culprit}", culprit in shared_names(answer), answer["traits"], plays)


@live.test(alone=True, long=True, lacks=rehearsal.lacks())
def test_night(folder):
    """Six incidents of two kinds in ten minutes: explain --all names what each kind has in common."""
    with rehearsal.night(folder, PERFTAPE) as (store, plays):
        wrongs = what_is_shared(store, "ena", rehearsal.CULPRIT, plays[::2])
        return wrongs + what_is_shared(store, "nvme", rehearsal.OTHER_CULPRIT, plays[1::2])


if __name__ == "__main__":
    sys.exit(live.main())
