"""The partitions of a query may be divided among threads: the matches are the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from agreement.comparison import comparable
from agreement.strategies import Case
from agreement.test_output_modes import ANY_CASE, outputs
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.tuning import tuned


@pytest.fixture(autouse=True)
def _small_batches(tune: Callable[..., None]) -> None:
    tune(chunk_events=4, plan_events=3, few_events=2)


def _compiled(case: Case, output: dict[str, Any]) -> cep.CompiledQuery | None:
    try:
        query = cep.query(case.query)
        query.match(case.table(), **output)
    except (cep.QuerySemanticError, cep.EvaluationError, cep.OptionError):
        return None
    return query


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=ANY_CASE,
    output=outputs(),
    workers=st.integers(2, 4),
    overlap=st.sampled_from([0.0, 1000.0]),
)
@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
def test_whole_streams(case: Case, output: dict[str, Any], workers: int, overlap: float) -> None:
    query = _compiled(case, output)
    if query is None:
        return
    alone = query.match(case.table(), **output)
    with tuned(slice_overlap=overlap):  # Keys or slices of time divide the events.
        found = query.match(case.table(), workers=workers, **output)
        parts = list(query.match_stream(case.table(), workers=workers, **output))
        count = query.count(case.table(), workers=workers, **output)
    assert_equal_up_to_ties(found, alone)
    if not overlap:
        assert found.to_arrow() == alone.to_arrow()
    assert sorted(str(each.bindings) for each in parts) == sorted(map(str, alone.bindings()))
    assert count == len(alone)
    event(f"matches: {min(len(alone), 3)}")


def assert_equal_up_to_ties(found: cep.Matches, alone: cep.Matches) -> None:
    """The same matches, in the order of their last events."""
    assert sorted(map(str, found.bindings())) == sorted(map(str, alone.bindings()))
    assert [match.end for match in found] == [match.end for match in alone]


SLICED = [
    "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 9",
    "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] } WITHIN 9",
    "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity { a[1].x > 0 } WITHIN 9",
    "PATTERN SEQ(A a, B+ b[]) WHERE partition_contiguity { [id] } WITHIN 9",
    "PATTERN SEQ(~(C c), A a, ~(C d), B b) WHERE [id] WITHIN 9",
    "PATTERN SEQ(~(C c) WITHIN 12, A a, B b) WHERE c.x > a.x + 2 WITHIN 9",
    "PATTERN OR(SEQ(A a, B b), SEQ(B d, C c)) WITHIN 9",
    "PATTERN SEQ(A a, B* b[], C c) WHERE skip_till_any_match { [id] } WITHIN 9",
]


@pytest.mark.parametrize("text", SLICED)
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("evaluation", ["nfa_b", "instance_stacks", "lazy_chain", "lazy_tree"])
def test_slices_of_time(
    text: str, workers: int, evaluation: str, tune: Callable[..., None]
) -> None:
    random = np.random.default_rng(workers)
    events = {
        "ts": np.sort(random.integers(0, 300, 400)),
        "type": random.choice(["A", "B", "C"], 400),
        "id": random.integers(0, 3, 400),
        "x": random.integers(0, 5, 400),
    }
    query = cep.query(text)
    try:
        alone = query.match(events, evaluation=evaluation)
    except cep.EvaluationError:
        return
    tune(chunk_events=64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = query.match(events, workers=workers, evaluation=evaluation)
        stream = query.match_stream(events, workers=workers, evaluation=evaluation)
        parts = [each.bindings for each in stream]
        count = query.count(events, workers=workers, evaluation=evaluation)
    assert_equal_up_to_ties(found, alone)
    assert sorted(map(str, parts)) == sorted(map(str, alone.bindings()))
    assert count == len(alone) > 20
    assert found.metrics.events == 400
    assert found.metrics.matches == alone.metrics.matches
    assert found.metrics.mean_match_length == pytest.approx(alone.metrics.mean_match_length)


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=ANY_CASE,
    output=outputs(),
    cuts=st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=3),
)
@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
def test_sessions_in_pieces(
    case: Case, output: dict[str, Any], cuts: list[tuple[int, bool]]
) -> None:
    query = _compiled(case, output)
    if query is None:
        return
    found: dict[int, list[list[str]]] = {}
    events = case.table().sort_by("ts")
    for workers in (1, 3):
        try:
            session = query.session(workers=workers, **output)
        except cep.OptionError:  # some modes need WITHIN in a stream
            return
        parts, low = [], 0
        for high, is_stored in sorted(cuts):
            parts.append(session.feed(events.slice(low, max(high - low, 0))))
            low = max(low, high)
            if is_stored:
                session = query.restore(session.snapshot(), workers=workers, **output)
        parts.append(session.feed(events.slice(low)))
        parts.append(session.advance())
        found[workers] = [sorted(comparable(each)) for each in parts]
    assert found[3] == found[1]


KEYS = {
    "integers": pa.array([5, None, 7, 5, 7, 5, None, 7]),
    "strings": pa.array(["é", None, "", "é", "", "é", None, ""]),
    "dictionaries": pa.array(["x", None, "y", "x", "y", "x", None, "y"]).dictionary_encode(),
    "floats": pa.array([0.0, float("nan"), 2.5, -0.0, 2.5, 0.0, None, 2.5]),
    "booleans": pa.array([True, None, False, True, False, True, None, False]),
    "times": pa.array([5, None, 7, 5, 7, 5, None, 7], pa.timestamp("ns")),
    "decimals": pa.array([5, None, 7, 5, 7, 5, None, 7], pa.int64()).cast(pa.decimal128(20)),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_keys_of_every_type(key: str, workers: int) -> None:
    events = pa.table({"ts": range(8), "type": ["A", "A", "A", "B"] * 2, "id": KEYS[key]})
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id]")
    assert query.match(events, workers=workers).bindings() == query.match(events).bindings()


def test_the_key_of_a_type_may_have_another_name() -> None:
    events = {
        "A": {"ts": np.arange(0, 60, 2), "x": np.arange(30) % 7},
        "B": {"ts": np.arange(1, 60, 2), "y": np.arange(30) % 7},
    }
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x = b.y WITHIN 20")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = query.match(events, workers=2)
    assert found.bindings() == query.match(events).bindings()
    assert len(found) > 20


def test_metrics_are_of_all_workers() -> None:
    events = {"ts": range(40), "type": ["A", "B"] * 20, "id": [0, 0, 1, 1] * 10}
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9")
    alone, found = query.match(events).metrics, query.match(events, workers=2).metrics
    assert (found.events, found.matches) == (40, alone.matches)
    assert found.mean_match_length == alone.mean_match_length


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WITHIN 5",
        "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS",
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { [id] }",
        "PATTERN SEQ(A a, B b) WHERE [id] AND b.INDEX - a.INDEX < 5",
        "PATTERN SEQ(A a, B b) WHERE a.id = b.id WITHIN 5 OUTPUT LEFTMOST",
    ],
)
def test_events_that_cannot_be_divided_have_one_worker_and_a_warning(text: str) -> None:
    events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "id": [1, 1, 2]}
    query = cep.query(text)
    with pytest.warns(cep.CepheidWarning, match="workers=2: one worker runs this query"):
        found = query.match(events, workers=2)
    assert found.bindings() == query.match(events).bindings()


@pytest.mark.parametrize("window", [3, 10_000])  # divided by time, and by key
@pytest.mark.parametrize("method", ["match", "match_stream", "count", "feed"])
def test_the_limit_of_matches_is_for_all_workers(method: str, window: int) -> None:
    events = {"ts": range(4_000), "type": ["A", "B"] * 2_000, "id": np.arange(4_000) // 2}
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE [id] WITHIN {window}")

    def run(limit: int) -> None:
        keywords = {"workers": 2, "max_matches": limit}
        if method == "feed":
            query.session(**keywords).feed(events)
        elif method == "match_stream":
            list(query.match_stream(events, **keywords))
        else:
            getattr(query, method)(events, **keywords)

    run(2_000)
    with pytest.raises(cep.LimitError, match="there are more than 1999 matches"):
        run(1_999)


@pytest.mark.parametrize("workers", [0, -1, True, "2", 1.5])
def test_the_number_of_workers_is_positive(workers: Any) -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id]")
    with pytest.raises(cep.OptionError, match="workers is a positive number of threads"):
        query.match({"ts": [1], "type": ["A"], "id": [1]}, workers=workers)


def test_snapshots_are_restored_with_as_many_workers() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5")
    session = query.session(workers=2)
    session.feed({"ts": [1], "type": ["A"], "id": [1]})
    with pytest.raises(cep.SnapshotError, match="made with workers=2; restore it with the same"):
        query.restore(session.snapshot())
    with pytest.raises(cep.SnapshotError, match="made with workers=2; restore it with the same"):
        query.restore(session.snapshot(), workers=3)


def test_a_limit_in_one_worker_ends_the_run() -> None:
    events = {"ts": range(60), "type": ["A"] * 60, "id": [1, 2] * 30}
    query = cep.query("PATTERN A+ a[] WHERE [id]")
    with pytest.raises(cep.LimitError, match="more than 100 matches"):
        query.match(events, workers=2, max_matches=100)
    with pytest.raises(cep.LimitError, match="memory limit"):
        query.match(events, workers=2, max_memory="8 MiB")


def test_other_runs_take_no_workers() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5")
    events = {"ts": [1], "type": ["A"], "id": [1]}
    with pytest.raises(cep.OptionError, match="here it cannot be used"):
        query.session(corrections=5, workers=2)
    with pytest.raises(cep.OptionError, match="not divided among workers"):
        query.match(events, output="compressed", workers=2)
    with pytest.raises(cep.OptionError, match="here it cannot be used"):
        cep.rules({"one": str(query)}).match(events, workers=2)
