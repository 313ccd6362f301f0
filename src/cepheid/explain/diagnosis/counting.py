"""Counts and samples partial matches: evaluates the stages of a pattern within limits.

NFA^b runs a stage over all events. If it refuses the stage (mostly because of AND), the reference
evaluation runs it over the first events only. A count that stops at a limit is a lower bound and
says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.options import Options
from cepheid.errors import LimitError
from cepheid.events.events import Events
from cepheid.explain.diagnosis.stream import Positions, Stream, all_positions
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.matches.bindings import Bindings
from cepheid.reference import definition as reference
from cepheid.reference.interpreter import Event
from cepheid.sessions.reference_run import python_events
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

    def add(self, binding: Positions) -> None:
        """Count a partial match, and keep every n-th one."""
        if self.number % self._stride == 0:
            self._keep(binding)
        self.number += 1

    def add_block(self, block: Bindings) -> None:
        """Count all partial matches of a block, and keep every n-th one."""
        for match_ix in range(-self.number % self._stride, len(block), self._stride):
            if (self.number + match_ix) % self._stride == 0:
                self._keep(block.one(match_ix))
        self.number += len(block)

    def _keep(self, binding: Positions) -> None:
        self.sample.append(binding)
        if len(self.sample) > tuning().diagnosis_sample:
            self.sample = self.sample[::2]
            self._stride *= 2


class Counting:
    """Evaluates stages over a stream, each of them once."""

    def __init__(self, stream: Stream, compiled: bool) -> None:
        self._stream = stream
        self._compile = compiled
        self._known: dict[tuple[str, int | None], Partials] = {}
        self._python_events: Sequence[Event] | None = None
        self.skipped_events = False

    def partials(self, query: ast.Query, window: int | None = None) -> Partials:
        """The matches of a query without OR, star and negation, in its own or in another window."""
        window = self._stream.window if window is None else window
        key = (print_query(query), window)
        if key not in self._known:
            self._known[key] = self._evaluate(query, window)
        return self._known[key]

    def matches(self, query: ast.Query) -> Partials:
        """The matches of any query with few enough matches to find all of them."""
        analysed = analyse(query, self._stream.events.schema)
        if not self._is_compiled(analysed):
            return self._interpreted(query, self._stream.window)
        options = Options(max_runs=tuning().diagnosis_runs, max_matches=tuning().diagnosis_count)
        found = Partials()
        try:
            for block in Session(analysed, self._stream.window, "all", options).run(
                self._stream.events
            ):
                found.add_block(block)
        except LimitError:
            found.is_exact = False
        return found

    def _evaluate(self, query: ast.Query, window: int | None) -> Partials:
        analysed = analyse(query, self._stream.events.schema)
        if not self._is_compiled(analysed):
            return self._interpreted(query, window)
        events = self._stream.events
        while True:
            try:
                found = self._compiled(analysed, events, window)
            except LimitError:
                if len(events) <= FEWEST_EVENTS:
                    return Partials(is_exact=False)
                events = events.slice(0, max(len(events) // 4, FEWEST_EVENTS))
            else:
                found.is_exact &= len(events) == len(self._stream.events)
                return found

    def _is_compiled(self, query: AnalysedQuery) -> bool:
        return self._compile and refuse_nfa_b(query) is None

    def _compiled(self, query: AnalysedQuery, events: Events, window: int | None) -> Partials:
        session = Session(query, window, "all", Options(max_runs=tuning().diagnosis_runs))
        found = Partials()
        listed = 0
        for block in _blocks(session, events):
            found.add_block(block)
            if len(block):
                extents = (
                    self._stream.axis[block.last_events()] - self._stream.axis[block.first_events()]
                )
                found.least_extent = _least(found.least_extent, int(extents.min()))
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
        steps = _Steps(MOST_STEPS + looked_at)
        seen = set()
        try:
            for match in reference.find(query, _Counted(self._python_events, steps), window):
                binding: Positions = {
                    name: [event.position for event in bound]
                    if isinstance(bound, list)
                    else bound.position
                    for name, bound in match.binding.items()
                }
                key = str(binding)
                if key in seen:
                    continue
                seen.add(key)
                found.add(binding)
                positions = all_positions(binding)
                extent = self._stream.extent(positions[0], positions[-1])
                found.least_extent = _least(found.least_extent, extent)
        except _OutOfSteps:
            found.is_exact = False
        return found


def _blocks(session: Session, events: Events) -> Iterator[Bindings]:
    """The matches of a session; batches grow, so that a limit is noticed early."""
    low, high = 0, tuning().diagnosis_batch
    while low < len(events):
        yield from session.found(events.slice(low, min(high, len(events))))
        low, high = high, 2 * high if high < tuning().chunk_events else len(events)


def _least(known: int | None, other: int) -> int:
    return other if known is None else min(known, other)


class _OutOfSteps(Exception):
    pass


@dataclass(slots=True)
class _Steps:
    left: int


class _Counted(Sequence[Event]):
    """Events that can be read a limited number of times."""

    def __init__(self, events: Sequence[Event], steps: _Steps) -> None:
        self._events = events
        self._steps = steps

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: Any) -> Any:
        found = self._events[index]
        return _Counted(found, self._steps) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            self._steps.left -= 1
            if self._steps.left < 0:
                raise _OutOfSteps
            yield event
