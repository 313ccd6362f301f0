"""Text to abstract syntax.

The grammar is in ``grammar.lark``. What it cannot say (a Kleene variable is written with
brackets, ``a[i-2]`` does not exist, two strategies) is checked while the tree is assembled,
and reported in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from cepheid.errors import DEFAULT_SOURCE, Fault, QuerySyntaxError, Span, closest
from cepheid.language.naming import ParameterValue
from cepheid.language.syntax import Query
from cepheid.language.units import CANONICAL_UNIT

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput

KEYWORDS = (
    "PATTERN", "EVENT", "FROM", "WHERE", "WITHIN", "RETURN", "SEQ", "AND", "OR", "NOT", "ANY",
    "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "AS", "EVENTS", "PER", "PARTITION",
)  # fmt: skip
STRATEGIES = (
    "strict_contiguity",
    "partition_contiguity",
    "skip_till_next_match",
    "skip_till_any_match",
)

NO_PARAMETERS: Mapping[str, ParameterValue] = MappingProxyType({})

MAX_DEPTH = 100
"""How deep brackets may nest: enough for any person, and far below Python's stack."""

_SHOWN = {
    "_PATTERN": "PATTERN", "_FROM": "FROM", "_WHERE": "WHERE", "_WITHIN": "WITHIN",
    "_RETURN": "RETURN", "_AS": "AS", "NAME": "a name", "INTEGER": "a number",
    "DECIMAL": "a number", "PERCENTAGE": "a number", "STRING": "a text in quotes",
    "COMPARISON": "a comparison", "STRATEGY": "a selection strategy", "UNIT": "a unit of time",
    "LIST_MARK": "'[]'", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'", "RBRACE": "'}'",
    "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "DOT": "'.'",
    "DOTS": "'..'", "$END": "the end of the query", "PLUS": "'+'", "STAR": "'*'",
    "MINUS": "'-'", "SLASH": "'/'", "PERCENT": "'%'", "TILDE": "'~'",
}  # fmt: skip
# Said by another word of the list, or not worth saying.
_UNSAID = {"BANG", "LOGICAL_NOT", "LOGICAL_AND", "LOGICAL_OR", "SEMICOLON"}
_OPERAND_START = {"NAME", "INTEGER", "STRING", "LPAR"}
_OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}


def parse(
    text: str,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
) -> Query:
    """The query that the text is; ``parameters`` are the values of bare names in it.

    >>> parse("PATTERN SEQ(A a, B b) WITHIN 10").window.extent
    Fraction(10, 1)
    >>> parse("PATTERN SEQ(A a, B b) WHERE a.x > T", parameters={"T": 5}).condition.right
    Literal(value=5)
    """
    queries = parse_script(text, source, parameters)
    if len(queries) > 1:
        span = queries[1].span
        fault = Fault(
            "this is a script of several queries",
            span,
            hint="One query is expected here; a script is run with cep.script().",
        )
        raise QuerySyntaxError([fault], text, source)
    return queries[0]


def parse_script(
    text: str,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
) -> tuple[Query, ...]:
    """The queries of a text, which are separated by semicolons.

    >>> len(parse_script("EVENT A; EVENT B;"))
    2
    """
    from lark.exceptions import UnexpectedInput

    from cepheid.language.assembly import assemble

    _check_depth(text, source)
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise QuerySyntaxError([_explain(error, text)], text, source) from None
    faults: list[Fault] = []
    queries = assemble(tree, parameters, faults)
    if faults:
        faults.sort(key=lambda fault: fault.span.start if fault.span else 0)
        raise QuerySyntaxError(faults, text, source)
    return queries


@cache
def _grammar() -> Lark:
    from lark import Lark

    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        start="script",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _check_depth(text: str, source: str) -> None:
    """Refuse what would exhaust the stack of the passes that follow, which recurse."""
    depth = 0
    run = 0
    for place in re.finditer(r"[({\[]|[)}\]]|[-+!¬]|\bnot\b|[^\s]", text, re.IGNORECASE):
        token = place.group()
        depth += token in "({["
        depth -= token in ")}]"
        run = run + 1 if token in "-+!¬" or token.lower() == "not" else 0
        if depth > MAX_DEPTH or run > MAX_DEPTH:
            fault = Fault(
                f"nested deeper than {MAX_DEPTH} levels",
                Span(place.start(), place.end()),
                hint="Split the condition into several.",
            )
            raise QuerySyntaxError([fault], text, source)


def _explain(error: UnexpectedInput, text: str) -> Fault:
    """A Lark error as a fault: what was found, what was expected, what was probably meant."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if isinstance(error, UnexpectedToken):
        token: Token = error.token
        expected = set(error.accepts or error.expected)
        if token.type == "$END":
            end = len(text.rstrip())
            return Fault(
                "the query ends too early", Span(end, end + 1), "", _expected_words(expected)
            )
        span = Span(token.start_pos or 0, token.end_pos or 0)
        return _unexpected(str(token), span, expected, text)
    offset = error.pos_in_stream or 0
    expected = set(error.allowed) if isinstance(error, UnexpectedCharacters) else set()
    found = text[offset : offset + 1]
    span = Span(offset, offset + 1)
    if found in "'\"‘“`":
        return Fault(f"the quote {found} is not closed", span, found)
    if text.startswith("/*", offset):
        return Fault("the comment is not closed", span, "/*", hint="A comment ends with */.")
    return _unexpected(found, span, expected, text)


def _unexpected(found: str, span: Span, expected: set[str], text: str) -> Fault:
    candidates = _meant(found, span, expected, text)
    words = () if candidates else _expected_words(expected)
    return Fault(f"unexpected '{found}'", span, found, words, candidates, _hint(found, expected))


def _hint(found: str, expected: set[str]) -> str | None:
    if found in ("<", ">", "=", "==", "<=", ">=", "!=") and "AND" in expected:
        return "Comparisons are not chained: join two with AND."
    return None


def _meant(found: str, span: Span, expected: set[str], text: str) -> tuple[str, ...]:
    """The keyword that this word, or the one before it, is probably a slip for."""
    allowed = {_SHOWN.get(name, name) for name in expected}
    keywords = [word for word in KEYWORDS if word in allowed]
    if "STRATEGY" in expected:
        keywords += STRATEGIES
    if "UNIT" in expected:
        keywords += CANONICAL_UNIT
    near = closest(found, keywords) if len(found) > 1 else ()
    if near:
        return near
    before = re.search(r"(\w+)\s*(\([^()]*\))?\s*$", text[: span.start])
    if before is None or len(before[1]) < 3:
        return ()
    known = (*STRATEGIES, "SEQ", "AND", "OR", "ANY", "NOT", "WITHIN", "WHERE", "RETURN", "PATTERN")
    word = before[1]
    return () if word.upper() in KEYWORDS or word in STRATEGIES else closest(word, known)


def _expected_words(expected: set[str]) -> tuple[str, ...]:
    """What was expected, in words: operands and operators are said once, not one by one."""
    rest = set(expected) - _UNSAID
    words = []
    if rest >= _OPERAND_START:
        words.append("an expression")
        rest -= {*_OPERAND_START, "DECIMAL", "PERCENTAGE", "TRUE", "FALSE", "NULL"}
        rest -= {"LSQB", "MINUS", "PLUS", "NOT", "STRATEGY"}
    if rest >= _OPERATORS:
        words.append("an operator")
        rest -= {*_OPERATORS, "COMPARISON", "IN", "BETWEEN", "LIKE", "IS", "NOT"}
    if {"SEQ", "NAME"} <= rest:
        words.append("a pattern")
        rest -= {"SEQ", "AND", "OR", "ANY", "NOT", "NAME", "TILDE"}
    shown = sorted(
        {_SHOWN.get(name, name) for name in rest}, key=lambda word: (word[0] == "'", word)
    )
    return (*words, *shown)
