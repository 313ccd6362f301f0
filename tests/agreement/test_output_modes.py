"""Every evaluation reports what the reference reports, in every output mode and in any parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from agreement.comparison import comparable, is_valid
from agreement.strategies import Case, cases, nested_cases, sequence_cases
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep

EVALUATIONS: tuple[dict[str, Any], ...] = (
    {"evaluation": "instance_stacks"},
    {"evaluation": "nfa_b"},
    {"evaluation": "nfa_b", "options": {"algorithm": "basic"}},
    {"evaluation": "nfa_b", "options": {"algorithm": "backtrack"}},
    {"evaluation": "nfa_b", "options": {"buffer": "versioned"}},
    {"evaluation": "lazy_chain"},
    {"evaluation": "lazy_tree"},
    {"evaluation": "reference"},
)
MODES = ("all", "first", "longest", "leftmost", "non_overlapping")
ANY_CASE = st.one_of(
    sequence_cases(False), sequence_cases(True), cases(), cases(), cases(), nested_cases()
)


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=4, plan_events=3)


@st.composite
def outputs(draw: st.DrawFn) -> dict[str, Any]:
    gap = draw(st.sampled_from((None, None, 1, 2, 5)))
    timed_out = draw(st.booleans())
    mode = draw(st.sampled_from(MODES if gap or timed_out else MODES[1:]))
    return {"output": mode, "at_most_once_per": gap, "timed_out": timed_out}


@settings(suppress_health_check=list(HealthCheck))
@given(case=ANY_CASE, output=outputs())
def test_whole_streams(case: Case, output: dict[str, Any]) -> None:
    query, expected, left_out = _expected(case, output)
    for evaluation in EVALUATIONS:
        try:
            matches = query.match(case.table(), **evaluation, **output)
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
        assert shown(matches) == expected, evaluation
        assert matches.metrics.left_out == left_out


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=ANY_CASE,
    output=outputs(),
    cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.booleans()), max_size=6),
)
def test_any_chunking_and_restart(
    case: Case, output: dict[str, Any], cuts: list[tuple[int, bool, bool]]
) -> None:
    query, expected, left_out = _expected(case, output)
    events = case.table()
    assume(not _has_no_stream(query, output["output"]))
    for evaluation in EVALUATIONS:
        keywords = {**evaluation, **output}
        session, found, low = query.session(**keywords), [], 0
        try:
            for cut, restarts, advances in [*sorted(cuts), (len(events), False, False)]:
                high = min(cut, len(events))
                found += shown(session.feed(events.slice(low, high - low)))
                low = high
                if advances and low < len(events):
                    found += shown(session.advance(events["ts"][low].as_py()))
                if restarts:
                    session = query.restore(session.snapshot(), **keywords)
            found += shown(session.advance())
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
        assert sorted(found) == expected, evaluation
        assert session.metrics.left_out == left_out


def shown(matches: cep.Matches) -> list[str]:
    """The matches and their times, and whether they timed out."""
    times = [(each.start, each.end, each.timed_out) for each in matches]
    found = zip(times, comparable(matches), strict=True)
    return sorted(map(str, found))


def _has_no_stream(query: cep.CompiledQuery, mode: str) -> bool:
    """Whether a stream would have to end before anything is certain."""
    any_match = query.tree.strategy.value == "skip_till_any_match"
    return mode in ("longest", "leftmost") and any_match and query.tree.window is None


def _expected(case: Case, output: dict[str, Any]) -> tuple[cep.CompiledQuery, list[str], int]:
    assume(is_valid(case.query))
    query = cep.query(case.query)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            matches = query.match(case.table(), evaluation="reference", **output)
        except cep.OptionError:  # Only sequences with a window of time have partial matches.
            output["timed_out"] = False
            matches = query.match(case.table(), evaluation="reference", **output)
        except cep.QuerySemanticError:
            assume(False)
    event(f"matches: {min(len(matches), 5)}")
    event(f"timed out: {output['timed_out']}")
    return query, shown(matches), matches.metrics.left_out
