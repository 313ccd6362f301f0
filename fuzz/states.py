"""Damaged snapshots of sessions that are made here: of row patterns, rules and corrections."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import cepheid as cep

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from fixtures.states.damage import damaged

ROWS = (
    "PARTITION BY k ORDER BY ts MEASURES count(D.*) AS n PATTERN (S D+) DEFINE D AS x < PREV(x)",
    "ORDER BY ts MEASURES MATCH_NUMBER() AS m, sum(x) AS s ALL ROWS PER MATCH "
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) "
    "DEFINE B AS x > avg(A.x), C AS x < NEXT(x) OR x IS NULL",
    "PARTITION BY k ORDER BY ts PATTERN (A{2,4}?) WITHIN INTERVAL '3' SECOND DEFINE A AS x >= 1",
)
PER_PARTITION = "PATTERN SEQ(A a, B+ b[]) WHERE [k] WITHIN 3 EVENTS PER PARTITION"
RULES = {
    "pair": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 4",
    "same": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x > b.x WITHIN 4",
    "absent": "PATTERN SEQ(A a, ~(B b)) WHERE [k] WITHIN 3",
    "last": {"query": "PATTERN A+ a[] WITHIN 3 OUTPUT LEFTMOST", "at_most_once_per": 2},
    "rows": f"MATCH_RECOGNIZE ({ROWS[0]})",
}


class State(NamedTuple):
    """A snapshot, and how its session is restored."""

    name: str
    snapshot: bytes
    restore: Callable[[bytes], Any]


def _events(low: int, high: int) -> dict[str, list[Any]]:
    each = range(low, high)
    values = {"type": ["AB"[n % 2] for n in each], "x": [n * 7 % 5 for n in each]}
    return {"ts": list(each), **values, "k": ["uv"[n % 3 > 1] for n in each]}


@cache
def states() -> tuple[State, ...]:
    """One snapshot of each kind of session, after some events."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_states())


def _states() -> Iterator[State]:
    for number, clause in enumerate(ROWS):
        rows = cep.query(f"MATCH_RECOGNIZE ({clause})")
        session: Any = rows.session(time_unit="s")
        session.feed(_events(0, 9))
        restore = lambda data, rows=rows: rows.restore(data, time_unit="s")  # noqa: E731
        yield State(f"rows {number}", session.snapshot(), restore)
    rules = cep.rules(RULES)
    for keywords in ({}, {"retain": 5}):
        session = rules.session(**keywords)
        session.feed(_events(0, 9))
        restore = lambda data, keywords=keywords: rules.restore(data, **keywords)  # noqa: E731
        yield State(f"rules {keywords}", session.snapshot(), restore)
    for text in (RULES["pair"], RULES["absent"], PER_PARTITION):
        query: Any = cep.query(str(text))
        options = {} if text == PER_PARTITION else {"corrections": 3}
        for keywords in (options, {**options, "evaluation": "reference"}):
            session = query.session(**keywords)
            session.feed(_events(0, 9))
            restore = lambda data, query=query, keywords=keywords: query.restore(  # noqa: E731
                data, **keywords
            )
            yield State(f"{keywords} {text}", session.snapshot(), restore)


def damaged_live_state(random: Random) -> tuple[str, Callable[[], None]]:
    """A damaged snapshot, and what a program does with it."""
    state = random.choice(states())
    what, data = damaged(state.snapshot, random)
    return f"{state.name}: {what}", lambda: use(state, data)


def use(state: State, data: bytes) -> None:
    """Restore the session and use it: only ``restore`` says that the snapshot is damaged."""
    try:
        session = state.restore(data)
    except cep.SnapshotError:
        return
    except cep.CepheidError as error:
        raise AssertionError("restore raises another error") from error
    try:
        for found in (session.feed(_events(9, 14)), session.advance()):
            repr(found)
        session.snapshot()
    except cep.SnapshotError as error:
        raise AssertionError("a session that was restored says that it is damaged") from error
    except cep.CepheidError:
        return
