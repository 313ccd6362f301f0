"""The description of an output mode: its name, why it refuses queries, how it chooses matches.

The modes that choose nothing are here: ``all``, and ``compressed``, which lists no matches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent
from cepheid.language import syntax as ast
from cepheid.schema import POSITIONS, Schema

if TYPE_CHECKING:
    # ``import cepheid`` loads the modes, but not Arrow.
    from cepheid.events.arrays import Int64s
    from cepheid.matches.bindings import Bindings
    from cepheid.matches.positions import Bools
    from cepheid.reference.match import Match
    from cepheid.snapshots import Arrays


@dataclass(frozen=True, slots=True, eq=False)
class LiveStarts:
    """The events with which later matches can still begin, besides later events.

    They are sorted by partition and position.
    """

    positions: Int64s
    partitions: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class CompletedMatches:
    """Matches among which a mode chooses, in no particular order.

    ``partition_of`` is the partition of each match by the equivalence tests of the query, a
    number below ``partitions``. ``waited`` is true for a match that the passage of time completed,
    and not its last event. ``closed`` is true for a match if no later match has its first event;
    ``live`` has the first events of matches that can still come, or is None if only ``closed`` is
    known. ``is_needed`` tells which events, by position, later matches can contain.
    """

    matches: Bindings
    partition_of: Int64s
    partitions: int
    waited: Bools
    closed: Bools
    live: LiveStarts | None = None
    is_needed: Callable[[Int64s], Bools] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The indices of the matches to report, and of those that are not decided yet.

    Undecided matches are passed to the next call again. All others are dropped.
    """

    reported: Int64s
    undecided: Int64s | None = None


class Chooser(ABC):
    """Chooses the matches of one session that are reported."""

    @abstractmethod
    def choose(self, completed: CompletedMatches) -> Choice:
        """The matches to report; there is at least one match to choose from."""

    def state(self) -> Arrays:
        """The state kept between calls, as arrays for a snapshot."""
        return {}

    def load(self, state: Arrays) -> None:
        """Restore the state of a snapshot."""
        del state

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move the state of partition p to partition ``numbers[p]``; unused partitions have -1."""
        del numbers


@dataclass(frozen=True, slots=True)
class OutputMode:
    """Which matches of a query are reported, and in what form.

    ``summary`` completes the sentence "the output is …". ``make_chooser`` makes the chooser of a
    session; a mode without one reports all matches. ``refusal`` says in one sentence why a query
    has no such output, or is None. ``definition`` makes the same choice among the matches of the
    reference evaluation; without it they are passed to a chooser, too. ``prunes`` tells which
    matches engines may leave out, as in :mod:`cepheid.matches.layout`.
    A mode that ``compares_starts`` compares only matches with the same first event. A mode that
    ``waits`` decides when no later match can have that event; another mode gets the matches in the
    order of their completion: all matches of a call are complete before all matches of the next.
    ``needs_buffer`` is true if the output is the buffer that all runs share: only an evaluation
    with such a buffer has this output, and only for a whole stream in memory.
    """

    name: str
    summary: str
    make_chooser: Callable[[], Chooser] | None = None
    refusal: Callable[[AnalysedQuery], str | None] = lambda _query: None
    definition: Callable[[ast.Query, list[Match]], list[Match]] | None = None
    prunes: int = 0
    compares_starts: bool = False
    waits: bool = False
    needs_buffer: bool = False

    @property
    def chooses(self) -> bool:
        """Whether some matches are not reported."""
        return self.make_chooser is not None

    @property
    def needs_whole_partitions(self) -> bool:
        """Whether one session has to see all events of a partition.

        A choice can depend on any other match of the partition.
        """
        return self.chooses and not self.compares_starts


ALL = OutputMode("all", "every match")


def _overlap(one: Alternative, other: Alternative) -> bool:
    """Whether two alternatives may have the same match."""
    types = {part.variable: {*part.types} for part in other.components}
    return types.keys() == {part.variable for part in one.components} and all(
        types[part.variable] & {*part.types} for part in one.components
    )


def _refusal(query: AnalysedQuery) -> str | None:
    if any(_overlap(*pair) for pair in combinations(query.alternatives, 2)):
        return "two branches of OR bind the same variables, and can find the same match"
    for alternative in query.alternatives:
        for negation in alternative.negations:
            refusal = _negation_refusal(alternative, negation, query.schema)
            if refusal is not None and not negation.is_decided_by_order:
                return refusal
    return None


def _negation_refusal(
    alternative: Alternative, negation: NegatedComponent, schema: Schema | None
) -> str | None:
    """Why matches that end together cannot be tested against a negation together, or None."""
    name, lists = negation.component.variable, [*alternative.components]
    lists = [each for each in lists if each.is_kleene]
    for clause in negation.clauses:
        for each in lists:
            if each.variable in clause.variables:
                return f"a condition compares the negated {name} with events of {each.variable}"
    if negation.is_inside:
        (around,) = negation.after
        component = alternative.components[around]
        if {*component.types} & {*negation.component.types}:
            return f"whether {name} is in {component.variable} itself depends on the whole list"
    if schema is not None and POSITIONS[0] in schema.attributes:
        return (
            f"whether {name} violates a match depends on the positions of events, and a column is "
            f"called {POSITIONS[0]}"
        )
    return None


COMPRESSED = OutputMode(
    "compressed",
    "all matches in one structure, which counts, samples and lists them",
    refusal=_refusal,
    needs_buffer=True,
)


def by_definition(name: str) -> Callable[[ast.Query, list[Match]], list[Match]]:
    """The choice that the reference evaluation makes."""

    def choose(query: ast.Query, matches: list[Match]) -> list[Match]:
        from cepheid.reference.output import MODES

        return MODES[name](query, matches)

    return choose
