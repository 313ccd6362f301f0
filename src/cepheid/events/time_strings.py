"""Times that are written as strings: ISO 8601, or the format that the caller names."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import EventError, OptionError
from cepheid.events.columns.arrow_arrays import column_named

_CLOCKS = (pa.timestamp("us"), pa.timestamp("us", "UTC"))


def with_parsed_time(
    table: pa.Table, time: str, place: Callable[[int], str], time_format: str | None = None
) -> pa.Table:
    """The table with a time column of strings parsed as timestamps.

    Strings are ISO 8601, unless ``time_format`` gives another format. A column of numbers written
    as strings is left alone; the time axis refuses it later.

    >>> table = pa.table({"ts": ["01/03/2024 09:30:00"]})
    >>> with_parsed_time(table, "ts", "row {}".format, "%d/%m/%Y %H:%M:%S")["ts"][0].as_py()
    datetime.datetime(2024, 3, 1, 9, 30)
    """
    column = column_named(table, time)
    if arrow.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if time_format is not None:
        parsed = _in_format(column, time, place, time_format)
    elif not (arrow.is_string(column.type) or arrow.is_large_string(column.type)):
        return table
    else:
        parsed = _in_iso(column, time, place)
    return table.set_column(table.column_names.index(time), time, parsed)


def _in_iso(column: pa.ChunkedArray, time: str, place: Callable[[int], str]) -> pa.ChunkedArray:
    for wanted in _CLOCKS:
        try:
            return column.cast(wanted)
        except pa.ArrowInvalid:
            continue
    no_clock = max(_first_that_cannot_be(wanted, column) for wanted in _CLOCKS)
    row = max(no_clock, _first_that_cannot_be(pa.float64(), column))
    if row == len(column):
        return column
    if row == no_clock and any(_can_be(clock, column.slice(row, 1)) for clock in _CLOCKS):
        raise EventError(
            f"time column {time!r} has both times with a time zone and times without one: "
            f"{column[row].as_py()!r} in {place(row)} (counting from 0) is unlike those before it; "
            "write all of them in one way, such as '2024-05-01T09:30:00Z' for UTC"
        )
    raise EventError(
        f"time column {time!r} is {column.type}, and {column[row].as_py()!r} in {place(row)} "
        "(counting from 0) cannot be read as a time; correct or drop such rows, or give the format "
        "of the column: time_format='%d/%m/%Y %H:%M:%S' (--time-format)"
    )


def _in_format(
    column: pa.ChunkedArray, time: str, place: Callable[[int], str], time_format: str
) -> pa.ChunkedArray:
    if arrow.is_timestamp(column.type) or arrow.is_date(column.type):
        raise OptionError(
            f"time_format={time_format!r} is the format of strings, but column {time!r} is "
            f"{column.type}; leave time_format out"
        )
    texts = column.cast(pa.string())
    # Arrow parses no fractions of a second.
    whole, fraction = texts, None
    head = time_format.removesuffix("%f")
    if "%f" in head or (head != time_format and head[-1:] not in (".", ",")):
        raise OptionError(
            f"time_format={time_format!r} has %f, the fraction of a second, in the middle; it "
            "must be last, after a dot or a comma: '%H:%M:%S.%f'"
        )
    if head != time_format:
        head = head[:-1]
        parts = pc.extract_regex(texts, r"^(?P<whole>.*?)(?:[.,](?P<fraction>[0-9]{1,6})[0-9]*)?$")
        whole, fraction = pc.struct_field(parts, "whole"), pc.struct_field(parts, "fraction")
        digits = pc.utf8_rpad(pc.if_else(pc.equal(fraction, ""), "0", fraction), 6, "0")
        fraction = digits.cast(pa.int64()).cast(pa.duration("us"))
    try:
        parsed = pc.strptime(whole, head, "us", error_is_null=True)
    except pa.ArrowInvalid as error:
        raise OptionError(f"time_format={time_format!r} cannot be used: {error}") from None
    bad = pc.and_(pc.is_null(parsed), pc.is_valid(texts))
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        raise EventError(
            f"time column {time!r} has {texts[row].as_py()!r} in {place(row)} (counting from 0), "
            f"which is not in the format {time_format!r}"
        )
    return parsed if fraction is None else pc.add(parsed, fraction)


def _can_be(wanted: pa.DataType, strings: pa.ChunkedArray) -> bool:
    try:
        strings.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _first_that_cannot_be(wanted: pa.DataType, strings: pa.ChunkedArray) -> int:
    """The first string that cannot be cast, by binary search; the length if there is none."""
    low, high = 0, len(strings)
    while low < high:
        middle = (low + high) // 2
        if _can_be(wanted, strings.slice(low, middle + 1 - low)):
            low = middle + 1
        else:
            high = middle
    return low
