"""Strings as they are shown to people: control characters are escaped, long ones are shortened.

A value, a name or a query may hold characters that would command a terminal (ESC), change the order
of what is read (bidi overrides), end a line, or that cannot be written at all (lone surrogates).
"""

from __future__ import annotations

import re
from html import escape
from reprlib import Repr

MOST_CHARACTERS = 2_000
"""The length of a line in a message, and of a value in a table; a longer one is shortened."""

_MOST_BITS = 1_000
"""A longer integer is not written in digits: Python refuses that from some 14,000 bits on."""

LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""What no string of events can hold, because UTF-8 cannot encode it."""


def visible(text: str) -> str:
    """The string in one line, with an escape for each invisible character.

    >>> visible("a\\x1b[31m\\n"), visible("naïve 株 'x'")
    ('a\\\\x1b[31m\\\\n', "naïve 株 'x'")
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def visible_lines(text: str) -> str:
    """The string with its lines and tabs, and an escape for each other invisible character.

    >>> visible_lines("PATTERN\\tA\\nWHERE \\u202e")
    'PATTERN\\tA\\nWHERE \\\\u202e'
    """
    lines = text.split("\n")
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """The string, without its middle if it has more characters than ``most``.

    >>> shortened("abcdefgh", 5), shortened("abc", 5)
    ('ab…gh', 'abc')
    """
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def message_text(text: str) -> str:
    """The text of a message: visible, with long lines shortened.

    >>> message_text("there is no file '\\x1b[2J'")
    "there is no file '\\\\x1b[2J'"
    """
    return visible_lines("\n".join(map(shortened, text.split("\n"))))


def html_text(text: str) -> str:
    """The string in HTML and SVG.

    >>> html_text("<b>\\x1b\\n")
    '&lt;b&gt;\\\\x1b\\n'
    """
    return escape(visible_lines(text))


class _Said(Repr):
    """Shows the beginning of a value, whatever is in it and however large it is."""

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits <= _MOST_BITS else f"an integer of {bits:,} bits"


_said = _Said()
_said.maxstring = _said.maxother = _said.maxlong = 200
_said.maxlist = _said.maxtuple = _said.maxdict = _said.maxset = _said.maxfrozenset = 20
_said.maxlevel = 3


def said(value: object) -> str:
    """A value as a message quotes it: only its beginning, if it is large.

    >>> said(["a", 1]), said(1 << 100_000), said([[[[1]]]])
    ("['a', 1]", 'an integer of 100,001 bits', '[[[[...]]]]')
    """
    return _said.repr(value)
