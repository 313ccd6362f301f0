"""SQL's forms of what the language has under another name: CAST, EXTRACT, IS TRUE, NVL.

Each becomes a tree of the language's own operators and functions, which also check the kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cepheid.errors import Fault, Span, closest, list_words
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows

ALIASES = {
    "CEILING": "ceil",
    "CHAR_LENGTH": "length",
    "CHARACTER_LENGTH": "length",
    "IFNULL": "coalesce",
    "LCASE": "lower",
    "LEN": "length",
    "NVL": "coalesce",
    "POW": "power",
    "SUBSTR": "substring",
    "UCASE": "upper",
}
"""Names that databases have for functions of the language."""
INSTEAD = {
    "FIRST_VALUE": "FIRST",
    "LAG": "PREV",
    "LAST_VALUE": "LAST",
    "LEAD": "NEXT",
    "MATCH_SEQUENCE_NUMBER": "count(*)",
}
"""What to write instead of functions that mean something else elsewhere."""
PARTS = ("MINUTE", "HOUR", "DAY", "MONTH", "YEAR")
"""The parts that EXTRACT knows."""
_STRINGS = ("VARCHAR", "VARCHAR2", "CHAR", "CHARACTER", "STRING", "TEXT")
_FLOATS = ("DOUBLE", "FLOAT", "REAL")
_DECIMALS = ("DECIMAL", "NUMERIC", "NUMBER")
_INTEGERS = ("INTEGER", "INT", "BIGINT", "SMALLINT", "TINYINT")
_TIMES = ("TIMESTAMP", "DATETIME", "DATE")
_FIELDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
TYPES = (*_STRINGS, *_FLOATS, *_DECIMALS, *_TIMES)
"""The types that CAST knows."""


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type after CAST: its first word in upper case, and its numbers."""

    word: str
    numbers: tuple[int, ...]
    span: Span


def cast(value: Any, to: TypeName, span: Span) -> Any:
    """The value as another type, or the fault of a type that is not known.

    A cast to strings takes strings, and one to numbers takes numbers.
    """
    if to.word in _STRINGS:
        if to.numbers:
            length = (ast.Literal(1), ast.Literal(to.numbers[0]))
            return ast.Call("substring", (value, *length), span=span)
        return ast.Call("concat", (value, ast.Literal("")), span=span)
    if to.word in _FLOATS:
        return ast.Arithmetic("*", value, ast.Literal(1.0), span=span)
    if to.word in _DECIMALS:
        digits = to.numbers[1] if len(to.numbers) > 1 else 0
        return ast.Call("round", (value, ast.Literal(digits)), span=span)
    if to.word == "DATE" and not isinstance(value, ast.Literal):
        return ast.Call("date_trunc", (ast.Literal("day"), value), span=span)
    if to.word in _TIMES:
        return value
    if to.word in _INTEGERS:
        message = f"some systems round in a cast to {to.word}, and others truncate"
        return Fault(message, to.span, hint="Write round(x), floor(x) or ceil(x).")
    near = closest(to.word, TYPES)
    hint = None if near else f"The types are {list_words(TYPES)}."
    return Fault(f"there is no type '{to.word}'", to.span, to.word, (), near, hint)


def extracted(part: rows.Name, value: Any, span: Span) -> Any:
    """A part of a time, or the fault of a part that is not known."""
    if part.key in PARTS:
        return ast.Call(part.key.lower(), (value,), span=span)
    near = closest(part.key, PARTS)
    hint = None if near else f"The parts are {list_words(PARTS)}."
    return Fault(f"EXTRACT has no part '{part.text}'", part.span, part.text, (), near, hint)


def is_truth(operand: Any, *, wanted: bool, is_negated: bool, span: Span) -> Any:
    """``x IS [NOT] TRUE|FALSE``, which is never unknown."""
    found = ast.Call("coalesce", (operand, ast.Literal(not wanted)), span=span)
    return found if wanted is not is_negated else ast.Not(found, span=span)


def is_distinct(left: Any, right: Any, *, is_negated: bool, span: Span) -> Any:
    """``x IS [NOT] DISTINCT FROM y``: a comparison in which null equals null."""
    if right == ast.Literal(None):
        null = ast.IsNull(left, span=span)
        return null if is_negated else ast.Not(null, span=span)
    nulls = ast.And((ast.IsNull(left, span=span), ast.IsNull(right, span=span)), span=span)
    equal = ast.Comparison("=", left, right, span=span)
    found = ast.Call("coalesce", (equal, nulls), span=span)
    return found if is_negated else ast.Not(found, span=span)


def seconds_between(text: str, first: str, last: str) -> Fraction | None:
    """The seconds of an interval with several fields; None if it is not one.

    >>> seconds_between("1 02:03", "DAY", "MINUTE"), seconds_between("1:30.5", "MINUTE", "SECOND")
    (Fraction(93780, 1), Fraction(181, 2))
    >>> seconds_between("90", "HOUR", "MINUTE") is None
    True
    """
    names = list(_FIELDS)
    if first not in names or last not in names or names.index(first) >= names.index(last):
        return None
    sizes = [_FIELDS[name] for name in names[names.index(first) : names.index(last) + 1]]
    number = r"(\d{1,9})"
    ends = [number if first != "DAY" else number + " +", *[number] * (len(sizes) - 1)]
    fraction = r"(\.\d{0,9})?" if last == "SECOND" else "()"
    pattern = ends[0] + ("" if first == "DAY" else ":") + ":".join(ends[1:]) + fraction
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        return None
    *parts, rest = found.groups()
    whole = sum(int(part) * size for part, size in zip(parts, sizes, strict=True))
    return whole + Fraction(f"0{rest}0" if rest else 0)
