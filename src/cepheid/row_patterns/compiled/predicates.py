"""Conditions on rows already matched as generated predicates.

A predicate reads columns at the current row and at the rows in its slots, and the folds of
aggregates. Which rows and folds these are is known before any table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid import aggregates
from cepheid.analysis.needs import RANK
from cepheid.codegen import context_reads
from cepheid.codegen.expressions import Statements, Storage, Untranslatable, Value, storage_of
from cepheid.codegen.predicates import PredicateWriter, Test
from cepheid.engines.row_pattern import layout
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.leaves import (
    ROW_NODES,
    Leaf,
    LeavesOf,
    Row,
    Untold,
    leaf_nodes,
    reads_labels,
    tree_with,
)
from cepheid.schema import Kind, Schema

_OPERATIONS = {
    aggregates.SUM: layout.FOLD_SUM,
    aggregates.TOTAL: layout.FOLD_TOTAL,
    aggregates.MIN: layout.FOLD_MIN,
    aggregates.MAX: layout.FOLD_MAX,
    aggregates.COUNT: layout.FOLD_COUNT,
    aggregates.DEVIATIONS: layout.FOLD_DEVIATIONS,
}
_NATIVE = frozenset(
    (
        "abs", "sign", "floor", "ceil", "sqrt", "exp", "ln", "log10", "power", "least", "greatest",
        "round", "coalesce", "nullif",
    )
)  # fmt: skip
LABELS = rows.Classifier(None)
"""The operand that is the label of a row."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What a predicate reads: a row, or a running value; see :data:`layout.SLOT`.

    ``fold`` is the operation and the argument.
    """

    kind: int
    group: frozenset[str]
    offset: int = 0
    fold: tuple[int, Any] | None = None
    is_exact: bool = False


@dataclass
class VariablePredicates:
    """The predicates of a variable and what they read."""

    predicate: int = layout.NONE
    bound: int = layout.NONE
    slots: list[Slot] = field(default_factory=list)
    sees_start: bool = False
    sees_number: bool = False
    sees_labels: bool = False


class _RowStatements(Statements):
    """Strings are ranks: their order is that of their codes."""

    def _of_string(self, operation: str, string: Value, kind: Kind) -> Value:
        if operation != RANK:
            return super()._of_string(operation, string, kind)
        return Value(string.code, string.known, kind)

    def _registered(self, function: Any, arguments: list[Value]) -> Value:  # noqa: ARG002
        raise Untranslatable(f"{function.name} is called with values of rows already matched")


class _RowWriter(PredicateWriter):
    """Writes predicates over rows."""

    compute: Callable[[Any], Any]

    def _statements(self) -> Statements:
        return _RowStatements(self.constants, [], self.compute)


class Predicates:
    """All predicates of a clause.

    ``columns`` are the operands that they read, over one row each. ``matched_reads`` has the
    columns that they read at rows of variables, and how far from these rows.
    """

    def __init__(self, clause: rows.Clause, kind_of: Callable[[Any], Kind]) -> None:
        self._clause = clause
        self._kind_of = kind_of
        self._all = clause.members()[None]
        self._writer = _RowWriter(Schema({}))
        self.columns: list[tuple[Any, Kind]] = []
        self.matched_reads: set[tuple[int, int]] = set()
        self.by_variable: dict[str, VariablePredicates] = {}

    @property
    def source(self) -> str | None:
        """The generated module; None if there is no predicate."""
        return self._writer.source() if self._writer.count else None

    @property
    def constants(self) -> list[int | float | str]:
        """The constants that predicates read."""
        return self._writer.constants

    def add(self, variable: str, conditions: Sequence[Any], bound: Any | None) -> None:
        """Add the predicate of a variable, and the one that is true where its rows end.

        Raises:
            Untold: generated code cannot compute them.
        """
        found = self.by_variable[variable] = VariablePredicates()
        if not conditions:
            return
        resolver = _Resolver(self, LeavesOf(self._clause, variable), found)
        self._writer.compute = resolver.compute
        try:
            tests = [Test(each, resolver.resolve) for each in conditions]
            found.predicate = self._writer.add(tests)
            if bound is not None:
                found.bound = self._writer.add([Test(ast.Not(bound), resolver.resolve)])
        except Untranslatable as reason:
            raise Untold(f"in the condition of {variable}, {reason}") from None

    def column(self, operand: Any) -> tuple[int, Kind]:
        """The number and the kind of the column of an operand over one row."""
        kind = self._kind_of(operand)
        if any(isinstance(each, rows.MatchNumber) for each in operand.walk()):
            raise Untranslatable("MATCH_NUMBER() is in a navigation or an aggregate")
        operand = _without_variables(operand)
        for number, (known, _) in enumerate(self.columns):
            if repr(known) == repr(operand):  # 1 and 1.0 are equal, and not the same.
                return number, kind
        storage = storage_of(kind, "an expression" if kind is Kind.UNKNOWN else "a column")
        if storage is Storage.LIST:
            raise Untranslatable("a list is read at a row already matched")
        self.columns.append((operand, kind))
        return len(self.columns) - 1, kind

    def group(self, group: frozenset[str] | None) -> frozenset[str]:
        """The variables of a group."""
        return self._all if group is None else group


class _Resolver:
    """Gives the code of what the condition of a variable reads."""

    def __init__(self, predicates: Predicates, leaves: LeavesOf, found: VariablePredicates) -> None:
        self._predicates = predicates
        self._leaves = leaves
        self._found = found
        self._read: list[Leaf] = []

    def compute(self, node: Any) -> Any:
        """The node, or a leaf in its place: what reads rows, or has to be computed in columns."""
        if isinstance(node, ROW_NODES):
            leaf = self._leaves.leaf(node)
        elif _is_native(node):
            return node
        else:
            leaf = self._absorbed(node)
        self._read.append(leaf)
        return ast.Attribute("", str(len(self._read) - 1))

    def _absorbed(self, node: Any) -> Leaf:
        """An expression over one row: its column is computed for all rows."""
        leaves = [self._leaves.leaf(each) for each in leaf_nodes(node)]
        (row,) = (
            {leaf.row for leaf in leaves} if len({leaf.row for leaf in leaves}) == 1 else [None]
        )
        if row is None or any(reads_labels(leaf.node) for leaf in leaves):
            what = f"{node.function}()" if isinstance(node, ast.Call) else type(node).__name__
            raise Untranslatable(f"{what} is computed from several rows")
        if row != Row("CURRENT") and not _is_strict(node):
            raise Untranslatable("a value is chosen by whether a row is there")

        def change(each: Any) -> Any:
            return self._leaves.leaf(each).operand if isinstance(each, ROW_NODES) else None

        return Leaf(node, tree_with(node, change), row)

    def resolve(self, node: ast.Node) -> Value:
        """The code of a leaf."""
        assert isinstance(node, ast.Attribute)
        leaf = self._read[int(node.attribute)]
        if isinstance(leaf.node, rows.MatchNumber):
            self._found.sees_number = True
            return Value(context_slot(layout.NUMBER_SLOT), "True", Kind.INTEGER)
        if isinstance(leaf.node, rows.Aggregate):
            return self._aggregate(leaf.node)
        assert leaf.row is not None
        place, known = self._row(leaf.row)
        if reads_labels(leaf.operand):
            if leaf.operand != LABELS and not isinstance(leaf.operand, rows.Classifier):
                raise Untranslatable("CLASSIFIER() is part of an expression in a navigation")
            self._found.sees_labels = self._found.sees_start = True
            start = context_slot(layout.START_SLOT)
            known = _both(known, f"{start} <= {place} <= event")
            return self._read_at(self._predicates.column(LABELS)[0], Kind.STRING, place, known)
        column, kind = self._predicates.column(leaf.operand)
        if leaf.row.function != "CURRENT" and leaf.row.group is not None:
            self._predicates.matched_reads.add((column, leaf.row.distance))
        return self._read_at(column, kind, place, known)

    def _read_at(self, column: int, kind: Kind, place: str, known: str) -> Value:
        is_float = kind is Kind.FLOAT
        value = context_reads.column_value(column, is_float, place)
        there = f"({context_reads.column_known(column, place)})"
        if known != "True":
            value = f"({value} if {known} else {'0.0' if is_float else '0'})"
            there = f"({known}) and {there}"
        return Value(value, there, kind)

    def _row(self, row: Row) -> tuple[str, str]:
        """The code of a row, and whether there is one."""
        start = context_slot(layout.START_SLOT)
        if row.function == "CURRENT":
            place, known = "event", "True"
        elif row.group is None:
            self._found.sees_start = True
            is_last = row.function == "LAST"
            place = f"(event - {row.offset})" if is_last else f"({start} + {row.offset})"
            known = f"{start} <= {place} <= event"
        else:
            kind = layout.LAST_ROW if row.function == "LAST" else layout.FIRST_ROW
            place = context_slot(self._slot(Slot(kind, row.group, row.offset)))
            known = f"{place} >= 0"
        if row.distance:
            place = f"({place} + {row.distance})"
            low, high = context_slot(layout.LOW_SLOT), context_slot(layout.HIGH_SLOT)
            known = _both(known, f"{low} <= {place} < {high}")
        return place, known

    def _slot(self, slot: Slot) -> int:
        if slot not in self._found.slots:
            self._found.slots.append(slot)
        return layout.FIRST_SLOT + self._found.slots.index(slot)

    def _aggregate(self, node: rows.Aggregate) -> Value:
        group = self._leaves.group(node.variable)
        if node.argument is None:
            if group is None:
                self._found.sees_start = True
                start = context_slot(layout.START_SLOT)
                return Value(f"(event - {start} + 1)", "True", Kind.INTEGER)
            place = self._slot(Slot(layout.COUNT, group))
            return Value(context_slot(place), "True", Kind.INTEGER)
        entry = rows.AGGREGATES[node.function]
        if node.is_distinct or not entry.folds:
            name = f"{node.function}(DISTINCT …)" if node.is_distinct else node.function
            raise Untranslatable(f"{name} needs all values together")
        if reads_labels(node.argument):
            raise Untranslatable("CLASSIFIER() is in an aggregate")
        members = self._predicates.group(group)
        column, kind = self._predicates.column(node.argument)
        is_float = kind is Kind.FLOAT
        places = [
            self._slot(
                Slot(
                    layout.FOLD,
                    members,
                    fold=(_OPERATIONS[fold], column),
                    is_exact=fold == aggregates.SUM and not is_float,
                )
            )
            for fold in entry.folds
        ]
        if entry.folds == (aggregates.COUNT,):
            return Value(_known_count(places[0]), "True", Kind.INTEGER)
        known = f"{_known_count(places[0])} != 0"
        if entry.native is None:
            return Value(context_slot(places[0], is_float=is_float), known, entry.kind(kind))
        reads = [
            f"float({_known_count(place)})"
            if fold == aggregates.COUNT
            else context_slot(place, is_float=True)
            for fold, place in zip(entry.folds, places, strict=True)
        ]
        code = entry.native(*reads)
        return Value(code, f"{known} and {code} == {code}", Kind.FLOAT)


def context_slot(number: int, *, is_float: bool = False) -> str:
    """What is in a slot."""
    pointer = "float64_pointer" if is_float else "int64_pointer"
    return f"{pointer}(context[CONTEXT_SLOTS])[{number}]"


def _known_count(slot: int) -> str:
    """How many values a fold has."""
    return f"int64_pointer(context[CONTEXT_VALID])[{slot}]"


def _both(left: str, right: str) -> str:
    return right if left == "True" else f"{left} and {right}"


def _is_native(node: Any) -> bool:
    """Whether generated code computes the node, given the values of its parts."""
    if isinstance(node, ast.Call):
        found = find_function(node.function)
        return node.function in _NATIVE and found is not None and found.compile is None
    return not isinstance(node, ast.Like | ast.Field | ast.Item)


def _is_strict(node: Any) -> bool:
    """Whether the value is null if a row is not there."""
    for each in node.walk():
        if isinstance(each, ast.Case | ast.IsNull | ast.And | ast.Or | ast.Not):
            return False
        if isinstance(each, ast.Call):
            found = find_function(each.function)
            if found is None or found.takes_null:
                return False
    return True


def _without_variables(operand: Any) -> Any:
    """The operand, whatever the variable: it is read at a given row."""

    def change(node: Any) -> Any:
        return rows.Column(None, node.name) if isinstance(node, rows.Column) else None

    return tree_with(operand, change)
