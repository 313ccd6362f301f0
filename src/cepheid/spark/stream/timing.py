"""When the events of a stream are answered: how time moves on, and how far.

The *frontier* is the time up to which a bucket has answered: the newest time of the stream less the
lateness, in microseconds. It depends only on the events, the state, and the times of micro-batches
in Spark's offset log, which are the same if a micro-batch runs again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NO_TIME = -(2**63)
"""Before all events."""
TICKS = 1_000
"""Watermarks and the clock of Spark are in milliseconds, times of events in microseconds."""


@dataclass(frozen=True)
class Timing:
    """How time moves on.

    ``distance_us`` is how far the frontier is behind the newest event; it is None if only Spark
    knows it, which reports its watermark one micro-batch later. With ``in_order``, a bucket answers
    its own events immediately. After ``idle_ms`` without events, time follows the clock of the
    micro-batches. ``waits`` is whether something in the queries waits for time to pass.
    """

    distance_us: int | None = None
    in_order: bool = False
    idle_ms: int | None = None
    waits: bool = True

    @property
    def mode(self) -> str:
        """The time mode of the stateful operator, by its name in Spark.

        Spark runs an empty micro-batch whenever an operator that has timers could need it, so the
        operator has none if nothing waits.

        >>> Timing(0).mode, Timing(0, idle_ms=5).mode, Timing(in_order=True, waits=False).mode
        ('EventTime', 'ProcessingTime', 'None')
        """
        if self.idle_ms is not None:
            return "ProcessingTime"
        return "None" if self.in_order and not self.waits else "EventTime"

    @property
    def is_known_to_spark(self) -> bool:
        """Whether Spark's watermark is the frontier, so that a bucket need not remember it."""
        return not self.in_order and self.idle_ms is None

    def frontier(self, newest_us: Iterable[int | None]) -> int:
        """The frontier after events with these newest times, as far as it follows from them.

        >>> Timing(10).frontier([25, None, 30])
        20
        """
        newest = max((time for time in newest_us if time is not None), default=None)
        if self.distance_us is None or newest is None:
            return NO_TIME
        return newest - self.distance_us


def ticks_of(watermark_ms: int) -> int:
    """A watermark of Spark in microseconds; Spark says 0, or less, if there is none yet.

    >>> ticks_of(5), ticks_of(0) == NO_TIME
    (5000, True)
    """
    return watermark_ms * TICKS if watermark_ms > 0 else NO_TIME
