"""Names in queries that are made of the names of Sigma rules."""

from __future__ import annotations

import re
from collections import Counter

from cepheid.errors import Refused
from cepheid.language.parser import KEYWORDS, STRATEGIES

_RESERVED = {each.casefold() for each in (*KEYWORDS, *STRATEGIES)}
_TYPE = re.compile(r"[^\W\d]\w*(-[^\W\d]\w*)*")


def type_name(name: str) -> str:
    """The name of a type of events in a pattern.

    >>> type_name("windows-process_creation"), type_name("8021x")
    ('windows-process_creation', '`8021x`')
    """
    if "`" in name:
        raise Refused(f"{name!r} cannot be the name of a type: map its log source")
    words = name.casefold().split("-")
    is_plain = _TYPE.fullmatch(name) and not _RESERVED.intersection(words)
    return name if is_plain else f"`{name}`"


def slug(name: str) -> str:
    """A name of letters, digits and underscores.

    >>> slug("Failed logon (RDP)")
    'failed_logon_rdp'
    """
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


class Variables:
    """Names of variables; none is used twice.

    >>> new = Variables()
    >>> new("Failed logon"), new("failed_logon"), new("or"), new("4625")
    ('failed_logon', 'failed_logon_2', 'e_or', 'e_4625')
    """

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        """A new name that is like this one."""
        found = slug(name)
        if not found or found[0].isdigit() or found in _RESERVED:
            found = f"e_{found}".rstrip("_")
        while self._used[found]:
            self._used[found] += 1
            found = f"{found}_{self._used[found]}"
        self._used[found] += 1
        return found
