"""How a token is written, and whether a space is before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.editing.tokens import Word

_SPELT = {
    "==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "−": "-", "∼": "~", "˜": "~",
    "¬": "NOT", "∧": "AND", "&&": "AND", "∨": "OR",
}  # fmt: skip
_AS_WRITTEN = {"NAME", "STRING", "INTEGER", "DECIMAL", "UNIT"}
_OPERANDS = {
    "NAME", "STRING", "INTEGER", "DECIMAL", "PERCENTAGE", "UNIT", "RPAR", "RSQB", "LIST_MARK",
    "TRUE", "FALSE", "NULL", "END", "_END", "RBRACE",
}  # fmt: skip
_TIGHT_AFTER = {"LPAR", "LSQB", "DOT", "FIELD_DOT", "DOTS", "TILDE", "_DOUBLE_COLON"}
_TIGHT_BEFORE = {
    "RPAR", "RSQB", "COMMA", "SEMICOLON", "DOT", "FIELD_DOT", "LIST_MARK", "_DOUBLE_COLON",
}  # fmt: skip
_CALLS = {"NAME", "SEQ", "ANY", "STRATEGY", "TILDE", "PERMUTE"}
QUANTIFIERS = {"PLUS", "STAR", "QUESTION"}
OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}


def spelt(word: Word, *, in_pattern: bool) -> str:
    """The text of a token as it is written by the formatter.

    >>> [spelt(Word(*each, 0, 0), in_pattern=False) for each in (
    ...     ("_WITHIN", "within"), ("NAME", "within"), ("STRATEGY", "Skip-till any match"),
    ...     ("COMPARISON", "<>"), ("BANG", "!"))]
    ['WITHIN', 'within', 'skip_till_any_match', '!=', 'NOT']
    """
    text = word.text
    if word.terminal in _AS_WRITTEN:
        return text
    if word.terminal == "STRATEGY":
        return re.sub(r"[\s_-]+", "_", text).lower()
    if word.terminal in ("LIST_MARK", "PERCENTAGE"):
        return re.sub(r"\s+", "", text)
    if word.terminal == "BANG":
        return "~" if in_pattern else "NOT"
    if text == "||" and word.terminal == "LOGICAL_OR":
        return "OR"
    return _SPELT.get(text) or re.sub(r"\s+", " ", text).upper()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token is: whether in a pattern, and the brackets around it, the innermost last.

    A bracket is an index if it follows a name directly.
    """

    in_pattern: bool
    brackets: Sequence[str]

    @property
    def is_index(self) -> bool:
        """Whether the innermost bracket is an index, ``a[i-1]``, or a repetition, ``{1,2}``."""
        return bool(self.brackets) and self.brackets[-1] in ("index", "repetition")


def has_space(earlier: Sequence[Word], word: Word, place: Place) -> bool:
    """Whether a space is between a token and those before it in its line."""
    if not earlier:
        return False
    last = earlier[-1]
    if last.terminal == "BANG" and place.in_pattern:
        return False
    if word.terminal == last.terminal == "MINUS":
        return True  # two of them are a comment
    if word.terminal in _TIGHT_BEFORE or last.terminal in _TIGHT_AFTER or place.is_index:
        return False
    if last.terminal in ("PLUS", "MINUS", "STAR") and not place.in_pattern and _is_sign(earlier):
        return False
    if place.in_pattern:
        if word.terminal == "MINUS" or last.terminal == "MINUS":
            return False  # a type such as SHELF-READING
        if word.terminal in QUANTIFIERS or word.terminal == "LBRACE":
            return False
        if word.terminal == "LPAR" and last.terminal in ("AND", "OR", "NOT"):
            return False
        if word.terminal == "LPAR" and last.terminal == "NAME":
            return True  # A (B C) of a row pattern
    if word.terminal == "LPAR":
        return last.terminal not in _CALLS
    if word.terminal == "LSQB":
        return last.terminal not in ("NAME", "RSQB")
    return True


def _is_sign(earlier: Sequence[Word]) -> bool:
    """Whether the last token is a sign, or the star of ``A.*``, rather than an operator."""
    return len(earlier) < 2 or earlier[-2].terminal not in _OPERANDS
