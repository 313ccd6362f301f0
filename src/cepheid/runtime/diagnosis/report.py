"""What a diagnosis says: how far the pattern got, what stopped it, and what may be wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cepheid.runtime.diagnosis.counting import Count


@dataclass(frozen=True, slots=True)
class ConditionCount:
    """How many events of a component's types fail a condition on that event alone.

    ``of_first`` where only the first event of a Kleene component must satisfy it.
    """

    condition: str
    failing: int
    of_first: bool = False


@dataclass(frozen=True, slots=True)
class RunCount:
    """How many runs reached a component, or for a Kleene component, a ``goal`` in it.

    A run is a partial match of the pattern up to here, under the query's selection strategy,
    window and conditions.
    """

    goal: str
    runs: Count


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """One component: the events that it could be, and the runs that reached it.

    ``events`` have its type; ``passing`` of them also satisfy the conditions on that event
    alone. A negated component has no runs.
    """

    component: str
    variable: str
    types: tuple[str, ...]
    is_negated: bool
    events: int
    passing: int
    conditions: tuple[ConditionCount, ...]
    runs: tuple[RunCount, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why runs stopped, and how many of those that were looked at.

    ``kind`` is type, condition, absent, window, contiguity, repetition or negation.
    """

    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Example:
    """One run that stopped: the input rows of its events, and what the conditions compare."""

    kind: str
    rows: dict[str, int | list[int]]
    comparisons: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Where runs stopped: ``looked_at`` of ``total`` were followed, and ``stopped`` got no further.

    ``unit`` is what is counted: events that could be the first of a run, runs, or matches
    before negation.
    """

    title: str
    unit: str
    total: Count
    looked_at: int
    stopped: int
    reasons: tuple[Reason, ...]
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class BranchDiagnosis:
    """The diagnosis of one alternative of the pattern, which has no OR and no star."""

    pattern: str
    matches: Count
    components: tuple[ComponentCount, ...]
    stops: tuple[Stop, ...]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why runs stopped, wherever that was."""
        return tuple(reason for stop in self.stops for reason in stop.reasons)

    @property
    def examples(self) -> tuple[Example, ...]:
        """Runs that stopped."""
        return tuple(example for stop in self.stops for example in stop.examples)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a query finds what it finds. Its text is for reading, :meth:`to_dict` for programs.

    ``branches`` has a diagnosis for each alternative of the pattern, the one that got furthest
    first. ``hints`` are what is probably wrong, ``notes`` the limits that were reached.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 10")
    >>> found = q.diagnose({"ts": [1, 2], "type": ["A", "B"], "x": [15, 12]})
    >>> [(reason.count, reason.text) for reason in found.reasons]
    [(1, 'b.x > a.x fails')]
    >>> found.examples[0].text
    'a = row 0, b = row 1; b.x > a.x: 12 > 15'
    """

    query: str
    events: int
    matches: Count
    branches: tuple[BranchDiagnosis, ...]
    hints: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def components(self) -> tuple[ComponentCount, ...]:
        """How far the best alternative got, component by component."""
        return self.branches[0].components

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the runs of the best alternative stopped, the most frequent reason first."""
        return self.branches[0].reasons

    @property
    def examples(self) -> tuple[Example, ...]:
        """Runs of the best alternative that stopped."""
        return self.branches[0].examples

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as values that JSON has.

        >>> import cepheid as cep
        >>> found = cep.query("EVENT A").diagnose({"ts": [1], "type": ["A"]})
        >>> found.to_dict()["matches"]
        {'number': 1, 'is_exact': True}
        """
        return asdict(self)

    def __str__(self) -> str:
        from cepheid.runtime.diagnosis.layout import plain_text

        return plain_text(self)
