"""Experiments 1 to 5 of [Wu06 §5], and the comparison with C."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.c_bound.native import has_compiler
from benchmarks.timing import time_in_turn
from benchmarks.wu06.native import NativeStacks
from benchmarks.wu06.stream import TYPES, Sequence, query_text, table
from cepheid.engines.base.engine import Chunk
from cepheid.matches.stored import tags_of

Row = dict[str, Any]
LENGTH = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured: events of a stream, the points of each figure, rounds."""

    events: int
    few_events: int
    window: int
    windows: tuple[int, ...]
    domains: tuple[int, ...]
    small_domains: tuple[int, ...]
    second_domains: tuple[int, ...]
    lengths: tuple[int, ...]
    rounds: int


FULL = Settings(
    events=4_000_000,
    few_events=100_000,
    window=10_000,
    windows=(10_000, 20_000, 50_000, 100_000),
    domains=(100, 200, 500, 1_000, 2_000, 5_000, 10_000),
    small_domains=(10, 20, 50, 100, 200, 500, 1_000, 10_000),
    second_domains=(20, 5),
    lengths=(2, 3, 4, 5, 6),
    rounds=3,
)
TINY = Settings(4_000, 2_000, 500, (200, 500), (10, 100), (10, 50), (5,), (2, 3), 1)
"""For seeing that everything runs."""


def _fastest(
    runs: dict[str, tuple[Sequence, dict[str, Any]]], rounds: int
) -> Iterator[tuple[str, float, Any]]:
    """For each way of running a sequence: its name, events per second, and what it did."""
    ways = {name: partial(_run, sequence, options) for name, (sequence, options) in runs.items()}
    for name, seconds in time_in_turn(ways, rounds).items():
        sequence, options = runs[name]
        metrics = sequence.run(sequence.session(**options)).metrics
        yield name, len(sequence.events) / min(seconds), metrics


def _run(sequence: Sequence, options: dict[str, Any]) -> None:
    sequence.run(sequence.session(**options))


def constructions(settings: Settings) -> Iterator[Row]:
    """Experiments 1 and 2: AIS and basic, over the domain and over the window.

    As in the paper no equivalence test is made: its effect on the number of matches is that of
    more types, by a factor V1^((L-1)/L).
    """
    points = [(1, domain, settings.window) for domain in settings.domains]
    points += [(2, settings.domains[-1], window) for window in settings.windows]
    for experiment, domain, window in points:
        types = round(TYPES * domain ** ((LENGTH - 1) / LENGTH))
        count = max(settings.few_events, 4 * window)
        sequence = Sequence(query_text(LENGTH, window), window, table(count, {}, types))
        row: Row = {"experiment": experiment, "domain": domain, "window": window}
        ways = {name: (sequence, {"construction": name}) for name in ("ais", "basic")}
        for name, speed, metrics in _fastest(ways, settings.rounds):
            row[f"{name}_events_per_s"] = speed
            row["matches_per_event"] = metrics.matches / count
        yield row


def push_downs(settings: Settings) -> Iterator[Row]:
    """What is gained by testing early: the first equivalence test, the window and a negation.

    In a tenth of the window: without PAIS, nearly all sequences that are constructed are wrong, and
    the paper's plan did not complete this experiment (§5.3).
    """
    window, count = settings.window // 10, settings.few_events // 4
    places = {
        "equivalence test": ("equivalence", ("pais", "selection")),
        "window": ("window", ("scan", "construction", "selection")),
    }
    for domain in (10, 100, 1_000):
        stream = table(count, {"attr1": domain, "attr2": 10})
        plain = Sequence(query_text(LENGTH, window, "[attr1]"), window, stream)
        cases: dict[str, dict[str, tuple[Sequence, dict[str, Any]]]] = {
            test: {place: (plain, {option: place}) for place in chosen}
            for test, (option, chosen) in places.items()
        }
        # The second is the same test, written so that it cannot be seen to be about one event.
        tests = {"scan": "n.attr2 = 1", "selection": "n.attr2 + 0 * e1.attr2 = 1"}
        cases["negation"] = {
            place: (Sequence(_negated(window, test), window, stream), {})
            for place, test in tests.items()
        }
        for test, ways in cases.items():
            row: Row = {"experiment": "push-down", "domain": domain, "test": test}
            for place, speed, metrics in _fastest(ways, settings.rounds):
                row |= {f"{place}_events_per_s": speed, f"{place}_sequences": metrics.sequences}
            yield row


def _negated(window: int, condition: str) -> str:
    text = query_text(LENGTH, window, f"[attr1] AND {condition}")
    return text.replace("E1 e1, E2 e2", "E1 e1, ~(E4 n), E2 e2")


def equivalences(settings: Settings) -> Iterator[Row]:
    """Experiment 3: where the second of two equivalence tests is made."""
    for second in settings.second_domains:
        for domain in settings.small_domains:
            stream = table(settings.few_events, {"attr1": domain, "attr2": second})
            text = query_text(LENGTH, settings.window, "[attr1, attr2]")
            sequence = Sequence(text, settings.window, stream)
            # The first test is the one that is pushed, as in the paper, however small it is.
            first = {"domains": {"attr1": 10**9}}
            ways = {
                name: (sequence, {"equivalence": option, **first})
                for name, option in (
                    ("selection", "pais"),
                    ("multi_pais", "multi_pais"),
                    ("dynamic", "dynamic"),
                )
            }
            row: Row = {"experiment": 3, "domain": domain, "second_domain": second}
            for name, speed, metrics in _fastest(ways, settings.rounds):
                row[f"{name}_events_per_s"] = speed
                per_period = 10_000 * metrics.sequences / settings.few_events
                row[f"{name}_sequences_per_10000"] = per_period
            yield row


def predicates(settings: Settings) -> Iterator[Row]:
    """Experiment 4: a simple and a parameterised predicate more, pushed down and not."""
    domains = {"attr1": 10, "attr2": 5, "attr3": 10, "attr4": 100}
    stream = table(settings.few_events, domains)
    simple = "e1.attr3 = 1"
    # The same test, written so that it cannot be seen to be about one event.
    not_pushed = "e1.attr3 + 0 * e2.attr3 = 1"
    compared = "e1.attr4 < e3.attr4"
    conditions = {
        "equivalence tests": "[attr1, attr2]",
        "and a simple predicate": f"[attr1, attr2] AND {simple}",
        "the same, not pushed down": f"[attr1, attr2] AND {not_pushed}",
        "and a comparison": f"[attr1, attr2] AND {simple} AND {compared}",
    }
    ways: dict[str, tuple[Sequence, dict[str, Any]]] = {
        name: (Sequence(query_text(LENGTH, settings.window, text), settings.window, stream), {})
        for name, text in conditions.items()
    }
    for name, speed, metrics in _fastest(ways, settings.rounds):
        yield {
            "experiment": 4,
            "conditions": name,
            "events_per_s": speed,
            "sequences": metrics.sequences,
            "matches": metrics.matches,
        }


def _codes(sequence: Sequence, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The type of each event, and the component of each type or -1, as C reads them."""
    numbers = [int(name[1:]) for name in sequence.events.type_names]
    components = [number - 1 if number <= length else -1 for number in numbers]
    codes = np.ascontiguousarray(sequence.events.type_codes)
    return codes, np.array(components, dtype=np.int64)


def lengths(settings: Settings) -> Iterator[Row]:
    """Experiment 5: longer sequences, one equivalence test with 100 values; and the same in C."""
    domain = 100
    stream = table(settings.events // 4, {"attr1": domain})
    ways: dict[str, tuple[Sequence, dict[str, Any]]] = {
        str(length): (
            Sequence(query_text(length, settings.window, "[attr1]"), settings.window, stream),
            {},
        )
        for length in settings.lengths
    }
    by_c = _lengths_by_c(settings, ways, stream["attr1"].to_numpy().copy(), domain)
    first: Row | None = None
    for name, speed, metrics in _fastest(ways, settings.rounds):
        row: Row = {"experiment": 5, "length": int(name), "events_per_s": speed}
        row["matches_per_event"] = metrics.matches / stream.num_rows
        if by_c:
            count, row["c_events_per_s"] = by_c[name]
            if count != metrics.matches:
                raise AssertionError(f"{metrics.matches} matches of length {name}, {count} by C")
        first = first or row
        row["normalised"] = speed / first["events_per_s"]
        if by_c:
            row["c_normalised"] = row["c_events_per_s"] / first["c_events_per_s"]
        yield row


def _lengths_by_c(
    settings: Settings, ways: dict[str, tuple[Sequence, Any]], ids: np.ndarray, domain: int
) -> dict[str, tuple[int, float]]:
    """For each length how many matches C finds, and events per second; nothing without gcc."""
    if not has_compiler():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            name: partial(
                NativeStacks(Path(folder), int(name)).run,
                *_codes(sequence, int(name)),
                ids,
                domain,
                settings.window,
            )
            for name, (sequence, _) in ways.items()
        }
        seconds = time_in_turn(runs, settings.rounds)
        return {name: (run(), len(ids) / min(seconds[name])) for name, run in runs.items()}


def compared_with_c(settings: Settings, domain: int = 10_000) -> Row:
    """SEQ(E1, E2, E3) WHERE [id]: the session, the stacks alone, and C; matches are the same.

    To the stacks alone and to C ids are numbers from 0 on. The session knows nothing of them,
    and the C beside it that numbers them as well does not either.
    """
    stream = table(settings.events, {"id": domain})
    sequence = Sequence(query_text(LENGTH, settings.window, "[id]"), settings.window, stream)
    ids = stream["id"].to_numpy().copy()
    codes, components = _codes(sequence, LENGTH)
    # Compiling a query is no part of running it.
    rounds = 2 * settings.rounds
    engines = [sequence.engine() for _ in range(rounds + 2)]

    def stacks() -> list[np.ndarray]:
        engine = engines.pop()
        return [
            tags_of(block)[0]
            for batch, partitions, axis in sequence.batches(ids)
            for block in engine.feed(Chunk(batch, partitions, domain, axis), 0)
        ]

    with tempfile.TemporaryDirectory() as folder:
        native = NativeStacks(Path(folder), LENGTH)
        numbering = NativeStacks(Path(folder), LENGTH, any_id=True)
        by_c: list[np.ndarray] = []
        arguments = (codes, components, ids, domain, settings.window)
        count = native.run(*arguments, lambda tags: by_c.append(tags.copy()))
        nothing = np.empty(0, dtype=np.int64)
        ours, theirs = (
            np.concatenate([nothing, *each]).reshape(-1, LENGTH) for each in (stacks(), by_c)
        )
        if not np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)]):
            raise AssertionError("the matches of the stacks are not those of C")
        if numbering.run(*arguments) != count:
            raise AssertionError("C finds other matches where it numbers the ids")
        seconds = time_in_turn(
            {
                "c": partial(native.run, *arguments),
                "numbering_c": partial(numbering.run, *arguments),
                "stacks": stacks,
                "session": partial(_run, sequence, {}),
            },
            rounds,
        )
    fastest = {name: min(each) for name, each in seconds.items()}
    return {
        "events": settings.events,
        "matches": count,
        **{f"{name}_M/s": settings.events / each / 1e6 for name, each in fastest.items()},
        "stacks/c": fastest["c"] / fastest["stacks"],
        "session/c": fastest["c"] / fastest["session"],
        "session/numbering_c": fastest["numbering_c"] / fastest["session"],
    }
