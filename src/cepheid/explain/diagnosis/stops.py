"""Finds out why a run stopped, from the events that could have come next.

Of all events of the right type, the one that comes closest to being the next event explains the
stop: by a condition that it fails, or by the window. An event of another key (another value in an
equality) is further away than an event that comes too late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cepheid.analysis.model import Alternative
from cepheid.analysis.names import variables_in
from cepheid.analysis.placement import indices_in, reads_whole_list
from cepheid.explain.diagnosis.candidates import Candidates, Surroundings, keys_of
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.prefixes import (
    Goal,
    Stage,
    conditions_of,
    equivalences_of,
)
from cepheid.explain.diagnosis.stream import (
    Positions,
    Stream,
    all_positions,
    bound_events,
    positions_of,
)
from cepheid.language import syntax as ast
from cepheid.reference.interpreter import Binding, Event

MOST_TAKEN = 50
"""The number of events for which a Kleene component is followed."""

CONTIGUOUS = (
    ast.SelectionStrategy.STRICT_CONTIGUITY,
    ast.SelectionStrategy.PARTITION_CONTIGUITY,
)


@dataclass(frozen=True, slots=True)
class Miss:
    """Why one run stopped; ``kind`` is the kind of a reason.

    ``position`` is the event that came closest. ``failing`` are the numbers of the tests that it
    failed, ``conditions`` their texts; ``is_key``: this is one equality, and all candidates fail
    it. ``extent`` is the extent of the run with the event. If a Kleene component got too few
    events, ``cause`` is the reason why it got no more.
    """

    kind: str
    run: Positions
    position: int | None = None
    conditions: tuple[str, ...] = ()
    failing: tuple[int, ...] = ()
    is_key: bool = False
    extent: int | None = None
    cause: Miss | None = None


WENT_ON = Miss("none", {})
"""The outcome of a run that did not stop."""


class Follower:
    """Follows runs that reached one stage, or none, towards the next."""

    def __init__(
        self, stream: Stream, alternative: Alternative, current: Stage | None, upcoming: Stage
    ) -> None:
        self._stream = stream
        self._components = alternative.components
        self._surroundings = Surroundings(stream, alternative)
        self._query = upcoming.query
        self._strategy = upcoming.query.strategy
        self._stage = upcoming
        self._ix = upcoming.component_ix
        self._component = upcoming.component
        self._equivalences = equivalences_of(upcoming.query)
        passed = conditions_of(current.query) if current is not None else []
        new = [test for test in conditions_of(upcoming.query) if test not in passed]
        self._keys = keys_of(self._component, [*self._equivalences, *new])
        self._tests = Tests([*self._equivalences, *new], self._query, list(self._keys))
        self._shared_keys = keys_of(self._component, self._equivalences)
        self._growth: dict[tuple[str, int], Tests] = {}
        is_kleene = current is not None and current.component.is_kleene
        self._list_ix = current.component_ix if current is not None and is_kleene else None
        self._known: dict[int, Event] = {}
        self.tested = 0

    def prepare(self, runs: Iterable[Positions]) -> None:
        """Read all events that are needed to follow these runs."""
        runs = list(runs)
        self._known = {}
        self._learn(position for run in runs for position in all_positions(run))
        wanted: set[int] = set()
        for run in runs:
            if self._strategy in CONTIGUOUS:
                position = self._surroundings.adjacent(run, self._strategy)
                wanted.update([] if position is None else [position])
                continue
            keys = self._keys if self._stage.goal is Goal.FIRST else self._shared_keys
            found = self._surroundings.candidates(self._ix, run, keys, self._known)
            wanted.update(found.inside, found.beyond)
        self._learn(wanted)

    def follow(self, run: Positions) -> Miss | None:
        """Why a run stopped, or WENT_ON; None if it became a run with a longer list."""
        if self._stage.goal is not Goal.FIRST:
            return self._follow_list(run)
        if self._strategy in CONTIGUOUS:
            miss = self._adjacent_miss(run, self._ix, self._tests)
            if miss.kind not in ("contiguity", "condition") or miss.position is None:
                return miss
            return None if self._takes(run, miss.position) else miss
        found = self._candidates(run)
        grown_at = self._grown_at(run)
        if grown_at is not None:
            inside = [position for position in found.inside if position <= grown_at]
            if not inside:
                return None
            found = Candidates(inside, [])
        return self._nearest(run, self._ix, self._tests, found)

    def comparisons(self, miss: Miss) -> list[str]:
        """The values compared by the conditions that stopped a run."""
        if miss.cause is not None:
            return self.comparisons(miss.cause)
        if not miss.failing:
            return []
        component, tests = self._component, self._tests
        if self._stage.goal is Goal.ENOUGH or (
            self._stage.goal is Goal.COMPLETE and miss.position is not None
        ):
            tests = self._growing(self._ix, len(positions_of(miss.run, component.variable)) + 1)
        self._learn(all_positions(miss.run))
        binding = bound_events(miss.run, self._known)
        if miss.position is not None:
            binding = self._with(binding, component, miss.position)
        return [tests.comparison(number, binding) for number in miss.failing]

    # --- one event

    def _nearest(self, run: Positions, ix: int, tests: Tests, found: Candidates) -> Miss:
        """Why the closest candidate is not the next event."""
        component = self._components[ix]
        self._learn([*all_positions(run), *found.inside, *found.beyond])
        binding = bound_events(run, self._known)
        best: tuple[int, int] | None = None
        miss = Miss("absent", run)
        for position in found.inside:
            failing = self._failing(binding, component, position, tests)
            if not failing:
                return WENT_ON
            score = (sum(tests.is_key[number] for number in failing), len(failing))
            if best is None or score < best:
                best = score
                miss = Miss("condition", run, position, failing=failing)
        if best is None or best[0] > 0:
            for position in found.beyond:
                if not self._failing(binding, component, position, tests):
                    taken = sorted((*all_positions(run), position))
                    extent = self._stream.extent(taken[0], taken[-1])
                    return Miss("window", run, position, extent=extent)
        is_key = best == (1, 1) and sum(tests.is_key) == 1
        return replace(miss, conditions=tuple(map(tests.text, miss.failing)), is_key=is_key)

    def _failing(
        self, binding: Binding, component: ast.Component, position: int, tests: Tests
    ) -> tuple[int, ...]:
        self.tested += 1
        return tests.failing(self._with(binding, component, position))

    def _with(
        self, binding: Binding, component: ast.Component, position: int
    ) -> dict[str, Event | list[Event]]:
        """The binding with one more event of a component."""
        self._learn([position])
        event = self._known[position]
        if not component.is_kleene:
            return {**binding, component.variable: event}
        bound = binding.get(component.variable, [])
        assert isinstance(bound, list)
        return {**binding, component.variable: [*bound, event]}

    def _learn(self, positions: Iterable[int]) -> None:
        missing = [position for position in positions if position not in self._known]
        if missing:
            self._known.update(self._stream.python_events(missing))

    def _candidates(self, run: Positions) -> Candidates:
        return self._surroundings.candidates(self._ix, run, self._keys, self._known)

    # --- contiguity

    def _adjacent_miss(self, run: Positions, ix: int, tests: Tests) -> Miss:
        """Why the event that must come next does not fit."""
        component = self._components[ix]
        taken = all_positions(run)
        position = self._surroundings.adjacent(run, self._strategy)
        if position is None:
            return Miss("absent", run)
        if not self._stream.fits(taken[0], position):
            extent = self._stream.extent(taken[0], position)
            return Miss("window", run, position, extent=extent)
        if self._stream.type_of(position) not in component.types:
            return Miss("contiguity", run, position)
        self._learn([*taken, position])
        binding = bound_events(run, self._known)
        failing = self._failing(binding, component, position, tests)
        if not failing:
            return WENT_ON
        conditions = tuple(map(tests.text, failing))
        return Miss("condition", run, position, conditions, failing)

    # --- lists

    def _growing(self, ix: int, length: int) -> Tests:
        """The tests of a list that has grown to this length."""
        name = self._components[ix].variable
        if (name, length) not in self._growth:
            bound = {component.variable for component in self._components[: ix + 1]}
            conditions = [
                condition
                for condition in conditions_of(self._query)
                if name in variables_in(condition) <= bound
                and not reads_whole_list(condition, name)
                and indices_in([condition]).least_lengths.get(name, 1) <= length
            ]
            tests = [*self._equivalences, *conditions]
            self._growth[name, length] = Tests(tests, self._query, self._equivalences)
        return self._growth[name, length]

    def _takes(self, run: Positions, position: int) -> bool:
        """Whether the Kleene component that a run is in takes an event."""
        if self._list_ix is None:
            return False
        component = self._components[self._list_ix]
        assert component.bounds is not None
        length = len(positions_of(run, component.variable))
        if length == component.bounds.most or (
            self._stream.type_of(position) not in component.types
        ):
            return False
        self._learn([*all_positions(run), position])
        binding = bound_events(run, self._known)
        tests = self._growing(self._list_ix, length + 1)
        return not self._failing(binding, component, position, tests)

    def _grown_at(self, run: Positions) -> int | None:
        """Where a skip_till_next_match run takes another event of its Kleene component."""
        if self._list_ix is None or (
            self._strategy is not ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH
        ):
            return None
        component = self._components[self._list_ix]
        keys = keys_of(component, self._equivalences)
        found = self._surroundings.candidates(self._list_ix, run, keys, self._known)
        taken = (position for position in sorted(found.inside) if self._takes(run, position))
        return next(taken, None)

    def _follow_list(self, run: Positions) -> Miss:
        """Why a Kleene component got too few events, or no list that satisfies all conditions."""
        component, stage = self._component, self._stage
        assert component.bounds is not None
        best: Miss | None = None
        cause: Miss | None = None
        for _ in range(MOST_TAKEN):
            length = len(positions_of(run, component.variable))
            if length >= stage.least:
                if stage.goal is Goal.ENOUGH:
                    return WENT_ON
                self._learn(all_positions(run))
                failing = self._tests.failing(bound_events(run, self._known))
                if not failing:
                    return WENT_ON
                if best is None or len(failing) <= len(best.failing):
                    conditions = tuple(map(self._tests.text, failing))
                    best = Miss("condition", run, None, conditions, failing)
            if length == component.bounds.most:
                break
            taken, cause = self._next_taken(run)
            if taken is None:
                break
            own = positions_of(run, component.variable)
            run = {**run, component.variable: [*own, taken]}
        return best or Miss("repetition", run, cause=cause)

    def _next_taken(self, run: Positions) -> tuple[int | None, Miss | None]:
        """The next event that the list takes, or why there is none."""
        tests = self._growing(self._ix, len(positions_of(run, self._component.variable)) + 1)
        if self._strategy in CONTIGUOUS:
            miss = self._adjacent_miss(run, self._ix, tests)
            if miss is not WENT_ON:
                return None, miss
            return self._surroundings.adjacent(run, self._strategy), None
        found = self._surroundings.candidates(self._ix, run, self._shared_keys, self._known)
        self._learn(found.inside)
        binding = bound_events(run, self._known)
        for position in sorted(found.inside):
            if not self._failing(binding, self._component, position, tests):
                return position, None
        return None, self._nearest(run, self._ix, tests, found)
