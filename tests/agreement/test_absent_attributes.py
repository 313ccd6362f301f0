"""Evaluations agree with the reference if types lack attributes of conditions and brackets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from agreement.strategies import Case, absence_cases, cases, nested_cases, sequence_cases
from agreement.test_output_modes import EVALUATIONS, shown
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.patterns import why_no_timeouts

ATTRIBUTES = {"x": "integer", "y": "float", "k": "integer", "s": "string"}
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "60"))


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=4, plan_events=3)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, dict[str, str]]:
    """Types A, B, C and Z, some of which lack an attribute or two."""
    schema = {}
    for name in ("A", "B", "C", "Z"):
        lacks = draw(st.sampled_from(("", "", "", "x", "k", "k", "ks", "y", "s")))
        schema[name] = {each: kind for each, kind in ATTRIBUTES.items() if each not in lacks}
    return schema


@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    case=st.one_of(cases(), cases(), nested_cases(), sequence_cases(True), absence_cases()),
    schema=schemas(),
    output=st.sampled_from(("all", "all", "all", "first", "longest", "leftmost")),
    timed_out=st.booleans(),
    cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=4),
)
def test_types_that_lack_attributes(
    case: Case,
    schema: dict[str, dict[str, str]],
    output: str,
    timed_out: bool,
    cuts: list[tuple[int, bool]],
) -> None:
    events = case.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            query = cep.query(case.query)
            timed_out &= why_no_timeouts(query.tree) is None
            given: dict[str, Any] = {"schema": schema, "output": output, "timed_out": timed_out}
            expected = shown(query.match(events, evaluation="reference", **given))
        except (cep.QuerySemanticError, cep.QuerySyntaxError):
            assume(False)
    accepted = []
    for evaluation in EVALUATIONS[:-1]:
        try:
            found = shown(query.match(events, **evaluation, **given))
        except cep.EvaluationError:
            continue
        accepted.append(evaluation["evaluation"])
        assert found == expected, evaluation
    event(f"accepted: {bool(accepted)}")
    if not accepted or (output in ("longest", "leftmost") and query.tree.window is None):
        return
    keywords = {"evaluation": accepted[0], **given}
    session, found, low = query.session(**keywords), [], 0
    for cut, restarts in [*sorted(cuts), (len(events), False)]:
        high = min(cut, len(events))
        found += shown(session.feed(events.slice(low, high - low)))
        low = high
        if restarts:
            session = query.restore(session.snapshot(), **keywords)
    found += shown(session.advance())
    assert sorted(found) == expected
