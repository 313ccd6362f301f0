"""Arithmetic at the limits of 64 bits and of floats means the same in every evaluation."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

MOST = 2**63 - 1
EVENTS = pa.table({"ts": [1, 2], "type": ["A", "B"], "one": [1, 1], "inf": [float("inf")] * 2})

VALUES = {
    f"a.one + {MOST}": None,
    f"-{MOST} - a.one": -MOST - 1,
    f"-{MOST} - a.one - a.one": None,
    f"a.one * {MOST} * 4": None,
    "3037000499 * a.one * 3037000499": 3037000499**2,
    "3037000500 * a.one * 3037000500": None,
    f"-(-{MOST} - a.one)": None,
    f"abs(-{MOST} - a.one)": None,
    "floor(1e300 * a.one)": None,
    "floor(9007199254740993 * a.one)": 9007199254740993,
    "a.inf - a.inf": None,
    "a.inf % 3": None,
    "a.inf / a.inf": None,
    "9007199254740993 * a.one + 0.5": 9007199254740992.0,
    "1700000000123456789 * a.one / 1e9": 1700000000.1234567,
}


@pytest.mark.parametrize(("expression", "value"), VALUES.items())
def test_return_has_the_value_or_null(expression: str, value: Any) -> None:
    query = cep.query(f"PATTERN A a RETURN {expression} AS v")
    assert query.match(EVENTS).to_arrow().column("v").to_pylist() == [value]


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b"])
def test_conditions_agree_about_it(evaluation: str) -> None:
    for pattern in ("A a", "SEQ(A a, B b)"):
        # In the second, a condition is tested across events, by generated code.
        across = {
            expression.replace("a.one", "(b.ts - a.ts)").replace("a.inf -", "b.inf -"): value
            for expression, value in VALUES.items()
        }
        known = VALUES if pattern == "A a" else across
        tests = [
            f"{expression} IS NULL" if value is None else f"{expression} IS NOT NULL"
            for expression, value in known.items()
        ]
        query = cep.query(f"PATTERN {pattern} WHERE {' AND '.join(tests)}")
        assert len(query.match(EVENTS, evaluation=evaluation)) == 1


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b"])
@pytest.mark.parametrize("comparison", ["!= 0", "> 0", "< 0"])
def test_what_has_no_answer_satisfies_nothing(evaluation: str, comparison: str) -> None:
    for expression in (f"b.ts - a.ts + {MOST}", "a.inf - b.inf"):
        for text in (f"{expression} {comparison}", f"NOT ({expression} {comparison})"):
            query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {text}")
            assert len(query.match(EVENTS, evaluation=evaluation)) == 0


def test_unsigned_numbers_that_do_not_fit_are_refused() -> None:
    events = EVENTS.append_column("big", pa.array([2**64 - 1, 1], pa.uint64()))
    for item in ("a.big + 1", "-a.big"):
        with pytest.raises(cep.EventError, match="cannot be computed with exactly"):
            cep.query(f"PATTERN A a RETURN {item} AS v").match(events).to_arrow()
    with pytest.raises(cep.EventError, match="cannot be computed with exactly"):
        cep.query("PATTERN A+ a[] RETURN sum(a[].big) AS v").match(events).to_arrow()


@pytest.mark.parametrize("kind", [pa.duration("ms"), pa.duration("us"), pa.float16()])
def test_least_and_greatest_of_lists_of_any_number(kind: pa.DataType) -> None:
    events = pa.table(
        {"ts": [1, 2], "type": ["A", "A"], "x": pa.array([1, 2], pa.float32()).cast(pa.int64())}
    )
    numbers = events.column("x").cast(pa.float32() if kind == pa.float16() else pa.int64())
    events = events.set_column(2, "x", numbers.cast(kind))
    query = cep.query("PATTERN A{2} a[] RETURN min(a[].x) AS low, max(a[].x) AS high")
    found = query.match(events)
    [row] = found.to_arrow().to_pylist()
    assert [row["low"], row["high"]] == events.column("x").to_pylist()
    assert found.arrow_schema == found.to_arrow().schema


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b"])
def test_a_window_that_ends_beyond_the_axis_ends_with_it(evaluation: str) -> None:
    events = {"ts": [MOST - 1, MOST - 1], "type": ["A", "B"]}
    query = cep.query("PATTERN SEQ(A a, B b, ~(C c)) WITHIN 5")
    [match] = query.match(events, evaluation=evaluation)
    assert (match.start, match.end) == (MOST - 1, MOST)


def test_the_least_time_of_all_is_a_placeholder() -> None:
    with pytest.raises(cep.EventError, match="placeholder"):
        cep.query("PATTERN SEQ(A a, B b)").match({"ts": [-(2**63), 1 - 2**63], "type": ["A", "B"]})


LARGE = 2**62
SUMS = {
    (LARGE, LARGE - 1): MOST,
    (LARGE, LARGE): None,
    (LARGE, LARGE, LARGE, LARGE): None,  # which is 0 in 64 bits
    (LARGE, LARGE, -LARGE): LARGE,
    (-LARGE, -LARGE): -MOST - 1,
    (-LARGE, -LARGE, -LARGE): None,
}


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b", "lazy_chain"])
@pytest.mark.parametrize(("numbers", "total"), SUMS.items())
def test_a_sum_that_64_bits_do_not_hold_is_null(
    evaluation: str, numbers: tuple[int, ...], total: int | None
) -> None:
    count = len(numbers)
    events = pa.table(
        {
            "ts": range(count + 1),
            "type": ["A"] * count + ["B"],
            "x": [*numbers, 0],
            "mean": [sum(numbers) / count] * (count + 1),
            "total": pa.array([total] * (count + 1), pa.int64()),
        }
    )
    same = "sum(a[].x) IS NULL" if total is None else "sum(a[].x) = b.total"
    query = cep.query(
        f"PATTERN SEQ(A{{{count}}} a[], B b) WHERE {same} AND avg(a[].x) = b.mean "
        "RETURN sum(a[].x) AS total, avg(a[].x) AS mean"
    )
    [row] = query.match(events, evaluation=evaluation).to_arrow().to_pylist()
    assert (row["total"], row["mean"]) == (total, sum(numbers) / count)


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b", "lazy_chain"])
@pytest.mark.parametrize("function", ["sum", "avg"])
def test_a_sum_of_infinities_of_both_signs_is_null(evaluation: str, function: str) -> None:
    events = {"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [float("inf"), float("-inf"), 0.0]}
    text = f"PATTERN SEQ(A{{{{2}}}} a[], B b) WHERE {{}} RETURN {function}(a[].x) AS v"
    for condition, found in {"IS NULL": 1, "IS NOT NULL": 0, "> b.x": 0, "= b.x": 0}.items():
        query = cep.query(text.format(f"{function}(a[].x) {condition}"))
        matches = query.match(events, evaluation=evaluation)
        assert matches.to_arrow().column("v").to_pylist() == [None] * found
    query = cep.query(text.format(f"NOT {function}(a[].x) > b.x"))
    assert len(query.match(events, evaluation=evaluation)) == 0


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b", "instance_stacks", "lazy_chain"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("a.x = a.f", True),
        ("a.x = b.f", True),
        ("a.x IN (9007199254740992.0)", True),
        ("a.x BETWEEN 0 AND 9007199254740992.0", True),
        ("a.x > a.f", False),
        ("b.x != a.f", False),
        ("a.x > 9007199254740992.0", False),
        ("a.x = b.y - 2", True),
        ("a.x / b.y < 0.9999999999999997", True),
        ("a.x = 9007199254740992", False),
    ],
)
def test_whole_numbers_are_floats_beside_floats(
    evaluation: str, condition: str, holds: bool
) -> None:
    """They are compared with a float, and divided, as the nearest float that there is."""
    columns = {"x": [2**53 + 1] * 2, "y": [2**53 + 3] * 2, "f": [2.0**53] * 2}
    events = {"ts": [1, 2], "type": ["A", "B"], **columns}
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {condition}")
    assert len(query.match(events, evaluation=evaluation)) == holds


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b", "instance_stacks", "lazy_chain"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [("b.u < 1600 ns", True), ("b.u = 1600 ns", False), ("b.t - a.t < 1600 ns", True)],
)
def test_durations_are_rounded_to_microseconds(
    evaluation: str, condition: str, holds: bool
) -> None:
    events = pa.table(
        {
            "ts": [1, 2],
            "type": ["A", "B"],
            "t": pa.array([0, 1], pa.timestamp("us")),
            "u": pa.array([1, 1], pa.duration("us")),
        }
    )
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {condition}")
    assert len(query.match(events, evaluation=evaluation)) == holds


@pytest.mark.parametrize("evaluation", ["reference", "nfa_b", "instance_stacks", "lazy_chain"])
def test_a_stream_whose_times_are_too_far_apart_is_refused(evaluation: str) -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 4").session(evaluation=evaluation)
    session.feed({"ts": [-(2**62)], "type": ["A"]})
    with pytest.raises(cep.EventError, match="a range that does not fit into 64 bits"):
        session.feed({"ts": [2**62], "type": ["B"]})


@pytest.mark.parametrize("times", [[MOST - 1, MOST], [-(2**62), -(2**62) + 1]])
def test_uncertain_times_leave_room_for_sums(times: list[int]) -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 4")
    with pytest.raises(cep.EventError, match=r"uncertain times are between -2\*\*61 and 2\*\*61"):
        query.match({"ts": times, "type": ["A", "B"]}, uncertainty=2)
    with pytest.raises(cep.EventError, match="column 'to' has the time"):
        query.match({"ts": [1, 2], "to": [3, MOST], "type": ["A", "B"]}, time=("ts", "to"))
