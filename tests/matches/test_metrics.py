"""What an evaluation says that it did."""

from __future__ import annotations

from typing import Any

import pytest

import cepheid as cep

EVENTS = {
    "ts": range(3_000),
    "type": ["A"] * 2_999 + ["B"],
    "x": [1.0] * 3_000,
}
QUERY = cep.query("PATTERN SEQ(A a, A b, B c) WHERE a.x < b.x AND b.x < c.x WITHIN 3000")


@pytest.mark.parametrize(
    "evaluation",
    [
        {"evaluation": "nfa_b"},
        {"evaluation": "nfa_b", "options": {"buffer": "versioned"}},
        {"evaluation": "instance_stacks"},
        {"evaluation": "lazy_chain"},
        {"evaluation": "lazy_tree"},
    ],
)
def test_memory_is_at_least_what_is_kept(evaluation: dict[str, Any]) -> None:
    metrics = QUERY.match(EVENTS, **evaluation).metrics
    # Every A is kept, as a run, an instance or a number in a buffer.
    assert 2_999 * 8 <= metrics.memory < 10_000_000
    assert metrics.to_dict()["memory"] == metrics.memory
