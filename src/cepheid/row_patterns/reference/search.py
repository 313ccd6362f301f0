"""Finds the first match from a row: full backtracking in preference order.

What is still to be matched is a linked list of parts, ``(part, rest)``. Where the pattern has a
choice, the preferred one is followed, and the others wait on a stack.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from cepheid.errors import LimitError
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.reference.interpreter import Match, Partition, RowInterpreter
from cepheid.row_patterns.run_errors import too_long

ToDo = tuple[Any, Any] | None
"""What is still to be matched: a part of the pattern, and the rest."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A quantifier after some rounds; the last one began when ``began`` rows were taken."""

    quantified: rows.Quantified
    rounds: int = 0
    began: int | None = None


_END_OF_EXCLUSION = object()


class Search:
    """Searches one partition.

    Args:
        clause: the clause, with the names of columns as in the table.
        partition: the rows.
        window: the ticks of WITHIN, if any.
        max_steps: how many steps the search from one row may take.
    """

    def __init__(
        self, clause: rows.Clause, partition: Partition, window: int | None, max_steps: int
    ) -> None:
        self._pattern = clause.pattern
        self._conditions = {each.variable: each.condition for each in clause.definitions}
        self._members = clause.members()
        self._partition = partition
        self._window = window
        self._max_steps = max_steps

    def match_from(self, start: int, number: int) -> Match | None:
        """The preferred match that begins with this row, if there is one.

        Raises:
            Undecided: in preference order, the search came to a row that is still to come, before
                it found a match.
        """
        labels: list[str] = []
        excluded: list[bool] = []
        found = Match(self._partition, self._members, start, number, labels, excluded)
        steps, tests = 0, Counter[str]()
        choices: list[tuple[ToDo, int, int]] = [((self._pattern, None), 0, 0)]
        while choices:
            todo, taken, depth = choices.pop()
            del labels[taken:], excluded[taken:]
            while todo is not None:
                steps += 1
                if steps > self._max_steps:
                    raise self._too_long(found, tests)
                part, todo = todo
                if isinstance(part, rows.Variable):
                    tests[part.name] += 1
                    labels.append(part.name)
                    excluded.append(depth > 0)
                    if not self._takes_last(found):
                        break
                elif isinstance(part, rows.Anchored):
                    is_start = part.anchor is rows.Anchor.START
                    place = start + len(labels)
                    if place + self._partition.before if is_start else self._partition.has(place):
                        break
                elif isinstance(part, rows.Exclusion):
                    depth += 1
                    todo = (part.part, (_END_OF_EXCLUSION, todo))
                elif part is _END_OF_EXCLUSION:
                    depth -= 1
                else:
                    todo, *others = _ways(part, todo, len(labels))
                    choices += [(other, len(labels), depth) for other in reversed(others)]
            else:
                return found
        return None

    def _takes_last(self, match: Match) -> bool:
        """Whether the last row of the match exists and satisfies the condition of its variable."""
        partition, last = self._partition, match.start + len(match.labels) - 1
        if partition.ticks is not None and self._window is not None:
            begin = partition.ticks[match.start]
            end = partition.ticks[last] if last < len(partition) else partition.now
            if begin is None or end is None or end - begin >= self._window:
                return False
        if not partition.has(last):
            return False
        condition = self._conditions.get(match.labels[-1])
        return condition is None or RowInterpreter(match, len(match.labels)).holds(condition)

    def _too_long(self, match: Match, tests: Counter[str]) -> LimitError:
        row = self._partition.number(match.start)
        return too_long(row, self._max_steps, tests)


def _ways(part: Any, rest: ToDo, taken: int) -> list[ToDo]:
    """The ways to match a part of the pattern, and then the rest, in preference order."""
    match part:
        case rows.Concatenation(parts):
            for each in reversed(parts):
                rest = (each, rest)
            return [rest]
        case rows.Alternation(parts):
            return [(each, rest) for each in parts]
        case rows.Permutation(parts) if parts:
            return [
                (each, (rows.Permutation(parts[:index] + parts[index + 1 :]), rest))
                for index, each in enumerate(parts)
            ]
        case rows.Quantified():
            return [(_Loop(part), rest)]
        case _Loop(quantified, rounds, began):
            again = (quantified.part, (_Loop(quantified, rounds + 1, taken), rest))
            if rounds < quantified.least:
                return [again]
            if rounds == quantified.most or began == taken:
                return [rest]  # A round that took no row ends the loop.
            return [again, rest] if quantified.is_greedy else [rest, again]
    return [rest]  # the empty pattern
