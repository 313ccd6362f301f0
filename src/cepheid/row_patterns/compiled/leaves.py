"""The rows that an expression of DEFINE reads: each is a leaf, and the rest is the usual algebra.

Where the condition of a variable is tested, its last row is the current one. A leaf is therefore
*local* (a row at a fixed distance from the current one) or a row already matched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.reference.interpreter import operand_of

ROW_NODES = (
    rows.Column,
    rows.Classifier,
    rows.MatchNumber,
    rows.Logical,
    rows.Physical,
    rows.Aggregate,
)
Group = frozenset[str] | None
"""The variables whose rows are meant; None for all rows of the match."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the current one, or the n-th from the first or last of a group; and a distance.

    ``function`` is CURRENT, FIRST or LAST.
    """

    function: str
    group: Group = None
    offset: int = 0
    distance: int = 0

    @property
    def is_local(self) -> bool:
        """Whether it is at a fixed distance from the current row."""
        return self.function == "CURRENT"


@dataclass(frozen=True, slots=True)
class Leaf:
    """What an expression reads: an operand at a row, an aggregate, or the number of the match."""

    node: Any
    operand: Any = None
    row: Row | None = None


class Untold(Exception):
    """An expression that the engine cannot compute; the message says why."""


def tree_with(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree in which each topmost node for which there is a change is replaced."""
    changed = change(node)
    if changed is not None:
        return changed
    changes = {
        item.name: _changed(getattr(node, item.name), change)
        for item in fields(node)
        if item.name != "span"
    }
    return replace(node, **changes)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, ast.Node):
        return tree_with(value, change)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    return value


class LeavesOf:
    """Finds what the condition of a variable reads."""

    def __init__(self, clause: rows.Clause, variable: str) -> None:
        self._members = clause.members()
        self._all = self._members[None]
        self.variable = variable

    def group(self, name: str | None) -> Group:
        """The variables that a name means; None means all."""
        members = self._members[name]
        return None if members == self._all else members

    def _is_current(self, group: Group) -> bool:
        return group is None or self.variable in group

    def leaf(self, node: Any) -> Leaf:
        """What a node reads."""
        match node:
            case rows.MatchNumber() | rows.Aggregate():
                return Leaf(node)
            case rows.Column(variable) | rows.Classifier(variable):
                return Leaf(node, node, self._last(self.group(variable), 0))
            case rows.Logical(function, operand, variable, offset):
                return Leaf(node, operand, self._logical(function, self.group(variable), offset))
            case rows.Physical(function, operand, variable, offset):
                base = self._last(self.group(variable), 0)
                if isinstance(operand, rows.Logical):
                    group = self.group(operand.variable)
                    base = self._logical(operand.function, group, operand.offset)
                distance = offset if function == "NEXT" else -offset
                return Leaf(node, operand_of(node), replace(base, distance=distance))
        raise AssertionError(f"{type(node).__name__} reads no row")

    def _logical(self, function: str, group: Group, offset: int) -> Row:
        return self._last(group, offset) if function == "LAST" else Row("FIRST", group, offset)

    def _last(self, group: Group, offset: int) -> Row:
        if offset == 0 and self._is_current(group):
            return Row("CURRENT")
        return Row("LAST", group, offset)

    def is_local(self, condition: Any) -> bool:
        """Whether the condition reads rows at fixed distances from the current one only."""
        return all(self._is_local(each) for each in leaf_nodes(condition))

    def is_fixed(self, node: Any) -> bool:
        """Whether a column or FIRST or LAST reads the same row whichever later row is tested."""
        row = self.leaf(node).row
        assert row is not None
        if row.is_local or reads_labels(node):
            return False
        is_other = row.group is not None and self.variable not in row.group
        return is_other or (row.function == "FIRST" and row.offset == 0)

    def _is_local(self, node: Any) -> bool:
        leaf = self.leaf(node)
        if leaf.row is None or not leaf.row.is_local:
            return False
        if any(isinstance(each, rows.MatchNumber) for each in leaf.operand.walk()):
            return False
        return leaf.row.distance == 0 or not reads_labels(leaf.operand)


def leaf_nodes(node: Any) -> list[Any]:
    """The topmost nodes that read rows."""
    found: list[Any] = []

    def collect(each: Any) -> Any:
        if isinstance(each, ROW_NODES):
            found.append(each)
            return each
        return None

    tree_with(node, collect)
    return found


def reads_labels(node: Any) -> bool:
    """Whether CLASSIFIER() is in it."""
    return any(isinstance(each, rows.Classifier) for each in node.walk())


def conjuncts(condition: Any) -> list[Any]:
    """The conditions that all have to be true."""
    if isinstance(condition, ast.And):
        return [each for operand in condition.operands for each in conjuncts(operand)]
    return [condition]
