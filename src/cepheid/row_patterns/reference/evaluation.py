"""All matches of a partition, and the rows of the result that each of them gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.errors import EvaluationError
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.reference.interpreter import Match, Partition
from cepheid.row_patterns.reference.search import Search


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of the result: its row of the table, and the match when ``seen`` rows were reached.

    ``match`` is None for an unmatched row.
    """

    row: int
    match: Match | None
    seen: int


def matches(
    clause: rows.Clause, partition: Partition, window: int | None, max_steps: int
) -> Iterator[Match | int]:
    """The matches of a partition, and between them the positions of rows in no match.

    Raises:
        EvaluationError: AFTER MATCH SKIP names a row that a match does not have, or its first row.
        LimitError: the search from a row takes too many steps.
    """
    search = Search(clause, partition, window, max_steps)
    start, covered, number = 0, 0, 1
    while start < len(partition):
        found = search.match_from(start, number)
        if found is None:
            if start >= covered:
                yield start
            start += 1
            continue
        yield found
        covered = max(covered, start + len(found.labels))
        number += 1
        start = _next_start(clause.skip, found)


def _next_start(skip: rows.Skip, found: Match) -> int:
    """The row at which matching goes on after a match."""
    if not found.labels or skip.mode is rows.SkipMode.TO_NEXT_ROW:
        return found.start + 1
    if skip.mode is rows.SkipMode.PAST_LAST_ROW:
        return found.start + len(found.labels)
    is_last = skip.mode is rows.SkipMode.TO_LAST
    target = next(found.positions(skip.variable, backwards=is_last), None)
    if target is not None and target != found.start:
        return target
    first = found.partition.rows[found.start]
    last = found.partition.rows[found.start + len(found.labels) - 1]
    fault = f"no row of {skip.variable}" if target is None else f"{skip.variable} as its first row"
    raise EvaluationError(
        f"AFTER MATCH SKIP {skip.mode.value} {skip.variable}: match {found.number} of its "
        f"partition, from row {first} to row {last} (counting from 0), has {fault}"
        + ("" if target is None else ", where the same match would be found again")
    )


def result_rows(clause: rows.Clause, found: Match | int, partition: Partition) -> list[ResultRow]:
    """The rows of the result that a match, or a row in no match, gives."""
    kind = clause.rows
    if isinstance(found, int):
        unmatched = kind is rows.Rows.ALL_WITH_UNMATCHED
        return [ResultRow(partition.rows[found], None, 0)] if unmatched else []
    count = len(found.labels)
    first = partition.rows[found.start]
    if kind is rows.Rows.ONE:
        return [ResultRow(first, found, count)]
    if not count:
        return [] if kind is rows.Rows.ALL_OMIT_EMPTY else [ResultRow(first, found, 0)]
    return [
        ResultRow(partition.rows[found.start + index], found, index + 1)
        for index in range(count)
        if not found.excluded[index]
    ]
