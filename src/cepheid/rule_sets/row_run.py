"""A ``MATCH_RECOGNIZE`` rule over a stream: it reads all events, as rows."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.events.events import Events
from cepheid.events.read_options import ReadOptions
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.results import RowMatches
from cepheid.rule_sets.metrics import RuleMetrics
from cepheid.rule_sets.results import FoundRows
from cepheid.rule_sets.row_rules import found_rows, with_times
from cepheid.rule_sets.rule_run import Run
from cepheid.rule_sets.rule_set import CompiledRule
from cepheid.rule_sets.splitting import SplitBatch


class RowRun(Run):
    """A clause with a session; ``nothing`` is a result without rows.

    Raises:
        CepheidError: the clause cannot run over events with these columns.
    """

    def __init__(
        self, each: CompiledRule, read: ReadOptions, columns: Events, stored: bytes | None = None
    ) -> None:
        super().__init__(each)
        extended = with_times(each.rule, self._query, read)
        self._axis = columns.time_axis
        if stored is None:
            self.session = extended.session(time_unit=read.time_unit)
        else:
            self.session = extended.restore(stored, time_unit=read.time_unit)
        self._metrics = RuleMetrics(each.rule.name)
        self.nothing = self._found(self.session.feed(columns.table))

    @property
    def _query(self) -> RowPatternQuery:
        assert isinstance(self.each.query, RowPatternQuery)
        return self.each.query

    @property
    def state_key(self) -> str:
        """What the state of the rule depends on: the clause."""
        return str(self._query)

    @property
    def metrics(self) -> RuleMetrics:
        """What the rule has cost and found so far; a search is a partial match."""
        return replace(self._metrics, partial_matches=self.session.open_searches)

    def become(self, each: CompiledRule) -> bool:
        """Continue with the state as a changed rule; whether it can."""
        if str(each.query) != self.state_key:
            return False
        self.each = each
        self.nothing = self._found(self.session.feed([]))
        return True

    def feed(self, batch: SplitBatch, now: int | None) -> FoundRows:  # noqa: ARG002 - rows tell it
        """What the rule finds in a batch."""
        started, rows = perf_counter(), batch.whole.table
        found = self._found(self.session.feed(rows))
        return self._counted(found, len(rows), started)

    def advance(self, ticks: int | None) -> FoundRows:
        """What the passage of time decides; None means that the stream has ended."""
        started = perf_counter()
        time = None if ticks is None else self._axis.decode(np.array([ticks]))[0]
        return self._counted(self._found(self.session.advance(time)), 0, started)

    def catch_up(self, events: Events, now: int | None, at_end: bool) -> FoundRows:
        """What a rule that begins finds among events of the past, at this time."""
        parts = [self.feed(SplitBatch(events), now)]
        if at_end or now is not None:
            parts.append(self.advance(None if at_end else now))
        own = pa.concat_tables([part.matches.to_arrow() for part in parts])
        count = sum(part.matches.count for part in parts)
        table = pa.concat_tables([part.table for part in parts])
        return FoundRows(self.each.rule, RowMatches(own, len(own), count), table)

    def _found(self, found: RowMatches) -> FoundRows:
        return found_rows(self.each.rule, self._query, found, self._axis)

    def _counted(self, found: FoundRows, rows: int, started: float) -> FoundRows:
        known = self._metrics
        last = pc.max(found.table["end"]).as_py() if len(found.table) else None
        self._metrics = replace(
            known,
            events=known.events + rows,
            matches=known.matches + len(found.matches),
            seconds=known.seconds + perf_counter() - started,
            last_match=known.last_match if last is None else last,
        )
        return found
