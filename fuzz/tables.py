"""Tables with odd schemas and odd values."""

from __future__ import annotations

import datetime as dt
import decimal
from random import Random
from typing import Any

import pyarrow as pa

QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 RETURN a.x, b.y",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] AND b[i].x > 1 } WITHIN 5 EVENTS",
    "PATTERN SEQ(A a, ~(B b), A c) WHERE [k] WITHIN 20 RETURN count(a.x), c",
    "EVENT A WHERE x = 1 OR s LIKE 'p%' OR y IS NULL",
    "PATTERN A+ a[] WHERE strict_contiguity { sum(a[..i-1].y) < 9 } WITHIN 3 RETURN a[].s, a.LEN",
)
KINDS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null(), pa.string()),
    *(pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary(4)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.duration("us")),
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC")),
    *(pa.timestamp("ms", "Europe/Berlin"), pa.decimal128(10, 2), pa.decimal256(50, 0)),
    *(pa.list_(pa.int64()), pa.struct([("f", pa.int64())]), pa.map_(pa.string(), pa.int64())),
    pa.dictionary(pa.int8(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.month_day_nano_interval(),
)
INTEGERS = (0, 1, 2, 3, -1, 127, 2**31 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)
FLOATS = (0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 5e-324, 1e308)
STRINGS = ("A", "B", "", "p%", "é", "\x00", "\u202e", "x" * 1000, "𝔸")


def odd_table(random: Random) -> tuple[str, pa.Table, dict[str, Any]]:
    """A query, a table, and keywords to match with."""
    rows = random.choice((0, 1, 2, 5, 20))
    columns: dict[str, pa.ChunkedArray] = {}
    for name in ("ts", "type", "x", "y", "k", "s"):
        if random.random() < 0.95:
            columns[name] = _column(random, name, rows)
    names, arrays = list(columns), list(columns.values())
    if random.random() < 0.05 and names:
        names[random.randrange(len(names))] = random.choice(("ts", "x", "", "a.b", "\x00", "é"))
    table = pa.Table.from_arrays(arrays, names=names)
    keywords: dict[str, Any] = {"max_matches": 1_000}
    if random.random() < 0.3:
        keywords["evaluation"] = random.choice(("reference", "nfa_b", "lazy_chain"))
    if random.random() < 0.1:
        keywords["tie_break"] = random.choice(("x", "s", "nothing"))
    if random.random() < 0.1:
        keywords["time_unit"] = random.choice(("s", "ms", "us", "ns", "years"))
    return random.choice(QUERIES), table, keywords


def _column(random: Random, name: str, rows: int) -> pa.ChunkedArray:
    if random.random() < 0.6:  # As a query expects it, so that some tables are read to the end.
        usual: dict[str, list[Any]] = {
            "ts": sorted(random.randrange(30) for _ in range(rows)),
            "type": random.choices("AAB", k=rows),
            "s": random.choices(("p", "q", None), k=rows),
        }
        values = usual.get(name) or random.choices((0, 1, 2, None), k=rows)
        kind = pa.string() if name in ("type", "s") else pa.int64()
        return pa.chunked_array([pa.array(values, kind)])
    kind = random.choice(KINDS)
    nulls = random.choice((0.0, 0.0, 0.2, 1.0))
    values = [None if random.random() < nulls else _value(random, kind) for _ in range(rows)]
    try:
        array = pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError):
        array = pa.nulls(rows)
    chunks = random.choice((0, 1, 3)) if rows else random.choice((0, 1))
    if chunks == 3:
        cut = random.randrange(rows + 1)
        return pa.chunked_array([array[:cut], array[:0], array[cut:]])
    return pa.chunked_array([array], array.type) if rows or chunks else pa.chunked_array([], kind)


def _value(random: Random, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return random.choice([each for each in INTEGERS if _fits(each, kind)])
    if pa.types.is_floating(kind):
        return random.choice(FLOATS)
    if pa.types.is_boolean(kind):
        return random.random() < 0.5
    if pa.types.is_decimal(kind):
        return decimal.Decimal(random.choice(("0", "1.50", "-3", "99999999")))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return random.choice((b"", b"A", b"\xff\x00"))
    if pa.types.is_fixed_size_binary(kind):
        return random.randbytes(4)
    if pa.types.is_date(kind):
        return dt.date(random.choice((1, 1970, 2024, 9999)), 1, 1)
    if pa.types.is_timestamp(kind):
        zone = dt.UTC if kind.tz else None
        return dt.datetime(random.choice((1700, 1970, 2024, 2200)), 1, 1, tzinfo=zone)
    if pa.types.is_time(kind):
        return dt.time(random.randrange(24))
    if pa.types.is_duration(kind):
        return dt.timedelta(seconds=random.randrange(-5, 5))
    if pa.types.is_list(kind):
        return random.choice(([], [1], [1, None]))
    if pa.types.is_struct(kind):
        return {"f": random.choice((1, None))}
    if pa.types.is_map(kind):
        return [("k", 1)]
    return random.choice((*STRINGS, 1))


def _fits(value: int, kind: pa.DataType) -> bool:
    bits = kind.bit_width
    if pa.types.is_signed_integer(kind):
        return -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
    return 0 <= value < 2**bits
