"""Random queries and streams, made so that many of them match something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
from hypothesis import strategies as st

TYPES = ("A", "B", "C")
STRINGS = ("{}", "{}", "{}", "upper({})", "lower({})")
STRING_AGGREGATES = ("min", "max", "first", "last")
AGGREGATES = ("min", "max", "sum", "avg", "count", "first", "last")
STRATEGIES = (
    "skip_till_any_match",
    "skip_till_next_match",
    "strict_contiguity",
    "partition_contiguity",
)


@dataclass(frozen=True)
class Case:
    """A query and a stream."""

    query: str
    rows: tuple[tuple[int, str, int | None, float | None, int | None, str | None], ...]

    def table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [()] * 6
        return pa.table(
            {
                "ts": pa.array(columns[0], pa.int64()),
                "type": pa.array(columns[1], pa.string()),
                "x": pa.array(columns[2], pa.int64()),
                "y": pa.array(columns[3], pa.float64()),
                "k": pa.array(columns[4], pa.int64()),
                "s": pa.array(columns[5], pa.string()),
            }
        )


@dataclass(frozen=True)
class Part:
    """A component of a random pattern."""

    text: str
    variable: str
    kleene: bool
    negated: bool


@st.composite
def streams(draw: st.DrawFn, most: int = 10) -> tuple:
    gaps = st.sampled_from((0, 1, 1, 1, 2, 5))
    rows = []
    now = draw(st.sampled_from((0, 0, -9)))
    for _ in range(draw(st.sampled_from((0, 1, 3, *range(4, most + 1))))):
        now += draw(gaps)
        rows.append(
            (
                now,
                draw(st.sampled_from((*TYPES, "A", "B", "Z"))),
                draw(st.one_of(st.none(), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))),
                draw(st.sampled_from((0.0, 0.5, 1.5, 2.0, None))),
                draw(st.sampled_from((1, 1, 1, 2, None))),
                draw(st.sampled_from(("p", "p", "q", "P", None))),
            )
        )
    return tuple(rows)


@st.composite
def sequences(draw: st.DrawFn, negation: bool) -> list[Part]:
    parts: list[Part] = []
    number = draw(st.integers(1, 4))
    for ix in range(number):
        name = "abcd"[ix]
        types = draw(st.sampled_from((*TYPES, "ANY(A, B)", "ANY(B, C)")))
        shape = draw(st.sampled_from(("one", "one", "one", "plus", "star", "bounded", "not")))
        if shape == "not" and negation and number > 1:
            parts.append(Part(f"~({types} {name})", name, False, True))
        elif shape in ("plus", "star", "bounded"):
            mark = {
                "plus": "+",
                "star": "*",
                "bounded": draw(st.sampled_from(("{2}", "{1,2}", "{2,}", "{2,3}", "{0,2}"))),
            }[shape]
            parts.append(Part(f"{types}{mark} {name}[]", name, True, False))
        else:
            parts.append(Part(f"{types} {name}", name, False, False))
    if all(part.negated for part in parts):
        parts[0] = Part("A a", "a", False, False)
    return parts


@st.composite
def conditions(draw: st.DrawFn, parts: list[Part]) -> str:
    compare = draw(st.sampled_from(("<", "<=", ">", ">=", "=", "!=")))
    part = draw(st.sampled_from(parts))
    attribute = draw(st.sampled_from(("x", "x", "y")))
    constant = draw(st.sampled_from(("0", "1", "2", "3", "0.5", "80%")))
    here = f"{part.variable}.{attribute}"
    if part.kleene:
        here = draw(
            st.sampled_from(
                (
                    f"{part.variable}[i].{attribute}",
                    f"{part.variable}[1].{attribute}",
                    f"{part.variable}[2].{attribute}",
                    f"{part.variable}[{part.variable}.LEN].{attribute}",
                    f"{part.variable}.LEN",
                    f"{draw(st.sampled_from(AGGREGATES))}({part.variable}[].{attribute})",
                )
            )
        )
        own = draw(
            st.sampled_from(
                (
                    f"{part.variable}[i].{attribute} {compare} {part.variable}[i-1].{attribute}",
                    f"{part.variable}[i].{attribute} {compare} "
                    f"{draw(st.sampled_from(AGGREGATES))}"
                    f"({part.variable}[..i-1].{attribute})",
                    f"{part.variable}[i].{attribute} >= {part.variable}[1].{attribute}",
                    f"{part.variable}[3].x {compare} {part.variable}[1].x",
                    f"{part.variable}[i].{attribute} {compare} "
                    f"{part.variable}[{draw(st.sampled_from((2, 3)))}].{attribute}",
                    f"{part.variable}[i].x + {part.variable}[i-1].x {compare} {part.variable}[2].x",
                    f"{part.variable}[i].s {draw(st.sampled_from(('=', '!=')))} "
                    f"{draw(st.sampled_from(STRING_AGGREGATES))}({part.variable}[..i-1].s)",
                    "",
                )
            )
        )
        if own:
            return own
    other = draw(st.sampled_from([p for p in parts if not (p.negated and part.negated)] or [part]))
    if other is part or draw(st.booleans()):
        return draw(
            st.sampled_from(
                (
                    f"{here} {compare} {constant}",
                    f"NOT {here} {compare} {constant}",
                    f"{here} % 2 = 1",
                    f"{here} IN (0, 2, 0.5)",
                    f"{here} BETWEEN 1 AND 3",
                    f"{here} IS NULL",
                    f"{here} IS NOT NULL",
                    f"({here} {compare} {constant} OR {here} = 0)",
                )
            )
        )
    there = f"{other.variable}.{attribute}"
    if other.kleene:
        there = draw(
            st.sampled_from(
                (
                    f"{other.variable}[1].{attribute}",
                    f"{other.variable}[LEN].{attribute}",
                    f"avg({other.variable}[].{attribute})",
                    f"sum({other.variable}[].x)",
                    f"count({other.variable}[])",
                    f"{other.variable}[i].{attribute}",
                )
            )
        )
    if draw(st.integers(0, 4)) == 0:
        texts = [
            draw(
                st.sampled_from(
                    (
                        f"{each.variable}[i].s",
                        f"{draw(st.sampled_from(STRING_AGGREGATES))}({each.variable}[].s)",
                    )
                )
            )
            if each.kleene
            else f"{each.variable}.s"
            for each in (part, other)
        ]
        first, second = (draw(st.sampled_from(STRINGS)).format(text) for text in texts)
        return f"{first} {draw(st.sampled_from(('=', '!=', '<=', '>')))} {second}"
    return draw(
        st.sampled_from(
            (
                f"{here} {compare} {there}",
                f"{here} + {there} {compare} {constant}",
                f"{here} {compare} {there} * 2 - 1",
                f"({here} {compare} {there} OR {here} = {there} + 1)",
                f"{here} / {there} > 0.5",
                f"abs({here} - {there}) < 2",
                f"round({here} * 1.3, 1) {compare} round({there} / 3)",
                f"power({here} - 1, {there} - 2) {compare} {constant}",
            )
        )
    )


@st.composite
def windows(draw: st.DrawFn, needed: bool) -> str:
    choices = [
        f"WITHIN {draw(st.integers(1, 8))}",
        f"WITHIN {draw(st.integers(1, 7))} EVENTS",
        f"WITHIN {draw(st.integers(1, 5))} EVENTS PER PARTITION",
    ]
    return draw(st.sampled_from(choices if needed else [*choices, choices[0], ""]))


@st.composite
def cases(draw: st.DrawFn, negation: bool = True) -> Case:
    """A query of sequences under any strategy, and a stream."""
    strategy = draw(st.sampled_from(STRATEGIES))
    parts = draw(sequences(negation))
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    if draw(st.integers(0, 9)) == 0:
        pattern = f"OR({pattern}, SEQ(C c9, A a9))"
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(0, 3)))]
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(st.sampled_from(("[k]", "[k]", "[k, s]", "[s = 'p']", "[k = 1]"))))
    elif draw(st.integers(0, 3)) == 0:
        singles = [part.variable for part in parts if not part.kleene and not part.negated]
        tests += [f"{a}.k = {b}.k" for a, b in pairwise(singles)]
    window = draw(windows(any(part.negated for part in parts)))
    query = f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(tests)} }} {window}"
    return Case(query, draw(streams()))


@st.composite
def sequence_cases(draw: st.DrawFn, negation: bool) -> Case:
    """A query of single events under skip_till_any_match, with several keys, and a stream."""
    number = draw(st.integers(1 + negation, 4))
    negated = (
        draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=number - 1))
        if (negation)
        else set()
    )
    parts = []
    for ix, name in zip(range(number), "abcd", strict=False):
        types = draw(st.sampled_from((*TYPES, *TYPES, "ANY(A, B)", "ANY(B, C)")))
        text = f"~({types} {name})" if ix in negated else f"{types} {name}"
        parts.append(Part(text, name, False, ix in negated))
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    if draw(st.integers(0, 7)) == 0:
        pattern = f"OR({pattern}, SEQ(C c9, A a9))"
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(0, 2)))]
    singles = [part.variable for part in parts if not part.negated]
    mixed = list(zip(singles, "xkxk", strict=False))
    tests += draw(
        st.sampled_from(
            (
                [],
                [],
                ["[k]"],
                ["[k, s]"],
                ["[s, k]"],
                ["[s = 'p']"],
                ["[k, y]"],
                [f"{a}.k = {b}.k" for a, b in pairwise(singles)],
                ["[s]", *(f"{a}.k = {b}.k" for a, b in pairwise(singles))],
                [f"{a}.y = {b}.y" for a, b in pairwise(singles)],
                [f"{a[0]}.{a[1]} = {b[0]}.{b[1]}" for a, b in pairwise(mixed)],
                [f"{parts[0].variable}.k = {part.variable}.k" for part in parts[1:]],
            )
        )
    )
    window = draw(windows(negation))
    query = f"PATTERN {pattern} WHERE {' AND '.join(tests)} {window}"
    if not tests:
        query = f"PATTERN {pattern} {window}"
    return Case(query, draw(streams(14)))


@st.composite
def nested_patterns(draw: st.DrawFn) -> tuple[str, list[Part]]:
    """A pattern of SEQ, AND and OR of any depth, and its components."""
    parts = draw(sequences(negation=True))
    if len(parts) > 1 and draw(st.booleans()):
        number = len(parts)
        types = draw(st.sampled_from(TYPES))
        parts.append(Part(f"{types} {'abcde'[number]}", "abcde"[number], False, False))
    pieces = [(part.text, part.negated) for part in parts]
    while len(pieces) > 1:
        size = draw(st.integers(2, len(pieces)))
        low = draw(st.integers(0, len(pieces) - size))
        joined = pieces[low : low + size]
        # A branch that is all negation has no events to match.
        operators = ["SEQ", "SEQ", "AND", "AND"]
        if not any(negated for _, negated in joined):
            operators.append("OR")
        operator = draw(st.sampled_from(operators))
        text = f"{operator}({', '.join(text for text, _ in joined)})"
        pieces[low : low + size] = [(text, all(negated for _, negated in joined))]
    text = pieces[0][0]
    return text if text[:3] in ("SEQ", "AND", "OR(") else f"SEQ({text})", parts


@st.composite
def equalities(draw: st.DrawFn, parts: list[Part]) -> str:
    """An equality by which events are looked up: of two components, or within a list."""
    a, b = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
    x, y = draw(st.sampled_from(("kk", "xx", "ss", "yy", "xk")))
    if a.kleene and (a is b or draw(st.booleans())):
        of_before = ("[i-1].x", "[1].x", "[a.LEN].x", "first([].x)", "max([..i-1].x)")
        other = draw(st.sampled_from(of_before)).replace("a.", f"{a.variable}.")
        other = other.replace("[", f"{a.variable}[").replace(".x", f".{x}")
        return f"{a.variable}[i].{x} = {other}"
    left, right = (f"{part.variable}[i]" if part.kleene else part.variable for part in (a, b))
    return f"{left}.{x} = {right}.{y}"


@st.composite
def nested_cases(draw: st.DrawFn) -> Case:
    """A query of any composition under skip_till_any_match, and a stream."""
    pattern, parts = draw(nested_patterns())
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(0, 3)))]
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(st.sampled_from(("[k]", "[k]", "[k, s]", "[s = 'p']", "[k = 1]"))))
    elif draw(st.integers(0, 3)) == 0:
        singles = [part.variable for part in parts if not part.kleene and not part.negated]
        tests += [f"{a}.k = {b}.k" for a, b in pairwise(singles)]
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(equalities(parts)))
    window = draw(windows(any(part.negated for part in parts)))
    query = f"PATTERN {pattern} WHERE skip_till_any_match {{ {' AND '.join(tests)} }} {window}"
    return Case(query, draw(streams(9)))


@st.composite
def absence_cases(draw: st.DrawFn) -> Case:
    """A query with negations that have windows of their own, or lists WITHOUT other events."""
    strategy = draw(st.sampled_from((*STRATEGIES, "skip_till_any_match", "skip_till_any_match")))
    parts = draw(sequences(negation=True))
    texts, excluded = [], []
    for part in parts:
        text = part.text
        if part.negated and draw(st.integers(0, 3)):
            text += f" WITHIN {draw(st.integers(1, 9))}"
        if part.kleene and draw(st.integers(0, 3)):
            name = f"{part.variable}9"
            excluded.append(Part("", name, False, True))
            text += f" WITHOUT ({draw(st.sampled_from((*TYPES, 'ANY(A, B)')))} {name})"
        texts.append(text)
    if (not excluded and not any("WITHIN" in text for text in texts)) or draw(
        st.integers(0, 3)
    ) == 0:
        place = draw(st.sampled_from((0, len(texts), len(texts))))
        texts.insert(place, f"~({draw(st.sampled_from(TYPES))} z) WITHIN {draw(st.integers(1, 9))}")
        excluded.append(Part("", "z", False, True))
    if strategy == "skip_till_any_match" and len(parts) > 1 and draw(st.integers(0, 2)) == 0:
        low = draw(st.integers(0, len(texts) - 2))
        kind = draw(st.sampled_from(("AND", "OR", "SEQ")))
        texts[low : low + 2] = [f"{kind}({', '.join(texts[low : low + 2])})"]
    pattern = f"SEQ({', '.join(texts)})"
    if draw(st.integers(0, 4)) == 0:
        other = "SEQ(C c9, ~(B n9) WITHIN 4)"
        pattern = f"OR({pattern}, {draw(st.sampled_from((other, pattern, 'SEQ(C d9, A e9)')))})"
    tests = [draw(conditions([*parts, *excluded])) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(st.sampled_from(("[k]", "[k]", "[k, s]", "[s = 'p']"))))
    window = draw(windows(needed=False))
    query = f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(tests)} }} {window}"
    return Case(query, draw(streams()))


@st.composite
def similar_branches(draw: st.DrawFn) -> Case:
    """An OR of two or three sequences that have much in common, but not their names."""
    parts = draw(sequences(negation=True))
    if len(parts) > 1 and draw(st.booleans()):
        parts.append(Part("C e", "e", False, False))
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(0, 3)))]
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(equalities(parts)))
    branches, every = [], ["[k]"] if draw(st.integers(0, 3)) == 0 else []
    for letters in ("abcde", "pqruv", "fghjl")[: draw(st.integers(2, 3))]:
        names = dict(zip("abcde", draw(st.permutations(letters)), strict=True))
        kept = [each for each in parts if draw(st.integers(0, 4))]
        if all(each.negated for each in kept):
            kept = parts
        texts = [each.text for each in kept]
        if draw(st.integers(0, 3)) == 0:
            texts.append(f"{draw(st.sampled_from(TYPES))} {letters[0]}9")
        operator = draw(st.sampled_from(("SEQ", "SEQ", "SEQ", "AND")))
        branches.append(_with_names(f"{operator}({', '.join(texts)})", names))
        variables = {each.variable for each in parts} - {each.variable for each in kept}
        every += [
            _with_names(test, names)
            for test in tests
            if not variables & set(re.findall(r"\b[a-e]\b", test)) and draw(st.integers(0, 5))
        ]
    window = draw(windows(any(part.negated for part in parts)))
    where = f"WHERE {' AND '.join(every)}" if every else ""
    return Case(f"PATTERN OR({', '.join(branches)}) {where} {window}", draw(streams(9)))


def _with_names(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[a-e]\b", lambda found: names[found[0]], text)
