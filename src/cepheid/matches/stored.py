"""Matches in a snapshot: the tags of their events, match after match.

A tag is the number of an event times 32, plus the number of its variable. Snapshots have had this
format since version 0.1.0, so a session can restore the snapshots of an older cepheid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.events.arrays import Int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import WINDOW_END, Bindings, MatchTimes
from cepheid.matches.positions import ListPositions, offsets_of, places_in_rows
from cepheid.snapshots import Arrays


def tags_of(matches: Bindings) -> tuple[Int64s, Int64s]:
    """The tags of all matches one after the other, and where each match begins.

    The tags of a match are in the order of its variables.
    """
    columns = list(matches.variables.values())
    lengths = np.zeros(len(matches), dtype=np.int64)
    for column in columns:
        lengths += column.lengths if isinstance(column, ListPositions) else ~column.absent
    begins = offsets_of(lengths)
    tags = np.empty(int(begins[-1]), dtype=np.int64)
    at = begins[:-1].copy()
    for number, column in enumerate(columns):
        if isinstance(column, ListPositions):
            places, positions = places_in_rows(at, column), column.positions
            at += column.lengths
        else:
            bound = ~column.absent
            places, positions = at[bound], column.positions[bound]
            at += bound
        tags[places] = (positions.astype(np.int64, copy=False) << TAG_SHIFT) | number
    return tags, begins


def store_matches(matches: Bindings) -> Arrays:
    """The matches as arrays."""
    tags, begins = tags_of(matches)
    return {
        "ids": tags,
        "offsets": begins,
        "starts": matches.starts,
        "ends": matches.ends,
        "end_positions": matches.completion_positions,
    }


def load_matches(state: Arrays, components: Sequence[ast.Component]) -> Bindings:
    """The matches of a snapshot, with these components as variables."""
    matches = Bindings.of_tags(state["ids"], state["offsets"], components, 0)
    stored = state["end_positions"]
    return replace(
        matches,
        known_times=MatchTimes.of(state["starts"], state["ends"]),
        # Version 0.1.0 stored no position if a match waited for its window to end.
        completed_at=np.where(stored == WINDOW_END, matches.last_events(), stored),
    )
