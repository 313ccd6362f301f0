"""Counts and samples partial matches: evaluates the stages of a pattern within limits.

NFA^b runs a stage over all events. If it refuses the stage (mostly because of AND), the reference
evaluation runs it over the first events only. A count that stops at a limit is a lower bound and
says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.options import Options
from cepheid.engines.reference import bindings_of, python_events
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.own_windows import on_axis
from cepheid.explain.diagnosis.stream import Positions, Stream
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.matches.bindings import Bindings
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.reference import definition as reference
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match, sort_key
from cepheid.sessions.session import Session
from cepheid.tuning import tuning

MOST_LISTED = 20_000_000
"""The largest number of events in the partial matches that are counted."""
MOST_EVALUATIONS = 50_000_000
"""The largest number of predicates that NFA^b evaluates for a stage, plus those of a batch."""
FEWEST_EVENTS = 64
"""The least number of events to try after a larger number of events had too many runs."""
MOST_STEPS = 200_000
"""The number of times that the reference evaluation may read an event for a stage."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number, or a lower bound if it is not exact."""

    number: int
    is_exact: bool = True

    def __str__(self) -> str:
        return f"{self.number:,}" if self.is_exact else f"≥ {self.number:,}"


@dataclass(slots=True)
class Partials:
    """The matches of a stage: their number, a sample, and the extent of the shortest one."""

    number: int = 0
    is_exact: bool = True
    sample: list[Positions] = field(default_factory=list)
    least_extent: int | None = None
    _stride: int = 1

    @property
    def count(self) -> Count:
        """The number of partial matches."""
        return Count(self.number, self.is_exact)

    def add(self, block: Bindings, axis: Int64s) -> None:
        """Count all partial matches of a block, and keep every n-th one."""
        for match_ix in range(-self.number % self._stride, len(block), self._stride):
            if (self.number + match_ix) % self._stride == 0:
                self.sample.append(block.one(match_ix))
                if len(self.sample) > tuning().diagnosis_sample:
                    self.sample = self.sample[::2]
                    self._stride *= 2
        self.number += len(block)
        if len(block):
            extent = int((axis[block.last_events()] - axis[block.first_events()]).min())
            known = extent if self.least_extent is None else self.least_extent
            self.least_extent = min(known, extent)


class Counting:
    """Evaluates stages over a stream, each of them once."""

    def __init__(self, stream: Stream, compiled: bool) -> None:
        self._stream = stream
        self._compile = compiled
        self._known: dict[tuple[str, int | None], Partials] = {}
        self._python_events: list[Event] | None = None
        self.skipped_events = False

    def partials(self, query: ast.Query, window: int | None = None) -> Partials:
        """The matches of a query without OR, star and negation, in its own or in another window."""
        window = self._stream.window if window is None else window
        key = (print_query(query), window)
        if key not in self._known:
            analysed = self._compiled(query)
            self._known[key] = (
                self._interpreted(query, window)
                if analysed is None
                else self._over_fewer_events(analysed, window)
            )
        return self._known[key]

    def matches(self, query: ast.Query) -> Partials:
        """The matches of any query with few enough matches to find all of them."""
        stream, analysed = self._stream, self._compiled(query)
        if analysed is None:
            return self._interpreted(query, stream.window)
        options = Options(max_runs=tuning().diagnosis_runs, max_matches=tuning().diagnosis_count)
        found = Partials()
        try:
            for block in Session(analysed, stream.window, EVERY_MATCH, options).run(stream.events):
                found.add(block, stream.axis)
        except LimitError:
            found.is_exact = False
        return found

    def _compiled(self, query: ast.Query) -> AnalysedQuery | None:
        """The query as NFA^b runs it, or None if it does not."""
        events = self._stream.events
        analysed = on_axis(analyse(query, events.schema), events.time_axis)
        return analysed if self._compile and refuse_nfa_b(analysed) is None else None

    def _over_fewer_events(self, query: AnalysedQuery, window: int | None) -> Partials:
        """The matches among all events, or among the first ones if there are too many runs."""
        events = self._stream.events
        while True:
            try:
                found = self._limited(query, events, window)
            except LimitError:
                if len(events) <= FEWEST_EVENTS:
                    return Partials(is_exact=False)
                events = events.slice(0, max(len(events) // 4, FEWEST_EVENTS))
            else:
                found.is_exact &= len(events) == len(self._stream.events)
                return found

    def _limited(self, query: AnalysedQuery, events: Events, window: int | None) -> Partials:
        session = Session(query, window, EVERY_MATCH, Options(max_runs=tuning().diagnosis_runs))
        found = Partials()
        listed = 0
        for block in _blocks(session, events):
            found.add(block, self._stream.axis)
            listed += block.events
            evaluated = sum(session.metrics.evaluations.values())
            if (
                found.number >= tuning().diagnosis_count
                or listed >= MOST_LISTED
                or evaluated >= MOST_EVALUATIONS
            ):
                found.is_exact = False
                break
        return found

    def _interpreted(self, query: ast.Query, window: int | None) -> Partials:
        events = self._stream.events
        looked_at = min(len(events), tuning().diagnosis_interpreted)
        if self._python_events is None:
            part = events.slice(0, looked_at)
            self._python_events = python_events(part, self._stream.attributes)
        found = Partials(is_exact=looked_at == len(events))
        self.skipped_events |= not found.is_exact
        limited = _Limited(self._python_events, iter(range(MOST_STEPS + 2 * looked_at)))
        matches: dict[Any, Match] = {}
        try:
            own_windows = self._stream.own_windows
            for match in reference.find(query, limited, window, own_windows=own_windows):
                matches.setdefault(sort_key(query, match), match)
        except LimitError:
            found.is_exact = False
        found.add(bindings_of(query, list(matches.values())), self._stream.axis)
        return found


def _blocks(session: Session, events: Events) -> Iterator[Bindings]:
    """The matches of a session; batches grow, so that a limit is noticed early."""
    low, high = 0, tuning().diagnosis_batch
    while low < len(events):
        yield from session.found(events.slice(low, min(high, len(events))))
        low, high = high, 2 * high if high < tuning().chunk_events else len(events)


class _Limited(list[Event]):
    """Events that can be read a limited number of times: each reading takes one of the steps."""

    def __init__(self, events: Iterable[Event], steps: Iterator[int]) -> None:
        super().__init__(events)
        self._steps = steps

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return _Limited(found, self._steps) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[Event]:
        for event in super().__iter__():
            if next(self._steps, None) is None:
                raise LimitError("the events were read too many times")
            yield event
