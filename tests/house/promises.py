#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The promises of ./test: each of its live tests shows a sentence of the README, and can fail.

Usage: promises.py PERFTAPE, in the build folder of PERFTAPE
"""

import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import plan  # noqa: E402
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

MUTATED = re.compile(r'\bmutated\("([^"]*)"\)')
# Its comment shows how to use mutated().
ITS_HEADER = pathlib.Path("base/mutation.h")


def fold(text):
    return " ".join(text.split())


def wrong_promises(readme, functions):
    """`functions` has the rows that the live files list."""
    folded = fold(readme)
    for function in functions:
        if fold(function["promise"]) not in folded:
            yield f"{function['where']}: README.md does not say \"{function['promise']}\""
        if function["promise"] and not function["broken_by"]:
            yield f"{function['where']}: has a promise, but no mutation breaks it"


def wrong_mutations(places, functions, texts=()):
    """The mistakes in the use of mutations. `places` maps each mutation to the files of the product that name it.

    `texts` has the content of the live files: a test may also switch a mutation on by itself.
    """
    used = {function["broken_by"]: function["where"] for function in functions if function["broken_by"]}
    for name in sorted(set(used) - set(places)):
        yield f"{used[name]}: no file of the product has mutated(\"{name}\")"
    for name in sorted(set(places) - set(used)):
        if any("PERFTAPE_MUTATION" in text and f'"{name}"' in text for text in texts):
            continue
        yield f"{', '.join(places[name])}: no live test is broken by {name}"


def mutations_of(tree):
    places = {}
    for path in tap.files(tree):
        if is_product(path) and path.suffix in (".c", ".h") and path != ITS_HEADER:
            for name in MUTATED.findall((tree / path).read_text()):
                places.setdefault(name, []).append(str(path))
    return places


def files_that_are_declared(folder):
    tests = json.loads((folder / "meson-info" / "intro-tests.json").read_text())
    return [test for test in tests if "functions" in plan.suites_of(test)]


def list_file(test, folder):
    """([{"name": ..., ...}] with the tests of a live file, the mistakes of this list)"""
    done = subprocess.run([*test["cmd"], "--list"], cwd=folder, capture_output=True, text=True)
    try:
        functions = [json.loads(line) for line in done.stdout.splitlines()]
    except ValueError as error:
        return [], [f"{test['name']} --list: {error}: {done.stdout}"]
    wrongs = [f"{test['name']} --list: exit code {done.returncode}: {done.stderr}"] if done.returncode else []
    wrongs += [] if functions else [f"{test['name']} --list: names no test"]
    names = [function["name"] for function in functions]
    wrongs += [f"{test['name']} --list: {name} twice" for name in sorted(set(names)) if names.count(name) > 1]
    return [{**function, "where": f"{test['name']}: {function['name']}"} for function in functions], wrongs


def undeclared(tree, tests):
    """Files of live tests that no test of meson runs."""
    declared = {pathlib.Path(word).name for test in tests for word in test["cmd"] if word.endswith(".py")}
    for path in sorted((tree / "tests" / "live").glob("*.py")):
        if "@live.test(" in path.read_text() and path.name not in declared:
            yield f"{path.relative_to(tree)}: is not in tests/meson.build"


def wrong_build(perftape):
    """Without mutations, nothing can show that a live test fails."""
    return [] if b"PERFTAPE_MUTATION" in pathlib.Path(perftape).read_bytes() else [f"{perftape}: has no mutations"]


def self_test():
    readme = "It keeps the\nsamples on disk. It costs little."

    def functions(promise, broken_by):
        return [{"where": "a test", "promise": promise, "broken_by": broken_by}]

    cases = [
        (wrong_promises(readme, functions("keeps the samples  on disk", "drop")), 0),
        (wrong_promises(readme, functions("", "")), 0),
        (wrong_promises(readme, functions("keeps the samples in memory", "drop")), 1),
        (wrong_promises(readme, functions("It costs little.", "")), 1),
        (wrong_mutations({"drop": ["a.c"]}, functions("x", "drop")), 0),
        (wrong_mutations({}, functions("x", "drop")), 1),
        (wrong_mutations({"drop": ["a.c"], "keep": ["b.c"]}, functions("x", "drop")), 1),
        (wrong_mutations({"keep": ["b.c"]}, [], ['{"PERFTAPE_MUTATION": "keep"}']), 0),
        (wrong_mutations({"keep": ["b.c"]}, [], ['"keep"', "PERFTAPE_MUTATION"]), 1),
    ]
    for number, (wrongs, count) in enumerate(cases):
        found = list(wrongs)
        if len(found) != count:
            yield f"case {number}: {found}, not {count}"


def main():
    folder = pathlib.Path.cwd()
    tests = files_that_are_declared(folder)
    lists = [list_file(test, folder) for test in tests]
    functions = [function for found, _ in lists for function in found]
    places = mutations_of(tap.TREE)
    texts = [path.read_text() for path in (tap.TREE / "tests" / "live").glob("*.py")]
    print(f"# {sum(bool(function['promise']) for function in functions)} promises, {len(places)} mutations")
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("each file of live tests lists them", [wrong for _, wrongs in lists for wrong in wrongs]),
            ("each file of live tests is declared", list(undeclared(tap.TREE, tests))),
            ("there are promises", [] if any(function["promise"] for function in functions) else ["none"]),
            ("each promise stands in README.md", list(wrong_promises((tap.TREE / "README.md").read_text(), functions))),
            ("each mutation is in the product, and in a test", list(wrong_mutations(places, functions, texts))),
            ("the program under test has mutations", wrong_build(sys.argv[1])),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
