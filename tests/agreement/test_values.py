"""Functions, CASE and parts of dates have the values of the reference, in every evaluation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from agreement.comparison import answers, comparable, is_valid
from agreement.value_strategies import ValueCase, returned_cases, value_cases
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engines.reference import python_events
from cepheid.events.events import order_events
from cepheid.reference import definition as reference

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")

EVALUATIONS = ("instance_stacks", "nfa_b", "lazy_chain", "lazy_tree")
MANY = settings(
    suppress_health_check=list(HealthCheck),
    max_examples=settings.default.max_examples * 4 // 10,
    phases=(Phase.explicit, Phase.generate),  # To shrink a query takes minutes.
)


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=3, plan_events=3, few_strings=0, few_events=0)


@MANY
@given(case=value_cases())
def test_every_evaluation_agrees(case: ValueCase) -> None:
    assume(is_valid(case.query))
    query = cep.query(case.query)
    found = {}
    for evaluation in EVALUATIONS:
        try:
            found[evaluation] = answers(query, case, evaluation, "all")
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
    event(f"accepted by {', '.join(found) or 'none'}")
    assume(found)
    expected = answers(query, case, "reference", "all")
    event(f"matches: {min(len(expected), 3)}")
    for evaluation, answer in found.items():
        assert answer == expected, evaluation


@MANY
@given(case=value_cases(), size=st.integers(1, 4))
def test_sessions_agree(case: ValueCase, size: int) -> None:
    assume(is_valid(case.query))
    query, table = cep.query(case.query), case.table()
    try:
        expected = answers(query, case, "reference", "all")
        session = query.session()
        found = []
        for low in range(0, len(table), size):
            found += comparable(session.feed(table.slice(low, size)))
            session = query.restore(session.snapshot())
    except (cep.QuerySemanticError, cep.EvaluationError):
        return
    found += comparable(session.advance()) if len(table) else []
    event(f"matches: {min(len(expected), 3)}")
    assert sorted(found) == expected


@MANY
@given(case=returned_cases())
def test_returned_values_agree(case: ValueCase) -> None:
    query = cep.query(case.query)
    table = query.match(case.table(), evaluation="reference").to_arrow()
    events = order_events(case.table())
    stream = python_events(events, {*events.column_names})
    found = reference.evaluate(query.tree, stream, int(query.tree.window.extent))
    expected = [reference.returned(query.tree, match) for match in found]
    names = ["number", "string", "moment", "truth"]
    rows = [[plain(row[name]) for name in names] for row in table.to_pylist()]
    assert rows == [[plain(value) for value in row] for row in expected]


def plain(value: object) -> object:
    """The value of a cell, as the reference has it."""
    if isinstance(value, float):
        return round(value, 9)  # Deviations are summed in another order.
    zone = getattr(value, "tzinfo", None)
    if zone is not None:
        from datetime import UTC

        return value.astimezone(UTC).replace(tzinfo=None)  # type: ignore[attr-defined]
    return value


@pytest.mark.parametrize("duration", ["2 * 5 hours", "5 hours * 2 + 1 hour", "W * 2"])
@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_multiples_of_a_constant_duration(duration: str, evaluation: str) -> None:
    times = [datetime(2024, 1, 1) + hour * timedelta(hours=4) for hour in range(6)]
    text = f"PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > {duration}"
    parameters = {"W": timedelta(hours=5)} if "W" in duration else {}
    query = cep.query(text, parameters=parameters)
    found = query.match({"ts": times, "type": [*"ABABAB"]}, evaluation=evaluation)
    assert sorted(map(str, found.bindings())) == [
        "{'a': 0, 'b': 3}", "{'a': 0, 'b': 5}", "{'a': 2, 'b': 5}"
    ]  # fmt: skip
