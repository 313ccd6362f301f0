"""Evaluates the expressions of a clause for a match, or for the part of it that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.functions import answer
from cepheid.language import syntax as ast
from cepheid.reference.interpreter import Binding, Interpreter, Truth, in_utc
from cepheid.row_patterns import syntax as rows


class Undecided(Exception):
    """The answer depends on rows that are still to come."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The known rows of a partition in order: their rows in the table, its columns, their times.

    ``ticks`` is None if there is no WITHIN; a tick is None if the time is null. ``before`` is the
    number of rows of the partition before the first of these. If more rows may come, their ticks
    are at least ``now``. ``numbers`` are the numbers of the rows of the table in messages.
    """

    rows: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    ticks: Sequence[int | None] | None = None
    before: int = 0
    is_complete: bool = True
    now: int = 0
    numbers: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, position: int) -> int:
        """The number of a row of the partition in the whole input."""
        row = self.rows[position]
        return row if self.numbers is None else self.numbers[row]

    def has(self, position: int) -> bool:
        """Whether there is a row at this position.

        Raises:
            Undecided: it may be still to come.
        """
        if position >= len(self) and not self.is_complete:
            raise Undecided
        return 0 <= position < len(self)

    def value(self, column: str, position: int) -> Any:
        """The value of a column in a row of the partition."""
        return self.columns[column][self.rows[position]]


@dataclass(frozen=True, slots=True)
class Match:
    """A match, or a part of it: the variable of each row from ``start``.

    ``members`` are the variables that a name means; None means all.
    """

    partition: Partition
    members: Mapping[str | None, frozenset[str]]
    start: int
    number: int
    labels: Sequence[str]
    excluded: Sequence[bool] = ()

    def positions(
        self, variable: str | None, seen: int | None = None, *, backwards: bool = False
    ) -> Iterator[int]:
        """The rows of a variable among the first ``seen`` rows of the match (None: all rows)."""
        members = self.members[variable]
        order = range(len(self.labels) if seen is None else seen)
        for index in reversed(order) if backwards else order:
            if self.labels[index] in members:
                yield self.start + index

    def label(self, position: int) -> str | None:
        """The variable of a row of the partition; None outside the match."""
        index = position - self.start
        return self.labels[index] if 0 <= index < len(self.labels) else None


@dataclass(frozen=True)
class RowInterpreter(Interpreter):
    """Evaluates expressions when ``seen`` rows of the match have been reached.

    Inside a navigation or an aggregate, ``at`` is the row at which the operand is evaluated.
    """

    match: Match
    seen: int
    at: int | None = None
    binding: Binding = field(default_factory=dict, init=False)
    current: Mapping[str, int] = field(default_factory=dict, init=False)

    def holds(self, condition: Any) -> bool:
        """Whether a condition is true.

        Raises:
            Undecided: rows to come can make it true, and can make it false or unknown.
        """
        truths = self._truths(condition)
        if True in truths and len(truths) > 1:
            raise Undecided
        return True in truths

    def _truths(self, node: Any) -> set[Truth]:
        """The truths that a condition can have, whatever rows are to come."""
        match node:
            case ast.Not(operand):
                return {None if truth is None else not truth for truth in self._truths(operand)}
            case ast.And(operands) | ast.Or(operands):
                decisive = isinstance(node, ast.Or)
                found: set[Truth] = {not decisive}
                for operand in operands:
                    truths = self._truths(operand)
                    found = {_joined(one, two, decisive) for one in found for two in truths}
                return found
        try:
            return {self.truth(node)}
        except Undecided:
            return {True, False, None}

    def value(self, node: Any) -> Any:
        """The value of an expression; None for null and unknown."""
        match node:
            case rows.Column():
                return in_utc(self._local(node))
            case rows.Classifier():
                position = self.position(node)
                return None if position is None else self.match.label(position)
            case rows.MatchNumber():
                return self.match.number
            case rows.Logical() | rows.Physical():
                return self._at(operand_of(node), self.position(node))
            case rows.Aggregate():
                return self._over_rows(node)
        return super().value(node)

    def _local(self, node: Any) -> Any:
        """The value of an argument: a time of a column is in the zone of the column."""
        match node:
            case rows.Column(_, name):
                position = self.position(node)
                return None if position is None else self.match.partition.value(name.text, position)
            case rows.Logical() | rows.Physical() if isinstance(operand_of(node), rows.Column):
                position = self.position(node)
                at = RowInterpreter(self.match, self.seen, position)
                return None if position is None else at._local(operand_of(node))
        return super()._local(node)

    def position(self, node: Any) -> int | None:
        """The row of the partition that a column, CLASSIFIER or navigation reads, if any."""
        match node:
            case rows.Column(variable) | rows.Classifier(variable):
                return self._last(variable) if self.at is None else self.at
            case rows.Logical(function, _, variable, offset, semantics):
                seen = None if semantics is rows.Semantics.FINAL else self.seen
                found = self.match.positions(variable, seen, backwards=function == "LAST")
                return next((each for index, each in enumerate(found) if index == offset), None)
            case rows.Physical(function, operand, variable, offset):
                is_logical = isinstance(operand, rows.Logical)
                base = self.position(operand) if is_logical else self._last(variable)
                if base is None:
                    return None
                position = base + (offset if function == "NEXT" else -offset)
                return position if self.match.partition.has(position) else None
        raise AssertionError(f"{type(node).__name__} reads no row")

    def _last(self, variable: str | None) -> int | None:
        return next(self.match.positions(variable, self.seen, backwards=True), None)

    def _at(self, operand: Any, position: int | None) -> Any:
        if position is None:
            return None
        return RowInterpreter(self.match, self.seen, position).value(operand)

    def _over_rows(self, node: rows.Aggregate) -> Any:
        seen = None if node.semantics is rows.Semantics.FINAL else self.seen
        positions = list(self.match.positions(node.variable, seen))
        if node.argument is None:
            return len(positions)
        values = [self._at(node.argument, position) for position in positions]
        present = [value for value in values if value is not None]
        if node.is_distinct:
            present = list(dict.fromkeys(present))
        aggregate = rows.AGGREGATES[node.function]
        return answer(aggregate.python(present)) if present else aggregate.of_nothing


def _joined(one: Truth, two: Truth, decisive: bool) -> Truth:
    """``one OR two`` if true is decisive, ``one AND two`` if false is."""
    if decisive in (one, two):
        return decisive
    return None if None in (one, two) else not decisive


def operand_of(node: rows.Logical | rows.Physical) -> Any:
    """What a navigation evaluates at the row that it reads."""
    return operand_of(node.operand) if isinstance(node.operand, rows.Logical) else node.operand
