"""Each rule of a set finds what its query finds alone, match by match and in time."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid as cep

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
LARGEST = 50 if "CEPHEID_RULE_SETS" in os.environ else 8
"""The most rules of a set."""
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


def alone(rule: dict[str, Any]) -> tuple[cep.CompiledQuery, dict[str, Any]]:
    """The query of a rule, and the keywords with which it is run alone."""
    keywords = {name: rule[name] for name in ("output", "at_most_once_per") if name in rule}
    return cep.query(rule["query"]), keywords


class Alone:
    """The query of a rule alone, from the batch with which the rule began."""

    def __init__(self, rule: dict[str, Any], schema: pa.Schema, skipped: int = 0) -> None:
        query, keywords = alone(rule)
        self.rule = rule
        self.skipped = skipped
        self.session = query.session(**keywords)
        self.session.feed(schema.empty_table())

    def step(self, batch: pa.Table | None) -> list[str]:
        """The rows of the matches that a batch completes."""
        found = self.session.feed(batch) if batch is not None else self.session.advance()
        return sorted(str(_later(rows, self.skipped)) for rows in found.bindings())

    def keeps_its_state(self, rule: dict[str, Any]) -> bool:
        """Whether a change does not concern the pattern."""

        def key(each: dict[str, Any]) -> list[Any]:
            return [each["query"].partition(" RETURN")[0], each.get("output")]

        return key(self.rule) == key(rule)


def _later(rows: Any, count: int) -> Any:
    return {
        name: [row + count for row in bound] if isinstance(bound, list) else bound + count
        for name, bound in rows.items()
    }


def changed(rule: dict[str, Any], random: Random, unit: str) -> dict[str, Any] | None:
    """What a rule is after a change; None if it is removed."""
    kind = random.choice(("return", "severity", "anew", "anew", "gone"))
    if kind == "anew":
        return random_rule(random, unit)
    if kind == "severity":
        return {**rule, "severity": random.choice(("low", "high"))}
    if kind == "gone":
        return None
    is_plain = "OR(" not in rule["query"]
    query = rule["query"].partition(" RETURN")[0]
    return {**rule, "query": query + (" RETURN a.x * 2 AS y" if is_plain else "")}


@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
@settings(max_examples=int(os.environ.get("CEPHEID_RULE_SETS", "40")), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, LARGEST))
def test_rules_agree_with_their_queries(random: Random, count: int) -> None:
    """Batches, changes of rules, and snapshots that are restored, in random order."""
    schema, unit = SCHEMA, ""
    if random.random() < 0.3:
        clock = pa.timestamp(random.choice(("s", "us", "ns")))
        schema, unit = SCHEMA.set(0, pa.field("ts", clock)), " seconds"
    rules = {f"rule {number}": random_rule(random, unit) for number in range(count)}
    session = cep.rules(rules).session()
    singles: dict[str, Alone] = {}
    for name, rule in rules.items():
        with suppress(cep.CepheidError):
            singles[name] = Alone(rule, schema)
    made, skipped, values = count, 0, []
    for batch in [*random_batches(random, schema), None]:
        found = session.feed(batch) if batch is not None else session.advance()
        values += [] if batch is None else batch["x"].to_pylist()
        skipped += 0 if batch is None else len(batch)
        assert {*found.rules} == {*singles}
        for name, single in singles.items():
            matches = found[name]
            assert sorted(map(str, matches.bindings())) == single.step(batch), single.rule
            for match in matches:
                if "AS y" in single.rule["query"]:
                    assert match["y"] == 2 * values[match.bindings["a"]]
        if batch is None:
            break
        if random.random() < 0.3:
            session = session.rules.restore(session.snapshot())
        if random.random() < 0.5:
            names = random.sample(sorted(singles), random.randint(0, min(2, len(singles))))
            changes = {name: changed(singles[name].rule, random, unit) for name in names}
            changes[f"rule {made}"] = random_rule(random, unit)
            made += 1
            before = {name: single.rule for name, single in singles.items()}
            if random.random() < 0.3:
                after = cep.rules({k: v for k, v in {**before, **changes}.items() if v is not None})
                changes = {
                    name: rule for name, rule in changes.items() if not rule or name in after
                }
                singles = {
                    name: each for name, each in singles.items() if name in after or name in changes
                }
                session = after.restore(session.snapshot())
            else:
                session.apply(changes)
            for name, rule in changes.items():
                if rule is None:
                    del singles[name]
                elif name in singles and singles[name].keeps_its_state(rule):
                    singles[name].rule = rule
                else:
                    with suppress(cep.CepheidError):
                        singles[name] = Alone(rule, schema, skipped)
