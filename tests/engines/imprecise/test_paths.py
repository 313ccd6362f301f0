"""How many partial matches a search over uncertain times looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cepheid as cep
from cepheid.samples import cluster_load

COUNT = 600
RISING = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 200"


def events(low: int = 0, high: int = COUNT) -> dict[str, Any]:
    random = np.random.default_rng(3)
    types = np.array(list("ABCXYZ"))[random.integers(0, 6, COUNT)]
    x = random.integers(0, 100, COUNT)
    ts = 10 * np.arange(COUNT)
    return {"ts": ts[low:high], "type": types[low:high], "x": x[low:high]}


def fed(text: str, size: int) -> tuple[int, int]:
    """The paths, and the matches, in batches of this size."""
    session, matches = cep.query(text).session(uncertainty=25), 0
    for low in range(0, COUNT, size):
        matches += len(session.feed(events(low, low + size)))
    matches += len(session.advance())
    return session.metrics.runs_created, matches


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("PATTERN SEQ(A a, B b, C c) WITHIN 200", 1.2),
        (RISING, 1.2),
        ("PATTERN AND(A a, B b) WITHIN 200", 1.2),
        ("PATTERN SEQ(A a, ~(X x), C c) WITHIN 200", 1.2),
        ("PATTERN SEQ(~(X x), A a, C c) WITHIN 200", 1.2),
        ("PATTERN SEQ(A a, C c, ~(X x)) WITHIN 200", 1.2),
        # An event that could be next excludes fewer others if the search begins with the first.
        ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) WITHIN 200", 1.3),
    ],
)
def test_single_events_look_at_what_batches_look_at(text: str, most: float) -> None:
    one_by_one, found = fed(text, 1)
    in_batches, expected = fed(text, COUNT // 2)
    assert found == expected > 50
    assert one_by_one <= most * in_batches


@pytest.mark.parametrize("method", ["any_state", "selectivity", "query_order"])
def test_conditions_are_tested_as_soon_as_their_events_are_bound(method: str) -> None:
    def paths(condition: str) -> int:
        query = cep.query(f"PATTERN SEQ(A a, B b, C c) WHERE {condition} WITHIN 200")
        found = query.match(events(), uncertainty=25, options={"method": method})
        return found.metrics.runs_created

    free = paths("a.x >= 0")
    assert paths("b.x = c.x + 1") < free
    assert paths("a.x = c.x + 1") < free
    assert paths("b.x = c.x + 1 AND a.x = b.x + 1") < paths("a.x = b.x + 1")


def test_no_run_begins_that_no_later_event_can_complete() -> None:
    # A task that finishes has no condition with the load of a node, except through its start.
    traces = cluster_load.generate(1_000, seed=1)
    reading = {"uncertainty": cluster_load.UNCERTAINTY, "granularity": cluster_load.GRANULARITY}
    query = cep.query(cluster_load.QUERY)
    paths = {}
    for method in ("any_state", "query_order"):
        found = query.match(traces, options={"method": method}, **reading)
        paths[method] = found.metrics.runs_created
    assert paths["any_state"] <= paths["query_order"]


@pytest.mark.parametrize("method", ["any_state", "selectivity", "query_order"])
@pytest.mark.parametrize("keyword", [{"min_confidence": 1.0}, {"top_k": 3}])
def test_confidences_bound_the_search(
    method: str, keyword: dict[str, Any], tune: Callable[..., None]
) -> None:
    tune(signature_matches=1 << 12)
    query = cep.query("PATTERN SEQ(A a, B b, C c) WITHIN 200")
    options = {"method": method}
    every = query.match(events(), uncertainty=25, options=options)
    best = query.match(events(), uncertainty=25, options=options, **keyword)
    assert best.metrics.runs_created < every.metrics.runs_created
    sure = sorted((match.confidence or 0 for match in every), reverse=True)
    assert [match.confidence for match in best][:3] == pytest.approx(sure[:3])


def test_events_that_nothing_depends_on_are_not_kept() -> None:
    query, others = cep.query("PATTERN SEQ(A a, ~(X x), B b)"), "YZ" * 50
    session = query.session(uncertainty=1)
    for ts, kind in enumerate(f"A{others}B"):
        found = session.feed({"ts": [10 * ts], "type": [kind]})
    assert len(found) + len(session.advance()) == 1
    assert session.metrics.events == 102
    few = query.session(uncertainty=1)
    few.feed({"ts": [0, 1_010], "type": ["A", "B"]})
    assert len(session.snapshot()) <= len(few.snapshot()) + 100


def test_events_that_no_component_takes() -> None:
    session = cep.query("PATTERN AND(A a, B b) WITHIN 10").session(uncertainty=1)
    for ts, kind in enumerate("AXB"):
        found = session.feed({"ts": [ts], "type": [kind]})
    assert len(found) == 1
