"""How events are read: the keywords that describe them, checked once and passed on as one object.

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from cepheid import visible
from cepheid.errors import OptionError
from cepheid.schema import Schema, schema_of

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.events.sources.text_files import NeededColumns, TextFormat


class ReadKeywords(TypedDict, total=False):
    """The keywords that describe events; :meth:`cepheid.CompiledQuery.match` documents them."""

    time: str | tuple[str, str]
    type: str | None
    tie_break: str | Sequence[str] | None
    time_unit: str | None
    time_format: str | None
    sep: str | None
    schema: Any
    whole_events: bool | None
    uncertainty: Any
    probabilities: str | None
    granularity: Any
    max_uncertainty: Any


Extent = tuple[Fraction, str | None]
"""A length of time: an amount and its unit; None is the unit of the time column."""

_QUANTITY = re.compile(r"\s*(?P<amount>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>[^\W\d]*)\s*")


@dataclass(frozen=True, slots=True)
class UncertainTime:
    """The uncertainty interval of an event [Zhang10 §3.2].

    Either ``upper`` names the column with the latest time, and the time column has the
    earliest; or the true time of an event is at most ``uncertainty`` away from its time column.
    That distance may differ by type. ``probabilities`` names a column of lists with the
    probability of each instant. ``granularity`` is the length of an instant. No interval of the
    stream is longer than ``max_uncertainty``.
    """

    upper: str | None = None
    uncertainty: Any = None
    probabilities: str | None = None
    granularity: Any = None
    max_uncertainty: Any = None

    def describe(self) -> dict[str, Any]:
        """The fields as plain data, for a snapshot."""
        return {
            name: {key: str(each) for key, each in value.items()}
            if isinstance(value, Mapping)
            else None
            if value is None
            else str(value)
            for name, value in asdict(self).items()
        }


UNCERTAIN_KEYWORDS = tuple(field.name for field in fields(UncertainTime) if field.name != "upper")


def read_uncertain_time(time: Any, keywords: Mapping[str, Any]) -> tuple[str, UncertainTime | None]:
    """The time column, and how uncertain its times are; None if they are certain.

    >>> read_uncertain_time("ts", {"time_unit": "s"})
    ('ts', None)
    """
    said = {name: keywords[name] for name in UNCERTAIN_KEYWORDS if keywords.get(name) is not None}
    upper = None
    if not isinstance(time, str):
        columns: tuple[Any, ...] = tuple(time) if isinstance(time, Sequence) else ()
        if len(columns) != 2 or not all(isinstance(name, str) for name in columns):
            raise OptionError(
                "time is the name of a column, or the names of two columns with the earliest and "
                f"the latest time of an event: time=('lower', 'upper'), not {time!r}"
            )
        time, upper = columns
        if time == upper:
            raise OptionError(
                f"time=({time!r}, {upper!r}) names one column twice; if times are certain, name "
                f"one column: time={time!r}"
            )
        if "uncertainty" in said:
            raise OptionError(
                f"the columns {time!r} and {upper!r} say how uncertain a time is, and so does "
                "uncertainty; give one of them"
            )
    for name in ("granularity", "max_uncertainty"):
        if name in said and read_extent(name, said[name])[0] <= 0:
            raise OptionError(f"{name} is a length of time above 0, not {said[name]!r}")
    if "uncertainty" in said:
        given = said["uncertainty"]
        for each in given.values() if isinstance(given, Mapping) else [given]:
            read_extent("uncertainty", each)
    if upper is None and not said:
        return time, None
    return time, UncertainTime(upper, **said)


_MOST_CHARACTERS = 1_000
"""Python refuses to read integers of more than some thousand digits."""


def read_extent(name: str, given: Any) -> Extent:
    """A length of time from a string, a number or a timedelta.

    >>> read_extent("uncertainty", "7.5 seconds"), read_extent("granularity", 3)
    ((Fraction(15, 2), 'seconds'), (Fraction(3, 1), None))
    """
    if isinstance(given, timedelta) and given >= timedelta(0):
        return Fraction(given // timedelta(microseconds=1)), "microseconds"
    is_number = isinstance(given, int | float | Fraction) and not isinstance(given, bool)
    if is_number and 0 <= given < math.inf:
        return _extent_of(str(given))
    is_text = isinstance(given, str) and len(given) <= _MOST_CHARACTERS
    if not is_text or _QUANTITY.fullmatch(given) is None:
        raise OptionError(
            f"{name} is a length of time such as '7.5 seconds', or a number in the unit of the "
            f"time column, not {visible.said(given)}"
        )
    return _extent_of(given)


@lru_cache(maxsize=256)
def _extent_of(text: str) -> Extent:
    """A quantity, or the text of a number; sessions read it with each batch."""
    found = _QUANTITY.fullmatch(text)
    return (
        (Fraction(text), None)
        if found is None
        else (Fraction(found["amount"]), found["unit"] or None)
    )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How events are read.

    ``time`` is the time column: the earliest time where times are uncertain, which
    ``uncertain`` describes. ``schema`` is the declared schema, if there is one. ``time_format`` is
    the format of times that are strings, and ``sep`` the separator of CSV files.
    """

    time: str = "ts"
    type: str | None = "type"
    tie_break: tuple[str, ...] = ()
    time_unit: str | None = None
    schema: Schema | None = None
    whole_events: bool | None = None
    uncertain: UncertainTime | None = None
    time_format: str | None = None
    sep: str | None = None

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> ReadOptions:
        """The options that these keywords give; other keywords are ignored.

        >>> options = ReadOptions.of({"time": ("low", "high"), "tie_break": "seq", "top_k": 3})
        >>> options.time, options.tie_break, options.uncertain.upper
        ('low', ('seq',), 'high')
        """
        time, uncertain = read_uncertain_time(keywords.get("time", cls().time), keywords)
        kind = keywords.get("type", cls().type)
        if kind is not None and not isinstance(kind, str):
            raise OptionError(f"type is the name of a column, not {kind!r}")
        return cls(
            time,
            kind,
            tie_columns(keywords.get("tie_break")),
            keywords.get("time_unit"),
            schema_of(keywords.get("schema")),
            keywords.get("whole_events"),
            uncertain,
            keywords.get("time_format"),
            keywords.get("sep"),
        )

    @property
    def columns(self) -> list[str]:
        """The columns that are read whatever the query names."""
        said = self.uncertain
        found = [self.time, self.type, *self.tie_break]
        found += [] if said is None else [said.upper, said.probabilities]
        return [name for name in found if name is not None]

    def text_format(self) -> TextFormat:
        """How text files are read: times in a given format stay strings until they are parsed."""
        from cepheid.events.sources.text_files import TextFormat

        upper = self.uncertain.upper if self.uncertain is not None else None
        moments = (self.time,) if upper is None else (self.time, upper)
        return TextFormat(self.sep, () if self.time_format is None else moments)

    def order(self, source: object, needed: NeededColumns | None = None) -> Events:
        """The events of a source in stream order; ``needed`` limits the columns that are read."""
        from cepheid.events.events import order_events

        return order_events(source, self, needed)


DEFAULT_READING = ReadOptions()


def tie_columns(tie_break: object) -> tuple[str, ...]:
    """The columns that order events of equal time."""
    columns = (tie_break,) if isinstance(tie_break, str) else tie_break or ()
    if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
        raise OptionError(
            f"tie_break is the name of a column, or a list of such names, not {tie_break!r}"
        )
    return tuple(columns)
