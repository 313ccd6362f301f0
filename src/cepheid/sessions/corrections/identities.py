"""Matches told apart by their events: which of some matches are among others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.matches.bindings import Bindings
from cepheid.matches.duplicates import hashes
from cepheid.matches.matches import Matches
from cepheid.matches.positions import Column, SinglePositions

Identities = npt.NDArray[np.void]
"""Two hashes of each match: of the input rows of its events, of its times, and of whether it timed
out."""

_PAIR = np.dtype([("high", np.int64), ("low", np.int64)])


def identities(matches: Matches) -> Identities:
    """What each match is."""
    parts = [_of_rows(part) for part in matches.by_row() if len(part)]
    return np.concatenate(parts) if parts else np.empty(0, _PAIR)


def among(some: Identities, others: Identities) -> npt.NDArray[np.bool_]:
    """Which matches are among the others.

    >>> pairs = np.array([(1, 2), (1, 3)], _PAIR)
    >>> among(pairs, pairs[1:]).tolist()
    [False, True]
    """
    if not len(some) or not len(others):
        return np.zeros(len(some), dtype=np.bool_)
    return np.isin(some, others)


def _of_rows(matches: Bindings) -> Identities:
    columns: dict[str, Column] = dict(matches.variables)
    columns["start of match"] = SinglePositions(matches.starts)
    columns["end of match"] = SinglePositions(matches.ends)
    if matches.timed_out is not None:
        columns["timed out"] = SinglePositions(matches.timed_out.astype(np.int64))
    found = np.empty(len(matches), _PAIR)
    found["high"], found["low"] = hashes(Bindings(columns, len(matches)))
    return found
