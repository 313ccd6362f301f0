"""Texts in TOML, whoever wrote them: nesting is limited."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from cepheid.errors import OptionError

MOST_PARTS = 100
"""The parts of a dotted key. Python's reader takes memory for each pair of them."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(
    rf"(?:^|[\[{{,])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.MULTILINE
)


def load(text: str, what: str) -> dict[str, Any]:
    """The values of a text; a message begins with ``what``.

    >>> load("severity = 'high'", "the text is")
    {'severity': 'high'}
    >>> load("severity: high", "the text is")
    Traceback (most recent call last):
    cepheid.errors.OptionError: the text is not TOML: Expected '=' after a key in a key/value pair \
(at line 1, column 9)
    """
    if _LONG_KEY.search(text):
        raise OptionError(f"{what} not TOML: a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise OptionError(f"{what} not TOML: values are nested too deeply") from None
    except ValueError as error:  # Also for an integer that is too long, or an impossible date.
        raise OptionError(f"{what} not TOML: {error}") from None
