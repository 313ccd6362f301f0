"""The uncertainty intervals of events, as instants of a discrete axis.

An instant is ``granule`` ticks long. Intervals follow from the events and the declared uncertainty
of their times, so that a session keeps only events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.imprecise.kernels.interval_masses import sum_masses
from cepheid.engines.imprecise.layout import Intervals
from cepheid.errors import EventError, OptionError, did_you_mean, list_words
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.columns.encoding import writable
from cepheid.events.events import Events
from cepheid.events.read_options import Extent, UncertainTime, read_extent
from cepheid.events.time_axis import TimeAxis, unit_named
from cepheid.language.units import NANOSECONDS_PER

MOST_INSTANTS = 1_000_000
"""The most instants of an interval: a sum over all of them is made for each match."""
FARTHEST = 1 << 61
"""No time is so far from 0, so that sums and differences of times fit into 64 bits."""

_SURE = 1e-6
_LONGEST_REACH = 1 << 60


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of uncertain times, in ticks of a time column.

    ``granule`` is the length of an instant. An event can be away from its time by ``reaches`` of
    its type, or ``others``.
    """

    axis: TimeAxis
    granule: int
    reaches: Mapping[str, int]
    others: int

    @classmethod
    def of(cls, axis: TimeAxis, uncertain: UncertainTime) -> Declared:
        """What is declared, for events with this time column."""
        return cls(axis, granule_of(axis, uncertain), *_reaches(axis, uncertain))

    @property
    def longest_reach(self) -> int:
        """The most ticks by which an event can begin before the time in its column."""
        return max([self.others, *self.reaches.values()])

    def longest(self, uncertain: UncertainTime) -> int | None:
        """The length, in instants, that no interval of the stream exceeds, if it is known."""
        if uncertain.max_uncertainty is not None:
            extent = read_extent("max_uncertainty", uncertain.max_uncertainty)
            return -floor(-_ticks(self.axis, "max_uncertainty", extent) / self.granule)
        if uncertain.uncertainty is None:
            return 0 if uncertain.upper is None else None
        return -(-2 * self.longest_reach // self.granule)


def granule_of(axis: TimeAxis, uncertain: UncertainTime) -> int:
    """The number of ticks of an instant."""
    if uncertain.granularity is None:
        return 1
    ticks = _ticks(axis, "granularity", read_extent("granularity", uncertain.granularity))
    if ticks < 1 or ticks.denominator != 1:
        raise OptionError(
            f"granularity={uncertain.granularity!r} is not a multiple of the resolution of column "
            f"{axis.column!r} ({axis.arrow_type})"
        )
    return int(ticks)


def read_intervals(
    events: Events, uncertain: UncertainTime, declared: Declared | None = None
) -> Intervals:
    """The intervals of the events; refused if one ends before it begins.

    ``declared`` is what is declared, if it is known.
    """
    axis = events.time_axis
    declared = declared or Declared.of(axis, uncertain)
    granule = declared.granule
    _check_far(axis.column, events.ticks)
    if uncertain.upper is not None:
        lower, upper = events.ticks, _upper_ticks(events, uncertain.upper)
        _check_far(uncertain.upper, upper)
        wrong = np.flatnonzero(lower > upper)
        if len(wrong):
            first = int(wrong[np.argmin(events.rows[wrong])])
            raise EventError(
                f"{len(wrong)} of {len(events)} events end before they begin, first in row "
                f"{int(events.rows[first])} (counting from 0): {axis.column!r} is "
                f"{axis.decode_one(int(lower[first]))} and {uncertain.upper!r} is "
                f"{axis.decode_one(int(upper[first]))}; an earliest time is at most the latest one"
            )
    else:
        reach: int | Int64s = declared.others
        if declared.reaches:
            by_type = [declared.reaches.get(name, declared.others) for name in events.type_names]
            reach = np.array(by_type, dtype=np.int64)[events.type_codes]
        lower, upper = events.ticks - reach, events.ticks + reach
    if granule > 1:
        lower, upper = lower // granule, upper // granule
    longest = int((upper - lower).max()) + 1 if len(lower) else 0
    if longest > MOST_INSTANTS:
        raise OptionError(
            f"an event has {longest:,} possible instants, more than {MOST_INSTANTS:,}; give "
            "the length of an instant, for instance granularity='100 ms'"
        )
    uniform = Intervals(lower, upper, np.full(len(lower), -1, dtype=np.int64), np.zeros(1))
    if uncertain.probabilities is None:
        return uniform
    return _with_probabilities(events, uniform, uncertain.probabilities)


def are_far(ticks: Int64s) -> npt.NDArray[np.bool_]:
    """Which of the times are too far from 0."""
    far: npt.NDArray[np.bool_] = (ticks >= FARTHEST) | (ticks <= -FARTHEST)
    return far


def _check_far(column: str, ticks: Int64s) -> None:
    far = are_far(ticks)
    if far.any():
        raise EventError(
            f"column {column!r} has the time {ticks[far][0]}: uncertain times are between -2**61 "
            "and 2**61; is it a placeholder?"
        )


def _column(events: Events, name: str, what: str) -> pa.ChunkedArray:
    names = events.table.column_names
    if name not in names:
        raise EventError(
            f"the events have no column {name!r} {what}; the columns are "
            f"{list_words(names[:12])}{did_you_mean(name, names)}"
        )
    return events.table.column(name)


def _upper_ticks(events: Events, name: str) -> Int64s:
    axis = events.time_axis
    column = _column(events, name, "for the latest time of an event")
    if pa.types.is_string(column.type) and axis.is_clock:
        zone = axis.arrow_type.tz if pa.types.is_timestamp(axis.arrow_type) else None
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("us", zone))
    there = TimeAxis.of(name, column.type, axis.unit if not axis.is_clock else None)
    if there.kind != axis.kind:
        raise EventError(
            f"column {axis.column!r} is {axis.arrow_type} ({axis.kind}) but {name!r} is "
            f"{column.type} ({there.kind}); both must have the same data type"
        )
    if there.ticks_per_unit < axis.ticks_per_unit:
        column = column.cast(pa.float64())
    if there.ticks_per_unit > axis.ticks_per_unit:
        raise EventError(
            f"column {axis.column!r} is {axis.arrow_type} but {name!r} is {column.type}; give both "
            "the same type"
        )
    shown = TimeAxis(name, axis.arrow_type, axis.unit)
    return shown.encode(column, lambda row: f"row {int(events.rows[row])}")


def _ticks(axis: TimeAxis, name: str, extent: Extent) -> Fraction:
    amount, unit = extent
    if unit is None:
        if axis.is_clock:
            raise OptionError(
                f"{name} needs a unit, such as '500 ms', since column {axis.column!r} is "
                f"{axis.arrow_type}"
            )
        return amount * axis.ticks_per_unit
    if axis.tick_ns is None:
        raise OptionError(
            f"column {axis.column!r} holds plain numbers, and without a unit for them "
            f"{name}='{float(amount):g} {unit}' has no meaning; pass e.g. time_unit=\"ms\" "
            f"(--time-unit ms), or give {name} as a plain number"
        )
    return amount * NANOSECONDS_PER[unit_named(unit)] / axis.tick_ns


def _reaches(axis: TimeAxis, uncertain: UncertainTime) -> tuple[dict[str, int], int]:
    """The most ticks by which an event can be away from its time: by type, and of other types."""

    def reach_of(given: object) -> int:
        reach = floor(_ticks(axis, "uncertainty", read_extent("uncertainty", given)))
        if reach > _LONGEST_REACH:
            raise OptionError(f"uncertainty={given!r} does not fit into 64 bits")
        return reach

    given = uncertain.uncertainty
    if isinstance(given, Mapping):
        return {name: reach_of(extent) for name, extent in given.items()}, 0
    return {}, 0 if given is None else reach_of(given)


def _with_probabilities(events: Events, uniform: Intervals, name: str) -> Intervals:
    """The intervals without the instants at their ends that have probability 0."""
    column = one_array(_column(events, name, "of probabilities"))
    if pa.types.is_null(column.type):
        return uniform
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise EventError(
            f"column {name!r} of probabilities is {column.type}; it holds a list of numbers, one "
            "for each instant of the event, or null if all are equally likely"
        )
    given = column.is_valid().to_numpy(zero_copy_only=False)
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = column.flatten().cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    firsts = ends - lengths
    sizes = uniform.upper - uniform.lower + 1
    wrong = given & (lengths != sizes)
    _refuse(
        events, name, wrong, lambda row: f"has {lengths[row]} numbers for {sizes[row]} instants"
    )
    event_of = np.repeat(np.arange(len(lengths)), lengths)
    bad = np.zeros(len(lengths), dtype=np.bool_)
    bad[event_of[~(values >= 0.0)]] = True
    _refuse(events, name, bad, lambda _row: "has a negative number or a null")
    totals = np.bincount(event_of, weights=values, minlength=len(lengths)).astype(np.float64)
    wrong = given & (np.abs(totals - 1.0) > _SURE)
    _refuse(events, name, wrong, lambda row: f"adds up to {totals[row]:.6g} instead of 1")
    positive = np.flatnonzero(values > 0.0)
    owner = event_of[positive]
    places = positive - firsts[owner]
    low, high = np.zeros(len(lengths), np.int64), np.maximum(lengths - 1, 0)
    # The last write wins: the first positive place comes last when read backwards.
    low[owner[::-1]] = places[::-1]
    high[owner] = places
    lower = np.where(given, uniform.lower + low, uniform.lower)
    upper = np.where(given, uniform.lower + high, uniform.upper)
    # Each list becomes its sums from 0 to 1, one more number than it has.
    masses = np.zeros(len(values) + len(lengths) + 1)
    sum_masses(writable(values), firsts, lengths, np.ascontiguousarray(high), totals, masses)
    mass_at = np.where(given, firsts + np.arange(len(lengths)) + low, -1)
    return Intervals(lower, upper, np.ascontiguousarray(mass_at), masses)


def _refuse(
    events: Events, name: str, bad: npt.NDArray[np.bool_], what: Callable[[int], str]
) -> None:
    if not bad.any():
        return
    first = int(np.argmax(bad))
    raise EventError(
        f"column {name!r} of probabilities {what(first)} in row {int(events.rows[first])} "
        f"(counting from 0; {int(bad.sum())} of {len(events)} events have this fault); it holds "
        "the probability of each instant, from the earliest to the latest"
    )
