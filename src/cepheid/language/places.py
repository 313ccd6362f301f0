"""Where a parser of queries stopped, and the mistakes that both languages have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.errors import Fault, Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

CLOSING = {"(": ")", "[": "]", "{": "}"}
TERMINAL = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}
_QUOTED_OR_BRACKET = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[‘’][^‘’]*[’‘]|[“”][^“”]*[”“]|`[^`]*`"
    r"|/\*[\s\S]*?\*/|--[^\n]*|[(){}\[\]]"
)
_WORD_BEFORE = re.compile(r"(?<!\w)(?P<word>\w{1,80})\s*(\([^()]*\))?\s*\Z")
NEAR = 400  # characters: how far back to look for the word before a place
_LONGEST_FOUND = 40


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parser stopped: the token found, and the terminals that were accepted."""

    text: str
    span: Span
    found: str
    accepts: frozenset[str]

    def before(self) -> str:
        """The text before this place, as far as it matters."""
        return self.text[max(0, self.span.start - NEAR) : self.span.start]

    def word_before(self) -> tuple[str, Span] | None:
        """The word before this place, or before the list in brackets that is before it."""
        start = max(0, self.span.start - NEAR)
        match = _WORD_BEFORE.search(self.text[start : self.span.start])
        if match is None:
            return None
        return match["word"], Span(start + match.start("word"), start + match.end("word"))

    def open_bracket(self) -> tuple[str, Span] | None:
        """The innermost bracket that is open here, and its place."""
        opened: list[tuple[str, Span]] = []
        for token in _QUOTED_OR_BRACKET.finditer(self.text, 0, self.span.start):
            sign = token.group()
            if sign in CLOSING:
                opened.append((sign, Span(*token.span())))
            elif sign in TERMINAL and opened:
                opened.pop()
        return opened[-1] if opened else None


def fault_at(
    error: UnexpectedInput,
    text: str,
    mistakes: Sequence[Callable[[Place], Fault | None]],
    otherwise: Callable[[Place], Fault],
) -> Fault:
    """A Lark error as a fault: the first of the mistakes that is recognised, or another fault."""
    place = _place_of(error, text)
    recognised = (recognise(place) for recognise in mistakes)
    return next((fault for fault in recognised if fault is not None), otherwise(place))


def _place_of(error: UnexpectedInput, text: str) -> Place:
    """Where the parser stopped."""
    from lark.exceptions import UnexpectedToken

    accepts = frozenset(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]
    if isinstance(error, UnexpectedToken):
        token = error.token
        if token.type == "$END":
            end = len(text.rstrip())
            return Place(text, Span(end, end + 1), "", accepts)
        return Place(text, Span(token.start_pos or 0, token.end_pos or 0), str(token), accepts)
    start = error.pos_in_stream
    assert start is not None
    return Place(text, Span(start, start + 1), text[start], accepts)


def quote_not_closed(place: Place) -> Fault | None:
    """A quote without its end."""
    if place.found not in {"'", '"', "‘", "’", "“", "”", "`"}:
        return None
    hint = f"Write {place.found} twice inside a string." if place.found in "'\"" else None
    return Fault(f"the quote {place.found} is not closed", place.span, place.found, hint=hint)


def comment_not_closed(place: Place) -> Fault | None:
    """A comment without its end."""
    # After an operand, the / is parsed as a division.
    for start in (place.span.start, place.span.start - 1):
        if start >= 0 and place.text.startswith("/*", start):
            span = Span(start, start + 2)
            return Fault("the comment is not closed", span, "/*", hint="A comment ends with */.")
    return None


def bracket_not_closed(place: Place, clauses: Sequence[str]) -> Fault | None:
    """A bracket that is still open where the query, another bracket or one of the clauses is."""
    opened = place.open_bracket()
    word = place.found.split(" ")[0].upper()
    ends = not place.found or place.found in ")]}" or word in clauses
    if opened is None or not ends or TERMINAL[CLOSING[opened[0]]] not in place.accepts:
        return None
    bracket, span = opened
    before = f"'{place.found}'" if place.found else "the end of the query"
    hint = f"Expected '{CLOSING[bracket]}' before {before}."
    return Fault(f"the bracket '{bracket}' is not closed", span, place.found, hint=hint)


def unexpected(place: Place, expected: tuple[str, ...], hint: str | None) -> Fault:
    """What is here cannot be here."""
    found = short(place.found)
    message = f"unexpected '{found}'" if found else "the query ends too early"
    return Fault(message, place.span, place.found, expected, hint=hint)


def short(found: str) -> str:
    """What was found, cut to a readable length."""
    return found if len(found) <= _LONGEST_FOUND else f"{found[:_LONGEST_FOUND]}…"
