"""Which kinds can be compared and computed with each other, and hints for those that cannot."""

from __future__ import annotations

from cepheid.language import syntax as ast
from cepheid.schema import Kind

TIMES = (Kind.TIMESTAMP, Kind.DATE)

TIME_STRING = "'2024-05-01 09:30:00'"

_WITHOUT_ARITHMETIC = {Kind.STRING, Kind.BOOLEAN, Kind.LIST, Kind.OTHER}
_TIME_ARITHMETIC = {
    "time - time": Kind.DURATION,
    "time + duration": Kind.TIMESTAMP,
    "time - duration": Kind.TIMESTAMP,
    "duration + time": Kind.TIMESTAMP,
    "duration + duration": Kind.DURATION,
    "duration - duration": Kind.DURATION,
    "duration * number": Kind.DURATION,
    "duration / number": Kind.DURATION,
    "number * duration": Kind.DURATION,
}

Operand = tuple[ast.Expression, Kind]
"""An expression and its kind."""


def literal_kind(value: object) -> Kind | None:
    """The kind of a literal, or None for a value that cannot be a literal."""
    kinds: tuple[tuple[type, Kind], ...] = (
        (bool, Kind.BOOLEAN),
        (int, Kind.INTEGER),
        (float, Kind.FLOAT),
        (str, Kind.STRING),
        (type(None), Kind.UNKNOWN),
    )
    return next((kind for python, kind in kinds if isinstance(value, python)), None)


def comparable(left: Operand, right: Operand) -> bool:
    """Whether two operands can be compared; an unknown kind may turn out to be comparable."""
    kinds = left[1], right[1]
    if Kind.UNKNOWN in kinds or all(kind.is_number for kind in kinds):
        return True
    if all(kind in TIMES for kind in kinds):
        return True
    for (expression, kind), other in ((left, right[1]), (right, left[1])):
        # Only a string in the query can be checked to be a time; an attribute could be anything.
        if kind is Kind.STRING and other in TIMES:
            return isinstance(expression, ast.Literal)
    return kinds[0] is kinds[1] and kinds[0] not in (Kind.OTHER, Kind.LIST)


def comparison_hint(side: Operand, other: Operand) -> str | None:
    """How to write ``side`` so that it can be compared with ``other``, if it is clear."""
    expression, kind = side
    value = expression.value if isinstance(expression, ast.Literal) else None
    match other[1]:
        case Kind.TIMESTAMP | Kind.DATE if kind is Kind.DURATION:
            return "Compare a duration with the difference of two points in time."
        case Kind.TIMESTAMP | Kind.DATE:
            return f"Compare a point in time with another, or with a string such as {TIME_STRING}."
        case Kind.DURATION if kind.is_number and value is not None:
            return f"Give the number a unit, such as {value} seconds."
        case Kind.DURATION if kind.is_number:
            return "A duration is the difference of two times: compare a number with a number."
        case Kind.DURATION if kind is Kind.STRING:
            return "Write a duration without quotes, such as 10 minutes."
        case Kind.INTEGER | Kind.FLOAT if isinstance(value, str) and _is_number(value):
            return f"Write a number without quotes: {value}."
        case Kind.STRING if kind.is_number and value is not None:
            return f"Write a string in quotes: '{value}'."
        case Kind.BOOLEAN if value is not None:
            return "Write TRUE or FALSE."
        case Kind.LIST | Kind.OTHER:
            return incomparable(other[1])
    return None


def incomparable(kind: Kind) -> str:
    """A hint for kinds that have no comparison."""
    if kind is Kind.LIST:
        return "A list cannot be compared."
    return "Convert bytes, UUIDs, times of day and structs to strings or numbers before matching."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def arithmetic_kind(operator: str, left: Kind, right: Kind) -> Kind | None:
    """The kind of ``left operator right``, or None if there is no such operation."""
    if left.is_number and right.is_number:
        return Kind.FLOAT if operator == "/" or Kind.FLOAT in (left, right) else Kind.INTEGER
    if Kind.UNKNOWN in (left, right):
        return None if {left, right} & _WITHOUT_ARITHMETIC else Kind.UNKNOWN
    sides = [
        "time" if kind in TIMES else "number" if kind.is_number else kind.value
        for kind in (left, right)
    ]
    return _TIME_ARITHMETIC.get(f"{sides[0]} {operator} {sides[1]}")


def arithmetic_hint(node: ast.Arithmetic, kinds: set[Kind]) -> str | None:
    """How to rewrite an operation that does not exist, if it is clear."""
    if kinds & _WITHOUT_ARITHMETIC:
        return "Arithmetic needs numbers, points in time or durations."
    if node.operator in "+-" and kinds & {Kind.INTEGER, Kind.FLOAT}:
        number = node.right.value if isinstance(node.right, ast.Literal) else 10
        return f"Give the number a unit, such as {number} seconds."
    return None
