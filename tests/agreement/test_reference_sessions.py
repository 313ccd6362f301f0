"""Every legal query has a session, also over events of types that lack attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from agreement.comparison import comparable, is_valid
from agreement.strategies import Case, absence_cases, cases, nested_cases
from agreement.test_output_modes import _has_no_stream, outputs
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.patterns import why_no_timeouts

ATTRIBUTES = ("x", "y", "k", "s")
FEW = {"chunk_events": 3, "few_events": 0, "few_partitions": 0, "few_stored_partitions": 0}
EVERYTHING = {"output": "all", "at_most_once_per": None}


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    tune(**FEW)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """The attributes of each type: most have all."""
    lacking = st.sets(st.sampled_from(ATTRIBUTES), max_size=2)
    return {
        name: tuple(each for each in ATTRIBUTES if each not in lacks)
        for name in "ABCZ"
        for lacks in [draw(st.just(set()) | lacking)]
    }


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=st.one_of(cases(), cases(), nested_cases(), absence_cases()),
    schema=schemas(),
    output=st.just(EVERYTHING) | outputs(),
    cuts=st.lists(
        st.tuples(st.integers(0, 10), st.sampled_from(("", "restart", "advance"))), max_size=6
    ),
)
def test_sessions_agree_with_whole_streams(
    case: Case,
    schema: dict[str, Any],
    output: dict[str, Any],
    cuts: list[tuple[int, str]],
) -> None:
    assume(is_valid(case.query))
    query, table = cep.query(case.query), case.table()
    if why_no_timeouts(query.tree) is not None:
        output = {**output, "timed_out": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            expected = query.match(table, evaluation="reference", schema=schema, **output)
        except cep.QuerySemanticError:
            assume(False)
        event(f"matches: {min(len(expected), 5)}")
        for evaluation in ("reference", "auto"):
            keywords = {"evaluation": evaluation, "schema": schema, **output}
            if _has_no_stream(query, output["output"]):
                continue
            session = query.session(**keywords)
            found, low = [], 0
            for cut, then in [*sorted(cuts), (len(table), "")]:
                high = min(cut, len(table))
                found += comparable(session.feed(table.slice(low, high - low)))
                low = high
                if then == "advance" and low < len(table):
                    found += comparable(session.advance(table["ts"][low].as_py()))
                elif then == "restart":
                    session = query.restore(session.snapshot(), **keywords)
            found += comparable(session.advance())
            assert sorted(found) == sorted(comparable(expected)), evaluation
            assert session.metrics.left_out == expected.metrics.left_out
