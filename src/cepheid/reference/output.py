"""The definition of OUTPUT, executed: which matches are reported.

Like :mod:`cepheid.reference.definition`, it is slow and obvious.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cepheid.language import syntax as ast
from cepheid.reference.match import Match, partition_of, sort_key


def first(query: ast.Query, matches: list[Match]) -> list[Match]:
    """For each first event, the match that completes first."""
    return [
        min(found, key=lambda match: (match.completed, sort_key(query, match)))
        for found in _by_first_event(matches)
    ]


def longest(query: ast.Query, matches: list[Match]) -> list[Match]:
    """For each first event, the match with the most events; of these, the last to complete."""
    return [_longest(query, found) for found in _by_first_event(matches)]


def leftmost(query: ast.Query, matches: list[Match]) -> list[Match]:
    """In each partition the longest match of the earliest start, and so on after its last event."""
    chosen = []
    for partition in _by_partition(query, matches):
        after = -1
        for found in _by_first_event(partition):
            if found[0].events()[0].position > after:
                chosen.append(_longest(query, found))
                after = chosen[-1].events()[-1].position
    return chosen


def non_overlapping(query: ast.Query, matches: list[Match]) -> list[Match]:
    """Greedily in order of completion; of matches that the same event completes, the shortest."""
    chosen = []
    for partition in _by_partition(query, matches):
        partition.sort(key=lambda match: (match.completed, -_start(match), sort_key(query, match)))
        last: Match | None = None
        for match in partition:
            begins = match.events()[0]
            if (
                last is None
                or (last.waited and begins.ticks >= last.ended)
                or (not last.waited and begins.position > last.events()[-1].position)
            ):
                chosen.append(match)
                last = match
    return chosen


MODES: dict[str, Callable[[ast.Query, list[Match]], list[Match]]] = {
    "all": lambda _query, matches: matches,
    "first": first,
    "longest": longest,
    "leftmost": leftmost,
    "non_overlapping": non_overlapping,
}


def at_most_once(query: ast.Query, matches: list[Match], gap: int) -> list[Match]:
    """In each partition, the matches that end at least ``gap`` after the last one reported."""
    chosen = []
    for partition in _by_partition(query, matches):
        last: int | None = None
        for match in in_order(query, partition):
            if last is None or match.ended - last >= gap:
                chosen.append(match)
                last = match.ended
    return chosen


def in_order(query: ast.Query, matches: Iterable[Match]) -> list[Match]:
    """The matches in the order in which they complete, then in pattern order."""
    return sorted(matches, key=lambda match: (match.completed, sort_key(query, match)))


def _longest(query: ast.Query, matches: list[Match]) -> Match:
    size = max(len(match.events()) for match in matches)
    longest = [match for match in matches if len(match.events()) == size]
    latest = max(match.completed for match in longest)
    return min(
        (match for match in longest if match.completed == latest),
        key=lambda match: sort_key(query, match),
    )


def _start(match: Match) -> int:
    return match.events()[0].position


def _by_first_event(matches: list[Match]) -> list[list[Match]]:
    """The matches with the same first event together, in the order of these events."""
    found: dict[int, list[Match]] = {}
    for match in sorted(matches, key=_start):
        found.setdefault(_start(match), []).append(match)
    return list(found.values())


def _by_partition(query: ast.Query, matches: list[Match]) -> list[list[Match]]:
    """The matches of each partition."""
    found: dict[tuple[Any, ...], list[Match]] = {}
    for match in matches:
        found.setdefault(partition_of(query, match), []).append(match)
    return list(found.values())
