"""nfa_b gives the matches of the reference evaluation, on random queries and streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pyarrow as pa
import pytest
from agreement.comparison import (
    agree,
    answers,
    comparable,
    found_in_pieces,
    is_valid,
    window_of,
)
from agreement.strategies import Case, cases, sequence_cases
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.options import ALGORITHMS, Options
from cepheid.engines.base.query_session import SessionTask
from cepheid.events.events import order_events
from cepheid.language import syntax as ast
from cepheid.matches.modes.rule import OutputRule
from cepheid.sessions.session import Session

WAYS = (
    {"algorithm": "merging"},
    {"algorithm": "basic"},
    {"algorithm": "merging", "buffer": "versioned"},
    {"algorithm": "basic", "buffer": "versioned"},
    {"algorithm": "backtrack"},
)
"""All algorithms with all buffers that they can have."""


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    """Everything that can be full is full soon, so that growth and eviction are tested too.

    Positions from 9 on are treated as so large that they need eight bytes.
    """
    tune(
        first_runs=2,
        first_nodes=8,
        final_nodes=4,
        block_events=16,
        block_matches=5,
        narrow_positions=8,
        versioned_rows=4,
        versioned_complete=2,
        output_ids=16,
        output_matches=8,
        chunk_events=3,
        few_strings=0,
        few_events=0,
        few_partitions=0,
        few_stored_partitions=0,
    )


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@settings(suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_agrees_with_reference(output: str, case: Case) -> None:
    agree(case, "nfa_b", output, *WAYS)


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@settings(suppress_health_check=list(HealthCheck))
@given(case=cases(), cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=6))
def test_any_chunking_and_restart_gives_the_same(
    output: str, case: Case, cuts: list[tuple[int, bool]]
) -> None:
    tree = cep.query(case.query).tree if is_valid(case.query) else None
    events = order_events(case.table())
    if tree is None:
        return
    analysed = analyse(tree, events.schema)
    if refuse_nfa_b(analysed) is not None:
        return
    expected = answers(cep.query(case.query), case, "reference", output)
    event(f"matches: {min(len(expected), 5)}")
    window = window_of(tree)
    for way in WAYS:
        options = Options(**way)
        running = Session(analysed, window, OutputRule(output), options)
        task = SessionTask(analysed, window, options=options)
        assert found_in_pieces(running, task, events, cuts) == expected, way


@settings(suppress_health_check=list(HealthCheck))
@given(case=st.one_of(cases(), sequence_cases(True)))
def test_compressed_output_expands_to_all(case: Case) -> None:
    if not is_valid(case.query):
        return
    query = cep.query(case.query)
    try:
        compressed = query.match(case.table(), output="compressed", evaluation="nfa_b")
    except (cep.OptionError, cep.EvaluationError, cep.QuerySemanticError) as refused:
        event(f"refused: {str(refused).split(': ')[-1][:20]}")
        return
    negated = any(negated for _, negated in ast.components(query.tree.pattern))
    event(f"negated: {negated}, alternatives: {min(len(compressed._parts), 3)}")
    expected = answers(query, case, "reference", "all")
    assert sorted(comparable(compressed.expand())) == expected
    assert compressed.count() == len(expected)
    assert set(comparable(compressed.sample(5, seed=1))) <= set(expected)


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@settings(suppress_health_check=list(HealthCheck))
@given(case=cases(), algorithm=st.sampled_from(ALGORITHMS))
def test_counts_and_streams_agree(output: str, case: Case, algorithm: str) -> None:
    if not is_valid(case.query):
        return
    query = cep.query(case.query)
    options = {"algorithm": algorithm}
    keywords = {"evaluation": "nfa_b", "output": output, "options": options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            count = query.count(case.table(), **keywords)
        except (cep.EvaluationError, cep.QuerySemanticError):
            return
        stream = query.match_stream(case.table(), **keywords)
        streamed = [
            f"{match.bindings} {{'start': {match.start}, 'end': {match.end}}}" for match in stream
        ]
    expected = answers(query, case, "reference", output)
    assert count == stream.found == len(expected)
    assert sorted(streamed) == expected


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_many_runs_at_once_agree(strategy: str) -> None:
    """More runs than merging compares with each other at every event."""
    types = "A" * 150 + "BABBC" * 2
    table = pa.table(
        {
            "ts": range(len(types)),
            "type": list(types),
            "x": [(7 * place) % 5 for place in range(len(types))],
        }
    )
    query = cep.query(
        f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy} {{ b[i].x >= a.x AND c.x != a.x }} "
        "WITHIN 155"
    )
    expected = sorted(comparable(query.match(table, evaluation="reference")))
    assert len(expected) > 200
    for way in WAYS:
        assert sorted(comparable(query.match(table, options=way))) == expected, way
