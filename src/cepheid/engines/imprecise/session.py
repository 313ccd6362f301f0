"""A query over a stream of events with uncertain times, between batches.

Events may come in any order in which no event follows one that is certain to be later
[Zhang10 §3.2]. The events so far then bound the later ones: no later event begins before the
latest beginning so far less the longest interval. Before that time, the stream is *settled*. A
match is reported when all its events have come. If other events have a say in its confidence
(skip_till_next_match, negation), it is reported when it is decided. So each match is reported
once and with the same confidence, however the stream is divided into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.analysis.needs import string_operations
from cepheid.budget import Budget
from cepheid.engines.base.evaluation import IMPRECISE
from cepheid.engines.base.query_session import QuerySession, SessionTask
from cepheid.engines.base.retained import Retained
from cepheid.engines.imprecise.alternative import ImpreciseAlternative, Threshold, most_confident
from cepheid.engines.imprecise.intervals import are_far
from cepheid.engines.imprecise.layout import Intervals
from cepheid.engines.imprecise.memory import FrameMemory
from cepheid.engines.imprecise.plan import by_variables
from cepheid.errors import EventError, warn
from cepheid.events.arrays import Int64s
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, MatchTimes, joined_bindings, with_variables
from cepheid.matches.held import naming_component
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.rule import refuse_output
from cepheid.snapshot_checks import check_arrays, check_values, require
from cepheid.snapshots import Arrays, Parts

NEVER = -(1 << 62)
END = 1 << 62
_LONGEST_WINDOW = 1 << 60


class ImpreciseSession(QuerySession):
    """The state of a query over uncertain times: the events that it still needs."""

    def __init__(self, task: SessionTask) -> None:
        refuse_output(task.rule)
        # Each batch is in time order, but the next one can begin earlier than it ends.
        retained = Retained(keeps_partitions=False, in_time_order=False)
        super().__init__(task.query, task.options, retained)
        self.nothing = replace(self.nothing, confidences=np.zeros(0))
        self._budget = Budget()
        self._window_ticks = task.window
        self._uncertain = task.uncertain
        strings = StringCodes(string_operations(task.query))
        self._memory = FrameMemory(retained, task.uncertain, strings)
        self._rows = 0
        self._settled = self._begun = NEVER
        self._longest = 0
        self._violations = self._late = 0
        self._alternatives: list[ImpreciseAlternative] = []
        self._types: frozenset[str] | None = None
        self._granule = 1
        self._window = _LONGEST_WINDOW

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch of events decides."""
        return self._decided(self._take(batch), NEVER)

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that are decided because no later event begins before that time.

        If the time is None, the stream has ended. ``after`` is a batch to read first.
        """
        first_number = self._retained.next_number if after is None else self._take(after)
        self._open(self._retained.time_axis)
        return self._decided(first_number, END if ticks is None else ticks // self._granule)

    def _decided(self, first_fresh: int, settled: int) -> Matches:
        """The matches of fresh events and those that are decided now; other events are evicted."""
        settled = max(settled, self._settled, self._begun - self._longest)
        bindings = self._evaluate(first_fresh, settled)
        matches = Matches(self._query.query, self._retained.view, [bindings], budget=self._budget)
        self._evict()
        return matches

    def _take(self, batch: Events) -> int:
        """Retain the events of a batch; the number of the first one."""
        self._open(batch.time_axis)
        first_number = self._retained.next_number
        self._memory.append(*self._needed(*self._on_time(batch)))
        self._rows += len(batch)
        return first_number

    def _needed(self, batch: Events, intervals: Intervals) -> tuple[Events, Intervals]:
        """The events that a match or its confidence can depend on, and their intervals."""
        types = self._types
        if types is None or types.issuperset(batch.type_names):
            return batch, intervals
        are_needed = np.array([name in types for name in batch.type_names], dtype=np.bool_)
        places = are_needed[batch.type_codes].nonzero()[0]
        if len(places) == len(batch):
            return batch, intervals
        return (batch.take(places) if len(places) else batch.slice(0, 0)), intervals.take(places)

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream."""
        self._open(events.time_axis)
        self._notice(events, self._memory.intervals_of(events))
        self._retained.append(events)
        self._rows += len(events)
        return [self._evaluate(0, END)]

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""
        return self._rows

    @property
    def lead(self) -> int:
        """The most ticks by which an event can begin before the time in its column."""
        return self._memory.declared(self.time_axis).longest_reach

    @property
    def metrics(self) -> Metrics:
        """What the evaluation has done so far."""
        return Metrics(
            events=self._rows,
            matches=sum(each.count for each in self._alternatives),
            runs_created=sum(each.paths for each in self._alternatives),
            arrival_violations=self._violations,
            late_events=self._late,
        )

    @property
    def next_completion(self) -> int | None:
        """A time at which all waiting matches are decided if no event comes before."""
        waits = any(each.has_rivals for each in self._alternatives)
        return self.evicted_from if waits and len(self._retained) else None

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""
        if self._window == _LONGEST_WINDOW:
            return None
        if not len(self._retained):
            return None if self._settled == NEVER else self._settled * self._granule
        latest = int(self._memory.intervals.upper.max())
        return (latest + self._reach + 1) * self._granule

    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot, valid until the next call."""
        header = {
            "window": self._window_ticks,
            "evaluation": IMPRECISE,
            "time": self._uncertain.describe(),
            "settled": self._settled,
            "begun": self._begun,
            "longest": self._longest,
            "rows": self._rows,
            "violations": self._violations,
            "late": self._late,
        }
        return self._packed(header, {})

    def load(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        check_arrays(arrays, {}, ["retained"])
        counts = ("longest", "rows", "violations", "late")
        check_values(header, dict.fromkeys(counts, "count"))
        for name in ("settled", "begun"):
            check_values(header, {name: "integer"})
            require(NEVER <= header[name] <= END, f"{name!r} is no time")
        super().load(header, arrays)
        self._memory.clear()
        require(not are_far(self._retained.events.ticks).any(), "retained events have no times")
        self._settled, self._begun = header["settled"], header["begun"]
        self._longest, self._rows = header["longest"], header["rows"]
        self._violations, self._late = header["violations"], header["late"]

    def _open(self, axis: TimeAxis) -> None:
        """Compile the alternatives, which depend on the time column, for the first batch."""
        if self._alternatives:
            return
        self._granule = self._memory.declared(axis).granule
        if self._window_ticks is not None:
            self._window = min(-(-self._window_ticks // self._granule), _LONGEST_WINDOW)
        clause = self._query.query.confidence
        more_than, at_least = 0.0, self._options.min_confidence or 0.0
        if clause is not None:
            assert not isinstance(clause.least, ast.Parameter)
            if clause.is_strict:
                more_than = float(clause.least)
            else:
                at_least = max(at_least, float(clause.least))
        threshold = Threshold(more_than, at_least)
        self._alternatives = [
            ImpreciseAlternative(self._query, group, self._window, threshold, self._options)
            for group in by_variables(self._query.alternatives)
        ]
        types = [each.types for each in self._alternatives]
        self._types = None if None in types else frozenset().union(*filter(None, types))

    def _on_time(self, batch: Events) -> tuple[Events, Intervals]:
        """The events of a batch that did not come too late, and their intervals.

        The others are counted.
        """
        intervals = self._memory.intervals_of(batch)
        most = self._memory.declared(batch.time_axis).longest(self._uncertain)
        declared = self._uncertain.max_uncertainty
        if declared is not None and most is not None and intervals.longest > most:
            row = int(batch.rows[int(np.argmax(intervals.upper - intervals.lower))])
            raise EventError(
                f"the event in row {row} (counting from 0) has an interval that is longer than "
                f"max_uncertainty={declared!r}; give the length of the longest"
            )
        late = intervals.lower < self._settled
        self._notice(batch, intervals)
        self._longest = max(self._longest, intervals.longest) if most is None else most
        if not late.any():
            return batch, intervals
        self._late += int(late.sum())
        row = int(batch.rows[int(np.flatnonzero(late)[0])])
        warn(
            f"{int(late.sum())} of {len(batch)} events arrived too late and are left out, the "
            f"first in row {row} (counting from 0): they may be earlier than events that decided "
            "matches already. Give the longest interval as max_uncertainty, or feed events closer "
            "to time order"
        )
        on_time = np.flatnonzero(~late)
        return batch.take(on_time), intervals.take(on_time)

    def _notice(self, batch: Events, intervals: Intervals) -> None:
        """Count the events that come after one that is certain to be later, in arrival order."""
        if not len(batch):
            return
        if len(batch) == 1:
            self._violations += int(intervals.upper[0] < self._begun)
            self._begun = max(self._begun, int(intervals.lower[0]))
            return
        by_row = np.argsort(batch.rows, kind="stable")
        latest = np.maximum.accumulate(np.concatenate([[self._begun], intervals.lower[by_row]]))
        self._violations += int((intervals.upper[by_row] < latest[:-1]).sum())
        self._begun = int(latest[-1])

    def _evaluate(self, first_fresh: int, settled: int) -> Bindings:
        """The matches of fresh events and those that are decided now."""
        # No matches and no partial matches are kept between evaluations.
        self._budget = Budget(self._options.max_memory)
        with naming_component(self._budget, self._query.query, None), self._budget.in_force():
            return self._found(first_fresh, settled)

    def _found(self, first_fresh: int, settled: int) -> Bindings:
        retained, decided = self._retained, self._settled
        found, base = [], 0
        has_fresh, has_settled = retained.next_number > first_fresh, settled > decided
        searched = [
            each for each in self._alternatives if (has_settled if each.has_rivals else has_fresh)
        ]
        if len(retained) and searched:
            frame, order = self._memory.frame(first_fresh, decided, settled)
            base = frame.base
            for each in searched:
                matches = each.found(frame, order)
                if len(matches):
                    found.append(with_variables(matches, self._components))
        self._settled = settled
        if not found:
            return self.nothing
        matches = joined_bindings(found)
        if self._options.top_k is not None:
            matches = most_confident(matches, self._options.top_k)
        else:
            matches = matches.pick(_by_time(matches))
        starts = (matches.starts + base) * self._granule
        ends = (matches.ends + base) * self._granule
        return replace(matches, known_times=MatchTimes.of(starts, ends))

    @property
    def _reach(self) -> int:
        """The most instants between events that belong to a match, or have a say in it."""
        reach = self._window
        if any(each.has_rivals for each in self._alternatives):
            reach += self._longest + 1
        if any(each.looks_back for each in self._alternatives):
            reach += self._window
        return reach

    def _evict(self) -> None:
        """Drop the events that no later match can contain, and that have no say in one.

        Those that are retained have just been evaluated.
        """
        if not len(self._retained) or self._settled == NEVER:
            return
        wanted = self._memory.intervals.upper > self._settled - self._reach
        # Dropping costs a copy of the rest: it pays if at least half goes.
        if 2 * np.count_nonzero(wanted) <= len(wanted):
            self._memory.keep(wanted)


def _by_time(matches: Bindings) -> Int64s:
    """The order of matches by their ends, then by their starts."""
    if not len(matches):
        return np.empty(0, dtype=np.int64)
    first, last = int(matches.starts.min()), int(matches.ends.max())
    if last - first >= 1 << 31:
        return np.lexsort((matches.starts, matches.ends)).astype(np.int64)
    # One number for both is sorted in half the time.
    both = (matches.ends - first << 31) + (matches.starts - first)
    return np.argsort(both, kind="stable").astype(np.int64)
