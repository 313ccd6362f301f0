"""The reference evaluation between batches: correct for every query, and slow.

It keeps the events that a later match can contain or be violated by. For each batch it evaluates
the query over all of them by the definition, and reports the matches that were not decided before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cepheid.engines.base.evaluation import REFERENCE
from cepheid.engines.base.query_session import QuerySession, SessionTask, refuse_earlier
from cepheid.engines.base.retained import Retained
from cepheid.engines.reference import attributes_tested, bindings_of, python_events
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, int64s
from cepheid.events.events import Events
from cepheid.events.own_windows import extent_of
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, joined_bindings
from cepheid.matches.held import charge_matches, naming_component
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.match_partitions import PARTITION_ARRAYS, MatchPartitions
from cepheid.matches.positions import Bools
from cepheid.reference import definition as reference
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match, Reached, partition_of, sort_key
from cepheid.reference.output import at_most_once, in_order
from cepheid.reference.timed_out import Furthest, all_timed_out, timed_out
from cepheid.sessions.reporting import REPORTING_PARTS, Moment, Reporting
from cepheid.snapshot_checks import FAR, check_arrays, check_values, expected, require
from cepheid.snapshots import Arrays, Parts


class _Pending(NamedTuple):
    """A match that a later event can still violate."""

    match: Match
    is_decided_by_time: bool

    @property
    def start(self) -> int:
        """The position of its first event."""
        return self.match.events()[0].position


def _end(pending: _Pending) -> int:
    """The end of a match; a window longer than the axis ends with it."""
    return min(pending.match.ended, MAX_TICKS)


class ReferenceSession(QuerySession):
    """A query over a stream, by the definition."""

    def __init__(
        self, task: SessionTask, evaluation: type[reference.Evaluation] = reference.Evaluation
    ) -> None:
        task.rule.refuse_query(task.query)
        super().__init__(task.query, task.options, Retained(keeps_partitions=False))
        self._task, self._rule, self._budget = task, task.rule, task.budget
        self._evaluation = evaluation
        self._extent = extent_of(task.query, task.window)
        self._window = None if self._extent == MAX_TICKS else self._extent
        self._measure = task.query.query.measure
        self._attributes = attributes_tested(task.query.query)
        self._tests = [test.attribute for test in task.query.tests]
        self._attributes |= {*self._tests}
        self._reporting = Reporting(task.rule, self._components) if task.rule.chooses else None
        self._events: list[Event] = []
        self._reached = Reached()
        self._partitions = MatchPartitions()
        self._waiting: list[_Pending] | None = []
        # With timed out: the first events whose partial matches were reported, and others.
        self._timed_out: set[int] = set()
        self._open: dict[int, int] = {}
        if self._rule.timed_out:
            self.nothing = replace(self.nothing, timed_out=np.zeros(0, dtype=np.bool_))
        self._charged = 0
        self._metrics = Metrics()

    @property
    def metrics(self) -> Metrics:
        """The number of events and of matches."""
        return self._metrics

    # --- a whole stream

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in one part."""
        query, mode, limit = self._query.query, self._rule.mode, self._options.max_matches
        if mode.chooses and mode.definition is None:
            self._append(events)
            return [self._step(replace(self._reached, at_end=True))]
        stream, before = python_events(events, self._attributes), self._budget.used
        with naming_component(self._budget, query, None), self._budget.in_force():
            own_windows = self._query.own_windows
            matches = reference.evaluate(
                query, stream, self._task.window, self._evaluation, own_windows
            )
            partial = self._all_timed_out(stream, matches)
        if mode.definition is not None:
            matches = mode.definition(query, matches)
        self._check_limit(len(matches), limit)
        chosen, gap = matches, self._rule.least_gap
        if gap is not None:
            chosen = at_most_once(query, matches, gap)
        if self._rule.chooses or partial:
            chosen = in_order(query, [*chosen, *partial])
        found = bindings_of(query, chosen, self._rule.timed_out)
        left_out = len(matches) + len(partial) - len(chosen)
        self._metrics = Metrics(events=len(events), matches=len(found), left_out=left_out)
        self._budget.release(self._budget.used - before)
        charge_matches(self._budget, found, query)
        return [found]

    def _all_timed_out(self, stream: list[Event], matches: list[Match]) -> list[Match]:
        if not self._rule.timed_out:
            return []
        query, own_windows = self._query.query, self._query.own_windows
        return all_timed_out(query, stream, self._extent, own_windows, matches)

    @staticmethod
    def _check_limit(count: int, limit: int | None) -> None:
        if limit is not None and count > limit:
            raise LimitError(f"there are {count} matches, more than {limit}")

    # --- batches

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch completes."""
        self._append(batch)
        return self._reported(self._reached)

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that a batch completes, then the matches completed by the passage of time."""
        if after is not None:
            self._append(after)
        now = self._reached.now
        if ticks is not None:
            now = ticks if now is None else max(now, ticks)
        return self._reported(replace(self._reached, now=now, at_end=ticks is None))

    def _append(self, batch: Events) -> None:
        refuse_earlier(batch, self._reached.now)
        first = self._retained.next_number
        self._retained.append(batch)
        numbers = np.arange(first, first + len(batch), dtype=np.int64)
        batch = replace(batch, numbers=first)
        self._events += python_events(batch, self._attributes, numbers)

    def _reported(self, reached: Reached) -> Matches:
        self._budget.release(self._charged)
        found = self._step(reached)
        self._charged = charge_matches(self._budget, found, self._query.query)
        places = found.moved(self._retained.places) if len(found) else self.nothing
        matches = Matches(self._query.query, self._retained.view, [places], budget=self._budget)
        self._evict()
        return matches

    def _step(self, reached: Reached) -> Bindings:
        """The matches to report, when all events are there and time has come so far."""
        if self._events:
            last = self._events[-1].ticks
            now = last if reached.now is None else max(reached.now, last)
            reached = replace(reached, now=now, count=self._retained.next_number)
        before, self._reached = self._reached, replace(reached, at_end=False)
        query = self._query.query
        decided, self._waiting = self._found(before, reached)
        found = bindings_of(query, in_order(query, decided), self._rule.timed_out)
        count, left_out = self._metrics.matches + len(found), 0
        self._check_limit(count, self._options.max_matches)
        if self._reporting is not None:
            moment = _ReferenceMoment(
                self._retained,
                min((each.match.completed for each in self._waiting), default=None),
                reached.at_end,
                self,
                reached,
            )
            found = self._reporting.report(found, moment)
            left_out = self._reporting.left_out
        if self._rule.timed_out:
            found = self._with_timed_out(found, reached)
        self._metrics = Metrics(self._retained.next_number, count, left_out=left_out)
        self.events_done = self._retained.next_number
        return found

    def _with_timed_out(self, found: Bindings, reached: Reached) -> Bindings:
        """The matches, and the partial matches whose window has passed."""
        query, waiting = self._query.query, {each.start for each in self._pending}
        passed = [
            first
            for first, binding in self._furthest.found.items()
            if first not in self._begun | self._timed_out
            and first not in waiting
            and reached.has_passed(timed_out(binding, self._extent).ended)
        ]
        partial = [timed_out(self._furthest.found[each], self._extent) for each in passed]
        self._timed_out.update(passed)
        settled = self._begun | self._timed_out
        self._open = {
            first: timed_out(binding, self._extent).ended
            for first, binding in self._furthest.found.items()
            if first not in settled
        }
        late = bindings_of(query, in_order(query, partial), timed_out=True)
        if found.timed_out is None:
            found = replace(found, timed_out=np.zeros(len(found), dtype=np.bool_))
        return joined_bindings([found, late])

    def _found(self, before: Reached, reached: Reached) -> tuple[list[Match], list[_Pending]]:
        """The matches that are decided now and were not before, and those that are not decided."""
        query = self._query.query
        known: set[Any] = set()
        decided: dict[Any, Match] = {}
        waiting: dict[Any, list[_Pending]] = {}
        size = self._budget.used
        self._furthest = Furthest(query)
        with naming_component(self._budget, query, None), self._budget.in_force():
            for each in self._alternatives():
                each.furthest = self._furthest if self._rule.timed_out else None
                for match in each.matches():
                    key = sort_key(query, match)
                    if not each.is_decided(match, reached):
                        by_time = each.is_decided(match, replace(reached, now=MAX_TICKS * 4))
                        waiting.setdefault(key, []).append(_Pending(match, by_time))
                    elif key not in decided or match.completed < decided[key].completed:
                        decided[key] = match
                    if match.completed[1] < before.count and each.is_decided(match, before):
                        known.add(key)
        self._budget.release(self._budget.used - size)
        self._begun = {match.events()[0].position for match in decided.values()}
        fresh = [match for key, match in decided.items() if key not in known]
        others = [each for key, all_ in waiting.items() if key not in decided for each in all_]
        return fresh, others

    def _alternatives(self) -> list[reference.Evaluation]:
        query, own_windows = self._query.query, self._query.own_windows
        made = reference.alternatives(
            query, self._events, self._window, self._evaluation, own_windows
        )
        return list(made)

    @property
    def _pending(self) -> list[_Pending]:
        """The matches that are found but not decided."""
        if self._waiting is None:
            self._waiting = self._found(self._reached, self._reached)[1]
        return self._waiting

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet."""
        times = [_end(each) for each in self._pending]
        held = None if self._reporting is None else self._reporting.first_end
        times += [min(each, MAX_TICKS) for each in self._open.values()]
        return min([*times, *([] if held is None else [held])], default=None)

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""
        times = [_end(each) for each in self._pending if each.is_decided_by_time]
        times += [min(each, MAX_TICKS) for each in self._open.values()]
        if self._reporting is not None and self._has_time_window:
            start = self._reporting.first_start
            times += [] if start is None else [start + self._extent]
        return min(times, default=None)

    @property
    def _has_time_window(self) -> bool:
        return self._measure is ast.WindowMeasure.TIME and self._window is not None

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""
        if not self._has_time_window:
            return None
        if not self._events:
            return self._reached.now
        gap = 0 if self._reporting is None else self._reporting.gap
        return self._events[-1].ticks + self._reach + gap

    # --- events that are no longer needed

    @property
    def _reach(self) -> int:
        """The most ticks or events between an event and a later one that it matters to."""
        own = max(self._query.own_windows.values(), default=0)
        looks_back = any(part.negations for part in self._query.alternatives)
        return self._extent + own + (max(self._extent, own) if looks_back else 0)

    def _evict(self) -> None:
        """Evict the events that no later match can contain or be violated by."""
        if self._window is None or not self._events:
            return
        wanted = self._wanted()
        held = [] if self._reporting is None else self._reporting.first_held
        first = min((int(each.min()) for each in held), default=None)
        if first is not None:
            wanted |= self._retained.numbers >= first
        if wanted.all():
            return
        if self._measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            self._events = [event for event, keep in zip(self._events, wanted, strict=True) if keep]
            self._retained.keep(wanted)
        else:
            count = int(np.argmax(wanted)) if wanted.any() else len(wanted)
            self._events = self._events[count:]
            self._retained.drop_first(count)
        first_wanted = self._first_wanted()
        self._timed_out = {each for each in self._timed_out if each >= first_wanted}
        if self._reporting is not None:
            numbers = self._partitions.drop_before(first_wanted, self._used_partitions())
            self._reporting.renumber_partitions(numbers)

    def _first_wanted(self) -> int:
        return self._events[0].position if self._events else self._retained.next_number

    def _used_partitions(self) -> Int64s:
        assert self._reporting is not None
        return self._reporting.used_partitions(self._reached.now)

    def _wanted(self) -> Bools:
        """Which events a later match can contain or be violated by."""
        reached, reach = self._reached, self._reach
        assert reached.now is not None
        own = 2 * max(self._query.own_windows.values(), default=0)
        ticks = np.array([event.ticks for event in self._events], dtype=np.int64)
        recent: Bools = ticks > reached.now - (reach if self._has_time_window else own)
        if self._has_time_window:
            return recent
        numbers = self._retained.numbers
        if self._measure is ast.WindowMeasure.EVENTS:
            return recent | np.asarray(numbers >= reached.count - reach)
        # An event is in one window with fewer than this many later events of its partition.
        counts: dict[tuple[Any, ...], int] = {}
        for place in range(len(self._events) - 1, -1, -1):
            key = tuple(self._events[place].values.get(name, ...) for name in self._tests)
            counts[key] = counts.get(key, 0) + 1
            recent[place] |= counts[key] <= reach
        return recent

    # --- snapshots

    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot, valid until the next call."""
        header = {
            "window": self._task.window,
            "output": self._rule.output,
            "at_most_once_per": self._rule.least_gap,
            **({"timed_out": True} if self._rule.timed_out else {}),
            "evaluation": REFERENCE,
            "now": self._reached.now,
            "found": self._metrics.matches,
        }
        arrays = self._partitions.state(self._tests)
        arrays["timed_out"] = np.array(sorted(self._timed_out), dtype=np.int64)
        if self._reporting is not None:
            arrays |= self._reporting.state()
        return self._packed(header, arrays)

    def load(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        check_values(header, {"now": "integer?", "found": "count"})
        described = {**PARTITION_ARRAYS, "timed_out": expected(np.int64, "starts", each=(0, FAR))}
        check_arrays(arrays, described, ["retained", *REPORTING_PARTS])
        super().load(header, arrays)
        self._reached = Reached(header["now"], self._retained.next_number)
        events = self._retained.events
        self._events = python_events(events, self._attributes, self._retained.numbers)
        if self._events:
            ordered = all(events.ticks[1:] >= events.ticks[:-1])
            require(ordered, "retained events are in no order")
            now = header["now"]
            require(now is not None and events.ticks[-1] <= now, "'now' is too early")
        self._partitions.load(arrays, self._tests)
        self._timed_out = {*arrays["timed_out"].tolist()}
        known = range(self._retained.first_number, self._retained.next_number)
        if self._reporting is not None:
            self._reporting.load(arrays, known)
        self._metrics = Metrics(self._retained.next_number, header["found"])
        self._waiting = None


@dataclass(frozen=True, slots=True, eq=False)
class _ReferenceMoment(Moment):
    """What a session by the definition knows: a match is in the partition of all its events."""

    session: ReferenceSession
    reached: Reached

    @property
    def partitions(self) -> int:
        """The number of partitions so far."""
        return max(len(self.session._partitions), 1)

    def partition_of(self, matches: Bindings) -> Int64s:
        """The partition of each match."""
        session, query = self.session, self.session._query.query
        numbers = int64s(len(matches))
        for ix, binding in enumerate(matches):
            match = Match({name: self._events(bound) for name, bound in binding.items()}, 0)
            key = partition_of(query, match)
            numbers[ix] = session._partitions.number(key, match.completed[1])
        return numbers

    def is_closed(self, matches: Bindings) -> Bools:
        """Whether the window of the first event of each match has passed."""
        pending = {each.start for each in self.session._pending}
        one = self.session._alternatives()[0]
        first = [self._events(int(each)) for each in matches.first_events()]
        closed = [
            self.at_end or (event.position not in pending and one.has_left([event], self.reached))
            for event in first
            if isinstance(event, Event)
        ]
        return np.array(closed, dtype=np.bool_)

    def _events(self, bound: int | list[int]) -> Event | list[Event]:
        """The events at these positions."""
        events, places = self.session._events, self.retained.places
        if isinstance(bound, list):
            return [events[place] for place in places(np.array(bound, dtype=np.int64))]
        return events[int(places(np.array([bound]))[0])]
