#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How tests/tools/mutate reads C: the places of a file that can have a fault, the faults, and how it plants them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import c_faults  # noqa: E402
import planted  # noqa: E402
import tap  # noqa: E402

SAMPLE = """// SPDX-License-Identifier: GPL-2.0-only
#define TWICE(x) ((x) + (x))
static const int table[2 + 1] = { 1 + 1 };
struct pair {
    int a, b;
};

#if 1 + 1
int outside(int a)
{
    return a + 1;
}
#endif

int sum(const int *p, struct pair q)
{
    static int kept = 1 + 2;
    char text[4 * 8], *end = text + q.a * 2;

    assert(q.a > 0);
    switch (q.b) {
    case 1 + 1:
        return -EINVAL;
    }
    if (!q.a && *p >= (int)sizeof(q.a + 1) ||
        q.b - q.a - 1 < -*p) // a + b
        kept += q.a ? 1 : 2;
    while (*p)
        *p++ & 1;
    return (size_t)q.a << 3 == 8 ? kept : 0;
}

struct pair made(void)
{
    return (struct pair){ 1, 2 };
}

char *name(bool is_known)
{
    return is_known ? "a" : NULL;
}

bool either(int i, int a)
{
    for (; i<a && * p> 2; i++)
        ;
    return false;
}
"""
EXPECTED = """
sum: text + q.a * 2 -> text - q.a * 2
sum: q.a * 2 -> q.a / 2
sum: q.a * 2 -> q.a + 2
sum: return -EINVAL -> return 0
sum: !q.a && *p >= (int)sizeof(q.a + 1) || q.b - q.a - 1 < -*p -> !q.a && *p >= (int)sizeof(q.a + 1) && q.b - q.a - 1 < -*p
sum: !q.a && *p >= (int)sizeof(q.a + 1) -> !q.a || *p >= (int)sizeof(q.a + 1)
sum: !q.a -> q.a
sum: *p >= (int)sizeof(q.a + 1) -> *p > (int)sizeof(q.a + 1)
sum: *p >= (int)sizeof(q.a + 1) -> *p < (int)sizeof(q.a + 1)
sum: q.b - q.a - 1 < -*p -> q.b - q.a - 1 <= -*p
sum: q.b - q.a - 1 < -*p -> q.b - q.a - 1 >= -*p
sum: q.b - q.a - 1 -> q.b - q.a + 1
sum: q.b - q.a -> q.b + q.a
sum: kept += q.a ? 1 : 2 -> kept -= q.a ? 1 : 2
sum: *p++ & 1 -> *p++ | 1
sum: return (size_t)q.a << 3 == 8 ? kept : 0 -> return 0
sum: return (size_t)q.a << 3 == 8 ? kept : 0 -> return ((size_t)q.a << 3 == 8 ? kept : 0) + 1
sum: (size_t)q.a << 3 == 8 -> (size_t)q.a << 3 != 8
sum: (size_t)q.a << 3 -> (size_t)q.a >> 3
name: return is_known ? "a" : NULL -> return NULL
either: i<a && * p> 2 -> i<a || * p> 2
either: i<a -> i <= a
either: i<a -> i >= a
either: * p> 2 -> * p >= 2
either: * p> 2 -> * p <= 2
either: return false -> return true
"""
NESTED = """// SPDX-License-Identifier: GPL-2.0-only
bool f(int a, int b)
{
    return a < b &&
        !(a + b); // sum
}
"""
PLANTED = """int planted(int number); // SPDX-License-Identifier: GPL-2.0-only
bool f(int a, int b)
{
    return (planted(1) ? (!((planted(2) ? (((planted(3) ? ((a) <= (b)) : (a < b))) || ((planted(4) ? \
(!!(((planted(5) ? ((a) - (b)) : (a + b))))) : (!((planted(5) ? ((a) - (b)) : (a + b))))))) : \
((planted(3) ? ((a) <= (b)) : (a < b)) && (planted(4) ? (!!(((planted(5) ? ((a) - (b)) : (a + b))))) : \
(!((planted(5) ? ((a) - (b)) : (a + b))))))))) : ((planted(2) ? (((planted(3) ? ((a) <= (b)) : (a < b))) || \
((planted(4) ? (!!(((planted(5) ? ((a) - (b)) : (a + b))))) : (!((planted(5) ? ((a) - (b)) : (a + b))))))) : \
((planted(3) ? ((a) <= (b)) : (a < b)) &&
        (planted(4) ? (!!(((planted(5) ? ((a) - (b)) : (a + b))))) : (!((planted(5) ? ((a) - (b)) : (a + b))))))))); // sum
}
"""


def wrong_sample():
    source = c_faults.Source("sample.c", SAMPLE)
    places = c_faults.Finder(source).places()
    faults = [c_faults.fault(source, 1, place, choice) for place in places for choice in place.choices]
    found = [f"{fault.place.function}: {fault.before} -> {fault.after}" for fault in faults]
    expected = EXPECTED.strip().splitlines()
    return [tap.wrong("no other fault", extra) for extra in found if extra not in expected] + [
        tap.wrong(missing, "no such fault") for missing in expected if missing not in found
    ]


def wrong_planting():
    source = c_faults.Source("nested.c", NESTED)
    faults = [
        c_faults.fault(source, number, place, place.choices[0])
        for number, place in enumerate(c_faults.Finder(source).places(), 1)
    ]
    text = c_faults.Planter(source, faults).text()
    return [] if text == PLANTED else [tap.wrong(PLANTED, text)]


def wrong_showing():
    source = c_faults.Source("sample.c", "int f(int a)\n{\n\treturn a || b || c;\n}\n")
    shown = [
        c_faults.with_fault(source, c_faults.fault(source, 1, place, place.choices[0]))
        for place in c_faults.Finder(source).places()
    ]
    expected = ["return 0;", "return (a || b) && c;", "return a && b || c;"]
    return [tap.wrong(one, text) for one, text in zip(expected, shown, strict=True) if one not in text]


def wrong_equivalents():
    """Rows that no longer describe a place of the tree."""
    files = planted.sources(tap.TREE)
    for row in planted.equivalents(tap.TREE):
        if len(row) != 5:
            yield f"equivalent-mutants.tsv: a row has {len(row)} columns, not 5: {' / '.join(row)}"
            continue
        source = files.get(row[0])
        places = c_faults.Finder(source).places() if source else []
        faults = [c_faults.fault(source, 0, place, choice) for place in places for choice in place.choices]
        if not any(fault.names(*row[:4]) for fault in faults):
            yield f"equivalent-mutants.tsv: {row[0]} has no such fault in {row[1]}: {row[2]} -> {row[3]}; remove the row"


def main():
    return tap.run(
        [
            ("places of a sample are found", wrong_sample()),
            ("faults inside faults are planted", wrong_planting()),
            ("a fault that is shown means what is planted", wrong_showing()),
            ("equivalent mutants are in the tree", list(wrong_equivalents())),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
