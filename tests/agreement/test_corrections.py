"""A session with corrections: at any moment, what stands is what the sorted stream gives."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from agreement.comparison import comparable, is_valid
from agreement.strategies import Case, cases, nested_cases, sequence_cases
from agreement.test_output_modes import EVALUATIONS, MODES
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

EXAMPLES = int(os.environ.get("CEPHEID_CORRECTION_EXAMPLES", "60"))
ANY_CASE = st.one_of(
    sequence_cases(False), sequence_cases(True), cases(), cases(), cases(), nested_cases()
)


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=4, plan_events=3)


@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    case=ANY_CASE,
    output=st.sampled_from((*MODES, "all", "all")),
    gap=st.sampled_from((None, None, 2)),
    bound=st.sampled_from((1, 2, 5, 40)),
    tie=st.sampled_from((None, "n")),
    evaluation=st.sampled_from(EVALUATIONS),
    data=st.data(),
)
def test_standing_matches(
    case: Case,
    output: str,
    gap: int | None,
    bound: int,
    tie: str | None,
    evaluation: dict[str, Any],
    data: st.DataObject,
) -> None:
    assume(is_valid(case.query))
    table = case.table()
    arrival = data.draw(st.permutations(range(len(table))))
    table = table.append_column("n", pa.array(range(len(table)))).take(
        pa.array(arrival, pa.int64())
    )
    query = cep.query(case.query)
    keywords = {"output": output, "at_most_once_per": gap, "tie_break": tie, **evaluation}
    standing: Counter[str] = Counter()
    accepted: list[int] = []
    now = passed = None
    try:
        session = query.session(corrections=bound, **keywords)
        low = 0
        while low < len(table):
            high = low + data.draw(st.integers(1, 3))
            times = table["ts"].to_pylist()[low:high]
            rows = [*range(low, min(high, len(table)))]
            if now is not None and min(times) < now - bound:
                with pytest.raises(cep.EventError, match="earlier than the latest time"):
                    session.feed(table.slice(low, high - low))
                rows = [row for row in rows if table["ts"][row].as_py() >= now - bound]
            low = high
            change = session.feed(table.take(pa.array(rows, pa.int64())))
            accepted += rows
            _apply(standing, change)
            times = [table["ts"][row].as_py() for row in rows]
            now = max([*times, *([] if now is None else [now])], default=None)
            if now is not None and data.draw(st.integers(0, 3)) == 0:
                now = passed = now + data.draw(st.integers(0, 4))
                _apply(standing, session.advance(now))
            if data.draw(st.integers(0, 3)) == 0:
                session = query.restore(session.snapshot(), corrections=bound, **keywords)
            given_so_far = table.take(pa.array(accepted, pa.int64()))
            assert standing == _in_order(query, given_so_far, passed, keywords)
        if not len(table):
            session.feed(table)
        _apply(standing, session.advance())
    except (cep.QuerySemanticError, cep.EvaluationError, cep.OptionError):
        assume(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        whole = query.match(table.take(pa.array(accepted, pa.int64())), **keywords)
    assert standing == Counter(comparable(whole))
    event(f"matches: {min(len(whole), 5)}")


def _apply(standing: Counter[str], change: Any) -> None:
    """Add and retract; nothing is retracted that does not stand, nor added twice."""
    if len(change.retracted):
        event("retracted")
    for gone in comparable(change.retracted):
        assert standing[gone] == 1
        del standing[gone]
    for new in comparable(change.added):
        assert standing[new] == 0
        standing[new] = 1


def _in_order(
    query: cep.CompiledQuery, table: pa.Table, passed: int | None, keywords: dict[str, Any]
) -> Counter[str]:
    """What an ordinary session has reported of the same events, and after the same time."""
    session = query.session(**keywords)
    found = Counter(comparable(session.feed(table)))
    if passed is not None and passed >= max(table["ts"].to_pylist()):
        found += Counter(comparable(session.advance(passed)))
    return found
