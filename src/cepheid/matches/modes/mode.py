"""The description of an output mode: its name, why it refuses queries, how it chooses matches.

The modes that choose nothing are here: ``all``, and ``compressed``, which lists no matches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.analysis.model import AnalysedQuery
from cepheid.language import syntax as ast

if TYPE_CHECKING:
    # ``import cepheid`` loads the modes, but not Arrow.
    from cepheid.events.arrays import Int64s
    from cepheid.matches.bindings import Bindings
    from cepheid.reference.definition import Match
    from cepheid.snapshots import Arrays


@dataclass(frozen=True, slots=True, eq=False)
class CompletedMatches:
    """Matches among which a mode chooses, in no particular order.

    ``partition_of`` is the partition of each match by the equivalence tests of the query, a
    number below ``partitions``.
    """

    matches: Bindings
    partition_of: Int64s
    partitions: int


class Chooser(ABC):
    """Chooses the matches of one session that are reported.

    Matches are passed to :meth:`choose` in the order of their completion: all matches of a call
    are complete before all matches of the next call.
    """

    @abstractmethod
    def choose(self, completed: CompletedMatches) -> Bindings:
        """The matches to report."""

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
    reference evaluation; without it they are passed to a chooser, too. ``can_prune`` allows
    engines to leave out matches that overlap an earlier match of their partition.
    ``needs_buffer`` is true if the output is the buffer that all runs share: only an evaluation
    with such a buffer has this output, and only for a whole stream in memory.
    """

    name: str
    summary: str
    make_chooser: Callable[[], Chooser] | None = None
    refusal: Callable[[AnalysedQuery], str | None] = lambda _query: None
    definition: Callable[[ast.Query, list[Match]], list[Match]] | None = None
    can_prune: bool = False
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
        return self.chooses


ALL = OutputMode("all", "every match")


def _refusal(query: AnalysedQuery) -> str | None:
    if len(query.alternatives) > 1:
        return "it has OR or a star, which make several automata"
    if query.alternatives[0].negations:
        return "it has a negation, which removes matches one by one"
    return None


COMPRESSED = OutputMode(
    "compressed",
    "all matches in one structure, which counts, samples and lists them",
    refusal=_refusal,
    needs_buffer=True,
)
