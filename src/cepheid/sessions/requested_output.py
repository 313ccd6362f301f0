"""The output that the keywords of ``match`` and the OUTPUT clause of a query request.

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cepheid.errors import OptionError
from cepheid.language import syntax as ast
from cepheid.language.builder import duration
from cepheid.language.printer import print_window
from cepheid.language.units import NANOSECONDS_PER

if TYPE_CHECKING:
    from cepheid.events.time_axis import TimeAxis
    from cepheid.matches.modes.rule import OutputRule

KEYWORDS = ("output", "at_most_once_per", "timed_out")


@dataclass(frozen=True, slots=True)
class RequestedOutput:
    """The mode, the duration of AT MOST ONCE PER, and WITH TIMED OUT; None: not requested."""

    output: str | None = None
    at_most_once_per: ast.Window | None = None
    timed_out: bool | None = None

    @classmethod
    def by_keywords(cls, keywords: Mapping[str, Any]) -> RequestedOutput:
        """What the keywords request.

        Raises:
            OptionError: a value is no duration, or neither true nor false.
        """
        given, timed_out = keywords.get("at_most_once_per"), keywords.get("timed_out")
        if timed_out not in (None, True, False):
            raise OptionError(f"timed_out is True or False, not {timed_out!r}")
        return cls(keywords.get("output"), None if given is None else duration(given), timed_out)

    def of(self, query: ast.Query) -> RequestedOutput:
        """What the keywords and the clause of a query request together.

        Raises:
            OptionError: they do not agree.
        """
        clause = query.output
        if clause is None:
            return self
        if self.output is not None and clause.mode not in (None, self.output):
            raise _disagreement("output", self.output, str(clause.mode))
        gap, other = self.at_most_once_per, clause.at_most_once_per
        if gap is not None and other is not None and _comparable(gap) != _comparable(other):
            raise _disagreement("at_most_once_per", print_window(gap), print_window(other))
        if clause.timed_out and self.timed_out is False:
            raise _disagreement("timed_out", "False", "WITH TIMED OUT")
        timed_out = clause.timed_out or self.timed_out
        return RequestedOutput(self.output or clause.mode, gap or other, timed_out)

    def rule(self, axis: TimeAxis | None = None) -> OutputRule:
        """The output of a query; without a time axis, the duration is not in ticks but 1."""
        from cepheid.matches.modes.rule import EVERY_MATCH, OutputRule  # its modes need NumPy

        gap, ticks = self.at_most_once_per, None
        if gap is not None:
            assert isinstance(gap.extent, Fraction)
            ticks = 1 if axis is None else axis.window_ticks(gap.extent, gap.unit)
        return OutputRule(self.output or EVERY_MATCH.output, ticks, bool(self.timed_out))


NOTHING_REQUESTED = RequestedOutput()


def _comparable(window: ast.Window) -> tuple[Any, bool]:
    """An extent in nanoseconds, or in the unit of the time column."""
    assert isinstance(window.extent, Fraction)
    if window.unit is None:
        return window.extent, False
    return window.extent * NANOSECONDS_PER[window.unit], True


def _disagreement(name: str, option: str, clause: str) -> OptionError:
    return OptionError(
        f"{name}={option!r} does not agree with the OUTPUT clause of the query, which says "
        f"{clause!r}; leave out one of them"
    )
