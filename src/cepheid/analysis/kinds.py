"""Kinds of value: attributes exist, and only like is compared with like."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cepheid.errors import Fault, closest, list_words
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

_TIMES = (Kind.TIMESTAMP, Kind.DATE)
_ORDERED = (Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION, Kind.UNKNOWN)


def check_kinds(query: ast.Query, schema: Schema | None) -> list[Fault]:
    """What is wrong with types, attributes and operators, given what is known of the events."""
    checker = _Checker(query, schema)
    checker.check_types()
    if not checker.faults and query.condition is not None:
        checker.check_boolean(query.condition)
    if query.returns is not None:
        for item in query.returns.items:
            checker.kind(item.expression)
    return checker.faults


def return_kind(expression: ast.Expression, query: ast.Query, schema: Schema | None) -> Kind:
    """The kind of a RETURN item of a query that has no faults."""
    return _Checker(query, schema).kind(expression)


class _Checker:
    def __init__(self, query: ast.Query, schema: Schema | None) -> None:
        self._query = query
        self._schema = schema
        self._types: dict[str, set[str]] = {}
        for component, _ in ast.components(query.pattern):
            self._types.setdefault(component.variable, set()).update(component.types)
        self.faults: list[Fault] = []

    def _fault(self, message: str, node: ast.Node, hint: str | None = None) -> None:
        self.faults.append(Fault(message, node.span, hint=hint))

    def check_types(self) -> None:
        if self._schema is None or self._schema.types is None:
            return
        for component, _ in ast.components(self._query.pattern):
            for name in component.types:
                if not self._schema.has_type(name):
                    self.faults.append(
                        Fault(
                            f"there is no event type '{name}'",
                            component.span,
                            found=name,
                            candidates=closest(name, self._schema.types),
                            hint=f"The types are {list_words(sorted(self._schema.types))}.",
                        )
                    )

    # --- conditions

    def check_boolean(self, node: ast.Expression) -> None:
        """A condition is true or false."""
        match node:
            case ast.And(operands) | ast.Or(operands):
                for operand in operands:
                    self.check_boolean(operand)
            case ast.Not(operand):
                self.check_boolean(operand)
            case _:
                kind = self.kind(node)
                if kind not in (Kind.BOOLEAN, Kind.UNKNOWN):
                    self._fault(
                        f"this is {_a(kind)}, not a condition", node, "Compare it with something."
                    )

    def kind(self, node: ast.Expression) -> Kind:
        """The kind of an expression; what is wrong inside it is reported on the way."""
        match node:
            case ast.Literal(value):
                return _literal_kind(value)
            case ast.Duration():
                return Kind.DURATION
            case ast.Attribute(variable, attribute) | ast.Element(variable, _, attribute):
                return self._attribute(node, variable, attribute)
            case ast.Elements(variable, attribute):
                self._attribute(node, variable, attribute)
                return Kind.LIST
            case ast.Length():
                return Kind.INTEGER
            case ast.Aggregate():
                return self._aggregate(node)
            case ast.Call():
                return self._call(node)
            case ast.Negative(operand):
                kind = self.kind(operand)
                if not (kind.is_number or kind in (Kind.DURATION, Kind.UNKNOWN)):
                    self._fault(f"{_a(kind)} has no sign", node)
                return kind
            case ast.Arithmetic():
                return self._arithmetic(node)
            case ast.Equivalence():
                self._equivalence(node)
                return Kind.BOOLEAN
            case ast.EventReference() | ast.Parameter():
                return Kind.UNKNOWN
        self._predicate(node)
        return Kind.BOOLEAN

    def _predicate(self, node: ast.Expression) -> None:
        match node:
            case ast.Comparison(operator, left, right):
                self._compared(node, left, right, operator not in ("=", "!="))
            case ast.In(operand, options):
                for option in options:
                    self._compared(node, operand, option, ordered=False)
            case ast.Between(operand, low, high):
                self._compared(node, operand, low, ordered=True)
                self._compared(node, operand, high, ordered=True)
            case ast.Like(operand, _):
                kind = self.kind(operand)
                if kind not in (Kind.STRING, Kind.UNKNOWN):
                    self._fault(f"LIKE is for strings, and this is {_a(kind)}", node)
            case ast.IsNull(operand):
                self.kind(operand)
            case ast.Not() | ast.And() | ast.Or():
                self.check_boolean(node)

    def _compared(
        self, node: ast.Expression, left: ast.Expression, right: ast.Expression, ordered: bool
    ) -> None:
        kinds = self.kind(left), self.kind(right)
        for literal in (left, right):
            if isinstance(literal, ast.Literal) and literal.value is None:
                self._fault(
                    "nothing is equal to NULL, not even NULL",
                    node,
                    "Write IS NULL or IS NOT NULL.",
                )
                return
        if not _comparable(*kinds):
            self._fault(
                f"{_a(kinds[0])} is compared with {_a(kinds[1])}", node, _comparison_hint(kinds)
            )
            return
        for literal, other in ((left, kinds[1]), (right, kinds[0])):
            if isinstance(literal, ast.Literal) and other in _TIMES:
                self._check_time_text(literal)
        if ordered:
            for kind in kinds:
                if not (kind.is_number or kind in _ORDERED):
                    self._fault(f"{_a(kind)} has no order", node, "Compare it with = or !=.")
                    return

    def _check_time_text(self, literal: ast.Literal) -> None:
        if isinstance(literal.value, str):
            try:
                datetime.fromisoformat(literal.value)
            except ValueError:
                self._fault(
                    f"'{literal.value}' is not a point in time",
                    literal,
                    "Write it like '2024-05-01 09:30:00'.",
                )

    # --- values

    def _attribute(self, node: ast.Expression, variable: str, attribute: str) -> Kind:
        schema = self._schema
        if schema is None:
            return Kind.UNKNOWN
        types = sorted(self._types.get(variable, ()))
        if types and not any(schema.has_attribute(name, attribute) for name in types):
            owner = list_words(types, "or") if schema.types is not None else "An event"
            known = sorted(
                name
                for name in schema.attributes
                if any(schema.has_attribute(type_name, name) for type_name in types)
            )
            self.faults.append(
                Fault(
                    f"{owner} has no attribute '{attribute}'",
                    node.span,
                    found=attribute,
                    candidates=closest(attribute, known),
                    hint=f"{owner} has {list_words(known)}.",
                )
            )
            return Kind.UNKNOWN
        return schema.kind(attribute)

    def _equivalence(self, node: ast.Equivalence) -> None:
        schema = self._schema
        if schema is None:
            return
        types = {name for types in self._types.values() for name in types}
        if not any(schema.has_attribute(name, node.attribute) for name in types):
            known = sorted(schema.attributes)
            self.faults.append(
                Fault(
                    f"no event of the pattern has an attribute '{node.attribute}'",
                    node.span,
                    found=node.attribute,
                    candidates=closest(node.attribute, known),
                    hint=f"The attributes are {list_words(known)}.",
                )
            )
        elif node.value is not None:
            kinds = schema.kind(node.attribute), _literal_kind(node.value.value)
            if not _comparable(*kinds):
                self._fault(f"{_a(kinds[0])} is compared with {_a(kinds[1])}", node)

    def _aggregate(self, node: ast.Aggregate) -> Kind:
        if node.attribute is None:
            return Kind.INTEGER
        kind = self._attribute(node, node.variable, node.attribute)
        if node.function == "count":
            return Kind.INTEGER
        if node.function in ("sum", "avg"):
            if not (kind.is_number or kind is Kind.UNKNOWN):
                self._fault(f"{node.function} is over numbers, and this is {_a(kind)}", node)
            return Kind.FLOAT if node.function == "avg" else kind
        if node.function in ("min", "max") and not (kind.is_number or kind in _ORDERED):
            self._fault(f"{_a(kind)} has no order, so it has no {node.function}", node)
        return kind

    def _call(self, node: ast.Call) -> Kind:
        function = find_function(node.function)
        kinds = [self.kind(argument) for argument in node.arguments]
        if function is None:
            return Kind.UNKNOWN
        for kind, argument in zip(kinds, node.arguments, strict=True):
            wanted = function.parameter
            fits = kind is Kind.UNKNOWN or (
                kind.is_number if wanted is Kind.FLOAT else wanted in (kind, Kind.UNKNOWN)
            )
            if not fits:
                expected = "a number" if wanted is Kind.FLOAT else _a(wanted)
                self._fault(f"{function.name} takes {expected}, and this is {_a(kind)}", argument)
        if function.result is not None:
            return function.result
        if Kind.FLOAT in kinds:
            return Kind.FLOAT
        return kinds[0] if kinds else Kind.UNKNOWN

    def _arithmetic(self, node: ast.Arithmetic) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        result = _arithmetic_kind(node.operator, left, right)
        if result is None:
            self._fault(f"'{node.operator}' does not go with {_a(left)} and {_a(right)}", node)
            return Kind.UNKNOWN
        return result


def _literal_kind(value: object) -> Kind:
    if value is None:
        return Kind.UNKNOWN
    kinds: dict[type, Kind] = {
        bool: Kind.BOOLEAN,
        int: Kind.INTEGER,
        float: Kind.FLOAT,
        str: Kind.STRING,
    }
    return kinds[type(value)]


def _comparable(left: Kind, right: Kind) -> bool:
    if Kind.UNKNOWN in (left, right):
        return True
    if left.is_number and right.is_number:
        return True
    times = (*_TIMES, Kind.STRING)
    if left in times and right in times:
        return True
    return left is right and left is not Kind.OTHER and left is not Kind.LIST


def _comparison_hint(kinds: tuple[Kind, Kind]) -> str | None:
    if Kind.STRING in kinds and any(kind.is_number for kind in kinds):
        return "A number is written without quotes."
    if Kind.DURATION in kinds and any(kind.is_number for kind in kinds):
        return "The difference of two timestamps is compared with a duration, such as 10 minutes."
    return None


def _arithmetic_kind(operator: str, left: Kind, right: Kind) -> Kind | None:
    """The kind of ``left operator right``, or None where there is no such operation."""
    if left.is_number and right.is_number:
        return Kind.FLOAT if operator == "/" or Kind.FLOAT in (left, right) else Kind.INTEGER
    time_left, time_right = left in _TIMES, right in _TIMES
    if operator == "-" and time_left and time_right:
        return Kind.DURATION
    if operator in "+-" and time_left and right is Kind.DURATION:
        return Kind.TIMESTAMP
    if operator == "+" and left is Kind.DURATION and time_right:
        return Kind.TIMESTAMP
    if left is Kind.DURATION and right is Kind.DURATION and operator in "+-":
        return Kind.DURATION
    if operator in "*/" and left is Kind.DURATION and right.is_number:
        return Kind.DURATION
    if operator == "*" and left.is_number and right is Kind.DURATION:
        return Kind.DURATION
    if Kind.UNKNOWN in (left, right):
        known = right if left is Kind.UNKNOWN else left
        unfit = (Kind.STRING, Kind.BOOLEAN, Kind.LIST, Kind.OTHER)
        return None if known in unfit else Kind.UNKNOWN
    return None


def _a(kind: Kind) -> str:
    """The kind with an article."""
    if kind is Kind.OTHER:
        return "a value of another kind"
    return f"{'an' if kind.value[0] in 'aeiou' else 'a'} {kind.value}"
