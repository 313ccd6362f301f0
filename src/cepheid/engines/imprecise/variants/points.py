"""Signatures and their scores by points: every instant of an event is an event [Zhang10 §4]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.budget import charge
from cepheid.engines.imprecise.layout import (
    NEED_RUNS,
    RESUME_AT,
    Batch,
    PointRoom,
    Points,
    Scores,
    Signatures,
)
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.engines.imprecise.variants.kernels.points import match_points
from cepheid.events.arrays import int64s, zeros
from cepheid.matches.positions import offsets_of
from cepheid.tuning import tuning


def search_points(search: SignatureSearch) -> Iterator[tuple[Signatures, Scores]]:
    """The signatures of a search that has begun, in blocks that are valid until the next."""
    components = len(search.automaton.steps)
    points = _points_of(search.batch, components)
    room, scores = _room(tuning().point_entries, components), Scores.room(0)
    search.control[RESUME_AT] = search.batch.candidates.borders[0, 0]

    def more_entries() -> None:
        nonlocal room
        room = _room(2 * len(room.entries), components)

    def match(out: Signatures) -> int:
        nonlocal scores
        if len(scores.starts) < len(out.offsets):
            scores = Scores.room(len(out.offsets))
        status: int = match_points(
            search.control, search.batch, search.conditions, points, room, out, scores
        )
        return status

    for signatures in search.run(match, {NEED_RUNS: more_entries}):
        yield signatures, scores.first(signatures.size)


def _room(entries: int, components: int) -> PointRoom:
    return PointRoom(
        np.zeros((4, components + 1), dtype=np.int64),
        int64s(4 * entries),
        zeros((entries, components), np.int64),
        np.zeros((4, max(entries, components))),
    )


_POINT_BYTES = 64
"""What an instant of a candidate takes while the instants are sorted."""


def _points_of(batch: Batch, components: int) -> Points:
    """Every instant of every candidate of each component, by partition and time."""
    lower, upper, candidates = batch.intervals.lower, batch.intervals.upper, batch.candidates
    all_times, all_events = [], []
    borders = np.zeros((components, candidates.borders.shape[1]), dtype=np.int64)
    begun = 0
    for component in range(components):
        row = candidates.borders[2 * component]
        places = candidates.places[row[0] : row[-1]]
        sizes = upper[places] - lower[places] + 1
        charge(_POINT_BYTES * int(sizes.sum()))
        ends = offsets_of(sizes)
        events = np.repeat(places, sizes)
        times = np.arange(len(events)) + np.repeat(lower[places] - ends[:-1], sizes)
        order = np.lexsort((times, batch.partition_of[events]))
        all_times.append(times[order])
        all_events.append(events[order])
        borders[component] = ends[row - row[0]] + begun
        begun += len(times)
    return Points(np.concatenate(all_times), np.concatenate(all_events), borders)
