"""The columns of a clause in a table: their names, their kinds, and those of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cepheid.analysis.kinds import KindChecker, path_of
from cepheid.analysis.operations import TIMES
from cepheid.errors import Fault, closest, list_words
from cepheid.language import syntax as ast
from cepheid.language.parser import MAX_FAULTS
from cepheid.row_patterns import syntax as rows
from cepheid.schema import ORDERED, Kind, Schema, with_article

_MOST_LISTED = 12


def found_column(name: rows.Name, columns: Sequence[str]) -> str | None:
    """The column with this name, if there is exactly one.

    >>> found_column(rows.Name("PRICE"), ["price", "Price"]) is None
    True
    >>> found_column(rows.Name("PRICE"), ["price"]), found_column(rows.Name("x", True), ["X"])
    ('price', None)
    """
    if name.text in columns:
        return name.text
    same = [] if name.is_quoted else [each for each in columns if each.upper() == name.key]
    return same[0] if len(same) == 1 else None


def named_columns(clause: rows.Clause, columns: Sequence[str]) -> list[str]:
    """The columns that a result needs: those that the clause names, or all."""
    if clause.rows is not rows.Rows.ONE:
        return list(columns)
    names = [*clause.partition_by, *(item.column for item in clause.order_by)]
    names += [node.name for node in clause.walk() if isinstance(node, rows.Column)]
    found = (found_column(name, columns) for name in names)
    return list(dict.fromkeys(name for name in found if name is not None))


class Binding:
    """A clause with the columns of a table: ``clause`` names them exactly as the table does.

    ``faults`` are those of the names and kinds.
    """

    def __init__(self, clause: rows.Clause, schema: Schema) -> None:
        self._columns = list(schema.attributes)
        self._nested = schema.nested
        self.plan: object = None  # how the engine runs the clause, once it is known
        self._variables = clause.variables()
        self.faults: list[Fault] = []
        partition_by = tuple(map(self._resolved, clause.partition_by))
        self.clause = replace(ast.rewrite(clause, self._bound), partition_by=partition_by)
        self.kinds = RowKinds(schema)
        self._check_keys(schema)
        self._check_result_names()
        for definition in self.clause.definitions:
            self.kinds.check_boolean(definition.condition)
        self.measure_kinds = [self.kinds.kind(each.expression) for each in self.clause.measures]
        self.faults = [*self.faults, *self.kinds.faults][:MAX_FAULTS]

    def _bound(self, node: ast.Node) -> ast.Node:
        if isinstance(node, rows.Column):
            return replace(node, name=self._resolved(node.name))
        if isinstance(node, rows.SortItem):
            return replace(node, column=self._resolved(node.column))
        if isinstance(node, ast.Field):
            path = path_of(node.operand)
            fields = [each[-1] for each in self._nested if each[:-1] == path]
            return replace(node, name=found_column(rows.Name(node.name), fields) or node.name)
        return node

    def _resolved(self, name: rows.Name) -> rows.Name:
        found = found_column(name, self._columns)
        if found is not None:
            return replace(name, text=found, is_quoted=True)
        same = [each for each in self._columns if each.upper() == name.text.upper()]
        message = f"the table has no column '{name.text}'"
        candidates: tuple[str, ...] = ()
        listed = self._columns[:_MOST_LISTED]
        listed += ["others"] if len(self._columns) > len(listed) else []
        hint = f"It has {list_words(listed)}."
        if len(same) > 1:
            message = f"several columns are called '{name.text}': {list_words(same)}"
            hint = f'Put the name in quotes: "{same[0]}".'
        elif same:
            hint = f'The name in quotes is "{same[0]}".'
        elif name.key in self._variables:
            hint = f"'{name.key}' is a variable: name one of its columns, such as {name.key}.x."
        else:
            candidates = closest(name.text, self._columns)
        self.faults.append(Fault(message, name.span, name.text, (), candidates, hint))
        return name

    def _check_keys(self, schema: Schema) -> None:
        for name in self.clause.partition_by:
            kind = schema.kind(name.text)
            if kind in (Kind.LIST, Kind.OTHER):
                message = f"'{name.text}' is {with_article(kind)}, which cannot make partitions"
                self.faults.append(Fault(message, name.span))
        for item in self.clause.order_by:
            kind = schema.kind(item.column.text)
            if not (kind.is_number or kind in (*ORDERED, Kind.BOOLEAN)):
                message = f"'{item.column.text}' is {with_article(kind)}, which has no order"
                self.faults.append(Fault(message, item.span))
        if self.clause.within is not None:
            kind = schema.kind(self.clause.order_by[0].column.text)
            if not (kind.is_number or kind in (*TIMES, Kind.UNKNOWN)):
                message = f"WITHIN measures time, but ORDER BY begins with {with_article(kind)}"
                self.faults.append(Fault(message, self.clause.order_by[0].span))

    def _check_result_names(self) -> None:
        columns = {name.upper() for name in (*self.leading_columns, *self.trailing_columns)}
        for measure in self.clause.measures:
            if measure.name.text.upper() in columns:
                message = f"the result would have two columns '{measure.name.text}'"
                hint = "Give the measure another name."
                self.faults.append(Fault(message, measure.name.span, hint=hint))

    @property
    def leading_columns(self) -> list[str]:
        """The columns of the table that are before the measures in the result."""
        names = [name.text for name in self.clause.partition_by]
        if self.clause.rows is not rows.Rows.ONE:
            names += [item.column.text for item in self.clause.order_by]
        return list(dict.fromkeys(names))

    @property
    def trailing_columns(self) -> list[str]:
        """The columns of the table that are after the measures in the result."""
        if self.clause.rows is rows.Rows.ONE:
            return []
        leading = self.leading_columns
        return [name for name in self._columns if name not in leading]


class RowKinds(KindChecker):
    """The kinds of the expressions of a clause."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, {})
        self._columns = schema

    def kind(self, node: Any) -> Kind:
        """The kind of an expression; faults inside it are reported."""
        match node:
            case rows.Column(_, name):
                return self._columns.kind(name.text)
            case rows.Classifier():
                return Kind.STRING
            case rows.MatchNumber():
                return Kind.INTEGER
            case rows.Logical(_, operand) | rows.Physical(_, operand):
                return self.kind(operand)
            case rows.Aggregate():
                return self._over_rows(node)
        return super().kind(node)

    def _over_rows(self, node: rows.Aggregate) -> Kind:
        if node.argument is None:
            return Kind.INTEGER
        kind = self.kind(node.argument)
        aggregate = rows.AGGREGATES[node.function]
        refusal = aggregate.refusal(kind)
        if node.is_distinct and kind in (Kind.LIST, Kind.OTHER):
            refusal = f"{with_article(kind)} cannot be compared"
        if refusal is not None:
            self.faults.append(Fault(refusal, node.span))
            return Kind.UNKNOWN
        return aggregate.kind(kind)
