"""Evaluations that accept a query have the same answer as each other and as the reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agreement.comparison import answers, is_valid
from agreement.strategies import Case, cases, nested_cases, sequence_cases
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

EVALUATIONS = ("instance_stacks", "nfa_b", "lazy_chain", "lazy_tree")
EXAMPLES = settings.default.max_examples * 6 // 10


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=4, plan_events=3)


@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    case=st.one_of(
        sequence_cases(False), sequence_cases(True), sequence_cases(True), cases(), nested_cases()
    ),
    output=st.sampled_from(("all", "all", "non_overlapping")),
)
def test_evaluations_agree(case: Case, output: str) -> None:
    assume(is_valid(case.query))
    query = cep.query(case.query)
    found = {}
    for evaluation in EVALUATIONS:
        try:
            found[evaluation] = answers(query, case, evaluation, output)
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
    event(f"accepted by {', '.join(found) or 'none'}")
    assume(found)
    expected = answers(query, case, "reference", output)
    for evaluation, answer in found.items():
        assert answer == expected, (evaluation, list(found))
