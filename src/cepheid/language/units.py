"""Units of time in windows and durations."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

NANOSECONDS_PER = {
    "nanoseconds": 1,
    "microseconds": 1_000,
    "milliseconds": 1_000_000,
    "seconds": 1_000_000_000,
    "minutes": 60_000_000_000,
    "hours": 3_600_000_000_000,
    "days": 86_400_000_000_000,
    "weeks": 604_800_000_000_000,
}

_SHORT = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "µs": "microseconds",
    "ms": "milliseconds",
    "msec": "milliseconds",
    "msecs": "milliseconds",
    "millis": "milliseconds",
    "s": "seconds",
    "sec": "seconds",
    "secs": "seconds",
    "min": "minutes",
    "mins": "minutes",
    "h": "hours",
    "hr": "hours",
    "hrs": "hours",
    "d": "days",
}

CANONICAL_UNIT = {name: name for name in NANOSECONDS_PER}
CANONICAL_UNIT |= {name.removesuffix("s"): name for name in NANOSECONDS_PER}
CANONICAL_UNIT |= _SHORT
"""The canonical (plural) name for every spelling of a unit in lower case."""


def microseconds(amount: Fraction, unit: str) -> int:
    """A duration in whole microseconds, the unit of conditions.

    >>> microseconds(Fraction(1600), "nanoseconds"), microseconds(Fraction(1, 2), "seconds")
    (2, 500000)
    """
    return round(amount * NANOSECONDS_PER[unit] / 1_000)


def in_largest_unit(duration: timedelta) -> tuple[Fraction, str]:
    """The duration as an integer number of the largest possible unit.

    >>> in_largest_unit(timedelta(hours=48)), in_largest_unit(timedelta(minutes=90))
    ((Fraction(2, 1), 'days'), (Fraction(90, 1), 'minutes'))
    """
    nanoseconds = duration // timedelta(microseconds=1) * 1000
    exact = [unit for unit, size in NANOSECONDS_PER.items() if nanoseconds % size == 0]
    return Fraction(nanoseconds, NANOSECONDS_PER[exact[-1]]), exact[-1]
