"""Slices of time: how events without a key, or with a heavy one, are divided among workers.

A match lies within one window. So a slice gets its own events and the events of one window after
it and, if an event before a match can violate it, of one window before it. A negation with its
own window looks back by that window, or further ahead by it. All matches that start in the slice
can be found there, with any selection strategy, because a run depends on no event before its first.
Matches that start outside the slice are left out: another slice finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.types as arrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.errors import warn
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions
from cepheid.spark.batch.frames import column
from cepheid.spark.batch.preparation import Prepared, time_order
from cepheid.spark.worker.partition_run import SLICE
from cepheid.tuning import tuning

_QUANTILES = 256
_HEAVY = 1.5
"""A key with more than this many times the events of an average partition is too heavy."""
_MICROSECONDS_PER_DAY = 86_400_000_000
_MAX = 2**63 - 1


@dataclass(frozen=True)
class Slices:
    """``bounds`` are the ticks where a slice ends and the next begins; reaches are in ticks."""

    bounds: tuple[int, ...]
    ahead: int
    back: int

    def spread(self, events: DataFrame, ticks: Column) -> DataFrame:
        """The events, each in every slice that needs it, with the index of the slice."""
        last = _place(ticks + F.lit(self.back), self.bounds)
        first = _place(ticks - F.lit(self.ahead), self.bounds)
        numbers = F.explode(F.sequence(first, last))
        return events.select("*", numbers.alias(SLICE))


def why_not_sliced(prepared: Prepared) -> str | None:
    """Why the matches cannot be found slice by slice, or None."""
    if prepared.settings.is_script:
        return "a script is not divided by time"
    if reads_positions(prepared.query.query):
        return "INDEX and PARTITION_INDEX count all events of the stream"
    window = prepared.query.query.window
    if window is None:
        return "the query has no window, so a match can be as long as the stream"
    if window.measure is not ast.WindowMeasure.TIME:
        return f"its window counts events ({window.measure.value}), which a slice cannot do"
    if prepared.planned[0].evaluation.has_confidence:
        return "an event of uncertain time can be in several slices, and match in each"
    rule = prepared.planned[0].rule
    if rule.timed_out:
        return "WITH TIMED OUT asks for all matches of an event"
    if rule.needs_whole_partitions:
        shown = rule.output if rule.mode.needs_whole_partitions else "AT MOST ONCE PER"
        return f"{shown} depends on all matches before"
    return None


def with_reach(prepared: Prepared, bounds: Sequence[int]) -> Slices:
    """Slices with these increasing bounds, with the reach that the query needs."""
    assert prepared.window is not None
    window = min(prepared.window, _MAX // 8)
    # A match is shorter than its window: an event one full window later is not in it.
    ahead, back = window, 0
    for negated in (each for part in prepared.query.alternatives for each in part.negations):
        own = None
        if negated.own_window is not None:
            own = min(prepared.query.own_windows[negated.own_window], _MAX // 8)
        if not negated.after:
            back = max(back, (own or window) - 1)
        elif negated.waits and own is not None:
            ahead = max(ahead, window + own)
    return Slices(tuple(bounds), ahead, back)


def plan_slices(prepared: Prepared, events: DataFrame, wanted: int | None) -> Slices:
    """Slices with about equal numbers of events: ``wanted`` slices, or as many as pay off.

    A separate Spark job reads the times of the events.
    """
    assert prepared.window is not None
    steps = [step / _QUANTILES for step in range(1, _QUANTILES)]
    ticks = ticks_of(prepared.axis)
    row = events.agg(
        F.count(ticks).alias("count"), F.percentile_approx(ticks, steps).alias("quantiles")
    ).first()
    assert row is not None
    found = [int(tick) for tick in row["quantiles"] or ()]
    number = wanted or max(1, row["count"] // tuning().slice_events)
    bounds: list[int] = []
    for slice_ix in range(1, min(number, _QUANTILES) if found else 1):
        bound = found[slice_ix * _QUANTILES // number - 1]
        # A slice shorter than its reach would add more work than it saves.
        if not bounds or bound - bounds[-1] > (0 if wanted else prepared.window):
            bounds.append(bound)
    if not bounds and row["count"] >= 2 * tuning().slice_events and wanted is None:
        warn_of_one_partition("its window is as long as all the events")
    return with_reach(prepared, bounds)


def has_heavy_key(prepared: Prepared, events: DataFrame) -> bool:
    """Whether one key has so many events that its worker finishes long after the others.

    A separate Spark job counts the events of each key.
    """
    key = [each.alias(f"key {number}") for number, each in enumerate(prepared.key)]
    counts = events.groupBy(*key).count()
    row = counts.agg(F.max("count").alias("most"), F.sum("count").alias("all")).first()
    assert row is not None
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    most = row["most"] or 0
    return most > tuning().slice_events and most * partitions > _HEAVY * row["all"]


def warn_of_one_partition(reason: str) -> None:
    """Warn that one worker does everything, and say why."""
    warn(
        "all events go to one worker, because the query has no key to partition them by, such as "
        f"an equivalence test [id], and they cannot be divided by time either: {reason}"
    )


def ticks_of(axis: TimeAxis) -> Column:
    """The time of an event on the axis, computed by Spark."""
    moment = column(axis.column)
    kind = axis.arrow_type
    if arrow.is_date(kind):
        return F.unix_date(moment).cast("long") * F.lit(_MICROSECONDS_PER_DAY)
    if arrow.is_timestamp(kind) and kind.tz is None:
        epoch = F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'")
        return F.timestamp_diff("MICROSECOND", epoch, moment)
    if arrow.is_timestamp(kind):
        return F.unix_micros(moment)
    return time_order(axis).try_cast("long")  # A time that is no number is null.


def _place(ticks: Column, bounds: tuple[int, ...], low: int = 0) -> Column:
    """The index of the slice that contains a time: the number of bounds not after it, by halving.

    A null is in the last slice, where a worker refuses it.
    """
    if not bounds:
        return F.lit(low)
    middle = len(bounds) // 2
    return F.when(ticks < F.lit(bounds[middle]), _place(ticks, bounds[:middle], low)).otherwise(
        _place(ticks, bounds[middle + 1 :], low + middle + 1)
    )
