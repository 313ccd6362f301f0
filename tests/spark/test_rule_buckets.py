"""A bucket of a stream of rules gives what a local session gives, with changes of the rules."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from agreement.rule_strategies import SCHEMA, changed, random_batches, random_rule
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row
from spark.test_buckets import START_MS, Stream
from spark.test_rules import local_alerts, spark_alerts

import cepheid as cep
from cepheid.spark.batch.arrow_schemas import spark_schema
from cepheid.spark.stream.live_buckets import LiveBuckets
from cepheid.spark.stream.packing import CHANGE, ORDER, REPORTS, to_blob
from cepheid.spark.stream.rules import _settings as stream_settings
from cepheid.spark.stream.timing import Timing
from cepheid.spark.worker.rule_stream import RuleStreamSettings, rule_text
from cepheid.spark.worker.rule_worker import GROUP

EVER = datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
KEYWORDS = {"tie_break": "seq"}
pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")


def in_milliseconds(rule: dict[str, Any]) -> dict[str, Any]:
    """The rule with its numbers taken for milliseconds."""
    found = {
        **rule,
        "query": rule["query"]
        if "MATCH_RECOGNIZE" in rule["query"]
        else re.sub(r"(WITHIN \d+)(?! EVENTS)\b", r"\1 milliseconds", rule["query"]),
    }
    if "at_most_once_per" in rule:
        found["at_most_once_per"] = f"{rule['at_most_once_per']} milliseconds"
    return found


def timed(table: pa.Table, first: int) -> pa.Table:
    """The events with points in time and a column that orders them."""
    ticks = [(START_MS + tick) * 1_000 for tick in table["ts"].to_pylist()]
    table = table.set_column(0, "ts", pa.array(ticks, pa.timestamp("us", "UTC")))
    return table.append_column("seq", pa.array(range(first, first + len(table)), pa.int64()))


def settings_of(
    rules: cep.RuleSet, schema: pa.Schema, keys: tuple[tuple[str, ...], ...] = (("id",), ())
) -> RuleStreamSettings:
    made = stream_settings(keys, spark_schema(schema), KEYWORDS, rules)
    return made.beginning_with(tuple(rule_text(rule) for rule in rules.values()))


class RuleStream(Stream):
    """A bucket of rules. If it ``moves``, every step runs in another process."""

    moves = False

    def _attempt(self, rows: list[Row]) -> list[Row]:
        if not self.moves:
            return super()._attempt(rows)
        with patch("cepheid.spark.stream.bucket_store.LIVE", LiveBuckets()):
            return super()._attempt(rows)

    def events(self, table: pa.Table) -> None:
        copies = [
            table.add_column(0, GROUP, pa.repeat(pa.scalar(number, pa.int32()), len(table)))
            for number in range(len(self.settings.keys))
        ]
        self.micro_batch(pa.concat_tables(copies))

    def change(self, *texts: str, reports: bool = True) -> None:
        table = pa.table({CHANGE: texts, ORDER: range(len(texts)), REPORTS: [reports] * len(texts)})
        self._step([Row(part=-1, newest_us=None, data=to_blob(table))])

    def found_rows(self) -> list[dict[str, Any]]:
        return pa.Table.from_batches(self.found, self.settings.result_schema).to_pylist()


def without_ids(counted: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for text, count in counted.items():
        row = json.loads(text)
        del row["match_id"]
        found[json.dumps(row)] += count
    return found


def as_text(name: str, rule: dict[str, Any] | None) -> str:
    return json.dumps({"name": name, **({"removed": True} if rule is None else rule)})


@settings(
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(os.environ.get("CEPHEID_RULE_BUCKETS", "6")),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # To shrink a Random takes too long.
)
@given(st.randoms(use_true_random=False), st.lists(st.booleans(), max_size=12), st.booleans())
def test_a_bucket_gives_the_matches_of_a_local_session(
    random: Random, troubles: list[bool], moves: bool
) -> None:
    given_rules = {f"rule {ix}": in_milliseconds(random_rule(random, "")) for ix in range(5)}
    rules = cep.rules(given_rules)
    batches, first = [], 0
    for each in random_batches(random, SCHEMA):
        batches.append(timed(each, first))
        first += len(each)
    schema = batches[0].schema
    timing = Timing(0, in_order=True)
    stream = RuleStream(settings_of(rules, schema), timing, 0, None, troubles)  # type: ignore[arg-type]
    stream.moves = moves
    local = rules.session(**KEYWORDS)
    local.feed(schema.empty_table())
    current = dict(given_rules)
    expected: Counter[str] = Counter()
    faults = 0
    for number, batch in enumerate(batches):
        if random.random() < 0.5:
            name = random.choice([*current, f"new {number}", f"new {number}"])
            rule = (
                changed(current[name], random, "") if name in current else random_rule(random, "")
            )
            rule = None if rule is None else in_milliseconds(rule)
            found = local.apply({name: rule})
            faults += len(found.faults)
            expected += local_alerts(found)
            stream.change(as_text(name, rule))
            if rule is None:
                del current[name]
            elif name in local.rules:
                current[name] = rule
        stream.events(batch)
        expected += local_alerts(local.feed(batch))
    stream.end()
    expected += local_alerts(local.advance(EVER))
    rows = stream.found_rows()
    assert without_ids(spark_alerts(rows)) == without_ids(expected)
    ids = [row["match_id"] for row in rows if row["fault"] is None]
    assert len({*ids}) == len(ids)
    assert sum(row["fault"] is not None for row in rows) == faults


EVENTS = timed(
    pa.table(
        {
            "ts": [0, 1, 2, 3, 4, 5],
            "type": ["A", "B", "A", "B", "A", "B"],
            "id": ["k", "k", "k", "k", "m", "m"],
            "x": [1, 2, 3, 4, 5, 6],
            "s": ["p", "q", "p", "q", "p", "q"],
        }
    ),
    0,
)


def test_a_change_that_cannot_be_made_is_a_fault_row() -> None:
    rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 second"})
    made = settings_of(rules, EVENTS.schema, (("id",),))
    stream = RuleStream(made, Timing(0, in_order=True), 0)  # type: ignore[arg-type]
    stream.events(EVENTS.slice(0, 2))
    wrong = {
        "{": "not JSON",
        "[]": "a change is a JSON object",
        "[" * 100_000: "nested too deeply",
        '{"name": "\\ud800", "query": "PATTERN A a"}': "surrogates",
        '{"name": "pair", "removed": "yes"}': "removed is true or false",
        '{"name": "pear", "enabled": false}': "Did you mean 'pair'",
        '{"name": "gone", "removed": true}': "no rule of this name",
        '{"name": "broken", "query": "PATTERN SEQ(A a"}': "is not closed",
        '{"name": "column", "query": "PATTERN SEQ(A a, B b) WHERE [id] AND a.y = 1"}': "'y'",
        '{"name": "key", "query": "PATTERN SEQ(A a, B b) WITHIN 1 second"}': "key of the stream",
        '{"name": "rows", "query": "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"}': "PARTITION BY",
        '{"name": "end", "query": "MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts PATTERN (A $))"}': (
            "$"
        ),
        '{"name": "field", "query": "PATTERN A a", "severe": 1}': "no field 'severe'",
    }
    stream.change(*wrong)
    stream.change(*wrong, reports=False)
    stream.change('{"name": "pair", "severity": "high"}', '{"name": "b", "query": "PATTERN B b"}')
    stream.events(EVENTS.slice(2))
    rows = stream.found_rows()
    faults = [row["fault"] for row in rows if row["fault"]]
    assert len(faults) == len(wrong)
    for message, fault in zip(wrong.values(), faults, strict=True):
        assert message in fault
    assert Counter((row["rule"], row["severity"]) for row in rows if not row["fault"]) == {
        ("pair", None): 1,
        ("pair", "high"): 3,
        ("b", None): 2,
    }


def test_a_key_may_be_null() -> None:
    """Such events are in no match of the key, and the stream continues."""
    rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 second"})
    stream = RuleStream(settings_of(rules, EVENTS.schema), Timing(0, in_order=True), 0)  # type: ignore[arg-type]
    ids = pa.array(["k", None, None, "k", "m", None])
    stream.events(EVENTS.set_column(2, "id", ids))
    assert [(row["rule"], row["key"]) for row in stream.found_rows()] == [("pair", '{"id":"k"}')]


def test_a_clause_runs_in_a_stream_of_rules() -> None:
    clause = """MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts, seq MEASURES B.x AS x
        PATTERN (A B) DEFINE A AS A.type = 'A', B AS B.type = 'B')"""
    rules = cep.rules({"rows": clause})
    stream = RuleStream(settings_of(rules, EVENTS.schema), Timing(0, in_order=True), 0)  # type: ignore[arg-type]
    stream.moves = True
    for row in range(len(EVENTS)):
        stream.events(EVENTS.slice(row, 1))
    stream.end()
    rows = stream.found_rows()
    assert [json.loads(row["values"])["x"] for row in rows] == [2, 4, 6]
    assert len({row["match_id"] for row in rows}) == 3


def test_rules_that_changed_are_kept_when_nothing_else_is() -> None:
    rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 millisecond"})
    stream = RuleStream(settings_of(rules, EVENTS.schema), Timing(), 0)  # type: ignore[arg-type]
    stream.events(EVENTS.slice(0, 2))
    stream.end()
    assert not stream.has_state
    stream = RuleStream(settings_of(rules, EVENTS.schema), Timing(), 0)  # type: ignore[arg-type]
    stream.change('{"name": "b", "query": "PATTERN B b WHERE [id] RETURN b.x"}')
    stream.events(EVENTS.slice(0, 2))
    stream.end()
    assert stream.has_state
    assert [row["rule"] for row in stream.found_rows()] == ["b"]


def test_a_rule_that_explodes_is_suspended_with_a_row() -> None:
    rules = cep.rules({"all": "PATTERN SEQ(A a, B+ b[]) WHERE [id]", "b": "PATTERN B b"})
    made = stream_settings((("id",),), spark_schema(EVENTS.schema), {"max_matches": 3}, rules)
    made = made.beginning_with(tuple(rule_text(rule) for rule in rules.values()))
    stream = RuleStream(made, Timing(0, in_order=True), 0)  # type: ignore[arg-type]
    for row in range(len(EVENTS)):
        stream.events(EVENTS.slice(row, 1))
    rows = stream.found_rows()
    assert [row["rule"] for row in rows if row["fault"]] == ["all"]
    assert Counter(row["rule"] for row in rows if not row["fault"]) == {"all": 1, "b": 3}


class CountedStream(RuleStream):
    """``counted`` has what each rule has cost in each step."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given, troubles=[])
        self.counted: list[dict[str, Any]] = []

    def _attempt(self, rows: list[Row]) -> list[Row]:
        answers = super()._attempt(rows)
        for answer in answers:
            self.counted += json.loads(answer["rules"] or "[]")
        return answers


@pytest.mark.parametrize("moves", [True, False])
def test_each_rule_is_counted_in_every_step(moves: bool) -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 second"
    rules = cep.rules({"pair": pair, "b": "PATTERN B b", "all": "PATTERN SEQ(A a, B+ b[])"})
    made = stream_settings((("id",), ()), spark_schema(EVENTS.schema), {"max_matches": 4}, rules)
    made = made.beginning_with(tuple(rule_text(rule) for rule in rules.values()))
    stream = CountedStream(made, Timing(0, in_order=True), 0)  # type: ignore[arg-type]
    stream.moves = moves
    for row in range(len(EVENTS)):
        if row == 4:
            stream.change('{"name": "pair", "query": "PATTERN SEQ(A a, B b) WITHIN 9 seconds"}')
        stream.events(EVENTS.slice(row, 1))
    totals: Counter[tuple[str, str]] = Counter()
    for each in stream.counted:
        assert min(each["events"], each["matches"], each["seconds"], each["memory"]) >= 0
        for name in ("events", "matches"):
            totals[each["rule"], name] += each[name]
    rows = Counter(row["rule"] for row in stream.found_rows() if row["fault"] is None)
    assert rows == {rule: count for (rule, name), count in totals.items() if name == "matches"}
    assert (totals["b", "events"], totals["pair", "events"]) == (3, 6)
    assert [each["rule"] for each in stream.counted if each["suspended"]] == ["all"]
    ends = {row["end"].isoformat() for row in stream.found_rows() if row["rule"] == "b"}
    assert ends == {each["last_match"] for each in stream.counted if each["rule"] == "b"}
