"""Negations with windows of their own, and lists WITHOUT others, in every evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from agreement.comparison import answers, comparable, is_valid
from agreement.strategies import Case, absence_cases
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

EVALUATIONS = ("instance_stacks", "nfa_b", "lazy_chain", "lazy_tree")
OUTPUTS = ("all", "all", "all", "non_overlapping", "first", "longest", "leftmost")


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    tune(
        chunk_events=3,
        plan_events=3,
        few_strings=0,
        few_events=0,
        few_partitions=0,
        few_stored_partitions=0,
    )


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=absence_cases(),
    cuts=st.lists(
        st.tuples(st.integers(0, 10), st.sampled_from(("", "restart", "advance"))), max_size=6
    ),
    output=st.sampled_from(OUTPUTS),
)
def test_every_evaluation_agrees_however_the_stream_is_cut(
    case: Case, cuts: list[tuple[int, str]], output: str
) -> None:
    assume(is_valid(case.query))
    query, table = cep.query(case.query), case.table()
    found: dict[str, list[str]] = {}
    for evaluation in EVALUATIONS:
        try:
            found[evaluation] = answers(query, case, evaluation, output)
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
    event(f"accepted by {', '.join(found) or 'none'}")
    assume(found)
    expected = answers(query, case, "reference", output)
    event(f"matches: {min(len(expected), 5)}")
    for evaluation, answer in found.items():
        assert answer == expected, evaluation
        try:
            in_parts = chunked(query, table, cuts, evaluation, output)
        except cep.OptionError as error:
            event(str(error)[:30])
            continue
        assert in_parts == expected, evaluation


def chunked(
    query: cep.CompiledQuery, table, cuts: list[tuple[int, str]], evaluation: str, output: str
) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        running = query.session(evaluation=evaluation, output=output)
        found: list[str] = []
        low = 0
        for cut, then in [*sorted(cuts), (len(table), "")]:
            high = min(cut, len(table))
            found += comparable(running.feed(table.slice(low, high - low)))
            low = high
            if then == "restart":
                running = query.restore(running.snapshot(), evaluation=evaluation)
            elif then == "advance" and high < len(table):
                found += comparable(running.advance(table["ts"][high].as_py()))
        return sorted(found + comparable(running.advance()))
