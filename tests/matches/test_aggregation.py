"""Aggregates over compressed matches are those over all matches, listed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from agreement.comparison import is_valid
from agreement.strategies import Case, cases, sequence_cases
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.events.arrays import int64s
from cepheid.jit.drive import DONE
from cepheid.matches import aggregation
from cepheid.matches.kernels.match_columns import count_finals
from cepheid.matches.layout import Counting

EVENTS = {
    "ts": [1, 2, 3, 4, 5, 6],
    "type": list("ABBCBC"),
    "x": [10, 1, None, 2, 4, 5],
    "k": ["p", "p", "p", "p", "p", "p"],
}


def compressed(text: str, events: Any = EVENTS) -> Any:
    return cep.query(text).match(events, output="compressed")


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        # [b1] c1, [b2] c1, [b1 b2] c1, then all 7 subsets of b1, b2, b3 with c2.
        ("count", "b.x", 2 + 4 + 4),
        ("sum", "b.x", 2 * 1 + 4 * 1 + 4 * 4),
        ("avg", "b[].x", 2.2),
        ("min", "b.x", 1),
        ("max", "b.x", 4),
        ("sum", "a.x", 100),
        ("max", "c.x", 5),
        ("max", "c.k", "p"),
    ],
)
def test_by_hand(function: str, value: str, expected: Any) -> None:
    matches = compressed("PATTERN SEQ(A a, B+ b[], C c)")
    assert matches.count() == 10
    assert matches.aggregate(function, value) == expected


def test_by_partition() -> None:
    events = {
        "ts": [1, 2, 3, 4, 5],
        "type": list("AABBB"),
        "x": [1, 2, 3, 4, 5],
        "k": ["p", "q", "p", "q", "q"],
    }
    matches = compressed("PATTERN SEQ(A a, B b) WHERE [k]", events)
    assert matches.aggregate("sum", "b.x", by_partition=True) == {"p": 3, "q": 9}
    assert matches.aggregate("sum", "b.x") == 12


def test_no_matches_and_no_values() -> None:
    nothing = compressed("PATTERN SEQ(C c, A a)")
    assert nothing.aggregate("sum", "a.x") is None
    assert nothing.aggregate("count", "a.x") == 0
    assert nothing.aggregate("min", "a.x", by_partition=True) == {}


def test_more_matches_than_anybody_could_list() -> None:
    count = 2_000
    events = {"ts": range(count + 2), "type": ["A", *["B"] * count, "C"], "x": [0.5] * (count + 2)}
    matches = compressed("PATTERN SEQ(A a, B+ b[], C c)", events)
    assert matches.aggregate("avg", "b.x") == 0.5
    assert matches.aggregate("count", "b.x") == count * 2 ** (count - 1)
    assert matches.aggregate("sum", "b.x") == math.inf


@pytest.mark.parametrize("window", [8, 40])
def test_the_work_does_not_grow_with_the_number_of_matches(window: int) -> None:
    """Every union has chains on both sides of the edge, and two ways lead to each."""
    events = {"ts": range(60), "type": ["A"] * 60, "x": range(60)}
    matches = compressed(f"PATTERN A+ a[] WITHIN {window}", events)
    chains, much = matches._parts[0].chains, 10**15
    most = 60 * 12 * window
    pace, counts = np.array([much]), np.zeros(len(chains.finals))
    count_finals(chains, Counting.of(len(chains.nodes)), int64s(1), pace, counts)
    assert counts.sum() == matches.count()
    assert much - pace[0] <= most
    with patch.object(aggregation, "Drive", lambda: SimpleNamespace(pace=pace, run=run_once)):
        pace[0] = much
        matches.aggregate("sum", "a.x")
    assert much - pace[0] <= most


def run_once(kernel: Callable[[], int], _provide: Any) -> None:
    assert kernel() == DONE


def test_the_engine_that_counts_does_not_follow_every_way() -> None:
    """2 ** 50 ways would take weeks."""
    events = {"ts": range(300), "type": ["A"] * 300}
    # Of each event: it ends alone, or after any choice of the 49 events before it.
    expected = sum(2 ** min(n, 49) for n in range(300))
    assert cep.query("PATTERN A+ a[] WITHIN 50").count(events) == expected


@pytest.mark.parametrize(
    "values",
    [
        [2**62, -(2**62), 2**63 - 1, -(2**63), 7],
        [1e300, 1e-300, -1e300, 0.1, 0.0],
        [0.1, -0.2, 0.3, None, float("nan")],
        [True, False, None, True, False],
        [1.0, float("inf"), 2.0, 3.0, 4.0],
        [float("-inf"), float("inf"), 2.0, 3.0, 4.0],
        [None] * 5,
    ],
)
def test_values_of_any_size(values: list[Any]) -> None:
    events = {"ts": range(7), "type": list("ABBBBBC"), "x": [None, *values, None]}
    matches = compressed("PATTERN SEQ(A a, B+ b[], C c)", events)
    known = [each for each in values if each is not None and each == each]
    assert matches.aggregate("count", "b.x") == 16 * len(known)
    if not known:
        assert matches.aggregate("sum", "b.x") is None
        return
    assert matches.aggregate("min", "b.x") == min(known)
    assert matches.aggregate("max", "b.x") == max(known)
    total = sum(known) if math.inf in map(abs, known) else 16 * sum(map(Fraction, known))
    found = matches.aggregate("sum", "b.x")
    expected = float(total) if isinstance(known[0], float) else total
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert type(found) is (float if isinstance(known[0], float) else int)


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("agv", "b.x", "there is no aggregate 'agv'; there are sum, min, max, avg and count"),
        ("sum", "d.x", "there is no variable 'd'"),
        ("sum", "b.y", "there is no attribute 'y'"),
        ("sum", "b.k", "needs numbers"),
    ],
)
def test_what_there_is_not(function: str, value: str, message: str) -> None:
    with pytest.raises(cep.OptionError, match=message):
        compressed("PATTERN SEQ(A a, B+ b[], C c)").aggregate(function, value)


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=st.one_of(cases(), sequence_cases(True)),
    attribute=st.sampled_from("xy"),
    computed=st.sampled_from([(62.0, None), (0.0, None), (0.0, math.inf)]),
)
def test_they_agree_with_listed_matches(
    case: Case, attribute: str, computed: tuple[float, float | None]
) -> None:
    assume(is_valid(case.query))
    query, table = cep.query(case.query), case.table()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            matches = query.match(table, output="compressed", evaluation="nfa_b")
    except (cep.OptionError, cep.EvaluationError, cep.QuerySemanticError):
        assume(False)
    # Computed as they are, modulo primes, and modulo as many primes as an endless count needs.
    word, count = computed
    with patch.object(aggregation, "_WORD", word):
        if count is not None:
            for part in matches._parts:
                part.__dict__["counts"] = np.array([count])
        check_aggregates(matches, table[attribute].to_pylist(), attribute)


def check_aggregates(matches: Any, column: list[Any], attribute: str) -> None:
    listed = matches.expand().bindings()
    event(f"matches: {min(len(listed), 5)}")
    for variable in matches.expand()[0].bindings if listed else ():
        bound = [each for binding in listed if (each := binding.get(variable)) is not None]
        rows = [row for each in bound for row in (each if isinstance(each, list) else [each])]
        values = [Fraction(column[row]) for row in rows if column[row] is not None]
        given = f"{variable}.{attribute}"
        assert matches.aggregate("count", given) == len(values)
        if values:
            assert matches.aggregate("sum", given) == sum(values)
            assert matches.aggregate("min", given) == min(values)
            assert matches.aggregate("max", given) == max(values)
            assert matches.aggregate("avg", given) == float(sum(values) / len(values))


def test_a_value_of_a_type_without_the_attribute_is_null():
    events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 7, 9]}
    query = cep.query("PATTERN SEQ(ANY(A, B)+ a[], B b)")
    schema = {"A": ["x"], "B": []}
    matches = query.match(events, schema=schema, output="compressed")
    assert matches.count() == 4
    assert matches.aggregate("sum", "a.x") == 5 * 3
    assert matches.aggregate("max", "a.x") == 5
    assert matches.aggregate("sum", "b.x") is None


@pytest.mark.parametrize("every", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("by_partition", [False, True])
def test_sliding_windows_have_the_matches_that_are_inside(every: int, by_partition: bool) -> None:
    random = np.random.default_rng(every)
    size, extent = 40, 9
    events = {
        "ts": np.cumsum(random.integers(0, 3, size)) - 10,
        "type": random.choice(list("ABC"), size),
        "x": random.integers(-5, 5, size),
        "k": random.choice(["p", "q"], size),
    }
    query = cep.query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE [k] WITHIN {extent}")
    expected: dict[str, dict[int, list[int]]] = {"p": {}, "q": {}}
    counts: dict[int, int] = {}
    for match in query.match(events):
        key = events["k"][match.bindings["a"]]
        for start in range(-30, 100):
            if start % every == 0 and start <= match.start and match.end < start + extent:
                values = events["x"][match.bindings["b"]].tolist()
                expected[key].setdefault(start, []).extend(values)
                counts[start] = counts.get(start, 0) + 1
    matches = query.match(events, output="compressed")
    assert counts == matches.aggregate("count", "*", every=every)
    for function, of in (("sum", sum), ("min", min), ("max", max), ("count", len)):
        found = matches.aggregate(function, "b.x", by_partition=by_partition, every=every)
        if by_partition:
            wanted = {k: {at: of(x) for at, x in each.items()} for k, each in expected.items()}
            assert {k: each for k, each in found.items() if each} == {
                k: each for k, each in wanted.items() if each
            }
            continue
        starts = expected["p"].keys() | expected["q"].keys()
        joined = {at: expected["p"].get(at, []) + expected["q"].get(at, []) for at in starts}
        assert found == {at: of(values) for at, values in joined.items()}


def test_windows_slide_by_a_duration_of_a_clock() -> None:
    minute = 60_000_000
    events = {
        "ts": pa.array([1 * minute, 2 * minute, 11 * minute], pa.timestamp("us")),
        "type": ["A", "B", "B"],
    }
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 11 minutes")
    found = query.match(events, output="compressed").aggregate("count", "*", every="1 minute")
    assert [(start.minute, count) for start, count in list(found.items())[-2:]] == [(0, 1), (1, 2)]


def test_sliding_windows_need_a_window_of_time() -> None:
    for text in ("PATTERN SEQ(A a, B b)", "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS"):
        with pytest.raises(cep.OptionError, match="needs a query with WITHIN a length of time"):
            compressed(text).aggregate("count", "*", every=2)
    matches = compressed("PATTERN SEQ(A a, B b) WITHIN 5")
    with pytest.raises(cep.OptionError, match="above 0"):
        matches.aggregate("count", "*", every=0)
    with pytest.raises(cep.OptionError, match=r"only count\(\*\) has none"):
        matches.aggregate("sum", "*")


@pytest.mark.parametrize("every", [1.5, 0.1])
def test_windows_begin_at_times_that_the_column_can_have(every: float) -> None:
    matches = compressed("PATTERN SEQ(A a, B b) WITHIN 4")
    with pytest.raises(cep.OptionError, match="not a multiple of the tick"):
        matches.aggregate("count", "*", every=every)


def test_windows_begin_at_multiples_of_any_length_between_floats() -> None:
    matches = compressed("PATTERN SEQ(A a, B b) WITHIN 1", {"ts": [1.5, 2.25], "type": list("AB")})
    assert matches.aggregate("count", "*", every=0.5) == {1.5: 1}


@pytest.mark.parametrize("every", [math.inf, -math.inf, math.nan, -1, True, "soon"])
def test_the_step_of_windows_is_a_length_of_time(every: Any) -> None:
    with pytest.raises(cep.OptionError, match="every is a length of time"):
        compressed("PATTERN SEQ(A a, B b) WITHIN 4").aggregate("count", "*", every=every)


def test_windows_when_clocks_go_back_are_different() -> None:
    minutes = [5, 6, 65, 66, 67]  # after 2:00 of summer time, then of winter time
    first = np.datetime64("2024-10-27T00:00", "us")
    utc = [first + np.timedelta64(each, "m") for each in minutes]
    query = cep.query("PATTERN SEQ(A a, B+ b[]) WITHIN 30 minutes")
    found = []
    for zone in ("UTC", "Europe/Berlin"):
        events = {"ts": pa.array(utc).cast(pa.timestamp("us", zone)), "type": list("ABABB")}
        matches = query.match(events, output="compressed")
        found.append(matches.aggregate("count", "*", every="30 minutes"))
    assert list(found[0].values()) == [1, 3]
    assert found[0] == found[1]


def test_windows_that_begin_too_early_are_refused() -> None:
    events = {"ts": [-5, -4], "type": list("AB")}
    matches = compressed(f"PATTERN SEQ(A a, B b) WITHIN {2**63 - 1}", events)
    with pytest.raises(cep.OptionError, match="before the minimum of 64 bits"):
        matches.aggregate("count", "*", every=2**62)
    first = np.datetime64("0001-01-01", "us")
    events = {"ts": pa.array([first, first + np.timedelta64(1, "s")]), "type": list("AB")}
    matches = compressed("PATTERN SEQ(A a, B b) WITHIN 4 seconds", events)
    with pytest.raises(cep.EventError, match="before the year 1"):
        matches.aggregate("count", "*", every="1 second")


def test_windows_that_need_too_much_memory_are_refused() -> None:
    events = {"ts": range(0, 200_000, 10), "type": ["A", "B"] * 10_000}
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 9000")
    matches = query.match(events, output="compressed", max_memory="1 GiB")
    with pytest.raises(cep.LimitError, match="a longer step or a shorter WITHIN"):
        matches.aggregate("count", "*", every=1)
    assert len(matches.aggregate("count", "*", every=4500)) == 46
