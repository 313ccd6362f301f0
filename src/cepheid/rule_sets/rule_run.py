"""A rule over a stream: its session, and what its state depends on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from cepheid.api import CompiledQuery
from cepheid.engines.base.query_session import QuerySession, Stored
from cepheid.events.events import Events
from cepheid.events.partition_positions import PartitionPositions
from cepheid.events.time_axis import MAX_TICKS, TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_partition_positions
from cepheid.language.printer import print_query
from cepheid.matches.bindings import no_matches
from cepheid.matches.matches import Matches
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.metrics import RuleMetrics, as_time, last_end
from cepheid.rule_sets.results import Found, FoundRows
from cepheid.rule_sets.rule_set import CompiledRule
from cepheid.rule_sets.running import key_of
from cepheid.rule_sets.splitting import SplitBatch, type_order, types_read
from cepheid.schema import Schema
from cepheid.sessions.plan import KnownChoice, PlannedQuery, open_session, plan


def plan_rule(
    each: CompiledRule,
    keywords: Mapping[str, Any],
    columns: Events,
    known: KnownChoice | None = None,
) -> PlannedQuery:
    """How a rule runs over batches with these columns; its evaluation may be known.

    Raises:
        CepheidError: it does not.
    """
    query = each.query
    assert isinstance(query, CompiledQuery)
    settings = each.settings(keywords)
    settings.requested.of(query.tree).rule().refuse_stream(query.tree)
    (planned,) = plan(query.script, settings, columns, in_batches=True, known=known)
    return planned


def state_key(planned: PlannedQuery) -> str:
    """What the state of a rule depends on: the query and its output mode, as a text.

    RETURN and AT MOST ONCE PER are not part of it, except for PARTITION_INDEX, which is counted.
    """
    query = planned.each.query
    bare = replace(query, returns=None, output=None)
    timed_out = " TIMED OUT" if planned.rule.timed_out else ""
    counts = "\nPARTITION_INDEX" if reads_partition_positions(query) else ""
    return f"{print_query(bare)}\nOUTPUT {planned.rule.output}{timed_out}{counts}"


class Run(ABC):
    """A rule between batches. ``nothing`` is a result without matches."""

    nothing: Found | FoundRows

    def __init__(self, each: CompiledRule) -> None:
        self.each = each

    @property
    @abstractmethod
    def state_key(self) -> str:
        """What the state of the rule depends on, as a text."""

    @property
    @abstractmethod
    def metrics(self) -> RuleMetrics:
        """What the rule has cost and found so far."""

    def check_kinds(self, schema: Schema) -> None:
        """Analyse the query again, for columns that have revealed their kinds.

        The session of a clause does so itself.
        """
        if not isinstance(self.each.query, RowPatternQuery):
            self.each.query.script.analysed(0, schema)


class QueryRun(Run):
    """A SASE+ rule between batches: what it is, and how many ``matches`` it has found."""

    nothing: Found

    def __init__(self, each: CompiledRule, planned: PlannedQuery) -> None:
        super().__init__(each)
        self.matches, self._last_end = 0, -MAX_TICKS
        self._take(each, planned)

    @property
    def state_key(self) -> str:
        """What the state of the rule depends on, as a text."""
        return state_key(self.planned)

    def _take(self, each: CompiledRule, planned: PlannedQuery) -> None:
        self.each = each
        self.planned = planned
        self._key = key_of(planned.analysed)
        parts = [part for part, is_negated in ast.components(self.tree.pattern) if not is_negated]
        self.nothing = self.found(Matches(self.tree, planned.sample, [no_matches(parts)]))

    @property
    def tree(self) -> ast.Query:
        """The query of the rule."""
        return self.planned.each.query

    def found(self, matches: Matches) -> Found:
        """The matches as part of a result."""
        always = tuple(self.planned.settings.read.columns)
        return Found(self.each.rule, self.tree, matches, self._key, always)

    def counted(self, matches: Matches) -> Found:
        """The same; they are counted."""
        if count := len(matches):
            self.matches += count
            self._last_end = max(self._last_end, last_end(matches))
        return self.found(matches)

    def count_from(self, other: QueryRun) -> None:
        """Continue the counts of the rule's earlier run."""
        self.matches, self._last_end = other.matches, other._last_end

    def _counts(self, seconds: float, axis: TimeAxis) -> RuleMetrics:
        last = as_time(self._last_end if self._last_end > -MAX_TICKS else None, axis)
        return RuleMetrics(
            self.each.rule.name, matches=self.matches, seconds=seconds, last_match=last
        )


class RuleRun(QueryRun):
    """A rule with its own session.

    ``columns`` has no events, but the columns of the events that the rule reads.

    Raises:
        CepheidError: the rule cannot run over events with these columns.
    """

    def __init__(
        self,
        each: CompiledRule,
        planned: PlannedQuery,
        columns: Events,
        stored: Stored | None = None,
    ) -> None:
        self._gap = planned.rule.least_gap if stored is None else stored[0].get("at_most_once_per")
        self.session: QuerySession = _opened(planned, stored)
        self._seconds = 0.0
        super().__init__(each, planned)
        names = columns.type_names if self._types is None else type_order(self._types)
        self._positions = PartitionPositions.of(planned.analysed)
        if self._positions is not None and self.session.latest is not None:
            self._positions.resume(self.session.retained)
        self._no_events = self._numbered(replace(columns, type_names=names))
        if stored is None:
            self.session.feed(self._no_events)

    def _take(self, each: CompiledRule, planned: PlannedQuery) -> None:
        super()._take(each, planned)
        # An output that chooses may decide with any event that comes.
        is_split = planned.evaluation.is_engine and not planned.rule.chooses
        self._types = types_read(self.tree) if is_split else None
        # Whether matches wait for time to pass.
        rule, alternatives = planned.rule, planned.analysed.alternatives
        self._waits = rule.timed_out or rule.mode.waits or any(each.waits for each in alternatives)

    def feed(self, batch: SplitBatch, now: int | None) -> Found:
        """What the rule finds in its events of a batch, at the end of which time is ``now``."""
        own = batch.of(self._types)
        if self._types is None:
            whole = self._numbered(batch.whole)
            return self._step(lambda session: session.feed(whole))
        if self._waits and now is not None:
            ahead = self.session.next_completion if own is None else now
            if ahead is not None and ahead <= now:
                return self._step(lambda session: session.advance(now, after=own))
        elif own is not None:
            return self._step(lambda session: session.feed(own))
        return self.nothing

    def _numbered(self, events: Events) -> Events:
        """The next events, with their numbers if the rule reads PARTITION_INDEX."""
        if self._positions is None:
            return events
        if self._positions.are_many() and self.session.latest is not None:
            self._positions.resume(self.session.retained)
        return self._positions.added(events)

    def catch_up(self, events: Events, now: int | None, at_end: bool) -> Matches:
        """What a rule that begins finds among events of the past, at this time."""
        own = SplitBatch(events).of(self._types)
        own = None if own is None else self._numbered(own)
        if now is None and not at_end:
            return self.session.feed(self._no_events if own is None else own)
        return self.session.advance(None if at_end else now, after=own)

    def advance(self, ticks: int | None) -> Found:
        """What the passage of time completes; None means that the stream has ended."""
        return self._step(lambda session: session.advance(ticks))

    def _step(self, step: Callable[[QuerySession], Matches]) -> Found:
        """What a step of the session finds; its time and matches are counted."""
        started = perf_counter()
        matches = step(self.session)
        self._seconds += perf_counter() - started
        return self.counted(matches)

    @property
    def metrics(self) -> RuleMetrics:
        """What the rule has cost and found so far."""
        counted = self._counts(self._seconds, self.session.time_axis)
        return counted.with_evaluation(self.session.metrics)

    def become(self, each: CompiledRule, planned: PlannedQuery) -> list[Matches] | None:
        """Continue with the state as a changed rule; the matches that this releases.

        None if the state cannot be kept. Then nothing has changed.
        """
        gap, released = planned.rule.least_gap, []
        if state_key(planned) != state_key(self.planned):
            return None
        if gap != self._gap:
            held_back = self.session.throttle(gap)
            if held_back is None:
                return None
            released.append(held_back)
        self.session.return_as(planned.analysed)
        self._gap = gap
        self._take(each, planned)
        return released


def _opened(planned: PlannedQuery, stored: Stored | None) -> QuerySession:
    """The session of a rule; one from a snapshot may return other columns, and report less often.

    The key of the rule has been compared: the text of the query may differ only in RETURN.
    """
    task = planned.task
    if stored is None:
        return open_session(task)
    header, arrays = stored
    header = {**header, "query": print_query(task.query.query)}
    made = replace(task.rule, least_gap=header.get("at_most_once_per"))
    return open_session(replace(task, rule=made), (header, arrays))
