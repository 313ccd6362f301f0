"""Explains syntax errors to the author of a query.

Lark reports the token that it found and the terminals that it would have accepted. From these and
the text around them, each function of ``_MISTAKES`` recognises one common mistake. Anything else is
reported with the list of expected terminals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cepheid.errors import Fault, Span, closest
from cepheid.language.parser import KEYWORDS, OUTPUT_MODES, STRATEGIES
from cepheid.language.places import (
    NEAR,
    TERMINAL,
    Place,
    bracket_not_closed,
    comment_not_closed,
    fault_at,
    quote_not_closed,
    short,
    unexpected,
)
from cepheid.language.units import CANONICAL_UNIT

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

# The names of terminals, in the order in which a message lists them.
_SHOWN = {
    "NAME": "a name", "INTEGER": "a number", "STRING": "a string in quotes",
    "COMPARISON": "a comparison", "STRATEGY": "a selection strategy", "UNIT": "a unit of time",
    "EVENTS": "EVENTS", "PER": "PER", "PARTITION": "PARTITION", "DOTS": "'..'", "PLUS": "'+'",
    "MINUS": "'-'", "STAR": "'*'", "TILDE": "'~'", "DOT": "'.'", "LPAR": "'('", "LSQB": "'['",
    "LBRACE": "'{'", "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'",
    "SEQ": "SEQ", "ANY": "ANY", "NOT": "NOT", "NULL": "NULL", "_AS": "AS", "AND": "AND",
    "WHEN": "WHEN", "THEN": "THEN", "ELSE": "ELSE", "END": "END",
    "OR": "OR", "_FROM": "FROM", "_PATTERN": "PATTERN", "_WHERE": "WHERE", "_WITHIN": "WITHIN",
    "_WITH_CONFIDENCE": "WITH CONFIDENCE",
    "_RETURN": "RETURN", "_OUTPUT": "OUTPUT", "OUTPUT_MODE": "an output mode",
    "_AT_MOST_ONCE_PER": "AT MOST ONCE PER", "WITH_TIMED_OUT": "WITH TIMED OUT",
    "$END": "the end of the query",
}  # fmt: skip

# Terminals with a common name in messages, if all of the first set are accepted.
_NAMED_TOGETHER = (
    ("a pattern", {"SEQ", "NAME"}, {"SEQ", "AND", "OR", "ANY", "NOT", "NAME", "TILDE", "LPAR"}),
    ("an expression", {"NAME", "INTEGER", "STRING", "LPAR"},
     {"NAME", "INTEGER", "STRING", "LPAR", "LSQB", "MINUS", "PLUS", "NOT", "NULL", "STRATEGY"}),
    ("an operator", {"SLASH", "PERCENT"},
     {"PLUS", "MINUS", "STAR", "COMPARISON", "NOT", "DOT", "LPAR", "LSQB", "LIST_MARK"}),
    ("a variable", {"NAME", "PLUS", "LBRACE"}, {"NAME", "PLUS", "STAR", "LBRACE", "MINUS"}),
)  # fmt: skip

_PATTERN_OPERATORS = ("SEQ", "AND", "OR", "ANY", "NOT")
_CLAUSES = ("FROM", "PATTERN", "EVENT", "WHERE", "WITHIN", "RETURN", "OUTPUT")
COMPARISONS = ("=", "==", "!=", "<>", "≠", "<", "<=", "≤", ">", ">=", "≥")
_FILE_NAME = re.compile(r"[^\s()]+\.[a-z]+")
_FIELDS = re.compile(r"\s*(\+\+\+|---)[^\S\n]*\n\s*\w+\s*[=:]")
_MISTYPED = {"=>": ">=", "=<": "<=", "=!": "!=", "&": "AND", "|": "OR"}
_LONGEST_INTERVAL = 40
_AFTER_WINDOW = {"_WITH_CONFIDENCE", "_RETURN", "_OUTPUT", "$END", "SEMICOLON", "DOT"}


def explain(error: UnexpectedInput, text: str) -> Fault:
    """A Lark error as a fault: what was found, expected and probably meant."""
    return fault_at(error, text, _MISTAKES, _unexpected)


def _fields_of_a_rule(place: Place) -> Fault | None:
    if not _FIELDS.match(place.text):
        return None
    hint = "For the rules of a folder: cepheid rules check or match FOLDER, cep.rules(FOLDER)."
    return Fault("this is a rule: it has fields before its query", place.span, hint=hint)


def _no_query(place: Place) -> Fault | None:
    if place.found or not {"_FROM", "_PATTERN"} <= place.accepts or ";" in place.text:
        return None
    return Fault("there is no query here", place.span, hint="A query begins with PATTERN.")


def _keyword_as_variable(place: Place) -> Fault | None:
    """``SEQ(A within, B b)``: the word after a type is a keyword."""
    word = place.found
    after = place.text[place.span.end : place.span.end + NEAR]
    in_pattern = place.accepts <= {"COMMA", "RPAR"}
    is_variable = in_pattern and re.match(r"\s*(\[\s*\]\s*)?[,)]", after)
    if not is_variable or word.upper() not in KEYWORDS:
        return None
    hint = f"Choose another name for the variable, or put it in backticks: `{word}`."
    return Fault(f"'{word}' is a keyword", place.span, word, hint=hint)


def _bracket_not_closed(place: Place) -> Fault | None:
    return bracket_not_closed(place, _CLAUSES)


def _bracket_not_opened(place: Place) -> Fault | None:
    if place.found not in TERMINAL or "$END" not in place.accepts or place.open_bracket():
        return None
    return Fault(f"'{place.found}' has no opening bracket", place.span, place.found)


def _mistyped_sign(place: Place) -> Fault | None:
    for typed in (place.text[max(0, place.span.start - 1) : place.span.end], place.found):
        if typed in _MISTYPED:
            span = Span(place.span.end - len(typed), place.span.end)
            word, message = _MISTYPED[typed], f"unexpected '{typed}'"
            if word in _PATTERN_OPERATORS and "AND" not in place.accepts:
                return Fault(message, span, typed, hint=_prefix_rule(word))
            return Fault(message, span, typed, candidates=(word,))
    return None


def _misspelt_keyword(place: Place) -> Fault | None:
    near = closest(place.found, _accepted_words(place.accepts)) if len(place.found) > 1 else ()
    if not near or place.found.upper() in KEYWORDS:
        return None
    return Fault(f"unexpected '{short(place.found)}'", place.span, place.found, candidates=near)


def _misspelt_before(place: Place) -> Fault | None:
    """``skip_til_next_match {``, ``SEQUENCE(``, ``nott a.x``: a word was parsed as a name."""
    before = place.word_before()
    if before is None or before[0].upper() in KEYWORDS:
        return None
    word, span = before
    if place.found == "{" and "LBRACE" not in place.accepts:
        return _not_one_of(STRATEGIES, "a selection strategy", word, span)
    if place.found == "(" and "LBRACE" in place.accepts:
        return _not_one_of(_PATTERN_OPERATORS, "a pattern operator", word, span)
    if len(word) < 3 or word in STRATEGIES or not re.match(r"\w", place.found):
        return None
    near = closest(word, [*_PATTERN_OPERATORS, *_CLAUSES, *STRATEGIES])
    message = f"unexpected '{short(place.found)}' after '{word}'"
    return Fault(message, place.span, place.found, candidates=near) if near else None


def _not_one_of(known: tuple[str, ...], kind: str, word: str, span: Span) -> Fault:
    near = closest(word, known)
    return Fault(f"'{word}' is not {kind}", span, word, () if near else known, near)


_MISTAKES = (
    _fields_of_a_rule,
    _no_query,
    quote_not_closed,
    comment_not_closed,
    _keyword_as_variable,
    _bracket_not_closed,
    _bracket_not_opened,
    _mistyped_sign,
    _misspelt_keyword,
    _misspelt_before,
)


# --- Everything else ----------------------------------------------------------------------


def _unexpected(place: Place) -> Fault:
    rule = _sql_rule_broken(place) or _rule_broken(place) or _sign_rule_broken(place)
    expected = () if rule else _expected_words(place.accepts)
    return unexpected(place, expected, rule or _guess(place))


def _rule_broken(place: Place) -> str | None:
    """The rule that the text breaks here, if it is clear; nothing else is reported then."""
    found, accepts = place.found, place.accepts
    before = place.word_before()
    if found.upper() in ("PATTERN", "EVENT") and "$END" in accepts:
        return "A query has one PATTERN. Separate the queries of a script with ';'."
    if found.upper() in _CLAUSES and "$END" in accepts and f"_{found.upper()}" not in accepts:
        return (
            "The order is FROM, PATTERN, WHERE, WITHIN, WITH CONFIDENCE, RETURN, OUTPUT, each at "
            "most once."
        )
    if found.upper() == "WITHOUT" and "_WITHOUT" in accepts:
        return "Write the excluded component in brackets: WITHOUT (B b)."
    if found.upper() in ("AND", "OR") and "_WHERE" in accepts:
        return _prefix_rule(found.upper())
    is_component = re.fullmatch(r"[+*{]|[^\W\d]\w*", found) and found.upper() not in KEYWORDS
    if "_WHERE" in accepts and is_component and place.text[: place.span.start].count("(") == 0:
        return "Combine components with SEQ, each with a variable: SEQ(A a, B+ b[], C c)."
    if found == "," and "_WHERE" in accepts:
        return "Combine components with SEQ(…), AND(…) or OR(…): SEQ(A a, B b)."
    if "_PATTERN" in accepts and _FILE_NAME.fullmatch(place.text.strip()):
        return (
            "This looks like a file name: read a file with read_query(), or on the command line "
            "without -q."
        )
    unit = found.lower().removesuffix("s")
    if "UNIT" in accepts and unit in ("month", "quarter", "year"):
        return f"A {unit} has no fixed length: write it in days or weeks."
    if "UNIT" in accepts and unit == "m":
        return "Minutes are written min or minutes."
    if found in COMPARISONS and "AND" in accepts and "SEQ" not in accepts:
        return "Comparisons cannot be chained: join two with AND."
    if found == "," and "_WITHIN" in accepts and "_WHERE" not in accepts:
        return "Join conditions with AND."
    if found == "{" and "STRATEGY" in accepts:
        return "Braces follow a selection strategy: skip_till_next_match { … }."
    if found == "[" and before is not None and before[0].upper() in ("SEQ", "ANY"):
        return f"Write {before[0].upper()}(…), with round brackets."
    if found == ">" and place.text.startswith("->", place.span.start - 1):
        in_pattern = accepts <= {"NAME", "INTEGER"}
        return "Write SEQ(A a, B b)." if in_pattern else "An attribute is written with a dot: a.x."
    if "DOTS" in accepts or accepts == {"MINUS"}:
        return "An index is a number, i, i-1, ..i-1 (in an aggregate) or LEN."
    if found == "." and {"RSQB", "COMPARISON"} <= accepts:
        return "An equivalence test names an attribute that all events have: [x]."
    is_digits = found.isdigit()
    if (found == "-" and accepts == {"_PATTERN"}) or (is_digits and {"NAME", "LBRACE"} <= accepts):
        return "A name is a letter, then letters, digits and _; put any other in backticks."
    if is_digits and accepts <= _AFTER_WINDOW:
        return "A window is one number with one unit, such as 90 minutes."
    if "OUTPUT_MODE" in accepts or (found.upper() == "OUTPUT" and "_OUTPUT" in accepts):
        return _output_rule(found)
    if accepts == {"NAME", "INTEGER", "DECIMAL"}:
        quotes = "" if found[:1] not in "'\"" else ", without quotes"
        return f"A window is a number with a unit, such as 10 minutes{quotes}, or a parameter."
    if "AND" in accepts and accepts.isdisjoint({"OR", "RPAR"}):
        return "Write x BETWEEN 1 AND 5."
    if accepts == {"LPAR"} and before is not None and before[0].upper() == "IN":
        return f"The values after IN are in brackets, a parameter too: IN ({found})."
    return None


def _output_rule(found: str) -> str:
    if found.upper() == "COMPRESSED":
        return "Compressed matches are an object in memory: use output='compressed' of match()."
    return (
        "OUTPUT takes ALL, FIRST, LONGEST, LEFTMOST or NON_OVERLAPPING, or AT MOST ONCE PER and a "
        "duration, or a mode and then AT MOST ONCE PER."
    )


_INTERVAL = re.compile(r"\binterval\s+'?(?P<number>\d+)'?\s+(?P<unit>\w+)", re.IGNORECASE)
_CLAUSES_OF_SQL = {
    "SELECT": "What SELECT lists comes after RETURN.",
    "HAVING": "Conditions on a list are in WHERE too: a.LEN >= 3 AND avg(a[].x) > 5.",
    "LIMIT": "Take the first matches of the result; on the command line, --limit N does so.",
}
_BY = re.compile(r"(?P<word>group|partition|order)\s+by\b", re.IGNORECASE)


def _sql_rule_broken(place: Place) -> str | None:
    """What to write instead of a clause of SQL."""
    text, start = place.text, place.span.start
    if place.found.upper() == "SELECT" and "_PATTERN" in place.accepts:
        return "A query begins with PATTERN; what SELECT lists is at the end, after RETURN."
    for interval in _INTERVAL.finditer(text, max(0, start - _LONGEST_INTERVAL)):
        if interval.start() <= start < interval.end():
            unit = interval["unit"].lower().removesuffix("s")
            return f"Write {interval['number']} {unit}s, without INTERVAL and quotes."
    if place.found.upper() in _CLAUSES_OF_SQL and "$END" in place.accepts:
        return _CLAUSES_OF_SQL[place.found.upper()]
    by = _BY.match(text, start)
    if by and by["word"].lower() == "order":
        return "Matches are in the order in which they complete; sort the result."
    if by:
        return (
            "For matches whose events agree on an attribute, write an equivalence test in WHERE: "
            "[x]. --count-by counts matches per group."
        )
    return None


def _prefix_rule(operator: str) -> str:
    return f"In a pattern, {operator} comes before its parts: {operator}(A a, B b)."


def _sign_rule_broken(place: Place) -> str | None:
    """The rule that a sign of regular expressions breaks, or the star of SQL."""
    found, accepts, before = place.found, place.accepts, place.text[: place.span.start].rstrip()
    if found == "?" and before.endswith(("+", "*", "}")):
        return "Quantifiers are neither greedy nor reluctant: all matches are reported."
    if found == "?" and {"NAME", "LBRACE"} <= accepts:
        return "For an optional event write B{0,1} b[]."
    if found == "," and before.endswith("{"):
        return "A repetition needs a lower bound, which can be 0: {0,2}."
    if found == "(" and {"SEQ", "NAME"} <= accepts:
        return "In a pattern, brackets follow SEQ, AND or OR: SEQ(A a, B b)."
    ends_a_part = "_WHERE" in accepts or accepts <= {"COMMA", "RPAR", "_WITHIN"}
    if found in ("+", "*", "{") and before.endswith(")") and ends_a_part:
        return "Only a single component can repeat, B+ b[]; SEQ, AND and OR cannot."
    if found == "*" and re.search(r"(\.|count\s*\()\Z", before, re.IGNORECASE):
        return (
            "Write a for a whole event, b[] for all events of a list, and count(b[]) to count them."
        )
    if found == "*" and re.search(r"return\Z", before, re.IGNORECASE):
        return "Leave out RETURN: a match then has the events of every variable."
    return None


def _guess(place: Place) -> str | None:
    """What is probably missing before an unexpected word."""
    accepts = place.accepts
    before = place.word_before()
    if not re.match(r"[\w'\"‘“`(\[]", place.found) or place.found.upper() in KEYWORDS:
        return None
    attribute = re.search(r"(\w+(\[[^\]]*\])?\.)(\w+)\s+\Z", place.text[: place.span.start][-NEAR:])
    is_word = re.fullmatch(r"[^\W\d]\w*", place.found)
    if attribute and is_word and not re.match(r"\s*[.\[(]", place.text[place.span.end :]):
        name = f"{attribute[3]} {place.found}"
        return f"Put a name with a space in backticks: {attribute[1]}`{name}`." + (
            " Separate items with commas; name an item with AS." if "_AS" in accepts else ""
        )
    if "_AS" in accepts:
        return "Separate items with commas; name an item with AS."
    if "AND" in accepts and "LBRACE" in accepts:
        return "After a selection strategy, write conditions in braces, or join them with AND."
    if "AND" in accepts and "COMPARISON" in accepts:
        return "Is a comparison missing, such as '='?"
    if "AND" in accepts and "SEQ" not in accepts:
        return "Join conditions with AND."
    if before is not None and before[0].upper() == "AS" and "LIST_MARK" in accepts:
        return "Write a variable after its type, without AS: A a."
    if {"LIST_MARK", "COMMA"} <= accepts:
        return "Separate components with commas."
    if accepts == {"COMMA", "RPAR"}:
        return "Write the variable after the types: ANY(A, B) a."
    return None


def _accepted_words(accepts: frozenset[str]) -> list[str]:
    """The words that are accepted here: keywords, strategies and units."""
    words = [word for word in KEYWORDS if accepts & {word, f"_{word}"}]
    words += STRATEGIES if "STRATEGY" in accepts else ()
    words += CANONICAL_UNIT if "UNIT" in accepts else ()
    words += OUTPUT_MODES if "OUTPUT_MODE" in accepts else ()
    return words


def _expected_words(accepts: frozenset[str]) -> tuple[str, ...]:
    """What was expected, in words; operands and operators have one word each."""
    rest = set(accepts)
    # A dot is allowed after a whole query, but nobody expects it.
    rest -= {"DOT"} if "$END" in accepts else set()
    words = []
    for word, needed, covered in _NAMED_TOGETHER:
        if needed <= rest:
            words.append(word)
            rest -= covered
    return (*words, *(shown for name, shown in _SHOWN.items() if name in rest))
