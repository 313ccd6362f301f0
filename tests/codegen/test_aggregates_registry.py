"""An aggregate is added by an entry in the registry, and works in every evaluation and on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.aggregates import AGGREGATES, MAX, MIN, Aggregate, numbers_only
from cepheid.language.printer import print_query
from cepheid.matches.matches import Matches
from cepheid.schema import Kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPREAD = Aggregate(
    "spread",
    python=lambda values: float(max(values) - min(values)),
    refusal=numbers_only("spread"),
    kind=lambda _: Kind.FLOAT,
    folds=(MIN, MAX),
    native=lambda low, high: f"{high} - {low}",
    columns=lambda folds: pc.subtract(folds[MAX], folds[MIN]),
)

EVENTS = {
    "ts": list(range(9)),
    "type": list("ABBBCABBC"),
    "id": [1] * 9,
    "x": [0, 4, None, 9, 5, 0, 7, 8, 1],
}
PRIOR = """
    PATTERN SEQ(A a, B+ b[], C c)
    WHERE skip_till_next_match { [id] AND spread(b[..i-1].x) < 3 }
    RETURN spread(b[].x) AS spread
"""
WHOLE = """
    PATTERN SEQ(A a, B+ b[], C c)
    WHERE [id] AND spread(b[].x) < c.x AND b.LEN > 1
    WITHIN 9
    RETURN spread(b[].x) AS spread
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGGREGATES, "spread", SPREAD)


@pytest.mark.parametrize("text", [PRIOR, WHOLE], ids=["prior", "whole"])
@pytest.mark.parametrize("evaluation", ["nfa_b", "lazy_chain", "lazy_tree"])
def test_every_evaluation_that_takes_lists_computes_it(text: str, evaluation: str) -> None:
    query = cep.query(text)
    expected = query.match(EVENTS, evaluation="reference")
    assert len(expected) > 1
    try:
        found = query.match(EVENTS, evaluation=evaluation)
    except cep.EvaluationError:
        # Lazy automata have no skip_till_next_match, whatever the aggregate.
        assert evaluation != "nfa_b"
        assert "skip_till_next_match" in text
        return
    assert rows(found) == rows(expected)


def test_sessions_keep_its_running_values() -> None:
    query = cep.query(PRIOR)
    whole = query.match(EVENTS)
    session = query.session()
    found = []
    for at in range(9):
        found += rows(session.feed({name: column[at : at + 1] for name, column in EVENTS.items()}))
        session = query.restore(session.snapshot())
    assert sorted(found) == rows(whole)


def test_it_is_printed_checked_and_built() -> None:
    query = cep.query(PRIOR)
    assert "spread(b[..i-1].x) < 3" in print_query(query.tree)
    with pytest.raises(cep.QuerySemanticError, match="spread is over numbers"):
        query.match({**EVENTS, "x": list("abcdefghi")})
    with pytest.raises(cep.QuerySemanticError, match="spread needs a Kleene variable"):
        cep.query("PATTERN SEQ(A a, B b) WHERE spread(a.x) > 1")


def test_spark_workers_know_it(spark: SparkSession) -> None:
    values = zip(EVENTS["ts"], EVENTS["type"], EVENTS["id"], EVENTS["x"], strict=True)
    frame = spark.createDataFrame(list(values), "ts long, type string, id long, x long")
    query = cep.query(WHOLE)
    on_spark = sorted(row["spread"] for row in query.match(frame).collect())
    assert on_spark == sorted(query.match(EVENTS).to_arrow()["spread"].to_pylist())


def rows(matches: Matches) -> list[str]:
    """The matches in a form that can be compared."""
    return sorted(map(str, matches.to_arrow().to_pylist()))
