"""nfa_b gives the matches of the reference evaluation, on random queries and streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest
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
from cepheid.matches.matches import Matches
from cepheid.matches.modes.rule import OutputRule
from cepheid.sessions.plan import open_session
from cepheid.sessions.session import Session
from cepheid.snapshots import unpack

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


def answers(
    query: cep.CompiledQuery, case: Case, evaluation: str, output: str, **options: str
) -> list[str]:
    """The matches in a form that can be compared, whatever order they come in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        matches = query.match(case.table(), evaluation=evaluation, output=output, options=options)
    return sorted(comparable(matches))


def comparable(matches: Matches) -> list[str]:
    """Each match as a text: its binding, its start and its end."""
    times = matches.to_arrow().select(["start", "end"]).to_pylist()
    return [f"{binding} {time}" for binding, time in zip(matches.bindings(), times, strict=True)]


def agree(case: Case, evaluation: str, output: str, *ways: Mapping[str, str]) -> None:
    """The evaluation, with each of these options, has the answer of the reference."""
    try:
        query = cep.query(case.query)
        actual = [answers(query, case, evaluation, output, **way) for way in ways]
    except cep.QuerySemanticError as error:
        event(f"refused: {error.faults[0].message[:40]}")
        return
    except cep.EvaluationError as error:
        event(f"not {evaluation}: {str(error)[-40:]}")
        return
    expected = answers(query, case, "reference", output)
    event(f"matches: {min(len(expected), 5)}")
    for way, found in zip(ways, actual, strict=True):
        assert found == expected, way


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
        running = Session(analysed, window, OutputRule(output), Options(**way))
        found: list[str] = []
        low = 0
        for cut, restarts in [*sorted(cuts), (len(events), False)]:
            high = min(cut, len(events))
            found += comparable(running.feed(events.slice(low, high)))
            low = high
            if restarts:
                running = open_session(
                    SessionTask(analysed, window, options=Options(**way)),
                    unpack(running.snapshot()),
                )
        found += comparable(running.advance())
        assert sorted(found) == expected, way


def is_valid(text: str) -> bool:
    try:
        cep.query(text)
    except cep.QuerySemanticError:
        return False
    return True


def window_of(tree: ast.Query) -> int | None:
    return None if tree.window is None else int(tree.window.extent)  # type: ignore[arg-type]


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
