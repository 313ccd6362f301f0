"""Ticks are exact, windows on ticks mean what they mean on real time, and axes come back."""

import json
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.errors import EventError, OptionError
from cepheid.events.time_axis import MAX_TICKS, TimeAxis, unit_named
from cepheid.language.units import NANOSECONDS_PER

DAY_US = 86_400_000_000
CLOCKS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")]
TYPES = [pa.int8(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
TYPES += [*CLOCKS, pa.timestamp("us", "+02:00"), pa.date32(), pa.date64()]


@pytest.mark.parametrize(
    ("column", "ticks"),
    [
        (pa.array([3, -1]), [3, -1]),
        (pa.array([3, 255], pa.uint8()), [3, 255]),
        (pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
        (pa.array([0.1, -2.5, 1e12]), [100_000, -2_500_000, 10**18]),
        (pa.array([0.1], pa.float32()), [100_000]),
        (pa.array([1.5], pa.float16()), [1_500_000]),
        (pa.array([2], pa.timestamp("s")), [2_000_000]),
        (pa.array([2], pa.timestamp("ms", "Europe/Berlin")), [2_000]),
        (pa.array([2], pa.timestamp("us")), [2]),
        (pa.array([2], pa.timestamp("ns", "UTC")), [2]),
        (pa.array([date(1970, 1, 3)], pa.date32()), [2 * DAY_US]),
        (pa.array([date(1969, 12, 31)], pa.date64()), [-DAY_US]),
        (pa.array([7, 7, 8]).dictionary_encode(), [7, 7, 8]),
        (pa.array([], pa.null()), []),
        (pa.chunked_array([], pa.timestamp("s")), []),
        (pa.chunked_array([[1], [], [2, 3]]), [1, 2, 3]),
    ],
    ids=str,
)
def test_ticks(column, ticks):
    encoded = TimeAxis.of("ts", column.type).encode(column)
    assert encoded.tolist() == ticks
    assert encoded.dtype == np.int64
    assert encoded.flags.c_contiguous
    assert encoded.flags.writeable


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
def test_times_come_back_as_they_were(arrow_type):
    column = pa.array([0, 1, 100], pa.int64())
    if pa.types.is_date(arrow_type):
        column = pa.array([date(1970, 1, 1), date(2024, 2, 29)], arrow_type)
        expected = column.cast(pa.timestamp("us"))
    else:
        column = expected = column.cast(arrow_type)
    axis = TimeAxis.of("ts", arrow_type)
    assert axis.decode(axis.encode(column)).equals(expected)
    one = axis.decode_one(axis.encode(column)[1])
    if "ns" not in str(arrow_type):
        assert one == expected[1].as_py()
    assert type(one) in (int, float, datetime)
    assert TimeAxis.from_dict(json.loads(json.dumps(axis.to_dict()))) == axis


def test_what_is_below_a_microsecond_is_in_the_ticks_but_not_in_a_datetime():
    axis = TimeAxis.of("ts", pa.timestamp("ns"))
    assert axis.decode(np.array([1_999])).cast(pa.int64()).to_pylist() == [1_999]
    assert axis.decode_one(1_999) == datetime(1970, 1, 1, microsecond=1)
    assert axis.decode_one(-1) == datetime(1969, 12, 31, 23, 59, 59, 999_999)


def test_a_datetime_has_the_zone_of_its_column():
    axis = TimeAxis.of("ts", pa.timestamp("us", "+02:00"))
    found = axis.decode_one(0)
    assert found == datetime(1970, 1, 1, tzinfo=UTC)
    assert found.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize(
    ("arrow_type", "ticks", "wide"),
    [
        (pa.int8(), 300, pa.int64()),
        (pa.timestamp("s"), 1_500_000, pa.timestamp("us")),
        (pa.timestamp("ms", "UTC"), 1_500, pa.timestamp("us", "UTC")),
        (pa.float32(), 16_777_217_000_000, pa.float64()),
    ],
)
def test_the_end_of_a_window_may_need_a_wider_type_than_the_column(arrow_type, ticks, wide):
    axis = TimeAxis.of("ts", arrow_type)
    assert axis.decode(np.array([ticks]), wide=True).type == wide
    if not pa.types.is_floating(arrow_type):
        with pytest.raises(
            EventError, match=r"time column 'ts' \(.*\) has a time that does not fit"
        ):
            axis.decode(np.array([ticks]))


@pytest.mark.parametrize(
    ("arrow_type", "time_unit", "amount", "unit", "ticks"),
    [
        (pa.int64(), None, 10, None, 10),
        (pa.int64(), None, Fraction(5, 2), None, 3),
        (pa.int64(), "ms", 10, None, 10),
        (pa.int64(), "ms", 10, "seconds", 10_000),
        (pa.int64(), "ms", Fraction(1, 2), "milliseconds", 1),
        (pa.int64(), "h", 90, "minutes", 2),
        (pa.int64(), "d", 2, "weeks", 14),
        (pa.float64(), None, Fraction(1, 3), None, 333_334),
        (pa.float64(), "s", 2, "minutes", 120_000_000),
        (pa.float64(), "ns", 1, "nanoseconds", 1_000_000),
        (pa.timestamp("s"), None, 1, "milliseconds", 1_000),
        (pa.timestamp("s"), None, 1, "nanoseconds", 1),
        (pa.timestamp("ns"), None, 1, "microseconds", 1_000),
        (pa.date32(), None, 1, "days", DAY_US),
        (pa.timestamp("ns"), None, 10**9, "weeks", MAX_TICKS),
        (pa.float64(), None, 10**18, None, MAX_TICKS),
    ],
)
def test_windows(arrow_type, time_unit, amount, unit, ticks):
    assert TimeAxis.of("ts", arrow_type, time_unit).window_ticks(amount, unit) == ticks


@given(
    time_unit=st.sampled_from(sorted(NANOSECONDS_PER)),
    unit=st.sampled_from(sorted(NANOSECONDS_PER)),
    amount=st.fractions(min_value=0, max_value=1000),
    span=st.integers(0, 10**6),
)
@example(time_unit="hours", unit="minutes", amount=Fraction(120), span=2)
def test_a_window_on_ticks_is_the_window_on_real_time(time_unit, unit, amount, span):
    ticks = TimeAxis.of("ts", pa.int64(), time_unit).window_ticks(amount, unit)
    assert (span < ticks) == (span * NANOSECONDS_PER[time_unit] < amount * NANOSECONDS_PER[unit])


@given(st.integers(-(10**15), 10**15).map(lambda ticks: ticks / 1e6))
def test_floats_of_six_decimals_are_exact(value):
    axis = TimeAxis.of("ts", pa.float64())
    ticks = axis.encode(pa.array([value]))
    assert axis.decode(ticks).to_pylist() == [value] == [axis.decode_one(ticks[0])]


@pytest.mark.parametrize(
    ("name", "unit"),
    [("ns", "nanoseconds"), ("us", "microseconds"), ("ms", "milliseconds")]
    + [("s", "seconds"), ("min", "minutes"), ("h", "hours"), ("d", "days"), ("Hour", "hours")]
    + [(name, name) for name in NANOSECONDS_PER]
    + [(name.removesuffix("s"), name) for name in NANOSECONDS_PER],
)
def test_names_of_units(name, unit):
    assert unit_named(name) == unit
    assert TimeAxis.of("ts", pa.int32(), name).unit == unit


@pytest.mark.parametrize(
    ("arrow_type", "advice"),
    [
        (
            pa.string(),
            ". Convert it first: pandas.to_datetime(frame['ts']), "
            "column.cast(pyarrow.timestamp('us')), or on Spark F.to_timestamp('ts')",
        ),
        (
            pa.dictionary(pa.int8(), pa.large_string()),
            ". Convert it first: pandas.to_datetime(frame['ts']), "
            "column.cast(pyarrow.timestamp('us')), or on Spark F.to_timestamp('ts')",
        ),
        (
            pa.time64("us"),
            ". Convert it first: a timestamp made of the date and this time of day",
        ),
        (
            pa.duration("s"),
            ". Convert it first: column.cast(pyarrow.int64()), and say what it counts with "
            "time_unit",
        ),
        (pa.decimal128(10, 2), ". Convert it first: column.cast(pyarrow.float64())"),
        (pa.bool_(), ""),
        (pa.list_(pa.int64()), ""),
    ],
    ids=str,
)
def test_types_that_are_no_times(arrow_type, advice):
    shown = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    with pytest.raises(EventError) as raised:
        TimeAxis.of("ts", arrow_type)
    assert str(raised.value) == (
        f"time column 'ts' is {shown}; a time is an integer, a float, a timestamp or a date{advice}"
    )


NULL = (
    "time column 'ts' is null in {} events, first in row {} (counting from 0); an event needs a "
    "time: drop such rows or fill it in"
)
FAR = "time column 'ts' ({}) has a time that does not fit: {}"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1, None, None]), NULL.format("2 of 3", 1)),
        (pa.array([1.0, 2.0, float("nan"), None]), NULL.format("2 of 4", 2)),
        (pa.nulls(2), NULL.format("2 of 2", 0)),
        (pa.chunked_array([[1], [2, None]]), NULL.format("1 of 3", 2)),
        (
            pa.array([1.0, float("inf")]),
            FAR.format("double", "inf in row 1 is not within ±9.2e12"),
        ),
        (pa.array([1e300]), FAR.format("double", "1e+300 in row 0 is not within ±9.2e12")),
        (pa.array([1.7e308]), FAR.format("double", "1.7e+308 in row 0 is not within ±9.2e12")),
        (
            pa.array([2**63], pa.uint64()),
            FAR.format(
                "uint64",
                "Integer value 9223372036854775808 not in range: 0 to 9223372036854775807",
            ),
        ),
        (
            pa.array([2**60], pa.timestamp("s")),
            FAR.format(
                "timestamp[s]",
                "Casting from timestamp[s] to timestamp[us] would result in out of bounds "
                f"timestamp: {2**60}",
            ),
        ),
    ],
    ids=str,
)
def test_times_that_cannot_be_used(column, message):
    with pytest.raises(EventError) as raised:
        TimeAxis.of("ts", column.type).encode(column)
    assert str(raised.value) == message


def test_a_later_batch_may_differ_in_width_but_not_in_kind():
    axis = TimeAxis.of("ts", pa.timestamp("ns"))
    assert axis.encode(pa.array([1], pa.timestamp("ms"))).tolist() == [1_000_000]
    assert TimeAxis.of("ts", pa.float64()).encode(pa.array([1])).tolist() == [1_000_000]
    for other in (pa.timestamp("ns", "UTC"), pa.int64()):
        with pytest.raises(EventError) as raised:
            axis.encode(pa.array([1], other))
        assert str(raised.value) == (
            f"mixed time types: column 'ts' is {other}, and was timestamp[ns] before"
        )
    with pytest.raises(EventError, match=r"time column 'ts' .* that does not fit: Float value 1.5"):
        TimeAxis.of("ts", pa.int64()).encode(pa.array([1.5]))


def test_a_moment_that_python_has_no_datetime_for():
    with pytest.raises(EventError, match="a datetime covers the years 1 to 9999"):
        TimeAxis.of("ts", pa.timestamp("s", "UTC")).decode_one(2**62)


@pytest.mark.parametrize(
    ("arrow_type", "unit", "message"),
    [
        (
            pa.timestamp("us", "UTC"),
            None,
            "column 'ts' is timestamp[us, tz=UTC], which has no unit of its own; write the window "
            "with a unit, e.g. WITHIN 10 seconds",
        ),
        (
            pa.int64(),
            "minutes",
            "column 'ts' holds plain numbers, and their unit is unknown, so 2.5 minutes cannot be "
            'converted; pass e.g. time_unit="ms" (--time-unit ms) if they are milliseconds, or '
            "write the window as a plain number, e.g. WITHIN 10",
        ),
    ],
)
def test_windows_that_mean_nothing(arrow_type, unit, message):
    with pytest.raises(OptionError) as raised:
        TimeAxis.of("ts", arrow_type).window_ticks(Fraction(5, 2), unit)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("arrow_type", "time_unit", "message"),
    [
        (
            pa.timestamp("s"),
            "ms",
            "time_unit='ms' says what plain numbers count, but column 'ts' is timestamp[s], which "
            "says so itself; leave time_unit out",
        ),
        (
            pa.int64(),
            "secnds",
            "'secnds' is no unit of time; use ns, us, ms, s, min, h or d, or a long name such as "
            "milliseconds. Did you mean 'seconds'?",
        ),
        (
            pa.int64(),
            "fortnight",
            "'fortnight' is no unit of time; use ns, us, ms, s, min, h or d, or a long name such "
            "as milliseconds",
        ),
    ],
)
def test_units_that_cannot_be_used(arrow_type, time_unit, message):
    with pytest.raises(OptionError) as raised:
        TimeAxis.of("ts", arrow_type, time_unit)
    assert str(raised.value) == message
