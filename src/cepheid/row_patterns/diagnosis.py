"""Why a clause finds nothing, or too little: which rows its variables take, how far searches come.

It watches the reference, over as many rows as it is worth the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from cepheid.errors import LimitError, plural
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.printer import print_clause, print_expression, print_variable
from cepheid.row_patterns.reference.interpreter import Match, Partition, RowInterpreter
from cepheid.row_patterns.reference.search import Search
from cepheid.row_patterns.running import Run
from cepheid.tuning import tuning
from cepheid.visible import html_text

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Taken:
    """The number of rows that satisfy the condition of a variable alone.

    ``count`` is None if that depends on rows that other variables took before.
    """

    variable: str
    condition: str | None
    count: int | None


@dataclass(frozen=True, slots=True)
class Reached:
    """From how many rows a search came as far as ``path``, and what rejected the next row.

    ``stops`` are the variables that were tested there, and how often each refused; the empty name
    counts how often no row followed.
    """

    path: tuple[str, ...]
    count: int
    stops: dict[str, int]


@dataclass(frozen=True, slots=True)
class RowDiagnosis:
    """What a clause finds in a table, and why it is not more: print it.

    ``rows`` are the rows that were looked at, of ``all_rows``; a match can begin at ``starts`` of
    them. ``undecided`` is the number of rows from which the search was given up.
    """

    clause: str
    rows: int
    all_rows: int
    partitions: int
    starts: int
    taken: Sequence[Taken]
    reached: Sequence[Reached]
    undecided: int = 0
    hints: Sequence[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = "No row begins" if not self.starts else f"{plural(self.starts, 'row')} can begin"
        where = f"{plural(self.rows, 'row')} in {plural(self.partitions, 'partition')}"
        lines = [self.clause, "", f"{found} a match, among {where}."]
        if self.rows < self.all_rows:
            lines.append(f"These are the first ones of {self.all_rows:,} rows.")
        lines += ["", "Rows that satisfy the condition of each variable:"]
        for each in self.taken:
            count = "depends on rows before" if each.count is None else f"{each.count:,}"
            lines.append(
                f"  {print_variable(each.variable)}: {count} ({each.condition or 'any row'})"
            )
        lines += ["", "How far the search from each row gets:"]
        for step in self.reached[:_SHOWN]:
            path = " ".join(map(print_variable, step.path)) or "nowhere"
            stops = ", ".join(
                (f"{print_variable(name)} rejected the next row" if name else "no row followed")
                + f" {plural(count, 'time')}"
                for name, count in step.stops.items()
            )
            lines.append(f"  {path}: {plural(step.count, 'row')}" + (f"; {stops}" if stops else ""))
        if self.undecided:
            steps = tuning().diagnosis_steps
            lines.append(f"  given up: {plural(self.undecided, 'row')}, after {steps:,} steps")
        if self.hints:
            lines += ["", *self.hints]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain data."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html_text(str(self))}</pre>"


class DiagnosedRun(Run):
    """A clause over a table, watched."""

    def diagnosis(self, written: rows.Clause) -> RowDiagnosis:
        """What the first rows say; ``written`` is the clause to show."""
        clause, looked_at, starts, undecided = self._clause, 0, 0, 0
        conditions = {each.variable: each.condition for each in clause.definitions}
        counts: Counter[str] = Counter()
        reached: Counter[tuple[str, ...]] = Counter()
        stops: dict[tuple[str, ...], Counter[str]] = {}
        partitions, most = 0, tuning().diagnosis_rows
        for partition, window in self._partitions():
            if looked_at >= most:
                break
            partitions += 1
            search = _WatchedSearch(clause, partition, window, tuning().diagnosis_steps)
            for start in range(min(len(partition), most - looked_at)):
                looked_at += 1
                for variable in clause.variables():
                    if _is_own(conditions.get(variable), variable):
                        counts[variable] += _takes(clause, partition, start, variable, conditions)
                try:
                    starts += search.match_from(start, 1) is not None
                except LimitError:
                    undecided += 1
                    continue
                path = tuple(name for name, _ in groupby(search.furthest))
                reached[path] += 1
                stops.setdefault(path, Counter()).update(search.stops)
        texts = {each.variable: print_expression(each.condition) for each in written.definitions}
        taken = [
            Taken(
                name,
                texts.get(name),
                counts[name] if _is_own(conditions.get(name), name) else None,
            )
            for name in clause.variables()
        ]
        order = sorted(reached, key=lambda path: (-len(path), -reached[path]))
        steps = [Reached(path, reached[path], dict(stops[path])) for path in order]
        never = [each.variable for each in taken if each.count == 0]
        hints = [
            f"No row satisfies the condition of {print_variable(name)}: check its values."
            for name in (never if looked_at and not starts else ())
        ]
        text, whole = print_clause(written), self._table.num_rows
        return RowDiagnosis(
            text, looked_at, whole, partitions, starts, taken, steps, undecided, hints
        )


class _WatchedSearch(Search):
    """Remembers the furthest that a search came, and what was refused after that."""

    furthest: list[str]
    stops: Counter[str]

    def match_from(self, start: int, number: int) -> Match | None:
        self.furthest, self.stops = [], Counter()
        return super().match_from(start, number)

    def _takes_last(self, match: Match) -> bool:
        is_taken, labels = super()._takes_last(match), match.labels
        if is_taken and len(labels) > len(self.furthest):
            self.furthest, self.stops = list(labels), Counter()
        elif not is_taken and len(labels) == len(self.furthest) + 1:
            is_known = match.start + len(labels) <= len(match.partition)
            self.stops[labels[-1] if is_known else ""] += 1
        return is_taken


def _is_own(condition: Any, variable: str) -> bool:
    """Whether a condition is about the row and its neighbours, whatever was matched before."""
    if condition is None:
        return True
    for node in condition.walk():
        if isinstance(node, rows.MatchNumber | rows.Aggregate | rows.Logical | rows.Classifier):
            return False
        if getattr(node, "variable", None) not in (None, variable):
            return False
    return True


def _takes(
    clause: rows.Clause,
    partition: Partition,
    position: int,
    variable: str,
    conditions: dict[str, Any],
) -> bool:
    condition = conditions.get(variable)
    alone = Match(partition, clause.members(), position, 1, [variable])
    return condition is None or RowInterpreter(alone, 1).holds(condition)
