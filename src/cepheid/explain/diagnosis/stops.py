"""Finds out why a run stopped, from the events that could have come next.

Of all events of the right type, the one that comes closest to being the next event explains the
stop: by a condition that it fails, or by the window. An event of another key (another value in an
equality) is further away than an event that comes too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.analysis.model import Alternative
from cepheid.errors import list_words
from cepheid.explain.conditions import negation_text, place_of
from cepheid.explain.diagnosis.candidates import Surroundings
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.prefixes import Goal, Stage, conditions_of, known_at
from cepheid.explain.diagnosis.stream import Positions, Stream, extended, positions_of
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_pattern
from cepheid.reference.interpreter import Binding

MOST_TAKEN = 50
"""The number of events for which a Kleene component is followed."""

CONTIGUOUS = (
    ast.SelectionStrategy.STRICT_CONTIGUITY,
    ast.SelectionStrategy.PARTITION_CONTIGUITY,
)


@dataclass(frozen=True, slots=True)
class Miss:
    """Why one run stopped; ``kind`` is the kind of a reason.

    ``tests`` are the tests of the next event, ``position`` is the event that came closest, and
    ``failing`` are the numbers of the tests that it failed. ``about`` names what stopped the run:
    the failing conditions, the type of the next event, the repetition or the negation.
    ``is_key``: this is one equality, and all candidates fail it. ``extent`` is the extent of the
    run with the event. If a Kleene component got too few events, ``cause`` is the reason why it
    got no more.
    """

    kind: str
    tests: Tests
    run: Positions
    position: int | None = None
    about: tuple[str, ...] = ()
    failing: tuple[int, ...] = ()
    is_key: bool = False
    extent: int | None = None
    cause: Miss | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for two runs that stopped for the same reason."""
        return (self.kind, self.about, *(self.cause.key if self.cause is not None else ()))

    def comparisons(self, stream: Stream) -> list[str]:
        """The values compared by the conditions that stopped the run."""
        binding = stream.bound(self.run) if self.failing else {}
        if self.failing and self.position is not None:
            binding = extended(binding, self.tests.component, stream.event(self.position))
        return [self.tests.comparison(number, binding) for number in self.failing]


def failed_tests(
    tests: Tests, run: Positions, failing: tuple[int, ...], position: int | None = None
) -> Miss:
    """A run that stopped because an event, or its last list, fails tests."""
    about = tuple(tests.texts[number] for number in failing)
    return Miss("condition", tests, run, position, about, failing)


class Follower:
    """Follows runs that reached one stage towards the next."""

    def __init__(
        self, stream: Stream, alternative: Alternative, current: Stage, upcoming: Stage
    ) -> None:
        self._stream = stream
        self._surroundings = Surroundings(stream, alternative)
        self._names = [component.variable for component in alternative.components]
        self._stage = upcoming
        self._query = upcoming.query
        self._strategy = upcoming.query.strategy
        passed = conditions_of(current.query)
        new = [test for test in conditions_of(upcoming.query) if test not in passed]
        self._tests = Tests(upcoming.query, upcoming.component, new)
        self._list = current.component if current.component.is_kleene else None
        self._growth: dict[tuple[str, int], Tests] = {}
        self.tested = 0

    def around(self, run: Positions) -> Sequence[list[int]]:
        """The events that could come next, and some that come too late or too early."""
        if self._stage.goal is Goal.FIRST:
            return self._candidates(run, self._tests)
        return self._candidates(run, self._growing(self._stage.component, run))

    def follow(self, run: Positions, around: Sequence[list[int]]) -> Miss | None:
        """Why a run stopped; None if it did not, or if it became a run with a longer list."""
        if self._stage.goal is not Goal.FIRST:
            return self._follow_list(run)
        inside, beyond = around
        if self._strategy is ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH:
            grown_at = self._grown_at(run)
            if grown_at is not None:
                inside, beyond = [position for position in inside if position <= grown_at], []
                if not inside:
                    return None
        miss = self._nearest(run, self._tests, inside, beyond)
        if (
            self._strategy in CONTIGUOUS
            and miss is not None
            and miss.kind in ("contiguity", "condition")
            and self._takes(run, inside[0])
        ):
            return None
        return miss

    def _candidates(self, run: Positions, tests: Tests) -> tuple[list[int], list[int]]:
        if self._strategy in CONTIGUOUS:
            return self._surroundings.adjacent(run, self._strategy), []
        return self._surroundings.candidates(run, tests)

    # --- one event

    def _nearest(
        self, run: Positions, tests: Tests, inside: list[int], beyond: list[int]
    ) -> Miss | None:
        """Why the closest candidate is not the next event; None if a candidate is."""
        stream = self._stream
        if self._strategy in CONTIGUOUS and inside:
            if not stream.fits(run, *inside):
                return self._too_far(run, tests, inside[0])
            found = stream.type_of(inside[0])
            if found not in tests.component.types:
                return Miss("contiguity", tests, run, inside[0], (found,))
        stream.read([*inside, *beyond])
        binding = stream.bound(run)
        best: tuple[int, int] | None = None
        miss = Miss("absent", tests, run)
        for position in inside:
            failing = self._failing(binding, position, tests)
            if not failing:
                return None
            score = (sum(tests.is_key[number] for number in failing), len(failing))
            if best is None or score < best:
                best = score
                miss = failed_tests(tests, run, failing, position)
        if best is None or best[0] > 0:
            for position in beyond:
                if not self._failing(binding, position, tests):
                    return self._too_far(run, tests, position)
        return replace(miss, is_key=best == (1, 1) and sum(tests.is_key) == 1)

    def _too_far(self, run: Positions, tests: Tests, position: int) -> Miss:
        extent = self._stream.extent(run, position)
        return Miss("window", tests, run, position, extent=extent)

    def _failing(self, binding: Binding, position: int, tests: Tests) -> tuple[int, ...]:
        self.tested += 1
        return tests.failing(extended(binding, tests.component, self._stream.event(position)))

    # --- lists

    def _growing(self, component: ast.Component, run: Positions) -> Tests:
        """The tests of a list with one more event than in the run."""
        name = component.variable
        length = len(positions_of(run, name)) + 1
        if (name, length) not in self._growth:
            bound = set(self._names[: self._names.index(name) + 1])
            own = [c for c in conditions_of(self._query) if name in variables_in(c) <= bound]
            conditions = known_at(own, name, length)
            self._growth[name, length] = Tests(self._query, component, conditions, growing=True)
        return self._growth[name, length]

    def _takes(self, run: Positions, position: int) -> bool:
        """Whether the Kleene component that a run is in takes an event."""
        component = self._list
        if component is None or self._stream.type_of(position) not in component.types:
            return False
        assert component.bounds is not None
        if len(positions_of(run, component.variable)) == component.bounds.most:
            return False
        tests = self._growing(component, run)
        return not self._failing(self._stream.bound(run), position, tests)

    def _grown_at(self, run: Positions) -> int | None:
        """Where a run takes another event of the Kleene component that it is in."""
        if self._list is None:
            return None
        inside, _ = self._surroundings.candidates(run, self._growing(self._list, run))
        return next((position for position in sorted(inside) if self._takes(run, position)), None)

    def _follow_list(self, run: Positions) -> Miss | None:
        """Why a Kleene component got too few events, or no list that satisfies all conditions."""
        component, stage = self._stage.component, self._stage
        assert component.bounds is not None
        best: Miss | None = None
        cause: Miss | None = None
        for _ in range(MOST_TAKEN):
            length = len(positions_of(run, component.variable))
            if length >= stage.least:
                if stage.goal is Goal.ENOUGH:
                    return None
                failing = self._tests.failing(self._stream.bound(run))
                if not failing:
                    return None
                if best is None or len(failing) <= len(best.failing):
                    best = failed_tests(self._tests, run, failing)
            if length == component.bounds.most:
                break
            taken = self._next_taken(run)
            if isinstance(taken, Miss):
                cause = taken
                break
            run = extended(run, component, taken)
        needed = f"{print_pattern(component)} needs {stage.least} events"
        return best or Miss("repetition", self._tests, run, about=(needed,), cause=cause)

    def _next_taken(self, run: Positions) -> int | Miss:
        """The next event that the list takes, or why there is none."""
        tests = self._growing(self._stage.component, run)
        inside, beyond = self._candidates(run, tests)
        if self._strategy not in CONTIGUOUS:
            self._stream.read(inside)
            binding = self._stream.bound(run)
            for position in sorted(inside):
                if not self._failing(binding, position, tests):
                    return position
        return self._nearest(run, tests, inside, beyond) or inside[0]


class Violations:
    """Finds the events that violate the negations of an alternative."""

    def __init__(self, stream: Stream, branch: ast.Query, alternative: Alternative) -> None:
        self._stream = stream
        self._surroundings = Surroundings(stream, alternative)
        self._negations = alternative.negations
        self._tests, self._texts = [], []
        for negated in alternative.negations:
            component = negated.component
            own = [c for c in conditions_of(branch) if component.variable in variables_in(c)]
            self._tests.append(Tests(branch, component, own))
            place = place_of(alternative, negated).removeprefix("anywhere ")
            types = list_words(component.types, "or")
            self._texts.append(f"{negation_text(negated)}: {types} came {place}")
        self.tested = 0

    def around(self, run: Positions) -> Sequence[list[int]]:
        """For each negation, the events at its place."""
        negations = zip(self._negations, self._tests, strict=True)
        return [self._surroundings.at_negation(each, run, tests) for each, tests in negations]

    def follow(self, run: Positions, around: Sequence[list[int]]) -> Miss | None:
        """The first negation that removes a match, or None."""
        binding = self._stream.bound(run)
        for tests, text, found in zip(self._tests, self._texts, around, strict=True):
            self.tested += len(found)
            for position in found:
                event = self._stream.event(position)
                if not tests.failing(extended(binding, tests.component, event)):
                    return Miss("negation", tests, run, position, (text,))
        return None
