"""Types that a query names and no event has."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from cepheid.errors import CepheidWarning, closest, list_words


def warn_of_absent_types(
    named: set[str], known: Iterable[str], made: Iterable[str] = (), stacklevel: int = 5
) -> None:
    """A type that never occurs but is spelt almost like one that does is probably a slip.

    ``made`` are the types that queries of a script make.
    """
    there = {*known, *made}
    unused = there - named
    for name in sorted(named - there):
        near = closest(name, unused | {*made})
        if near:
            warnings.warn(
                f"no event has type '{name}'; there are events of type "
                f"{list_words(sorted(unused | {*made})[:10])}. Did you mean '{near[0]}'?",
                CepheidWarning,
                stacklevel=stacklevel,
            )
