"""Each rule of a set finds what its query finds alone, match by match and in time."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from agreement.rule_strategies import (
    SCHEMA,
    Fields,
    changed,
    random_batches,
    random_rule,
    similar_rule,
)

import cepheid as cep

_RANGE = os.environ.get("CEPHEID_RULE_SETS", "0-10").split("-")
SEEDS = range(*map(int, _RANGE))
"""The random sets that are tried."""
LARGEST = 50 if "CEPHEID_RULE_SETS" in os.environ else 8
"""The most rules of a set."""
RUNS = ("output", "at_most_once_per", "timed_out")
_BROKEN = {
    "broken": "PATTERN SEQ(A a",
    "column": "PATTERN A a WHERE a.nope = 1",
    "order": "MATCH_RECOGNIZE (ORDER BY x PATTERN (A) DEFINE A AS A.x > 0)",
}


class Alone:
    """The query of a rule alone, from the batch with which the rule began.

    Events of before have a type that no rule reads, so that positions are those of the set.
    """

    def __init__(self, rule: Fields, schema: pa.Schema, past: pa.Table, limits: Fields) -> None:
        query = cep.query(rule["query"])
        self.rule = self.began = rule
        self.is_sase, self.skipped = isinstance(query, cep.CompiledQuery), 0
        if isinstance(query, cep.RowPatternQuery):
            self.session: Any = query.session(**unit_of(schema))
            self.session.feed(schema.empty_table())
            return
        keywords = {name: rule[name] for name in RUNS if rule.get(name) is not None}
        self.session = query.session(**unit_of(schema), **keywords, **limits)
        if "INDEX" in rule["query"]:  # It counts events from the beginning of the rule.
            self.session.feed(schema.empty_table())
            self.skipped = len(past)
            return
        others = pa.repeat(pa.scalar("Z"), len(past))
        self.session.feed(past.set_column(1, "type", others))

    def step(self, batch: pa.Table | None, time: Any = None) -> Any:
        """The matches that a batch, or the passage of time, completes; None if it fails."""
        try:
            return self.session.feed(batch) if batch is not None else self.session.advance(time)
        except cep.LimitError:
            return None

    def seen(self, found: Any, skipped: int = 0) -> list[str]:
        """What is compared: the rows, or only the events if RETURN was changed later."""
        rows: list[Any] = found.to_arrow().to_pylist()
        if self.is_sase:
            rows = rows if self.rule["query"] == self.began["query"] else []
            rows += [_later(each, skipped) for each in found.bindings()]
        return sorted(map(str, rows))

    def keeps_its_state(self, rule: Fields) -> bool:
        """Whether a change does not concern the pattern."""

        def key(each: Fields) -> list[Any]:
            return [
                each["query"].partition(" RETURN")[0],
                each.get("output"),
                each.get("timed_out"),
            ]

        return key(self.rule) == key(rule)


def _later(rows: Any, count: int) -> Any:
    """The numbers of input rows, if there were more before them."""
    return {
        name: [row + count for row in bound] if isinstance(bound, list) else bound + count
        for name, bound in rows.items()
        if bound is not None
    }


def unit_of(schema: pa.Schema) -> Fields:
    """The keyword for times that are numbers."""
    return {"time_unit": "s"} if pa.types.is_integer(schema.field("ts").type) else {}


@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_rules_agree_with_their_queries(seed: int) -> None:
    """Batches, changes of rules, and snapshots that are restored, in random order."""
    random = Random(seed)
    schema, unit = SCHEMA, ""
    if random.random() < 0.3:
        clock = pa.timestamp(random.choice(("s", "us", "ns")))
        schema, unit = SCHEMA.set(0, pa.field("ts", clock)), " seconds"
    limits = {"max_matches": 12} if random.random() < 0.1 else {}
    Comparison(random, schema, unit, limits, random.randint(2, LARGEST)).run()


def can_run(rule: Fields, schema: pa.Schema) -> bool:
    """Whether the rule alone runs over a stream."""
    try:
        Alone(rule, schema, schema.empty_table(), {})
    except cep.CepheidError:
        return False
    return True


class Comparison:
    """A set of rules over a stream, and each of its rules alone."""

    def __init__(
        self,
        random: Random,
        schema: pa.Schema,
        unit: str,
        limits: Fields,
        count: int,
    ) -> None:
        self.random, self.schema, self.unit, self.limits = random, schema, unit, limits
        self.keywords = {**unit_of(schema), **limits}
        self.past = schema.empty_table()
        self.rules: dict[str, Fields] = {}  # as the set should have them
        self.singles: dict[str, Alone] = {}  # those that run
        rules: dict[str, Fields] = {}
        for number in range(count):
            similar = self.random.choice([*rules.values()]) if rules else None
            rules[f"rule {number}"] = self.random_rule(similar)
        self.made = count
        self.session = cep.rules(rules).session(**self.keywords)
        self.session.feed(self.past)
        for name, rule in rules.items():
            self.begin(name, rule)

    def begin(self, name: str, rule: Fields) -> None:
        """Run a rule alone from now on."""
        self.rules[name] = rule
        self.singles.pop(name, None)
        if rule.get("enabled", True):
            self.singles[name] = Alone(rule, self.schema, self.past, self.limits)

    def run(self) -> None:
        for batch in random_batches(self.random, self.schema):
            self.check(batch)
            self.past = pa.concat_tables([self.past, batch])
            if self.random.random() < 0.2:
                self.check(None, self.past["ts"][-1].as_py())
            if self.random.random() < 0.3:
                self.session = self.session.rules.restore(self.session.snapshot(), **self.keywords)
            if self.random.random() < 0.5:
                self.change()
        self.check(None)

    def check(self, batch: pa.Table | None, time: Any = None) -> None:
        found = self.session.feed(batch) if batch is not None else self.session.advance(time)
        for name in [*self.singles]:
            single = self.singles[name]
            expected = single.step(batch, time)
            if expected is None:
                assert name in self.session.suspended, (name, single.rule)
                del self.singles[name]
                continue
            assert name in found.rules, (name, single.rule, found.faults)
            alone = single.seen(expected, single.skipped)
            assert single.seen(found[name]) == alone, (name, single.rule)
        assert {*found.rules} == {*self.singles}

    def random_rule(self, similar: Fields | None = None) -> Fields:
        """A rule that runs over the stream; often it has the shape of another one."""
        while True:
            if similar is not None and self.random.random() < 0.4:
                rule = similar_rule(similar, self.random)
            else:
                rule = random_rule(self.random, self.unit)
            if can_run(rule, self.schema):
                return rule

    def change(self) -> None:
        """Change some rules in one of the ways in which a session takes changes."""
        names = [name for name, rule in self.rules.items() if self.runs_or_rests(name, rule)]
        changes: dict[str, Fields | None] = {}
        for name in self.random.sample(names, min(len(names), self.random.randint(0, 2))):
            rule = changed(self.rules[name], self.random, self.unit)
            if rule is None or can_run(rule, self.schema):
                changes[name] = rule
        changes[f"rule {self.made}"] = self.random_rule()
        self.made += 1
        way = self.random.choice(("mapping", "mapping", "set", "restored"))
        wanted = {name: rule for name, rule in {**self.rules, **changes}.items() if rule}
        if way == "mapping":
            wrong: dict[str, Any] = {**_BROKEN, "nobody": None}
            wrong |= {name: _BROKEN["broken"] for name in names[:1] if name not in changes}
            faults = self.session.apply({**changes, **wrong}).faults
            assert {fault.rule for fault in faults} == {*wrong}
        elif way == "set":
            self.session.apply(cep.rules({**wanted, "broken": _BROKEN["broken"]}))
        else:
            stored = self.session.snapshot()
            self.session = cep.rules(wanted).restore(stored, **self.keywords)
        for name, rule in changes.items():
            single = self.singles.get(name)
            if rule is None:
                del self.rules[name]
                self.singles.pop(name, None)
            elif rule.get("enabled", True) and single and single.keeps_its_state(rule):
                self.rules[name] = single.rule = rule
            else:
                self.begin(name, rule)

    def runs_or_rests(self, name: str, rule: Fields) -> bool:
        """Whether a rule runs or is disabled, and is not suspended."""
        return name in self.singles or not rule.get("enabled", True)
