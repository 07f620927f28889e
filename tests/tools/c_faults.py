# SPDX-License-Identifier: GPL-2.0-only
"""The places of a C file where a fault can be planted, and the text of the file with faults in it.

A place is an operator or a returned value inside a function body. The tree is formatted by clang-format, so a
tokenizer and a table of operator precedence find the operands. A place that this reading gets wrong does not
compile, and tests/tools/mutate drops it.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<blank> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<directive> ^[ \t]*\#(?: \\\n | /\*.*?\*/ | [^\n] )* )
    | (?P<string> "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*' )
    | (?P<number> \.?[0-9](?: [eEpP][+-] | [\w.] )* )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<sign> <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\| | [-+*/%&|^]= | . )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
PRECEDENCE = {sign: level for level, signs in enumerate(LEVELS, 1) for sign in signs.split()}
ASSIGNMENTS = "= += -= *= /= %= &= |= ^= <<= >>=".split()
# For each operator, the operators that may replace it: its neighbours and its negation.
SWAPS = {
    "comparison": {
        "<": ("<=", ">="),
        "<=": ("<", ">"),
        ">": (">=", "<="),
        ">=": (">", "<"),
        "==": ("!=",),
        "!=": ("==",),
    },
    "boolean": {"&&": ("||",), "||": ("&&",)},
    "arithmetic": {
        "+": ("-",),
        "-": ("+",),
        "*": ("/", "+"),
        "/": ("*",),
        "%": ("*",),
        "<<": (">>",),
        ">>": ("<<",),
        "&": ("|",),
        "|": ("&",),
        "+=": ("-=",),
        "-=": ("+=",),
        "*=": ("/=",),
        "/=": ("*=",),
        "<<=": (">>=",),
        ">>=": ("<<=",),
        "&=": ("|=",),
        "|=": ("&=",),
    },
}
KIND = {sign: kind for kind, swaps in SWAPS.items() for sign in swaps}
KINDS = (*SWAPS, "return")
# These signs are also unary operators. They count as binary only between two blanks.
AMBIGUOUS = set("*&+-")
PREFIXES = {"!", "~", "-", "+", "*", "&", "++", "--"}
# The arguments of these do not run as code, or only state assumptions of the code.
UNEVALUATED = set(
    "sizeof typeof __typeof__ offsetof _Alignof _Static_assert static_assert assert __attribute__ __builtin_offsetof va_arg asm __asm__ mutated".split()
)
KEYWORDS = set("return if else while for do switch case goto break continue default sizeof typeof".split())
TYPES = set("void char short int long float double signed unsigned bool _Bool struct union enum const volatile".split())
BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    partner: int = -1  # for a bracket, the index of its partner

    def __repr__(self):
        return self.text


@dataclasses.dataclass
class Place:
    """Tokens first..last of a file, the operator among them (or None), and their possible replacements."""

    file: str
    function: str
    line: int
    last_line: int
    kind: str
    first: int
    last: int
    sign: int
    choices: tuple
    quote: str  # the line

    def key(self):
        return self.file, self.first, self.last


class Source:
    """A C file as tokens without blanks."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.tokens = []
        self.conditional = []  # (first, last) offsets between #if and #endif
        self.read()
        self.pair()

    def read(self):
        opened = []
        for match in TOKEN.finditer(self.text):
            kind = match.lastgroup
            if kind == "directive":
                word = match[0].strip().lstrip("#").split()[:1]
                if word and word[0].startswith("if"):
                    opened.append(match.start())
                elif word == ["endif"] and opened:
                    self.conditional.append((opened.pop(), match.end()))
            elif kind != "blank":
                self.tokens.append(Token(kind, match[0], match.start(), match.end()))

    def pair(self):
        opened = []
        for index, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in BRACKETS:
                opened.append(index)
            elif opened and token.text == BRACKETS[self.tokens[opened[-1]].text]:
                token.partner = opened.pop()
                self.tokens[token.partner].partner = index

    def line(self, index):
        return self.text.count("\n", 0, self.tokens[index].start) + 1

    def flat(self, first, last):
        """Tokens as one line, with the blanks of the source made one."""
        words, end = [], None
        for token in self.tokens[first : last + 1]:
            words += [" "] if end is not None and token.start > end else []
            words.append(token.text)
            end = token.end
        return "".join(words)

    def functions(self):
        """The (name, returned type, first, last) of each function body; first and last are its braces."""
        start = index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.text == ";" or token.text == "}":
                start = index + 1
            elif token.text in "([":
                index = max(index, token.partner)
            elif token.text == "{":
                last = token.partner if token.partner > index else len(self.tokens) - 1
                name = self.function_name(start, index)
                if name is not None:
                    yield self.tokens[name].text, self.returned_type(start, name), index, last
                index, start = last, last + 1
            index += 1

    def function_name(self, start, brace):
        """The token that names the function whose body opens at `brace`, or None."""
        if brace == 0 or self.tokens[brace - 1].text != ")":
            return None
        name = self.tokens[brace - 1].partner - 1
        return name if name > start and self.tokens[name].kind == "name" else None

    def returned_type(self, start, name):
        begin = max([start, *(index + 1 for index in range(start, name) if self.tokens[index].text == ")")])
        words = [
            token.text for token in self.tokens[begin:name] if token.text not in ("static", "inline", "extern", "const")
        ]
        if "*" in words:
            return "pointer"
        if "struct" in words or "union" in words:
            return "struct"
        if words == ["void"]:
            return "void"
        return "bool" if "bool" in words else "number"


class Finder:
    """The places of one file."""

    def __init__(self, source):
        self.source, self.tokens = source, source.tokens

    def places(self):
        found = []
        for name, returned, first, last in self.source.functions():
            skipped = self.skipped(first, last)
            for index in range(first + 1, last):
                if index not in skipped and not self.is_conditional(index):
                    found += self.at(index, name, returned)
        return nested(found)

    def is_conditional(self, index):
        at = self.tokens[index].start
        return any(begin < at < end for begin, end in self.source.conditional)

    def skipped(self, first, last):
        """The tokens of code that is not evaluated, or that must be constant."""
        found = set()
        begins = True
        for index in range(first, last):
            text = self.tokens[index].text
            if begins and text == "static":
                found.update(range(index, self.find(index, ";")))
            elif begins and text == "case":
                found.update(range(index, self.find(index, ":")))
            elif begins:
                found.update(self.bounds(index))
            if text in UNEVALUATED and self.tokens[index + 1].text == "(":
                found.update(range(index, self.tokens[index + 1].partner + 1))
            if text == "enum" and "{" in (self.tokens[index + 1].text, self.tokens[index + 2].text):
                found.update(range(index, self.find(index, ";")))
            begins = text in ("{", "}", ";", ":")
        return found

    def find(self, index, text):
        while self.tokens[index].text != text:
            index = max(index, self.tokens[index].partner) + 1
        return index

    def bounds(self, index):
        """The array bounds of a declaration that begins here: they must be constant."""
        names = 0
        while (
            self.tokens[index].kind == "name"
            and self.tokens[index].text not in KEYWORDS
            or self.tokens[index].text == "*"
        ):
            is_attribute = self.tokens[index].text.startswith("_cleanup_")
            names += self.tokens[index].kind == "name" and not is_attribute
            index += 1
            if is_attribute and self.tokens[index].text == "(":
                index = self.tokens[index].partner + 1
        if names < 2:
            return
        declares = True
        while self.tokens[index].text not in (";", ")", "}"):
            token = self.tokens[index]
            if token.text == "[" and declares:
                yield from range(index, token.partner)
            declares = token.text == "," or declares and token.text != "="
            index = max(index, token.partner) + 1

    def at(self, index, function, returned):
        """The place of a fault at this token, or None."""
        text = self.tokens[index].text
        kind, span, choices = KIND.get(text), None, SWAPS.get(KIND.get(text), {}).get(text)
        if text == "return":
            kind, span, choices = "return", self.returned(index), ()
            choices = return_choices(self.source.flat(*span), returned) if span else ()
        elif text == "!":
            kind, span, choices = "boolean", (index, self.unary_end(index)), ("!!",)
        elif kind and text in ASSIGNMENTS:
            span = self.left(index, -1), self.assigned(index)
        elif kind and self.is_binary(index):
            span = self.left(index, PRECEDENCE[text]), self.right(index, PRECEDENCE[text])
        if not span or not choices or span[0] > span[1]:
            return []
        begin = self.source.text.rfind("\n", 0, self.tokens[index].start) + 1
        quote = self.source.text[begin:].split("\n", 1)[0].strip()
        line, last_line = self.source.line(span[0]), self.source.line(span[1])
        sign = None if text == "return" else index
        return [Place(self.source.name, function, line, last_line, kind, *span, sign, choices, quote)]

    def ends_operand(self, index):
        token = self.tokens[index]
        if token.kind == "name":
            return token.text not in KEYWORDS
        return token.kind in ("number", "string") or token.text in (")", "]", "++", "--") and not self.is_cast(index)

    def is_cast(self, index):
        """Does the `)` here end a type?"""
        if self.tokens[index].text != ")":
            return False
        inside = self.tokens[self.tokens[index].partner + 1 : index]
        before = self.tokens[self.tokens[index].partner - 1]
        if before.kind == "name" and before.text not in KEYWORDS or not inside:
            return False
        words = [token.text for token in inside if token.text != "*"]
        if words[0] in TYPES:
            return True
        return len(words) == 1 and (words[0].endswith("_t") or inside[-1].text == "*")

    def is_binary(self, index):
        if not self.ends_operand(index - 1):
            return False
        token = self.tokens[index]
        blanks = self.tokens[index - 1].end < token.start and token.end < self.tokens[index + 1].start
        return blanks or token.text not in AMBIGUOUS

    def stops(self, index, level):
        """Does the token bind less than an operator of that level, so that an operand ends before it?"""
        token = self.tokens[index]
        if (
            token.text in (";", ",", "?", ":", "{", "}", *BRACKETS, *BRACKETS.values())
            or token.text in KEYWORDS - UNEVALUATED
        ):
            return True
        if token.text in ASSIGNMENTS:
            return True
        return token.text in PRECEDENCE and self.is_binary(index) and PRECEDENCE[token.text] < level

    def left(self, index, level):
        """The first token of the operand that ends before the operator."""
        at = index
        while at > 0:
            before = self.tokens[at - 1]
            if before.text in (")", "]"):
                named = self.tokens[before.partner - 1]
                if named.text in ("if", "while", "for", "switch"):
                    return at
                if (
                    before.text == ")"
                    and named.kind == "name"
                    and self.begins_operand(at)
                    and named.text not in KEYWORDS
                ):
                    return at  # a loop that is a macro
                at = before.partner
            elif self.stops(at - 1, level):
                return at
            else:
                at -= 1
        return at

    def right(self, index, level):
        """The last token of the operand that begins after the operator."""
        at = index
        while True:
            after = self.tokens[at + 1]
            if after.text in ("(", "[") or after.text == "{" and self.tokens[at].text == ")":
                at = after.partner
            elif self.stops(at + 1, level + 1):
                return at
            else:
                at += 1

    def assigned(self, index):
        """The last token of the value that is assigned."""
        while self.tokens[index + 1].text not in (";", ",", *BRACKETS.values()):
            index = max(index + 1, self.tokens[index + 1].partner)
        return index

    def begins_operand(self, index):
        token = self.tokens[index]
        if token.text == "*":
            return not self.is_binary(index)
        return token.kind in ("name", "number", "string") and token.text not in KEYWORDS

    def unary_end(self, index):
        """The last token of the operand of the prefix operator."""
        at = index + 1
        while self.tokens[at].text in PREFIXES:
            at += 1
        while True:
            at = max(at, self.tokens[at].partner)
            after = self.tokens[at + 1]
            if self.is_cast(at) and (
                self.begins_operand(at + 1) or after.text in PREFIXES and not self.is_binary(at + 1)
            ):
                at += 1
                while self.tokens[at].text in PREFIXES:
                    at += 1
            elif after.text in (".", "->"):
                at += 2
            elif after.text in ("(", "[") or after.text == "{" and self.tokens[at].text == ")":
                at = after.partner
            elif after.text in ("++", "--"):
                at += 1
            else:
                return at

    def returned(self, index):
        """The value after `return`, or None."""
        end = self.find(index, ";")
        return (index + 1, end - 1) if end > index + 1 else None


def return_choices(value, returned):
    """The values that a function may return instead."""
    if returned in ("void", "struct"):
        return ()
    if returned == "bool":
        return {"true": ("false",), "false": ("true",)}.get(value, (f"!({value})",))
    if returned == "pointer":
        return () if value == "NULL" else ("NULL",)
    if value == "0":
        return "1", "-1"
    return ("0",) if value.startswith("-") else ("0", f"({value}) + 1")


def nested(places):
    """Removes places that partly overlap another one, because one of the two was read wrongly."""
    kept, opened = [], []
    for place in sorted(places, key=lambda place: (place.first, -place.last)):
        while opened and opened[-1].last < place.first:
            opened.pop()
        if opened and place.last > opened[-1].last:
            continue
        opened.append(place)
        kept.append(place)
    return kept


def find(name, text):
    return Finder(Source(name, text)).places()


@dataclasses.dataclass
class Fault:
    """A place and the replacement that was chosen for it."""

    number: int
    place: Place
    choice: str
    before: str = ""  # the expression on one line
    after: str = ""

    def names(self, file, where, before, after):
        """Does a row of equivalent-mutants.tsv describe this fault?"""
        place = self.place
        return (place.file, self.before, self.after) == (file, before, after) and (
            where == place.function or where in place.quote
        )


def fault(source, number, place, choice):
    """One fault, with its texts."""
    before = source.flat(place.first, place.last)
    if place.kind == "return":
        return Fault(number, place, choice, f"return {before}", f"return {choice}")
    if choice == "!!":
        return Fault(number, place, choice, before, source.flat(place.sign + 1, place.last))
    left = in_brackets(source, place.first, place.sign - 1, choice, False)
    right = in_brackets(source, place.sign + 1, place.last, choice, True)
    return Fault(number, place, choice, before, f"{left} {choice} {right}")


def in_brackets(source, first, last, choice, is_right):
    """An operand on one line, in brackets if the new operator would tear it apart."""
    finder, at, loosest = Finder(source), first, len(PRECEDENCE)
    while at <= last:
        if source.tokens[at].text in PRECEDENCE and at > first and finder.is_binary(at):
            loosest = min(loosest, PRECEDENCE[source.tokens[at].text])
        at = max(at, source.tokens[at].partner) + 1
    flat = source.flat(first, last)
    return f"({flat})" if loosest < PRECEDENCE.get(choice, 0) + is_right else flat


class Planter:
    """Writes a file that contains all given faults, each behind a check of its number. Lines keep their places."""

    def __init__(self, source, faults):
        self.source, self.tokens = source, source.tokens
        self.faults = sorted(faults, key=lambda fault: (fault.place.first, -fault.place.last))

    def text(self):
        """The whole file. Its first line, a comment, declares planted()."""
        last = len(self.tokens) - 1
        body = self.span(0, last, -1, False)
        return (
            "int planted(int number); "
            + self.source.text[: self.tokens[0].start]
            + body
            + self.source.text[self.tokens[last].end :]
        )

    def outermost(self, first, last, outer):
        """The outermost faults between two tokens: those inside the fault `outer` if that is not -1."""
        end = -1
        for at, fault in enumerate(self.faults[outer + 1 :], outer + 1):
            if first <= fault.place.first and fault.place.last <= last and fault.place.first > end:
                end = fault.place.last
                yield at

    def span(self, first, last, outer, flat):
        """The text of some tokens with the faults inside them, as it is or on one line."""
        parts, at = [], first
        for inner in self.outermost(first, last, outer):
            place = self.faults[inner].place
            parts += [self.plain(at, place.first, flat), self.guarded(inner, flat)]
            parts.append(self.gap(place.last, flat) if place.last < last else "")
            at = place.last + 1
        if at <= last:
            parts += [self.plain(at, last, flat), self.tokens[last].text]
        return "".join(parts)

    def plain(self, first, last, flat):
        """The text from one token up to another, with the blanks between them."""
        if flat:
            return "".join(self.tokens[at].text + self.gap(at, flat) for at in range(first, last))
        return self.source.text[self.tokens[first].start : self.tokens[last].start]

    def gap(self, at, flat):
        """The blanks after a token."""
        blank = self.source.text[self.tokens[at].end : self.tokens[at + 1].start]
        return " " if flat and blank else blank

    def guarded(self, at, flat):
        fault = self.faults[at]
        place = fault.place
        whole = self.span(place.first, place.last, at, flat)
        return f"(planted({fault.number}) ? ({self.faulty(at)}) : ({whole}))"

    def faulty(self, at):
        """The expression with the fault, on one line, so that the lines below keep their numbers."""
        choice, place = self.faults[at].choice, self.faults[at].place
        if place.kind == "return":
            value = self.span(place.first, place.last, at, True)
            return f"!({value})" if choice.startswith("!(") else f"({value}) + 1" if choice.startswith("(") else choice
        right = self.span(place.sign + 1, place.last, at, True)
        if choice == "!!":
            return f"!!({right})"
        return f"({self.span(place.first, place.sign - 1, at, True)}) {choice} ({right})"


def with_fault(source, fault):
    """The text of a file with one fault in the place of the expression, for a person to read."""
    tokens, place = source.tokens, fault.place
    after = fault.after.removeprefix("return ") if place.kind == "return" else fault.after
    return source.text[: tokens[place.first].start] + after + source.text[tokens[place.last].end :]
