#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Flame graphs in a real browser: they are drawn, searched, zoomed and walked, also with keys, from a link, in the dark
and without their script. They ask nothing of the network, and throw no error.

Usage: flamegraph.py PERFTAPE FIXTURE
"""

import gzip
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import chromium  # noqa: E402
import colours  # noqa: E402
import tap  # noqa: E402

GOLDEN = HERE.parent / "golden"
# each visible frame: [name, left edge and width in pixels, shown text, classes]
SHOWN = """frames.filter(f => f.g.style.display !== "none").map(f => {
    const box = f.rect.getBoundingClientRect();
    return [f.name, Math.round(box.left), Math.round(box.width), f.text.textContent, [...f.g.classList].slice(1).join(" ")];
})"""


def middle(browser, element):
    return browser.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])(({element}).getBoundingClientRect())")


def place(browser, name):
    """The middle of a frame."""
    return middle(browser, f"frames.find(f => f.name === {name!r}).rect")


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
        "under the pointer", browser.run("find('details').textContent"), "do_syscall_64   20 samples, 20.0 %, kernel"
    )
    browser.click(*place(browser, "main"))
    browser.hover(*place(browser, "work.isra.0"))
    wrongs += differs(
        "details of the zoomed frame",
        browser.run("find('details').textContent"),
        "work.isra.0   60 samples, 60.0 %, program, 61.2 % of what is zoomed",
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
    wrongs += differs("matched", browser.run("find('matched').textContent"), "80.0 % matched")
    browser.key("Escape")
    wrongs += differs(
        "after Escape", [browser.run("find('matched').textContent"), browser.run("search.value")], ["", ""]
    )
    # a matching frame counts with all frames above it; a text that is not a valid expression matches literally
    for text, share in (
        ("main|work", "98.0 % matched"),
        ("(*Man", "2.0 % matched"),
        ("nothing like it", "0.0 % matched"),
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


def details(browser):
    return browser.run("find('details').textContent")


def matched(browser):
    return browser.run("find('matched').textContent")


def check_hits(browser):
    """Walks n and N from hit to hit, around the end, and zooms out to a hit that is not in the picture."""
    browser.key("/")
    for letter in "^(work|do_|x$)":
        browser.key(letter)
    browser.key("Enter")
    wrongs = differs(
        "the first hit", [browser.run("picked.name"), matched(browser)], ["x", "hit 1 of 3, 98.0 % matched"]
    )
    for key, name, hit in (
        ("n", "work.isra.0", "hit 2 of 3, 98.0 % matched"),
        ("n", "do_syscall_64", "hit 3 of 3, 98.0 % matched"),
        ("n", "x", "hit 1 of 3, 98.0 % matched"),
        ("N", "do_syscall_64", "hit 3 of 3, 98.0 % matched"),
    ):
        browser.key(key)
        wrongs += differs(key, [browser.run("picked.name"), matched(browser)], [name, hit])
    browser.run("zoom(picked)")
    browser.key("N")
    wrongs += differs(
        "zoomed for a hit", [browser.run("picked.name"), browser.run("zoomed.name")], ["work.isra.0", "all"]
    )
    browser.run("look('nothing like it')")
    browser.key("n")
    wrongs += differs("without a hit", browser.run("picked.name"), "work.isra.0")
    browser.run("look('')")
    return wrongs


def check_help(browser):
    shown = "getComputedStyle(find('help')).display !== 'none'"
    wrongs = differs("the help at first", browser.run(shown), False)
    browser.key("?")
    wrongs += differs("the help after ?", browser.run(shown), True)
    text = browser.run("find('help').textContent")
    wrongs += [f"the help lacks {key!r}: {text}" for key in ("/", "n, N", "Escape", "Home", "?") if key not in text]
    # the whole text of the help is inside its box, and the box inside its area
    box = "(e => { const b = e.getBoundingClientRect(); return [b.top, b.left, b.bottom, b.right]; })"
    outer, inner = (browser.run(f"{box}({what})") for what in ("find('help')", "find('help').firstElementChild"))
    fits = inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]
    wrongs += [] if fits else [f"the help is cut off: {inner} in {outer}"]
    last = browser.run(f"find('help').contains(document.elementFromPoint({inner[3] - 20}, {inner[2] - 3}))")
    wrongs += differs("the help's last line is in the picture", last, True)
    browser.key("Escape")
    wrongs += differs("the help after Escape", browser.run(shown), False)
    browser.click(*middle(browser, "find('keys')"))
    wrongs += differs("the help after a click", browser.run(shown), True)
    browser.key("Escape")
    return wrongs


def state(browser):
    """The state that a link restores, and what the page shows of this state."""
    return browser.run("[zoomed.name, term, search.value, find('matched').textContent]")


def check_link(browser):
    """Opens the address of a picture with a zoom and a search, and goes back through the zooms."""
    path = GOLDEN / "usual.svg"
    browser.open(path)
    wrongs = differs("the address at first", browser.run("location.hash"), "")
    browser.click(*place(browser, "main"))
    browser.click(*place(browser, "do_syscall_64"))
    browser.run("look('^do_|a&b=c#d|100 %')")
    seen, link = state(browser), browser.run("location.href")
    wrongs += differs("before", seen, ["do_syscall_64", "^do_|a&b=c#d|100 %", "", "20.0 % matched"])
    seen[2] = seen[1]
    browser.open("/dev/null")
    browser.open(path, link.partition("#")[2])
    wrongs += differs("from the link", state(browser), seen)
    browser.open(path)
    browser.click(*place(browser, "main"))
    browser.click(*place(browser, "do_syscall_64"))
    for name in ("main", "all"):
        browser.back()
        wrongs += differs("back", browser.run("zoomed.name"), name)
    # an address that was typed, or that belongs to another picture
    for fragment in ("zoom=99,99", "zoom=x", "search=%", "zoom=__proto__&search=((", "%00%ff"):
        browser.open("/dev/null")
        browser.open(path, fragment)
        wrongs += differs(fragment, [browser.run("zoomed.name"), len(shown(browser))], ["all", 10])
    return wrongs + browser.complaints()


def check_roles(browser):
    """Checks what a screen reader gets, and the keyboard's focus."""
    browser.open(GOLDEN / "usual.svg")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    rows = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node.get("ignored")]
    items = [name for role, name in rows if role == "treeitem"]
    wrongs = differs("functions read aloud", len(items), 10)
    wrongs += [] if "main 98 samples, 98.0 %, program" in items else [f"names read aloud: {items}"]
    wrongs += [
        f"no {row}"
        for row in (("tree", "functions, each above what it calls"), ("searchbox", "search"))
        if row not in rows
    ]
    wrongs += differs(
        "document",
        browser.run("[document.title, root.getAttribute('lang'), root.firstElementChild.localName]"),
        ["CPU stacks", "en", "title"],
    )
    wrongs += differs(
        "levels", browser.run("frames.slice(0, 3).map(f => f.g.getAttribute('aria-level'))"), ["1", "2", "3"]
    )
    browser.run("all.g.focus()")
    wrongs += differs("the focused one", details(browser), "all   100 samples, 100 %")
    for _ in range(2):
        browser.key("ArrowDown")
    wrongs += differs("focus after two keys", browser.run("byGroup.get(document.activeElement).name"), "main")
    wrongs += differs("what Tab stops at", browser.run("[...area.querySelectorAll('[tabindex]')].length"), 1)
    wrongs += differs("its frame", browser.run("getComputedStyle(picked.rect).strokeWidth"), "2.5px")
    return wrongs


FILLS = """(() => {
    const g = frames[4].g, before = g.getAttribute("class"), rows = {};
    for (const kind of "ackpgjvu")
        for (const shade of "0123")
            for (const state of ["", " above", " found", " picked"]) {
                g.setAttribute("class", kind + shade + state);
                const rect = getComputedStyle(g.children[1]), text = getComputedStyle(g.children[2]);
                rows[kind + shade + state] = [rect.fill, rect.fillOpacity, text.fill];
            }
    for (const step of "0123456")
        for (const state of ["", " above", " found", " picked"]) {
            g.setAttribute("class", "d" + step + state);
            const rect = getComputedStyle(g.children[1]), text = getComputedStyle(g.children[2]);
            rows["d" + step + state] = [rect.fill, rect.fillOpacity, text.fill];
        }
    g.setAttribute("class", before);
    return rows;
})()"""


def rgb(text):
    return [int(part) for part in re.findall(r"\d+", text)[:3]]


def check_text(browser, ground, searched):
    wrongs = []
    browser.run(f"area.classList.toggle('searched', {str(searched).lower()})")
    for name, (fill, opacity, text) in browser.run(FILLS).items():
        ratio = colours.contrast(rgb(text), colours.over(rgb(fill), float(opacity), ground))
        wrongs += [] if ratio >= 4.5 else [f"text on {name}, searched {searched}: {ratio:.2f}"]
    browser.run("area.classList.remove('searched')")
    return wrongs


def check_kinds(browser):
    """The kinds of code differ in lightness by a quarter. Grey kinds differ in lightness or in colour."""
    fills = browser.run(FILLS)
    wrongs = []
    for one, other in itertools.combinations("kpgjvcu", 2):
        pairs = [(rgb(fills[one + a][0]), rgb(fills[other + b][0])) for a in "0123" for b in "0123"]
        ratio = min(colours.contrast(*pair) for pair in pairs)
        seen = min(colours.distance(*pair, vision) for pair in pairs for vision in colours.VISIONS)
        if ratio < (1.2 if other in "cu" else 1.25) and (other not in "cu" or seen < 15):
            wrongs.append(f"{one} and {other}: contrast {ratio:.2f}, distance {seen:.0f}")
    return wrongs


def check_steps(browser):
    """Less, the same and more of a differential graph differ for everybody, and so do neighbouring steps."""
    fills = {step: rgb(browser.run(FILLS)[f"d{step}"][0]) for step in range(7)}
    wrongs = []
    for one, other in itertools.combinations(fills, 2):
        seen = min(colours.distance(fills[one], fills[other], vision) for vision in colours.VISIONS)
        if seen < (10 if other - one == 1 else 15):
            wrongs.append(f"steps {one} and {other}: distance {seen:.0f}")
    return wrongs


def check_colours(browser):
    wrongs, grounds = [], []
    browser.open(GOLDEN / "usual.svg")
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        ground = rgb(browser.run("getComputedStyle(find('ground')).fill"))
        grounds.append(colours.luminance(ground))
        wrongs += [
            f"{scheme}: {wrong}" for searched in (False, True) for wrong in check_text(browser, ground, searched)
        ]
        wrongs += [f"{scheme}: {wrong}" for wrong in check_kinds(browser) + check_steps(browser)]
        for what in ("#title", ".head"):
            text = rgb(browser.run(f"getComputedStyle(root.querySelector({what!r})).fill"))
            ratio = colours.contrast(text, ground)
            wrongs += [] if ratio >= 4.5 else [f"{scheme}: {what} on the ground: {ratio:.2f}"]
    browser.call("Emulation.setEmulatedMedia", features=[])
    light = grounds[0] > 0.9 and grounds[1] < 0.05
    return wrongs + ([] if light else [f"the grounds of light and dark: {grounds}"])


def height(browser):
    return browser.run("root.getBoundingClientRect().height")


def check_folded(browser):
    """The rows of a broken stack with 127 frames and one sample appear only when the stack is zoomed."""
    browser.open(GOLDEN / "folded-rows.svg")
    folded = "find('folded').textContent"
    low = height(browser)
    wrongs = [] if low < 250 else [f"the picture is {low} high"]
    wrongs += differs(
        "the note", browser.run(folded), "125 more rows, of frames narrower than a pixel: zoom in to see them"
    )
    wrongs += differs("rows", browser.run("new Set(frames.filter(shown).map(f => f.y)).size"), 4)
    browser.run("zoom(frames.find(f => f.name === 'junk'))")
    wrongs += [] if height(browser) > 2000 else [f"zoomed, the picture is {height(browser)} high"]
    wrongs += differs("the note when zoomed", browser.run(folded), "")
    wrongs += differs("frames when zoomed", browser.run("frames.filter(shown).length"), 129)
    browser.key("Home")
    wrongs += differs("the height after it", height(browser), low)
    # a hit in a folded row
    browser.run("look('junk')")
    for _ in range(3):
        browser.key("n")
    wrongs += differs(
        "the third hit is shown",
        browser.run("[shown(picked), picked.rect.getBoundingClientRect().width > 10]"),
        [True, True],
    )
    return wrongs + browser.complaints()


def check_reversed(browser):
    browser.open(GOLDEN / "reversed.svg")
    rows = shown(browser)
    wrongs = differs(
        "under all",
        browser.run("frames.filter(f => f.y === all.y + ROW).map(f => f.name).sort()"),
        [
            "Lorg/Main;::run",
            "[unknown]",
            "clock_gettime",
            "do_syscall_64",
            "k8s.io/cadvisor.(*Manager).run",
            "main",
            "work.isra.0",
        ],
    )
    wrongs += differs("work", rows["work.isra.0"][1], 720)
    callers = "frames.filter(f => holds(frames.find(f => f.name === 'work.isra.0'), f)).map(f => f.name)"
    wrongs += differs("callers", browser.run(callers), ["work.isra.0", "main", "x"])
    legend = browser.run("root.textContent.includes('below a function: its callers')")
    return wrongs + differs("the legend says it", legend, True) + browser.complaints()


def check_scriptless(browser):
    """Without its script, the picture is complete: no row is folded, and the useless search field is hidden."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(GOLDEN / "folded-rows.svg")
        drawn = browser.run(
            "[...document.querySelectorAll('#frames g')].filter(g => getComputedStyle(g).display !== 'none').length"
        )
        boxes = browser.run(
            "[...document.querySelectorAll('foreignObject')].filter(e => getComputedStyle(e).display !== 'none').length"
        )
        note = browser.run("document.getElementById('folded').textContent")
        tall = browser.run("document.documentElement.getBoundingClientRect().height")
        names = browser.run("[...document.querySelectorAll('#frames text')].map(e => e.textContent)")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    wrongs = differs("frames", drawn, 12) + differs("search fields and help", boxes, 0)
    wrongs += differs("the note", note, "125 more rows, of frames narrower than a pixel")
    wrongs += [] if tall < 250 else [f"the picture is {tall} high"]
    return wrongs + ([] if "main" in names else [f"names in frames: {names}"])


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
        "a??",
        "?evil",
        "fn(u32) -> bool",
        "??",
    ):
        wrongs += [] if name in names else [f"no frame {name!r}"]
    title = browser.run("find('title').textContent")
    return wrongs + differs("title", title, "<b>?[31m&?")


# an incident of the fixture
MOMENT = "2025-03-01T12:00:30Z"


def make(perftape, folder, name, *words):
    command = [
        perftape,
        "flamegraph",
        "--store",
        f"{folder}/recorded",
        "-q",
        "-o",
        f"{folder}/{name}",
        *(words or ("--at", MOMENT)),
    ]
    subprocess.run(command, check=True, env={**os.environ, "TZ": "UTC"})
    return pathlib.Path(folder, name)


def check_command(browser, perftape, folder):
    path = make(perftape, folder, "a.svg", "--at", MOMENT, "--title", "a & b")
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
    packed = make(perftape, folder, "a.svgz", "--at", MOMENT, "--title", "a & b").read_bytes()
    wrongs += differs("the packed file", gzip.decompress(packed), path.read_bytes())
    browser.open(make(perftape, folder, "reversed.svg", "--at", MOMENT, "--reverse"))
    under = "frames.filter(f => f.y === all.y + ROW).map(f => f.name).sort()"
    wrongs += differs("reversed", browser.run(under), ["mem_cgroup_nr_lru_pages", "native_safe_halt"])
    return wrongs + browser.complaints()


EVENT = "event cpu-clock at 97 Hz"
INCIDENT = "incident 42, ena.tx_stall of 0000:20:03.0, queue 5 on CPU 12, stalled for 6.5 s"
HEADS = (
    (
        (),
        "example: CPU stacks, ena.tx_stall of 0000:20:03.0 at 2025-03-01T12:00:30+00:00",
        [EVENT, f"{INCIDENT}, at 2025-03-01T12:00:30.000+00:00"],
    ),
    (
        ("--incident", "42", "--cpu", "1", "--utc"),
        "example: CPU stacks, ena.tx_stall of 0000:20:03.0 at 2025-03-01T12:00:30Z",
        [EVENT, f"note: {INCIDENT}", "only CPU 1"],
    ),
    (
        ("--from", "2025-03-01T12:00:00Z", "--to", "2025-03-01T12:00:20Z"),
        "example: CPU stacks from 2025-03-01T12:00:00+00:00",
        [EVENT],
    ),
)


def check_heads(browser, perftape, folder):
    """The picture names the host, the time, and the incidents of the kernel's log."""
    wrongs = []
    for words, title, lines in HEADS:
        browser.open(make(perftape, folder, "head.svg", *words))
        wrongs += differs("title", browser.run("[document.title, find('title').textContent]"), [title, title])
        heads = browser.run("[...root.querySelectorAll('.head')].map(e => e.textContent)")
        wrongs += [f"no {line!r} in {heads}" for line in lines if line not in heads]
        wrongs += [] if any(head.startswith("host example, ") for head in heads) else [f"no host in {heads}"]
        wrongs += differs("lines about the incident", sum("incident 42" in head for head in heads), len(lines) > 1)
    return wrongs


def check_compared(browser, perftape, folder):
    """A differential graph of two windows: widths of both, colours of the change, the loads as text."""
    file = pathlib.Path(folder, "compared.svg")
    command = [perftape, "diff", "-q", "--store", f"{folder}/spiky", "-o", file]
    windows = [("12:00:30", "12:00:40"), ("12:00:10", "12:00:20")]
    moments = [["--from", f"2025-03-01T{begin}Z", "--to", f"2025-03-01T{end}Z"] for begin, end in windows]
    subprocess.run([*command, *moments[0], "--", *moments[1]], check=True)
    browser.open(file)
    steps = dict(browser.run("frames.map(f => [f.name, f.g.classList[0]])"))
    wrongs = differs("a path that vanished", steps["gzip"], "d0")
    wrongs += differs("a path that appeared", steps["trainer"], "d6")
    wrongs += differs("a path that stays", steps["kubelet"], "d3")
    browser.hover(*place(browser, "gzip"))
    wrongs += differs(
        "the loads",
        browser.run("find('details').textContent"),
        "gzip   -0.400 CPUs: gone, 0.400 before, 0.000 after, thread",
    )
    browser.click(*place(browser, "kubelet"))
    wrongs += differs("zoomed", shown(browser)["kubelet"][:2], [0, 1200])
    return wrongs + browser.complaints()


def checks(browser, perftape, fixture):
    browser.open(GOLDEN / "usual.svg")
    for check in (
        check_drawn,
        check_details,
        check_zoom,
        check_search,
        check_keys,
        check_hits,
        check_help,
        check_resize,
    ):
        yield check.__name__.replace("check_", "") + " in a browser", check(browser)
    yield "nothing was thrown or asked of the network", browser.complaints()
    for check in (check_link, check_roles, check_colours, check_folded, check_reversed, check_scriptless):
        yield check.__name__.replace("check_", "") + " in a browser", check(browser)
    browser.open(GOLDEN / "hostile.svg")
    yield "hostile names in a browser", check_hostile(browser) + browser.complaints()
    with tempfile.TemporaryDirectory(prefix="perftape-flamegraph-") as folder:
        subprocess.run([fixture, f"{folder}/recorded"], check=True)
        yield "what the command writes", check_command(browser, perftape, folder)
        yield "whose picture it is", check_heads(browser, perftape, folder)
        subprocess.run([fixture, f"{folder}/spiky", "spiky"], check=True)
        yield "two windows compared", check_compared(browser, perftape, folder)


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
