"""A clause over few rows before the engine is compiled: what the definition finds."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import LimitError
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.reference.evaluation import matches
from cepheid.row_patterns.reference.interpreter import Match, Partition
from cepheid.row_patterns.reference.search import Search
from cepheid.sessions.first_runs import CONDITIONS, OutOfSteps, Steps

Found = list[tuple[Partition, Match | int]]
"""The matches of each partition, and its rows in no match."""


class _Bounded(Search):
    """The definition, which stops when the process has no steps left."""

    def _takes_last(self, match: Match) -> bool:
        Steps.take(CONDITIONS)
        return super()._takes_last(match)


def found_soon(
    clause: rows.Clause, partitions: Iterable[tuple[Partition, int | None]], max_steps: int
) -> Found | None:
    """What the definition finds; None if that takes too long."""
    try:
        return [
            (partition, found)
            for partition, window in partitions
            for found in matches(clause, partition, window, max_steps, search=_Bounded)
        ]
    except (OutOfSteps, LimitError):  # The engine may need fewer steps.
        return None
