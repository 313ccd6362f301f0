"""Random rules and events for Spark: fewer kinds of rules than in ``agreement.rule_strategies``."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa

PATTERNS = (
    "SEQ({A} a, {B} b)",
    "SEQ({A} a, {B}+ b[], {C} c)",
    "SEQ({A} a, ~({C} n), {B} b)",
    "SEQ({A} a, {B} b, ~({C} n))",
    "SEQ({A} a, ~({C} n) WITHIN 3)",
    "OR(SEQ({A} a, {B} b), {C} c)",
    "AND({A} a, {B} b)",
    "ANY({A}, {B}) a",
)
CONDITIONS = (
    "",
    "[id]",
    "[id] AND a.x > {x}",
    "a.x % 3 = {x}",
    "a.x > {x} AND a.s != 'p'",
    "[id] AND a.s = 'q' AND a.f <= {x}.5",
    "[id] AND [s] AND a.x IN ({x}, 3, 4)",
)
ACROSS = ("b.x > a.x + {x}", "b.x - a.x != {x} * 2", "b.f * 2 < a.f + {x}.5", "b.x % 4 = a.x % {y}")
"""Conditions between two events; constants may be the same or 0."""
STRATEGIES = ("", "skip_till_next_match", "strict_contiguity")
WINDOWS = ("WITHIN {w}", "WITHIN {w}", "WITHIN {w} EVENTS", "WITHIN 4 EVENTS PER PARTITION")
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
COLUMNS = tuple(SCHEMA.names)
OUTPUTS = (None, None, "first", "longest", "leftmost", "non_overlapping")


def random_rule(random: Random, unit: str) -> dict[str, Any]:
    """The fields of a rule over events of types A to D; times have this unit."""
    types = dict(zip("ABC", random.choices("ABCD", k=3), strict=True))
    pattern = random.choice(PATTERNS).replace("WITHIN 3", f"WITHIN 3{unit}").format(**types)
    constants = {"x": random.randint(0, 5), "y": random.randint(1, 3)}
    condition = random.choice(CONDITIONS).format(**constants)
    if pattern.startswith("SEQ") and " b," in f"{pattern[:-1]}," and random.random() < 0.4:
        across = random.choice(ACROSS).format(**constants)
        condition = f"{condition} AND {across}" if condition else across
    window = random.choice(WINDOWS).format(w=random.choice((3, 6, 9)))
    if "~" in pattern and "n) WITHIN" in pattern:
        window = "WITHIN 9"
    window += "" if "EVENTS" in window else unit
    if "PER PARTITION" in window and "[id]" not in condition:
        condition = "[id]" if not condition else f"[id] AND {condition}"
    strategy = random.choice(STRATEGIES) if "AND(" not in pattern else ""
    where = f"WHERE {strategy} {{ {condition} }}" if strategy and condition else ""
    where = where or (f"WHERE {condition}" if condition else "")
    rule: dict[str, Any] = {"query": f"PATTERN {pattern} {where} {window}"}
    output = random.choice(OUTPUTS)
    if output is not None:
        rule["output"] = output
    if random.random() < 0.2:
        gap = random.choice((2, 5))
        rule["at_most_once_per"] = f"{gap}{unit}" if unit else gap
    if random.random() < 0.3:
        rule["query"] += " RETURN a.x * 2 AS y" if not pattern.startswith("OR") else ""
    return rule


def random_batches(random: Random, schema: pa.Schema, count: int = 40) -> list[pa.Table]:
    """Events in batches of random sizes."""
    rows, ts = [], 0
    for _ in range(count):
        ts += random.choice((0, 1, 1, 2, 3))
        row = (ts, random.choice("AABBCD"), random.choice("kmn"), random.randint(0, 9))
        rows.append((*row, random.choice(("p", "q", None)), random.choice((0.5, 3.5, 6.0, None))))
    rows[0] = (*rows[0][:4], "p", 0.5)
    cuts = [0, *sorted(random.sample(range(1, count), random.randint(1, 8))), count]
    columns = {name: [row[ix] for row in rows] for ix, name in enumerate(COLUMNS)}
    table = pa.table(columns, schema=SCHEMA).cast(schema)
    return [table.slice(low, high - low) for low, high in pairwise(cuts)]
