"""SQL text as tokens: just enough to tell code from strings, quoted names and comments.

What is a string and what a quoted name depends on who reads the text. Nothing is lost: the tokens
of a text, joined, are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_COMMENT_BORDER = re.compile(r"/\*|\*/")


class Mark(Enum):
    """What a token is."""

    SPACE = "space"  # white space and comments
    WORD = "word"  # names, keywords and numbers
    QUOTED = "quoted"  # a name in quotes
    STRING = "string"
    SIGN = "sign"  # any other single character


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, and where it starts."""

    mark: Mark
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the text continues."""
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words, without quotes."""
        return self.mark is Mark.WORD and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        """Whether it is this character."""
        return self.mark is Mark.SIGN and self.text == sign


class Dialect:
    """How strings, quoted names and comments are written.

    A quote that is not closed extends to the end of the text: who runs the text reports it.
    """

    def __init__(self, strings: str, quoted: str, *, nested_comments: bool = True) -> None:
        self._nested = nested_comments
        self._token = re.compile(
            rf"(?P<space>\s+|--[^\r\n]*+|/\*)|(?P<string>{strings})|(?P<quoted>{quoted})"
            r"|(?P<word>\w+)|(?P<sign>.)",
            re.DOTALL,
        )

    def tokens(self, text: str, start: int = 0) -> Iterator[Token]:
        """The tokens of a text.

        >>> [token.text for token in SPARK.tokens("a.b -- 'c'")]
        ['a', '.', 'b', ' ', "-- 'c'"]
        """
        while start < len(text):
            found = self._token.match(text, start)
            assert found is not None
            assert found.lastgroup is not None
            end = self._comment_end(text, start) if found[0] == "/*" else found.end()
            yield Token(Mark(found.lastgroup), text[start:end], start)
            start = end

    def _comment_end(self, text: str, start: int) -> int:
        depth, place = 1, start + 2
        if not self._nested:
            return text.find("*/", place) + 2 if "*/" in text[place:] else len(text)
        while depth:
            border = _COMMENT_BORDER.search(text, place)
            if border is None:
                return len(text)
            depth += 1 if border[0] == "/*" else -1
            place = border.end()
        return place


def _enclosed(quote: str, *, escapes: bool = False) -> str:
    """The pattern of what is between quotes, which are doubled inside, or escaped too."""
    inner = rf"[^{quote}\\]|\\.|{quote}{quote}" if escapes else f"[^{quote}]|{quote}{quote}"
    return rf"{quote}(?:{inner})*+(?:{quote}|\Z)"


_BACKTICKS = _enclosed("`")
_NAMES = f"{_enclosed(chr(34))}|{_BACKTICKS}"
_PLAIN = _enclosed("'")
SPARK = Dialect(
    rf"""(?i:r)(?:'[^']*+(?:'|\Z)|"[^"]*+(?:"|\Z))"""
    f"|{_enclosed(chr(39), escapes=True)}|{_enclosed(chr(34), escapes=True)}",
    _BACKTICKS,
)
"""Spark SQL: a text in double quotes is a string."""
DUCKDB = Dialect(
    rf"(?i:e){_enclosed(chr(39), escapes=True)}|{_PLAIN}"
    r"|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)",
    _NAMES,
)
"""DuckDB's SQL: a text in double quotes is a name, and one between ``$$`` is a string."""
CLAUSE = Dialect(_PLAIN, _NAMES, nested_comments=False)
"""What is inside ``MATCH_RECOGNIZE ( … )``, whoever runs the statement around it."""
