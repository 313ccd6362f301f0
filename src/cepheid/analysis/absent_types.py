"""Warns of event types in a query that no event has."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import closest, list_words, warn


def warn_of_absent_types(named: set[str], known: Iterable[str], made: Iterable[str] = ()) -> None:
    """Warn of a type that no event has, if its name is close to a type that events have.

    ``made`` are the types that queries of a script make.
    """
    there = {*known, *made}
    unused = there - named
    for name in sorted(named - there):
        near = closest(name, unused | {*made})
        if near:
            warn(
                f"no event has type '{name}'; there are events of type "
                f"{list_words(sorted(unused | {*made})[:10])}. Did you mean '{near[0]}'?"
            )
