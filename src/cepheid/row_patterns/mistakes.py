"""Explains syntax errors in ``MATCH_RECOGNIZE`` to its author."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cepheid.errors import Fault, closest
from cepheid.language.places import (
    Place,
    bracket_not_closed,
    comment_not_closed,
    fault_at,
    quote_not_closed,
    short,
    unexpected,
)

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

# The names of terminals, in the order in which a message lists them.
_SHOWN = {
    "NAME": "a name", "INTEGER": "a number", "STRING": "a string in quotes",
    "COMPARISON": "a comparison", "QUESTION": "'?'", "PLUS": "'+'", "MINUS": "'-'", "STAR": "'*'",
    "DOT": "'.'", "LPAR": "'('", "LBRACE": "'{'", "VBAR": "'|'", "EQUAL": "'='", "COMMA": "','",
    "RPAR": "')'", "RBRACE": "'}'", "__ANON_1": "'-}'", "PERMUTE": "PERMUTE", "NOT": "NOT",
    "NULL": "NULL", "AND": "AND", "OR": "OR", "_WHEN": "WHEN", "_THEN": "THEN", "_ELSE": "ELSE",
    "_END": "END", "_AS": "AS", "_SELECT": "SELECT", "_FROM": "FROM",
    "_MATCH_RECOGNIZE": "MATCH_RECOGNIZE", "_PARTITION_BY": "PARTITION BY",
    "_ORDER_BY": "ORDER BY", "ASC": "ASC", "DESC": "DESC", "NULLS_FIRST": "NULLS FIRST",
    "NULLS_LAST": "NULLS LAST", "_MEASURES": "MEASURES", "ONE_ROW": "ONE ROW PER MATCH",
    "ALL_ROWS": "ALL ROWS PER MATCH", "SHOW_EMPTY": "SHOW EMPTY MATCHES",
    "OMIT_EMPTY": "OMIT EMPTY MATCHES", "WITH_UNMATCHED": "WITH UNMATCHED ROWS",
    "_AFTER_MATCH_SKIP": "AFTER MATCH SKIP", "PAST_LAST_ROW": "PAST LAST ROW",
    "TO_NEXT_ROW": "TO NEXT ROW", "_TO": "TO", "FIRST": "FIRST", "LAST": "LAST",
    "_PATTERN": "PATTERN", "_WITHIN": "WITHIN", "_INTERVAL": "INTERVAL", "_SUBSET": "SUBSET",
    "_DEFINE": "DEFINE", "$END": "the end of the query",
}  # fmt: skip
KEYWORDS = frozenset(
    word for shown in _SHOWN.values() if shown.isupper() for word in re.split(r"[ _]", shown)
) | {"RUNNING", "FINAL", "IN", "BETWEEN", "LIKE", "IS", "TRUE", "FALSE", "DISTINCT", "CASE"}
"""The words that may need quotes as names."""

_EXPRESSION = {"NAME", "INTEGER", "STRING", "LPAR", "MINUS", "PLUS", "NOT", "NULL", "_INTERVAL"}
_OPERATOR = {"PLUS", "MINUS", "STAR", "COMPARISON", "NOT", "DOT", "LPAR"}
_CLAUSES = (
    "PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "WITHIN", "SUBSET",
    "DEFINE",
)  # fmt: skip
_SQL = "cep.sql() runs whole statements (cepheid sql)."
_ORDER = (
    "The order is PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH "
    "SKIP, PATTERN, WITHIN, SUBSET, DEFINE, each at most once."
)


def explain(error: UnexpectedInput, text: str) -> Fault:
    """A Lark error as a fault: what was found, expected and probably meant."""
    return fault_at(error, text, _MISTAKES, _unexpected)


def _bracket_not_closed(place: Place) -> Fault | None:
    opened = place.open_bracket()
    if place.found and opened and _before(place, opened[1].start).endswith("MATCH_RECOGNIZE"):
        return None  # a clause in the wrong place
    return bracket_not_closed(place, _CLAUSES)


def _misspelt_keyword(place: Place) -> Fault | None:
    words = {_first_word(_SHOWN[name]): _SHOWN[name] for name in place.accepts if name in _SHOWN}
    near = closest(place.found, words) if len(place.found) > 1 else ()
    if not near or _first_word(place.found) in _CLAUSES:
        return None
    message = f"unexpected '{short(place.found)}'"
    return Fault(message, place.span, place.found, candidates=(words[near[0]],))


_MISTAKES = (quote_not_closed, comment_not_closed, _bracket_not_closed, _misspelt_keyword)


def _unexpected(place: Place) -> Fault:
    rule = _rule_broken(place)
    return unexpected(place, () if rule else _expected_words(place.accepts), rule)


def _rule_broken(place: Place) -> str | None:
    """The rule that the text breaks here, if it is clear."""
    word, accepts = _first_word(place.found), place.accepts
    before, opened = _before(place, place.span.start), place.open_bracket()
    rule = None
    in_select = "_FROM" in accepts or before.endswith("FROM") or "_MATCH_RECOGNIZE" in accepts
    if re.search(r"\(\s*SELECT\Z", before):
        rule = "A subquery cannot be in the clause: join its result to the input or to the matches."
    elif {"STAR"} == accepts or (in_select and (word == "WITH" or before)):
        rule = f"A statement here is SELECT * FROM name MATCH_RECOGNIZE ( … ), and no more. {_SQL}"
    elif "$END" in accepts:
        rule = f"Nothing but a name can follow the clause. {_SQL}"
    elif word in _CLAUSES and accepts & {"_DEFINE", "_SUBSET", "_PATTERN", "RPAR"}:
        rule = _ORDER
    elif word in ("INITIAL", "SEEK") and "_PATTERN" in accepts:
        rule = f"{word} belongs to windows, and there are none here: leave it out."
    elif "_AS" in accepts and (place.found == "," or word in _CLAUSES or place.found == ")"):
        rule = "Every measure needs a name: write it AS name."
    elif place.found in ("*", "+", "?", "{") and re.search(r"[*+?}]\Z", before):
        rule = "One quantifier follows another: put the first part in brackets, such as (A*)+."
    elif place.found == "," and opened and _before(place, opened[1].start).endswith("PATTERN"):
        rule = "Variables follow each other without commas: PATTERN (A B+ C)."
    elif place.found == "=" and before.endswith(("=", "!", "<", ">")):
        rule = "Compare with =, <>, !=, <, <=, > or >=."
    return rule


def _before(place: Place, end: int) -> str:
    return place.text[:end].rstrip().upper()


def _first_word(text: str) -> str:
    return text.split(" ")[0].upper()


def _expected_words(accepts: frozenset[str]) -> tuple[str, ...]:
    """What was expected, in words; operands and operators have one word each."""
    rest, words = set(accepts), []
    if {"NAME", "INTEGER", "STRING"} <= rest:
        words.append("an expression")
        rest -= _EXPRESSION
    if {"SLASH", "PERCENT"} <= rest:
        words.append("an operator")
        rest -= _OPERATOR
    return (*words, *(shown for name, shown in _SHOWN.items() if name in rest))
