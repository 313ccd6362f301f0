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
from cepheid.matches.positions import (
    ABSENT,
    Column,
    ListPositions,
    SinglePositions,
    offsets_of,
    places_in_rows,
)
from cepheid.snapshot_checks import FAR, check_arrays, expected, require
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
        tags[places] = (positions.astype(np.int64, copy=False) << _shift(len(columns))) | number
    return tags, begins


def _shift(variables: int) -> int:
    """The bits of a tag that number its variable; only the reference evaluation needs more."""
    return max(TAG_SHIFT, (variables - 1).bit_length())


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


def check_tags(tags: Int64s, begins: Int64s, components: Sequence[ast.Component]) -> None:
    """Refuse matches with unknown variables, or with two events for a variable that has one."""
    component = tags & ((1 << _shift(len(components))) - 1)
    require((component < len(components)).all(), "a match has an unknown variable")
    is_single = np.array([not each.is_kleene for each in components])[component]
    match = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    cells = np.sort((match * len(components) + component)[is_single])
    require((cells[1:] != cells[:-1]).all(), "a match has two events for one variable")


def _of_long_tags(tags: Int64s, begins: Int64s, components: Sequence[ast.Component]) -> Bindings:
    """The matches of more variables than kernels can number."""
    shift = _shift(len(components))
    number = tags & ((1 << shift) - 1)
    match = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    columns: dict[str, Column] = {}
    for ix, component in enumerate(components):
        own = number == ix
        lengths = np.bincount(match[own], minlength=len(begins) - 1)
        if component.is_kleene:
            columns[component.variable] = ListPositions(offsets_of(lengths), tags[own] >> shift)
            continue
        positions = np.full(len(begins) - 1, ABSENT, dtype=np.int64)
        positions[match[own]] = tags[own] >> shift
        columns[component.variable] = SinglePositions(positions)
    return Bindings(columns, len(begins) - 1)


def load_matches(state: Arrays, components: Sequence[ast.Component], events: range) -> Bindings:
    """The matches of a snapshot, with these components as variables.

    ``events`` are the numbers that the events of a match can have.
    """
    shift = _shift(len(components))
    described = {
        "ids": expected(np.int64, "ids", each=(events.start << shift, FAR)),
        "offsets": expected(np.int64, "offsets", each=(0, FAR)),
        **{name: expected(np.int64, "matches") for name in ("starts", "ends", "end_positions")},
    }
    sizes = check_arrays(state, described)
    begins = state["offsets"]
    require(len(begins) == sizes["matches"] + 1, "matches begin at too many places")
    are_split = begins[0] == 0 and begins[-1] == sizes["ids"] and (np.diff(begins) > 0).all()
    require(are_split, "matches do not begin where others end")
    check_tags(state["ids"], begins, components)
    require((state["ids"] >> shift < events.stop).all(), "a match has an unknown event")
    if shift == TAG_SHIFT:
        matches = Bindings.of_tags(state["ids"], begins, components, 0)
    else:
        matches = _of_long_tags(state["ids"], begins, components)
    stored = state["end_positions"]
    return replace(
        matches,
        known_times=MatchTimes.of(state["starts"], state["ends"]),
        # Version 0.1.0 stored no position if a match waited for its window to end.
        completed_at=np.where(stored == WINDOW_END, matches.last_events(), stored),
    )
