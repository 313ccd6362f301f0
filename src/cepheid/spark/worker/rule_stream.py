"""A set of rules over a bucket of a stream: a session for each key, and changes of the rules.

A change reaches every bucket in the same micro-batch, before its events. The rules are part of the
state of a bucket from the first change on, so that a micro-batch that runs again, or a restarted
stream, runs the rules that it had.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from cepheid.errors import CepheidError, OptionError, RuleFault, list_words
from cepheid.events.read_options import ReadOptions
from cepheid.events.time_axis import earliest, latest_of_all
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.changes import changed_rules
from cepheid.rule_sets.metrics import RuleMetrics
from cepheid.rule_sets.results import RuleMatches
from cepheid.rule_sets.rule import Rule
from cepheid.rule_sets.rule_run import plan_rule
from cepheid.rule_sets.rule_set import CompiledRule, RuleSet
from cepheid.rule_sets.session import RuleSession
from cepheid.snapshot_checks import check_values
from cepheid.snapshots import Arrays, Parts, pack, unpack
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.fitting_rules import FittingRule
from cepheid.spark.stream.packing import CHANGE, ORDER, REPORTS
from cepheid.spark.worker.alerts import alerts, fault_rows
from cepheid.spark.worker.rule_worker import GROUP, quietly
from cepheid.spark.worker.worker_settings import Additions, begin_worker
from cepheid.visible import shortened

_REMOVED = "removed"
_SHOWN = 200
"""The characters of a change that is no JSON that a message shows."""


@dataclass(frozen=True, eq=False)
class RuleStreamSettings:
    """The rules with which a stream begins, and what rules may use.

    ``digest`` names all settings. ``rules`` are JSON objects. ``schema`` has the columns that rules
    may use. ``keys`` are the keys by which the stream is partitioned: a key without columns means
    that one bucket has all events.
    """

    digest: str
    rules: tuple[str, ...]
    limits: Mapping[str, int] | None
    keywords: Mapping[str, Any]
    schema: StructType
    keys: tuple[tuple[str, ...], ...]
    ties: tuple[str, ...]
    result_schema: pa.Schema
    additions: tuple[Additions, ...]

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleStreamSettings) and other.digest == self.digest

    @property
    def read(self) -> ReadOptions:
        """How events are read."""
        return ReadOptions.of(self.keywords)

    @property
    def time(self) -> str:
        """The column with the time of an event."""
        return self.read.time

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the events in a bucket: the number of the key comes first."""
        return (GROUP, *self.schema.names)

    @property
    def no_events(self) -> pa.Table:
        """A table without events, with the columns that rules may use."""
        return arrow_schema(self.schema).empty_table()

    def tie_values(self, events: pa.Table) -> list[pa.ChunkedArray]:
        """What events of equal time are ordered by."""
        return [events.column(name) for name in self.ties]

    def key_of(self, each: CompiledRule) -> int:
        """The number of the key by which a rule is partitioned.

        Raises:
            CepheidError: the rule cannot run in this stream.
        """
        fitting = FittingRule.of(each, self.schema, self.keywords)
        if isinstance(each.query, RowPatternQuery):
            each.query.refuse_stream()
        else:
            plan_rule(each, self.keywords, self.read.order(self.no_events))
        for number, key in enumerate(self.keys):
            if (key and fitting.key.has_any) or {*key} <= fitting.key.columns:
                return number
        declared = [f"[{', '.join(key)}]" for key in self.keys]
        raise OptionError(
            "the rule cannot be partitioned by a key of the stream: keys declares "
            f"{list_words(declared)}, and a rule needs an equivalence test or a PARTITION BY that "
            "has all columns of one of them. An empty list [] among the keys is for rules without "
            "a key"
        )

    def beginning_with(self, rules: tuple[str, ...]) -> RuleStreamSettings:
        """The same, for a stream that begins with these rules."""
        named = repr(
            (rules, self.schema.json(), self.keys, sorted(map(repr, self.keywords.items())))
        )
        digest = hashlib.blake2b(named.encode(), digest_size=16).hexdigest()
        return replace(self, rules=rules, digest=digest)

    def worker(self, snapshot: bytes | memoryview | None = None) -> RuleStreamWorker:
        """The sessions of a bucket in this process: new ones, or those of a snapshot."""
        begin_worker(self.additions)
        with quietly():
            return RuleStreamWorker(self, snapshot)


class RuleStreamWorker:
    """The rules of a bucket, and a session for each key; it is its own ``session``."""

    def __init__(
        self, settings: RuleStreamSettings, snapshot: bytes | memoryview | None = None
    ) -> None:
        self._settings = settings
        header, arrays = ({"changed": None}, {}) if snapshot is None else unpack(snapshot)
        check_values(header, {"changed": "object?"})
        # What changed since the stream began: the fields of a rule as JSON, or None if it is gone.
        self._changed: dict[str, str | None] | None = header["changed"]
        initial = {json.loads(text)["name"]: text for text in settings.rules}
        texts = {**initial, **(self._changed or {})}
        compiled = {name: _compiled(settings, text) for name, text in texts.items() if text}
        self._rules = RuleSet((), settings.limits).with_compiled(compiled)
        self._key_of = {
            name: _key_of(settings, text)
            for name, text in texts.items()
            if text and compiled[name].rule.enabled
        }
        self._sessions = [
            self._session(number, arrays.get(f"key{number}"))
            for number in range(len(settings.keys))
        ]
        self._counted = self._metrics()

    def _metrics(self) -> dict[str, RuleMetrics]:
        """What each rule has cost so far; it runs in the session of one key."""
        return {name: each for known in self._sessions for name, each in known.metrics.items()}

    def counted(self) -> str:
        """What each rule has cost since this was asked for the last time, as JSON.

        A rule that began anew since then is counted from its beginning.
        """
        before, now = self._counted, self._metrics()
        self._counted = now
        found = []
        for name, each in now.items():
            earlier = before.get(name, RuleMetrics(name))
            if each.events < earlier.events or each.matches < earlier.matches:
                earlier = RuleMetrics(name)
            new = each.since(earlier)
            if new.events or new.matches or each.suspended != earlier.suspended:
                end = new.last_match
                shown = replace(
                    new, seconds=round(new.seconds, 6), last_match=end and end.isoformat()
                )
                found.append(shown.to_dict())
        return json.dumps(found, ensure_ascii=False)

    def _session(self, number: int, stored: Any) -> RuleSession:
        settings = self._settings
        keywords = settings.keywords
        own = {
            name: self._rules.compiled[name] for name, key in self._key_of.items() if key == number
        }
        rules = self._rules.with_compiled(own)
        if stored is not None:
            return rules.restore(stored.tobytes(), **keywords)
        session = rules.session(**keywords)
        session.feed(settings.no_events)
        return session

    @property
    def session(self) -> RuleStreamWorker:
        """The state."""
        return self

    @property
    def runs(self) -> int:
        """The number of runs or instances that were created."""
        counted = [each.metrics.values() for each in self._sessions]
        return sum(metrics.partial_matches for each in counted for metrics in each)

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event."""
        return earliest(each.next_completion for each in self._sessions)

    @property
    def evicted_from(self) -> int | None:
        """The time from which nothing here matters; None if the rules have changed."""
        if self._changed is not None:
            return None
        return latest_of_all(each.evicted_from for each in self._sessions if each.rules.enabled)

    def snapshot_parts(self) -> Parts:
        """The rules, if they have changed, and the state of each session."""
        arrays: Arrays = {
            f"key{number}": np.frombuffer(each.snapshot(), dtype=np.uint8)
            for number, each in enumerate(self._sessions)
        }
        return pack({"changed": self._changed}, arrays)

    def feed(self, events: pa.Table) -> Iterator[pa.RecordBatch]:
        """The matches that these events complete."""
        for number, session in enumerate(self._sessions):
            own = events.filter(pc.equal(events.column(GROUP), number)).drop_columns([GROUP])
            if own.num_rows:
                with quietly():
                    found = session.feed(own)
                yield from self._alerts(number, found)

    def advance(self, time: datetime) -> Iterator[pa.RecordBatch]:
        """The matches that are complete because no later event has an earlier time."""
        for number, session in enumerate(self._sessions):
            with quietly():
                found = session.advance(time)
            yield from self._alerts(number, found)

    def apply(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        """Change rules, in order; the matches that this releases, and the faults of changes."""
        ordered = changes.sort_by([(ORDER, "ascending"), (CHANGE, "ascending")])
        faults: list[RuleFault] = []
        self._changed = self._changed or {}
        for text in ordered.column(CHANGE).to_pylist():
            name = ""
            try:
                name, change = read_change(text)
                found, failed = self._change(name, change)
                faults += failed
                for number, each in found:
                    yield from self._alerts(number, each, with_faults=False)
            except CepheidError as error:
                faults.append(RuleFault.of(name, error))
        if faults and ordered.column(REPORTS)[0].as_py():
            yield fault_rows(faults, self._settings.result_schema)

    def _change(
        self, name: str, change: Any
    ) -> tuple[list[tuple[int, RuleMatches]], list[RuleFault]]:
        """Change a rule in all sessions: it may get another key.

        The result has what the change releases, with the number of the key, and faults.
        """
        after, faults = changed_rules(self._rules, {name: change})
        if faults:
            return [], faults
        each = after.get(name)
        text = None if each is None else rule_text(each.rule)
        key = None
        if each is not None and text is not None and each.rule.enabled:
            key = _key_of(self._settings, text)
        old_key = self._key_of.get(name)
        found: list[tuple[int, RuleMatches]] = []
        with quietly():
            if each is not None and key is not None:
                released = self._sessions[key].apply({name: each.rule})
                found.append((key, released))
                if released.faults:
                    return found, list(released.faults)
            if old_key is not None and old_key != key:
                found.append((old_key, self._sessions[old_key].apply({name: None})))
        self._key_of.pop(name, None)
        if key is not None:
            self._key_of[name] = key
        assert self._changed is not None
        self._changed[name] = text
        self._rules = self._rules.with_compiled(after)
        return found, []

    def _alerts(
        self, number: int, found: RuleMatches, with_faults: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """The rows of what the rules of a key have found.

        The columns of the key are part of the ids of matches, so that equal events of different
        buckets differ.
        """
        found = found.identified_by(self._settings.keys[number])
        yield from alerts(found, self._settings.result_schema, with_faults=with_faults)


def rule_text(rule: Rule) -> str:
    """The fields of a rule as JSON.

    Raises:
        OptionError: a parameter has no JSON.
    """
    try:
        return json.dumps(rule.to_dict(), ensure_ascii=False)
    except TypeError as error:
        raise OptionError(f"a rule of a stream has parameters that JSON has: {error}") from None


def read_change(text: str | None) -> tuple[str, dict[str, Any] | None]:
    """The name of the rule that a change is about, and its fields; None if the rule is removed.

    Raises:
        OptionError: the text is not a change.

    >>> read_change('{"name": "theft", "enabled": false}')
    ('theft', {'enabled': False})
    >>> read_change('{"name": "theft", "removed": true}')
    ('theft', None)
    """
    try:
        change = json.loads(text or "")
        json.dumps(change, ensure_ascii=False).encode()  # which has no lone surrogates
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        shown = shortened(text or "", _SHOWN)
        raise OptionError(f"the change is not JSON: {why}: {shown!r}") from None
    if not isinstance(change, dict) or not isinstance(change.get("name"), str):
        raise OptionError(
            f"a change is a JSON object with the name of a rule, not {shortened(text or '')!r}"
        )
    name = change.pop("name")
    is_removed = change.pop(_REMOVED, False)
    if not isinstance(is_removed, bool):
        raise OptionError(f"{_REMOVED} is true or false, not {is_removed!r}")
    return name, None if is_removed else change


@lru_cache(maxsize=10_000)
def _compiled(settings: RuleStreamSettings, text: str) -> CompiledRule:
    given = json.loads(text)
    rule = Rule.of_fields(given["name"], given, given.pop("source", ""))
    return CompiledRule.of(rule, settings.limits)


@lru_cache(maxsize=10_000)
def _key_of(settings: RuleStreamSettings, text: str) -> int:
    return settings.key_of(_compiled(settings, text))
