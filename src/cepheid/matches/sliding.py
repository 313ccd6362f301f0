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

from cepheid.errors import OptionError
from cepheid.events.arrays import Int64s
from cepheid.events.read_options import read_extent
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.matches.layout import Chains

_MOST_WINDOWS = 10_000
"""The most windows that may contain an event."""


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
        step = axis.window_ticks(*read_extent("every", every))
        if step < 1:
            raise OptionError(f"every is a length of time above 0, not {every!r}")
        if extent // step > _MOST_WINDOWS:
            raise OptionError(
                f"with every={every!r}, an event would be in more than {_MOST_WINDOWS:,} windows; "
                "give a longer step"
            )
        return cls(extent, step)

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
        """When the windows with these numbers begin, as values of the time column."""
        ticks = np.array(numbers, dtype=np.int64) * self.step
        found: list[Any] = axis.decode(ticks, wide=True).to_pylist()
        return found
