"""What can be compared and computed with what, and how else to write it."""

from __future__ import annotations

from cepheid.language import syntax as ast
from cepheid.schema import Kind

TIMES = (Kind.TIMESTAMP, Kind.DATE)

TIME_STRING = "'2024-05-01 09:30:00'"

Operand = tuple[ast.Expression, Kind]
"""An expression and its kind."""


def literal_kind(value: object) -> Kind | None:
    """The kind of a value that a query holds, or None where it cannot hold such a value."""
    kinds: tuple[tuple[type, Kind], ...] = (
        (bool, Kind.BOOLEAN),
        (int, Kind.INTEGER),
        (float, Kind.FLOAT),
        (str, Kind.STRING),
        (type(None), Kind.UNKNOWN),
    )
    return next((kind for python, kind in kinds if isinstance(value, python)), None)


def comparable(left: Operand, right: Operand) -> bool:
    """Whether = has an answer; what is not known yet may turn out to be comparable."""
    kinds = left[1], right[1]
    if Kind.UNKNOWN in kinds or all(kind.is_number for kind in kinds):
        return True
    if all(kind in TIMES for kind in kinds):
        return True
    for (expression, kind), other in ((left, right[1]), (right, left[1])):
        # A text that is an attribute could be anything; one in the query can be checked now.
        if kind is Kind.STRING and other in TIMES:
            return isinstance(expression, ast.Literal)
    return kinds[0] is kinds[1] and kinds[0] not in (Kind.OTHER, Kind.LIST)


def comparison_hint(side: Operand, other: Operand) -> str | None:
    """How to write ``side`` so that it can be compared with ``other``, where that is clear."""
    expression, kind = side
    value = expression.value if isinstance(expression, ast.Literal) else None
    match other[1]:
        case Kind.TIMESTAMP | Kind.DATE if kind is Kind.DURATION:
            return "A duration is compared with the difference of two points in time."
        case Kind.TIMESTAMP | Kind.DATE:
            return (
                f"A point in time is compared with another, or with a text such as {TIME_STRING}."
            )
        case Kind.DURATION if kind.is_number and value is not None:
            return f"Give the number a unit, such as {value} seconds."
        case Kind.DURATION if kind.is_number:
            return "A duration goes with points in time: compare a number with a number."
        case Kind.DURATION if kind is Kind.STRING:
            return "A duration is written without quotes, such as 10 minutes."
        case Kind.INTEGER | Kind.FLOAT if isinstance(value, str) and _is_number(value):
            return f"A number is written without quotes: {value}."
        case Kind.STRING if kind.is_number and value is not None:
            return f"A text is written in quotes: '{value}'."
        case Kind.BOOLEAN if value is not None:
            return "Write TRUE or FALSE."
        case Kind.LIST | Kind.OTHER:
            return incomparable(other[1])
    return None


def incomparable(kind: Kind) -> str:
    """What to do with values that no comparison is for."""
    if kind is Kind.LIST:
        return "A list cannot be compared."
    return "Bytes, UUIDs, times of day and structs are not compared: make texts or numbers of them."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def arithmetic_kind(operator: str, left: Kind, right: Kind) -> Kind | None:
    """The kind of ``left operator right``, or None where there is no such operation."""
    if left.is_number and right.is_number:
        return Kind.FLOAT if operator == "/" or Kind.FLOAT in (left, right) else Kind.INTEGER
    time_left, time_right = left in TIMES, right in TIMES
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


def arithmetic_hint(node: ast.Arithmetic, kinds: set[Kind]) -> str | None:
    """How to write an operation that there is not, where that is clear."""
    if kinds & {Kind.STRING, Kind.BOOLEAN, Kind.LIST, Kind.OTHER}:
        return "Arithmetic is for numbers, points in time and durations."
    if node.operator in "+-" and kinds & {Kind.INTEGER, Kind.FLOAT}:
        number = node.right.value if isinstance(node.right, ast.Literal) else 10
        return f"Give the number a unit, such as {number} seconds."
    return None
