"""Hostile query texts: legal ones, changed token by token, cut, repeated and nested."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
MOST_CHARACTERS = 65_536
TOKEN = re.compile(r"\s+|\w+|'[^']*'|[<>=!]=|<>|.", re.DOTALL)
KEYWORDS = """
    PATTERN EVENT SEQ AND OR ANY NOT WHERE WITHIN RETURN OUTPUT FROM AS IN BETWEEN LIKE IS NULL TRUE
    FALSE CASE WHEN THEN ELSE END DISTINCT LEN INDEX EVENTS PER PARTITION strict_contiguity
    partition_contiguity skip_till_next_match skip_till_any_match min max sum avg count first last
    abs upper length a b c a[] a[i] a[i-1] a[..i-1] ( ) [ ] { } , ; . + * - / % = == != <> < <= > >=
    ~ ! ? ∼ ∧ ∨ ¬ ≠ ≤ ≥ | || && : @ # $ 0 1 -1 2 9223372036854775807 9223372036854775808 1e308 1e999
    MATCH_RECOGNIZE PARTITION ORDER BY MEASURES DEFINE SUBSET PERMUTE FINAL RUNNING PREV NEXT LAST
    CLASSIFIER() MATCH_NUMBER() AFTER SKIP PAST ROW INTERVAL {- -} ^ ?? *? LONGEST LEFTMOST
    TIMED OUT WITHOUT ONCE .5 80% 'x' '' "q" `t` /* */ -- {0,} {2,1} {999999999} 'unclosed é 𝔸
"""
ODD = ("\x00", "\x1b[31m", "\ud800", "\u202e", "\n", "10 seconds", "99999999999 weeks")
WORDS = (*KEYWORDS.split(), *ODD)
QUERIES = (
    "PATTERN SEQ(A a, B+ b[], C c) "
    "WHERE skip_till_next_match { [k] AND b[i].x > b[i-1].x } WITHIN 9",
    "PATTERN SEQ(A a, ~(B b), C c) WHERE [k, s] AND a.x < c.x WITHIN 10 seconds RETURN a.x AS x, c",
    "PATTERN AND(A a, OR(B b, SEQ(C c, A d))) WHERE a.x = 1 OR a.s LIKE 'p%' WITHIN 5",
    "PATTERN SEQ(A* a[], B{2,3} b[], ANY(A, C) c) "
    "WHERE avg(b[].x) > 1 AND b.LEN > 1 RETURN sum(a[].x)",
    "EVENT A WHERE x IN (1, 2, 3) AND NOT (s IS NULL) RETURN T(y = x + 1)",
    "PATTERN A+ a[] WHERE strict_contiguity { a[1].x BETWEEN 0 AND 3 } "
    "WITHIN 5 EVENTS PER PARTITION",
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts DESC NULLS FIRST "
    "MEASURES FINAL LAST(B.x, 1) AS l, "
    "PREV(LAST(A.x), 2) AS p, CLASSIFIER(S) AS c, MATCH_NUMBER() AS n ALL ROWS PER MATCH "
    "OMIT EMPTY MATCHES AFTER MATCH SKIP TO LAST B "
    "PATTERN (^ A?? (B{1,3}? | PERMUTE(C, D))* {- E+ -} $) "
    "WITHIN INTERVAL '10' MINUTE SUBSET S = (A, B) DEFINE A AS x > 1, B AS sum(B.x) < NEXT(x) + 5)",
    "PATTERN SEQ(A{2,3} a[] WITHOUT (C c) WITHOUT (B b), ~(C d) WITHIN 5 seconds) "
    "WHERE a[i].s.f[2] = 1 AND c.INDEX > a[1].INDEX "
    "OUTPUT LONGEST AT MOST ONCE PER 5 WITH TIMED OUT",
)


def corpus() -> list[str]:
    """Queries of the documentation, and some that use most of the grammar."""
    found = list(QUERIES)
    for page in sorted(ROOT.glob("docs/**/*.md")):
        found += re.findall(r"```(?:sql|sase)[^\n]*\n(.*?)```", page.read_text(), re.DOTALL)
    return found


_CORPUS = corpus()


def hostile_text(random: Random) -> str:
    """A text that is nearly a query, or was one before it grew."""
    text = random.choice(_CORPUS)
    if random.random() < 0.15:
        return _grown(random, text)[:MOST_CHARACTERS]
    return mutated(random, text)


def mutated(random: Random, text: str) -> str:
    """A text with some of its tokens changed."""
    tokens = TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        _change(random, tokens)
    return "".join(tokens)[:MOST_CHARACTERS]


def _change(random: Random, tokens: list[str]) -> None:
    at = random.randrange(len(tokens) + 1)
    other = random.randrange(len(tokens) + 1)
    low, high = min(at, other), max(at, other)
    kind = random.randrange(6)
    if kind == 0:
        tokens.insert(at, f" {random.choice(WORDS)} ")
    elif kind == 1 and at < len(tokens):
        tokens[at] = random.choice(WORDS)
    elif kind == 2:
        del tokens[low : min(high, low + 4)]
    elif kind == 3:
        tokens[at:at] = tokens[low : min(high, low + 12)]
    elif kind == 4 and high < len(tokens):
        tokens[low], tokens[high] = tokens[high], tokens[low]
    elif kind == 5:
        tokens[at:at] = TOKEN.findall(random.choice(_CORPUS))[:20]


def _grown(random: Random, text: str) -> str:
    """Many components, conditions, brackets or alternatives."""
    count = random.choice((10, 40, 200, 1_000, 5_000))
    kind = random.randrange(12)
    if kind == 0:
        return f"PATTERN SEQ({', '.join(f'A a{ix}' for ix in range(count))})"
    if kind == 1:
        stars = ", ".join(f"A* a{ix}[]" for ix in range(min(count, 40)))
        return f"PATTERN SEQ({stars}, {', '.join(f'B b{ix}' for ix in range(count // 2))})"
    if kind == 2:
        conditions = random.choice((" AND ", " OR ")).join(f"a.x > {ix}" for ix in range(count))
        return f"PATTERN SEQ(A a, B b) WHERE {conditions}"
    if kind == 3:
        return "PATTERN SEQ(A a, B b) WHERE " + "(" * count + "a.x = 1" + ")" * count
    if kind == 4:
        return "PATTERN " + "SEQ(A a, OR(" * min(count, 200) + "B b" + "))" * min(count, 200)
    if kind == 5:
        nested = "a.x"
        for _ in range(min(count, 200)):
            nested = f"({nested} IN (true, false))"
        return f"PATTERN SEQ(A a, B b) WHERE {nested}"
    if kind == 6:
        parts = ", ".join(f"OR(A a{ix}, B b{ix})" for ix in range(min(count, 60)))
        return f"PATTERN SEQ({parts})"
    if kind == 7:
        return f"PATTERN SEQ(A a, B b) WHERE a{random.choice(('.x', '[1]')) * count} = 1"
    if kind in (8, 9, 10):
        wrapper, part = random.choice(((")*", "A"), ("|B)", "A?"), ("){2}", "A+"), (")", "A B")))
        pattern = f"{'(' * count}{part}{wrapper * count}" if kind == 8 else f"{part} " * count
        conditions = " AND ".join(
            f"PREV(x, {ix}) > sum(A.x)" for ix in range(count if kind > 9 else 1)
        )
        return f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE A AS {conditions})"
    return f"{text} {'NOT ' * count} {random.choice(WORDS) * count}"
