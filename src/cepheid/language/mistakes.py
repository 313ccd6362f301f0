"""What is wrong with a text that the grammar refuses, in the words of its author.

Lark says what it met and which terminals it would have accepted. From this and the text around
the place, each function of ``_MISTAKES`` recognises one common mistake; what none of them
recognises is reported as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.errors import Fault, Span, closest
from cepheid.language.parser import KEYWORDS, STRATEGIES
from cepheid.language.units import CANONICAL_UNIT

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

# How the terminals are called, in the order in which a message lists them.
_SHOWN = {
    "NAME": "a name", "INTEGER": "a number", "STRING": "a text in quotes",
    "COMPARISON": "a comparison", "STRATEGY": "a selection strategy", "UNIT": "a unit of time",
    "EVENTS": "EVENTS", "PER": "PER", "PARTITION": "PARTITION", "DOTS": "'..'", "PLUS": "'+'",
    "MINUS": "'-'", "STAR": "'*'", "TILDE": "'~'", "DOT": "'.'", "LPAR": "'('", "LSQB": "'['",
    "LBRACE": "'{'", "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'",
    "SEQ": "SEQ", "ANY": "ANY", "NOT": "NOT", "NULL": "NULL", "_AS": "AS", "AND": "AND",
    "OR": "OR", "_FROM": "FROM", "_PATTERN": "PATTERN", "_WHERE": "WHERE", "_WITHIN": "WITHIN",
    "_WITH_CONFIDENCE": "WITH CONFIDENCE",
    "_RETURN": "RETURN", "$END": "the end of the query",
}  # fmt: skip

# Terminals that a message says together, by one word, where all of the first set are accepted.
_SAID_TOGETHER = (
    ("a pattern", {"SEQ", "NAME"}, {"SEQ", "AND", "OR", "ANY", "NOT", "NAME", "TILDE", "LPAR"}),
    ("an expression", {"NAME", "INTEGER", "STRING", "LPAR"},
     {"NAME", "INTEGER", "STRING", "LPAR", "LSQB", "MINUS", "PLUS", "NOT", "NULL", "STRATEGY"}),
    ("an operator", {"SLASH", "PERCENT"},
     {"PLUS", "MINUS", "STAR", "COMPARISON", "NOT", "DOT", "LPAR", "LSQB", "LIST_MARK"}),
    ("a variable", {"NAME", "PLUS", "LBRACE"}, {"NAME", "PLUS", "STAR", "LBRACE", "MINUS"}),
)  # fmt: skip

_PATTERN_OPERATORS = ("SEQ", "AND", "OR", "ANY", "NOT")
_CLAUSES = ("FROM", "PATTERN", "EVENT", "WHERE", "WITHIN", "RETURN")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TERMINAL = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}
_COMPARISONS = ("=", "==", "!=", "<>", "≠", "<", "<=", "≤", ">", ">=", "≥")
_QUOTED_OR_BRACKET = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[‘’][^‘’]*[’‘]|[“”][^“”]*[”“]|`[^`]*`"
    r"|/\*[\s\S]*?\*/|--[^\n]*|[(){}\[\]]"
)
_WORD_BEFORE = re.compile(r"(?<!\w)(?P<word>\w{1,80})\s*(\([^()]*\))?\s*\Z")
_FILE_NAME = re.compile(r"[^\s()]+\.[a-z]+")
_MISTYPED = {"=>": ">=", "=<": "<=", "=!": "!=", "&": "AND", "|": "OR"}
_NEAR = 400  # characters: how far back the word before a place is looked for
_LONGEST_FOUND = 40


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the parser stopped: what it met, and the terminals that it would have accepted."""

    text: str
    span: Span
    found: str
    accepts: frozenset[str]

    def word_before(self) -> tuple[str, Span] | None:
        """The word before this place, or before the list in brackets that is before it."""
        start = max(0, self.span.start - _NEAR)
        match = _WORD_BEFORE.search(self.text[start : self.span.start])
        if match is None:
            return None
        return match["word"], Span(start + match.start("word"), start + match.end("word"))

    def open_bracket(self) -> tuple[str, Span] | None:
        """The innermost bracket that is open here, and where it stands."""
        opened: list[tuple[str, Span]] = []
        for token in _QUOTED_OR_BRACKET.finditer(self.text, 0, self.span.start):
            sign = token.group()
            if sign in _CLOSING:
                opened.append((sign, Span(*token.span())))
            elif sign in _TERMINAL and opened:
                opened.pop()
        return opened[-1] if opened else None


def explain(error: UnexpectedInput, text: str) -> Fault:
    """A Lark error as a fault: what was found, what was expected, what was probably meant."""
    place = _place(error, text)
    recognised = (recognise(place) for recognise in _MISTAKES)
    return next((fault for fault in recognised if fault is not None), _unexpected(place))


def _place(error: UnexpectedInput, text: str) -> _Place:
    from lark.exceptions import UnexpectedToken

    accepts = frozenset(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]
    if isinstance(error, UnexpectedToken):
        token = error.token
        if token.type == "$END":
            end = len(text.rstrip())
            return _Place(text, Span(end, end + 1), "", accepts)
        return _Place(text, Span(token.start_pos or 0, token.end_pos or 0), str(token), accepts)
    start = error.pos_in_stream
    assert start is not None
    return _Place(text, Span(start, start + 1), text[start], accepts)


# --- Mistakes -----------------------------------------------------------------------------


def _no_query(place: _Place) -> Fault | None:
    if place.found or not {"_FROM", "_PATTERN"} <= place.accepts or ";" in place.text:
        return None
    return Fault("there is no query here", place.span, hint="A query begins with PATTERN.")


def _quote_not_closed(place: _Place) -> Fault | None:
    if place.found not in {"'", '"', "‘", "’", "“", "”", "`"}:
        return None
    hint = f"A {place.found} inside a text is written twice." if place.found in "'\"" else None
    return Fault(f"the quote {place.found} is not closed", place.span, place.found, hint=hint)


def _comment_not_closed(place: _Place) -> Fault | None:
    # Where an operand ends, the first sign of it is taken for a division.
    for start in (place.span.start, place.span.start - 1):
        if start >= 0 and place.text.startswith("/*", start):
            span = Span(start, start + 2)
            return Fault("the comment is not closed", span, "/*", hint="A comment ends with */.")
    return None


def _bracket_not_closed(place: _Place) -> Fault | None:
    opened = place.open_bracket()
    ends = not place.found or place.found in ")]}" or place.found.upper() in _CLAUSES
    if opened is None or not ends or _TERMINAL[_CLOSING[opened[0]]] not in place.accepts:
        return None
    bracket, span = opened
    before = f"'{place.found}'" if place.found else "the end of the query"
    hint = f"Expected '{_CLOSING[bracket]}' before {before}."
    return Fault(f"the bracket '{bracket}' is not closed", span, place.found, hint=hint)


def _bracket_not_opened(place: _Place) -> Fault | None:
    if place.found not in _TERMINAL or "$END" not in place.accepts or place.open_bracket():
        return None
    return Fault(f"'{place.found}' closes no bracket", place.span, place.found)


def _mistyped_sign(place: _Place) -> Fault | None:
    for typed in (place.text[max(0, place.span.start - 1) : place.span.end], place.found):
        if typed in _MISTYPED:
            span = Span(place.span.end - len(typed), place.span.end)
            word = _MISTYPED[typed]
            if word in _PATTERN_OPERATORS and "AND" not in place.accepts:
                return Fault(f"unexpected '{typed}'", span, typed, hint=_stands_before(word))
            return Fault(f"unexpected '{typed}'", span, typed, candidates=(_MISTYPED[typed],))
    return None


def _misspelt_keyword(place: _Place) -> Fault | None:
    near = closest(place.found, _accepted_words(place.accepts)) if len(place.found) > 1 else ()
    if not near or place.found.upper() in KEYWORDS:
        return None
    return Fault(f"unexpected '{_short(place.found)}'", place.span, place.found, candidates=near)


def _misspelt_before(place: _Place) -> Fault | None:
    """``skip_til_next_match {``, ``SEQUENCE(``, ``nott a.x``: a word was taken for a name."""
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
    message = f"unexpected '{_short(place.found)}' after '{word}'"
    return Fault(message, place.span, place.found, candidates=near) if near else None


def _not_one_of(known: tuple[str, ...], kind: str, word: str, span: Span) -> Fault:
    near = closest(word, known)
    return Fault(f"'{word}' is not {kind}", span, word, () if near else known, near)


_MISTAKES = (
    _no_query,
    _quote_not_closed,
    _comment_not_closed,
    _bracket_not_closed,
    _bracket_not_opened,
    _mistyped_sign,
    _misspelt_keyword,
    _misspelt_before,
)


# --- What is reported as it is ------------------------------------------------------------


def _unexpected(place: _Place) -> Fault:
    found = _short(place.found)
    message = f"unexpected '{found}'" if found else "the query ends too early"
    rule = _rule_broken(place) or _pattern_rule_broken(place) or _star_for_all(place)
    expected = () if rule else _expected_words(place.accepts)
    return Fault(message, place.span, place.found, expected, hint=rule or _guess(place))


def _rule_broken(place: _Place) -> str | None:
    """The rule that the text breaks here, where it is clear which: it says all there is to say."""
    found, accepts = place.found, place.accepts
    before = place.word_before()
    if found.upper() in ("PATTERN", "EVENT") and "$END" in accepts:
        return "A query has one PATTERN. Queries of a script are separated by ';'."
    if found.upper() in _CLAUSES and "$END" in accepts:
        return (
            "The order is FROM, PATTERN, WHERE, WITHIN, WITH CONFIDENCE, RETURN, each at most once."
        )
    if found.upper() in ("AND", "OR") and "_WHERE" in accepts:
        return _stands_before(found.upper())
    if found == "," and "_WHERE" in accepts:
        return "Several components stand in SEQ(…), AND(…) or OR(…): SEQ(A a, B b)."
    if "_PATTERN" in accepts and _FILE_NAME.fullmatch(place.text.strip()):
        return (
            "This looks like the name of a file: read_query() reads one, and so does the command "
            "line without -q."
        )
    unit = found.lower().removesuffix("s")
    if "UNIT" in accepts and unit in ("month", "quarter", "year"):
        return f"A {unit} has no fixed length: write it in days or weeks."
    if found in _COMPARISONS and "AND" in accepts and "SEQ" not in accepts:
        return "Comparisons are not chained: join two with AND."
    if found == "," and "_WITHIN" in accepts and "_WHERE" not in accepts:
        return "Conditions are joined by AND."
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
        return "A name is a letter, then letters, digits and _; any other stands in backticks."
    if is_digits and accepts <= {"_WITH_CONFIDENCE", "_RETURN", "$END", "SEMICOLON", "DOT"}:
        return "A window is one number with one unit, such as 90 minutes."
    if accepts == {"NAME", "INTEGER", "DECIMAL"}:
        return "A window is a number with a unit, such as 10 minutes, or a parameter."
    if "AND" in accepts and accepts.isdisjoint({"OR", "RPAR"}):
        return "Write x BETWEEN 1 AND 5."
    return None


def _stands_before(operator: str) -> str:
    return f"In a pattern, {operator} stands before its parts: {operator}(A a, B b)."


def _pattern_rule_broken(place: _Place) -> str | None:
    """The rule that a pattern breaks which is written as a regular expression."""
    found, accepts, before = place.found, place.accepts, place.text[: place.span.start].rstrip()
    if found == "?" and before.endswith(("+", "*", "}")):
        return "A quantifier is neither greedy nor reluctant: every match is reported."
    if found == "?" and {"NAME", "LBRACE"} <= accepts:
        return "One event or none is a repetition: B{0,1} b[]."
    if found == "," and before.endswith("{"):
        return "A repetition begins with its lower bound, which may be 0: {0,2}."
    if found == "(" and {"SEQ", "NAME"} <= accepts:
        return "In a pattern, brackets follow SEQ, AND or OR: SEQ(A a, B b)."
    ends_a_part = "_WHERE" in accepts or accepts <= {"COMMA", "RPAR"}
    if found in ("+", "*", "{") and before.endswith(")") and ends_a_part:
        return "What repeats is a single component, B+ b[]: SEQ, AND and OR do not repeat."
    return None


def _star_for_all(place: _Place) -> str | None:
    """What to write for ``a.*``, ``count(*)`` and ``RETURN *``."""
    before = place.text[: place.span.start].rstrip()
    if place.found != "*":
        return None
    if before.endswith(".") or re.search(r"count\s*\(\Z", before, re.IGNORECASE):
        return "A whole event is a, all events of a list are b[], and count(b[]) counts them."
    if re.search(r"return\Z", before, re.IGNORECASE):
        return "Leave RETURN out: then a match gives the events of every variable."
    return None


def _guess(place: _Place) -> str | None:
    """What is probably missing where something begins too early."""
    accepts = place.accepts
    before = place.word_before()
    if not re.match(r"[\w'\"‘“`(\[]", place.found) or place.found.upper() in KEYWORDS:
        return None
    if "_AS" in accepts:
        return "Items are separated by commas; AS gives an item its name."
    if "AND" in accepts and "LBRACE" in accepts:
        return "Conditions follow a selection strategy in braces, or joined by AND."
    if "AND" in accepts and "COMPARISON" in accepts:
        return "Is a comparison missing, such as '='?"
    if "AND" in accepts and "SEQ" not in accepts:
        return "Conditions are joined by AND."
    if before is not None and before[0].upper() == "AS" and "LIST_MARK" in accepts:
        return "A variable follows its type without AS: A a."
    if {"LIST_MARK", "COMMA"} <= accepts:
        return "Components are separated by commas."
    if accepts == {"COMMA", "RPAR"}:
        return "A variable stands behind the types: ANY(A, B) a."
    return None


def _accepted_words(accepts: frozenset[str]) -> list[str]:
    """The words that could stand here: keywords, strategies and units."""
    words = [word for word in KEYWORDS if accepts & {word, f"_{word}"}]
    words += STRATEGIES if "STRATEGY" in accepts else ()
    words += CANONICAL_UNIT if "UNIT" in accepts else ()
    return words


def _expected_words(accepts: frozenset[str]) -> tuple[str, ...]:
    """What was expected, in words: operands and operators are said once, not one by one."""
    rest = set(accepts)
    # After a whole query a dot is allowed, but nobody misses it.
    rest -= {"DOT"} if "$END" in accepts else set()
    words = []
    for word, needed, covered in _SAID_TOGETHER:
        if needed <= rest:
            words.append(word)
            rest -= covered
    return (*words, *(shown for name, shown in _SHOWN.items() if name in rest))


def _short(found: str) -> str:
    return found if len(found) <= _LONGEST_FOUND else f"{found[:_LONGEST_FOUND]}…"
