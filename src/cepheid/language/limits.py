"""Limits on the size of a query, so that no query text takes long to analyse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from cepheid.errors import LimitError, OptionError, unknown_name

MOST_DEPTH = 200
"""Later passes recurse; more levels than this would exhaust Python's stack."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes up to which a query, or a script as a whole, is accepted.

    ``depth`` is the nesting of patterns and expressions. ``alternatives`` are the ways to choose
    in every OR and star of a pattern. ``tests`` are the predicates of the conditions in normal
    form, and ``terms`` the attributes, constants and operators in them. ``expanded`` is the number
    of components and terms in all alternatives of all queries.
    """

    characters: int = 65_536
    depth: int = 100
    queries: int = 200
    components: int = 200
    alternatives: int = 1_000
    tests: int = 1_000
    terms: int = 10_000
    expanded: int = 20_000

    def check(self, name: str, found: int, what: str, advice: str) -> None:
        """Refuse what exceeds the limit with this name.

        >>> Limits().check("components", 201, "the pattern has too many components", "Split it.")
        Traceback (most recent call last):
        cepheid.errors.LimitError: the pattern has too many components: the limit is 200. Split it.
        To allow more, raise the limit 'components'.
        """
        limit = getattr(self, name)
        if found > limit:
            raise LimitError(
                f"{what}: the limit is {limit:,}. {advice} To allow more, raise the limit {name!r}."
            )


DEFAULT_LIMITS = Limits()

NO_LIMITS = {**dict.fromkeys((field.name for field in fields(Limits)), 2**63), "depth": MOST_DEPTH}


def read_limits(given: Any) -> Limits:
    """The default limits with those that a user gives.

    >>> read_limits({"components": 500}).components
    500
    """
    if given is None:
        return DEFAULT_LIMITS
    if not isinstance(given, Mapping):
        raise OptionError(f"limits is a mapping such as {{'components': 500}}, not {given!r}")
    known = [field.name for field in fields(Limits)]
    for name, limit in given.items():
        if name not in known:
            raise OptionError(unknown_name("limit", name, known))
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise OptionError(f"the limit {name!r} is a positive integer, not {limit!r}")
    if given.get("depth", 1) > MOST_DEPTH:
        raise OptionError(f"the limit 'depth' is at most {MOST_DEPTH}, not {given['depth']}")
    return replace(DEFAULT_LIMITS, **given)
