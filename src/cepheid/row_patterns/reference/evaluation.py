"""All matches of a partition, and the rows of the result that each of them gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.reference.interpreter import (
    Match,
    Partition,
    RowInterpreter,
    Undecided,
)
from cepheid.row_patterns.reference.search import Search
from cepheid.row_patterns.run_errors import no_target


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of the result: its row of the table, and the match when ``seen`` rows were reached.

    ``match`` is None for an unmatched row.
    """

    row: int
    match: Match | None
    seen: int


@dataclass(slots=True)
class Progress:
    """How far a partition has been matched; positions are those of its known rows.

    ``start`` is the row from which the next match is searched. ``covered`` rows, from the first one
    on, are not unmatched. ``number`` is that of the next match.
    """

    start: int = 0
    covered: int = 0
    number: int = 1


def matches(
    clause: rows.Clause,
    partition: Partition,
    window: int | None,
    max_steps: int,
    progress: Progress | None = None,
    search: type[Search] = Search,
) -> Iterator[Match | int]:
    """The matches of a partition, and between them the positions of rows in no match.

    If more rows may come, it ends with the first start whose answer they can change, and
    ``progress`` says which one that is. The answer from a start is a match with its measures, or
    that there is none.

    Raises:
        EvaluationError: AFTER MATCH SKIP names a row that a match does not have, or its first row.
        LimitError: the search from a row takes too many steps.
    """
    searching = search(clause, partition, window, max_steps)
    at = Progress() if progress is None else progress
    while at.start < len(partition):
        try:
            found = searching.match_from(at.start, at.number)
            if found is not None:
                _read_measures(clause, found, partition)
        except Undecided:
            return
        if found is None:
            at.start += 1
            if at.start > at.covered:
                yield at.start - 1
            continue
        at.covered = max(at.covered, at.start + len(found.labels))
        at.number += 1
        at.start = _next_start(clause.skip, found)
        yield found


def _read_measures(clause: rows.Clause, found: Match, partition: Partition) -> None:
    """Raise Undecided if a measure of a match reads a row that is still to come."""
    if partition.is_complete:
        return
    for row in result_rows(clause, found, partition):
        for measure in clause.measures:
            for node in measure.walk():
                if isinstance(node, rows.Physical):
                    RowInterpreter(found, row.seen).position(node)


def _next_start(skip: rows.Skip, found: Match) -> int:
    """The row at which matching continues after a match."""
    if not found.labels or skip.mode is rows.SkipMode.TO_NEXT_ROW:
        return found.start + 1
    if skip.mode is rows.SkipMode.PAST_LAST_ROW:
        return found.start + len(found.labels)
    is_last = skip.mode is rows.SkipMode.TO_LAST
    target = next(found.positions(skip.variable, backwards=is_last), None)
    if target is not None and target != found.start:
        return target
    first = found.partition.number(found.start)
    last = found.partition.number(found.start + len(found.labels) - 1)
    raise no_target(skip, found.number, first, last, target is not None)


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
