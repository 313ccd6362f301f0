"""The abstract syntax of ``MATCH_RECOGNIZE``.

Operators, comparisons, literals and calls are the nodes of :mod:`cepheid.language.syntax`; this
module has what only row patterns have. A row pattern variable is a string: upper case if it was
written without quotes, exactly as written if it was quoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from cepheid import aggregates
from cepheid.language.syntax import Duration, Node

# --- Names --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    """The name of a column or table; without quotes, upper and lower case are the same."""

    text: str
    is_quoted: bool = False

    @property
    def key(self) -> str:
        """What two names have in common if they are the same."""
        return self.text if self.is_quoted else self.text.upper()


# --- Patterns -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """One row that satisfies the condition of the variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Concatenation(Node):
    """``A B``: one part after the other."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternation(Node):
    """``A | B``: one of the parts, the first that is possible."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    """``A*``, ``A{2,5}?``: a part several times; ``most`` is None without an upper bound."""

    part: Pattern
    least: int
    most: int | None
    is_greedy: bool = True


@dataclass(frozen=True, slots=True)
class Permutation(Node):
    """``PERMUTE(A, B)``: all parts in any order, the order of the text first."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Exclusion(Node):
    """``{- A -}``: rows that are matched, and left out of ALL ROWS PER MATCH."""

    part: Pattern


class Anchor(Enum):
    """Where a partition begins or ends."""

    START = "^"
    END = "$"


@dataclass(frozen=True, slots=True)
class Anchored(Node):
    """``^`` or ``$``: no row, at the start or the end of the partition."""

    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Empty(Node):
    """``()``: no row."""


Pattern = (
    Variable | Concatenation | Alternation | Quantified | Permutation | Exclusion | Anchored | Empty
)


# --- Expressions --------------------------------------------------------------------------


class Semantics(Enum):
    """The rows that FIRST, LAST and aggregates see: up to the current one, or all of the match."""

    RUNNING = "RUNNING"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class Column(Node):
    """``A.price``, ``price``: a column of the last row of a variable, or of all rows (None)."""

    variable: str | None
    name: Name


@dataclass(frozen=True, slots=True)
class Classifier(Node):
    """``CLASSIFIER()``, ``CLASSIFIER(A)``: the variable to which the last such row is mapped."""

    variable: str | None


@dataclass(frozen=True, slots=True)
class MatchNumber(Node):
    """``MATCH_NUMBER()``: the number of the match in its partition, from 1."""


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """``FIRST(A.x, 1)``, ``LAST(A.x)``: the operand at a row of the variable, by its number."""

    function: str
    operand: Any
    variable: str | None
    offset: int = 0
    semantics: Semantics | None = None


@dataclass(frozen=True, slots=True)
class Physical(Node):
    """``PREV(A.x, 2)``, ``NEXT(LAST(A.x))``: the operand at a row before or after another one.

    That row is the one of a :class:`Logical` operand, or else the last one of the variable.
    """

    function: str
    operand: Any
    variable: str | None
    offset: int = 1


AGGREGATES = {
    name: each
    for name, each in aggregates.AGGREGATES.items()
    if name not in ("first", "last", aggregates.COUNT_DISTINCT)
}
"""The aggregates over rows; FIRST and LAST are navigations, and DISTINCT goes with all of them."""


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """``sum(A.x)`` over the rows of a variable; ``argument`` is None in ``count(*)``."""

    function: str
    argument: Any
    variable: str | None
    is_distinct: bool = False
    semantics: Semantics | None = None


# --- Clauses ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SortItem(Node):
    """A column of ORDER BY."""

    column: Name
    is_ascending: bool = True
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Measure(Node):
    """``expression AS name``."""

    expression: Any
    name: Name


class Rows(Enum):
    """The rows of the result."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipMode(Enum):
    """Where matching continues after a match."""

    PAST_LAST_ROW = "PAST LAST ROW"
    TO_NEXT_ROW = "TO NEXT ROW"
    TO_FIRST = "TO FIRST"
    TO_LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class Skip(Node):
    """``AFTER MATCH SKIP …``; ``variable`` is that of TO FIRST and TO LAST."""

    mode: SkipMode = SkipMode.PAST_LAST_ROW
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Subset(Node):
    """``S = (A, B)``: a name for the rows of several variables."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """``A AS condition``."""

    variable: str
    condition: Any


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """``MATCH_RECOGNIZE ( … )``, with the table before it and the alias after it, if any."""

    pattern: Pattern
    partition_by: tuple[Name, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = Skip()
    within: Duration | None = None
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()
    table: tuple[Name, ...] = ()
    alias: Name | None = None

    def variables(self) -> list[str]:
        """The variables of the pattern, in the order of the text."""
        nodes = self.pattern.walk()
        return list(dict.fromkeys(node.name for node in nodes if isinstance(node, Variable)))

    def members(self) -> dict[str | None, frozenset[str]]:
        """The variables of the pattern that each name means; None means all of them."""
        own = self.variables()
        members: dict[str | None, frozenset[str]] = {name: frozenset([name]) for name in own}
        members |= {subset.name: frozenset(subset.members) for subset in self.subsets}
        return {**members, None: frozenset(own)}
