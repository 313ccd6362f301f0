"""The time column as ticks on a discrete axis, and back.

Ticks are int64 and exact. An integer column is its own ticks, and a float column counts
millionths. Timestamps and dates count microseconds since 1970, or nanoseconds if the column does.
The axis depends on the column's type alone, so that all batches of a stream share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError, OptionError, did_you_mean, list_words
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import (
    from_numpy,
    numbers_of,
    one_array,
    without_dictionary,
)
from cepheid.language.units import CANONICAL_UNIT, NANOSECONDS_PER
from cepheid.schema import remembered

_INT64 = pa.int64()
TICKS_PER_FLOAT = 1_000_000
MAX_TICKS = 2**63 - 1

_SHORT_UNITS = ("ns", "us", "ms", "s", "min", "h", "d")

_PARSE_STRING = (
    "pandas.to_datetime(frame[{0!r}]), column.cast(pyarrow.timestamp('us')), or on Spark "
    "F.to_timestamp({0!r})"
)
_ADVICE = (
    (arrow.is_string, _PARSE_STRING),
    (arrow.is_large_string, _PARSE_STRING),
    (arrow.is_time, "a timestamp made of the date and this time of day"),
    (arrow.is_duration, "column.cast(pyarrow.int64()), and say what it counts with time_unit"),
    (arrow.is_decimal, "column.cast(pyarrow.float64())"),
)


def earliest(times: Iterable[int | None]) -> int | None:
    """The earliest of the times that are known, in ticks; None if none is."""
    return min((time for time in times if time is not None), default=None)


def latest_of_all(times: Iterable[int | None]) -> int | None:
    """The latest of the times, in ticks; None if one of them is unknown, or there are none."""
    latest = None
    for time in times:
        if time is None:
            return None
        latest = time if latest is None else max(latest, time)
    return latest


def check_range(column: str, first: int, last: int) -> None:
    """Refuse times whose difference does not fit into 64 bits."""
    if last - first > MAX_TICKS:
        raise EventError(
            f"time column {column!r} runs from {first} to {last}, a range that does not fit "
            "into 64 bits; is one of them a placeholder?"
        )


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The conversion of one time column to ticks.

    ``unit`` is the unit of the numbers in the column (for a timestamp or date: of its ticks), or
    None if it is unknown. Floats are rounded to a millionth of it. The column of an axis that
    ``is_empty`` has no values, so that nothing says what they would be.
    """

    column: str
    arrow_type: pa.DataType
    unit: str | None = None
    is_empty: bool = field(default=False, compare=False)

    @classmethod
    @remembered
    def of(cls, column: str, arrow_type: pa.DataType, time_unit: str | None = None) -> TimeAxis:
        """The axis of a column; ``time_unit`` is the unit of a numeric column.

        >>> TimeAxis.of("ts", pa.int64(), "ms").unit
        'milliseconds'
        """
        if arrow.is_dictionary(arrow_type):
            return cls.of(column, arrow_type.value_type, time_unit)
        unit = None if time_unit is None else unit_named(time_unit)
        if arrow.is_null(arrow_type):  # No event, or no event with a time: refused in encode().
            return cls(column, pa.int64(), unit, is_empty=True)
        if arrow.is_integer(arrow_type) or arrow.is_floating(arrow_type):
            return cls(column, arrow_type, unit)
        if not (arrow.is_timestamp(arrow_type) or arrow.is_date(arrow_type)):
            advice = [text for test, text in _ADVICE if test(arrow_type)]
            raise EventError(
                f"time column {column!r} is {arrow_type}; a time is an integer, a float, "
                "a timestamp or a date"
                + "".join(f". Convert it first: {text.format(column)}" for text in advice)
            )
        if unit is not None:
            raise OptionError(
                f"time_unit={time_unit!r} says what plain numbers count, but column {column!r} is "
                f"{arrow_type}, which says so itself; leave time_unit out"
            )
        is_ns = arrow.is_timestamp(arrow_type) and arrow_type.unit == "ns"
        return cls(column, arrow_type, "nanoseconds" if is_ns else "microseconds")

    @property
    def kind(self) -> str:
        """The kind of time; only times of the same kind can be ordered.

        >>> TimeAxis.of("ts", pa.timestamp("s", "UTC")).kind
        'timestamp with a time zone'
        """
        if not self.is_clock:
            return "number"
        return f"timestamp {'without' if self._zone is None else 'with'} a time zone"

    @property
    def is_clock(self) -> bool:
        """Whether the column holds timestamps or dates rather than plain numbers."""
        return bool(arrow.is_timestamp(self.arrow_type) or arrow.is_date(self.arrow_type))

    @property
    def ticks_per_unit(self) -> int:
        """The number of ticks in one unit of the column."""
        return TICKS_PER_FLOAT if arrow.is_floating(self.arrow_type) else 1

    @property
    def tick_ns(self) -> Fraction | None:
        """The length of a tick in nanoseconds, if it is known.

        >>> TimeAxis.of("ts", pa.float64(), "s").tick_ns
        Fraction(1000, 1)
        """
        return (
            None if self.unit is None else Fraction(NANOSECONDS_PER[self.unit], self.ticks_per_unit)
        )

    def window_ticks(self, amount: Fraction | int, unit: str | None) -> int:
        """The smallest W for which ``last - first < W`` in ticks is the same as in real time.

        ``unit`` None means the column's own unit. A window longer than the axis is MAX_TICKS.

        >>> TimeAxis.of("ts", pa.timestamp("ms")).window_ticks(10, "seconds")
        10000000
        >>> TimeAxis.of("ts", pa.int64(), "h").window_ticks(90, "minutes")
        2
        """
        return min(math.ceil(self.ticks_of(amount, unit)), MAX_TICKS)

    def ticks_of(self, amount: Fraction | int, unit: str | None) -> Fraction:
        """A length of time in ticks, which need not be a whole number of them.

        >>> TimeAxis.of("ts", pa.int64(), "h").ticks_of(90, "minutes")
        Fraction(3, 2)
        """
        if unit is None:
            if self.is_clock:
                raise OptionError(
                    f"column {self.column!r} is {self.arrow_type}, which has no unit of its own; "
                    "write the window with a unit, e.g. WITHIN 10 seconds"
                )
            return Fraction(amount * self.ticks_per_unit)
        if self.tick_ns is None and self.is_empty:
            return Fraction(MAX_TICKS)
        if self.tick_ns is None:
            named = unit.removesuffix("s") if amount == 1 else unit
            raise OptionError(
                f"column {self.column!r} holds plain numbers, and their unit is unknown, so "
                f'{float(amount):g} {named} cannot be converted; pass e.g. time_unit="ms" '
                "(--time-unit ms) if they are milliseconds, or write the window as a plain number, "
                "e.g. WITHIN 10"
            )
        return Fraction(amount * NANOSECONDS_PER[unit_named(unit)]) / self.tick_ns

    def encode(
        self, column: pa.Array | pa.ChunkedArray, place: Callable[[int], str] = "row {}".format
    ) -> Int64s:
        """The ticks of a column of this axis; ``place`` names a row in an error message.

        >>> TimeAxis.of("ts", pa.float64()).encode(pa.array([0.5, 2.0])).tolist()
        [500000, 2000000]
        """
        array = without_dictionary(one_array(column))
        is_other = array.type != self.arrow_type and not arrow.is_null(array.type)
        if is_other and TimeAxis.of(self.column, array.type).kind != self.kind:
            raise EventError(
                f"mixed time types: column {self.column!r} is {array.type}, and was "
                f"{self.arrow_type} before"
            )
        if arrow.is_floating(self.arrow_type):
            return self._encode_floats(array, place)
        if array.null_count:
            missing = array.is_null().to_numpy(zero_copy_only=False)
            raise self._missing(missing, place)
        try:
            if self.is_clock:
                zone = array.type.tz if arrow.is_timestamp(array.type) else None
                array = array.cast(pa.timestamp(self._tick_symbol, zone))
            return numbers_of(array if array.type == _INT64 else array.cast(_INT64))
        except pa.ArrowInvalid as error:
            raise self._too_far(str(error)) from error

    def decode(self, ticks: Int64s, *, wide: bool = False) -> pa.Array:
        """Ticks as values of the column's own type; dates as timestamps.

        ``wide`` gives int64, float64 or a timestamp in the axis's unit instead. These hold every
        tick, such as the end of a 500 ms window in a column of whole seconds.

        >>> TimeAxis.of("ts", pa.int16()).decode(np.array([3, 4])).type
        DataType(int16)
        """
        numbers: pa.Array = from_numpy(np.asarray(ticks, np.int64))
        if self.is_clock:
            numbers = numbers.cast(pa.timestamp(self._tick_symbol, self._zone))
        elif self.ticks_per_unit > 1:
            numbers = from_numpy(np.asarray(ticks) / self.ticks_per_unit)
        if wide or arrow.is_date(self.arrow_type):
            return numbers
        try:
            return numbers.cast(self.arrow_type)
        except pa.ArrowInvalid as error:
            raise self._too_far(str(error)) from error

    def decode_one(self, ticks: int) -> int | float | datetime:
        """One tick as a Python value; a datetime is truncated to microseconds.

        >>> TimeAxis.of("ts", pa.timestamp("s")).decode_one(1_500_000)
        datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)
        """
        if not self.is_clock:
            return int(ticks) if self.ticks_per_unit == 1 else int(ticks) / self.ticks_per_unit
        microseconds = int(ticks) // (1_000 if self._tick_symbol == "ns" else 1)
        try:
            moment: datetime = pa.scalar(microseconds, pa.timestamp("us", self._zone)).as_py()
        except (ValueError, OverflowError) as error:
            raise self._too_far("a datetime covers the years 1 to 9999") from error
        return moment

    def to_dict(self) -> dict[str, str | None]:
        """The axis as plain data, for a snapshot.

        >>> TimeAxis.of("ts", pa.timestamp("us", "UTC")).to_dict()
        {'column': 'ts', 'type': 'timestamp[us]', 'zone': 'UTC', 'unit': 'microseconds'}
        """
        is_zoned = self._zone is not None
        unzoned = pa.timestamp(self.arrow_type.unit) if is_zoned else self.arrow_type
        return {"column": self.column, "type": str(unzoned), "zone": self._zone, "unit": self.unit}

    @classmethod
    def from_dict(cls, data: Mapping[str, str | None]) -> TimeAxis:
        """The axis from the result of :meth:`to_dict`.

        >>> axis = TimeAxis.of("ts", pa.date32())
        >>> TimeAxis.from_dict(axis.to_dict()) == axis
        True
        """
        arrow_type = pa.type_for_alias(str(data["type"]))
        if data["zone"] is not None:
            arrow_type = pa.timestamp(arrow_type.unit, data["zone"])
        return cls(str(data["column"]), arrow_type, data["unit"])

    @property
    def _zone(self) -> str | None:
        zone: str | None = getattr(self.arrow_type, "tz", None)
        return zone

    @property
    def _tick_symbol(self) -> str:
        return "ns" if self.unit == "nanoseconds" else "us"

    def _encode_floats(self, array: pa.Array, place: Callable[[int], str]) -> Int64s:
        floats = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        missing = np.isnan(floats)
        if missing.any():
            raise self._missing(missing, place)
        with np.errstate(over="ignore"):
            scaled = np.rint(floats * self.ticks_per_unit)
        beyond = ~(np.abs(scaled) < 2.0**63)
        if beyond.any():
            row = int(np.flatnonzero(beyond)[0])
            raise self._too_far(f"{floats[row]} in {place(row)} is not within ±9.2e12")
        ticks: Int64s = scaled.astype(np.int64)
        return ticks

    def _missing(self, missing: np.ndarray, place: Callable[[int], str]) -> EventError:
        count, first = int(missing.sum()), int(np.flatnonzero(missing)[0])
        return EventError(
            f"time column {self.column!r} is null in {count} of {len(missing)} events, first in "
            f"{place(first)} (counting from 0); an event needs a time: drop such rows or fill it in"
        )

    def _too_far(self, said: str) -> EventError:
        return EventError(
            f"time column {self.column!r} ({self.arrow_type}) has a time that does not fit: "
            f"{' '.join(said.split())}"
        )


def unit_named(name: str) -> str:
    """The unit with a short or long, singular or plural name.

    >>> unit_named("ms"), unit_named("hour")
    ('milliseconds', 'hours')
    """
    unit = CANONICAL_UNIT.get(str(name).casefold())
    if unit is None:
        raise OptionError(
            f"{name!r} is no unit of time; use {list_words(_SHORT_UNITS, 'or')}, or a long name "
            "such as milliseconds" + did_you_mean(str(name), NANOSECONDS_PER)
        )
    return unit
