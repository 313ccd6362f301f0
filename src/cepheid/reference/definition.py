"""The definition of a query, executed. Slow, obvious, and the oracle of every test.

It reads the abstract syntax directly and shares no code with analysis, so that a mistake in
analysis is not repeated here. A position is the place of an event in the ordered stream; times are
ticks of the time axis.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from cepheid.budget import charge
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.reference.conditions import agree, conditions_of, equivalences_of, holds, is_bound
from cepheid.reference.flat_patterns import Absent, FlatPattern, expand
from cepheid.reference.interpreter import Binding, Event, Interpreter, list_of
from cepheid.reference.match import Match, Reached, events_of, sort_key

if TYPE_CHECKING:
    from cepheid.reference.timed_out import Furthest

OwnWindows = Mapping[ast.Window, int]
"""The own windows of negations, in ticks."""

_MATCH_BYTES, _EVENT_BYTES = 600, 60
"""What a match, and each of its events, takes at most until it is reported."""


def evaluate(
    query: ast.Query,
    events: Sequence[Event],
    window: int | None = None,
    evaluation: type[Evaluation] | None = None,
    own_windows: OwnWindows | None = None,
) -> list[Match]:
    """All matches of the query over the ordered events, in order of completion.

    ``window`` is the extent of WITHIN, in ticks or events. ``own_windows`` has the ticks of the
    negations' own windows; without it they are in ticks. What OUTPUT says is applied by
    :mod:`cepheid.reference.output`.
    """
    found: dict[Any, Match] = {}
    for match in find(query, events, window, evaluation, own_windows):
        charge(_MATCH_BYTES + _EVENT_BYTES * len(match.events()))
        key = sort_key(query, match)
        if key not in found or match.completed < found[key].completed:
            found[key] = match
    return sorted(found.values(), key=lambda match: (match.completed, sort_key(query, match)))


def find(
    query: ast.Query,
    events: Sequence[Event],
    window: int | None = None,
    evaluation: type[Evaluation] | None = None,
    own_windows: OwnWindows | None = None,
) -> Iterator[Match]:
    """The matches as they are found; a match of two alternatives comes twice."""
    for each in alternatives(query, events, window, evaluation, own_windows):
        yield from each.matches()


def alternatives(
    query: ast.Query,
    events: Sequence[Event],
    window: int | None = None,
    evaluation: type[Evaluation] | None = None,
    own_windows: OwnWindows | None = None,
) -> Iterator[Evaluation]:
    """The alternatives of a query over events in order, some of which may have been left out."""
    make = evaluation or Evaluation
    for flat in expand(query.pattern):
        if flat.positives:
            yield make(query, flat, events, window, own_windows or {})


def returned(query: ast.Query, match: Match) -> list[Any]:
    """The values of the RETURN items for a match."""
    assert query.returns is not None
    interpreter = Interpreter(match.binding, {})
    return [interpreter.returned(item.expression) for item in query.returns.items]


class Evaluation:
    """One alternative of a query over one stream."""

    def __init__(
        self,
        query: ast.Query,
        flat: FlatPattern,
        events: Sequence[Event],
        window: int | None,
        own_windows: OwnWindows,
    ) -> None:
        self.flat = flat
        self.events = events
        self.ticks = [event.ticks for event in events]
        self.positions = [event.position for event in events]
        self.extent = window
        self.own_windows = own_windows
        self.furthest: Furthest | None = None
        self.measure = query.measure
        self.strategy = query.strategy
        self.equivalences = equivalences_of(query)
        negated = {component.variable for component in flat.negatives}
        self.conditions: list[ast.Expression] = []
        self.conditions_on: dict[str, list[ast.Expression]] = {name: [] for name in negated}
        for condition in conditions_of(query):
            named = variables_in(condition)
            if named <= flat.variables():
                for name in named & negated:
                    self.conditions_on[name].append(condition)
                if not named & negated:
                    self.conditions.append(condition)

    def matches(self) -> Iterator[Match]:
        """The matches, in no particular order."""
        if self.strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
            bindings = self._runs()
        else:
            bindings = self._candidates(0, {})
        for binding in bindings:
            if not any(self._violated(negated, binding) for negated in self.flat.negatives):
                yield Match(dict(binding), self._ended(binding))

    # --- candidates: every choice of events that satisfies everything

    def _candidates(self, index: int, binding: Binding) -> Iterator[Binding]:
        if index == len(self.flat.positives):
            yield binding
            return
        component = self.flat.positives[index]
        for event in self._within_reach(binding):
            if self._can_follow(component, event, binding):
                if component.is_kleene:
                    yield from self._lists(index, binding, [event])
                else:
                    extended = {**binding, component.variable: event}
                    if self._consistent(extended):
                        self._note(extended)
                        yield from self._candidates(index + 1, extended)

    def _lists(self, index: int, binding: Binding, chosen: list[Event]) -> Iterator[Binding]:
        """Bindings in which the Kleene component has this list, or one that continues it."""
        component = self.flat.positives[index]
        assert component.bounds is not None
        extended = {**binding, component.variable: chosen}
        if not self._consistent(extended, growing=component.variable):
            return
        self._note(extended)
        if len(chosen) >= component.bounds.least and self._consistent(extended):
            yield from self._candidates(index + 1, extended)
        if len(chosen) != component.bounds.most:
            for event in self._within_reach(extended, chosen[-1].position):
                if self._can_follow(component, event, binding):
                    yield from self._lists(index, binding, [*chosen, event])

    def _can_follow(self, component: ast.Component, event: Event, binding: Binding) -> bool:
        """Whether the event has the right type and place and is not in the binding yet."""
        return (
            event.type in component.types
            and all(event is not other for other in events_of(binding))
            and self._in_place(component.variable, event, binding)
        )

    def _in_place(self, variable: str, event: Event, binding: Binding) -> bool:
        for other, bound in binding.items():
            events = bound if isinstance(bound, list) else [bound]
            if (other, variable) in self.flat.before and events[-1].position >= event.position:
                return False
            if (variable, other) in self.flat.before and events[0].position <= event.position:
                return False
        return True

    # --- skip_till_next_match: the runs that NFA^b allows [Agrawal08 §3]

    def _runs(self) -> Iterator[Binding]:
        for event in self.events:
            for binding in self._begin(0, {}, event):
                if self._is_near(binding, complete=True):
                    yield binding

    def _begin(self, index: int, binding: Binding, event: Event) -> Iterator[Binding]:
        """The matches of the runs that take the event as the first of this component."""
        component = self.flat.positives[index]
        bound = [event] if component.is_kleene else event
        yield from self._take(index, {**binding, component.variable: bound}, event)

    def _take(self, index: int, binding: Binding, event: Event) -> Iterator[Binding]:
        """As ``_begin``, for a binding in which the component already has the event."""
        component = self.flat.positives[index]
        if not (self._may_take(component, binding, event) and self._is_near(binding)):
            return
        self._note(binding)
        is_last = index + 1 == len(self.flat.positives)
        if component.bounds is None:
            if is_last:
                yield binding
            else:
                yield from self._wait(index + 1, binding, event.position)
            return
        least, most = component.bounds.least, component.bounds.most
        taken = list_of(binding, component.variable)
        if is_last and len(taken) >= least and self._satisfied(binding):
            yield binding
        for later in self._within_reach(binding, event.position):
            if len(taken) == most:
                break
            if not is_last and len(taken) >= least:
                yield from self._begin(index + 1, binding, later)
            extended = {**binding, component.variable: [*taken, later]}
            if self._may_take(component, extended, later):
                binding, taken, event = extended, [*taken, later], later
                if not self._is_near(binding):
                    return
                self._note(binding)
                if is_last and len(taken) >= least and self._satisfied(binding):
                    yield binding
        if len(taken) == most and not is_last:
            yield from self._wait(index + 1, binding, event.position)

    def _wait(self, index: int, binding: Binding, position: int) -> Iterator[Binding]:
        """A run that waits for a component takes the first event that can begin it."""
        component = self.flat.positives[index]
        for event in self._within_reach(binding, position):
            bound = [event] if component.is_kleene else event
            if self._may_take(component, {**binding, component.variable: bound}, event):
                yield from self._begin(index, binding, event)
                return

    def _may_take(self, component: ast.Component, extended: Binding, event: Event) -> bool:
        """The begin or take condition; the window is not part of it: it ends a run."""
        growing = component.variable if component.is_kleene else None
        return event.type in component.types and self._satisfied(extended, growing)

    def _note(self, binding: Binding) -> None:
        """Keep a binding of the first components, if partial matches are asked for."""
        if self.furthest is not None and self._is_near(binding, complete=True):
            self.furthest.add(binding)

    # --- what a binding must satisfy

    def _consistent(self, binding: Binding, growing: str | None = None) -> bool:
        """Whether everything that can be tested so far holds; ``growing`` is not complete yet."""
        complete = growing is None and len(binding) == len(self.flat.positives)
        return self._is_near(binding, complete) and self._satisfied(binding, growing)

    def _satisfied(self, binding: Binding, growing: str | None = None) -> bool:
        """Whether all conditions hold that can be tested with the bound events."""
        events = events_of(binding)
        return all(agree(test, events) for test in self.equivalences) and all(
            holds(condition, binding)
            for condition in self.conditions
            if is_bound(condition, binding, growing)
        )

    def _is_near(self, binding: Binding, complete: bool = False) -> bool:
        """Whether the window and the contiguity hold, if they can be tested already.

        The partition of an incomplete match is unknown if the types of its first events do not have
        the equivalence attributes.
        """
        events = events_of(binding)
        in_known_partition = all(
            test.value is not None or any(test.attribute in event.values for event in events)
            for test in self.equivalences
        )
        if not (complete or in_known_partition):
            return True
        return self._fits(events) and self._contiguous(events)

    def _fits(self, events: list[Event]) -> bool:
        if self.extent is None:
            return True
        first, last = events[0], events[-1]
        if self.measure is ast.WindowMeasure.TIME:
            return last.ticks - first.ticks < self.extent
        if self.measure is ast.WindowMeasure.EVENTS:
            return last.position - first.position < self.extent
        between = self._between(first.position + 1, last.position + 1)
        return sum(self._same_partition(event, events) for event in between) < self.extent

    def _within_reach(self, binding: Binding, after: int = -1) -> Sequence[Event]:
        """The events after a position that may be in one window with those of the binding.

        This only saves time: the window is tested on the bound events.
        """
        low, high = 0, len(self.events)
        bound = events_of(binding)
        if bound and self.extent is not None:
            if self.measure is ast.WindowMeasure.TIME:
                low = bisect_right(self.ticks, bound[-1].ticks - self.extent)
                high = bisect_left(self.ticks, bound[0].ticks + self.extent)
            elif self.measure is ast.WindowMeasure.EVENTS:
                low = bisect_left(self.positions, bound[-1].position - self.extent + 1)
                high = bisect_left(self.positions, bound[0].position + self.extent)
        return self.events[max(low, bisect_right(self.positions, after)) : high]

    def _between(self, low: int, high: int) -> Sequence[Event]:
        """The events from a position to another."""
        return self.events[bisect_left(self.positions, low) : bisect_left(self.positions, high)]

    def _contiguous(self, events: list[Event]) -> bool:
        if self.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
            return all(b.position - a.position == 1 for a, b in pairwise(events))
        if self.strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY:
            return not any(
                self._same_partition(event, events)
                for a, b in pairwise(events)
                for event in self._between(a.position + 1, b.position)
            )
        return True

    def _same_partition(self, event: Event, events: list[Event]) -> bool:
        return all(agree(test, [*events, event]) for test in self.equivalences)

    # --- negation

    def _violated(self, negated: Absent, binding: Binding) -> bool:
        events = events_of(binding)
        reach = self._within_reach(binding) if negated.window is None else self.events
        return any(
            event.type in negated.component.types
            and self._is_where_absent(negated, event, binding)
            and self._same_partition(event, events)
            and all(
                holds(condition, {**binding, negated.variable: event})
                for condition in self.conditions_on[negated.variable]
            )
            for event in reach
        )

    def _is_where_absent(self, negated: Absent, event: Event, binding: Binding) -> bool:
        """Whether an event lies where no event of the negated component may be."""
        if negated.inside is not None:
            chosen = list_of(binding, negated.inside)
            is_between = chosen[0].position < event.position < chosen[-1].position
            return is_between and all(event is not other for other in chosen)
        if not self._in_place(negated.variable, event, binding):
            return False
        if negated.window is None:
            together = [*events_of(binding), event]
            return self._fits(sorted(together, key=lambda event: event.position))
        before, after = self._around(negated, binding)
        distance = event.ticks - before[-1].ticks if before else after[0].ticks - event.ticks
        return distance < self._own_extent(negated.window)

    def _around(self, negated: Absent, binding: Binding) -> tuple[list[Event], list[Event]]:
        """The events of the parts before a negation, and of the parts after it."""
        order, name = self.flat.before, negated.variable
        before = {other: bound for other, bound in binding.items() if (other, name) in order}
        after = {other: bound for other, bound in binding.items() if (name, other) in order}
        return events_of(before), events_of(after)

    def _own_extent(self, window: ast.Window) -> int:
        assert not isinstance(window.extent, ast.Parameter)
        return self.own_windows.get(window, ceil(window.extent))

    def _ended(self, binding: Binding) -> int:
        return max(self._deadlines(binding), default=events_of(binding)[-1].ticks)

    def _deadlines(self, binding: Binding) -> Iterator[int]:
        """The times at which the negations are decided that later events can violate."""
        for negated, before in self._open_negations(binding):
            if negated.window is not None:
                yield before[-1].ticks + self._own_extent(negated.window)
            elif self.extent is not None and self.measure is ast.WindowMeasure.TIME:
                yield events_of(binding)[0].ticks + self.extent

    def _open_negations(self, binding: Binding) -> Iterator[tuple[Absent, list[Event]]]:
        """The negations that an event after the match can violate, and the events before them."""
        for negated in self.flat.negatives:
            before, after = self._around(negated, binding)
            if not after and negated.inside is None:
                yield negated, before

    def is_decided(self, match: Match, reached: Reached) -> bool:
        """Whether no later event can violate a match."""
        for negated, before in self._open_negations(match.binding):
            if negated.window is not None:
                ended = reached.has_passed(before[-1].ticks + self._own_extent(negated.window))
            else:
                ended = self.has_left(match.events(), reached)
            if not ended:
                return False
        return True

    def has_left(self, events: list[Event], reached: Reached) -> bool:
        """Whether no later event is in one window with these."""
        if reached.at_end or self.extent is None:
            return reached.at_end
        first = events[0]
        if self.measure is ast.WindowMeasure.TIME:
            return reached.has_passed(first.ticks + self.extent)
        if self.measure is ast.WindowMeasure.EVENTS:
            return reached.count - first.position >= self.extent
        # An event without an attribute of the equivalence tests is in many partitions.
        named = {test.attribute for test in self.equivalences}
        known = named & {name for event in events for name in event.values}
        counted = [
            event
            for event in self._between(first.position, reached.count)
            if named & event.values.keys() <= known and self._same_partition(event, events)
        ]
        return len(counted) >= self.extent
