"""The order of a stream, compared with a plain stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.events.order import stream_order


def test_rows_are_sorted_by_time_and_one_column_after_another() -> None:
    random = np.random.default_rng(4)
    ticks = random.integers(0, 30, 500)
    columns: list[list[Any]] = [
        random.integers(-3, 3, 500).tolist(),
        [None if n == 0 else 1 / n for n in random.integers(-2, 4, 500).tolist()],
        random.choice(["b", "a", "ab"], 500).tolist(),
        (random.integers(-2, 2, 500) * 2**62).tolist(),
    ]
    found = stream_order(ticks, [pa.chunked_array([column]) for column in columns])
    keys = [
        (
            tick,
            *(
                (value is not None, value or 0) if ix == 1 else value
                for ix, value in enumerate(row)
            ),
        )
        for tick, row in zip(ticks.tolist(), zip(*columns, strict=True), strict=True)
    ]
    assert found is not None
    assert found.tolist() == sorted(range(500), key=keys.__getitem__)


@pytest.mark.parametrize("most", [5, 2**62])
@pytest.mark.parametrize("runs", [1, 3, 500])
def test_times_alone_are_sorted_stably(most: int, runs: int) -> None:
    random = np.random.default_rng(5)
    parts = [np.sort(random.integers(-most, most, 1_500 // runs)) for _ in range(runs)]
    ticks = np.concatenate(parts)
    expected = sorted(range(len(ticks)), key=ticks.tolist().__getitem__)
    found = stream_order(ticks, [])
    assert (found is None) is (runs == 1)
    assert found is None or found.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        [2**64 - 1, 0, 2**63],
        [True, None, False],
        [float("nan"), None, -0.0, 0.0, float("-inf")],
        [b"b", b"", b"a"],
    ],
)
def test_null_comes_first_and_nan_last(values: list[Any]) -> None:
    def key(row: int) -> tuple[bool, bool, Any]:
        value = values[row]
        is_nan = value != value
        return value is not None, is_nan, 0 if is_nan or value is None else value

    kind = pa.uint64() if values[0] == 2**64 - 1 else None
    found = stream_order(np.zeros(len(values), np.int64), [pa.array(values, kind)])
    assert found is not None
    assert found.tolist() == sorted(range(len(values)), key=key)


def test_rows_in_order_are_left_alone() -> None:
    ties = [pa.array([1, 1, 2, 0]), pa.chunked_array([["a", "b"], ["a", "c"]])]
    assert stream_order(np.array([1, 1, 1, 2]), ties) is None
    assert stream_order(np.array([1, 1, 1, 2]), ties[::-1]) is not None
    assert stream_order(np.zeros(0, np.int64), ties[:0]) is None


def test_nested_values_are_all_equal() -> None:
    assert stream_order(np.zeros(2, np.int64), [pa.array([[2], [1]])]) is None
