#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Flame graphs in a real browser: they are drawn, searched, zoomed, walked; nothing is asked of the network,
nothing thrown.

Usage: flamegraph.py PERFTAPE FIXTURE
"""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.dom.minidom

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import chromium  # noqa: E402
import tap  # noqa: E402

GOLDEN = HERE.parent / "golden"
# of what is shown: [name, left edge and width in pixels, shown text, classes]
SHOWN = """frames.filter(f => f.g.style.display !== "none").map(f => {
    const box = f.rect.getBoundingClientRect();
    return [f.name, Math.round(box.left), Math.round(box.width), f.text.textContent, [...f.g.classList].slice(1).join(" ")];
})"""


def place(browser, name):
    """The middle of a frame."""
    return browser.run(
        f"(() => {{ const b = frames.find(f => f.name === {name!r}).rect.getBoundingClientRect(); return [b.left + b.width / 2, b.top + 8]; }})()"
    )


def shown(browser):
    return {name: rest for name, *rest in browser.run(SHOWN)}


def differs(what, got, expected):
    return [] if got == expected else [f"{what}: {got}, not {expected}"]


def check_drawn(browser):
    rows = shown(browser)
    wrongs = differs("frames", len(rows), 10)
    wrongs += differs("all", rows["all"][:2], [0, 1200])
    wrongs += differs("x", rows["x"][:2], [24, 1176])
    wrongs += differs("text", rows["main"][2], "main")
    wrongs += differs("a narrow one's text", rows["[unknown]"][2], "")
    wrongs += differs("the button", browser.run("reset.hidden"), True)
    fills = browser.run("frames.map(f => getComputedStyle(f.rect).fill)")
    wrongs += [] if len(set(fills)) >= 7 else [f"colours: {fills}"]
    return wrongs


def check_details(browser):
    browser.hover(*place(browser, "do_syscall_64"))
    wrongs = differs(
        "under the pointer", browser.run("find('details').textContent"), "do_syscall_64   20 samples, 20.00 %"
    )
    browser.click(*place(browser, "main"))
    browser.hover(*place(browser, "work.isra.0"))
    wrongs += differs(
        "of what is zoomed",
        browser.run("find('details').textContent"),
        "work.isra.0   60 samples, 60.00 %, 61.22 % of what is zoomed",
    )
    browser.run("zoom(all)")
    return wrongs


def check_zoom(browser):
    browser.click(*place(browser, "do_syscall_64"))
    rows = shown(browser)
    wrongs = differs("frames when zoomed", sorted(rows), ["all", "do_syscall_64", "main", "x"])
    wrongs += differs("the zoomed one", rows["do_syscall_64"], [0, 1200, "do_syscall_64", ""])
    wrongs += differs("the one above", rows["main"], [0, 1200, "main", "above"])
    wrongs += differs("the button", browser.run("reset.hidden"), False)
    button = browser.run("(() => { const b = reset.getBoundingClientRect(); return [b.left + 5, b.top + 5]; })()")
    browser.click(*button)
    wrongs += differs("frames after the reset", len(shown(browser)), 10)
    return wrongs + differs("the button after it", browser.run("reset.hidden"), True)


def check_search(browser):
    browser.key("/")
    for letter in "^(work|do_)":
        browser.key(letter)
    found = sorted(name for name, row in shown(browser).items() if "found" in row[3])
    wrongs = differs("found", found, ["do_syscall_64", "work.isra.0"])
    wrongs += differs("matched", browser.run("find('matched').textContent"), "80.00 % matched")
    browser.key("Escape")
    wrongs += differs(
        "after Escape", [browser.run("find('matched').textContent"), browser.run("search.value")], ["", ""]
    )
    # what is in one that matched is counted with it; what is no expression is text
    for text, share in (
        ("main|work", "98.00 % matched"),
        ("(*Man", "2.00 % matched"),
        ("nothing like it", "0.00 % matched"),
    ):
        browser.run(f"look({text!r})")
        wrongs += differs(text, browser.run("find('matched').textContent"), share)
    browser.run("look('')")
    return wrongs


def check_keys(browser):
    wrongs = []
    for key, name in (
        ("ArrowDown", "x"),
        ("ArrowDown", "main"),
        ("ArrowDown", "work.isra.0"),
        ("ArrowLeft", "do_syscall_64"),
        ("ArrowRight", "work.isra.0"),
        ("ArrowUp", "main"),
    ):
        browser.key(key)
        wrongs += differs(key, browser.run("picked.name"), name)
    browser.key("Enter")
    wrongs += differs("Enter", browser.run("zoomed.name"), "main")
    browser.key("Escape")
    return wrongs + differs("Escape", browser.run("zoomed.name"), "all")


def check_resize(browser):
    browser.call("Emulation.setDeviceMetricsOverride", width=600, height=800, deviceScaleFactor=1, mobile=False)
    wrongs = differs("all in a narrow window", shown(browser)["all"][:2], [0, 600])
    browser.call("Emulation.clearDeviceMetricsOverride")
    return wrongs


def check_hostile(browser):
    wrongs = differs("scripts", browser.run("document.querySelectorAll('script').length"), 1)
    names = browser.run("frames.map(f => f.name)")
    for name in (
        "<script>alert(1)</script>",
        "\"'&amp",
        "]]>",
        "a\ufffd\ufffd",
        "\ufffdevil",
        "fn(u32) -> bool",
        "\ufffd\ufffd",
    ):
        wrongs += [] if name in names else [f"no frame {name!r}"]
    title = browser.run("find('title').textContent")
    return wrongs + differs("title", title, "<b>\ufffd[31m&\ufffd")


def make(perftape, folder, name, *words):
    command = [
        perftape,
        "flamegraph",
        "--store",
        f"{folder}/recorded",
        "--at",
        "2025-03-01T12:00:30Z",
        "-q",
        "-o",
        f"{folder}/{name}",
        *words,
    ]
    subprocess.run(command, check=True)
    return pathlib.Path(folder, name)


def check_command(browser, perftape, folder):
    path = make(perftape, folder, "a.svg", "--title", "a & b")
    xml.dom.minidom.parse(str(path))
    browser.open(path)
    wrongs = differs("title", browser.run("find('title').textContent"), "a & b")
    wrongs += differs(
        "frames",
        sorted(shown(browser)),
        sorted(
            [
                "all",
                "kubelet",
                "do_syscall_64",
                "vfs_read",
                "mem_cgroup_nr_lru_pages",
                "swapper/1",
                "cpu_startup_entry",
                "do_idle",
                "native_safe_halt",
            ]
        ),
    )
    packed = make(perftape, folder, "a.svgz", "--title", "a & b").read_bytes()
    wrongs += differs("the packed file", gzip.decompress(packed), path.read_bytes())
    return wrongs + browser.complaints()


def checks(browser, perftape, fixture):
    browser.open(GOLDEN / "usual.svg")
    for check in (check_drawn, check_details, check_zoom, check_search, check_keys, check_resize):
        yield check.__name__.replace("check_", "") + " in a browser", check(browser)
    yield "nothing was thrown or asked of the network", browser.complaints()
    browser.open(GOLDEN / "hostile.svg")
    yield "hostile names in a browser", check_hostile(browser) + browser.complaints()
    with tempfile.TemporaryDirectory(prefix="perftape-flamegraph-") as folder:
        subprocess.run([fixture, f"{folder}/recorded"], check=True)
        yield "what the command writes", check_command(browser, perftape, folder)


def main():
    program = chromium.find()
    if not program:
        print("1..1\nok 1 - flame graphs in a browser # SKIP no Chromium")
        return 0
    browser = chromium.Chromium(program)
    try:
        return tap.run(checks(browser, *map(os.path.abspath, sys.argv[1:3])))
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
