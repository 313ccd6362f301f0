"""Random sets of rules, their changes, and streams with ties, nulls and gaps."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    {
        "ts": pa.int64(),
        "type": pa.string(),
        "id": pa.string(),
        "x": pa.int64(),
        "s": pa.string(),
        "f": pa.float64(),
    }
)
Fields = dict[str, Any]
"""The fields of a rule."""
_PATTERNS = (
    "SEQ({A} a, {B} b)",
    "SEQ({A} a, {B} b, {C} c)",
    "SEQ({A} a, {B}+ b[], {C} c)",
    "SEQ({A} a, {B}{{1,2}} b[])",
    "SEQ({A} a, {B}* b[], {C} c)",
    "SEQ({A}+ a[], {B} b)",
    "SEQ({A} a, ~({C} n), {B} b)",
    "SEQ(~({C} n), {A} a, {B} b)",
    "SEQ({A} a, {B} b, ~({C} n))",
    "SEQ(~({C} n), {A} a, ~({B} m))",
    "SEQ({A} a, ~({C} n) WITHIN 3)",
    "SEQ(~({C} n) WITHIN 3, {A} a, {B} b)",
    "SEQ({A} a, ~({C} n) WITHIN 3, {B} b)",
    "SEQ({A} a, {B}+ b[] WITHOUT ({C} n), {A} c)",
    "OR(SEQ({A} a, {B} b), {C} c)",
    "OR(SEQ({A} a, ~({C} n)), {B} b)",
    "AND({A} a, {B} b)",
    "AND({A} a, {B} b, ~({C} n))",
    "ANY({A}, {B}) a",
    "SEQ(ANY({A}, {B}) a, ANY({B}, {C}) b)",
    "{A} a",
)
_KEYS = ("", "", "[id]", "[id]", "[id]", "[id, s]", "[s]", "[id = 'k']")
_OWN = ("{v}.x > {x}", "{v}.x % 3 = {x}", "{v}.s != 'p'", "{v}.s = 'q' AND {v}.f <= {x}.5",
        "{v}.x IN ({x}, 3, 4)", "{v}.f IS NULL", "({v}.x = {x} OR {v}.s = 'p')",
        "lower({v}.s) = 'p'", "{v}.f < {x}", "{v}.x <= {x}.5", "NOT {v}.x = {x}",
        "{v}.id = 'k'", "0 < {v}.x")  # fmt: skip
_ACROSS = ("{w}.x > {v}.x + {x}", "{w}.x - {v}.x != {x} * 2", "{w}.f * 2 < {v}.f + {x}.5",
           "{w}.x % 4 = {v}.x % {y}", "{w}.id = {v}.id", "{w}.ts - {v}.ts < {y}",
           "({w}.x = {v}.x OR {w}.x = {x})", "{w}.x / {y} >= {v}.x")  # fmt: skip
_OF_LISTS = ("b[i].x > b[i-1].x", "b[i].x >= {x}", "b.LEN < 3", "avg(b[].x) > {x}",
             "b[1].x != {x}", "b[i].x <= max(b[..i-1].x) + {x}")  # fmt: skip
_STRATEGIES = ("skip_till_next_match", "strict_contiguity", "partition_contiguity")
_OUTPUTS = ("all", "first", "longest", "leftmost", "non_overlapping")
_CLAUSES = (
    "PATTERN (A B) WITHIN INTERVAL '{w}' SECOND DEFINE B AS B.x > A.x + {x}",
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+ C?) DEFINE B AS B.x > PREV(B.x), C AS C.s = 'p'",
    "PATTERN (A {{2,}} B) DEFINE A AS A.x >= {x}, B AS B.type = 'B'",
)


def random_rule(random: Random, unit: str = "") -> Fields:
    """The fields of a rule over events of types A to D; times have this unit."""
    if random.random() < 0.07:
        return {"query": _clause(random)}
    types = dict(zip("ABC", random.choices("ABCD", k=3), strict=True))
    pattern = random.choice(_PATTERNS).format(**types)
    strategy = random.choice(_STRATEGIES) if random.random() < 0.35 else ""
    if strategy and re.search(r"AND\(", pattern):
        strategy = ""
    conditions = [random.choice(_KEYS), *_conditions(random, pattern)]
    window = _window(random, pattern, unit)
    if ("PER PARTITION" in window or strategy == "partition_contiguity") and not conditions[0]:
        conditions[0] = "[id]"
    condition = " AND ".join(filter(None, conditions))
    where = f"WHERE {strategy} {{ {condition} }}" if strategy else f"WHERE {condition}"
    if not strategy and not condition:
        where = ""
    pattern = re.sub(r"WITHIN (\d)", rf"WITHIN \1{unit}", pattern)
    rule: Fields = {"query": f"PATTERN {pattern} {where} {window}"}
    if random.random() < 0.3:
        rule["query"] += _returned(random, pattern)
    kind = random.random()
    if kind < 0.35:
        rule["output"] = random.choice(_OUTPUTS)
    elif kind < 0.45:
        rule["timed_out"] = True
    if random.random() < 0.2:
        gap = random.choice((2, 5))
        rule["at_most_once_per"] = f"{gap}{unit}" if unit else gap
    return rule


def similar_rule(rule: Fields, random: Random) -> Fields:
    """The same rule with other types and constants."""

    query, word, rest = rule["query"].partition("WHERE")
    query = re.sub(r"\b[A-D]\b(?=[+*{]| \w)", lambda _: random.choice("ABCD"), query)
    condition, window, end = rest.rpartition(" WITHIN")
    if "MATCH_RECOGNIZE" in query or not window:
        return dict(rule)
    condition = re.sub(r"(?<=[<>=+*] )\d\b", lambda _: str(random.randint(0, 6)), condition)
    return {**rule, "query": f"{query}{word}{condition}{window}{end}"}


def changed(rule: Fields, random: Random, unit: str) -> Fields | None:
    """What a rule is after a change; None if it is removed."""
    kind = random.choice(("return", "severity", "disabled", "anew", "similar", "gone"))
    if kind == "anew":
        return random_rule(random, unit)
    if kind == "similar":
        return similar_rule(rule, random)
    if kind == "severity":
        return {**rule, "severity": random.choice(("low", "high"))}
    if kind == "disabled":
        return {**rule, "enabled": not rule.get("enabled", True)}
    if kind == "gone":
        return None
    if "MATCH_RECOGNIZE" in rule["query"]:
        return rule
    query = rule["query"].partition(" RETURN")[0]
    return {**rule, "query": query + _returned(random, query)}


def random_batches(random: Random, schema: pa.Schema = SCHEMA, count: int = 40) -> list[pa.Table]:
    """Events in batches of random sizes; some are empty."""
    rows, ts = [], random.choice((0, 0, -30))
    for _ in range(count):
        ts += random.choice((0, 1, 1, 2, 3))
        row = (ts, random.choice("AABBCD"), random.choice(("k", "m", "n", None)))
        row += (random.choice((*range(10), None)),)
        rows.append((*row, random.choice(("p", "q", "P", None)), random.choice((0.5, 3.5, None))))
    rows[0] = (*rows[0][:2], "k", 1, "p", 0.5)
    cuts = [0, *sorted(random.choices(range(1, count), k=random.randint(1, 8))), count]
    columns = {name: [row[ix] for row in rows] for ix, name in enumerate(SCHEMA.names)}
    table = pa.table(columns, schema=SCHEMA).cast(schema)
    return [table.slice(low, high - low) for low, high in pairwise(cuts)]


def _conditions(random: Random, pattern: str) -> list[str]:
    found = []
    constants = {"x": random.randint(0, 5), "y": random.randint(1, 3)}
    singles = re.findall(r"\b[A-D]\)? ([abcnm])\b(?!\[)", pattern)
    if singles and random.random() < 0.6:
        name = random.choice(singles)
        found.append(random.choice(_OWN).format(v=name, **constants))
    if len(singles) > 1 and not pattern.startswith("OR") and random.random() < 0.4:
        one, other = random.sample(singles, 2)
        if not {one, other} <= {"n", "m"}:
            found.append(random.choice(_ACROSS).format(v=one, w=other, **constants))
    if " b[]" in pattern and random.random() < 0.5:
        found.append(random.choice(_OF_LISTS).format(**constants))
    if "a" in singles and random.random() < 0.05:
        found.append("a.INDEX % 2 = 0")
    return found


def _window(random: Random, pattern: str, unit: str) -> str:
    window = random.choice(("{w}", "{w}", "{w}", "{w}", "{w} EVENTS", "4 EVENTS PER PARTITION", ""))
    if not window and "~" not in pattern and "OUTPUT" not in pattern and random.random() < 0.5:
        return ""
    window = (window or "9").format(w=random.choice((1, 3, 6, 9, 40)))
    return f"WITHIN {window}{'' if 'EVENTS' in window else unit}"


def _returned(random: Random, pattern: str) -> str:
    if pattern.startswith("OR") or "OR(" in pattern or not re.search(r" a\b(?!\[)", pattern):
        return ""
    return random.choice((" RETURN a.x * 2 AS y", " RETURN a", " RETURN a.s, a.ts AS at"))


def _clause(random: Random) -> str:
    body = random.choice(_CLAUSES).format(x=random.randint(0, 4), w=random.choice((2, 5)))
    key = random.choice(("", "PARTITION BY id "))
    return f"MATCH_RECOGNIZE ({key}ORDER BY ts MEASURES A.x AS x, MATCH_NUMBER() AS n {body})"
