"""Sliding windows over matches that are not listed: which finals have matches inside a window.

A window has the length of the query's WITHIN, and windows begin at all multiples of a step. A match
is inside the windows that contain its first and its last event. The matches of a final end
together, so a window contains those that start after it begins [Poppe17, Poppe19].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.budget import Budget, OverBudget, size_text
from cepheid.errors import EventError, LimitError, OptionError
from cepheid.events.arrays import Int64s
from cepheid.events.read_options import read_extent
from cepheid.events.time_axis import MAX_TICKS, TimeAxis
from cepheid.language import syntax as ast
from cepheid.matches.layout import Chains

_MOST_WINDOWS = 10_000
"""The most windows that may contain an event."""
_ROW_BYTES = 128
"""The memory for one final in one window."""


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows of ``extent`` ticks that begin at the multiples of ``step`` ticks."""

    extent: int
    step: int

    @classmethod
    def of(cls, every: Any, query: ast.Query, axis: TimeAxis) -> SlidingWindows:
        """The windows of a query that begin this often."""
        window = query.window
        if window is None or window.measure is not ast.WindowMeasure.TIME:
            raise OptionError(
                "every= makes sliding windows as long as the query's WITHIN, so it needs a query "
                "with WITHIN a length of time"
            )
        assert not isinstance(window.extent, ast.Parameter)
        extent = axis.window_ticks(window.extent, window.unit)
        step = axis.ticks_of(*read_extent("every", every))
        if step <= 0:
            raise OptionError(f"every is a length of time above 0, not {every!r}")
        if step.denominator > 1:
            raise OptionError(
                f"every={every!r} is not a multiple of the tick of time column {axis.column!r} "
                f"({axis.arrow_type}), so windows would begin between two of its times"
            )
        if extent // step > _MOST_WINDOWS:
            raise OptionError(
                f"with every={every!r}, an event would be in more than {_MOST_WINDOWS:,} windows; "
                "give a longer step"
            )
        return cls(extent, min(int(step), MAX_TICKS))

    def check_room(self, ends: Int64s, budget: Budget) -> None:
        """Refuse windows that begin too early for 64 bits, or need too much memory together."""
        if len(ends) and int(ends.min()) - self.extent < -MAX_TICKS:
            raise OptionError(
                "some sliding windows begin before the minimum of 64 bits; a shorter WITHIN makes "
                "shorter windows"
            )
        size = _ROW_BYTES * int((ends // self.step - (ends - self.extent) // self.step).sum())
        try:
            budget.charge(size)
        except OverBudget:
            raise LimitError(
                f"the sliding windows need {size_text(size)}, more than the memory limit of "
                f"{budget.limit_text}; a longer step or a shorter WITHIN needs less, and "
                "max_memory allows more"
            ) from None
        budget.release(size)

    def split(self, chains: Chains, ends: Int64s) -> tuple[Chains, Int64s, Int64s]:
        """The finals as often as windows contain their last event, whose times are ``ends``.

        The second result is the index of each final, and the third the number of its window. Only
        chains that start in the window are left. Finals of a window are next to each other, because
        what is known of a node is known for one edge at a time.

        >>> windows = SlidingWindows(extent=10, step=5)
        >>> chains = Chains(finals=np.array([(0, -1, 3)], dtype=Chains().finals.dtype))
        >>> chains, of, number = windows.split(chains, np.array([12]))
        >>> chains.finals["after"].tolist(), of.tolist(), number.tolist()
        ([4, 9], [0, 0], [1, 2])
        """
        first = (ends - self.extent) // self.step + 1
        sizes = ends // self.step - first + 1
        of: npt.NDArray[Any] = np.repeat(np.arange(len(ends)), sizes)
        begins = np.cumsum(sizes) - sizes
        number = first[of] + np.arange(len(of)) - begins[of]
        order = np.argsort(number, kind="stable")
        of, number = of[order], number[order]
        finals = chains.finals[of]
        finals["after"] = np.maximum(finals["after"], number * self.step - 1)
        return chains._replace(finals=finals), of, number

    def starts(self, numbers: Sequence[int], axis: TimeAxis) -> list[Any]:
        """When the windows with these numbers begin, as values of the time column.

        If it has a time zone, they are in UTC: when clocks go back, Python takes two local times
        for the same one.
        """
        found = axis.decode(np.array(numbers, dtype=np.int64) * self.step, wide=True)
        if arrow.is_timestamp(found.type) and found.type.tz is not None:
            found = found.cast(pa.timestamp(found.type.unit, "UTC"))
        try:
            values: list[Any] = found.to_pylist()
        except (OverflowError, ValueError):
            raise EventError(
                f"a sliding window begins before the year 1, and time column {axis.column!r} "
                "cannot have that time; a shorter WITHIN makes shorter windows"
            ) from None
        return values
