"""One run at a time: where the search stops if matches must not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cepheid as cep


def events(count: int = 3_000) -> dict[str, Any]:
    random = np.random.default_rng(5)
    price = 100 + np.cumsum(np.where(random.random(count) < 0.7, 1, -1))
    return {"ts": np.arange(count), "type": ["Stock"] * count, "price": price % 40, "id": price % 2}


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(Stock a, Stock+ b[], Stock c) WHERE skip_till_next_match(a, b[], c) "
        "{ [id] AND b[i].price > a.price AND c.price < a.price } WITHIN 60",
        "PATTERN SEQ(Stock a, Stock b, Stock c) WHERE a.price > b.price AND c.price = 7 WITHIN 30",
        "PATTERN SEQ(Stock a, Stock+ b[]) WHERE skip_till_next_match(a, b[]) "
        "{ b[i].price > a.price + 3 } WITHIN 60",
    ],
)
def test_the_search_stops_at_a_match(text: str) -> None:
    query, backtrack = cep.query(text), {"algorithm": "backtrack"}
    wanted = query.match(events(), evaluation="nfa_b", output="non_overlapping")
    every = query.match(events(), evaluation="nfa_b", options=backtrack)
    found = query.match(events(), evaluation="nfa_b", output="non_overlapping", options=backtrack)
    assert found.bindings() == wanted.bindings()
    assert len(found) <= found.metrics.matches < 0.5 * every.metrics.matches
    session = query.session(evaluation="nfa_b", output="non_overlapping", options=backtrack)
    parts = []
    for low in range(0, 3_000, 7):
        batch = {name: values[low : low + 7] for name, values in events().items()}
        parts += session.feed(batch).bindings()
    assert parts + session.advance().bindings() == wanted.bindings()
