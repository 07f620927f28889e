#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The words of comments, messages and documents: plain English, and one word for one concept.

Seven patterns made older texts hard to read. Words that docs/GLOSSARY.md replaced must not come back, and the
glossary must define the words in use. This file is checked, too, so no pattern matches its own source.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402
from architecture import is_product  # noqa: E402

# Texts of others, and saved inputs.
OTHERS = ("tests/fuzz/corpus/", "tests/data/", "LICENSE", "tests/format/saved.tape")
# A report shows this many columns of a wrong text.
SHOWN = 50
# The margin at the begin of a comment's line.
MARGIN = re.compile(r"[ \t]*(\*(?![/\w])|//|#(?!!))[ \t]*")
# The begin of a comment, and of a comment or a literal. A literal may be a question: "who made it".
COMMENT = r"(?:/\*\s*|//\s*|#\s*)"
BEGIN = rf"(?:{COMMENT}|\")"
# A heading may begin with "What", and so may the comment above a function.
SENTENCE_END = r"[a-z0-9)`*\"'][.:;!?]\s+"
PATTERNS = {
    "a relative clause as the subject": rf"\bWho(?:se)?\s+[a-z]|{COMMENT}who\s+[a-z]|{SENTENCE_END}What\s+[a-z]",
    "a relative clause after a preposition": r"\b(?:[Ff]or|[Bb]y|[Oo]f|[Tt]o)\s+who\b",
    "a partitive as the subject": rf"\b[Ww]hat\s+of\b|\bOf\s|{BEGIN}of\s+(?:the|those|what)\b",
    "a number that is not stated": r"\b[Ss]o\s+(?:many|long)\b",
    "an object without a name": r"\bat\s+hand\b",
    "an actor without a name": r"\b(?:is|are)\s+told\b",
}
# Words in texts and in names, and the word to use. A class of one letter keeps a pattern from matching itself.
RETIRED = {
    "unsaved": r"given[ _-]up|last[_]words|store[_]left|[sS]he[d]",
    "stalled": r"stand[s]till|st(?:ood|ands?|and)[ _-]still|\"(?:held|starved)_ns\"|silent[_]why",
    "lacks": r"run[g]s?",
    "unnamed": r"nameles[s]",
    "_prefetch": r"[a-z]\w*_soo[n]",
    "pipeline": r"(?:[&*>.(]|the )assemble[r]|assemble[r](?:->|\.\w|_\w)",
    "status_thread": r"telle[r]",
    "self_stats": r"vital[s]",
    "window_filter": r"sif[t](?:ed|s|ing|_\w+)",
    "clean_name": r"legibl[ey]",
    "symbol_prefilter": r"siev[e]s?",
    "gap_causes": r"interruption[s]",
    "offline_cpus": r"absence[s]",
}
# Objects that have another name now: neither a struct nor a variable of the new one has the old name.
# In texts the old ones are ordinary words.
RENAMED = {
    "pipeline": "assembler",
    "tape_builder": "filler",
    "callchain_cache": "chains",
    "lru_cache": "recent",
    "reorder": "timeline",
    "fd_cache": "held",
    "gauge_thread": "host_watch",
    "exec_counts": "starts",
    "trace_setup": "tracing",
    "shutdown": "ending",
    "lock": "hold",
    "retention_plan": "choice",
    "removed_ranges": "gone",
    "write_error": "refusal",
    "segment_dir": "folder",
    "slice": "cut",
    "stack_class": "load",
    "frame_filter": "keep",
    "parallel_text": "pieces",
    "hash96": "map",
    "query_args": "asked",
    "log_add": "additions",
    "did_you_mean": "nearest",
    "watchdog_child": "patience",
    "classify": "judge",
    "log_prefix": "heading",
    "log_wrapper": "shipper",
    "text_cursor": "taker",
    "process_root": "inside",
    "file_window": "span",
    "addresses": "wanted",
}
OLD_NAME = re.compile("|".join(rf"\bstruct (?:{old}|{new} \*?(?:const )?{old})\b" for new, old in RENAMED.items()))
DEFINED = re.compile(r"^- \*\*([\w-]+)\*\*", re.MULTILINE)
MUST_BE_DEFINED = (
    "tape segment spool anchor episode incident lost skipped unsaved stalled gap trie leaf baseline coverage"
    " lacks prefetch vanished fd_cache stack_class load slice truncated"
).split()


def texts(tree):
    """(path, text) of what this project wrote."""
    for path in tap.files(tree):
        if not str(path).startswith(OTHERS):
            yield path, (tree / path).read_text()


def without_margins(text):
    """The text with blanks for the margins of comments: a phrase may reach over two lines, and offsets stay."""
    lines, before = [], None
    for line in text.split("\n"):
        margin = MARGIN.match(line)
        if margin and margin[1] in ("*", before):
            line = " " * len(margin[0]) + line[len(margin[0]) :]
        lines.append(line)
        before = margin and margin[1]
    return "\n".join(lines)


def matches(pattern, text):
    """(line, the text from the match on)"""
    for match in re.finditer(pattern, text):
        end = max(match.end(), match.start() + SHOWN)
        yield text.count("\n", 0, match.start()) + 1, " ".join(text[match.start() : end].split())


def wrong_phrases(path, text):
    text = without_margins(text)
    for what, pattern in PATTERNS.items():
        for number, phrase in matches(pattern, text):
            yield f"{path}:{number}: {what}: {phrase}"


def wrong_words(path, text):
    text = without_margins(text)
    for word, pattern in RETIRED.items():
        for number, retired in matches(rf"(?i)(?<![a-z])(?:{pattern})(?![a-z])", text):
            yield f"{path}:{number}: use {word}: {retired}"
    if path.suffix in (".c", ".h"):
        for number, old in matches(OLD_NAME, text):
            yield f"{path}:{number}: has an old name: {old}"


def wrong_glossary(glossary, product):
    """`product` is the text of all C files of the product."""
    defined = DEFINED.findall(glossary)
    yield from (f"{word}: defined twice" for word in sorted(set(defined)) if defined.count(word) > 1)
    yield from (f"{word}: is not defined" for word in MUST_BE_DEFINED if word not in defined)
    for word in defined:
        if not re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![a-rt-zA-Z])", product):
            yield f"{word}: is defined, and the product does not use it"


def self_test():
    # A ~ stands for the blank or the underscore that would make this file a hit.
    phrases = [
        ("/* Who~writes it knows. */", 1),
        ("/* who~writes it */", 1),
        ("/*\n * Tells who writes it.\n */", 0),
        ('f("Who~made it is not known");', 1),
        ('f("who made it", "it, who made it");', 0),
        ("# who~knows", 1),
        ("# Tells\n#~who knows", 0),
        ("It asks for~who knows, by~who it was, of~\n * who it is, and tells it to~who asks.", 4),
        ("The name of whoever made it, for whom it was made.", 0),
        ("/* What~of it is left */", 1),
        ("Says what~of it is left.", 1),
        ("What offset it has.", 0),
        ("It ends. What~is left of it goes.", 1),
        ("It ends. Whose~name it has is not known.", 1),
        ("## What is read\n\nIt ends, and what is left goes.", 0),
        ("Of~the samples, Of~those, Of~what", 3),
        ("It ends. Of~an episode, it prints the first line.", 1),
        ("One of the samples. Office the.", 0),
        ("/* of~the wall clock */", 1),
        ("/* The time, of the wall clock. */", 0),
        ("so~many bytes, so~long as a segment", 2),
        ("so~many bytes, so~\n\t * long", 2),
        ("so~many others that it overflows", 1),
        ("So~long as it runs, or for so~long that it overflows.", 2),
        ("As long as it runs.", 0),
        ("the segment at~hand", 1),
        ("at first hand", 0),
        ("it is~told, they are~told", 2),
        ("it is toldx; he told", 0),
        ('"at~hand"', 1),
    ]
    words = [
        ("a.c", "tape->given~up_ns", 1),
        ("a.md", "samples that were given~up", 1),
        ("a.md", "given an upper limit", 0),
        ("a.c", "finished, washed", 0),
        ("a.c", "struct~held *held;", 1),
        ("a.c", "struct~fd_cache *held, struct~fd_cache held;", 2),
        ("a.c", "struct~held_files *files; struct~fd_cache *cache; bool held;", 0),
        ("a.md", "struct~held", 0),
        ("a.c", "table_soo~n(table);".replace("o~n", "on"), 1),
        ("a.c", "soon", 0),
    ]
    for text, count in phrases:
        found = list(wrong_phrases(pathlib.Path("a.c"), text.replace("~\n", "\n").replace("~", " ")))
        if len(found) != count:
            yield f"{text}: {found}, not {count}"
    for name, text, count in words:
        found = list(wrong_words(pathlib.Path(name), text.replace("~up_", "_up_").replace("~", " ")))
        if len(found) != count:
            yield f"{text}: {found}, not {count}"
    glossary = "".join(f"- **{word}**: x\n" for word in MUST_BE_DEFINED)
    product = " ".join(MUST_BE_DEFINED)
    for text, code, count in [
        (glossary, product, 0),
        (glossary + "- **tape**: y\n", product, 1),
        (glossary.replace("**leaf**", "leaf"), product, 1),
        (glossary + "- **moon**: y\n", product + " moonlight", 1),
        (glossary + "- **moon**: y\n", product + " moon_phase moons", 0),
    ]:
        found = list(wrong_glossary(text, code))
        if len(found) != count:
            yield f"glossary: {found}, not {count}"


def main():
    phrases, words, product = [], [], []
    for path, text in texts(tap.TREE):
        phrases += wrong_phrases(path, text)
        words += wrong_words(path, text)
        if is_product(path):
            product.append(text)
    glossary = (tap.TREE / "docs" / "GLOSSARY.md").read_text()
    return tap.run(
        [
            ("the check finds what is wrong", list(self_test())),
            ("sentences name their subject and state their numbers", phrases),
            ("words that were replaced do not come back", words),
            ("the glossary defines the words in use", list(wrong_glossary(glossary, "\n".join(product)))),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
