"""The content of a diagnosis: where partial matches stopped, why, and what may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from cepheid.explain.diagnosis.counting import Count
from cepheid.matches.matches import Rows

MOST_ROWS_NAMED = 6


@dataclass(frozen=True, slots=True)
class ConditionCount:
    """The number of events of a component's types that fail a condition on a single event.

    ``of_first``: only the first event of a Kleene component must satisfy it.
    """

    condition: str
    failing: int
    of_first: bool = False


@dataclass(frozen=True, slots=True)
class RunCount:
    """The number of partial matches (runs) that reached a component, or a ``goal`` in a Kleene one.

    They match the pattern up to here, with the query's selection strategy, window and conditions.
    """

    goal: str
    count: Count


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """The number of events that fit a component, and of partial matches that reached it.

    ``events`` events have its type; ``passing`` of them also satisfy the conditions on a single
    event. A negated component has no runs.
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
    """A reason why partial matches stopped, and how many of the examined ones it stopped.

    ``kind`` is type, condition, absent, window, contiguity, repetition or negation.
    """

    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Example:
    """One partial match that stopped.

    ``rows`` are the rows of the input, counted from 0, that each variable is bound to, with the
    event that came closest to being the next one. ``comparisons`` has the values that failing
    conditions compare, ``details`` other remarks.
    """

    kind: str
    rows: Rows
    comparisons: tuple[str, ...]
    details: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The rows in words."""
        return ", ".join(f"{name} = {_rows(rows)}" for name, rows in self.rows.items())

    @property
    def explanation(self) -> str:
        """The comparisons and details in words."""
        return "; ".join((*self.comparisons, *self.details))


@dataclass(frozen=True, slots=True)
class Stop:
    """The place where partial matches stopped: ``after`` one component and ``before`` another.

    ``total`` partial matches got this far, ``looked_at`` of them were followed, and ``stopped`` got
    no further. ``unit`` is the thing that is counted: partial matches; or events, if no event can
    be the next one (``after`` is None for the first one); or matches before negation (``before`` is
    None).
    """

    after: str | None
    before: str | None
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
        """The reasons why partial matches stopped, at any place."""
        return tuple(reason for stop in self.stops for reason in stop.reasons)

    @property
    def examples(self) -> tuple[Example, ...]:
        """Partial matches that stopped."""
        return tuple(example for stop in self.stops for example in stop.examples)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Explains the matches of a query. Its text is for reading, :meth:`to_dict` for programs.

    ``branches`` has a diagnosis for each alternative of the pattern; the one that got furthest
    comes first. ``hints`` name probable mistakes, ``notes`` the limits that were reached.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 10")
    >>> found = q.diagnose({"ts": [1, 2], "type": ["A", "B"], "x": [15, 12]})
    >>> [(reason.count, reason.text) for reason in found.reasons]
    [(1, 'b.x > a.x fails')]
    >>> found.examples[0].place, found.examples[0].explanation
    ('a = row 0, b = row 1', 'b.x > a.x: 12 > 15')
    """

    query: str
    events: int
    matches: Count
    branches: tuple[BranchDiagnosis, ...]
    hints: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def components(self) -> tuple[ComponentCount, ...]:
        """The counts of each component of the best alternative."""
        return self.branches[0].components

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons that stopped the best alternative, the most frequent first."""
        return self.branches[0].reasons

    @property
    def examples(self) -> tuple[Example, ...]:
        """Partial matches of the best alternative that stopped."""
        return self.branches[0].examples

    def with_rows_named(self, name_row: Callable[[int], int | str]) -> Diagnosis:
        """The same diagnosis with other names for the rows of its examples."""

        def named(example: Example) -> Example:
            rows: Rows = {
                name: [name_row(int(row)) for row in bound]
                if isinstance(bound, list)
                else name_row(int(bound))
                for name, bound in example.rows.items()
            }
            return replace(example, rows=rows)

        branches = tuple(
            replace(
                branch,
                stops=tuple(
                    replace(stop, examples=tuple(map(named, stop.examples)))
                    for stop in branch.stops
                ),
            )
            for branch in self.branches
        )
        return replace(self, branches=branches)

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON values.

        >>> import cepheid as cep
        >>> found = cep.query("EVENT A").diagnose({"ts": [1], "type": ["A"]})
        >>> found.to_dict()["matches"]
        {'number': 1, 'is_exact': True}
        """
        return asdict(self)

    def __str__(self) -> str:
        from cepheid.explain.diagnosis.layout import plain_text

        return plain_text(self)

    def _repr_html_(self) -> str:
        from cepheid.explain.diagnosis.html import draw_funnel

        return draw_funnel(self)


def _rows(bound: int | str | list[int | str]) -> str:
    if not isinstance(bound, list):
        return f"row {bound}" if isinstance(bound, int) else bound
    named = ", ".join(map(str, bound[:MOST_ROWS_NAMED]))
    more = f" … {bound[-1]}" if len(bound) > MOST_ROWS_NAMED else ""
    return f"{'row' if len(bound) == 1 else 'rows'} {named}{more}"
