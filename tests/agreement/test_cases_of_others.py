"""Cases that other projects test their matchers with, by every evaluation and as a stream.

Patterns and streams are those of regression tests of Apache Flink CEP, Esper, Siddhi and Trino. So
are the answers where both languages mean the same; elsewhere they are what this one says: every
match is reported, an optional component may also be left out, and negations filter. What the others
say in words of their own is written out: an optional group as branches of an ``OR``, ``next``
between two steps that skip as neighbouring numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from streams import Stream, answers, matches, stream

import cepheid as cep
from cepheid.language.syntax import components

WAYS: tuple[Mapping[str, str], ...] = (
    {"evaluation": "auto"},
    {"evaluation": "nfa_b", "options": {"algorithm": "basic"}},
    {"evaluation": "nfa_b", "options": {"algorithm": "merging"}},
    {"evaluation": "nfa_b", "options": {"algorithm": "backtrack"}},
    {"evaluation": "instance_stacks"},
    {"evaluation": "lazy_chain"},
    {"evaluation": "lazy_tree"},
)

FLINK = [
    ("SEQ(A a, ~(B b), C c, D d)", "a c1 b c2 d", "a c1 d"),
    ("SEQ(A a, ~(B b), C c, D d) WHERE b.n = a.n + 1",
     "a(n=1) c1(n=2) b(n=3) c2(n=4) d(n=5)", "a c1 d | a c2 d"),
    ("SEQ(A a, ~(B b), C c, D d) WHERE skip_till_next_match", "a1 b c1 a2 c2 d", "a2 c2 d"),
    ("SEQ(A a, ~(B b), C{0,2} c[], D d) WHERE c.LEN = 2", "a c1 b c2 d", "a [c1 c2] d"),
    ("SEQ(A a, B f, AND(B* b[], ~(C c)), D d)", "a b1 b2 c b3 b4 b5 d",
     "a b3 [b4 b5] d | a b3 [b4] d | a b3 [b5] d | a b3 d | a b4 [b5] d | a b4 d | a b5 d"),
    ("SEQ(A a, ~(C c), B* b[], D d)", "a b1 c b2 b3 d",
     "a [b1 b2 b3] d | a [b1 b2] d | a [b1 b3] d | a [b1] d"),
    ("SEQ(A a, ~(B b)) WITHIN 3", "a1@1 b1@2 a2@4 c@5 b2@10 a3@11 b3@13", "a2"),
    ("SEQ(A a, ~(B b), C{0,2} c[]) WHERE skip_till_next_match WITHIN 3",
     "a1@1 b@2 a2@10 c1@11 c2@12 a3@20 c3@21 c4@24", "a2 | a2 [c1] | a2 [c1 c2] | a3 | a3 [c3]"),
    ("SEQ(S* s[], E e) WHERE s[i].p < 5 AND sum(s[..i-1].p) + s[i].p < 5",
     "s1(p=1) s2(p=2) s3(p=3) e(p=1)",
     "[s1 s2] e | [s1 s3] e | [s1] e | [s2] e | [s3] e | e"),
    ("SEQ(S+ s[], E e) WHERE skip_till_next_match { sum(s[].p) >= 2 }",
     "s1(p=1) s2(p=2) e(p=1)", "[s1 s2] e | [s2] e"),
    ("SEQ(C c, A{2} a[], B b) WHERE a[1].n = c.n + 1",
     "c(n=1) a1(n=2) f1(n=3) a2(n=4) f2(n=5) a3(n=6) b(n=7)", "c [a1 a2] b | c [a1 a3] b"),
    ("SEQ(C c, A{0,3} a[], B b) WHERE a[i].n = a[i-1].n + 1",
     "c(n=1) f1(n=2) a1(n=3) f2(n=4) a2(n=5) a3(n=6) b(n=7)",
     "c [a2 a3] b | c [a1] b | c [a2] b | c [a3] b | c b"),
    ("SEQ(C c, A+ a[], D{0,1} d[], E e) WHERE skip_till_next_match", "c a1 a2 d e",
     "c [a1 a2] e | c [a1 a2] [d] e"),
    ("A{3} a[] WHERE skip_till_next_match", "a1 a2 a3 a4 a5 a6",
     "[a1 a2 a3] | [a2 a3 a4] | [a3 a4 a5] | [a4 a5 a6]"),
    ("SEQ(A a, B+ b[]) WHERE strict_contiguity", "a b1 b2 b3", "a [b1 b2 b3] | a [b1 b2] | a [b1]"),
    ("SEQ(S s, M m, E e) WHERE skip_till_next_match WITHIN 10",
     "s1@1 s2@2 m@3 x@4 e1@11 e2@13", "s2 m e1"),
    ("OR(SEQ(C c, A a, B b, D d), SEQ(C c, D d)) WHERE skip_till_next_match", "c a1 a2 b d",
     "c d | c a1 b d"),
]  # fmt: skip

ESPER = [
    ("OR(SEQ(A{0,1} a[], B{0,1} b[], C c, D d), SEQ(A{0,1} a[], B{0,1} b[]))", "a b c d",
     "[a] [b] | [a] | [b] | [b] c d | [a] [b] c d | c d"),
    ("OR(SEQ(A a, B b, C c), SEQ(A a, D d, E e), A a)", "a b c", "a | a b c"),
    ("OR(SEQ(A{0,1} a[], B b), SEQ(A{0,1} a[], C c))", "a x b", "b"),
    ("SEQ(A{0,1} a[], B b, C{0,1} c[])", "a b c", "[a] b | b | [a] b [c] | b [c]"),
    ("OR(SEQ(A+ a[], D d1, E e1), SEQ(A+ a[], D d1, E e1, D d2, E e2))", "a1 d1 e1 d2 e2",
     "[a1] d1 e1 | [a1] d1 e1 d2 e2"),
    ("OR(A a, SEQ(A a, B b), SEQ(A a, C c), SEQ(D{0,1} d[], E e), SEQ(D{0,1} d[], F f))",
     "a1 f1 c b a2 d f2", "a1 | a2 | f1 | f2 | [d] f2"),
    ("SEQ(ANY(A, B) p, ANY(C, D) q)", "x1 a x2 b1 x3 b2 c x4", "b2 c"),
]  # fmt: skip

SIDDHI = [
    ("SEQ(S{2,5} a[], T b) WHERE skip_till_next_match { a[i].p > 20 AND b.p > a[2].p }",
     "s1(p=25) s2(p=47) t1(p=45) t2(p=55)", "[s1 s2] t2"),
    ("SEQ(S a, AND(T b, T c)) WHERE a.p > 20 AND b.p > a.p AND c.k = 1",
     "s(p=55, k=0) t1(p=72, k=0) t2(p=4, k=1)", "s t1 t2"),
    ("SEQ(S a, S b, T c) WHERE skip_till_next_match { c.p > a.p } WITHIN 2000",
     "s1(p=55)@0 s2(p=54)@600 s3(p=53)@1200 s4(p=52)@2100 t(p=57)@2700", "s3 s4 t"),
    ("SEQ(~(S x), T b) WHERE x.p > 20 AND b.p > 30 WITHIN 1000",
     "s1(p=59)@100 t1(p=58)@2200 s2(p=55)@4000 t2(p=58)@4100", "t1"),
    ("SEQ(T{0,1} a[], S b) WHERE strict_contiguity { b.p > a[1].p }",
     "s1(p=59) t1(p=55) t2(p=56) s2(p=57)", "s1 | s2 | [t2] s2"),
]  # fmt: skip

TRINO = [
    ("SEQ(R a, R+ b[], R+ c[]) WHERE partition_contiguity { b[1].v < a.v AND b[i].v < b[i-1].v"
     " AND c[1].v > b[LEN].v AND c[i].v > c[i-1].v }",
     "r1(v=90) r2(v=80) r3(v=70) r4(v=80) r5(v=70) r6(v=80)",
     "r1 [r2 r3] [r4] | r2 [r3] [r4] | r4 [r5] [r6]"),
    ("SEQ(R a, R{2} b[]) WHERE partition_contiguity { b[1].v < a.v AND b[i].v < b[i-1].v }",
     "r1(v=100) r2(v=100) r3(v=90) r4(v=80) r5(v=70) r6(v=100)", "r2 [r3 r4] | r3 [r4 r5]"),
]  # fmt: skip

CASES = [
    *FLINK,
    *((f"{pattern} WHERE strict_contiguity", events, found) for pattern, events, found in ESPER),
    *SIDDHI,
    *TRINO,
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_every_evaluation_finds_what_others_find(query: str, events: str, expected: str) -> None:
    text, given, found = f"PATTERN {query}", stream(events), answers(expected)
    compiled = cep.query(text)
    assert matches(text, given) == found
    accepted = 0
    for way in WAYS:
        try:
            whole = compiled.match(_columns(given), **way)
            parts = list(_event_by_event(compiled, given, way))
        except cep.EvaluationError:
            continue
        accepted += 1
        assert _shown(compiled, given, whole.bindings()) == found, way
        assert _shown(compiled, given, parts) == found, way
    assert accepted > 1


def _event_by_event(
    query: cep.CompiledQuery, events: Stream, way: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    session = query.session(**way)
    table = _columns(events)
    for row in range(len(events)):
        yield from session.feed(table.slice(row, 1)).bindings()
        session = query.restore(session.snapshot(), **way)
    yield from session.advance().bindings()


def _columns(events: Stream) -> pa.Table:
    names = dict.fromkeys(name for event in events for name in event.values)
    columns: dict[str, list[Any]] = {name: [e.values.get(name) for e in events] for name in names}
    columns["ts"] = [event.ticks for event in events]
    columns["type"] = [event.type for event in events]
    return pa.table(columns)


def _shown(
    query: cep.CompiledQuery, events: Stream, bindings: Iterable[Mapping[str, Any]]
) -> set[str]:
    names = dict.fromkeys(c.variable for c, _ in components(query.tree.pattern))
    return {
        " ".join(_labels(events, binding[name]) for name in names if name in binding)
        for binding in bindings
    }


def _labels(events: Stream, rows: int | list[int]) -> str:
    if isinstance(rows, int):
        return events.labels[rows]
    return f"[{' '.join(events.labels[row] for row in rows)}]"
