"""How events are read: the keywords that describe them, checked once and passed on as one object.

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from cepheid.errors import OptionError
from cepheid.events.uncertain_time import UncertainTime, read_uncertain_time
from cepheid.schema import Schema, schema_of

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.events.sources.tables import NeededColumns


class ReadKeywords(TypedDict, total=False):
    """The keywords that describe events; :meth:`cepheid.CompiledQuery.match` documents them."""

    time: str | tuple[str, str]
    type: str | None
    tie_break: str | Sequence[str] | None
    time_unit: str | None
    schema: Any
    whole_events: bool | None
    uncertainty: Any
    probabilities: str | None
    granularity: Any
    max_uncertainty: Any


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How events are read.

    ``time`` is the time column: the earliest time where times are uncertain, which
    ``uncertain`` describes. ``schema`` is the declared schema, if there is one.
    """

    time: str = "ts"
    type: str | None = "type"
    tie_break: tuple[str, ...] = ()
    time_unit: str | None = None
    schema: Schema | None = None
    whole_events: bool | None = None
    uncertain: UncertainTime | None = None

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
        )

    @property
    def columns(self) -> list[str]:
        """The columns that are read whatever the query names."""
        said = self.uncertain
        found = [self.time, self.type, *self.tie_break]
        found += [] if said is None else [said.upper, said.probabilities]
        return [name for name in found if name is not None]

    def order(self, source: object, needed: NeededColumns | None = None) -> Events:
        """The events of a source in stream order; ``needed`` limits the columns that are read."""
        from cepheid.events.events import order_events

        return order_events(
            source,
            time=self.time,
            type=self.type,
            tie_break=self.tie_break,
            time_unit=self.time_unit,
            schema=self.schema,
            needed=needed,
        )


DEFAULT_READING = ReadOptions()


def tie_columns(tie_break: object) -> tuple[str, ...]:
    """The columns that order events of equal time."""
    columns = (tie_break,) if isinstance(tie_break, str) else tie_break or ()
    if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
        raise OptionError(
            f"tie_break is the name of a column, or a list of such names, not {tie_break!r}"
        )
    return tuple(columns)
