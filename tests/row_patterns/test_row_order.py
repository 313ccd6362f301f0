"""The order in which rows are searched, by compiled code and without it."""

from __future__ import annotations

import datetime
import random
from itertools import pairwise

import pyarrow as pa
import pytest

from cepheid.row_patterns.compiled.row_order import sorted_rows
from cepheid.row_patterns.parser import parse
from cepheid.tuning import tuned

ROWS = 300
KEYS = {
    "few": lambda r: r.randrange(-3, 4),
    "many": lambda r: r.randrange(150),
    "wide": lambda r: r.choice([-(2**63), 0, 5, 2**63 - 1]),
    "nulls": lambda r: r.choice([None, None, -7, 8]),
    "truth": lambda r: r.choice([None, False, True]),
    "day": lambda r: datetime.date(2026, 1, r.randrange(1, 29)),
    "name": lambda r: r.choice(["a", "b", None, "c"]),
    "measured": lambda r: r.choice([0.0, 1.5, None, -2.25]),
}


def table(times: list[int | None]) -> pa.Table:
    """Rows with keys of all kinds."""
    r = random.Random(5)
    columns = {name: [made(r) for _ in times] for name, made in KEYS.items()}
    return pa.table({**columns, "t": pa.array(times, pa.int64())})


def expected(rows: pa.Table, names: list[str], *, descending: bool) -> list[list[int]]:
    """The rows of each partition, by sorting them in Python."""
    keys = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    times = rows["t"].to_pylist()
    partitions: dict[object, list[int]] = {}
    for row in range(rows.num_rows):
        partitions.setdefault(keys[row] if keys else (), []).append(row)
    sign = -1 if descending else 1
    for each in partitions.values():
        each.sort(key=lambda row: (times[row] is None, sign * (times[row] or 0)))
    return list(partitions.values())


TIMES = {
    "in order": lambda n: list(range(n)),
    "in order with ties": lambda n: [each // 7 for each in range(n)],
    "in order in each partition": lambda n: [each // 100 for each in range(n)],
    "in any order": lambda n: [each * 7919 % 101 for each in range(n)],
    "with nulls": lambda n: [None if each % 5 == 0 else each * 31 % 90 for each in range(n)],
}


@pytest.mark.parametrize("names", [[], *([name] for name in KEYS), ["few", "name"], ["many", "day"],
                                   ["nulls", "truth", "measured"]], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_rows_are_by_partition_and_then_in_order(names, times, descending):
    rows = table(TIMES[times](ROWS))
    partition = f"PARTITION BY {', '.join(names)}" if names else ""
    direction = "DESC" if descending else "ASC"
    clause = parse(f"MATCH_RECOGNIZE ({partition} ORDER BY t {direction} PATTERN (A))")
    wanted = expected(rows, names, descending=descending)
    for uncompiled in (0, ROWS):
        with tuned(first_run_events=uncompiled):
            order, offsets = sorted_rows(rows, clause)
        found = [order[low:high].tolist() for low, high in pairwise(offsets.tolist())]
        assert found == wanted


def test_rows_in_order_of_several_columns_stay_as_they_are():
    rows = table([each // 7 for each in range(ROWS)]).append_column("n", pa.array(range(ROWS)))
    clause = parse("MATCH_RECOGNIZE (ORDER BY t, n PATTERN (A))")
    assert sorted_rows(rows, clause)[0].tolist() == list(range(ROWS))


def test_partitions_one_after_another_stay_as_they_are():
    rows = table([*range(150), *range(150)])
    rows = rows.append_column("half", pa.array([1] * 150 + [0] * 150))
    clause = parse("MATCH_RECOGNIZE (PARTITION BY half ORDER BY t PATTERN (A))")
    with tuned(first_run_events=0):
        order, offsets = sorted_rows(rows, clause)
    assert order.tolist() == list(range(300))
    assert offsets.tolist() == [0, 150, 300]
