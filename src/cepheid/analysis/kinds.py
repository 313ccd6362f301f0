"""Checks kinds: types and attributes exist, and operators fit the kinds of their operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from cepheid.aggregates import AGGREGATES
from cepheid.analysis.names import last_word, type_span
from cepheid.analysis.operations import (
    TIME_STRING,
    TIMES,
    Operand,
    arithmetic_hint,
    arithmetic_kind,
    comparable,
    comparison_hint,
    incomparable,
    literal_kind,
)
from cepheid.errors import Fault, Span, closest, list_words
from cepheid.functions import EXTREMES, Function, Uncallable, find_function
from cepheid.language import syntax as ast
from cepheid.language.computed import EVENT, of_variable
from cepheid.language.printer import print_attribute
from cepheid.schema import ELEMENT, ORDERED, Computed, Kind, Schema, with_article

_MOST_LISTED = 12


def check_kinds(query: ast.Query, schema: Schema | None) -> list[Fault]:
    """The faults of types, attributes and operators, given the schema of the events.

    An expression of unknown kind is not checked further: its unknown name is a fault already.
    """
    checker = KindChecker(schema, _types(query.pattern))
    checker.check_types(query.pattern)
    if query.condition is not None:
        checker.check_boolean(query.condition)
    if query.returns is not None:
        for item in query.returns.items:
            checker.kind(item.expression)
    return checker.faults


def return_kind(expression: ast.Expression, query: ast.Query, schema: Schema | None) -> Kind:
    """The kind of a RETURN item of a query that has no faults."""
    if isinstance(expression, ast.Elements):
        return Kind.LIST
    return KindChecker(schema, _types(query.pattern)).kind(expression)


def attribute_kind(attribute: str, schema: Schema) -> Kind:
    """The kind of an attribute, which may be computed."""
    if not isinstance(attribute, Computed):
        return schema.kind(attribute)
    return KindChecker(schema, {EVENT: set()}).kind(attribute.expression)


def _types(pattern: ast.Pattern) -> dict[str, set[str]]:
    """The event types of each variable."""
    types: dict[str, set[str]] = {}
    for component, _ in ast.components(pattern):
        types.setdefault(component.variable, set()).update(component.types)
    return types


class KindChecker:
    """Finds the kinds of expressions, and collects the faults in them."""

    def __init__(self, schema: Schema | None, types: Mapping[str, set[str]]) -> None:
        self._schema = schema
        self._types = types
        self.faults: list[Fault] = []

    def _fault(self, message: str, node: ast.Node, hint: str | None = None) -> None:
        self.faults.append(Fault(message, node.span, hint=hint))

    def _no_such(
        self, what: str, name: str, span: Span | None, known: Iterable[str], lead: str
    ) -> None:
        names = sorted(known)
        self.faults.append(
            Fault(
                what,
                span,
                found=name,
                candidates=tuple(map(print_attribute, closest(name, names))),
                hint=f"{lead} {_listed(list(map(print_attribute, names)))}." if names else None,
            )
        )

    def check_types(self, pattern: ast.Pattern) -> None:
        """Every type of the pattern exists."""
        schema = self._schema
        if schema is None or schema.types is None:
            return
        for component, _ in ast.components(pattern):
            for name in component.types:
                if not schema.has_type(name):
                    message, span = f"there is no event type '{name}'", type_span(component, name)
                    self._no_such(message, name, span, schema.types, "The types are")

    # --- conditions

    def check_boolean(self, node: ast.Expression) -> None:
        """A condition has a truth value."""
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
                        f"this is {with_article(kind)}, not a condition",
                        node,
                        "Compare it with a value.",
                    )

    def kind(self, node: ast.Expression) -> Kind:
        """The kind of an expression; faults inside it are reported."""
        match node:
            case ast.Literal():
                return self._literal(node)
            case ast.Duration():
                return Kind.DURATION
            case ast.Attribute(variable, attribute) | ast.Element(variable, _, attribute):
                return self._attribute(variable, attribute, last_word(node, attribute))
            case ast.Elements(variable, attribute):
                self._attribute(variable, attribute, last_word(node, attribute))
                return Kind.UNKNOWN
            case ast.Length():
                return Kind.INTEGER
            case ast.Aggregate():
                return self._aggregate(node)
            case ast.Call():
                return self._call(node)
            case ast.Field(operand) | ast.Item(operand):
                return self._part(node, self.kind(operand))
            case ast.Case(branches, _):
                for condition, _ in branches:
                    self.check_boolean(condition)
                return self._common(node, map(self.kind, node.values), "the values of CASE")
            case ast.Negative(operand):
                kind = self.kind(operand)
                if kind.is_number or kind in (Kind.DURATION, Kind.UNKNOWN):
                    return kind
                self._fault(f"'-' cannot be applied to {with_article(kind)}", node)
                return Kind.UNKNOWN
            case ast.Arithmetic():
                return self._arithmetic(node)
            case ast.Equivalence():
                self._equivalence(node)
            case ast.EventReference() | ast.Parameter():
                return Kind.UNKNOWN
            case ast.Comparison(operator, left, right):
                is_ordered = operator not in ("=", "!=")
                self._compared(node, self._operand(left), self._operand(right), is_ordered)
            case ast.In(operand, options):
                value = self._operand(operand)
                for option in options:
                    if option != ast.Literal(None):
                        self._compared(option, value, self._operand(option), is_ordered=False)
            case ast.Between(operand, low, high):
                value = self._operand(operand)
                for end in (low, high):
                    self._compared(end, value, self._operand(end), is_ordered=True)
            case ast.Like(operand, _):
                kind = self.kind(operand)
                if kind not in (Kind.STRING, Kind.UNKNOWN):
                    self._fault(f"LIKE needs a string, but this is {with_article(kind)}", operand)
            case ast.IsNull(operand):
                self.kind(operand)
            case ast.Not() | ast.And() | ast.Or():
                self.check_boolean(node)
        return Kind.BOOLEAN

    def _operand(self, node: ast.Expression) -> Operand:
        return node, self.kind(node)

    def _compared(
        self, node: ast.Expression, left: Operand, right: Operand, is_ordered: bool
    ) -> None:
        for expression, _ in (left, right):
            if expression == ast.Literal(None) and not getattr(expression, "is_meant", False):
                self._fault(
                    "a comparison with NULL is never true",
                    node,
                    "Write IS NULL or IS NOT NULL.",
                )
                return
        kinds = left[1], right[1]
        if not comparable(left, right):
            hint = comparison_hint(left, right) or comparison_hint(right, left)
            self._fault(
                f"{with_article(kinds[0])} cannot be compared with {with_article(kinds[1])}",
                node,
                hint,
            )
            return
        for (expression, _), other in ((left, kinds[1]), (right, kinds[0])):
            if isinstance(expression, ast.Literal) and other in TIMES:
                self._check_time_string(expression)
        for kind in dict.fromkeys(kinds) if is_ordered else ():
            if not (kind.is_number or kind in ORDERED):
                self._fault(f"{with_article(kind)} has no order", node, "Use = or !=.")

    def _check_time_string(self, literal: ast.Literal) -> None:
        if isinstance(literal.value, str):
            try:
                datetime.fromisoformat(literal.value)
            except ValueError:
                self._fault(
                    f"'{literal.value}' is not a point in time",
                    literal,
                    f"Write it like {TIME_STRING}.",
                )

    # --- values

    def _literal(self, node: ast.Literal) -> Kind:
        kind = literal_kind(node.value)
        if kind is None:
            self._fault(
                f"a value of type {type(node.value).__name__} cannot be used in a query",
                node,
                "Use numbers, strings, TRUE, FALSE or NULL; "
                f"a point in time is a string such as {TIME_STRING}.",
            )
        return kind or Kind.UNKNOWN

    def _attribute(self, variable: str, attribute: str, span: Span | None) -> Kind:
        schema = self._schema
        if variable == EVENT and schema is not None:
            return attribute_kind(attribute, schema)
        if isinstance(attribute, Computed):
            return self.kind(of_variable(attribute, variable))
        types = sorted(self._types.get(variable, ()))
        if schema is None or not types or not all(map(schema.has_type, types)):
            return Kind.UNKNOWN
        if any(schema.has_attribute(name, attribute) for name in types):
            return schema.kind(attribute)
        if attribute.upper() == "LEN":
            message = f"'{variable}' is a single event and has no length"
            self.faults.append(Fault(message, span))
            return Kind.INTEGER
        known = _attributes_of(types, schema)
        if schema.types is None:
            what, lead = f"the events have no attribute '{attribute}'", "They have"
        elif len(types) == 1:
            what, lead = f"{types[0]} has no attribute '{attribute}'", f"{types[0]} has"
        else:
            none = (
                f"neither {' nor '.join(types)}" if len(types) == 2 else f"none of {_listed(types)}"
            )
            what, lead = f"{none} has an attribute '{attribute}'", "Their attributes are"
        self._no_such(what, attribute, span, known, lead)
        return Kind.UNKNOWN

    def _equivalence(self, node: ast.Equivalence) -> None:
        schema = self._schema
        types = {name for types in self._types.values() for name in types}
        if schema is None or not all(map(schema.has_type, types)):
            return
        if not any(schema.has_attribute(name, node.attribute) for name in types):
            what = f"no event of the pattern has an attribute '{node.attribute}'"
            known = _attributes_of(types, schema)
            self._no_such(what, node.attribute, node.span, known, "The attributes are")
            return
        kind = schema.kind(node.attribute)
        if kind in (Kind.LIST, Kind.OTHER):
            self._fault(
                f"'{node.attribute}' is {with_article(kind)}, which cannot be compared",
                node,
                incomparable(kind) if kind is Kind.OTHER else None,
            )
        elif node.value is not None:
            value = self._operand(node.value)
            self._compared(node, (node, kind), value, is_ordered=False)

    def _aggregate(self, node: ast.Aggregate) -> Kind:
        if node.attribute is None:
            return Kind.INTEGER
        kind = self._attribute(node.variable, node.attribute, node.span)
        aggregate = AGGREGATES[node.function]
        refusal = aggregate.refusal(kind)
        if refusal is not None:
            self._fault(refusal, node)
            return Kind.UNKNOWN
        return aggregate.kind(kind)

    def _call(self, node: ast.Call) -> Kind:
        function = find_function(node.function)
        kinds = [self.kind(argument) for argument in node.arguments]
        if function is None:
            return Kind.UNKNOWN
        self._check_constant(function, node)
        for number, (kind, argument) in enumerate(zip(kinds, node.arguments, strict=True)):
            wanted = function.parameter(number)
            fits = wanted is Kind.FLOAT and kind.is_number
            fits = fits or (wanted is Kind.TIMESTAMP and kind in TIMES)
            if not fits and Kind.UNKNOWN not in (kind, wanted) and kind is not wanted:
                expected = "a number" if wanted is Kind.FLOAT else with_article(wanted)
                self._fault(
                    f"{function.name} takes {expected}, but this is {with_article(kind)}", argument
                )
        is_known = not {Kind.UNKNOWN, Kind.OTHER} & set(kinds) and function.takes(len(kinds))
        if function.compile is not None and is_known:
            try:
                return function.compile(tuple(kinds)).result
            except Uncallable as reason:
                given = list_words(list(map(with_article, kinds)))
                self._fault(f"{function.name} does not take {given}", node, f"{reason}.")
        if function.result is not None:
            return function.result
        for kind, argument in zip(kinds, node.arguments, strict=True):
            if function.name in EXTREMES and kind in (Kind.BOOLEAN, Kind.LIST, Kind.OTHER):
                ordered = "numbers, strings or times"
                self._fault(
                    f"{function.name} takes {ordered}, but this is {with_article(kind)}", argument
                )
        if Kind.UNKNOWN in kinds and function.name not in ("coalesce", "nullif"):
            return Kind.UNKNOWN
        return self._common(node, kinds, f"the arguments of {function.name}")

    def _part(self, node: ast.Field | ast.Item, kind: Kind) -> Kind:
        """The kind of a field of a struct, or of an element of a list, of this kind."""
        schema, path = self._schema, path_of(node)
        if schema is None or kind is Kind.UNKNOWN:
            return Kind.UNKNOWN
        if path in schema.nested:
            return schema.nested[path]
        whole = ".".join(path[:-1]).replace(f".{ELEMENT}", ELEMENT)
        fields = {
            each[-1] for each in schema.nested if each[:-1] == path[:-1] and each[-1] != ELEMENT
        }
        if isinstance(node, ast.Field) and fields:
            what = f"'{whole}' has no field '{node.name}'"
            self._no_such(what, node.name, last_word(node, node.name), fields, "It has")
        elif isinstance(node, ast.Item) and kind is Kind.LIST:
            pass  # A list without values.
        else:
            wanted = "a struct" if isinstance(node, ast.Field) else "a list"
            self._fault(f"'{whole}' is {with_article(kind)}, not {wanted}", node)
        return Kind.UNKNOWN

    def _check_constant(self, function: Function, node: ast.Call) -> None:
        """An argument that must be a literal is one, and makes sense."""
        place = function.constant
        if place is None or place >= len(node.arguments):
            return
        match node.arguments[place]:
            case ast.Literal(str(value)):
                wrong = function.check(value)
                if wrong is not None:
                    self._fault(f"'{value}' {wrong}", node.arguments[place])
            case argument:
                which = ("first", "second")[place]
                self._fault(
                    f"the {which} argument of {function.name} is a string in quotes", argument
                )

    def _common(self, node: ast.Node, kinds: Iterable[Kind], what: str) -> Kind:
        """The kind of a value that is one of several."""
        known = {*kinds} - {Kind.UNKNOWN}
        if all(kind.is_number for kind in known):
            return Kind.FLOAT if Kind.FLOAT in known else next(iter(known), Kind.UNKNOWN)
        if len(known) > 1:
            shown = list_words(sorted(map(with_article, known)))
            self._fault(f"{what} are of different kinds: {shown}", node)
            return Kind.UNKNOWN
        return known.pop()

    def _arithmetic(self, node: ast.Arithmetic) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        result = arithmetic_kind(node.operator, left, right)
        if result is None:
            known = [kind for kind in dict.fromkeys((left, right)) if kind is not Kind.UNKNOWN]
            self._fault(
                f"'{node.operator}' cannot be applied to {list_words([*map(with_article, known)])}",
                node,
                arithmetic_hint(node, {left, right}),
            )
        return result or Kind.UNKNOWN


def path_of(node: Any) -> tuple[str, ...]:
    """An attribute or column, and the steps to a part of its values, as in ``Schema.nested``."""
    match node:
        case ast.Field(operand, name):
            return (*path_of(operand), name)
        case ast.Item(operand, _):
            return (*path_of(operand), ELEMENT)
    return (node.attribute if hasattr(node, "attribute") else node.name.text,)


def _attributes_of(types: Iterable[str], schema: Schema) -> list[str]:
    """The attributes that at least one of the types has."""
    return [
        name
        for name in schema.attributes
        if any(schema.has_attribute(type_name, name) for type_name in types)
    ]


def _listed(names: list[str]) -> str:
    if len(names) <= _MOST_LISTED:
        return list_words(names)
    return list_words([*names[:_MOST_LISTED], f"{len(names) - _MOST_LISTED} more"])
