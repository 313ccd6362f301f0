"""Confidences where intervals are too long for all possible worlds to be enumerated.

The sum over all times is made here event by event in integers, or plainly over all times of
the events of a match, with the probability of each rival to stay away.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cepheid as cep

Interval = tuple[int, int]


@st.composite
def intervals(draw: st.DrawFn, most: int, longest: int, fewest: int = 1) -> list[Interval]:
    found = []
    for _ in range(draw(st.integers(fewest, most))):
        lower = draw(st.integers(0, longest + longest // 2))
        found.append((lower, lower + draw(st.integers(0, longest))))
    return found


def size(interval: Interval) -> int:
    return interval[1] - interval[0] + 1


def worlds_in_order(events: list[Interval], window: int) -> tuple[int, int, int]:
    """How many times of the events are in order in a window, the earliest first and last time."""
    total, start, end = 0, 0, 0
    for first in range(events[0][0], events[0][1] + 1):
        ways = {first: 1}
        for lower, upper in events[1:]:
            latest = min(upper, first + window - 1)
            ways = {
                time: sum(count for before, count in ways.items() if before < time)
                for time in range(lower, latest + 1)
            }
        possible = [time for time, count in ways.items() if count]
        if possible:
            start = first if not total else start
            total += sum(ways.values())
            end = max(end, *possible)
    return total, start, end


def sequence(count: int, strategy: str = "skip_till_any_match") -> str:
    parts = ", ".join(f"T{number} v{number}" for number in range(count))
    return f"PATTERN SEQ({parts}) WHERE {strategy}"


def answers(query: cep.CompiledQuery, table: Any, **keywords: Any) -> list[tuple[Any, ...]]:
    found = query.match(table, time=("lower", "upper"), **keywords)
    return [
        (match.bindings, match.start, match.end, pytest.approx(match.confidence, abs=1e-9))
        for match in found
    ]


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(events=intervals(6, 40), window=st.integers(1, 90))
def test_a_confidence_is_the_share_of_the_worlds_in_order(
    events: list[Interval], window: int
) -> None:
    query = cep.query(f"{sequence(len(events))} WITHIN {window}")
    columns = {
        "lower": [lower for lower, _ in events],
        "upper": [upper for _, upper in events],
        "type": [f"T{number}" for number in range(len(events))],
    }
    total, start, end = worlds_in_order(events, window)
    confidence = Fraction(total, prod(map(size, events)))
    binding = {f"v{number}": number for number in range(len(events))}
    wanted = [(binding, start, end, float(confidence))] if total else []
    assert answers(query, columns) == wanted
    # The same with every probability said: these are summed and not counted.
    shares = pa.array([[1 / size(each)] * size(each) for each in events], pa.list_(pa.float64()))
    said = pa.table({**columns, "p": shares})
    assert answers(query, said, probabilities="p") == wanted


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    events=intervals(6, 9, fewest=3),
    types=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    window=st.integers(2, 20),
    count=st.integers(2, 3),
)
def test_rivals_stay_away_with_the_probability_of_their_times(
    events: list[Interval], types: list[int], window: int, count: int
) -> None:
    types = [min(each, count - 1) for each in types[: len(events)]]
    query = cep.query(f"{sequence(count, 'skip_till_next_match')} WITHIN {window}")
    columns = {
        "lower": [lower for lower, _ in events],
        "upper": [upper for _, upper in events],
        "type": [f"T{number}" for number in types],
    }
    wanted = []
    of_type = [[n for n, each in enumerate(types) if each == wanted] for wanted in range(count)]
    for chosen in product(*of_type):
        rivals = [
            [events[other] for other in of_type[place] if other != chosen[place]]
            for place in range(1, count)
        ]
        total, firsts, lasts = Fraction(0), [], []
        for times in product(*(range(events[n][0], events[n][1] + 1) for n in chosen)):
            if times[-1] - times[0] >= window or any(a >= b for a, b in pairwise(times)):
                continue
            share = prod(
                (
                    outside(rival, before, after)
                    for (before, after), others in zip(pairwise(times), rivals, strict=True)
                    for rival in others
                ),
                start=Fraction(1),
            )
            if share:
                total += share
                firsts.append(times[0])
                lasts.append(times[-1])
        if total:
            confidence = float(total / prod(size(events[n]) for n in chosen))
            binding = {f"v{place}": n for place, n in enumerate(chosen)}
            wanted.append((binding, min(firsts), max(lasts), confidence))
    found = answers(query, columns)
    assert sorted(map(str, (each[:3] for each in found))) == sorted(
        map(str, (each[:3] for each in wanted))
    )
    confidences = {str(each[0]): each[3] for each in wanted}
    assert all(confidences[str(each[0])] == each[3] for each in found)


def outside(rival: Interval, before: int, after: int) -> Fraction:
    """The probability that a rival is not between two times."""
    between = min(rival[1], after - 1) - max(rival[0], before + 1) + 1
    return 1 - Fraction(max(between, 0), size(rival))
